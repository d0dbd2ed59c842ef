"""Rows of answers as Python objects, and drawings of 300 nodes and relationships.

    python -m benchmarks.answers.python_rows [--rows 1000000] [--repeat 5] [--save]

Rows are those of answers over columns: nanoseconds for each by `fetchall` (plain tuples), by iterating and by `list`
(rows with names), and by `dicts`, processor time, the least of all repeats. Drawings are graphs of five shapes,
milliseconds from the scene to the text of the SVG.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence

import gdb
from benchmarks.report import page
from benchmarks.report.section import Report
from benchmarks.report.table import Cell, Column, Table
from gdb.answer.drawing.scene import Arrow, Circle, Scene
from gdb.answer.drawing.svg import svg_of

COLUMNS = {
    "1 integer": "x",
    "2 integers": "x, x + 1 AS y",
    "integer, string, float": "x, toString(x) AS s, x * 0.5 AS f",
}
READERS: dict[str, Callable[[gdb.Result], object]] = {
    "fetchall": lambda result: result.fetchall(),
    "iterate": lambda result: deque(result, 0),
    "list": lambda result: [*result],
    "dicts": lambda result: result.dicts(),
}
SHAPES: dict[str, tuple[int, Sequence[tuple[int, int]]]] = {
    "300 nodes alone": (300, []),
    "100 pairs": (200, [(2 * pair, 2 * pair + 1) for pair in range(100)]),
    "a star of 149": (150, [(0, leaf) for leaf in range(1, 150)]),
    "a ring of 150": (150, [(one, (one + 1) % 150) for one in range(150)]),
    "24 nodes, all joined": (24, [(a, b) for a in range(24) for b in range(a)]),
}


def least(work: Callable[[], object], repeat: int) -> float:
    """The processor seconds of the quickest of several runs."""
    times = []
    for _ in range(repeat):
        begun = time.process_time()
        kept = work()
        times.append(time.process_time() - begun)
        del kept
    return min(times)


def readings(rows: int, repeat: int) -> Iterable[tuple[Cell, ...]]:
    """For each set of columns the nanoseconds of a row by each reader."""
    with gdb.connect() as db:
        for name, columns in COLUMNS.items():
            text = f"UNWIND range(1, {rows}) AS x RETURN {columns}"
            spent = []
            for read in READERS.values():
                found = [db.execute(text) for _ in range(repeat)]  # fetchall reads each once
                spent.append(least(lambda f=found, r=read: r(f.pop()), repeat) / rows * 1e9)  # type: ignore[misc]
            yield name, *(round(one) for one in spent)


def drawings(repeat: int) -> Iterable[tuple[Cell, ...]]:
    """For each shape the milliseconds of a drawing, and its size."""
    for name, (count, ends) in SHAPES.items():
        circles = tuple(Circle(f"node {k}", f"Kind{k % 5}", "a title") for k in range(count))
        scene = Scene(circles, tuple(Arrow(*pair, "KNOWS", "a title") for pair in ends))
        spent = least(lambda s=scene: svg_of(s), repeat) * 1e3  # type: ignore[misc]
        yield name, len(scene), spent, round(len(svg_of(scene)) / 1024)


def main(line: list[str] | None = None) -> int:
    """Measure, print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rows", type=int, default=1_000_000, help="(default: 1000000)")
    parser.add_argument("--repeat", type=int, default=5, help="(default: 5)")
    parser.add_argument(
        "--save", action="store_true", help="write the section to benchmarks/results/"
    )
    given = parser.parse_args(line)
    columns: list[str | Column] = ["columns", *(Column(name, "ns a row") for name in READERS)]
    rows = Table.of(columns, readings(given.rows, given.repeat), "Rows as Python objects:")
    header = ("drawing", "elements", Column("time", "ms"), Column("size", "KiB"))
    drawn = Table.of(header, drawings(given.repeat), "Drawings, from the scene to the SVG:")
    introduction = (
        f"{given.rows:,} rows of answers over columns. Processor time, the least of {given.repeat}."
    )
    report = Report.of(introduction, [rows, drawn])
    print(report.markdown())
    if given.save:
        page.save(__file__, "Rows in Python, and drawings", report, "numpy")
    return 0


if __name__ == "__main__":
    sys.exit(main())
