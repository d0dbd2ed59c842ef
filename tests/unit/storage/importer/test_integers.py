"""Files of integers, which are read as numbers at once: the same graph as from their text, whatever they hold."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gdb.errors import Cancelled, GdbError
from gdb.storage.importer import csv_graph, integer_table, integers
from gdb.storage.importer.tables import Table
from gdb.storage.write import edge_runs
from gdb.storage.write.store import Store
from tests.support.effort import share
from tests.support.graph_tables import read_tables
from tests.support.loading import load

CELL = st.one_of(
    st.integers(-(2**63), 2**63 - 1).map(str),
    st.integers(0, 12).map(str),
    st.sampled_from(
        ["007", "-0", "+5", " 6", "7 ", "1.5", "2.", "1_0", "1e1", "1E2", "0x1F", "0xFFFFFFFFFF"]
    ),
    st.sampled_from(["", '"8"', "9223372036854775808", "a", "--1", "0b1"]),
)
Edge = tuple[int | str, int | str, dict[str, object]]
ENDS = st.sampled_from(["\n", "\r\n", "\n\n"])


def result(path: Path, *, numbers: bool) -> tuple[object, list[Edge]]:
    """What an import makes of a file: the tables, or the error."""
    store = Store.open(None, create=True)
    with pytest.MonkeyPatch.context() as patch:
        if not numbers:
            patch.setattr(csv_graph, "read_integers", lambda *_: None)
        try:
            load(store, path, format="csv", on_error="skip", missing_ends="create")
        except GdbError as error:
            return str(error), []
    tables = read_tables(store.snapshot())
    ids = [x for table in tables.vertices for x in table.ids]
    edges: list[Edge] = [
        (ids[a], ids[b], dict[str, object]((k, c.to_list()[row]) for k, c in table.columns.items()))
        for table in tables.edges
        for row, (a, b) in enumerate(zip(table.sources, table.targets, strict=True))
    ]
    return ids, edges


@settings(max_examples=share(60), deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.lists(st.tuples(CELL, CELL, CELL), min_size=1, max_size=4),
    ENDS,
    st.sampled_from(",;\t "),
    st.booleans(),
)
def test_the_same_graph_as_from_text(
    tmp_path: Path, rows: list[tuple[str, str, str]], end: str, delimiter: str, last: bool
) -> None:
    lines = [delimiter.join((":START_ID", ":END_ID", "p"))]
    lines += [delimiter.join(("1", "2", "3"))] * 4
    lines += [delimiter.join(row) for row in rows]
    path = tmp_path / "input.csv"
    path.write_text(end.join(lines) + (end if last else ""), newline="")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(integer_table, "_FEW", 20)  # the first lines look like numbers
        found = result(path, numbers=True)
    assert found == result(path, numbers=False)


def test_numbers_are_read_as_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the comparison above would compare text with text."""
    monkeypatch.setattr(
        integers, "_PART", 9
    )  # bytes: parts end with a line, and one has a blank one
    monkeypatch.setattr(integer_table, "_FEW", 7)
    monkeypatch.setattr(Table, "_read_text", lambda self: pytest.fail("is read as text"))
    path = tmp_path / "input.csv"
    path.write_text(":START_ID,:END_ID,p\n1,-2,5\n-3,4,0\n\n12345678901234,2,3\n1,1,1")
    _, edges = result(path, numbers=True)
    assert sorted(edges, key=str) == [
        *((-3, 4, {"p": 0}), (1, -2, {"p": 5}), (1, 1, {"p": 1})),
        (12345678901234, 2, {"p": 3}),
    ]


@pytest.mark.parametrize("text", ["id:ID,x\n1,1\n\n2,2\n1,3\n4,4\n", "id:ID\n1\n\n2\n1\n4\n"])
def test_a_node_that_stands_twice_is_told_by_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    """Whether a blank line is a record or not, and in whichever part of the file it is."""
    for module, name, size in (
        (integers, "_PART", 5),
        (integers, "_REST", 3),
        (integer_table, "_FEW", 2),
    ):
        monkeypatch.setattr(module, name, size)
    store, path = Store.open(None, create=True), tmp_path / "nodes.csv"
    path.write_text(text)
    report = load(store, nodes=path, on_error="skip")
    (refused,) = report.files[0].rejected
    assert (refused.line, refused.text) == (5, text.splitlines()[4])
    (table,) = read_tables(store.snapshot()).vertices
    assert sorted(map(int, table.ids)) == [1, 2, 4]
    if "x" in text:
        found = dict(zip(table.ids, table.columns["x"].to_list(), strict=True))
        assert found == {1: 1, 2: 2, 4: 4}


def test_an_edge_without_its_node_is_told_by_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In whichever piece of the file it is."""
    monkeypatch.setattr(integers, "_PART", 9)
    monkeypatch.setattr(edge_runs, "PIECE", 8)
    store, nodes, edges = (
        Store.open(None, create=True),
        tmp_path / "nodes.csv",
        tmp_path / "edges.csv",
    )
    nodes.write_text("id:ID\n" + "".join(f"{k}\n" for k in range(40)))
    lines = [f"{k},{k + 1}" for k in range(43)]
    edges.write_text("\n".join([":START_ID,:END_ID", *lines]))
    report = load(store, nodes=nodes, edges=edges, on_error="skip")
    assert report.edges == 39
    found = [(refused.line, refused.text) for refused in report.files[1].rejected]
    assert found == [(k + 2, lines[k]) for k in range(39, 43)]


def test_parts_keep_the_order_of_lines_and_parsing_can_be_cancelled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(integers, "_PART", 9)
    lines = "".join(f"{k},{-k - 1}\n" for k in range(100))
    text = np.frombuffer(lines.encode(), np.uint8)
    cancel = threading.Event()
    found = integers.parse_integers(text, ord(","), 2, cancel)
    assert found is not None
    assert found.tolist() == [list(range(100)), list(range(-1, -101, -1))]
    cancel.set()
    with pytest.raises(Cancelled):
        integers.parse_integers(text, ord(","), 2, cancel)
