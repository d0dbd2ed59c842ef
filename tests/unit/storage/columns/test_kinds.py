"""Integers beside floats become floats where no value is lost, and are refused with row and value where one would be:
in transactions, and in imports from whatever source."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any, cast

import networkx as nx
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import gdb
from gdb.errors import ChangeRefused, ImportFailed
from gdb.storage.columns.kinds import fitted, inexact
from gdb.storage.columns.model import EXACT, Column, PropertyValue
from gdb.storage.columns.python_columns import column_of
from gdb.storage.format.manifest import read
from gdb.storage.write.store import Store
from tests.support.effort import share
from tests.support.loading import load

BIG = 2**53 + 1
INTEGERS = st.integers(-(2**63), 2**63 - 1) | st.integers(EXACT - 2, EXACT + 2) | st.integers(-5, 5)
FLOATS = st.floats(allow_nan=False)
SINGLE: tuple[st.SearchStrategy[Any], ...] = (
    st.lists(st.none() | INTEGERS, min_size=1),
    st.lists(st.none() | FLOATS, min_size=1),
)
LISTS = (
    st.lists(st.none() | st.lists(INTEGERS), min_size=1),
    st.lists(st.none() | st.lists(FLOATS), min_size=1),
)
PAIR = st.one_of(
    *(st.tuples(st.sampled_from(kinds), st.sampled_from(kinds)) for kinds in (SINGLE, LISTS))
).flatmap(lambda both: st.tuples(*both))


def big(value: object) -> bool:
    """Whether a value holds an integer that is no float for sure."""
    items = value if isinstance(value, list) else [value]
    return any(isinstance(item, int) and abs(item) > EXACT for item in items)


def kind_of(values: list[Any]) -> str:
    """What a column of them is called, "" where they are nulls and empty lists."""
    items = [i for v in values if v is not None for i in (v if isinstance(v, list) else [v])]
    lists = "[]" * any(isinstance(v, list) for v in values)
    return f"{'int64' if isinstance(items[0], int) else 'float64'}{lists}" if items else ""


# ---- what decides ----------------------------------------------------------------------------------


@given(st.lists(st.none() | INTEGERS) | st.lists(st.none() | st.lists(INTEGERS)))
@example([None, BIG])
@example([[], [1], None, [], [2, -BIG]])
def test_the_first_integer_that_is_no_float(values: list[Any]) -> None:
    column = column_of(values)
    found = [row for row, value in enumerate(values) if big(value)]
    assert inexact(column) == (found[0] if found else None)


def test_what_stands_at_a_null_is_no_integer() -> None:
    column = column_of([BIG, 1])
    assert inexact(Column("int64", column.values, None, column.values == 1)) is None


@given(PAIR)
@example(([1], [BIG, None, 0.5]))
def test_a_change_loses_no_value_or_is_refused_with_it(pair: tuple[list[Any], list[Any]]) -> None:
    try:
        held, new = (column_of(values) for values in pair)
    except ImportFailed:
        assert any(big(v) for v in [*pair[0], *pair[1]])
        return
    mixed = {kind_of(pair[0]), kind_of(pair[1])} - {""}
    lost = len(mixed) == 2 and any(big(v) for values in pair for v in values)
    if kind_of(pair[0]) == "" or not lost:
        held = held if kind_of(pair[0]) else Column.nulls(new.kind, len(held))
        found = fitted({"x": new}, {"x": held.kind}, lambda _: held, widens=False).get("x", new)
        assert Column.concat([held, found]).to_list() == [*held.to_list(), *pair[1]]
        return
    says = "beyond 2"
    rows = [row for row, value in enumerate(pair[1]) if big(value)]
    if kind_of(pair[0]).startswith("float64"):
        says = re.escape(f"the value {pair[1][rows[0]]!r} (row {rows[0]}) is an integer")
    with pytest.raises(ChangeRefused, match=says):
        fitted({"x": new}, {"x": held.kind}, lambda _: held, widens=False)


MISFITS: list[tuple[list[object], str]] = [
    ([1.5, "x"], r"'x' \(row 1\) is none of the floats before it"),
    ([None, "a", 1], r"1 \(row 2\) is none of the strings before it"),
    ([1, True], r"True \(row 1\) is none of the integers before it"),
    ([BIG, 0.5], rf"{BIG} \(row 0\) is an integer beyond 2\*\*53, where floats round, beside"),
    ([0.5, None, -BIG], rf"-{BIG} \(row 2\) is an integer beyond"),
    ([1, 2**63], rf"{2**63} \(row 1\) does not fit 64 bits"),
    ([[1], None, [2, None]], r"\[2, None\] \(row 2\) is a list that holds null"),
    ([[1], [[2]]], r"\[\[2\]\] \(row 1\) is a list that holds a list"),
    ([[1], 2], r"2 \(row 1\) is no list as those before it"),
    ([2, [1]], r"\[1\] \(row 1\) is a list, and none is before it"),
    ([[], ["a"], [1]], r"\[1\] \(row 2\) holds 1, which is none of the strings before it"),
    ([[0.5], [1, BIG]], rf"\[1, {BIG}\] \(row 1\) holds {BIG}, which is an integer beyond"),
    ([[1], [2, 2**63]], rf"\(row 1\) holds {2**63}, which does not fit 64 bits"),
    (["a", b"b"], r"b'b' \(row 1\) is of the Python type bytes"),
    ([["a", b"b"]], r"\(row 0\) holds b'b', which is of the Python type bytes"),
    (["a", "\ud800"], r"\(row 1\) is not valid Unicode"),
]


@pytest.mark.parametrize(("values", "says"), MISFITS)
def test_a_value_that_goes_with_no_other_is_named(values: list[object], says: str) -> None:
    with pytest.raises(ImportFailed, match=says) as caught:
        column_of(cast("list[PropertyValue]", values))
    assert caught.value.cure
    with gdb.connect() as db, db.transaction() as tx:
        ids = list(range(len(values)))
        with pytest.raises(ChangeRefused, match=f"he property 'x': the value .*{says}") as refused:
            tx.add_nodes("P", ids, {"x": values})
        assert ".." not in str(refused.value)
        assert "Declare" not in str(refused.value)


def test_lists_without_items_go_with_all() -> None:
    for values in ([[], [1]], [[1.5], []], [[], None, ["a"]], [[], []]):
        assert column_of(cast("list[PropertyValue]", values)).to_list() == values


# ---- transactions ----------------------------------------------------------------------------------


def test_rows_are_those_of_the_call() -> None:
    with gdb.connect() as db, db.transaction() as tx:
        tx.add_nodes("P", [1, 2, 3], {"x": [0.5, 1.5, 2.5]})
        tx.add_nodes("Q", [4, 5], {"x": ["a", "b"]})
        with pytest.raises(ChangeRefused, match=rf"value {BIG} \(row 1\)"):
            tx.set_nodes([3, 2, 1], {"x": [1, BIG, 3]})
        with pytest.raises(ChangeRefused, match=r"value 'new' \(row 2\)"):
            tx.set_nodes([5, 4, 2], {"x": ["old", "old", "new"]})
        with pytest.raises(ChangeRefused, match=r"value 'b' \(row 1\)"):
            tx.set_labels([1, 5], add="P", remove="Q")


def test_committed_integers_are_named() -> None:
    with gdb.connect() as db:
        with db.transaction() as tx:
            tx.add_nodes("P", [1, 2], {"x": [1, BIG], "y": [[1], [2, BIG]]})
        with db.transaction() as tx:
            with pytest.raises(ChangeRefused, match=rf"'x' holds integers, .* {BIG} there is an"):
                tx.set_nodes([1], {"x": [0.5]})
            with pytest.raises(ChangeRefused, match=rf"'y' holds .* \[2, {BIG}\] there is an"):
                tx.set_nodes([1], {"y": [[0.5]]})


def test_lists_of_integers_become_lists_of_floats(tmp_path: Path) -> None:
    query = "MATCH (n:P) RETURN n.x ORDER BY id(n)"
    with gdb.connect(tmp_path / "s") as db:
        with db.transaction() as tx:
            tx.add_nodes("P", [1, 2, 3], {"x": [[1, 2], None, []]})
            tx.add_relationships("R", [1], [2], {"w": [[1]]})
        db.compact()
        with db.transaction() as tx:
            tx.add_nodes("P", [4, 5], {"x": [[0.5], None]})
            assert tx.set_relationships("R", [1], [2], {"w": [[2.5]]}) == 1
            found = [row[0] for row in tx.execute(query).fetchall()]
            assert found == [[1.0, 2.0], None, [], [0.5], None]
        with db.transaction() as tx:  # a small commit again
            tx.set_nodes([2, 3], {"x": [[EXACT], []]})
        assert db.stats().changes == 2
    with gdb.connect(tmp_path / "s") as db:
        db.check()
        (group,) = db._store.snapshot().groups
        assert group.keys == {"x": "float64[]"}
        found = [row[0] for row in db.execute(query).fetchall()]
        assert found == [[1.0, 2.0], [float(EXACT)], [], [0.5], None]
        assert db.execute("MATCH ()-[r]->() RETURN r.w").scalar() == [2.5]


def test_what_widens_lists_is_in_the_base_of_the_store(tmp_path: Path) -> None:
    """A delta beside a base of another kind of lists is damage to every gdb (docs/FORMAT.md)."""
    with gdb.connect(tmp_path / "s") as db:
        with db.transaction() as tx:
            tx.add_nodes("P", [1], {"x": [[1]]})
        db.compact()
        with db.transaction() as tx:
            tx.set_nodes([1], {"x": [[0.5]]})
        _, manifest = read(db._store.files)
        assert manifest.delta is None
        assert [c.kind for g in manifest.groups for c in g.columns.values()] == ["float64[]"]


# ---- imports ---------------------------------------------------------------------------------------

Parts = list[tuple[bool, list[float | None]]]
"""The files of an import: whether a file holds floats, and its values."""


def parts_of(draw: st.DrawFn) -> Parts:
    return [
        (floats, draw(SINGLE[floats]))
        for floats in draw(st.lists(st.booleans(), min_size=1, max_size=4))
    ]


def goes(parts: Parts) -> bool:
    """Whether no value is lost."""
    kinds = {floats for floats, values in parts if any(v is not None for v in values)}
    return len(kinds) < 2 or not any(big(v) for _, values in parts for v in values)


def numbers(values: list[Any]) -> list[Any]:
    return sorted((v for v in values if v is not None), key=lambda v: (v, repr(v)))


@settings(max_examples=share(40))
@given(st.composite(parts_of)(), st.booleans(), st.booleans())
@example([(False, [BIG]), (True, [None, 0.5])], True, True)
@example([(True, [0.5]), (False, [1, BIG])], False, True)
@example([(True, [None]), (False, [BIG])], False, False)
def test_an_import_loses_no_value_or_is_refused_whole(
    tmp_path_factory: pytest.TempPathFactory, parts: Parts, edges: bool, two: bool
) -> None:
    """Of nodes and edges, in one import, or in two where the second finds the first in the store, also in scratch
    files."""
    tables = []
    begin = 0
    for floats, values in parts:
        ids = pa.array(range(begin, begin + len(values)))
        begin += len(values)
        x = pa.array(values, pa.float64() if floats else pa.int64())
        names = ["source", "target", "x"] if edges else ["id", "x"]
        tables.append(pa.table([ids, ids, x] if edges else [ids, x], names))
    place = tmp_path_factory.mktemp("kinds") / "s" if two else None
    store = Store.open(place, create=True)

    def add(some: list[pa.Table]) -> None:
        what: dict[str, Any] = {"edges": {"R": some}} if edges else {"nodes": {"P": some}}
        load(store, **what, memory=1 if two else None, missing_ends="create")

    held = parts[:1] if two else []
    if two:
        add(tables[:1])
    if goes(parts):
        held = parts
        add(tables[len(tables[:1]) if two else 0 :] or [tables[0].slice(0, 0)])
    else:
        with pytest.raises(ImportFailed, match="beyond 2") as caught:
            add(tables[1:] if two else tables)
        assert caught.value.line is not None
    snapshot = store.snapshot()
    column = (
        snapshot.edge_column("R", "x")
        if edges and held
        else snapshot.vertex_column(0, "x")
        if held
        else None
    )
    found = [] if column is None else column.to_list()
    assert numbers(found) == numbers([v for _, values in held for v in values])


@pytest.fixture
def db() -> gdb.Database:
    return gdb.connect()


def refused(db: gdb.Database, *args: Any, **options: Any) -> ImportFailed:
    with pytest.raises(ImportFailed) as caught:
        db.load(*args, **options)
    assert db.stats().version == 0
    return caught.value


def written(folder: Path, name: str, text: str) -> Path:
    (folder / name).write_text(text)
    return folder / name


def test_two_files_of_nodes(db: gdb.Database, tmp_path: Path) -> None:
    one = written(tmp_path, "1.csv", f"id,x\n1,1\n2,\n3,{BIG}\n")
    two = written(tmp_path, "2.csv", "id,x\n4,\n5,0.5\n")
    for files in ([one, two], [two, one]):
        error = refused(db, nodes={"P": files})
        assert (error.file, error.line, error.text) == (str(one), 4, f"3,{BIG}")
        assert f"'x' of :P is float64 in {two}, and holds an integer beyond" in error.reason
        assert "x:string" in error.cure
    db.load(nodes={"P": one, "Q": two})  # another label is another property


def test_two_files_of_relationships_and_a_bad_line(db: gdb.Database, tmp_path: Path) -> None:
    one = written(tmp_path, "1.csv", f":START_ID,:END_ID,w\n1,2,3\n9,1,4\n2,1,{BIG}\n")
    two = written(tmp_path, "2.csv", ":START_ID,:END_ID,w\n1,2,\n2,2,0.5\n")
    nodes = written(tmp_path, "n.csv", "id\n1\n2\n")
    error = refused(db, nodes=nodes, edges=[one, two], on_error="skip")
    assert (error.file, error.line, error.text) == (str(one), 4, f"2,1,{BIG}")


def test_nodes_that_name_their_labels(db: gdb.Database, tmp_path: Path) -> None:
    one = written(tmp_path, "1.csv", f"id,:LABEL,x\n1,P,{BIG}\n2,Q,1\n3,P;Q,{BIG + 2}\n")
    two = written(tmp_path, "2.csv", "id,:LABEL,x\n4,P;R,0.5\n")
    three = written(tmp_path, "3.csv", "id,:LABEL,x\n5,R,0.5\n")
    error = refused(db, nodes=[three, one, two])
    assert (error.line, error.text) == (2, f"1,P,{BIG}")
    assert "of :P is float64" in error.reason


def test_frames_and_graphs(db: gdb.Database) -> None:
    one = pl.DataFrame({"id": [1, 2], "x": [1, BIG]})
    two = pl.DataFrame({"id": [3], "x": [0.5]})
    error = refused(db, nodes={"P": [one, two]})
    assert (error.line, str(BIG) in error.reason) == (2, True)
    graph = nx.Graph()
    graph.add_node("a", label="P", x=BIG)
    graph.add_node("b", labels=["P", "Q"], x=0.5)
    error = refused(db, graph)
    assert (error.file, error.text) == ("networkx.Graph", "node 'a'")
    graph = nx.DiGraph()
    graph.add_edge("a", "b", w=0.5)
    graph.add_edge("a", "c", w=BIG)
    assert refused(db, graph).reason.startswith(f"edge ('a', 'c'): attribute 'w' is {BIG}, which")
    graph = nx.Graph([("a", "b", {"w": BIG})])
    lists = pl.DataFrame({"source": ["a"], "target": ["b"], "w": [0.5]})
    error = refused(db, graph, edges={"EDGE": lists})
    assert error.text in ("", "edge ('a', 'b')")


def test_lists_in_files(db: gdb.Database, tmp_path: Path) -> None:
    one = written(tmp_path, "1.csv", "id,x:long[]\n1,1;2\n2,\n")
    two = written(tmp_path, "2.csv", "id,x:double[]\n3,0.5\n4,\n")
    db.load(nodes={"P": [one, two]})
    found = db.execute("MATCH (n:P) RETURN n.x ORDER BY id(n)").fetchall()
    assert found == [([1.0, 2.0],), (None,), ([0.5],), (None,)]
    ends = written(tmp_path, "3.csv", ":START_ID,:END_ID,x:long[]\n1,2,3;4\n")
    more = written(tmp_path, "4.csv", ":START_ID,:END_ID,x:double[]\n2,1,0.5\n3,4,\n")
    db.load(edges={"R": [ends, more]})
    found = db.execute("MATCH ()-[r:R]->() RETURN r.x").fetchall()
    assert sorted(found, key=repr) == [(None,), ([0.5],), ([3.0, 4.0],)]
    version = db.stats().version
    with pytest.raises(
        ImportFailed, match=rf"is float64\[\] in the graph already.*\[1, {BIG}\]"
    ) as e:
        db.load(nodes={"P": written(tmp_path, "5.csv", f"id,x:long[]\n5,1;{BIG}\n")})
    assert (e.value.line, db.stats().version) == (2, version)


def test_what_is_committed(db: gdb.Database, tmp_path: Path) -> None:
    db.load(nodes={"P": written(tmp_path, "1.csv", f"id,x\n1,5\n2,{BIG}\n")})
    with pytest.raises(
        ImportFailed, match=rf"'x' of :P holds {BIG} in the graph already"
    ) as caught:
        db.load(nodes={"P": written(tmp_path, "2.csv", "id,x\n3,\n4,0.5\n")})
    assert caught.value.line == 3
    query = "MATCH (n) RETURN n.x ORDER BY id(n)"
    assert db.execute(query).fetchall() == [(5,), (BIG,)]
    db.load(nodes={"P": written(tmp_path, "3.csv", "id,x\n3,7\n")})
    assert db.execute(query).fetchall() == [(5,), (BIG,), (7,)]


def test_one_column_that_mixes_them(db: gdb.Database, tmp_path: Path) -> None:
    path = written(tmp_path, "1.csv", f"id,x\n1,0.5\n2,{BIG}\n3,{EXACT}\n4,{10**30}\n")
    error = refused(db, nodes=path)
    assert (error.line, error.text) == (3, f"2,{BIG}")
    assert str(BIG) in error.reason
    assert "x:string" in error.cure
    report = db.load(nodes=path, on_error="skip")
    assert [r.line for r in report.rejected] == [3, 5]
    found = db.execute("MATCH (n) RETURN n.x ORDER BY id(n)").fetchall()
    assert found == [(0.5,), (float(EXACT),)]
    ends = written(tmp_path, "2.csv", f":START_ID,:END_ID,w\n1,3,0.5\n3,1,-{BIG}\n")
    with pytest.raises(ImportFailed, match=f"-{BIG}") as caught:
        db.load(edges=ends)
    assert caught.value.line == 3
    declared = written(tmp_path, "3.csv", f"id,y:double\n7,0.5\n8,{BIG}\n")
    db.load(nodes=declared)  # who declares it wants it
    assert db.execute("MATCH (n {id: 8}) RETURN n.y").scalar() == float(EXACT)


UNLIKE: list[tuple[str, str, int, str]] = [
    ("1", "2\n\nfive", 4, "int64 in {}, and string here: 'five'"),
    ("0.5", "2\n007", 3, "float64 in {}, and string here: '007'"),
    ("true", "\nFALSE\nno", 4, "bool in {}, and string here: 'no'"),
    ("text", "\n7", 3, "string in {}, and int64 here: 7"),
    ("text", "\n0.5", 3, "string in {}, and float64 here: 0.5"),
]


@pytest.mark.parametrize(("first", "second", "line", "reason"), UNLIKE)
def test_the_first_value_of_another_type_is_told(
    db: gdb.Database, tmp_path: Path, first: str, second: str, line: int, reason: str
) -> None:
    def table(name: str, values: str, begin: int) -> Path:
        rows = "".join(f"{k},{v}\n" for k, v in enumerate(values.split("\n"), begin))
        return written(tmp_path, name, f"id,x\n{rows}")

    one, two = table("1.csv", first, 1), table("2.csv", second, 10)
    error = refused(db, nodes={"P": [one, two]})
    assert (error.file, error.line) == (str(two), line)
    assert reason.format(one) in error.reason


@pytest.mark.parametrize("format", ["csv", "parquet"])
@pytest.mark.parametrize("values", [(BIG, 0.5), ("a", 1), ([BIG], [0.5]), ([1], ["a"])])
def test_an_export_of_groups_that_share_a_label_comes_back(
    db: gdb.Database, tmp_path: Path, format: Any, values: tuple[object, object]
) -> None:
    with db.transaction() as tx:
        tx.add_nodes("P", [1], {"x": [values[0]]})
        tx.add_nodes(["P", "Q"], [2], {"x": [values[1]]})
    db.export(tmp_path / "out", format=format)
    with gdb.connect() as other:
        other.load(tmp_path / "out")
        for id_, value in enumerate(values, 1):
            node = other.execute(f"MATCH (n) WHERE id(n) = {id_} RETURN n").scalar()
            assert node.properties == {"x": value}
    full = gdb.connect()  # but not into a column that would round it
    with full.transaction() as tx:
        tx.add_nodes("P", [9], {"x": [[0.5] if isinstance(values[0], list) else 0.5]})
    if values[0] in (BIG, [BIG]):
        with pytest.raises(ImportFailed, match=str(BIG)):
            full.load(tmp_path / "out")


def test_nothing_else_changes(db: gdb.Database, tmp_path: Path) -> None:
    one = written(tmp_path, "1.csv", f"id,x\n1,{EXACT}\n2,-{EXACT}\n")
    two = written(tmp_path, "2.csv", "id,x\n3,0.5\n4,inf\n5,NaN\n")
    db.load(nodes={"P": [one, two]})
    found = [row[0] for row in db.execute("MATCH (n:P) RETURN n.x ORDER BY id(n)").fetchall()]
    assert found[:4] == [EXACT, -EXACT, 0.5, math.inf]
    assert math.isnan(found[4])
