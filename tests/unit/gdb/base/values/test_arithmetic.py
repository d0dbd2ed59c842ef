"""+ - * / % ^ of values."""

import math
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gdb.base.values.arithmetic import (
    HIGHEST,
    LOWEST,
    add,
    as_text,
    divide,
    multiply,
    negate,
    power,
    remainder,
    subtract,
)
from gdb.base.values.problems import ValueProblem

OPERATIONS = [add, subtract, multiply, divide, remainder, power]


def same(a, b):
    """Equal and of one type; NaN is the same as NaN."""
    return type(a) is type(b) and (a == b or (a != a and b != b))


@pytest.mark.parametrize(
    ("operation", "a", "b", "expected"),
    [
        (add, 1, 2, 3),
        (add, 1, 2.0, 3.0),
        (add, "a", "b", "ab"),
        (add, "a", 1, "a1"),
        (add, 1.5, "a", "1.5a"),
        (add, [1], [2], [1, 2]),
        (add, [1], 2, [1, 2]),
        (add, "a", [2], ["a", 2]),
        (add, [1], None, None),
        (divide, 7, 2, 3),
        (divide, -7, 2, -3),
        (divide, 7, -2, -3),
        (divide, 7, 2.0, 3.5),
        (divide, 1, 0.0, math.inf),
        (divide, -1, 0.0, -math.inf),
        (divide, 1, -0.0, -math.inf),
        (divide, 0.0, 0, math.nan),
        (remainder, 7, -2, 1),
        (remainder, -7, 2, -1),
        (remainder, 7.5, 2, 1.5),
        (remainder, 1.0, 0, math.nan),
        (remainder, math.inf, 2, math.nan),
        (power, 2, 3, 8.0),
        (power, 4, 0.5, 2.0),
        (power, -8, 1 / 3, math.nan),
        (power, 0, -1, math.inf),
        (power, -10, 999, -math.inf),
        (power, 10, 999, math.inf),
        (multiply, 3, 4, 12),
        (subtract, 3, 4.5, -1.5),
    ],
)
def test_results(operation, a, b, expected):
    assert same(operation(a, b), expected)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_null_makes_null(operation):
    assert operation(None, 1) is None
    assert operation(1, None) is None
    assert operation(None, "a") is None


@pytest.mark.parametrize(
    ("operation", "a", "b"),
    [
        (add, HIGHEST, 1),
        (subtract, LOWEST, 1),
        (multiply, HIGHEST, 2),
        (divide, LOWEST, -1),
        (divide, 1, 0),
        (remainder, 1, 0),
    ],
)
def test_overflow_and_division_by_zero(operation, a, b):
    with pytest.raises(ValueProblem) as caught:
        operation(a, b)
    assert caught.value.kind == "arithmetic"


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize(("a", "b"), [(True, 1), (1, {}), ({}, {}), (True, False)])
def test_types_that_do_not_fit(operation, a, b):
    with pytest.raises(ValueProblem) as caught:
        operation(a, b)
    assert caught.value.kind == "type"


def test_negate():
    assert negate(3) == -3
    assert negate(None) is None
    assert math.copysign(1, cast(float, negate(0.0))) == -1
    with pytest.raises(ValueProblem):
        negate(LOWEST)
    with pytest.raises(ValueProblem):
        negate(True)


@given(st.integers(-100, 100), st.integers(-100, 100).filter(bool))
def test_quotient_and_remainder_make_the_whole(a, b):
    assert divide(a, b) * b + remainder(a, b) == a
    assert abs(cast(float, remainder(a, b))) < abs(b)


@given(st.floats(allow_nan=False))
def test_a_float_as_text_reads_back(number):
    assert float(as_text(number)) == number
