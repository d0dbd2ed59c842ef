"""GENMAP: the paper's example, contiguous groups, fewer intervals."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gdb.storage.columns.model import I64
from gdb.storage.graph import intervals
from gdb.storage.write.renumber import Numbering, ShareSets, genmap


def number(parts: list[list[int]], count: int, groups: list[int] | None = None) -> Numbering:
    shares = ShareSets(count, len(parts))
    degrees = np.zeros(count, np.int64)
    for part, members in enumerate(parts):
        shares.bits[members, part // 64] |= np.uint64(1) << np.uint64(part % 64)
        degrees[members] += 1
    own = np.array(groups or [0] * count, np.int64)
    names = tuple(frozenset({f"L{g}"}) for g in range(int(own.max()) + 1))
    return genmap(own, names, shares, degrees)


def count_intervals(members: list[int] | I64, vids: np.ndarray) -> int:
    return len(intervals.of_vids(np.sort(vids[members]).astype(np.uint32)))


def test_an_example_like_the_paper_s_needs_one_interval_where_it_needed_many() -> None:
    # In the manner of Fig. 4 (the paper's text names only 4 and 8): ELP 0 is the largest; 4 and 8
    # are in ELPs 0, 1 and 2, and so come first; then the subpartition in 0 and 1 (its share set
    # overlaps most), then that in 0 and 2, then 0 alone.
    parts = [[0, 2, 4, 6, 8, 9], [2, 4, 6, 8], [0, 4, 8, 5], [1, 3, 7]]
    numbering = number(parts, 10)
    order = np.argsort(numbering.vids).tolist()
    assert sorted(order[:2]) == [4, 8]
    assert set(order[:6]) == set(parts[0])
    identity = np.arange(10)
    before = [count_intervals(members, identity) for members in parts]
    after = [count_intervals(members, numbering.vids) for members in parts]
    assert before == [5, 4, 3, 3]
    assert after[0] == 1
    assert after[3] == 1
    assert sum(after) <= 6


def test_subpartitions_chain_by_the_largest_overlap() -> None:
    # share sets: 0 = {0,1,2}, 1 = {0}, 2 = {0,1}; all in the largest ELP
    numbering = number([[0, 1, 2], [0, 2], [0]], 3)
    assert np.argsort(numbering.vids).tolist() == [0, 2, 1]


def test_hubs_come_first_inside_a_subpartition() -> None:
    shares = ShareSets(3, 1)
    shares.bits[:, 0] = 1
    numbering = genmap(np.zeros(3, np.int64), (frozenset(),), shares, np.array([1, 9, 5], np.int64))
    assert np.argsort(numbering.vids).tolist() == [1, 2, 0]


def test_isolated_vertices_come_last_group_by_group() -> None:
    numbering = number([[1, 3]], 6, groups=[0, 0, 1, 1, 0, 1])
    assert set(numbering.vids[[1, 3]]) == {0, 1}
    assert [sum(b - a for a, b in ranges) for ranges in numbering.ranges] == [3, 3]
    assert all(len(ranges) == 2 for ranges in numbering.ranges)


@given(
    st.lists(st.lists(st.integers(0, 29)), max_size=70), st.lists(st.integers(0, 3), min_size=30)
)
def test_the_numbering_is_a_permutation_with_contiguous_groups(
    parts: list[list[int]], raw_groups: list[int]
) -> None:
    distinct = sorted(set(raw_groups[:30]))
    groups = [distinct.index(g) for g in raw_groups[:30]]
    numbering = number(parts, 30, groups)
    assert sorted(numbering.vids.tolist()) == list(range(30))
    connected = {member for members in parts for member in members}
    assert all(numbering.vids[v] < len(connected) for v in connected)
    for group, ranges in zip(numbering.order, numbering.ranges, strict=True):
        mine = sorted(numbering.vids[[v for v in range(30) if groups[v] == group]].tolist())
        assert mine == [vid for start, stop in ranges for vid in range(start, stop)]
        assert len(ranges) <= 2


def test_random_labels_need_far_fewer_intervals_than_the_input_order() -> None:
    rng = np.random.default_rng(7)
    members = [rng.choice(5000, 2500, replace=False) for _ in range(6)]
    numbering = number([m.tolist() for m in members], 5000)
    before = sum(count_intervals(m, np.arange(5000)) for m in members)
    after = sum(count_intervals(m, numbering.vids) for m in members)
    assert after * 50 < before


def test_more_subpartitions_than_are_chained_still_number_everything() -> None:
    from gdb.storage.write import renumber

    rng = np.random.default_rng(3)
    bits = np.unique(rng.integers(1, 1 << 20, 500).astype(np.uint64)).reshape(-1, 1)
    sizes = rng.integers(1, 9, bits.shape[0])
    most, renumber.MOST_CHAINED = renumber.MOST_CHAINED, 100
    try:
        order = renumber.chain_subpartitions(bits, sizes, np.zeros(1, np.uint64))
    finally:
        renumber.MOST_CHAINED = most
    assert sorted(order.tolist()) == list(range(bits.shape[0]))
