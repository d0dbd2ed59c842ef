"""Packed sections: what was packed comes back, nonsense is refused, and nothing is touched beside the arrays."""

from __future__ import annotations

import ctypes
import mmap
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gdb
from gdb.errors import CorruptStore, TypeProblem
from gdb.storage.columns.model import Column, EdgeTable, VertexTable
from gdb.storage.columns.python_columns import column_of
from gdb.storage.disk import arrays as disk_arrays
from gdb.storage.format import gaps, packed_blocks, packing, segment, segment_checksum
from gdb.storage.format.packing import (
    Unreadable,
    packed_rows,
    packed_section,
    unpack_rows,
    unpacked_numbers,
)
from gdb.storage.format.sections import Code, Data, Section, SectionKind, Streamed
from gdb.storage.write.store import Store
from tests.corrupt import sealed
from tests.support.effort import share
from tests.support.graph_tables import GraphTables, write_graph

U64 = npt.NDArray[np.uint64]
I64 = npt.NDArray[np.int64]
U32 = npt.NDArray[np.uint32]
KIND = SectionKind.VALUES


def packed(values: Data) -> U64:
    """The words of an array, also where these are more than its own."""
    parts = list(packing.packed_numbers([values]))
    head = packing.numbers_head(len(values), [len(part) for part in parts])
    return np.concatenate([head, *parts, np.zeros(1, np.uint64)])


def back(words: U64, like: Data, most: int | None = None) -> Data:
    item = like.dtype.itemsize
    found = unpacked_numbers(words, item, len(like) if most is None else most)
    return found.view(like.dtype)


def arrays() -> Iterator[Data]:
    rng = np.random.default_rng(3)
    for n in (
        1,
        2,
        3,
        127,
        128,
        129,
        1000,
        packed_blocks.PART - 1,
        packed_blocks.PART,
        2 * packed_blocks.PART + 5,
    ):
        yield np.zeros(n, np.int64)
        yield np.arange(n) - 7
        yield rng.integers(-(2**63), 2**63 - 1, n)
        yield np.sort(rng.integers(0, 2**64 - 1, n, dtype=np.uint64))
        yield rng.integers(0, 256, n).astype(np.uint8)
        yield rng.integers(-9, 9, n).astype(np.int32)
        yield np.cumsum(rng.geometric(0.03, n)).astype(np.uint32)
        yield np.where(rng.random(n) < 0.02, 2**62, 3)
        yield np.minimum(rng.zipf(1.4, n), 2**31).astype(np.uint32)
    yield np.array([-(2**63), 2**63 - 1])
    yield np.array([2**63 - 1, -(2**63)])


def test_numbers_come_back() -> None:
    for values in arrays():
        np.testing.assert_array_equal(back(packed(values), values), values)


@settings(max_examples=share(300), deadline=None)
@given(st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(-5, 5), min_size=1, max_size=400))
def test_any_numbers_come_back(values: list[int]) -> None:
    array = np.array(values, np.int64)
    np.testing.assert_array_equal(back(packed(array), array), array)


def rows_of(rng: np.random.Generator, rows: int, span: int, *, simple: bool) -> tuple[I64, U32]:
    """Offsets and ascending neighbours of rows of all lengths."""
    lengths = np.minimum(rng.zipf(1.5, rows), min(span, 3000)).astype(np.int64)
    lengths[0] = min(span, 3000)
    draw = [
        np.sort(rng.choice(span, n, replace=False) if simple else rng.integers(0, span, n))
        for n in lengths.tolist()
    ]
    return np.append(0, np.cumsum(lengths)), np.concatenate(draw).astype(np.uint32)


@pytest.mark.parametrize("simple", [True, False])
@pytest.mark.parametrize(("rows", "span"), [(1, 1), (1, 5), (50, 7), (700, 4000), (9000, 60_000)])
def test_rows_come_back(rows: int, span: int, simple: bool) -> None:
    rng = np.random.default_rng(rows)
    for base in (0, 2**32 - span):
        offsets, neighbours = rows_of(rng, rows, span, simple=simple)
        neighbours += np.uint32(base)
        words = packed_rows(offsets, neighbours)
        assert words is not None
        out = np.zeros_like(neighbours)
        unpack_rows(words, offsets, out)
        np.testing.assert_array_equal(out, neighbours)


