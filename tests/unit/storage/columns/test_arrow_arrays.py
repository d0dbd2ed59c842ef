"""Arrays of Arrow and NumPy as columns: the values that went in, however they lie, or a refusal with its row."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gdb.storage.columns.arrow_arrays import Arrow
from gdb.storage.columns.model import Column
from gdb.storage.columns.numpy_arrays import Unfit, of_numpy
from gdb.storage.columns.slices import Slice
from tests.support.effort import share

pa = pytest.importorskip("pyarrow")

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
DAYS = st.dates()
INSTANTS = st.datetimes()
SECONDS = INSTANTS.map(lambda value: value.replace(microsecond=0))
LENGTHS = st.integers(-(10**9), 10**9)
TYPES = [
    *(
        (getattr(pa, f"int{n}")(), st.integers(-(1 << n - 1), (1 << n - 1) - 1))
        for n in (8, 16, 32, 64)
    ),
    *((getattr(pa, f"uint{n}")(), st.integers(0, (1 << n) - 1)) for n in (8, 16, 32)),
    (pa.uint64(), st.integers(0, (1 << 63) - 1)),
    (pa.float32(), st.floats(width=32, allow_nan=False)),
    (pa.float64(), st.floats(allow_nan=False)),
    (pa.bool_(), st.booleans()),
    (pa.string(), TEXTS),
    (pa.large_string(), TEXTS),
    (pa.string_view(), TEXTS),
    (pa.dictionary(pa.int8(), pa.string()), st.sampled_from(["a", "ä" * 20, ""])),
    (pa.date32(), DAYS),
    (pa.date64(), DAYS),
    (pa.timestamp("s"), SECONDS),
    (pa.timestamp("us"), INSTANTS),
    (pa.timestamp("us", "Europe/Stockholm"), INSTANTS.map(lambda value: value.replace(tzinfo=UTC))),
    (pa.duration("s"), LENGTHS.map(lambda n: timedelta(seconds=n))),
    (pa.duration("us"), LENGTHS.map(lambda n: timedelta(microseconds=n))),
    (pa.duration("ns"), LENGTHS.map(lambda n: timedelta(microseconds=n))),
    (pa.null(), st.none()),
]


def column_of(array: object) -> Column:
    return Arrow(array).column()  # type: ignore[arg-type]


def plain(value: object) -> object:
    """As gdb stores it: an instant of a zone is that of UTC."""
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.astimezone(UTC).replace(tzinfo=None)
    return value


@st.composite
def arrays(draw: st.DrawFn) -> object:
    """Arrays of any type, also of lists, sliced and in chunks."""
    type_, values = draw(st.sampled_from(TYPES))
    values = st.none() | values
    if draw(st.booleans()) and not pa.types.is_null(type_):
        _, items = next(each for each in TYPES if each[0] is type_)
        make = draw(st.sampled_from([pa.list_, pa.large_list, lambda item: pa.list_(item, 2)]))
        size = 2 if make not in (pa.list_, pa.large_list) else None
        type_ = make(type_)
        values = st.none() | st.lists(items, min_size=size or 0, max_size=size or 3)
    chunks = []
    for _ in range(draw(st.integers(1, 3))):
        chunk = pa.array(draw(st.lists(values, max_size=12)), type_)
        first = draw(st.integers(0, len(chunk)))
        chunks.append(chunk.slice(first, draw(st.integers(0, len(chunk) - first))))
    return chunks[0] if draw(st.booleans()) else pa.chunked_array(chunks)


@given(arrays())
@settings(deadline=None, max_examples=share(300))
def test_the_values_are_those_of_the_array(array: object) -> None:
    expected = [
        [plain(item) for item in value] if isinstance(value, list) else plain(value)
        for value in array.to_pylist()  # type: ignore[attr-defined]
    ]
    found = column_of(array)
    assert found.to_list() == expected
    # what a reader gets of the column, which knows nothing of how it came
    again = column_of(Slice.of(found))
    assert (again.kind, again.to_list()) == (found.kind, expected)


@pytest.mark.parametrize(
    ("array", "row", "reason"),
    [
        (lambda: pa.array([1, 2**63], pa.uint64()), 1, r"2\*\*63 - 1"),
        (lambda: pa.array([0, None, 1001], pa.timestamp("ns")), 2, "cannot be stored as datetime"),
        (lambda: pa.array([0, 1], pa.duration("ns")), 1, "cannot be stored as duration"),
        (lambda: pa.array([2**62], pa.timestamp("s")), 0, "cannot be stored as datetime"),
        (lambda: pa.array([0, 2**62], pa.duration("s")), 1, "cannot be stored as duration"),
        (lambda: pa.array([-(2**63)], pa.timestamp("us")), 0, "cannot be stored as datetime"),
        (lambda: pa.array([0, -(2**63)], pa.duration("us")), 1, "cannot be stored as duration"),
        (lambda: pa.array([2**30], pa.date32()), 0, "cannot be stored as date"),
        (lambda: pa.array([[1], [1, None]], pa.list_(pa.int8())), 1, "holds null"),
        (lambda: pa.array([[], [0, 1]], pa.list_(pa.duration("ns"))), 1, "as duration"),
        (lambda: pa.array([[[1]]]), None, "lists of lists"),
        (lambda: pa.array([1], pa.decimal128(9)), None, "decimal128"),
        (lambda: pa.RunEndEncodedArray.from_arrays([2], [1]), None, "run_end_encoded"),
        (lambda: pa.array([time(1)]), None, "time64"),
        (lambda: pa.array([b"a"]), None, "binary"),
        (lambda: pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int8())), None, "map"),
        (lambda: pa.array([[1]], pa.list_view(pa.int8())), None, "list_view"),
        (lambda: pa.array([b"a", b"\xff"]).view(pa.string()), 1, "not valid UTF-8"),
        (lambda: pa.chunked_array([[0], [0, 9]], pa.duration("ns")), 2, "as duration"),
        (lambda: pa.array([(1, 0, 0)], pa.month_day_nano_interval()), 0, "months"),
    ],
)
def test_what_no_column_holds_is_refused_with_its_row(
    array: Callable[[], object], row: int | None, reason: str
) -> None:
    with pytest.raises(Unfit, match=reason) as caught:
        column_of(array())
    assert caught.value.row == row
    assert caught.value.cure


def test_a_text_that_ends_within_a_character_is_refused() -> None:
    split = pa.StringArray.from_buffers(
        2, pa.py_buffer(np.array([0, 1, 2], "i4")), pa.py_buffer("ä".encode())
    )
    with pytest.raises(Unfit, match="not valid UTF-8"):
        column_of(split)


def test_what_lies_behind_nulls_is_nothing() -> None:
    items = pa.array([1, None, 3, 4])
    lists = pa.ListArray.from_arrays(
        pa.array([0, 1, 3, 4]), items, mask=pa.array([False, True, False])
    )
    assert column_of(lists).to_list() == [[1], None, [4]]
    intervals = pa.array([(0, 2, 3000), None], pa.month_day_nano_interval())
    assert column_of(intervals).to_list() == [timedelta(days=2, microseconds=3), None]


def test_views_lie_in_several_buffers() -> None:
    texts = ["a" * 13, "b", None, "c" * 40, "", "d" * 12]
    both = pa.concat_arrays(
        [pa.array(texts, pa.string_view()), pa.array(texts[::-1], pa.string_view())]
    )
    assert column_of(both[1:]).to_list() == [*texts, *texts[::-1]][1:]


@pytest.mark.parametrize(
    ("array", "kind", "values"),
    [
        (np.array([1, -2], "i1"), "int64", [1, -2]),
        (np.array([1, 2], ">i8"), "int64", [1, 2]),
        (np.array([1, 2**63 - 1], "u8"), "int64", [1, 2**63 - 1]),
        (np.array([0.5, 2.0], "f2"), "float64", [0.5, 2.0]),
        (np.array([0.5, 2.0], "f4"), "float64", [0.5, 2.0]),
        (np.array([True, False]), "bool", [True, False]),
        (np.array(["2000-02-29", "NaT"], "M8[D]"), "date", [date(2000, 2, 29), None]),
        (np.array(["2000-02", "1969"], "M8[M]"), "date", [date(2000, 2, 1), date(1969, 1, 1)]),
        (np.array(["0001", "9999"], "M8[Y]"), "date", [date(1, 1, 1), date(9999, 1, 1)]),
        (np.array(["1970-01-08"], "M8[W]"), "date", [date(1970, 1, 8)]),
        (np.array(["2000-01-01T05"], "M8[h]"), "datetime", [datetime(2000, 1, 1, 5)]),
        (np.array(["2000-01-01T05", "NaT"], ">M8[s]"), "datetime", [datetime(2000, 1, 1, 5), None]),
        (np.array(["2000-01-01"], "M8[ns]"), "datetime", [datetime(2000, 1, 1)]),
        (
            np.array([4], "M8[25us]"),
            "datetime",
            [datetime(1970, 1, 1, microsecond=0) + timedelta(microseconds=100)],
        ),
        (np.array(["NaT"], "M8"), "datetime", [None]),
        (np.array([1, "NaT"], "m8[D]"), "duration", [timedelta(1), None]),
        (np.array([1500], "m8[ms]"), "duration", [timedelta(milliseconds=1500)]),
        (np.array([-3000], "m8[ns]"), "duration", [timedelta(microseconds=-3)]),
        (np.array([[1, 2], [3, 4]]), "int64[]", [[1, 2], [3, 4]]),
        (np.zeros((2, 0)), "float64[]", [[], []]),
        (np.array(["2000-01-01"] * 2, "M8[D]").reshape(1, 2), "date[]", [[date(2000, 1, 1)] * 2]),
        (np.ma.array([1, 2], mask=[False, True]), "int64", [1, None]),
        (np.arange(10)[::-3], "int64", [9, 6, 3, 0]),
    ],
)
def test_arrays_of_numpy(array: np.ndarray, kind: str, values: list[object]) -> None:
    found = of_numpy(array)
    assert (found.kind, found.to_list()) == (kind, values)
    assert not any(np.shares_memory(array, own) for own in found.arrays if own is not None)


@pytest.mark.parametrize(
    ("array", "row"),
    [
        (np.array([0, 2**63], "u8"), 1),
        (np.array([1000, 1001], "M8[ns]"), 1),
        (np.array([0, 1], "m8[ps]"), 1),
        (np.array([0, 2**62], "m8[s]"), 1),
        (np.array([2**40], "M8[s]"), 0),
        (np.array([2**60], "M8[Y]"), 0),
        (np.array([8030], "M8[Y]"), 0),
        (np.array([2**60], "M8[D]"), 0),
        (np.array([1], "m8[M]"), None),
        (np.array([1], "m8"), None),
        (np.array([1], np.longdouble), None),
        (np.zeros((1, 1, 1)), None),
        (np.array([["2000", "NaT"]], "M8[s]"), 0),
        (np.array([[1, 2], [3, 2**63]], "u8"), 1),
    ],
)
def test_arrays_of_numpy_that_are_refused(array: np.ndarray, row: int | None) -> None:
    with pytest.raises(Unfit) as caught:
        of_numpy(array)
    assert caught.value.row == row
    assert caught.value.cure


@given(
    st.sampled_from(["M8", "m8"]),
    st.sampled_from(["W", "D", "h", "m", "s", "ms", "us", "ns", "ps"]),
    st.integers(1, 7),
    st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(-(10**12), 10**12), max_size=5),
)
@settings(deadline=None, max_examples=share(300))
def test_times_of_all_units_are_exact_or_refused(
    what: str, unit: str, many: int, counts: list[int]
) -> None:
    """Against Python's own numbers, which have no bounds."""
    per = {"W": 7 * 864 * 10**14, "D": 864 * 10**14, "h": 36 * 10**14, "m": 6 * 10**13, "s": 10**12}
    per |= {"ms": 10**9, "us": 10**6, "ns": 1000, "ps": 1}
    exact = [None if n == -(2**63) else divmod(n * many * per[unit], 10**6) for n in counts]
    first, last = (datetime(1, 1, 1) - datetime(1970, 1, 1)), (datetime.max - datetime(1970, 1, 1))
    bounds = (
        (first // timedelta(microseconds=1), last // timedelta(microseconds=1))
        if what == "M8"
        else (-(2**63) + 1, 2**63 - 1)
    )
    wrong = [
        row
        for row, pair in enumerate(exact)
        if pair is not None and (pair[1] or not bounds[0] <= pair[0] <= bounds[1])
    ]
    array = np.array(counts, np.int64).view(f"{what}[{many}{unit}]")
    if wrong:
        with pytest.raises(Unfit) as caught:
            of_numpy(array)
        assert caught.value.row == wrong[0]
        return
    found = of_numpy(array)
    per_value = 86_400_000_000 if found.kind == "date" else 1
    numbers = [int(n) * per_value for n in found.values]
    known = [True] * len(counts) if found.valid is None else found.valid.tolist()
    assert [n if ok else None for n, ok in zip(numbers, known, strict=True)] == [
        None if pair is None else pair[0] for pair in exact
    ]
