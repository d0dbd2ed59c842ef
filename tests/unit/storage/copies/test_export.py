"""An export that is imported again is the same graph; or there is no export at all."""

from __future__ import annotations

import errno
import json
import math
import os
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gdb
from gdb.base.values.duration import Duration
from gdb.errors import Cancelled, CorruptStore, FolderTaken, ImportFailed, NameProblem, StoreError
from gdb.storage.columns.model import Column, EdgeTable, Item, VertexTable
from gdb.storage.columns.python_columns import column_of
from gdb.storage.columns.temporal import EPOCH, LONGEST
from gdb.storage.copies import exporter
from gdb.storage.copies.export_contents import FORMATS, NAME, FileFormat
from gdb.storage.copies.exporter import export
from gdb.storage.disk.steps import Steps
from gdb.storage.graph.snapshot import Snapshot
from gdb.storage.importer import LoadReport
from gdb.storage.write.store import Store
from tests.oracles.dict_graph import Naive, agree, tables
from tests.support.effort import share
from tests.support.graph_tables import GraphTables, read_tables, write_graph
from tests.support.loading import load

STEPS = Steps("export")
ODD: list[Item] = [
    *("", " ", " a ", ",", '"', '""', "a,b", 'say "hi", ok', "'", "\\", "\\N", "NULL", "null"),
    *("\n", "\r", "\r\n", "a\nb", "a\r\nb\n", "\t", "#x", "é€😀", "\ufeff", "\u2028", "\0", "a\0"),
    *("1", "01", "1.5", "true", "nan", "-", ";", "a;b", "{}", "x" * 70_000, "\x1a", "\x7f"),
]
FLOATS: list[Item] = [
    0.1,
    1 / 3,
    -0.0,
    5e-324,
    1.7976931348623157e308,
    1e22,
    math.inf,
    -math.inf,
    math.nan,
]
ESCAPES: list[Item] = [r"\s", r"\b", r"\e", r"\\s;", ";", "\\"]
DAYS: list[Item] = [date.min, date.max, date(1969, 12, 31), date(2000, 2, 29)]
INSTANTS: list[Item] = [
    datetime.min,
    datetime.max,
    datetime(1969, 12, 31, 23, 59, 59, 999_999),
    EPOCH,
]
LENGTHS: list[Item] = [
    timedelta(microseconds=n) for n in (LONGEST, -LONGEST, 0, -1, 10, 90_061_000_000)
]
BIG = [-(2**63), 2**63 - 1, 0, -1]


def stored(graph: GraphTables) -> Snapshot:
    return write_graph(Store.open(None, create=True), graph)


def again(snapshot: Snapshot, format: FileFormat) -> tuple[Snapshot, LoadReport]:
    """The snapshot, exported and imported."""
    with tempfile.TemporaryDirectory() as folder:
        export(snapshot, Path(folder) / "e", format, STEPS)
        store = Store.open(None, create=True)
        report = load(store, Path(folder) / "e")
        return store.snapshot(), report


def described(snapshot: Snapshot) -> list[object]:
    """Groups and types with the kinds of their properties that have values."""
    groups = [
        (g.labels, g.id_space, g.count, _kinds(snapshot.vertex_column(n, k) for k in g.keys))
        for n, g in enumerate(snapshot.groups)
    ]
    types = [
        (t.name, t.directed, t.edge_count, _kinds(snapshot.edge_column(t.name, k) for k in t.keys))
        for t in snapshot.edge_types
    ]
    return [sorted(groups), sorted(types)]


def _kinds(columns: Iterator[Column | None]) -> list[str]:
    return sorted(c.kind for c in columns if c is not None and (c.valid is None or c.valid.any()))


@settings(max_examples=share(25))
@given(tables(), st.sampled_from(FORMATS))
def test_any_graph_comes_back_equal(graph: GraphTables, format: FileFormat) -> None:
    snapshot = stored(graph)
    found, report = again(snapshot, format)
    agree(Naive(graph), found)
    assert described(found) == described(snapshot)
    found.check()
    assert (report.vertices, report.edges) == (snapshot.vertex_count, snapshot.edge_count)


