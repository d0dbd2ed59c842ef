"""The aggregates: what gathers the values of a group's rows. Null is left out of all of them.

An aggregate is made once for each group; `add` takes the values of a row, `result` is called once.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from fractions import Fraction
from itertools import chain
from typing import TYPE_CHECKING, Protocol

from gdb.base.allowance import here, paced
from gdb.base.values import times
from gdb.base.values.arguments import number
from gdb.base.values.arithmetic import in_range
from gdb.base.values.comparison import Key, group_key, sort_key
from gdb.base.values.naming import refusal
from gdb.base.values.problems import ValueProblem
from gdb.base.values.sizes import Pile
from gdb.base.values.sorting import in_order
from gdb.imports import deferred

if TYPE_CHECKING:
    from gdb.base.values import temporal_between
    from gdb.base.values.kinds import Value
else:
    temporal_between = deferred("gdb.base.values.temporal_between")  # few values are times


KEY = 100
"""Bytes of a value's place in a set."""
_NUMBER = 40  # bytes of one that is kept


class Gathering(Protocol):
    """An aggregate while it gathers. Both methods raise ValueProblem."""

    def add(self, *values: Value) -> None:
        """The values of the arguments in one row; none for count(*)."""
        ...

    def result(self) -> Value:
        """The value of all rows that were added."""


class DistinctValues:
    """An aggregate that each first argument reaches once."""

    def __init__(self, inner: Gathering) -> None:
        self._inner = inner
        self._seen: set[Hashable] = set()
        self._pile = Pile(here(), "DISTINCT values")

    def add(self, *values: Value) -> None:
        """Add a row unless a value equal to its first was added before."""
        key = group_key(values[0])
        if key not in self._seen:
            self._pile.add(values[0], KEY)
            self._seen.add(key)
            self._inner.add(*values)

    def result(self) -> Value:
        """The value of the inner aggregate."""
        return self._inner.result()


class Count:
    """count(x); of count(*) every row."""

    def __init__(self) -> None:
        self._count = 0

    def add(self, *values: Value) -> None:
        """Count a row: each one for count(*), else one whose value is not null."""
        if not values or values[0] is not None:
            self._count += 1

    def result(self) -> Value:
        """The number of rows, 0 for none."""
        return self._count


class Collect:
    """collect(): a list of the values that are not null, in the order in which they come."""

    def __init__(self) -> None:
        self._values: list[Value] = []
        self._pile = Pile(here(), "collect()")

    def add(self, *values: Value) -> None:
        """Append a value that is not null. Raises an error beyond the query's memory."""
        if values[0] is not None:
            self._pile.add(values[0])
            self._values.append(values[0])

    def result(self) -> Value:
        """The list, empty for no values."""
        return self._values


class Extreme:
    """min and max, by the order of ORDER BY."""

    def __init__(self, largest: bool) -> None:
        self._largest = largest
        self._best: Value = None
        self._key: Key | None = None

    def add(self, *values: Value) -> None:
        """Keep the value if it is beyond the one kept so far; of equal ones the first stays."""
        value = values[0]
        if value is None:
            return
        key = sort_key(value)
        if self._key is None or (key > self._key if self._largest else key < self._key):
            self._best, self._key = value, key

    def result(self) -> Value:
        """The value kept, null for no values."""
        return self._best


class Sum:
    """sum: of integers an integer, 0 of nothing, with a float a float; of durations a duration. name : for errors."""

    def __init__(self, name: str = "sum()") -> None:
        self._name = name
        self._whole = 0
        self._floats = Numbers(name)
        self._time: Value = None
        self.count = 0

    def add(self, *values: Value) -> None:
        """Add a number or a duration. ValueProblem for a value of another kind."""
        value = values[0]
        if value is None:
            return
        if times.is_duration(value):
            self._time = value if self._time is None else temporal_between.add(self._time, value)
        elif isinstance(value, float):
            self._floats.append(value)
        elif isinstance(value, int) and not isinstance(value, bool):
            self._whole += value
        else:
            raise refusal(self._name, "numbers and durations", value)
        self.count += 1

    def result(self) -> Value:
        """The sum. ValueProblem where an integer leaves 64 bits, or numbers and durations were mixed."""
        if self._time is not None:
            if self._floats or self._whole:
                message = f"{self._name} does not take numbers and durations together."
                raise ValueProblem("type", message)
            return self._time
        if self._floats:
            return total(self._floats, floats_of(self._whole))
        return in_range(self._whole)  # what happens on the way may be larger

    def mean(self) -> Value:
        """The sum by the number of values; null of none."""
        if self.count == 0:
            return None
        if self._time is not None:
            return temporal_between.divide(self.result(), self.count)
        if self._floats:
            return mean(self._floats, floats_of(self._whole), self.count)
        return float(Fraction(self._whole, self.count))


class Average:
    """avg, always a float (of durations a duration)."""

    def __init__(self) -> None:
        self._sum = Sum("avg()")

    def add(self, *values: Value) -> None:
        """As `Sum.add`."""
        self._sum.add(*values)

    def result(self) -> Value:
        """The mean, null for no values."""
        return self._sum.mean()


