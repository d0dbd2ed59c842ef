"""Values of the kind "any": their texts, and columns that hold them beside typed ones."""

from __future__ import annotations

import math
from datetime import date, datetime, timedelta
from typing import cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gdb.base.values.duration import Duration
from gdb.base.values.temporal import Date, DateTime, LocalDateTime, LocalTime, Time
from gdb.base.values.temporal_python import from_python
from gdb.errors import ChangeRefused, CorruptStore, ImportFailed
from gdb.storage.columns.any_values import text_of, value_of
from gdb.storage.columns.kinds import fitted
from gdb.storage.columns.model import Column, Kind, PropertyValue, VertexTable
from gdb.storage.columns.python_columns import column_of
from gdb.storage.graph.delta import Patch, overlay, patched
from gdb.storage.write.store import Store
from tests.oracles.dict_graph import ANY, VALUES
from tests.support.graph_tables import GraphTables, write_graph


@given(ANY | st.just(math.nan))
def test_a_value_comes_back_with_its_type(value: PropertyValue) -> None:
    text = text_of(value)
    assert repr(value_of(text)) == repr(value)  # 1, 1.0 and True are not the same, nor 0.0 and -0.0
    assert text_of(value_of(text)) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "b1"),
        (-(2**63), "i-9223372036854775808"),
        (1.0, "f3ff0000000000000"),
        (-0.0, "f8000000000000000"),
        (math.inf, "f7ff0000000000000"),
        (math.nan, "f7ff8000000000000"),
        ("", "s"),
        ("é", "sé"),
        (Date(-1), "D-1"),
        (LocalTime(1), "t1"),
        (Time(0, -3600), "T0,-3600"),
        (LocalDateTime(0, 5), "n0,5"),
        (DateTime(18262, 0, 3600, "Europe/Stockholm"), "N18262,0,3600,Europe/Stockholm"),
        (DateTime(0), "N0,0,0,"),
        (Duration(1, -2, -3, 4), "P1,-2,-3,4"),
        ([], "l"),
        ([1, "é", True], "l2:i13:sé2:b1"),
        (["1:s", ""], "l4:s1:s1:s"),
        (date(1970, 1, 2), "D1"),
        (datetime(1970, 1, 1), "n0,0"),
        (timedelta(days=1), "P0,0,86400,0"),
    ],
)
def test_the_text_of_a_value(value: object, text: str) -> None:
    assert text_of(value) == text


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            "x",
            "b",
            "b2",
            "bt",
            "i",
            "i01",
            "i-0",
            "i+1",
            "i1 ",
            "i1.0",
            "i9223372036854775808",
        ),
        *("f", "f0", "f3FF0000000000000", "f3ff00000000000000", "D1,1", "D365241780472"),
        *("t-1", "t86400000000000", "T0", "T0,64801", "n0", "n0,86400000000000", "N0,0,0"),
        *("N0,0,0,1x", "N0,0,0,A B", "N0,0,64801,UTC", "P1,2,3", "P0,0,0,1000000000", "P0,0,0,-1"),
        *("P-9223372036854775808,0,0,0", "l1", "l2:i", "l0:", "l02:i1", "l2:i1x", "l1:l", "l3:é1"),
        *("l-1:i", "l1:é", "i١"),
    ],
)
def test_other_texts_are_of_no_value(text: str) -> None:
    with pytest.raises(ValueError):
        value_of(text)


@pytest.mark.parametrize("value", [None, {}, b"x", [None], [[1]], object()])
def test_what_is_no_value_has_no_text(value: object) -> None:
    with pytest.raises(ValueError):
        text_of(value)


COLUMNS = st.one_of(
    *(
        st.tuples(st.just(kind), st.lists(st.none() | value, max_size=5))
        for kind, value in VALUES.items()
    )
)


def as_language(values: list[PropertyValue]) -> list[str]:
    """Values with their types, as the language has them."""
    return [repr(from_python(value)) for value in values]


@given(COLUMNS, COLUMNS)
def test_beside_any_all_columns_become_any(
    one: tuple[Kind, list[PropertyValue]], other: tuple[Kind, list[PropertyValue]]
) -> None:
    typed, free = column_of(one[1], one[0]), column_of(other[1], other[0]).as_any()
    joined = Column.concat([typed, free])
    assert joined.kind == "any"
    assert list(map(repr, joined.to_list())) == as_language(one[1] + other[1])
    if len(typed):
        rows = np.array([len(typed) - 1])
        patch = overlay(Patch(rows, typed.take(rows)), Patch(rows, column_of(["x"], "any")))
        after = patched(typed, patch)
        assert after.kind == "any"
        assert list(map(repr, after.to_list())) == as_language([*one[1][:-1], "x"])


def test_what_stands_at_a_null_means_nothing() -> None:
    column = Column("any", np.frombuffer(b"?", np.uint8), np.array([0, 1]), np.array([False]))
    assert column.to_list() == [None]


@pytest.mark.parametrize("kind", ["int64", "float64", "string", "date", "int64[]"])
def test_only_a_query_makes_a_property_any(kind: Kind) -> None:
    given = {"x": column_of([True])}
    with pytest.raises(ChangeRefused, match="is none of these"):
        fitted(given, {"x": kind}, lambda name: None, widens=False)
    found = fitted(given, {"x": kind}, lambda name: None, widens=True)["x"]
    assert (found.kind, found.to_list()) == ("any", [True])


def test_values_of_the_same_kind_do_not_widen() -> None:
    kinds: dict[str, Kind] = {"i": "int64", "f": "float64", "none": "float64", "list": "date[]"}
    given = {
        "i": column_of([1]),
        "f": column_of([1]),
        "none": column_of([None]),
        "list": column_of([[]]),
        "new": column_of([None]),
    }
    found = fitted(given, kinds, lambda name: None, widens=True)
    assert {name: column.kind for name, column in found.items()} == {**kinds, "f": "any"}
    assert [column.to_list() for column in found.values()] == [[1], [1], [None], [[]]]


def test_any_takes_all_values_also_from_python() -> None:
    found = fitted({"x": column_of([1.0])}, {"x": "any"}, lambda name: None, widens=False)
    assert (found["x"].kind, repr(found["x"].to_list())) == ("any", "[1.0]")


def test_no_column_makes_itself_any() -> None:
    for values in ([1, "a"], [[1], "a"], [[1, "a"]]):
        with pytest.raises(ImportFailed):
            column_of(cast("list[PropertyValue]", values))


@pytest.mark.parametrize("text", [b"?", b"i01", b"\xff", b"s\xff"])
def test_a_text_of_no_value_is_damage(text: bytes) -> None:
    column = Column("any", np.frombuffer(text, np.uint8), np.array([0, len(text)]))
    store = Store.open(None, create=True)
    with pytest.raises(CorruptStore, match=r"no values|not UTF-8"):
        write_graph(store, GraphTables((VertexTable((), "", np.arange(1), {"x": column}),))).check()
