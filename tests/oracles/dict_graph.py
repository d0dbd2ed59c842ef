"""A graph in plain dicts, read from tables row by row: what the store must agree with.

Shares no code with the store but `Column.to_list`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, cast

import numpy as np
from hypothesis import strategies as st

from gdb.base.values.days import FIRST_DAY, LAST_DAY
from gdb.base.values.duration import DAY, Duration
from gdb.base.values.temporal import Date, DateTime, LocalDateTime, LocalTime, Time
from gdb.base.values.zones import MOST_OFFSET
from gdb.storage.columns.model import (
    ITEM_OF,
    KINDS,
    Column,
    EdgeTable,
    Item,
    Kind,
    PropertyValue,
    VertexTable,
)
from gdb.storage.columns.python_columns import column_of
from gdb.storage.columns.temporal import LONGEST
from gdb.storage.format.direction import Direction
from gdb.storage.graph.snapshot import Snapshot
from tests.support.graph_tables import GraphTables

Key = tuple[str, int | str]  # id space, user id
Properties = tuple[tuple[str, PropertyValue | tuple[Item, ...]], ...]


@dataclass(frozen=True)
class Edge:
    type: str
    directed: bool
    source: Key
    target: Key
    properties: Properties


class Naive:
    """vertices : key -> (labels, properties); edges : one entry for each."""

    def __init__(self, tables: GraphTables) -> None:
        self.vertices: dict[Key, tuple[tuple[str, ...], Properties]] = {}
        rows: list[Key] = []
        for table in tables.vertices:
            for user_id, values in zip(table.ids, _rows(table.columns, len(table)), strict=True):
                plain = user_id if isinstance(user_id, str) else int(user_id)
                rows.append((table.id_space, plain))
                self.vertices[rows[-1]] = tuple(sorted(set(table.labels))), values
        self.edges: list[Edge] = []
        for edges in tables.edges:
            for source, target, values in zip(
                edges.sources, edges.targets, _rows(edges.columns, len(edges)), strict=True
            ):
                ends = rows[source], rows[target]
                self.edges.append(Edge(edges.type, edges.directed, *ends, values))

    def adjacency(self, types: tuple[str, ...], direction: Direction) -> dict[Key, Counter[Key]]:
        """The neighbours of each vertex that has one, with their number of edges."""
        found: dict[Key, Counter[Key]] = defaultdict(Counter)
        for edge in self.edges:
            if types and edge.type not in types:
                continue
            any_way = not edge.directed or direction is Direction.ANY
            if any_way or direction is Direction.OUT:
                found[edge.source][edge.target] += 1
            loop_again = any_way and edge.source == edge.target
            if (any_way or direction is Direction.IN) and not loop_again:
                found[edge.target][edge.source] += 1
        return dict(found)

    def edge_bag(self) -> Counter[tuple[object, ...]]:
        """All edges without order; the ends of an undirected one without order."""
        return Counter(
            (e.type, e.directed, *_ends(e.directed, e.source, e.target), e.properties)
            for e in self.edges
        )


def _ends(directed: bool, source: Key, target: Key) -> tuple[Key, Key]:
    pair = (source, target) if directed else tuple(sorted((source, target), key=repr))
    return pair[0], pair[1]


def _rows(columns: dict[str, Column], count: int) -> list[Properties]:
    """The properties of each row that are not null."""
    lists = {key: column.to_list() for key, column in sorted(columns.items())}
    return [
        tuple(
            (key, _plain(values[row])) for key, values in lists.items() if values[row] is not None
        )
        for row in range(count)
    ]


def _plain(value: PropertyValue) -> PropertyValue | tuple[Item, ...]:
    """Something that can be counted."""
    return tuple(value) if isinstance(value, list) else value


def keys_of(snapshot: Snapshot) -> list[Key]:
    """The key of each vid."""
    vids = np.arange(snapshot.vertex_count, dtype=np.uint32)
    groups = snapshot.groups_of(vids)
    return [
        (snapshot.groups[group].id_space, user_id)
        for group, user_id in zip(groups, snapshot.user_ids(vids), strict=True)
    ]


def agree(naive: Naive, snapshot: Snapshot) -> None:
    """Assert that a snapshot holds exactly the naive graph."""
    keys = keys_of(snapshot)
    assert len(set(keys)) == len(keys) == snapshot.vertex_count
    assert set(keys) == set(naive.vertices)
    assert snapshot.edge_count == len(naive.edges)
    for vid, (space, user_id) in enumerate(keys):
        assert snapshot.find(user_id, space) == vid
    _vertices_agree(naive, snapshot, keys)
    _edges_agree(naive, snapshot, keys)
    names = tuple(t.name for t in snapshot.edge_types)
    for types in {(), *((name,) for name in names), names[:2], names[1:], ("missing", *names[:1])}:
        for direction in Direction:
            _adjacency_agrees(naive, snapshot, keys, types, direction)


def _vertices_agree(naive: Naive, snapshot: Snapshot, keys: list[Key]) -> None:
    for number, group in enumerate(snapshot.groups):
        vids = [vid for start, stop in group.ranges for vid in range(start, stop)]
        assert 1 <= len(group.ranges) <= 2
        assert len(vids) == group.count
        as_array = np.array(vids, np.uint32)
        assert (snapshot.groups_of(as_array) == number).all()
        assert snapshot.group_rows(as_array, number).tolist() == list(range(group.count))
        columns = {key: snapshot.vertex_column(number, key) for key in group.keys}
        assert snapshot.vertex_column(number, "no such key") is None
        rows = _rows({k: c for k, c in columns.items() if c is not None}, group.count)
        for vid, properties in zip(vids, rows, strict=True):
            assert naive.vertices[keys[vid]] == (group.labels, properties)
    for label in {*snapshot.labels, "no such label"}:
        found = [v for start, stop in snapshot.label_ranges(label) for v in range(start, stop)]
        assert found == [v for v, key in enumerate(keys) if label in naive.vertices[key][0]]


def _edges_agree(naive: Naive, snapshot: Snapshot, keys: list[Key]) -> None:
    types, sources, targets = snapshot.edge_ends(np.arange(snapshot.edge_count))
    found: Counter[tuple[object, ...]] = Counter()
    for number, edge_type in enumerate(snapshot.edge_types):
        columns = {key: snapshot.edge_column(edge_type.name, key) for key in edge_type.keys}
        rows = _rows({k: c for k, c in columns.items() if c is not None}, edge_type.edge_count)
        for position, properties in enumerate(rows):
            eid = edge_type.first_eid + position
            assert types[eid] == number
            ends = _ends(edge_type.directed, keys[sources[eid]], keys[targets[eid]])
            found[(edge_type.name, edge_type.directed, *ends, properties)] += 1
    assert found == naive.edge_bag()


def _adjacency_agrees(
    naive: Naive,
    snapshot: Snapshot,
    keys: list[Key],
    types: tuple[str, ...],
    direction: Direction,
) -> None:
    view, eids = snapshot.adjacency(types, direction), snapshot.eids(types, direction)
    assert view is snapshot.adjacency(types, direction)
    assert eids.shape == view.neighbours.shape
    _, *both = snapshot.edge_ends(eids)
    sources, targets = (ends.tolist() for ends in both)
    first = [t.first_eid for t in snapshot.edge_types]
    numbers, each = (np.searchsorted(first, eids, "right") - 1).tolist(), eids.tolist()
    found: dict[Key, Counter[Key]] = {}
    seen: set[tuple[int, int, int]] = set()
    at = 0
    for vid in view.vids().tolist():
        mine = view.neighbours_of(vid).tolist()
        assert mine
        assert mine == sorted(mine)
        found[keys[vid]] = Counter(keys[n] for n in mine)
        for neighbour in mine:
            ends = sources[at], targets[at]
            assert {vid, neighbour} == set(ends)
            if snapshot.edge_types[numbers[at]].directed and direction is not Direction.ANY:
                assert ends == (
                    (vid, neighbour) if direction is Direction.OUT else (neighbour, vid)
                )
            seen.add((each[at], vid, neighbour))
            at += 1
    assert len(seen) == at  # no edge occurs twice in one place
    expected = naive.adjacency(types, direction) if not types or _known(types, snapshot) else {}
    assert found == expected
    assert view.simple == all(max(row.values()) == 1 for row in expected.values())
    assert view.loops == any(key in row for key, row in expected.items())
    assert view.max_degree == max((row.total() for row in expected.values()), default=0)


def _known(types: tuple[str, ...], snapshot: Snapshot) -> bool:
    return any(t.name in types for t in snapshot.edge_types)


# ---- random graphs ----------------------------------------------------------------------------------

_DAYS, _CLOCK = st.integers(FIRST_DAY, LAST_DAY), st.integers(0, DAY - 1)
_OFFSETS, _LONG = st.integers(-MOST_OFFSET, MOST_OFFSET), st.integers(-LONGEST, LONGEST)
_SINGLE: st.SearchStrategy[Item] = st.one_of(
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False),
    st.text(max_size=4),
    st.builds(Date, _DAYS),
    st.builds(LocalTime, _CLOCK),
    st.builds(Time, _CLOCK, _OFFSETS),
    st.builds(LocalDateTime, _DAYS, _CLOCK),
    st.builds(DateTime, _DAYS, _CLOCK, _OFFSETS, st.sampled_from(["", "Europe/Stockholm", "UTC"])),
    st.builds(Duration, _LONG, _LONG, st.integers(1 - LONGEST, LONGEST - 1), st.integers(0, 10**9)),
)
ANY: st.SearchStrategy[PropertyValue] = st.one_of(_SINGLE, st.lists(_SINGLE, max_size=3))

VALUES: dict[Kind, st.SearchStrategy[PropertyValue]] = {
    "int64": st.integers(-(2**63), 2**63 - 1),
    "float64": st.floats(allow_nan=False),
    "bool": st.booleans(),
    "string": st.text(max_size=4),
    "date": st.dates(),
    "datetime": st.datetimes(),
    "duration": st.integers(-LONGEST, LONGEST).map(lambda n: timedelta(microseconds=n)),
}
VALUES["any"] = ANY
for _list, _item in ITEM_OF.items():
    VALUES[_list] = cast(Any, st.lists(VALUES[_item], max_size=3))


@st.composite
def columns(draw: st.DrawFn, count: int, owner: str) -> dict[str, Column]:
    found: dict[str, Column] = {}
    for kind in draw(st.sets(st.sampled_from(KINDS), max_size=2)):
        value = st.none() | VALUES[kind]
        values = draw(st.lists(value, min_size=count, max_size=count))
        found[kind + owner] = column_of(values, kind)
    return found


@st.composite
def tables(draw: st.DrawFn) -> GraphTables:
    """Labelled multigraphs: self-loops, parallel edges, isolated vertices, several id spaces, nulls."""
    vertices: list[VertexTable] = []
    for number in range(draw(st.integers(0, 4))):
        count = draw(st.integers(0, 5))
        labels = draw(st.sampled_from([(), ("A",), ("B",), ("B", "A"), ("A", "C")]))
        ids: np.ndarray[tuple[int], np.dtype[np.int64]] | list[str]
        if draw(st.booleans()):
            space = draw(st.sampled_from(["", "n"]))
            ids = np.arange(count, dtype=np.int64) * 7 - 3 + 1000 * number
        else:
            space = "words"
            ids = [f"{draw(st.text(max_size=3))}|{number}|{k}" for k in range(count)]
        vertices.append(VertexTable(labels, space, ids, draw(columns(count, "v"))))
    total = sum(len(table) for table in vertices)
    edges: list[EdgeTable] = []
    for name, directed in [("D", True), ("E", True), ("D", True), ("U", False), ("W", False)]:
        if total and draw(st.booleans()):
            end = st.integers(0, min(total - 1, draw(st.integers(0, total))))
            pairs = draw(st.lists(st.tuples(end, end), max_size=12))
            ends = np.array(pairs, np.int64).reshape(-1, 2)
            edges.append(
                EdgeTable(name, directed, ends[:, 0], ends[:, 1], draw(columns(len(pairs), "e")))
            )
    return GraphTables(tuple(vertices), tuple(edges))