class Numbers(list["int | float"]):
    """Numbers that an aggregate keeps; they count while they are appended one by one."""

    def __init__(self, what: str) -> None:
        super().__init__()
        self._pile = Pile(here(), what)

    def append(self, number: float) -> None:
        """Add a number, and account for memory from time to time."""
        if not len(self) & 255:
            self._pile.count(256 * _NUMBER)
        super().append(number)


def total(numbers: Sequence[float], more: Sequence[float] = ()) -> float:
    """The sum, rounded once, so that the order of the numbers is nothing to it; infinity where it grows too large, NaN
    of opposite infinities. more : further numbers.

    Examples
    --------
    >>> total([0.1] * 10), total([1e16, 1.0, -1e16]), total([1e308, 1e308, -1e308])
    (1.0, 1.0, 1e+308)
    """
    every: Iterable[float] = chain(paced(numbers, len(numbers)), more)
    try:
        return math.fsum(every)
    except ValueError:  # both infinities
        return math.nan
    except OverflowError:  # on the way, perhaps not in the end
        pass
    infinite = [number for number in numbers if not math.isfinite(number)]
    if infinite:
        return sum(infinite)
    exact = sum(map(Fraction, chain(paced(numbers, len(numbers)), more)), Fraction())
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


def mean(numbers: Sequence[float], more: Sequence[float], count: int) -> float:
    """The `total` of numbers by their count; also where the sum is too large for a float."""
    found = total(numbers, more)
    if math.isfinite(found) or not all(map(math.isfinite, paced(numbers, len(numbers)))):
        return found / count
    exact = sum(map(Fraction, chain(paced(numbers, len(numbers)), more)), Fraction())
    return float(exact / count)


def floats_of(whole: int, unit: int = 1) -> list[float]:
    """Floats whose exact sum is whole / unit; unit is a power of two."""
    parts: list[float] = []
    while whole:
        parts.append(whole / unit)
        whole -= int(Fraction(parts[-1]) * unit)
    return parts


class Deviation:
    """stDev, of a sample (by n - 1), and stDevP, of a population (by n); 0.0 of fewer than two values."""

    def __init__(self, name: str, less: int) -> None:
        self._name, self._less = name, less
        self._numbers = Numbers(f"{name}()")

    def add(self, *values: Value) -> None:
        """Add a number. ValueProblem for a value of another kind."""
        if values[0] is not None:
            self._numbers.append(number(self._name, values[0], "numbers"))

    def result(self) -> Value:
        """The square root of the sum of squared distances from the mean, over n - 1 or n."""
        numbers, count = self._numbers, len(self._numbers)
        if count < 2:
            return 0.0
        if not all(map(math.isfinite, paced(numbers, count))):
            return math.nan
        # numbers of at most 1, times a power of two: no square leaves the floats, and no bit is lost
        _, exponent = math.frexp(max(map(abs, numbers)))
        scaled = [math.ldexp(number, -exponent) for number in paced(numbers, count)]
        middle = total(scaled) / count
        squares = total([(number - middle) * (number - middle) for number in scaled])
        try:
            return math.ldexp(math.sqrt(squares / (count - self._less)), exponent)
        except OverflowError:  # of -1.7e308 and 1.7e308
            return math.inf


class Percentile:
    """percentileDisc, one of the values, and percentileCont, which lies between two."""

    def __init__(self, name: str, between: bool) -> None:
        self._name, self._between = name, between
        self._numbers = Numbers(f"{name}()")
        self._percentile: float | None = None

    def add(self, *values: Value) -> None:
        """Add a number, and the percentile, 0.0 to 1.0; the first row's is used. ValueProblem for other values."""
        value, percentile = values
        if self._percentile is None:  # the first row's
            self._percentile = self._percentile_of(percentile)
        if value is not None:
            self._numbers.append(number(self._name, value, "numbers"))

    def _percentile_of(self, value: Value) -> float:
        percentile = number(self._name, value, "numbers")
        if 0 <= percentile <= 1:
            return percentile
        raise ValueProblem(
            "argument", f"{self._name}() takes a percentile from 0 to 1, not {value}."
        )

    def result(self) -> Value:
        """The percentile, null for no values; percentileCont interpolates between the two values next to it."""
        if not self._numbers or self._percentile is None:
            return None
        numbers = in_order(self._numbers, sort_key)
        if not self._between:
            return numbers[max(0, math.ceil(self._percentile * len(numbers)) - 1)]
        at = self._percentile * (len(numbers) - 1)
        low, high = numbers[math.floor(at)], numbers[math.ceil(at)]
        return interpolated(low, high, at - math.floor(at))


def interpolated(low: float, high: float, part: float) -> float:
    """What lies between two numbers. part : 0.0 at the first, below 1.0.

    Examples
    --------
    >>> interpolated(1, 3, 0.25), interpolated(7, 9, 0.0)
    (1.5, 7.0)
    """
    if part == 0 or low == high:  # also where both are infinite
        return float(low)
    step = high - low
    return low + step * part if math.isfinite(step) else low * (1 - part) + high * part
