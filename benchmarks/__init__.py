"""Side-by-side measurements, by subject. A program runs from the root of the repository as
`python -m benchmarks.ROOM.NAME`; `--save` writes its sections to `results/`, from which `RESULTS.md` is made.
"""