def odd() -> GraphTables:
    """All that is hard to write, on nodes and relationships."""
    count = len(ODD)
    columns = {
        "text": column_of([*ODD[:-1], None]),
        "more": column_of([None, *ODD[1:]]),
        "float": column_of((FLOATS * count)[:count], "float64"),
        "int": column_of((BIG * count)[:count]),
        "bool": column_of(([True, None, False] * count)[:count]),
        "date": column_of([*(DAYS * count)[: count - 1], None]),
        "datetime": column_of([None, *(INSTANTS * count)[: count - 1]]),
        "duration": column_of([*(LENGTHS * count)[: count - 2], None, None]),
        "texts": column_of([*([text] for text in ODD[:-1]), None]),
        "more texts": column_of([[], ESCAPES, ["", ""], None, ODD, *[["x"]] * (count - 5)]),
        "floats": column_of([FLOATS, [], None, *[[0.5]] * (count - 3)]),
        "days": column_of([DAYS, None, *[[]] * (count - 2)], "date[]"),
        "instants": column_of([INSTANTS, *[[]] * (count - 1)]),
        "lengths": column_of([LENGTHS, None, *[[]] * (count - 2)]),
        "any": column_of([*ODD[:-2], [*ODD[:-1], 1, Duration(1, 2, 3, 4)], None], "any"),
        "none": Column.nulls("int64", count),
        "no lists": Column.nulls("string[]", count),
    }
    ids = [f"{k}{text}" for k, text in enumerate(ODD)]
    around = np.arange(count)
    return GraphTables(
        (
            VertexTable(("A", "B"), "words", ids, columns),
            VertexTable((), "", np.array(BIG)),
            VertexTable(("A",), "numbers", np.array([1])),
            VertexTable(("A",), "words", ["1", " "]),
        ),
        (
            EdgeTable("D", True, around, np.roll(around, 1), columns),
            EdgeTable("D", True, around, around + 4),
            EdgeTable("D", True, around * 0, around * 0),
            EdgeTable("U", False, around, around[::-1] + 1, {"w": columns["float"]}),
            EdgeTable("NONE", True, around[:0], around[:0]),
            EdgeTable("NO ENDS", False, around[:0], around[:0]),
        ),
    )


def plain(graph: GraphTables | Snapshot) -> list[object]:
    naive = Naive(graph if isinstance(graph, GraphTables) else read_tables(graph))
    return [
        sorted(map(repr, naive.vertices.items())),
        sorted((repr(edge), n) for edge, n in naive.edge_bag().items()),
    ]


@pytest.mark.parametrize("format", FORMATS)
def test_what_is_hard_to_write_comes_back(format: FileFormat) -> None:
    snapshot = stored(odd())
    found, report = again(snapshot, format)
    assert plain(found) == plain(snapshot) == plain(odd())
    assert [t.name for t in found.edge_types] == ["D", "NO ENDS", "NONE", "U"]
    assert report.warnings == []


ODD_NAMES = [
    "a:b",
    "a",
    "A",
    " a",
    "a ",
    "a;b",
    "a,b",
    'a"b',
    "a\nb",
    "é",
    ":ID",
    "x:int",
    "c0",
    "\0",
]


@pytest.mark.parametrize("format", FORMATS)
def test_names_that_no_header_can_hold_come_back(format: FileFormat) -> None:
    columns = {name: column_of([k]) for k, name in enumerate(ODD_NAMES)}
    one = np.zeros(1, np.int64)
    graph = GraphTables(
        tuple(VertexTable((n, "L"), n, [n], {} if k else columns) for k, n in enumerate(ODD_NAMES)),
        tuple(
            EdgeTable(name, True, one, one + k, {} if k else columns)
            for k, name in enumerate(ODD_NAMES)
        ),
    )
    found, _ = again(stored(graph), format)
    assert plain(found) == plain(graph)


@pytest.mark.parametrize("format", FORMATS)
def test_a_text_longer_than_readers_take(format: FileFormat) -> None:
    text = 'long "quoted" text, ' * 300_000
    graph = GraphTables((VertexTable((), "", np.arange(2), {"t": column_of([text, "x"])}),))
    assert plain(again(stored(graph), format)[0]) == plain(graph)


@pytest.mark.parametrize("format", FORMATS)
def test_batches_are_joined_in_order(format: FileFormat, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exporter, "_BATCH", 7)
    assert plain(again(stored(odd()), format)[0]) == plain(odd())


