"""Patterns with the counts and times that GPU systems published, read from `../shared/peers`."""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from pathlib import Path

from benchmarks.inputs import graphs, patterns

PUBLISHED = graphs.DATA.parent / "peers"
PUBLISHED_NAMES = {"wiki-vote": "wiki-Vote", "email-enron": "email-Enron"}


@dataclass(frozen=True, slots=True)
class Subject:
    """A pattern, its published count (None: no system finished) and milliseconds by system (None: stopped)."""

    pattern: patterns.Pattern
    count: int | None
    milliseconds: dict[str, float | None]

    @property
    def best(self) -> float | None:
        """Seconds of the quickest published system that finished."""
        done = [ms for ms in self.milliseconds.values() if ms is not None]
        return min(done) / 1e3 if done else None


def read_subjects(
    folder: Path, graph: str, chosen: list[str], *, labelled: bool = False
) -> list[Subject]:
    """The patterns of the published folder that are chosen, in the file's order; all q1, q2, ... if none are.

    Parameters
    ----------
    folder : holds `patterns.json` (name -> vertices, edges) and `gpu_h200.json` (graph -> name -> count, ms).
    graph : the graph's name in the second file. labelled : with the vertex labels that the first file gives.
    """
    shapes = json.loads((folder / "patterns.json").read_text(encoding="utf-8"))
    measured = json.loads((folder / "gpu_h200.json").read_text(encoding="utf-8")).get(graph, {})
    names = chosen or [name for name in shapes if name[0] == "q" and name[1:].isdigit()]
    found = []
    for name in names:
        edges = tuple((int(i), int(j)) for i, j in shapes[name]["edges"])
        told = measured.get(name, {"count": None, "ms": {}})
        times = {k: None if ms == "timeout" else ms for k, ms in told["ms"].items()}
        labels = shapes[name]["labels"] if labelled else None
        vertices = (
            (None,) * int(shapes[name]["vertices"])
            if labels is None
            else tuple(f"L{label}" for label in labels)
        )
        pattern = patterns.Pattern(name, vertices, edges)
        found.append(Subject(pattern, told["count"], times))
    return found


def measured_names(folder: Path, graph: str) -> list[str]:
    """The patterns that `gpu_h200.json` has figures of for a graph, in its order."""
    return list(json.loads((folder / "gpu_h200.json").read_text(encoding="utf-8"))[graph])


def absent(arguments: argparse.Namespace) -> bool:
    """Whether the graphs or the published figures are not here; says which."""
    needed = ("patterns.json", "gpu_h200.json")
    return graphs.absent(arguments.data, *(arguments.published / name for name in needed))
