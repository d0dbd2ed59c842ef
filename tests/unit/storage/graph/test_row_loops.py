"""Loops over rows in machine code give what a sort of all edges gives."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gdb.storage.graph import degree_loops, pcsr, row_loops
from gdb.storage.graph.pcsr import Part
from tests.support.effort import share

Pairs = list[tuple[int, int]]
VIDS = 12
pairs = st.lists(st.tuples(st.integers(0, VIDS - 1), st.integers(0, VIDS - 1)), max_size=40)


def keys(some: Pairs) -> npt.NDArray[np.uint64]:
    found = np.array([a << 32 | b for a, b in some], np.uint64)
    found.sort()
    return found


def part(some: Pairs) -> Part:
    return pcsr.build(keys(some))


def same(a: Part, b: Part) -> None:
    for one, other in (
        (a.intervals.first, b.intervals.first),
        (a.intervals.length, b.intervals.length),
        (a.intervals.row, b.intervals.row),
        (a.offsets, b.offsets),
        (a.neighbours, b.neighbours),
    ):
        assert one.tolist() == other.tolist()
    assert (a.simple, a.loops, a.max_degree) == (b.simple, b.loops, b.max_degree)


@settings(max_examples=share(200), deadline=None)
@given(pairs, pairs, st.booleans())
def test_a_union_is_the_part_of_all_keys(a: Pairs, b: Pairs, without: bool) -> None:
    second = [(x, y) for x, y in b if x != y] if without else b
    whole, eids = pcsr.united_eids(
        (part(a), np.arange(len(a))), (part(b), np.arange(len(b)) + 100), without_loops=without
    )
    same(whole, part(a + second))
    same(pcsr.unite_parts(part(a), part(b), without_loops=without), whole)
    # equal keys of the first come before those of the second, each in their order
    first = [(x, y, k) for k, (x, y) in enumerate(sorted(a))]
    other = [(x, y, 100 + k) for k, (x, y) in enumerate(sorted(b)) if not without or x != y]
    assert eids.tolist() == [k for *_, k in sorted(first + other)]


@settings(max_examples=share(200), deadline=None)
@given(pairs)
def test_edge_ids_of_the_backward_part(some: Pairs) -> None:
    forward, backward = part(some), part([(b, a) for a, b in some])
    found = row_loops.backward_eids(pcsr.lists(backward), forward.neighbours, 7)
    assert found is not None
    assert found.tolist() == (7 + np.argsort(forward.neighbours, kind="stable")).tolist()


@settings(max_examples=share(200), deadline=None)
@given(pairs)
def test_edge_ids_of_a_symmetric_part(some: Pairs) -> None:
    edges = sorted((min(a, b), max(a, b)) for a, b in some)
    both = edges + [(b, a) for a, b in edges if a != b]
    found = row_loops.symmetric_eids(pcsr.lists(part(both)), 5, len(edges))
    assert found is not None
    ids = [(a, b, 5 + k) for k, (a, b) in enumerate(edges)]
    want = sorted(ids + [(b, a, k) for a, b, k in ids if a != b])
    assert found.tolist() == [k for *_, k in want]
    assert row_loops.symmetric_eids(pcsr.lists(part(both)), 5, len(edges) + 1) is None


@pytest.mark.parametrize("lost", range(8))
def test_an_edge_that_one_end_does_not_know_is_seen(lost: int) -> None:
    edges = [(0, 1), (0, 2), (1, 2), (2, 5)]
    both = sorted(edges + [(b, a) for a, b in edges])
    gone = both[:lost] + both[lost + 1 :]
    assert row_loops.symmetric_eids(pcsr.lists(part(gone)), 0, 4) is None
    assert row_loops.symmetric_eids(pcsr.lists(part(gone)), 0, 3) is None
    forward = part([(a, b) for a, b in gone])
    whole = part([(b, a) for a, b in both])
    assert row_loops.backward_eids(pcsr.lists(whole), forward.neighbours, 0) is None
    turned = part([*((b, a) for a, b in gone), (9, 9)])  # as many, but others
    assert row_loops.backward_eids(pcsr.lists(turned), part(both).neighbours, 0) is None


@settings(max_examples=share(100), deadline=None)
@given(st.lists(st.integers(0, 30), max_size=60))
def test_ranks_fall_by_degree(degrees: list[int]) -> None:
    vid, rank, falls = degree_loops.ranks(np.array(degrees, np.int64))
    want = sorted(range(len(degrees)), key=lambda v: (-degrees[v], v))
    assert vid.tolist() == want
    assert rank[vid].tolist() == list(range(len(degrees)))
    assert falls == (degrees == sorted(degrees, reverse=True))


@pytest.mark.parametrize("count", [0, 1, 15, 16, 17, 100, 5000])
def test_rows_of_any_length_are_sorted(count: int) -> None:
    """One row of so many neighbours, whose order the ranks turn around."""
    some = part([(0, 1 + k) for k in range(count)])
    rng = np.random.default_rng(count)
    vid = np.concatenate([[0], 1 + rng.permutation(count)]).astype(np.uint32)
    rank = np.empty_like(vid)
    rank[vid] = np.arange(count + 1, dtype=np.uint32)
    vids, offsets, near = degree_loops.renumber_rows(pcsr.lists(some), vid, rank, some.max_degree)
    assert vids.tolist() == [0][: min(count, 1)]
    assert offsets.tolist() == [0, count][: 1 + min(count, 1)]
    assert near.tolist() == list(range(1, count + 1))


def arrays(folder: Path) -> dict[str, np.ndarray]:
    own = np.arange(1000, dtype=np.int64)
    path = folder / "mapped"
    own.tofile(path)
    return {
        "own": own,
        "empty": np.zeros(0, np.uint8),
        "part": own[10:20:3],
        "two dimensions": own.reshape(10, 100)[3:],
        "of a buffer": np.frombuffer(bytes(64), np.uint32)[1:],
        "of a file": np.memmap(path, np.int64, "r")[7:],
        "read-only": np.broadcast_to(own[5:6], (4, 1)),
    }


def test_an_address_is_that_of_numpy(tmp_path: Path) -> None:
    found = arrays(tmp_path)
    assert {kind: row_loops.at_of(one) for kind, one in found.items()} == {
        kind: one.ctypes.data for kind, one in found.items()
    }
