"""What users hand to a transaction and no column can hold: refused, by the parameter's name, the row and the value."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from typing import Any

import numpy as np
import pytest

import gdb
from gdb.api.transaction import Transaction
from gdb.errors import ChangeRefused, TypeProblem
from tests.unit.gdb.api.test_change_columns import content, three_nodes

pa = pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")


@pytest.fixture
def db() -> gdb.Database:
    return three_nodes()


BIG = np.array([1, 2**63 + 5], np.uint64)
PERIODS = pd.Series(pd.period_range("2000", periods=1))
ODD = np.array([0, 1], "m8[ns]")
OUTSIDE = {  # of the years or the durations of a column
    "late": datetime(9999, 12, 31, 23, 59, 59, tzinfo=timezone(timedelta(hours=-5))),
    "early": datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=5))),
    "least": timedelta(microseconds=-(2**63)),
    "longer": timedelta(microseconds=2**63),
}


@pytest.mark.parametrize(
    ("what", "told"),
    [
        (lambda tx: tx.add_nodes("P", BIG), ["The ids:", "9223372036854775813 (row 1)"]),
        (lambda tx: tx.add_nodes("P", pa.array(BIG)), ["The ids:", "9223372036854775813 (row 1)"]),
        (lambda tx: tx.add_nodes("P", [4, 2**70]), ["The ids:", "1180591620717411303424 (row 1)"]),
        (lambda tx: tx.add_nodes("P", [4, 5], {"y": BIG}), ["'y':", "9223372036854775813 (row 1)"]),
        (
            lambda tx: tx.add_nodes("P", pl.DataFrame({"id": [4, 5], "y": BIG})),
            ["column 'y':", "9223372036854775813 (row 1)"],
        ),
        (
            lambda tx: tx.add_nodes("P", [4, 5], {"y": ODD}),
            ["'y':", "1 nanoseconds (row 1) cannot be stored as duration"],
        ),
        (
            lambda tx: tx.add_nodes("P", [4, 5], {"y": list(ODD)}),
            ["'y':", "1 nanoseconds (row 1) cannot be stored as duration"],
        ),
        (
            lambda tx: tx.add_nodes("P", [4], {"y": [pd.Timestamp(1)]}),
            ["'y':", "1970-01-01 00:00:00.000000001 (row 0)"],
        ),
        (
            lambda tx: tx.add_nodes("P", [4], {"y": [pd.Timedelta(1)]}),
            ["'y':", "microsecond", "row 0"],
        ),
        (
            lambda tx: tx.add_nodes("P", [4], {"y": [np.timedelta64(1, "Y")]}),
            ["'y': the value 1 years (row 0) is a duration without a fixed unit"],
        ),
        (
            lambda tx: tx.add_nodes("P", [4, 5], {"y": [1, "b"]}),
            ["'y':", "the value 'b' (row 1) is none of the integers before it"],
        ),
        (
            lambda tx: tx.add_nodes("P", [4, 5], {"y": [[1], 2]}),
            ["'y':", "the value 2 (row 1) is no"],
        ),
        (
            lambda tx: tx.add_nodes("P", [4, 5], {"y": [[1], [None]]}),
            ["'y':", "the value [None] (row 1)"],
        ),
        (
            lambda tx: tx.add_nodes("P", [4], {"y": [[0.5, 2**53 + 1]]}),
            ["'y':", "9007199254740993", "(row 0)"],
        ),
        (
            lambda tx: tx.add_nodes("P", [4, 5], {"y": [0, 2**64]}),
            ["'y':", "18446744073709551616 (row 1)"],
        ),
        (
            lambda tx: tx.add_nodes("P", [4, 5], {"y": [1, object]}),
            ["'y':", "type", "the value <class 'object'> (row 1)"],
        ),
        (
            lambda tx: tx.add_nodes("P", [4, 5], {"y": ["a", "\ud800"]}),
            ["the value '\\ud800' (row 1)"],
        ),
        (lambda tx: tx.add_nodes("P", [4], {"y": np.array([1j])}), ["'y':", "complex", "row 0"]),
        (lambda tx: tx.add_nodes("P", [4], {"y": np.array(1)}), ["'y':", "0 dimensions"]),
        (lambda tx: tx.add_nodes("P", [4], {"y": pa.table({"a": [1]})}), ["'y':", "a table"]),
        (lambda tx: tx.add_nodes("P", [4], {"y": pa.array([b"a"])}), ["'y':", "binary"]),
        (
            lambda tx: tx.add_nodes("P", [4], {"y": pl.Series([1], dtype=pl.Int128)}),
            ["'y': the type _pli128"],
        ),
        (
            lambda tx: tx.add_nodes("P", [4], {"y": PERIODS}),
            ["'y': periods of pandas", "to_timestamp"],
        ),
        (
            lambda tx: tx.add_nodes("P", [4], {"y": pl.Series([1, 2])}),
            ["'y' has 2 values for 1 rows"],
        ),
        (lambda tx: tx.add_nodes("P", pl.Series([4, None])), ["The ids:", "in row 1 is empty"]),
        (
            lambda tx: tx.add_nodes("P", [4, "b"]),
            ["The ids:", "the value 'b' (row 1) is none of the integers before it"],
        ),
        (
            lambda tx: tx.add_nodes("P", pa.table({"id": [4], "x:string": [1]})),
            ["'x:string': is declared string"],
        ),
        (
            lambda tx: tx.add_nodes("P", pa.table({"id": [4], "x:any": ["?"]})),
            ["'x:any': is declared any", "row 0"],
        ),
        (
            lambda tx: tx.add_nodes("P", pa.table({"id": [4], "x:blob": ["?"]})),
            ["Table:", "type blob"],
        ),
        (
            lambda tx: tx.add_nodes("P", pa.table({"id": [4], "": [1]})),
            ["Table: has a column without a name"],
        ),
        (
            lambda tx: tx.add_nodes("P", pa.table({"x": [1], ":START_ID": [4]})),
            ["Table:", "role START_ID"],
        ),
        (lambda tx: tx.add_nodes("P", pa.table({})), ["Table: has no column"]),
        (
            lambda tx: tx.add_nodes("P", pa.table([[1], [2]], ["id", "id"])),
            ["Table:", "'id' twice"],
        ),
        (
            lambda tx: tx.set_nodes(np.array([1, 9]), {"x": [0, 0]}),
            ["no node with the id 9 (row 1)"],
        ),
        (
            lambda tx: tx.set_nodes([1], {"x": pl.Series(["a"])}),
            ["'x' holds integers", "'a' (row 0)"],
        ),
        (
            lambda tx: tx.set_nodes(pl.DataFrame({"id": [1, 2], "x": ["a", "b"]})),
            ["'x' holds integers"],
        ),
        (lambda tx: tx.set_labels(pl.Series([1, 9]), add="Z"), ["no node with the id 9 (row 1)"]),
        (lambda tx: tx.remove_nodes(pd.Series(["a"])), ["no node with the id 'a' (row 0)"]),
        (lambda tx: tx.add_relationships("R", [1], pd.Series([None])), ["The ends:"]),
        (lambda tx: tx.add_relationships("R", [1], BIG), ["The ends:", "row 1"]),
        (lambda tx: tx.add_relationships("R", pl.DataFrame({"a": [1]})), ["START_ID, END_ID"]),
        (
            lambda tx: tx.set_relationships("R", pl.DataFrame({"a": [1], "b": [2]})),
            [":START_ID and :END_ID"],
        ),
        (
            lambda tx: tx.remove_relationships("R", [1], pl.DataFrame({"b": [2]})),
            ["The ends: a table"],
        ),
    ],
)
def test_refusals_name_the_parameter_the_row_and_the_value(
    db: gdb.Database, what: Callable[[Transaction], object], told: list[str]
) -> None:
    before = content(db)
    with db.transaction() as tx:
        with pytest.raises(ChangeRefused) as caught:
            what(tx)
        assert content(tx) == before
    for part in told:
        assert part in str(caught.value)
    assert ".." not in str(caught.value)


@pytest.mark.parametrize(
    ("what", "told"),
    [
        (
            lambda tx: tx.add_nodes("P", [4.5]),
            "The ids are all integers or all strings, not floats",
        ),
        (lambda tx: tx.add_nodes("P", pd.Series([4, None])), "The ids"),
        (lambda tx: tx.add_nodes("P", [True]), "not booleans"),
        (lambda tx: tx.add_nodes("P", "abc"), "the ids: a list or an array is wanted, not str"),
        (lambda tx: tx.add_nodes("P", iter([1])), "is wanted, not list_iterator"),
        (lambda tx: tx.add_nodes("P", [4], {"y": 5}), "'y': a list or an array is wanted, not int"),
        (lambda tx: tx.add_nodes("P", [4], [5]), "properties are a dict"),
        (lambda tx: tx.set_nodes([1]), "unless ids is a table"),
        (lambda tx: tx.set_nodes(pa.table({"id": [1]}), {"x": [1]}), "nothing behind it"),
        (lambda tx: tx.set_nodes(pl.DataFrame({"id": [1]}), pd.DataFrame()), "nothing behind it"),
        (lambda tx: tx.set_relationships("R", [1], [2]), "unless starts is a table"),
        (lambda tx: tx.set_relationships("R", [1]), "ends are a list"),
        (lambda tx: tx.remove_relationships("R", [1]), "ends are a list"),
        (
            lambda tx: tx.add_relationships("R", pl.DataFrame({"source": [0.5], "target": [1]})),
            "'source'",
        ),
    ],
)
def test_wrong_arguments(
    db: gdb.Database, what: Callable[[Transaction], object], told: str
) -> None:
    before = content(db)
    with db.transaction() as tx:
        with pytest.raises((TypeProblem, ChangeRefused), match=r".") as caught:
            what(tx)
        assert content(tx) == before
    assert told.lower() in str(caught.value).lower()


class Broken:
    """A stream that cannot be made."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        raise self.error


