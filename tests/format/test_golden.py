"""Stores that earlier versions wrote are read by this one, whole, and take its transactions (README.md beside)."""

from __future__ import annotations

import shutil
import struct
from collections import Counter
from datetime import date, datetime, time, timedelta
from pathlib import Path

import pytest

import gdb
from gdb import Node, Relationship
from gdb.base.values.duration import Duration
from gdb.base.values.temporal import Date, DateTime
from gdb.storage.format.manifest_head import length_in
from tests.format.make import HERE, STORES, graph_of

Content = tuple[Counter[object], Counter[object]]


def value_of(value: object) -> object:
    """A property's value as in the JSON, which can be counted."""
    match value:
        case {"date": str(text)}:
            return date.fromisoformat(text)
        case {"datetime": str(text)}:
            return datetime.fromisoformat(text)
        case {"days": int(days)}:
            return timedelta(days)
        case {"time": str(text)}:
            return time.fromisoformat(text)
        case {"Date": [int(days)]}:
            return Date(days)
        case {"DateTime": [int(days), int(nanoseconds), int(offset), str(zone)]}:
            return DateTime(days, nanoseconds, offset, zone)
        case {"Duration": [int(months), int(days), int(seconds), int(nanoseconds)]}:
            return Duration(months, days, seconds, nanoseconds)
        case list():
            return tuple(map(value_of, value))
    return value


def record_of(properties: object) -> frozenset[tuple[str, str]]:
    """Properties in a form that distinguishes 1, 1.0 and True, and 0.0 and -0.0."""
    assert isinstance(properties, dict)
    return frozenset((key, repr(value_of(value))) for key, value in properties.items())


def wanted(name: str) -> Content:
    """The content that NAME.json describes."""
    nodes, edges = graph_of(name)
    found: Counter[object] = Counter()
    for type_, directed, start, end, own, times in edges:
        ends = (start, end) if directed else tuple(sorted((start, end), key=repr))
        found[type_, directed, ends, record_of(own)] += times
    return Counter((s, i, tuple(labels), record_of(own)) for s, i, labels, own in nodes), found


def content(db: gdb.Database) -> Content:
    """The same of a store, by queries."""
    nodes: Counter[object] = Counter()
    for (node,) in db.execute("MATCH (n) RETURN n").fetchall():
        assert isinstance(node, Node)
        nodes[node.id_space, node.id, node.labels, record_of(node.properties)] += 1
    edges: Counter[object] = Counter()
    for (found,) in db.execute("MATCH ()-[r]-() RETURN DISTINCT r").fetchall():
        assert isinstance(found, Relationship)
        ends: tuple[object, ...] = (found.start, found.end)
        if not found.directed:
            ends = tuple(sorted(ends, key=repr))
        edges[found.type, found.directed, ends, record_of(found.properties)] += 1
    return nodes, edges


@pytest.fixture(params=STORES)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def folder(name: str, tmp_path: Path) -> Path:
    """A copy: opening a store makes a lock file in it."""
    return Path(shutil.copytree(HERE / name, tmp_path / "copy"))


def test_every_folder_is_tried() -> None:
    assert sorted(STORES) == sorted(path.parent.name for path in HERE.glob("*/MANIFEST"))


def test_it_is_of_the_format_that_its_name_tells(name: str) -> None:
    raw = (HERE / name / "MANIFEST").read_bytes()
    assert struct.unpack_from("<8sI", raw) == (b"gdb.man\n", int(name.split("-")[1]))
    assert (b'"delta"' in raw) == ("delta" in name)
    assert (b"gdb.seg\n" in raw) == name.endswith("inside")
    assert (length_in(raw) < len(raw)) == ("journal" in name)


def test_it_holds_what_was_written(name: str, folder: Path) -> None:
    with gdb.connect(folder, read_only=True) as db:
        db.check()
        assert content(db) == wanted(name)
        for space, one, *_ in graph_of(name)[0]:
            found = db.execute("MATCH (n) WHERE id(n) = $id RETURN n", {"id": one}).fetchall()
            assert [(node.id_space, node.id) for (node,) in found] == [(space, one)]


def test_it_takes_a_transaction_and_a_compaction(name: str, folder: Path) -> None:
    nodes, edges = wanted(name)
    with gdb.connect(folder) as db:
        before = db.stats().version
        with db.transaction() as tx:
            tx.add_nodes(["New"], ["one", "other"], {"n": [1, None]}, id_space="new")
            tx.add_relationships("NEXT", ["one"], ["other"], {"x": [0.5]}, id_space="new")
        assert db.stats().version == before + 1
    nodes.update(
        [("new", "one", ("New",), record_of({"n": 1})), ("new", "other", ("New",), record_of({}))]
    )
    edges["NEXT", True, ("one", "other"), record_of({"x": 0.5})] += 1
    for _ in range(2):
        with gdb.connect(folder) as db:
            db.check()
            assert content(db) == (nodes, edges)
            db.compact()


def new_id(nodes: Counter[object]) -> tuple[str, int]:
    """Id space and id of the next node that a query creates, by the nodes that there are."""
    own = [one[:2] for one in nodes if isinstance(one, tuple)]
    space = "_created" if any(s == "" and isinstance(k, str) for s, k in own) else ""
    taken = {k for s, k in own if s == space}
    following = max([-1, *taken]) + 1
    if following < 1 << 63:
        return space, following
    return space, next(k for k in range(len(taken) + 1) if k not in taken)


def test_it_takes_queries_that_write(name: str, folder: Path) -> None:
    """Nodes that are created get ids that are free, in each statement, transaction, opening and base."""
    nodes, edges = wanted(name)
    old = [one for _, one, *_ in graph_of(name)[0]][:2]
    for turn in range(3):
        with gdb.connect(folder) as db:
            for clause in ("CREATE", "MERGE"):
                text = f"{clause} (n:Made:{clause} {{t: $t}}) RETURN n"
                node = db.execute(text, {"t": turn}).scalar()
                assert (node.id_space, node.id) == new_id(nodes)
                nodes[node.id_space, node.id, node.labels, record_of({"t": turn, "s": "x"})] += 1
                assert db.execute("CREATE (n:Gone) RETURN id(n)").scalar() == new_id(nodes)[1]
                db.execute("MATCH (n:Gone) DELETE n")
            assert db.execute("MERGE (n:MERGE {t: $t}) RETURN n", {"t": turn}).scalar() == node
            with db.transaction() as tx:
                tx.execute("MATCH (n:Made {t: $t}) SET n.s = 'x'", {"t": turn})
                (_, one), _ = new_id(nodes), tx.execute("UNWIND [0, 1] AS k CREATE (:Made {k: k})")
                for k in (0, 1):
                    nodes[*new_id(nodes), ("Made",), record_of({"k": k})] += 1
                for far in old:
                    tx.execute(
                        "MATCH (a:Made {k: 0}), (b) WHERE id(a) = $one AND id(b) = $far "
                        "AND NOT b:Made CREATE (a)-[:TO]->(a) MERGE (a)-[:TO]->(b)",
                        {"far": far, "one": one},
                    )
                    edges["TO", True, (one, one), record_of({})] += 1
                    edges["TO", True, (one, far), record_of({})] += 1
            if turn == 1:
                db.compact()
        with gdb.connect(folder, read_only=True) as db:
            db.check()
            assert content(db) == (nodes, edges)
    with gdb.connect(folder) as db:
        db.execute("MATCH (n:Made) DETACH DELETE n")
        assert content(db) == wanted(name)
        db.compact()
        db.check()
        assert content(db) == wanted(name)
