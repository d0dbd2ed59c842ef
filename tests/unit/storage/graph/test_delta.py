"""Patches of properties: of a value that is set twice the last one holds."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gdb.storage.columns.model import Column
from gdb.storage.columns.python_columns import column_of
from gdb.storage.graph.delta import Patch, overlay, patched

VALUES = st.dictionaries(st.integers(0, 9), st.one_of(st.none(), st.integers(-9, 9)), max_size=8)


def patch(values: dict[int, int | None]) -> Patch:
    rows = sorted(values)
    return Patch(np.array(rows, np.int64), column_of([values[row] for row in rows], "int64"))


@given(VALUES, VALUES.filter(bool))
def test_of_two_patches_the_new_one_wins(
    old: dict[int, int | None], new: dict[int, int | None]
) -> None:
    both = overlay(patch(old), patch(new))
    found = dict(zip(both.rows.tolist(), both.column.to_list(), strict=True))
    assert found == {**old, **new}
    assert both.rows.tolist() == sorted(found)
    column = Column("int64", np.arange(100, 110))
    whole = patched(column, both).to_list()
    assert whole == [found.get(row, 100 + row) for row in range(10)]
