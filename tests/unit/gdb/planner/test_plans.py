"""Plans as data: tests/plans/*.txt hold a query and what EXPLAIN shows for it.

A block is the query, a line `---`, and the plan; blocks are separated by a line `===`. After a change
that is meant, `UPDATE_PLANS=1 pytest tests/unit/gdb/planner/test_plans.py` writes the files anew: read the
difference.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import gdb
from gdb import Database

PLANS = Path(__file__).resolve().parents[3] / "plans"


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """Two labels, a directed simple type R, a directed type M with parallel edges, an undirected U."""
    folder = tmp_path_factory.mktemp("plans")
    nodes = "".join(f"{k},{'A' if k % 3 else 'B'},{k % 7}\n" for k in range(60))
    (folder / "nodes.csv").write_text(":ID,:LABEL,x:int\n" + nodes)
    lines = []
    for k in range(60):
        near = [j for j in range(1, 4) if (j * j + 6 * k) % 60]
        lines += [f"{k},{(k * 7 + j * j) % 60},R,{k * j % 50}\n" for j in near]
        lines += [f"{k},{(k + 1) % 60},M,\n", f"{k},{(k + 1) % 60},M,\n"]
    (folder / "edges.csv").write_text(":START_ID,:END_ID,:TYPE,t:int\n" + "".join(lines))
    ring = "".join(f"{k},{(k + j) % 60}\n" for k in range(60) for j in (1, 2, 3))
    (folder / "ring.csv").write_text(":START_ID,:END_ID\n" + ring)
    with gdb.connect() as made:
        made.load(nodes=folder / "nodes.csv", edges=folder / "edges.csv")
        made.load(edges={"U": folder / "ring.csv"}, directed=False)
        yield made


def blocks(path: Path) -> list[tuple[str, str]]:
    found = []
    for block in path.read_text().split("===\n"):
        query, _, plan = block.partition("---\n")
        found.append((query.strip(), plan.strip()))
    return found


@pytest.mark.parametrize("path", sorted(PLANS.glob("*.txt")), ids=lambda p: p.stem)
def test_explain_shows_the_plan(db: Database, path: Path) -> None:
    found = [(query, db.explain(query, device="cpu")) for query, _ in blocks(path)]
    if os.environ.get("UPDATE_PLANS"):
        path.write_text("\n===\n".join(f"{query}\n---\n{plan}" for query, plan in found) + "\n")
    assert found == blocks(path)


def test_every_matching_pattern_occurs() -> None:
    text = (PLANS / "patterns.txt").read_text()
    assert {int(k) for k in re.findall(r"extend \(pattern (\d)\)", text)} == set(range(8))
