"""docs/FORMAT.md says all: a reader written from that text alone, with struct and json, reads a store.

Imports nothing of `gdb.storage` for reading; the store is written by it.
"""

from __future__ import annotations

import hashlib
import math
import shutil
from collections import Counter
from datetime import date, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

import gdb
from gdb.base.values.duration import Duration
from gdb.base.values.temporal import Date, DateTime, LocalDateTime, LocalTime, Time
from gdb.errors import CorruptStore, StoreVersionError
from gdb.storage.columns.model import EdgeTable, PropertyValue, VertexTable
from gdb.storage.columns.python_columns import column_of
from gdb.storage.disk import checksum
from gdb.storage.format import manifest, manifest_head
from gdb.storage.write import commit as committing
from gdb.storage.write.commit import commit
from gdb.storage.write.store import Store
from gdb.storage.write.transaction import Changes
from tests.format.make import HERE, PACKED_SEGMENT_EDGES, packed_graph
from tests.oracles.store_reader import PlainStore, string_key
from tests.support.graph_tables import GraphTables, write_graph


def test_a_reader_written_from_the_text_reads_a_store(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    count, edges = 90, 2500
    names = [f"name {n} é" for n in range(30)]
    marks = [None if n % 3 else bool(n % 2) for n in range(60)]
    ends = rng.integers(0, count - 5, (4, edges))
    ends[0, :600] = 3  # a row longer than 255, over several segments
    weights = [None if w < 0.1 else float(w) for w in rng.random(edges)]
    graph = GraphTables(
        (
            VertexTable(("B", "A"), "words", names, {"s": column_of(names)}),
            VertexTable((), "", np.arange(60) - 7, {"b": column_of(marks)}),
        ),
        (
            EdgeTable("D", True, ends[0], ends[1], {"w": column_of(weights)}),
            EdgeTable("U", False, ends[2], ends[3]),
        ),
    )
    write_graph(Store.open(tmp_path, create=True), graph, segment_edges=400)
    plain = PlainStore(tmp_path)
    assert plain.format == 1
    body = plain.body

    row_of_vid: dict[int, int] = {}
    keys: dict[str, dict[int, int]] = {"": {}, "words": {}}
    for group in body["groups"]:
        vids = [v for start, stop in group["ranges"] for v in range(start, stop)]
        ids = plain.column(group["file"], group["ids"], len(vids))
        words = group["id_space"] == "words"
        assert group["labels"] == (["A", "B"] if words else [])
        rows = [names.index(str(i)) if words else 30 + int(str(i)) + 7 for i in ids]
        row_of_vid.update(zip(vids, rows, strict=True))
        wanted = names if words else marks
        own = plain.column(group["file"], group["columns"]["s" if words else "b"], len(vids))
        assert own == [wanted[row - (0 if words else 30)] for row in rows]
        for vid, user_id in zip(vids, ids, strict=True):
            keys[group["id_space"]][vid] = string_key(str(user_id)) if words else int(str(user_id))
    assert sorted(row_of_vid) == list(range(count))
    for space in body["spaces"]:
        found = plain.section(space["file"], space["section"], 32, "Q" if space["name"] else "q")
        vids = plain.section(space["file"], space["section"] + 1, 33, "I")
        assert found == sorted(found)
        assert dict(zip(vids, found, strict=True)) == keys[space["name"]]

    directed, undirected = body["types"]
    parts = {p["direction"]: plain.part(p) for p in directed["parts"]}
    assert len(directed["parts"][0]["segments"]) >= 7
    column = plain.column(directed["file"], directed["columns"]["w"], edges)
    in_rows = [(row_of_vid[a], row_of_vid[b]) for a, b in parts["->"]]
    expected = zip(ends[0].tolist(), ends[1].tolist(), weights, strict=True)
    assert Counter((a, b, w) for (a, b), w in zip(in_rows, column, strict=True)) == Counter(
        expected
    )
    by_target = sorted(range(edges), key=lambda position: parts["->"][position][1])
    assert [parts["->"][p] for p in by_target] == [(b, a) for a, b in parts["<-"]]
    both = plain.part(undirected["parts"][0])
    canonical = [(row_of_vid[a], row_of_vid[b]) for a, b in both if b >= a]
    pairs = zip(ends[2].tolist(), ends[3].tolist(), strict=True)
    assert Counter(tuple(sorted(p)) for p in canonical) == Counter(tuple(sorted(p)) for p in pairs)
    assert (undirected["first_eid"], undirected["edge_count"]) == (edges, edges)


@pytest.mark.parametrize("records", [0, 1, 4])
@pytest.mark.parametrize("inline", [True, False])
def test_a_reader_written_from_the_text_reads_a_delta(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, inline: bool, records: int
) -> None:
    """The base as it was, and every member of the delta: in the manifest, in a file of its own, or after the last of
    some records."""
    monkeypatch.setattr(committing, "MOST_INLINE", 1 << 18 if inline else 0)
    tables = GraphTables(
        (VertexTable(("A",), "", np.arange(6), {"x": column_of(list(range(6)))}),),
        (
            EdgeTable("D", True, np.array([0, 1, 1, 2]), np.array([1, 2, 2, 3])),
            EdgeTable("U", False, np.array([0, 4]), np.array([1, 3])),
        ),
    )
    store = Store.open(tmp_path, create=True)
    write_graph(store, tables)
    for number in range(records + 1 if records else 0):  # each takes back what the one before did
        with store.writer():
            changes = Changes(store.snapshot())
            for n in (number, number - 1):
                vid = changes.find([n % 5], "")
                if n == number:
                    changes.add_edges("D", True, vid, vid, {"w": column_of([f"{n}"])})
                elif n >= 0:
                    changes.remove_edges("D", vid, vid)
            if number == records:
                changes.remove_edges(
                    "D", changes.find([number % 5], ""), changes.find([number % 5], "")
                )
            commit(store, changes)
    with store.writer():
        changes = Changes(store.snapshot())
        new = changes.add_vertices(("B",), "", column_of([9, 8]), {"y": column_of([1.5, None])})
        zero, one, two, three, four, five = changes.find(list(range(6)), "").tolist()
        ends = np.array([new[1], one], np.uint32), np.array([zero, two], np.uint32)
        changes.add_edges("D", True, *ends, {"w": column_of(["a", "é"])})
        changes.add_edges("U", False, *ends, {})
        some = np.array([four], np.uint32), np.array([three], np.uint32)
        assert changes.remove_edges("U", *some) == 1
        changes.set_edges("D", ends[0][1:], ends[1][1:], {"w": column_of(["z"])})
        changes.set_vertices(np.array([two], np.uint32), {"x": column_of([None])})
        changes.remove_vertices(np.array([five, new[0]], np.uint32), detach=False)
        commit(store, changes)
    plain = PlainStore(tmp_path)
    assert (plain.format, plain.records) == ((4, records) if records else (2, 0))
    body, delta = plain.body, plain.body["delta"]
    assert body["version"] == 2 + (records + 1 if records else 0)
    assert (body["vertex_count"], body["edge_count"], delta["vertices"]) == (6, 6, 2)
    assert delta["file"] == len(plain.files) - 1 == len(body["files"]) - (not inline)
    assert plain.section(delta["file"], delta["dead"], 48, "I") == sorted([five, 6])
    (added,) = delta["added"]
    assert (added["labels"], added["id_space"], added["ranges"]) == (["B"], "", [[6, 8]])
    assert plain.column(delta["file"], added["ids"], 2) == [9, 8]
    assert plain.column(delta["file"], added["columns"]["y"], 2) == [1.5, None]
    patch = delta["patches"]["0"]["x"]
    (row,) = plain.section(delta["file"], patch["rows"], 49, "q")
    assert row == two - body["groups"][0]["ranges"][0][0]
    assert plain.column(delta["file"], patch["column"], patch["count"]) == [None]
    directed, undirected = delta["types"]
    keys = plain.section(delta["file"], directed["keys"], 50, "Q")
    words = dict(zip(keys, plain.column(delta["file"], directed["columns"]["w"], 2), strict=True))
    assert words == {7 << 32 | zero: "a", one << 32 | two: "z"}
    assert keys == sorted(keys)
    patched = directed["patches"]["w"]
    ranks = plain.section(delta["file"], patched["rows"], 49, "q")
    parts = {p["direction"]: plain.part(p) for p in body["types"][0]["parts"]}
    assert [parts["->"][rank] for rank in ranks] == [(one, two)] * 2
    assert plain.column(delta["file"], patched["column"], 2) == ["z", "z"]
    small = [min(one, two) << 32 | max(one, two), zero << 32 | 7]
    assert plain.section(delta["file"], undirected["keys"], 50, "Q") == sorted(small)
    canonical = [(a, b) for a, b in plain.part(body["types"][1]["parts"][0]) if b >= a]
    (gone,) = plain.section(delta["file"], undirected["removed"], 51, "q")
    assert canonical[gone] == (min(three, four), max(three, four))


LATER: dict[str, list[PropertyValue]] = {
    "date": [date.min, None, date(1969, 12, 31), date(1970, 1, 1), date.max],
    "datetime": [
        datetime.min,
        None,
        datetime(1969, 12, 31, 23, 59, 59, 999_999),
        datetime.max,
        None,
    ],
    "duration": [timedelta(microseconds=n) for n in (1 - 2**63, -1, 0, 1, 2**63 - 1)],
    "int64[]": [[1, -2], [], None, [3], [2**63 - 1]],
    "float64[]": [[0.5], [0.25], [], [], []],
    "bool[]": [[True, False], None, None, [], [False]],
    "string[]": [["é", ""], [], [""], None, ["abc", "d"]],
    "date[]": [[date.min], [], [], [date.max, date(1970, 1, 1)], None],
    "datetime[]": [[], [], [], [datetime.max, datetime.min], None],
    "duration[]": [None, None, [timedelta(-1), timedelta(1)], None, None],
}


def test_columns_of_times_and_lists_make_it_format_2(tmp_path: Path) -> None:
    columns = {kind: column_of(values) for kind, values in LATER.items()}
    ends = np.arange(5)
    graph = GraphTables(
        (VertexTable((), "", np.arange(5), columns),),
        (EdgeTable("D", True, ends, ends, columns),),
    )
    write_graph(Store.open(tmp_path, create=True), graph)
    plain = PlainStore(tmp_path)
    assert plain.format == 2
    (group,), (edges,) = plain.body["groups"], plain.body["types"]
    ids = [int(str(user_id)) for user_id in plain.column(group["file"], group["ids"], 5)]
    for owner in (group, edges):  # each vertex has a loop, and edges lie in the order of vids
        for kind, values in LATER.items():
            assert owner["columns"][kind]["kind"] == kind
            found = plain.column(owner["file"], owner["columns"][kind], 5)
            assert found == [values[user_id] for user_id in ids]


ANY: list[tuple[PropertyValue, object]] = [
    *((None, None), (True, True), (-7, -7), (2.5, 2.5), (math.inf, math.inf), ("é,:", "é,:")),
    *((Date(-1), ("D", -1)), (LocalTime(5), ("t", 5)), (Time(5, -60), ("T", 5, -60))),
    (LocalDateTime(3, 4), ("n", 3, 4)),
    (DateTime(3, 4, 3600, "Europe/Stockholm"), ("N", 3, 4, 3600, "Europe/Stockholm")),
    (DateTime(3), ("N", 3, 0, 0, "")),
    (Duration(1, -2, -3, 4), ("P", 1, -2, -3, 4)),
    ([], []),
    (["", "é", 1, Duration(1)], ["", "é", 1, ("P", 1, 0, 0, 0)]),
]


def test_columns_of_any_type_make_it_format_3(tmp_path: Path) -> None:
    column = column_of([value for value, _ in ANY], "any")
    count = len(ANY)
    table = VertexTable((), "", np.arange(count), {"x": column, "y": column_of([1] * count)})
    store = Store.open(tmp_path, create=True)
    write_graph(store, GraphTables((table,)))
    plain = PlainStore(tmp_path)
    assert plain.format == 3
    (group,) = plain.body["groups"]
    ids = [int(str(user_id)) for user_id in plain.column(group["file"], group["ids"], count)]
    assert group["columns"]["x"]["kind"] == "any"
    found = plain.column(group["file"], group["columns"]["x"], count)
    assert list(map(repr, found)) == [repr(ANY[user_id][1]) for user_id in ids]


@pytest.mark.parametrize("kind", ["added", "patch", "edges", "patch of edges"])
def test_so_does_any_in_a_delta(tmp_path: Path, kind: str) -> None:
    ends = np.zeros(1, np.int64)
    table = VertexTable(("A",), "", np.arange(1), {"x": column_of([1])})
    edges = EdgeTable("R", True, ends, ends, {"x": column_of([1])})
    store = Store.open(tmp_path, create=True)
    write_graph(store, GraphTables((table,), (edges,)))
    zero, new = np.zeros(1, np.uint32), {"x": column_of(["a"])}
    with store.writer():
        changes = Changes(store.snapshot())
        changes.widens = True
        if kind == "added":
            changes.add_vertices(("A",), "", column_of([1]), new)
        elif kind == "patch":
            changes.set_vertices(zero, new)
        elif kind == "edges":
            changes.add_edges("R", True, zero, zero, new)
        else:
            changes.set_edges("R", zero, zero, new)
        commit(store, changes)
    plain = PlainStore(tmp_path)
    assert plain.format == 3
    delta = plain.body["delta"]
    record = {
        "added": lambda: delta["added"][0]["columns"]["x"],
        "patch": lambda: delta["patches"]["0"]["x"]["column"],
        "edges": lambda: delta["types"][0]["columns"]["x"],
        "patch of edges": lambda: delta["types"][0]["patches"]["x"]["column"],
    }[kind]()
    assert record["kind"] == "any"
    assert plain.column(delta["file"], record, 1) == ["a"]


def test_an_older_gdb_says_that_it_is_too_old(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = VertexTable((), "", np.arange(1), {"x": column_of([1], "any")})
    write_graph(Store.open(tmp_path, create=True), GraphTables((table,)))
    monkeypatch.setattr(manifest, "FORMAT", 2)
    with pytest.raises(StoreVersionError, match="has format 3; this gdb reads up to format 2"):
        Store.open(tmp_path, create=False, read_only=True)


def test_values_of_any_type_are_not_of_format_2(tmp_path: Path) -> None:
    table = VertexTable((), "", np.arange(1), {"x": column_of([1], "any")})
    write_graph(Store.open(tmp_path, create=True), GraphTables((table,)))
    raw = bytearray((tmp_path / "MANIFEST").read_bytes()[:-16])
    raw[8] = 2
    (tmp_path / "MANIFEST").write_bytes(bytes(raw) + hashlib.blake2b(raw, digest_size=16).digest())
    with pytest.raises(CorruptStore, match="values of any type in format 2"):
        Store.open(tmp_path, create=False, read_only=True)


def test_a_large_file_has_another_checksum_and_format_5(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The files that are large, and the journal behind the manifest of such a store."""
    (small, large), ids = (tmp_path / "small", tmp_path / "large"), np.arange(50)
    with monkeypatch.context() as patch:
        for folder, least in ((small, checksum.LARGE), (large, 1000)):
            patch.setattr(checksum, "LARGE", least)
            with gdb.connect(folder) as db:
                with db.transaction() as tx:
                    tx.add_nodes("N", ids.tolist(), {"x": [float(n) for n in ids]})
                db.compact()
                for n in range(4):
                    db.execute("MATCH (n:N) WHERE id(n) = 3 SET n.x = $x", {"x": float(n)})
    found = [PlainStore(folder) for folder in (small, large)]
    assert [(one.format, one.records) for one in found] == [(4, 2), (5, 2)]
    lengths = {file["length"]: len(file["digest"]) for file in PlainStore(large).body["files"]}
    assert lengths == {length: 64 if length >= 1000 else 32 for length in lengths}
    assert set(lengths.values()) == {64}
    with gdb.connect(large) as db:
        assert db.execute("MATCH (n:N) WHERE id(n) = 3 RETURN n.x").scalar() == 3
        db.check()
        db.compact()  # by this gdb it is small: an older one reads what it writes
    assert PlainStore(large).format == 1


def test_a_newer_format_with_records_is_no_damage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = shutil.copytree(HERE / "format-5-journal-delta-inside", tmp_path / "copy")
    for module in (manifest, manifest_head):
        monkeypatch.setattr(module, "FORMAT", 4)
    with pytest.raises(StoreVersionError, match="has format 5; this gdb reads up to format 4"):
        Store.open(folder, create=False, read_only=True)


def test_an_older_gdb_refuses_a_store_of_large_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checksum, "LARGE", 0)
    write_graph(
        Store.open(tmp_path, create=True), GraphTables((VertexTable((), "", np.arange(9)),))
    )
    with monkeypatch.context() as patch:
        patch.setattr(manifest, "FORMAT", 4)
        with pytest.raises(StoreVersionError, match="has format 5; this gdb reads up to format 4"):
            Store.open(tmp_path, create=False, read_only=True)
    raw = bytearray((tmp_path / "MANIFEST").read_bytes()[:-16])
    raw[8] = 4
    (tmp_path / "MANIFEST").write_bytes(bytes(raw) + hashlib.blake2b(raw, digest_size=16).digest())
    with pytest.raises(CorruptStore, match="a checksum of 64 digits in format 4"):
        Store.open(tmp_path, create=False, read_only=True)


def test_a_reader_written_from_the_text_reads_a_packed_store(tmp_path: Path) -> None:
    """The golden store, and what it must be: the same graph, written plain."""
    packed = PlainStore(HERE / "format-4-packed")
    assert packed.format == 4
    store = Store.open(tmp_path, create=True)
    write_graph(store, packed_graph(), segment_edges=PACKED_SEGMENT_EDGES)
    plain = PlainStore(tmp_path)
    assert plain.format == 1
    for mine, other in zip(packed.body["groups"], plain.body["groups"], strict=True):
        assert (mine["labels"], mine["ranges"]) == (other["labels"], other["ranges"])
        count = sum(stop - start for start, stop in mine["ranges"])
        columns = [("ids", mine["ids"], other["ids"])]
        columns += [(key, mine["columns"][key], other["columns"][key]) for key in other["columns"]]
        for key, one, two in columns:
            found = packed.column(mine["file"], one, count)
            assert found == plain.column(other["file"], two, count), key
    for mine, other in zip(packed.body["types"], plain.body["types"], strict=True):
        for one, two in zip(mine["parts"], other["parts"], strict=True):
            assert packed.part(one) == plain.part(two)
            assert one["bytes"] <= two["bytes"]
        for key in other["columns"]:
            found = packed.column(mine["file"], mine["columns"][key], mine["edge_count"])
            wanted = plain.column(other["file"], other["columns"][key], mine["edge_count"])
            assert found == wanted, key
    for mine, other in zip(packed.body["spaces"], plain.body["spaces"], strict=True):
        for number, (kind, code) in enumerate([(32, "Q"), (33, "I")]):
            section = packed.section(mine["file"], mine["section"] + number, kind, code)
            assert section == plain.section(other["file"], other["section"] + number, kind, code)
    # it is a store of all that may be packed
    assert {kind for kind, code in packed.codes if code} == {1, 2, 3, 4, 5, 16, 17, 32, 33}
    assert not any(code for _, code in plain.codes)
    assert packed.codes[5, 2] > 2


def test_packed_sections_are_not_of_format_3(tmp_path: Path) -> None:
    raw = bytearray((HERE / "format-4-packed" / "MANIFEST").read_bytes()[:-16])
    raw[8] = 3
    (tmp_path / "MANIFEST").write_bytes(bytes(raw) + hashlib.blake2b(raw, digest_size=16).digest())
    with pytest.raises(CorruptStore, match="packed sections in format 3"):
        Store.open(tmp_path, create=False, read_only=True)
