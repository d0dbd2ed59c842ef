"""Patches of properties: of a value that is set twice the last one holds."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gdb.records import replace
from gdb.storage.columns.model import Column
from gdb.storage.columns.python_columns import column_of
from gdb.storage.format import journal
from gdb.storage.format.sections import Section
from gdb.storage.graph.delta import Delta, Patch, TypeDelta, overlay, patched
from gdb.storage.graph.delta_sections import parts_of
from gdb.storage.write.commit import commit
from gdb.storage.write.transaction import Changes
from tests.support.journaled_stores import base

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


def test_how_a_patch_was_made_is_what_a_comparison_finds() -> None:
    store, before, edited = base(None), list[Section](), 0
    for number, name in enumerate("dbecabdd"):
        with store.writer():
            changes = Changes(store.snapshot())
            changes.set_vertices(changes.find([name], ""), {"x": column_of([100 + number])})
            sections = parts_of(commit(store, changes).delta, 1).sections
        for old, new in zip(before, sections, strict=False):
            if new.edit is not None and new.edit.data is old.data is not new.data:
                edited += 1
                compared = journal._difference(old, replace(new, edit=None))
                assert journal._difference(old, new) == compared
        before = sections
    assert edited > 8


def test_a_part_is_kept_only_where_its_sections_have_the_same_numbers() -> None:
    edges = {"E": TypeDelta("E", True, np.array([1, 2], np.uint64))}
    one = {"x": Patch(np.array([3]), column_of([7]))}
    before = parts_of(Delta(patches={0: one}, types=edges), 1)
    more = Delta(patches={0: {**one, "y": one["x"]}}, types=edges)
    after = parts_of(more, 1, before)
    assert after.record == parts_of(more, 1).record != before.record
    assert after.types[0] is not before.types[0]
    assert parts_of(more, 1, after).types[0] is after.types[0]
