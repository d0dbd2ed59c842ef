"""Loops in machine code: each gives what plain Python over the same arrays gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gdb.storage.graph import edge_loops
from gdb.storage.graph.edge_loops import NONE

ROW = st.integers(0, 2**32 - 3)
KEYS = st.lists(st.tuples(st.integers(0, 5) | ROW, st.integers(0, 5) | ROW), max_size=30)


def packed(pairs: list[tuple[int, int]]) -> edge_loops.U64:
    return np.array([a << 32 | b for a, b in pairs], np.uint64)


@given(
    st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(-12, 12), max_size=40),
    st.integers(-(2**63), 2**63 - 1) | st.integers(-9, 9),
    st.lists(st.none() | ROW, max_size=12),
)
def test_ids_are_found_in_a_table(ids: list[int], low: int, rows: list[int | None]) -> None:
    table = np.array([int(NONE) if row is None else row for row in rows], np.uint32)
    known = {low + k: row for k, row in enumerate(rows) if row is not None}
    wanted = [-1 if (row := known.get(x)) is None else row for x in ids]
    assert edge_loops.find_rows(np.array(ids, np.int64), low, table).tolist() == wanted


@given(KEYS, st.sampled_from([np.int64, np.uint32]))
def test_ends_are_packed(pairs: list[tuple[int, int]], dtype: Any) -> None:
    both = np.array(pairs, dtype).reshape(-1, 2)
    found = edge_loops.pack(both[:, 0], both[:, 1])  # with gaps between them
    assert found.keys.tolist() == packed(pairs).tolist()
    assert (found.least, found.highest) == (0, max((max(pair) for pair in pairs), default=-1))
    assert found.loops == sum(a == b for a, b in pairs)


def test_an_end_that_is_missing_is_told() -> None:
    assert edge_loops.pack(np.array([3, 4]), np.array([5, -1])).least == -1


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=40))
def test_ends_are_counted(pairs: list[tuple[int, int]]) -> None:
    sources, targets = np.ones(8, np.uint32), np.zeros(8, np.uint32)
    edge_loops.count_ends(packed(pairs), sources, targets)
    assert sources.tolist() == [1 + sum(a == k for a, _ in pairs) for k in range(8)]
    assert targets.tolist() == [sum(b == k for _, b in pairs) for k in range(8)]


@pytest.mark.parametrize("part", [0, 5, 63, 64, 127])
def test_counts_become_degrees_and_bits(part: int) -> None:
    counts = np.array([0, 0, 3, 0, 0, 2**32 - 1, 1, 1], np.uint32)
    degrees, bits = np.full(8, 7, np.int64), np.ones((8, 2), np.uint64)
    edge_loops.add_counts(counts, degrees, bits, part)
    assert degrees.tolist() == [7 + int(c) for c in counts]
    wanted = [1 | 1 << 64 | (1 << part if c else 0) for c in counts]
    assert [int(low) | int(high) << 64 for low, high in bits] == wanted


@pytest.mark.parametrize("few", [2, 1 << 16])
@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.integers(0, 2**64 - 1) | st.integers(0, 2)), max_size=60
    )
)
def test_classes_are_those_of_one_group_and_the_same_bits(
    few: int, vertices: list[tuple[int, int]]
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(edge_loops, "_FEW", few)  # the table grows
        groups = np.array([group for group, _ in vertices], np.int64)
        bits = np.array([(7, word) for _, word in vertices], np.uint64).reshape(-1, 2)
        classes, members = edge_loops.classes_of(groups, bits)
    first = {vertex: k for k, vertex in reversed(list(enumerate(vertices)))}
    numbers = {vertex: k for k, vertex in enumerate(dict.fromkeys(vertices))}
    assert classes.tolist() == [numbers[vertex] for vertex in vertices]
    assert members.tolist() == [first[vertex] for vertex in numbers]


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=20), st.booleans())
def test_keys_are_renumbered(pairs: list[tuple[int, int]], swap: bool) -> None:
    vids = np.array([9, 2**32 - 3, 4, 0, 1, 7], np.uint32)
    found = edge_loops.renumber_keys(packed(pairs), vids, swap=swap).tolist()
    new = [(int(vids[a]), int(vids[b])) for a, b in pairs]
    assert found == packed([(b, a) for a, b in new] if swap else new).tolist()


@given(KEYS)
def test_keys_are_split_into_rows(pairs: list[tuple[int, int]]) -> None:
    pairs = sorted(pairs)
    found = edge_loops.split_keys(packed(pairs))
    rows = sorted({a for a, _ in pairs})
    assert found.rows.tolist() == rows
    assert found.starts.tolist() == [min(k for k, p in enumerate(pairs) if p[0] == r) for r in rows]
    assert found.neighbours.tolist() == [b for _, b in pairs]
    again = [p for p, before in zip(pairs[1:], pairs, strict=False) if p == before]
    assert (found.repeats, found.repeated_loops) == (len(again), sum(a == b for a, b in again))
    assert found.loops == sum(a == b for a, b in pairs)
    degrees = [sum(a == row for a, _ in pairs) for row in rows]
    assert found.max_degree == max(degrees, default=0)
