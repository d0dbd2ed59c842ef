"""Interval-PCSR parts in detail: intervals, row lengths, cuts, sections in place, sizes."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.storage.layout_sizes import sizes
from gdb.errors import CorruptStore
from gdb.records import replace
from gdb.storage.columns.model import EdgeTable, VertexTable
from gdb.storage.disk.memory_files import MemoryFiles
from gdb.storage.format import segment_writer
from gdb.storage.format.direction import Direction
from gdb.storage.format.invariants import Contradiction, hold
from gdb.storage.format.segment import PAGE, PAGE_FROM
from gdb.storage.format.segment_writer import SegmentWriter
from gdb.storage.format.segments import Segments
from gdb.storage.graph import intervals, part_reading, pcsr, section_checks, splice
from gdb.storage.write.store import Store
from tests.support.graph_tables import GraphTables, write_graph


@given(st.sets(st.integers(0, 60)))
def test_intervals_name_exactly_their_vids(members: set[int]) -> None:
    vids = np.array(sorted(members), np.uint32)
    index = intervals.of_vids(vids)
    assert index.vids().tolist() == sorted(members)
    assert index.rows == len(members)
    assert len(index) == sum(1 for vid in members if vid - 1 not in members)
    rows = np.arange(len(members))
    assert intervals.vids_of_rows(index.first, index.row, rows).tolist() == sorted(members)
    view = pcsr.build(pcsr.keys_of(vids, vids)).adjacency((), Direction.OUT)
    expected = [sorted(members).index(v) if v in members else -1 for v in range(62)]
    assert view.rows_of(np.arange(62, dtype=np.uint32)).tolist() == expected


@given(st.sets(st.integers(0, 60)), st.sets(st.integers(0, 60)))
def test_present_is_where_a_vid_has_a_row(members: set[int], some: set[int]) -> None:
    rows = np.array(sorted(members), np.uint32)
    near = np.repeat(rows, 1 + rows % 3)
    view = pcsr.build(pcsr.keys_of(near, near)).adjacency((), Direction.OUT)
    vids = np.array(sorted(some), np.uint32)
    places, degrees = view.present(vids)
    assert vids[places].tolist() == sorted(some & members)
    assert degrees.tolist() == [1 + v % 3 for v in sorted(some & members)]


@pytest.mark.parametrize("many", [-1, 1 << 16])
@given(st.lists(st.one_of(st.integers(1, 4), st.sampled_from([254, 255, 256, 70000]))))
def test_row_lengths_give_the_offsets_back(many: int, lengths: list[int]) -> None:
    offsets = np.cumsum([0, *lengths])
    short, long = pcsr.encode_offsets(offsets)
    assert short.nbytes == len(lengths)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(section_checks, "MANY_ROWS", many)
        assert pcsr.decode_offsets(short, long).tolist() == offsets.tolist()


@given(
    st.lists(st.lists(st.integers(0, 6), max_size=4), min_size=1, max_size=6),
    st.booleans(),
    st.integers(1, 4),
)
def test_what_is_wrong_with_a_part_is_seen_either_way(
    rows: list[list[int]], simple: bool, longest: int
) -> None:
    """By NumPy and by machine code: the first invariant that does not hold, of rows as they may be damaged."""
    offsets = np.cumsum([0, *map(len, rows)])
    near = np.array([x for row in rows for x in row], np.uint32)
    if not len(near):
        return
    index = intervals.of_vids(np.arange(len(rows), dtype=np.uint32))
    part = pcsr.Part(index, offsets, near, simple, False, longest)
    ascending = all(a < b if simple else a <= b for row in rows for a, b in pairwise(row))
    lengths = [len(row) for row in rows]
    fits = min(lengths) >= 1 and max(lengths) == longest
    known = "row lengths" if not fits else "rows ascend" if not ascending else ""
    for many in (0, 1 << 16):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(section_checks, "MANY_ROWS", many)
            found = ""
            try:
                hold(section_checks.PART, (part, 7))
            except Contradiction as wrong:
                found = wrong.invariant
            assert found == known


@given(st.sets(st.integers(0, 40)), st.integers(0, 42), st.integers(0, 42))
def test_rows_between_are_those_of_a_range_of_vids(members: set[int], low: int, high: int) -> None:
    rows = np.array(sorted(members), np.uint32)
    view = pcsr.build(pcsr.keys_of(rows, rows)).adjacency((), Direction.OUT)
    begin, end = view.rows_between(low, max(low, high))
    vids = view.vids(begin, end)
    assert vids.dtype == np.uint32
    assert vids.tolist() == [v for v in sorted(members) if low <= v < high]


@given(st.lists(st.integers(1, 9), min_size=1), st.integers(1, 12), st.data())
def test_segments_cover_every_position_once(
    lengths: list[int], most: int, data: st.DataObject
) -> None:
    offsets = np.cumsum([0, *lengths])
    keys = pcsr.keys_of(
        np.repeat(np.arange(len(lengths)), lengths).astype(np.uint32),
        np.arange(offsets[-1]).astype(np.uint32),
    )
    bounds = data.draw(st.lists(st.integers(1, len(keys)), max_size=5))
    pieces = [piece for piece in np.split(keys, sorted(bounds)) if len(piece)]
    writer = SegmentWriter(MemoryFiles(), 1)
    record = pcsr.write(pieces, len(keys), Direction.OUT, writer, most).record
    assert (record.rows, record.edges, record.max_degree) == (len(lengths), len(keys), max(lengths))
    assert (record.intervals, record.simple) == (1, True)
    at = 0
    for segment in record.segments:
        first, rows, edges = segment.first_row, segment.rows, segment.edges
        assert segment.first_edge == at
        assert 1 <= edges <= most
        assert offsets[first] <= at < offsets[first + 1]
        assert offsets[first + rows - 1] < at + edges <= offsets[first + rows]
        at += edges
    assert at == offsets[-1]


@given(st.lists(st.integers(0, 2**32 - 1)))
def test_the_stable_order_is_numpy_s(values: list[int]) -> None:
    array = np.array(values, np.uint32)
    assert pcsr.stable_order(array).tolist() == np.argsort(array, kind="stable").tolist()


@given(
    st.lists(st.integers(-5, 5)) | st.lists(st.integers(-(2**63), 2**63 - 1)),
    st.sampled_from([np.int64, np.uint64]),
)
def test_the_stable_order_of_wide_numbers(values: list[int], dtype: Any) -> None:
    array = np.array(values, np.int64).astype(dtype)
    assert pcsr.stable_order(array).tolist() == np.argsort(array, kind="stable").tolist()


@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)))
    | st.lists(st.tuples(st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1)))
)
def test_the_order_of_pairs_is_stable(pairs: list[tuple[int, int]]) -> None:
    rows, neighbours = np.array(pairs, np.uint32).reshape(-1, 2).T
    wanted = sorted(range(len(pairs)), key=lambda k: pairs[k])
    assert pcsr.order_of(rows, neighbours).tolist() == wanted


def test_one_type_in_one_direction_is_read_in_place(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    ends = rng.integers(0, 1000, (2, 50_000))
    table = EdgeTable("T", True, ends[0], ends[1])
    graph = GraphTables((VertexTable((), "", np.arange(1000)),), (table,))
    snapshot = write_graph(Store.open(tmp_path, create=True), graph)
    neighbours = snapshot.adjacency(("T",), Direction.OUT).neighbours
    assert not neighbours.flags.owndata
    assert not neighbours.flags.writeable
    segments = Segments(snapshot.files, snapshot.manifest.files, None)
    for part in snapshot.manifest.types[0].parts:
        for segment in part.segments:
            for section in range(segment.section, segment.section + 5):
                start, length = segments[segment.file].extent(section)
                assert start % (PAGE if length >= PAGE_FROM else 64) == 0


def test_big_parts_get_files_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segment_writer, "PACK_BYTES", 10_000)
    ends = np.random.default_rng(0).integers(0, 100, (2, 9_000))
    graph = GraphTables(
        (VertexTable((), "", np.arange(100)),),
        (EdgeTable("T", True, ends[0], ends[1]), EdgeTable("U", False, ends[0], ends[1])),
    )
    snapshot = write_graph(Store.open(None, create=True), graph, segment_edges=2_000)
    assert len(snapshot.manifest.files) > 10
    snapshot.check()


def test_sizes_of_the_three_formats() -> None:
    rng = np.random.default_rng(1)
    ends, label = rng.integers(0, 3000, (2, 6_000)), rng.integers(0, 3, 6_000)
    tables = tuple(
        EdgeTable(f"T{k}", False, ends[0][label == k], ends[1][label == k]) for k in range(3)
    )
    graph = GraphTables((VertexTable((), "", np.arange(3000)),), tables)
    snapshot = write_graph(Store.open(None, create=True), graph)
    found = sizes(graph, snapshot)
    slots = snapshot.adjacency((), Direction.ANY).neighbours.shape[0]
    assert found.csr == 4 * (3001 + slots)
    rows = sum(snapshot.adjacency((f"T{k}",), Direction.OUT).rows for k in range(3))
    assert found.hash_pcsr == 4 * (32 * rows + slots)
    assert found.over_csr <= 1.1
    assert found.saved > 0.5
    assert 10 * sum(p.after for p in found.parts) < sum(p.before for p in found.parts)


def test_equal_graphs_in_another_order_cost_the_same() -> None:
    rng = np.random.default_rng(2)
    ends = rng.integers(0, 500, (2, 4000))
    found = []
    for _ in range(2):
        table = EdgeTable("T", True, ends[0], ends[1])
        graph = GraphTables((VertexTable((), "", np.arange(500)),), (table,))
        parts = write_graph(Store.open(None, create=True), graph).stats().parts
        found.append([(p.rows, p.intervals, p.edges) for p in parts])
        order = rng.permutation(4000)
        ends = ends[:, order]
    assert found[0] == found[1]


KEYS = st.lists(
    st.tuples(st.integers(0, 9), st.integers(0, 9)).map(lambda pair: pair[0] << 32 | pair[1])
)


@given(KEYS, KEYS, st.randoms())
def test_a_spliced_part_is_the_part_built_of_the_same_keys(
    base: list[int], added: list[int], random: Random
) -> None:
    removed = sorted(random.sample(base, random.randint(0, len(base))))
    left = sorted((Counter(base) - Counter(removed) + Counter(added)).elements())
    part = pcsr.build(np.array(sorted(base), np.uint64))
    found = splice.splice_part(
        part, np.array(removed, np.uint64), np.array(sorted(added), np.uint64)
    )
    expected = pcsr.build(np.array(left, np.uint64))
    assert found.intervals.first.tolist() == expected.intervals.first.tolist()
    assert found.intervals.length.tolist() == expected.intervals.length.tolist()
    assert found.offsets.tolist() == expected.offsets.tolist()
    assert found.neighbours.tolist() == expected.neighbours.tolist()
    assert (found.simple, found.loops) == (expected.simple, expected.loops)
    assert found.max_degree == expected.max_degree


def test_what_is_not_there_is_not_removed() -> None:
    part = pcsr.build(np.array([1 << 32, 1 << 32, 3 << 32 | 2], np.uint64))
    nothing = np.zeros(0, np.uint64)
    for missing in ([1 << 32] * 3, [1 << 32 | 1], [3 << 32 | 3], [9 << 32]):
        with pytest.raises(KeyError):
            splice.splice_part(part, np.array(missing, np.uint64), nothing)


@given(st.lists(st.integers(1, 9), min_size=1), st.integers(1, 12), st.data())
def test_a_part_of_several_segments_is_read_as_it_was(
    lengths: list[int], most: int, data: st.DataObject
) -> None:
    """Rows that go on in two segments and more, of one file and of several."""
    vids = np.cumsum(data.draw(st.lists(st.integers(1, 3), min_size=len(lengths)))[: len(lengths)])
    degrees = np.array(lengths) * np.array([1 + 5 * (k % 4 == 2) for k in range(len(lengths))])
    near = np.concatenate([np.arange(n) for n in degrees]).astype(np.uint32)
    keys = pcsr.keys_of(np.repeat(vids, degrees).astype(np.uint32), near)
    files = MemoryFiles()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(segment_writer, "PACK_BYTES", data.draw(st.sampled_from([64, 1 << 20])))
        writer = SegmentWriter(files, 1)
        record = pcsr.write([keys], len(keys), Direction.OUT, writer, most).record
        writer.finish()
    part = part_reading.read(record, Segments(files, tuple(writer.records), None), 1 << 20)
    assert pcsr.keys_of_part(part).tolist() == keys.tolist()


@pytest.mark.parametrize(
    ("near", "simple"),
    [([1, 2, 5, 6], True), ([5, 6, 1, 2], False), ([5, 6, 6, 7], True), ([6, 5, 7, 8], False)],
    ids=["right", "falls between", "repeats between", "falls within"],
)
def test_a_row_ascends_from_one_segment_to_the_next(near: list[int], simple: bool) -> None:
    keys = np.array([7 << 32 | one for one in near], np.uint64)
    files = MemoryFiles()
    writer = SegmentWriter(files, 1)
    record = replace(pcsr.write([keys], 4, Direction.OUT, writer, 2).record, simple=simple)
    writer.finish()
    assert len(record.segments) == 2
    segments = Segments(files, tuple(writer.records), None)
    if near == sorted(set(near)):
        part = part_reading.read(record, segments, 9)
        assert pcsr.keys_of_part(part).tolist() == keys.tolist()
        return
    with pytest.raises(CorruptStore, match="rows that are not sorted") as failed:
        part_reading.read(record, segments, 9)
    assert [fault.invariant for fault in failed.value.faults] == ["rows ascend"]


@pytest.mark.parametrize("alone", [False, True], ids=["both", "of the whole"])
def test_a_row_of_a_vertex_that_is_not_there_is_seen(
    alone: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By its segment's own comparison, and by that of the whole, which sees it in any order of intervals."""
    keys = np.array([1 << 32 | 2, 3 << 32 | 2, 9 << 32 | 2, 9 << 32 | 3], np.uint64)
    files = MemoryFiles()
    writer = SegmentWriter(files, 1)
    record = pcsr.write([keys], 4, Direction.OUT, writer, 2).record
    writer.finish()
    segments = Segments(files, tuple(writer.records), None)
    assert part_reading.read(record, segments, 10).intervals.first.tolist() == [1, 3, 9]
    if alone:
        monkeypatch.setattr(section_checks, "compare_rows", lambda *_: None)
    again = Segments(files, tuple(writer.records), None)
    with pytest.raises(CorruptStore, match="a vertex that does not exist") as failed:
        part_reading.read(record, again, 9)
    assert [fault.invariant for fault in failed.value.faults] == ["ends exist"]