@pytest.mark.parametrize("format", FORMATS)
def test_many_texts_with_line_ends(format: FileFormat) -> None:
    rng = np.random.default_rng(3)
    texts = ['\n"', "a\n\nb", "\r\n", ",\n,", "x" * 500, "", "é\n"]
    picked = [texts[k] for k in rng.integers(0, len(texts), 300_000)]
    graph = GraphTables((VertexTable((), "", np.arange(len(picked)), {"t": column_of(picked)}),))
    found, _ = again(stored(graph), format)
    column = read_tables(found).vertices[0]
    order = np.argsort(np.asarray(column.ids))
    assert column.columns["t"].take(order).to_list() == picked


@pytest.mark.parametrize("format", FORMATS)
def test_an_empty_graph(format: FileFormat) -> None:
    with tempfile.TemporaryDirectory() as folder:
        export(stored(GraphTables()), Path(folder), format, STEPS)
        assert os.listdir(folder) == [NAME]
        with gdb.connect() as db:
            assert db.load(folder).rows == 0
            assert db.stats().vertices == 0


def test_the_files_have_headers_of_neo4j_admin(tmp_path: Path) -> None:
    graph = GraphTables(
        (
            VertexTable(("P", "A"), "P", np.array([1]), {"name": column_of(['"x"'])}),
            VertexTable((), "", ["b"], {"s": column_of([""])}),
        ),
        (EdgeTable("T", False, np.array([0]), np.array([1]), {"w": column_of([0.5])}),),
    )
    export(stored(graph), tmp_path / "e", "csv", STEPS)
    held = {p.name: p.read_text() for p in (tmp_path / "e").iterdir() if p.suffix == ".csv"}
    assert sorted(held.values()) == [
        ':ID(P){id-type:long},:LABEL,name:string\n1,A;P,"""x"""\n',
        ':ID{id-type:string},:LABEL,s:string\nb,,""\n',
        ":START_ID(P),:END_ID,:TYPE,w:double\n1,b,T,0.5\n",
    ]
    with gdb.connect() as db:  # also by name, as any such files
        files = {
            n: [tmp_path / "e" / f for f in held if f.startswith(n)] for n in ("nodes", "edges")
        }
        db.load(nodes=files["nodes"], edges=files["edges"], directed=False)
        assert plain(db._store.snapshot()) == plain(graph)


@pytest.mark.parametrize("format", FORMATS)
def test_loading_adds_to_what_is_there(tmp_path: Path, format: FileFormat) -> None:
    old = GraphTables((VertexTable(("Z",), "z", np.array([5])),))
    export(stored(odd()), tmp_path / "e", format, STEPS)
    store = Store.open(None, create=True)
    write_graph(store, old)
    load(store, tmp_path / "e")
    assert store.snapshot().vertex_count == 1 + stored(odd()).vertex_count
    with pytest.raises(ImportFailed, match="is there already"):
        load(store, tmp_path / "e")


@pytest.mark.parametrize("format", FORMATS)
def test_a_label_under_which_a_property_is_of_several_types(
    tmp_path: Path, format: FileFormat
) -> None:
    """A store holds one type for each label set and id space, and so does what comes back."""
    asked = "MATCH (n) RETURN labels(n), n.x"
    with gdb.connect() as db:
        with db.transaction() as tx:
            tx.add_nodes("A", [0], {"x": [1]}, id_space="other")
            tx.add_nodes("A", ["a"])
        db.execute(
            "CREATE (:A {x: 1}), (:A:B {x: 'one'}), (:B {x: 1.5}), (:B:C {x: 2}), (:C {x: true})"
        )
        db.export(tmp_path / "e", format)
        wanted = sorted(map(repr, db.execute(asked).fetchall()))
    with gdb.connect() as db:
        db.load(tmp_path / "e")
        assert sorted(map(repr, db.execute(asked).fetchall())) == wanted
    with gdb.connect() as db:
        with db.transaction() as tx:
            tx.add_nodes(("A", "B"), [7], {"x": [7]}, id_space="_created")
        with pytest.raises(
            ImportFailed, match=r"'x' of .* is int64 in the graph already, and string here: 'one'"
        ):
            db.load(tmp_path / "e")


@pytest.mark.parametrize("format", FORMATS)
def test_a_folder_whose_name_looks_like_something_else(tmp_path: Path, format: FileFormat) -> None:
    folder = tmp_path / "a=1" / "it's *[b]? {c}.csv"
    export(stored(odd()), folder, format, STEPS)
    store = Store.open(None, create=True)
    load(store, folder)
    assert plain(store.snapshot()) == plain(odd())


# ---- errors -----------------------------------------------------------------------------------------


