"""Work that goes through a large array before a query runs: it looks in between whether the query goes on."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import cast

import numpy as np
import pytest

import gdb
from gdb.base import usage, waiting
from gdb.executor.gpu import memory, pinned
from gdb.storage.disk import arrays, checksum
from gdb.storage.format.direction import Direction
from gdb.storage.graph import degree_loops, row_blocks, section_checks
from gdb.storage.graph.adjacency import Adjacency
from gdb.storage.graph.edge_loops import rows_ascend
from gdb.storage.graph.intervals import of_vids
from gdb.storage.write.store import Store


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checksum, "_PIECE", 1000)
    monkeypatch.setattr(arrays, "COPIED", 1000)
    monkeypatch.setattr(section_checks, "_PACED", 1000)
    monkeypatch.setattr(section_checks, "MANY_ROWS", 10)
    monkeypatch.setattr(row_blocks, "_ROWS", 100)
    monkeypatch.setattr(degree_loops, "_PART", 1000)
    monkeypatch.setattr(row_blocks, "_READ", 1000)
    monkeypatch.setattr(pinned, "PIECE", 1000)
    monkeypatch.setattr(pinned, "LARGE", 10)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """1,500 nodes, every third one without relationships, and 6,000 relationships."""
    folder = tmp_path_factory.mktemp("paced") / "store.gdb"
    rng = np.random.default_rng(3)
    with gdb.connect(folder) as db, db.transaction() as tx:
        tx.add_nodes("N", np.arange(1500), {})
        ends = rng.integers(0, 1500, (2, 6000)) // 3 * 3 + 1
        tx.add_relationships("R", *ends)
    with gdb.connect(folder) as db:
        db.compact()
    return folder


def view_of(store: Path, *, renumbered: bool = False) -> Adjacency:
    opened = Store.open(store, create=False, read_only=True)
    try:
        view = opened.snapshot().adjacency((), Direction.OUT)
        if not renumbered:
            return view
        vid = np.arange(1500, dtype=np.uint32)
        parts = degree_loops.renumber_rows(view, vid, vid, view.max_degree)
        named = *of_vids(parts[0]).arrays, *parts[1:], view.simple, view.loops, view.max_degree
        return Adjacency(view.types, view.direction, *named)
    finally:
        opened.close()


class Stopped(Exception):
    """What a query that is stopped raises."""


def stopped_after(looks: int, work: Callable[[], object]) -> bool:
    """Whether a query that is stopped at its `looks`-th look ends work."""
    left = iter(range(looks - 1))

    def check() -> None:
        if next(left, None) is None:
            raise Stopped

    with usage.Usage() as own:
        own.check = check
        try:
            work()
        except Stopped:
            return True
    return False


def block(size: int) -> memory.Block:
    class Block:
        def array(
            self, shape: tuple[int, ...], dtype: type[np.generic], offset: int = 0
        ) -> np.ndarray:
            return np.zeros(shape, dtype)

    return cast(memory.Block, Block())


def works(store: Path) -> Iterator[tuple[str, Callable[[], object]]]:
    data, view = np.arange(5000, dtype=np.uint32), view_of(store)
    yield "checksum of a manifest", lambda: checksum.digest(data.data)
    for digits in (checksum.SMALL_DIGITS, checksum.LARGE_DIGITS):
        yield "checksum", partial(checksum.has_checksum, data.data, "0" * digits)
    yield "copy", lambda: arrays.copied(data, np.empty_like(data))
    yield "read a store", lambda: view_of(store)
    yield "split", lambda: row_blocks._made_split(view)
    yield "number by degree", lambda: view_of(store, renumbered=True)
    yield "lower side", lambda: row_blocks.below(view)
    yield "page-locked", lambda: pinned.fill(block(data.nbytes), data)
    yield "a pool", lambda: list(_mapped(range(9)))


def _mapped(items: range) -> Iterator[int]:
    with waiting.Pool(2) as pool:
        yield from pool.map(lambda item: item, items)


@pytest.mark.parametrize("number", range(10))
def test_it_stops_at_any_look(number: int, store: Path) -> None:
    name, work = list(works(store))[number]
    stopped = [stopped_after(looks, work) for looks in (1, 2, 4, 1 << 30)]
    assert stopped == [True, True, True, False], name


def test_a_snapshot_is_read_again_after_a_stop(store: Path) -> None:
    """In the middle of a checksum, of the checks of what a file holds, and of what is made of it."""
    expected, stops = view_of(store).neighbours, 0
    for looks in range(1, 100):
        opened = Store.open(store, create=False, read_only=True)
        try:
            read = partial(opened.snapshot().adjacency, (), Direction.OUT)
            stops += stopped_after(looks, read)
            assert (read().neighbours == expected).all()
        finally:
            opened.close()
    assert 20 < stops < 99


@pytest.mark.parametrize("rows", [1, 7, 100, 10_000])
def test_splits_in_pieces_are_those_in_one(
    rows: int, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    view = view_of(store)
    monkeypatch.setattr(row_blocks, "_ROWS", rows)
    found = row_blocks._made_split(view)
    for number, vid in enumerate(view.vids().tolist()):
        row = view.neighbours_of(vid)
        assert found[number] - view.offsets[number] == (row < vid).sum()


def test_rows_that_fall_are_found_in_any_piece(store: Path) -> None:
    view = view_of(store)
    for at in range(1, len(view.neighbours), 501):
        near = view.neighbours.copy()
        near[at - 1], near[at] = near[at], near[at - 1]
        whole = section_checks._rows_between(view.offsets)
        pieces = [
            rows_ascend(view.offsets[first : last + 1], near, strictly=False)
            for first, last in whole
        ]
        assert len(pieces) > 3
        assert all(pieces) == rows_ascend(view.offsets, near, strictly=False)


def advice(array: np.ndarray) -> list[str]:
    """What the system knows of the pages at the middle of an array, by the letters of /proc/self/smaps."""
    at, here = array.ctypes.data + array.nbytes // 2, False
    for line in Path("/proc/self/smaps").read_text(encoding="ascii").splitlines():
        if (bounds := re.match(r"([0-9a-f]+)-([0-9a-f]+) ", line)) is not None:
            here = int(bounds[1], 16) <= at < int(bounds[2], 16)
        elif here and line.startswith("VmFlags:"):
            return line.split()[1:]
    return []


@pytest.mark.skipif(not Path("/proc/self/smaps").exists(), reason="reads /proc")
@pytest.mark.parametrize("memory", [None, 1])
def test_pages_of_the_graph_are_read_one_by_one_under_a_budget(
    memory: int | None, tmp_path: Path
) -> None:
    """In place, and where they lie in a temporary file."""
    with gdb.connect(tmp_path / "s") as db, db.transaction() as tx:
        tx.add_nodes("N", np.arange(60_000), {})
        tx.add_relationships("R", np.arange(60_000), np.arange(60_000)[::-1].copy())
    with gdb.connect(tmp_path / "s") as db:
        db.compact()
    opened = Store.open(tmp_path / "s", create=False, read_only=True)
    try:
        with usage.Usage(memory) as own:
            near = opened.snapshot().adjacency((), Direction.OUT).neighbours
            found = arrays.placed(60_000, np.uint32, "graph", usage.room())
            copy = arrays.filed(np.zeros(60_000, np.uint32), "graph", own.budget)
        for array in (near, found, copy):
            assert ("rr" in advice(array)) == (memory == 1)
    finally:
        opened.close()


def test_a_commit_goes_on_to_its_end() -> None:
    with usage.Usage() as own:
        own.check = lambda: pytest.fail("it was looked at")
        with usage.unstopped():
            usage.pulse()
            assert list(usage.paced(5, 2)) == [(0, 2), (2, 4), (4, 5)]
        assert own.check is not None
    with usage.unstopped():
        usage.pulse()
