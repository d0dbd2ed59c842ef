"""docs/LANGUAGE.md: the counts that it gives for each mode are those that gdb gives."""

from __future__ import annotations

import re
import threading
from pathlib import Path

import numpy as np
import pytest

from gdb.run import options, pipeline
from gdb.run.request import QueryRun, Request
from gdb.run.statements import Statements
from gdb.storage.columns.model import EdgeTable, VertexTable
from gdb.storage.graph.snapshot import Snapshot
from gdb.storage.write.store import Store
from tests.support.graph_tables import GraphTables, write_graph

MODES = {
    "DIFFERENT EDGES": 10,
    "DIFFERENT RELATIONSHIPS": 10,
    "DIFFERENT NODES": 6,
    "REPEATABLE ELEMENTS": 18,
    "SUBGRAPHS": 3,
    "INDUCED": 2,
    "INDUCED SUBGRAPHS": 2,
}


@pytest.fixture(scope="module")
def snapshot() -> Snapshot:
    """ann -> bob, bob -> ann, bob -> cid, cid -> dan."""
    people = VertexTable(("Person",), "Person", ["ann", "bob", "cid", "dan"], {})
    follows = EdgeTable("FOLLOWS", True, np.array([0, 1, 1, 2]), np.array([1, 0, 2, 3]), {})
    return write_graph(Store.open(None, create=True), GraphTables((people,), (follows,)))


@pytest.mark.parametrize(("mode", "count"), MODES.items())
def test_the_count_of_each_mode(snapshot: Snapshot, mode: str, count: int) -> None:
    request = Request(
        f"MATCH {mode} (a)--(b)--(c) RETURN count(*)",
        {},
        options.match_mode("DIFFERENT EDGES"),
        threading.Event(),
    )
    assert pipeline.answer(QueryRun(request, snapshot, Statements())).scalar() == count


def test_the_counts_in_the_document(repository: Path) -> None:
    text = (repository / "docs" / "LANGUAGE.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`[A-Z].*?) \|.*?\| (\d+) \|", text, re.MULTILINE)
    found = {mode: int(count) for modes, count in rows for mode in re.findall("`([A-Z ]+)`", modes)}
    assert found == MODES