def test_what_is_there_is_never_written_over(tmp_path: Path) -> None:
    (tmp_path / "letter").write_text("mine")
    with gdb.connect() as db:
        for path in (tmp_path, tmp_path / "letter"):
            with pytest.raises(FolderTaken, match="Name a new folder"):
                db.export(path)
        with pytest.raises(NameProblem, match="Did you mean 'parquet'"):
            db.export(tmp_path / "e", "parket")  # type: ignore[arg-type]
    assert os.listdir(tmp_path) == ["letter"]


@pytest.mark.parametrize("format", FORMATS)
def test_cancelled_at_every_step_it_leaves_nothing(tmp_path: Path, format: FileFormat) -> None:
    snapshot = stored(odd())
    seen: list[float] = []
    export(snapshot, tmp_path / "e", format, Steps("export", lambda _, done: seen.append(done)))
    assert seen == sorted(seen)
    assert seen[-1] == 1.0
    for last in range(len(seen) - 1):
        cancel = _Countdown(last)
        with pytest.raises(Cancelled, match="export was cancelled"):
            export(snapshot, tmp_path / "f", format, Steps("export", cancel.step, cancel.event))
        assert os.listdir(tmp_path) == ["e"]


class _Countdown:
    def __init__(self, steps: int) -> None:
        self.left, self.event = steps, threading.Event()

    def step(self, name: str, done: float) -> None:
        self.left -= 1
        if self.left < 0:
            self.event.set()


@contextmanager
def small_disk(size: int) -> Iterator[None]:
    """No file of this process may have more bytes."""
    import resource

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("format", FORMATS)
def test_a_file_that_cannot_be_written_leaves_nothing(tmp_path: Path, format: FileFormat) -> None:
    ids = np.random.default_rng(1).integers(0, 2**60, 20_000)
    snapshot = stored(GraphTables((VertexTable((), "", np.unique(ids)),)))
    said = rf"^The operating system failed on {tmp_path}/e: File too large\. Check the disk"
    with small_disk(50_000), pytest.raises(StoreError, match=said):
        export(snapshot, tmp_path / "e", format, STEPS)
    assert os.listdir(tmp_path) == []
    export(snapshot, tmp_path / "e", format, STEPS)


@pytest.mark.parametrize("call", ["fsync", "rename", "write"])
def test_a_disk_that_fails_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    def fails(*arguments: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with gdb.connect() as db:
        write_graph(db._store, odd())
        monkeypatch.setattr(os, call, fails)
        with pytest.raises(StoreError, match="No space left on device"):
            db.export(tmp_path / "e")
    assert os.listdir(tmp_path) == []


def test_a_damaged_store_is_refused(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "s", create=True)
    (record, *_) = write_graph(store, odd()).manifest.files
    store.close()
    raw = (tmp_path / "s" / record.name).read_bytes()
    (tmp_path / "s" / record.name).write_bytes(raw[:-1] + bytes([raw[-1] ^ 1]))
    with (
        gdb.connect(tmp_path / "s", read_only=True) as db,
        pytest.raises(CorruptStore, match=record.name),
    ):
        db.export(tmp_path / "e")
    assert not (tmp_path / "e").exists()


@pytest.mark.parametrize("format", FORMATS)
def test_an_export_that_was_changed_is_refused(tmp_path: Path, format: FileFormat) -> None:
    folder = tmp_path / "e"
    export(stored(odd()), folder, format, STEPS)
    store = Store.open(None, create=True)
    told = folder / NAME
    right = told.read_text(encoding="utf-8")
    for old, new, says in (
        ('"rows": 4', '"rows": 5', "when it was exported it had 5"),
        ('"gdb_export": 3', '"gdb_export": 4', "version 4; this gdb reads up to version 3"),
        ('"file": "nodes', '"file": "../nodes', "is no name of a file"),
        ('"role": "ID"', '"role": "KEY"', "no role of a column"),
        ("{", "", "cannot be understood"),
    ):
        told.write_text(right.replace(old, new, 1), encoding="utf-8")
        with pytest.raises(ImportFailed, match=says):
            load(store, folder)
    told.write_text(right, encoding="utf-8")
    name = json.loads(right)["nodes"][0]["held"]["file"]
    (folder / name).rename(folder / "away")
    with pytest.raises(ImportFailed, match=f"{name}.* does not exist"):
        load(store, folder)
    told.unlink()
    with pytest.raises(ImportFailed, match="is a directory"):
        load(store, folder)
    assert store.snapshot().version == 0