def test_rows_over_all_vids_come_back() -> None:
    offsets, neighbours = np.array([0, 2, 3]), np.array([0, 2**32 - 1, 2**32 - 1], np.uint32)
    words = packed_rows(offsets, neighbours)
    assert words is not None
    out = np.zeros_like(neighbours)
    unpack_rows(words, offsets, out)
    np.testing.assert_array_equal(out, neighbours)


def test_rows_take_about_as_many_bits_as_their_entropy() -> None:
    rng = np.random.default_rng(1)
    offsets = np.arange(20_001) * 10
    neighbours = np.sort(rng.integers(0, 1 << 20, (20_000, 10)), axis=1).reshape(-1)
    words = packed_rows(offsets, neighbours.astype(np.uint32))
    assert words is not None
    bits = 64 * len(words) / len(neighbours)
    assert np.log2((1 << 20) / 10) + 1.3 < bits < np.log2((1 << 20) / 10) + 1.65


def test_a_section_stays_plain_where_that_is_smaller() -> None:
    rng = np.random.default_rng(2)
    for data in (np.arange(3), rng.integers(-(2**63), 2**63 - 1, 1000), np.zeros(0, np.int64)):
        section = Section(KIND, data, counted=True)
        assert packed_section(section) is section
    uncounted = Section(KIND, np.zeros(1000, np.int64))
    assert packed_section(uncounted) is uncounted
    lonely = Section(SectionKind.NEIGHBOURS, np.zeros(1, np.uint32), rows=np.array([0, 1]))
    assert packed_section(lonely) is lonely
    empty = Section(SectionKind.NEIGHBOURS, np.zeros(0, np.uint32), rows=np.zeros(1, np.int64))
    assert packed_section(empty) is empty


@pytest.mark.parametrize("size", [1, 1000, 65536, 10**6])
def test_what_comes_in_blocks_is_packed_alike(size: int) -> None:
    values = np.cumsum(np.random.default_rng(0).integers(-3, 900, 150_000))

    def blocks() -> Iterator[Data]:
        step = max(size, 100)  # not as many blocks as numbers
        for begin in range(0, len(values), step):
            yield values[begin : begin + step]

    whole = packed_section(Section(KIND, values, counted=True))
    streamed = packed_section(
        Section(KIND, Streamed(values.dtype, len(values), blocks), counted=True)
    )
    assert whole.code is streamed.code is Code.NUMBERS
    assert whole.item == streamed.item == 8
    assert isinstance(streamed.data, Streamed)
    words = np.concatenate(list(streamed.blocks()))
    assert streamed.data.nbytes == words.nbytes
    np.testing.assert_array_equal(np.concatenate(list(whole.blocks())), words)


# ---- nonsense ----------------------------------------------------------------------------------------


