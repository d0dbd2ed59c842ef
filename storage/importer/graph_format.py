"""`.graph` files of the subgraph-matching literature: `t V E`, `v id label degree`, `e u v [label]` lines."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gdb.errors import ImportFailed
from gdb.storage.importer.detect import damaged, open_input
from gdb.storage.importer.report import FileReport, Rejects
from gdb.storage.model import I64


@dataclass(frozen=True, slots=True, eq=False)
class LabelledGraph:
    """A `.graph` file: ids and label numbers of its vertices; sources and targets (ids) and label of its edges, -1 for
    none."""

    ids: I64
    labels: I64
    sources: I64
    targets: I64
    edge_labels: I64


def read_graph(path: Path, report: FileReport, rejects: Rejects) -> LabelledGraph:
    """Read a `.graph` file; counts of the `t` line must hold unless lines were skipped.

    Raises
    ------
    ImportFailed : a malformed line, an edge whose end does not exist, or wrong counts.
    """
    vertices: list[tuple[int, int]] = []
    edges: list[tuple[int, int, int]] = []
    counts: tuple[int, int] | None = None
    with open_input(path) as stream:
        try:
            lines = stream.read().decode("utf-8", "replace").splitlines()
        except (EOFError, OSError, zlib.error) as error:
            raise damaged(path, error) from None
    known: set[int] = set()
    for number, text in enumerate(lines, 1):
        words = text.split()
        if not words or words[0].startswith("#"):
            continue
        try:
            numbers = [int(w) for w in words[1:]]
        except ValueError:
            rejects.add(report, number, text, "a field is not an integer")
            continue
        match (words[0], numbers):
            case ("t", [v, e, *_]) if counts is None:
                counts = (v, e)
            case ("v", [vid, label, *_]) if vid not in known:
                known.add(vid)
                vertices.append((vid, label))
            case ("v", [vid, *_]) if vid in known:
                rejects.add(report, number, text, f"vertex {vid} stands twice")
            case ("e", [u, v, *rest]) if u in known and v in known and len(rest) <= 1:
                edges.append((u, v, rest[0] if rest else -1))
            case ("e", [_, _, *_]):
                rejects.add(report, number, text, "an end of the edge has no v line before it")
            case _:
                rejects.add(report, number, text, "is no t, v or e line")
    report.rows += len(vertices) + len(edges)
    if counts and not report.rejected and counts != (len(vertices), len(edges)):
        raise ImportFailed(
            f"the t line says {counts[0]} vertices and {counts[1]} edges, the file has {len(vertices)} and {len(edges)}",
            "Fetch the file again, or correct its first line.",
            file=str(path),
        )
    table = np.array(vertices, np.int64).reshape(-1, 2)
    ends = np.array(edges, np.int64).reshape(-1, 3)
    return LabelledGraph(table[:, 0], table[:, 1], ends[:, 0], ends[:, 1], ends[:, 2])
