"""Work units and places: how a stage is shared between threads, turns, devices and tasks.

`scheduler` hands out ranges of roots and checks cancel, timeout and progress between them; a `Place` is a
suspended search.
"""
