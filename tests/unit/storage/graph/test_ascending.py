"""Ascending arrays of distinct numbers, and patches put together, beside sets and dicts."""

from __future__ import annotations

import numpy as np
import pytest

from gdb.storage.columns.model import Column
from gdb.storage.columns.python_columns import column_of
from gdb.storage.graph import ids
from gdb.storage.graph.ascending import distinct, last_places, merged_order, unite_ascending
from gdb.storage.graph.delta import Patch, overlay
from gdb.storage.graph.vid_ranges import Extent, by_number
from tests.support.effort import share


def some(seed: int, most: int = 40) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    draw = np.random.default_rng(seed)
    return draw.integers(0, 30, draw.integers(0, most)).astype(np.int64)


@pytest.mark.parametrize("seed", range(share(40)))
def test_as_sets(seed: int) -> None:
    one, other = some(2 * seed), some(2 * seed + 1)
    assert distinct(one).tolist() == sorted(set(one.tolist()))
    for more in (other, other[:1]):
        both = unite_ascending(distinct(one), distinct(more))
        assert both.dtype == np.int64
        assert both.tolist() == sorted({*one.tolist(), *more.tolist()})
    keys, last = last_places(one.astype(np.uint32))
    assert dict(zip(keys.tolist(), last.tolist(), strict=True)) == {
        key: place for place, key in enumerate(one.tolist())
    }
    ascending = np.sort(one)  # as keys of edges, with equal ones
    for more in (other, other[:1], other[:0]):
        wanted = np.concatenate([ascending, more]).argsort(kind="stable")
        assert merged_order(ascending, more).tolist() == wanted.tolist()
    assert {number: places.tolist() for number, places in by_number(one)} == {
        number: np.flatnonzero(one == number).tolist() for number in set(one.tolist())
    }


@pytest.mark.parametrize("seed", range(share(40)))
def test_the_new_values_of_two_patches_win(seed: int) -> None:
    rows = distinct(some(2 * seed)), distinct(some(2 * seed + 1))
    texts = [[f"{k}{'ab'[k]}{row}" for row in own.tolist()] for k, own in enumerate(rows)]
    old, new = (
        Patch(own, column_of(text, "string")) for own, text in zip(rows, texts, strict=True)
    )
    found = overlay(old, new)
    expected = dict(zip(rows[0].tolist(), texts[0], strict=True))
    expected |= dict(zip(rows[1].tolist(), texts[1], strict=True))
    assert found.rows.tolist() == sorted(expected)
    assert found.column.to_list() == [expected[row] for row in sorted(expected)]


@pytest.mark.parametrize("ranges", [((3, 9),), ((0, 2), (5, 6), (8, 12))])
def test_rows_of_ranges(ranges: tuple[tuple[int, int], ...]) -> None:
    extent, inside = Extent(ranges), [vid for a, b in ranges for vid in range(a, b)]
    vids = np.array(inside, np.uint32)
    assert extent.rows(vids).tolist() == [*range(len(inside))]
    assert extent.vids(np.arange(len(inside))).tolist() == inside
    assert extent.has(np.arange(14)).tolist() == [vid in inside for vid in range(14)]
    assert [extent.holds(vid) for vid in range(14)] == [vid in inside for vid in range(14)]
    assert extent.among(np.arange(1, 14, 2, dtype=np.uint32)) == sum(vid % 2 for vid in inside)


def test_an_index_with_more_ids() -> None:
    def made(
        values: list[int], first: int
    ) -> tuple[Column, np.ndarray[tuple[int], np.dtype[np.uint32]]]:
        return column_of(values, "int64"), np.arange(first, first + len(values), dtype=np.uint32)

    index = ids.build(*made([5, 1, 9], 0), "")
    more = ids.extend_index(index, *made([7, 0, 12], 3), "")
    assert more is not None
    whole = ids.build(*made([5, 1, 9, 7, 0, 12], 0), "")
    assert more.keys.tolist() == whole.keys.tolist()
    assert more.vids.tolist() == whole.vids.tolist()
    assert ids.extend_index(index, *made([7, 9], 3), "") is None


@pytest.mark.parametrize(
    ("values", "new"), [([1, 2, 3], 9), (["a", "bb", "c"], "new"), ([0.5, 1.5, -0.0], 2.5)]
)
def test_one_new_value(values: list[int | float | str], new: int | float | str) -> None:
    """In the place of one that is there, and between, before and behind those."""
    rows = [2, 4, 7]
    old = Patch(np.array(rows), column_of(values))
    for row in range(9):
        one = Patch(np.array([row]), column_of([new]))
        expected = dict(zip(rows, values, strict=True)) | {row: new}
        found = overlay(old, one)
        assert found.rows.tolist() == sorted(expected)
        assert found.column.to_list() == [expected[k] for k in sorted(expected)]
        assert old.column.to_list() == values  # which other snapshots have
        assert found.of_rows(np.array([row])).column.to_list() == [new]
        assert found.of_rows(np.array([100])).rows.tolist() == []
