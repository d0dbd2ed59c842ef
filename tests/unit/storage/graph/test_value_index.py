"""Look-ups of values in columns are comparisons of each with each, with an index and without one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gdb.storage.columns.model import Column, PropertyValue
from gdb.storage.columns.python_columns import column_of
from gdb.storage.graph.ids import first_known
from gdb.storage.graph.value_index import Indexes, Wanted, find_values, index_of

HARD = [-(2**63), 2**63 - 1, -1, 0, 2**53 + 1]
INTEGERS = st.one_of(st.integers(-20, 20), st.sampled_from(HARD))
TEXTS = st.sampled_from(["", "a", "b", "ab", "é"])


def _pairs(column: Column, wanted: Wanted, *, indexed: bool) -> list[tuple[int, int]]:
    places, rows = find_values(column, wanted, index_of(column) if indexed else None)
    return sorted(zip(places.tolist(), rows.tolist(), strict=True))


@given(
    values=st.one_of(
        st.lists(INTEGERS | st.none(), min_size=1), st.lists(TEXTS | st.none(), min_size=1)
    ),
    integers=st.lists(INTEGERS, unique=True),
    texts=st.lists(TEXTS, unique=True),
)
def test_the_rows_that_hold_a_value(
    values: list[PropertyValue], integers: list[int], texts: list[str]
) -> None:
    column = column_of(values)
    several: list[object] = [*integers, *texts]
    expected = sorted(
        (place, row)
        for place, one in enumerate(several)
        for row, value in enumerate(values)
        if value is not None and value == one
    )
    for indexed in (False, True):
        assert _pairs(column, Wanted(several), indexed=indexed) == expected
    if column.kind == "int64":
        of_integers = [pair for pair in expected if pair[0] < len(integers)]
        wanted = Wanted(np.array(integers, np.int64))
        assert _pairs(column, wanted, indexed=False) == of_integers
        assert list(wanted.values) == integers


@pytest.mark.parametrize("step", [1, 16, 2**40, -(2**40)])
def test_many_values_beside_many(step: int) -> None:
    """More than fit a table of bits, and at regular distances."""
    values = np.arange(20_000, dtype=np.int64) * step
    wanted = np.arange(-50, 30_000, 7, dtype=np.int64) * step
    places, rows = find_values(Column("int64", values), Wanted(wanted), None)
    assert np.array_equal(wanted[places], values[rows])
    assert len(rows) == len({*wanted.tolist()} & {*values.tolist()})


@given(
    wanted=st.lists(st.integers(0, 9), max_size=8),
    there=st.sets(st.integers(0, 9)),
)
def test_the_first_id_that_is_known(wanted: list[int], there: set[int]) -> None:
    found = np.array([k if k in there else -1 for k in wanted], np.int64)
    expected = next((k for k, one in enumerate(wanted) if one in there or one in wanted[:k]), None)
    assert first_known(found, np.array(wanted, np.int64)) == expected
    assert first_known(found, [*map(str, wanted)]) == expected


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "values", [[["", ""], [""]], [[1.5, float("nan")]], [[1, 2], []], [[True]]], ids=str
)
def test_lists_have_no_index(values: list[PropertyValue]) -> None:
    """No plain value equals one; the looks after the first ones would make an index."""
    column, indexes = column_of(values), Indexes()
    for wanted in (["a"], [1], [1.5, True], list(range(20))):
        for _ in range(4):
            places, rows = indexes.found((0, "v"), column, Wanted(wanted))
            assert (places.tolist(), rows.tolist()) == ([], [])
    assert indexes.made((0, "v")) is None
