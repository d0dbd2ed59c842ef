"""Sorting in runs is sorting."""

import random

import pytest

from gdb.base.values import sorting


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("count", [0, 1, 4, 5, 16, 63])
def test_runs_are_merged_and_keep_ties(
    count: int, descending: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sorting, "RUN", 4)
    chance = random.Random(count)
    items = [(chance.randrange(5), number) for number in range(count)]

    def key(item: tuple[int, int]) -> tuple[object, ...]:
        return (item[0],)

    found = sorting.in_order(items, key, descending=descending)
    assert found == sorted(items, key=key, reverse=descending)