class Fenced:
    """Memory with a protected page behind it: a read beyond it crashes."""

    def __init__(self, size: int) -> None:
        page = mmap.PAGESIZE
        length = -(-size // page) * page
        self._map = mmap.mmap(-1, length + page)
        at = ctypes.addressof(ctypes.c_char.from_buffer(self._map))
        libc = ctypes.CDLL(None, use_errno=True)
        assert libc.mprotect(ctypes.c_void_p(at + length), ctypes.c_size_t(page), 0) == 0
        whole = np.frombuffer(self._map, np.uint8, length)
        self.bytes = whole[length - size :]

    def words(self, content: U64) -> U64:
        found = self.bytes[len(self.bytes) - content.nbytes :].view(np.uint64)
        found[:] = content
        return found


def damaged(rng: np.random.Generator, words: U64) -> Iterator[U64]:
    """Other words in the place of some, single bits, cut short, and others altogether."""
    for _ in range(60):
        some = words.copy()
        at = rng.integers(0, len(words), rng.integers(1, 4))
        some[at] = rng.choice(
            np.array([0, 1, 2**63, 2**64 - 1, 2**48, 1 << 16], np.uint64), len(at)
        )
        yield some
        some = words.copy()
        some[rng.integers(0, len(words))] ^= np.uint64(1) << np.uint64(rng.integers(0, 64))
        yield some
        some = words.copy()
        head = min(len(words), 6)
        some[head:] = rng.integers(0, 2**64 - 1, len(words) - head, dtype=np.uint64)
        yield some
        yield words[: rng.integers(0, len(words) + 1)]


@pytest.mark.parametrize("item", [1, 4, 8])
def test_numbers_that_are_nonsense_are_refused_and_touch_nothing_else(item: int) -> None:
    rng = np.random.default_rng(item)
    fence, refused, kept = Fenced(1 << 20), 0, 0
    dtype = {1: np.uint8, 4: np.uint32, 8: np.int64}[item]
    for values in arrays():
        if len(values) > 70_000 or len(values) < 3:
            continue
        words = packed(values.astype(dtype))
        for some in damaged(rng, words):
            try:
                found = unpacked_numbers(fence.words(some), item, len(values))
                assert len(found) <= item * len(values)
                kept += 1
            except Unreadable:
                refused += 1
    assert refused > 1000
    assert kept > 10  # other numbers: the checks of what they mean follow


@pytest.mark.parametrize(("rows", "span"), [(1, 5), (300, 4000), (9000, 60_000)])
def test_rows_that_are_nonsense_are_refused_and_touch_nothing_else(rows: int, span: int) -> None:
    rng = np.random.default_rng(rows)
    offsets, neighbours = rows_of(rng, rows, span, simple=False)
    words = packed_rows(offsets, neighbours)
    assert words is not None
    fence, refused = Fenced(words.nbytes), 0
    out = np.full(len(neighbours) + 64, 77, np.uint32)
    for some in damaged(rng, words):
        try:
            unpack_rows(fence.words(some), offsets, out[32:-32])
        except Unreadable:
            refused += 1
        assert (out[:32] == 77).all()
        assert (out[-32:] == 77).all()
    assert refused > 100


def test_rows_of_other_lengths_are_refused() -> None:
    offsets, neighbours = rows_of(np.random.default_rng(0), 300, 4000, simple=True)
    words = packed_rows(offsets, neighbours)
    assert words is not None
    for wrong in (offsets[:-1], np.append(0, offsets), np.append(offsets, offsets[-1] + 1)):
        with pytest.raises(Unreadable):
            unpack_rows(words, wrong, np.zeros(int(wrong[-1]), np.uint32))
    # a row that is empty would be divided by
    empty = offsets.copy()
    empty[1] = 0
    with pytest.raises(Unreadable):
        unpack_rows(words, empty, np.zeros_like(neighbours))


def test_nobody_unpacks_more_than_was_said() -> None:
    words = packed(np.zeros(1 << 20, np.int64))
    assert words.nbytes < 20_000
    with pytest.raises(Unreadable):
        back(words, np.zeros(0, np.int64), (1 << 20) - 1)
    words[0] = 1 << 60  # 8 EiB
    with pytest.raises(Unreadable):
        back(words, np.zeros(0, np.int64), 1 << 20)


def test_a_chosen_parameter_is_within_the_words_of_its_part() -> None:
    # the sample of rows misleads: what was measured is what is written
    lengths = np.ones(gaps.PART, np.int64)
    offsets = np.append(0, np.cumsum(lengths))
    neighbours = np.zeros(gaps.PART, np.uint32)
    neighbours[1::2] = 2**32 - 1  # none of them is in the sample
    words = packed_rows(offsets, neighbours)
    assert words is not None
    out = np.zeros_like(neighbours)
    unpack_rows(words, offsets, out)
    np.testing.assert_array_equal(out, neighbours)


# ---- stores ------------------------------------------------------------------------------------------


def graph(seed: int = 1) -> GraphTables:
    rng = np.random.default_rng(seed)
    ends = rng.integers(0, 900, (4, 6000))
    since = Column("int64", rng.integers(1900, 2000, 6000))
    names = column_of([f"name {n % 50}" if n % 4 else None for n in range(6000)])
    people = {"x": Column("int64", rng.integers(0, 90, 500))}
    return GraphTables(
        (
            VertexTable(("A",), "", np.arange(500) * 3, people),
            VertexTable(("B",), "words", [f"w{n}" for n in range(400)], {}),
        ),
        (
            EdgeTable("D", True, ends[0], ends[1], {"since": since, "name": names}),
            EdgeTable("U", False, ends[2], ends[3]),
        ),
    )


QUERIES = (
    "MATCH (a)-[r:D]->(b) RETURN id(a), id(b), r.since, r.name",
    "MATCH (a)-[:U]-(b) RETURN id(a), id(b)",
    "MATCH (a:A) WHERE a.x > 40 RETURN id(a), a.x",
    "MATCH (a:A)-[:D]->(b)-[:U]-(c:B) WHERE id(a) = 6 RETURN id(c)",
    "MATCH (a) WHERE id(a) = 'w17' RETURN labels(a)",
)


def answers(db: gdb.Database) -> list[list[str]]:
    return [sorted(map(repr, db.execute(query).fetchall())) for query in QUERIES]


def content(folder: Path) -> list[bytes]:
    return [path.read_bytes() for path in sorted(folder.glob("seg-*"))]


def written(folder: Path, *, packed: bool, budget: int | None = None) -> list[bytes]:
    store = Store.open(folder, create=True)
    write_graph(store, graph(), segment_edges=2000, packed=packed, budget=budget)
    store.close()
    return content(folder)


def test_a_packed_store_answers_the_same_from_fewer_bytes(tmp_path: Path) -> None:
    plain, packed = (written(tmp_path / str(p), packed=p) for p in (False, True))
    assert sum(map(len, packed)) < 0.6 * sum(map(len, plain))
    with gdb.connect(tmp_path / "False") as one, gdb.connect(tmp_path / "True") as other:
        assert (one.stats().packed, other.stats().packed) == (False, True)
        assert answers(one) == answers(other)
        other.check()


def test_a_budget_changes_no_byte_of_a_packed_store(tmp_path: Path) -> None:
    whole = written(tmp_path / "a", packed=True)
    assert written(tmp_path / "b", packed=True, budget=20_000) == whole


def test_a_compaction_packs_and_unpacks(tmp_path: Path) -> None:
    written(tmp_path, packed=False)
    with gdb.connect(tmp_path) as db:
        right = answers(db)
        size = db.stats().bytes
        assert not db.compact().packed
        packed = db.compact(packed=True)
        assert packed.packed
        assert packed.bytes < 0.7 * size
        assert answers(db) == right
        assert db.compact() == packed  # nothing was changed since
        plain = db.compact(packed=False)
        assert not plain.packed
        assert plain.bytes > 1.5 * packed.bytes
        assert answers(db) == right
    assert (tmp_path / "MANIFEST").read_bytes()[
        8
    ] == 1  # the oldest format that has all that is used


def test_a_store_stays_packed(tmp_path: Path) -> None:
    written(tmp_path, packed=True)
    with gdb.connect(tmp_path) as db:
        with db.transaction() as tx:
            tx.add_nodes(["C"], [1, 2], id_space="c")
            tx.add_relationships("D", [0], [3], {"since": [5]})
            tx.remove_relationships("U", *_one_pair(db))
        right = answers(db)
        assert db.stats().packed
        assert db.stats().changes
    with gdb.connect(tmp_path) as db:
        assert answers(db) == right
        db.check()
        stats = db.compact()
        assert stats.packed
        assert not stats.changes
        assert answers(db) == right
        (path := tmp_path.with_name("more.csv")).write_text(":START_ID,:END_ID\n3,6\n6,9\n")
        db.load(edges={"E": path})
        assert db.stats().packed
        db.load(edges={"E": path}, packed=False)
        assert not db.stats().packed
        db.check()


def _one_pair(db: gdb.Database) -> tuple[list[int], list[int]]:
    ((a, b),) = db.execute(
        "MATCH (a:A)-[:U]-(b:A) RETURN id(a), id(b) ORDER BY id(a), id(b) LIMIT 1"
    ).fetchall()
    return [int(str(a))], [int(str(b))]


def test_a_copy_of_a_packed_store_is_packed(tmp_path: Path) -> None:
    written(tmp_path / "s", packed=True)
    with gdb.connect(tmp_path / "s") as db:
        right = answers(db)
        assert db.backup(tmp_path / "copy").packed
        db.export(tmp_path / "files")
    with gdb.connect(tmp_path / "copy", read_only=True) as db:
        db.check()
        assert answers(db) == right
    with gdb.connect(tmp_path / "again") as db:
        db.load(tmp_path / "files", packed=True)
        assert db.stats().packed
        assert answers(db) == right


def test_a_store_in_memory_may_be_packed() -> None:
    with gdb.connect() as db:
        db.execute("UNWIND range(1, 500) AS i CREATE (:A {id: i})-[:R]->(:B {id: -i, x: i % 7})")
        query = "MATCH (a)-[:R]->(b) RETURN id(a), id(b), b.x"
        right = sorted(map(repr, db.execute(query).fetchall()))
        assert db.compact(packed=True).packed
        assert sorted(map(repr, db.execute(query).fetchall())) == right


def test_packed_is_yes_or_no(tmp_path: Path) -> None:
    with gdb.connect(tmp_path) as db, pytest.raises(TypeProblem, match="packed= takes True, False"):
        db.compact(packed="yes")  # type: ignore[arg-type]


def test_a_count_that_packed_bytes_cannot_hold_is_refused_when_opened(tmp_path: Path) -> None:
    written(tmp_path, packed=True)
    body = sealed.body_of(tmp_path)
    first, second = sealed.list_at(body, ("groups",))
    kept = (
        400 if sealed.value_at(first, ("labels", 0)) == "A" else 500
    )  # vertices of the other group
    many = sealed.changed(body, ("vertex_count",), 10**9)
    many = sealed.changed(many, ("groups", 1, "ranges", 0, 1), 10**9)
    space = 1 if sealed.value_at(second, ("id_space",)) == "words" else 0
    many = sealed.changed(many, ("spaces", space, "count"), 10**9 - 900 + kept)
    sealed.seal_json(tmp_path, many)
    with pytest.raises(CorruptStore, match="too short for what it should hold"):
        Store.open(tmp_path, create=False, read_only=True)


def test_an_error_of_a_packed_section_names_file_and_section(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is unpacked while a query runs, with a budget and without; the checksum is not looked at here."""
    written(tmp_path / "whole", packed=True)
    kinds = {SectionKind.NEIGHBOURS: "neighbours", SectionKind.ROW_LENGTHS: "numbers"}
    monkeypatch.setattr(segment_checksum, "verify", lambda *_: None)
    monkeypatch.setattr(disk_arrays, "LEAST_FILED", 1)
    found = set()
    for path in sorted((tmp_path / "whole").glob("seg-*")):
        opened = segment.SegmentFile("", path.name, np.fromfile(path, np.uint8))
        for number, (kind, _, begin, size, code) in enumerate(opened._entries):
            if kind not in kinds or not code or kinds[SectionKind(kind)] in found:
                continue
            found.add(kinds[SectionKind(kind)])
            folder = shutil.copytree(tmp_path / "whole", tmp_path / f"{path.name}-{number}")
            with open(folder / path.name, "r+b") as file:
                file.seek(begin + size // 2)
                file.write(b"\xff" * (size - size // 2))
            for memory in (None, "1MiB"):
                with gdb.connect(folder, read_only=True) as db:
                    with pytest.raises(CorruptStore) as error:
                        db.execute("MATCH (a)-->(b)-->(c) RETURN count(*)", memory=memory)
                    assert path.name in str(error.value)
                    assert f"section {number}" in str(error.value)
    assert found == set(kinds.values())
