"""`.graph` files of the subgraph-matching literature: `t V E`, `v id label degree`, `e u v [label]` lines."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from gdb.errors import ImportFailed
from gdb.records import dataclass

from ..columns.model import I64
from .lines import lines_of
from .number_lines import integer_fault, shown_line
from .report import Fault, FileReport, Rejects

_TICK = 1 << 16  # lines between two progress reports
# fewest and most numbers of each kind of line
_FIELDS = {b"t": (2, 3), b"v": (2, 3), b"e": (2, 3)}


@dataclass(frozen=True, slots=True, eq=False)
class LabelledGraph:
    """A `.graph` file: ids and label numbers of its vertices; sources and targets (ids) and label of its edges, -1 for
    none."""

    ids: I64
    labels: I64
    sources: I64
    targets: I64
    edge_labels: I64


def read_graph(
    path: Path,
    report: FileReport,
    rejects: Rejects,
    tick: Callable[[float], None],
    most: int | None = None,
) -> LabelledGraph:
    """Read a `.graph` file; counts of the `t` line must hold unless lines were skipped. tick : called now and then with
    the part of it that is read, 0 to 1.

    Raises
    ------
    ImportFailed : a malformed line, an edge whose end does not exist, or wrong counts.
    """
    vertices: dict[int, int] = {}
    edges: list[tuple[int, int, int]] = []
    counts: list[int] = []
    for number, raw, part in lines_of(path, most):
        if not number % _TICK:
            tick(part)
        words = raw.split()
        if not words or words[0].startswith(b"#"):
            continue
        fault = _fault(words, vertices, bool(counts))
        if fault:
            rejects.add(report, number, shown_line(raw), fault)
            continue
        numbers = [int(w) for w in words[1:]]
        if words[0] == b"t":
            counts = numbers
        elif words[0] == b"v":
            vertices[numbers[0]] = numbers[1]
        else:
            edges.append((numbers[0], numbers[1], numbers[2] if len(numbers) > 2 else -1))
    report.rows += len(vertices) + len(edges)
    held = [len(vertices), len(edges)]
    # beside `t V E` there are `t number V E` and, for a file's only graph, `t 0 V`
    agrees = held[:1] == counts[1:] if counts[:1] == [0] and len(counts) == 2 else False
    if counts and not report.rejected and held != counts[-2:] and not agrees:
        raise ImportFailed(
            f"the t line says {' and '.join(map(str, counts))}, "
            f"the file has {held[0]} vertices and {held[1]} edges",
            "Fetch the file again, or correct its first line.",
            file=str(path),
        )
    table = np.array(list(vertices.items()), np.int64).reshape(-1, 2)
    ends = np.array(edges, np.int64).reshape(-1, 3)
    return LabelledGraph(table[:, 0], table[:, 1], ends[:, 0], ends[:, 1], ends[:, 2])


def _fault(words: list[bytes], vertices: dict[int, int], counted: bool) -> Fault | None:
    """What is wrong with a line."""
    least, most = _FIELDS.get(words[0], (0, 0))
    kind = words[0].decode("utf-8", "replace")
    if not most:
        return Fault("is no t, v or e line", column=1)
    if not least <= len(words) - 1 <= most:
        return Fault(f"has {len(words) - 1} numbers, a {kind} line has {least} or more")
    for column, word in enumerate(words[1:], 2):
        wrong = integer_fault(word)
        if wrong:
            return Fault(wrong, column=column)
    first = int(words[1])
    if kind == "t" and counted:
        return Fault("is the second t line", "A file holds one graph; split it.")
    if kind == "v" and first in vertices:
        return Fault(f"vertex {first} occurs twice", column=2)
    if kind == "e":
        for column, vertex in ((2, first), (3, int(words[2]))):
            if vertex not in vertices:
                reason = f"vertex {vertex} has no v line before this edge"
                return Fault(reason, "Add its v line.", column)
    return None
