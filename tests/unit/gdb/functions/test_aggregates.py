"""count, sum, avg, min, max, collect, deviations and percentiles."""

import math

import pytest

from gdb.base.values.arithmetic import HIGHEST
from gdb.base.values.duration import Duration
from gdb.base.values.problems import ValueProblem
from gdb.functions.library import AGGREGATES


def aggregate(name, values, *more, distinct=False):
    gathering = AGGREGATES[name.lower()].over(distinct)
    for value in values:
        gathering.add(value, *more)
    return gathering.result()


@pytest.mark.parametrize(
    ("name", "values", "expected"),
    [
        ("count", [1, None, 1], 2),
        ("collect", [1, None, "a"], [1, "a"]),
        ("collect", [], []),
        ("sum", [], 0),
        ("sum", [1, None, 2], 3),
        ("sum", [1, 0.5], 1.5),
        ("sum", [0.1] * 10, 1.0),
        ("sum", [HIGHEST, 1, -1], HIGHEST),
        ("avg", [], None),
        ("avg", [1, 2], 1.5),
        ("avg", [HIGHEST, HIGHEST], float(HIGHEST)),
        ("min", [None], None),
        ("max", [1, "a", None, [1, 2], 0.2, "b"], 1),
        ("min", [1, "a", None, [1, 2], 0.2, "b"], [1, 2]),
        ("max", [1, 2.0, 5, None, 3.2, 0.1], 5),
        ("min", ["a", "b", "B", None, "abc"], "B"),
        ("stDev", [1], 0.0),
        ("stDev", [2, 4, 4, 4, 5, 5, 7, 9], math.sqrt(32 / 7)),
        ("stDevP", [2, 4, 4, 4, 5, 5, 7, 9], 2.0),
    ],
)
def test_results(name, values, expected):
    found = aggregate(name, values)
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(
    ("name", "percentile", "expected"),
    [
        ("percentileCont", 0.0, 10.0),
        ("percentileCont", 0.5, 20.0),
        ("percentileCont", 0.75, 25.0),
        ("percentileCont", 1.0, 30.0),
        ("percentileDisc", 0.0, 10.0),
        ("percentileDisc", 0.5, 20.0),
        ("percentileDisc", 0.6, 20.0),
        ("percentileDisc", 1.0, 30.0),
    ],
)
def test_percentiles(name, percentile, expected):
    assert aggregate(name, [30.0, None, 10.0, 20.0], percentile) == expected


INF = float("inf")


@pytest.mark.parametrize(
    ("values", "percentile", "expected"),
    [
        ([INF, INF, 1.0], 0.9, INF),
        ([1e308, -1e308], 0.5, 0.0),
        ([1.0, INF], 0.5, INF),
        ([-INF, 1.0], 0.5, -INF),
        ([2**63 - 1, 1], 0.5, 4.611686018427388e18),
    ],
)
def test_percentiles_of_large_numbers(values, percentile, expected):
    assert aggregate("percentileCont", values, percentile) == expected


@pytest.mark.parametrize(
    ("name", "values", "expected"),
    [
        ("stDevP", [1e308, -1e308], 1e308),
        ("stDevP", [2e200, 4e200, 4e200, 4e200, 5e200, 5e200, 7e200, 9e200], 2e200),
        ("stDev", [1e200, 2e200, 3e200], 1e200),
        ("stDevP", [2e-300, 4e-300], 1e-300),
        ("stDev", [1.7e308, 1.7e308], 0.0),
        ("stDev", [1.7e308, -1.7e308], INF),  # 2.4e308
        ("avg", [1.5e308, 1.5e308, 1.5e308], 1.5e308),
        ("avg", [1.5e308, 1.5e308, 3], 1e308),
        ("avg", [1.5e308, INF], INF),
    ],
)
def test_large_and_small_numbers(name, values, expected):
    assert aggregate(name, values) == expected


@pytest.mark.parametrize("percentile", [-1, 1.1, 1000])
def test_a_percentile_beyond_its_bounds(percentile):
    with pytest.raises(ValueProblem) as caught:
        aggregate("percentileCont", [1.0], percentile)
    assert caught.value.kind == "argument"


def test_count_of_rows():
    rows = AGGREGATES["count"].over(distinct=False)
    rows.add()
    rows.add()
    assert rows.result() == 2


def test_distinct():
    assert aggregate("count", [1, 1.0, True, None, None], distinct=True) == 2
    assert aggregate("collect", [None, None, 1, 1.0], distinct=True) == [1]
    assert aggregate("sum", [2, 2.0, 3], distinct=True) == 5


def test_a_sum_that_does_not_fit():
    with pytest.raises(ValueProblem) as caught:
        aggregate("sum", [HIGHEST, 1])
    assert caught.value.kind == "arithmetic"


@pytest.mark.parametrize("name", ["sum", "avg", "stDev"])
def test_numbers_are_wanted(name):
    with pytest.raises(ValueProblem) as caught:
        aggregate(name, [1, True])
    assert caught.value.kind == "type"
    assert caught.value.message.startswith(f"{name}() takes ")


@pytest.mark.parametrize("name", ["sum", "avg"])
def test_numbers_beside_durations(name):
    with pytest.raises(ValueProblem, match=rf"{name}\(\) does not take numbers and durations"):
        aggregate(name, [1, Duration(seconds=1)])
