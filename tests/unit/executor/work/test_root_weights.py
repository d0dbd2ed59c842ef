"""The weights of roots: all together, and where they are cut, by rows and one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gdb.executor.work import scheduler
from gdb.executor.work.scheduler import Weights


def both(degrees: list[int]) -> tuple[Weights, Weights]:
    """Weights by where rows begin, and one by one."""
    offsets = 7 + np.concatenate([[0], np.cumsum(degrees, dtype=np.int64)])
    return Weights.of_rows(offsets), Weights(np.array(degrees, np.int64) + 1)


@pytest.fixture(autouse=True)
def _pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scheduler, "_PIECE", 3)


@pytest.mark.parametrize(
    "degrees", [[2], [0, 5, 0, 1], list(range(11)), [1] * 9, [40, 0, 0, 3, 1, 1]]
)
def test_weights_by_rows_are_those_one_by_one(degrees: list[int]) -> None:
    each = [degree + 1 for degree in degrees]
    for weights in both(degrees):
        assert (len(weights), weights.total) == (len(each), sum(each))
        assert weights.each.tolist() == each
        assert [weights.of(k) for k in range(len(each))] == each
        assert [weights.upto(k) for k in range(len(each) + 1)] == [
            sum(each[:k]) for k in range(len(each) + 1)
        ]
        known = np.cumsum(each)
        for weight in range(sum(each) + 2):
            assert weights.roots_within(weight) == (known <= weight).sum()
            assert weights.roots_within(weight + 0.5, less=True) == (known < weight + 0.5).sum()
            assert weights.roots_within(weight, less=True) == (known < weight).sum()


def test_some_of_the_roots() -> None:
    degrees = [3, 0, 1, 4, 1, 5, 9]
    for weights in both(degrees):
        for which in (slice(2, 5), slice(4, 4), np.array([0, 3]), np.array(degrees) > 1):
            assert weights.part(which).each.tolist() == (np.array(degrees) + 1)[which].tolist()


@given(st.lists(st.integers(0, 99), min_size=1), st.integers(0, 12))
def test_cut_ranges_have_every_root_once(degrees: list[int], parts: int) -> None:
    rows, each = (weights.cut(parts) for weights in both(degrees))
    assert rows == each
    assert [k for a, b in rows for k in range(a, b)] == list(range(len(degrees)))
    assert all(a < b for a, b in rows)
    assert len(rows) <= max(parts, 1)


def test_ranges_have_about_equal_weights() -> None:
    degrees = np.random.default_rng(1).integers(0, 99, 1000).tolist()
    for weights in both(degrees):
        sums = [weights.upto(b) - weights.upto(a) for a, b in weights.cut(10)]
        assert len(sums) == 10
        assert max(sums) < 1.2 * min(sums)


def test_there_may_be_no_roots() -> None:
    weights = Weights(np.zeros(0, np.int64))
    assert (len(weights), weights.total, weights.cut(3)) == (0, 0, [])
