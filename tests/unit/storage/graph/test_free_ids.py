"""Integers that are no ids, against a set of those that are."""

from __future__ import annotations

from itertools import islice

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gdb.storage.graph.ids import free_integers

LAST = (1 << 63) - 1
KEYS = st.sets(
    st.one_of(st.integers(-3, 12), st.integers(LAST - 4, LAST), st.just(-LAST - 1)), max_size=12
)


@given(several=st.lists(KEYS, max_size=3))
def test_they_come_after_the_largest_and_then_from_0(several: list[set[int]]) -> None:
    taken = set[int]().union(*several)
    largest = max(taken, default=-1)
    arrays = [np.array(sorted(one), np.int64) for one in several]
    after = list(range(max(largest + 1, 0), min(largest + 41, LAST) + 1))[:40]
    between = [k for k in range(60) if k not in {*taken, *after}]
    assert list(islice(free_integers(arrays, largest), 40)) == (after + between)[:40]


def test_a_long_run_is_passed_over() -> None:
    keys = np.append(np.arange(1_000_000), LAST)
    assert list(islice(free_integers([keys, np.array([1_000_001])], LAST), 2)) == [
        1_000_000,
        1_000_002,
    ]