class Series(Broken):
    """A column whose library needs another one to make Arrow of it, as pandas does."""

    def __array__(self, dtype: object = None, copy: object = None) -> Any:
        return np.array([4, 5])


class Frame(Series):
    columns = ("id", "x")


def test_what_cannot_be_read_is_told(db: gdb.Database) -> None:
    with db.transaction() as tx:
        with pytest.raises(ChangeRefused, match=r"The ids: .*read as Arrow \(no such luck\)"):
            tx.add_nodes("P", Broken(ValueError("no such luck")))
        for kind in (Broken, Frame):
            with pytest.raises(ChangeRefused, match=r"read as Arrow \(no pyarrow\). Install"):
                tx.add_nodes("P", kind(ImportError("no pyarrow")))
        tx.add_nodes("P", Series(ImportError("no pyarrow")))
        with pytest.raises(ChangeRefused, match="on the device"):
            tx.add_nodes("P", [6], {"x": Device()})
    assert len(content(db)[0]) == 5


class Device:
    def __array__(self, dtype: object = None, copy: object = None) -> Any:
        raise TypeError("it lies on the device")


@pytest.mark.parametrize("value", OUTSIDE.values(), ids=OUTSIDE)
@pytest.mark.parametrize(
    "shape",
    [
        lambda value: [value],
        lambda value: [[value, value]],
        lambda value: np.array([value], object),
    ],
    ids=["alone", "in a list", "in an array"],
)
def test_times_that_are_outside_only_as_they_are_stored(
    db: gdb.Database, shape: Callable[[Any], Any], value: Any
) -> None:
    before = content(db)
    for change in (
        lambda tx: tx.add_nodes("P", [4], {"y": shape(value)}),
        lambda tx: tx.set_nodes([1], {"y": shape(value)}),
        lambda tx: tx.add_relationships("K", [1], [2], {"y": shape(value)}),
    ):
        with pytest.raises(ChangeRefused, match=r"'y'.*\(row 0\)"), db.transaction() as tx:
            change(tx)
    assert content(db) == before
    db.check()
