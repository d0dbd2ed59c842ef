"""Every aggregate, over groups of every type and size."""

from __future__ import annotations

import math
import random

import pytest

from gdb import Database
from gdb.base.values.kinds import Value
from gdb.base.values.temporal_python import to_python
from gdb.functions.library import AGGREGATES
from tests.conformance import corpus
from tests.conformance.ways import Runner, columns, same
from tests.support.effort import PROFILE

CELLS = 1_500
_FEW = PROFILE == "ci"


@pytest.mark.parametrize("distinct", ["", "DISTINCT "])
@pytest.mark.parametrize("name", sorted(AGGREGATES))
def test_aggregates(runner: Runner, name: str, distinct: str) -> None:
    one = AGGREGATES[name]
    more = ", 0.3" if one.signature.least == 2 else ""
    for kind in corpus.KINDS:
        whole = len(corpus.values(kind))
        for last in {0, 1, *range(whole, 0, -max(whole // 3, 2) if _FEW else -2)}:
            _check_aggregate(runner, f"{one.name}({distinct}n.x{more})", name, kind, last)


def _check_aggregate(runner: Runner, text: str, name: str, kind: str, last: int) -> None:
    """Over the first values of a label: none, one, ... all; and over each alone."""
    values = corpus.values(kind)[:last]
    gathering = AGGREGATES[name].over("DISTINCT" in text)
    try:
        for value in values:
            gathering.add(value, *([0.3] if ", 0.3" in text else []))
        meant: Value | Exception = gathering.result()
    except Exception as error:  # the class of a query's error is not that of a value's
        meant = error
    for way, form in (
        ("", "MATCH (n:{}) WHERE n.k < $last RETURN {}"),
        ("WITH", "MATCH (n:{}) WHERE n.k < $last WITH n RETURN {}"),
    ):
        for small in (True, False):
            query = form.format(kind, text)
            if way == "" and not small:
                continue
            found = runner._run(query, {"last": last}, small)
            runner.cells += 1
            if isinstance(meant, Exception):
                if not isinstance(found, Exception):
                    runner._differs(f"{query} {last}", found, meant)
            elif isinstance(found, Exception) or not _alike(found[0][0], to_python(meant), name):
                runner._differs(f"{query} {last}", found, meant)


def _alike(found: object, meant: object, name: str) -> bool:
    if name.startswith(("min", "max", "percentile")) and found == meant == 0.0:
        return type(found) is type(meant)  # 0.0 and -0.0 are equal: either may be the first
    if name == "collect" and isinstance(found, list) and isinstance(meant, list):
        return len(found) == len(meant) and same(sorted(found, key=repr), sorted(meant, key=repr))
    return same(found, meant)


def test_sums_do_not_depend_on_the_order_or_the_way(filled: Database) -> None:
    hard = [0.1] * 10 + [1e16, 1.0, -1e16, 1e-30, 1e300, -1e300, 3.3, 2.0**62, -(2.0**62), 5e-324]
    for numbers in (hard, hard[::-1], sorted(hard)):
        with columns():
            for text in (
                "UNWIND $l AS x RETURN sum(x), avg(x)",
                "UNWIND $l AS x WITH x RETURN sum(x), avg(x)",
            ):
                total = math.fsum(hard)
                assert filled.execute(text, {"l": numbers}).fetchall() == [
                    (total, total / len(hard))
                ]


@pytest.mark.parametrize(
    "numbers",
    [
        [1e200, 2e200, 4e200],
        [1.5e308, -1.2e308, 1.5e308],
        [1.5e308, 1.5e308, 2.0, 0.1],
        [1e-200, 3e-200],
    ],
)
def test_large_and_small_numbers(filled: Database, numbers: list[float]) -> None:
    text = "UNWIND $l AS x WITH x RETURN avg(x), stDev(x), stDevP(x)"
    rows = filled.execute(text, {"l": numbers}).fetchall()
    assert all(value > 0 and math.isfinite(value) for value in rows[0])
    with columns():
        assert filled.execute(text, {"l": numbers}).fetchall() == rows


SPREAD = ("stDev", "stDevP", "percentileCont", "percentileDisc")
_random = random.Random(5)
NUMBERS: dict[str, list[float]] = {
    "floats": [_random.uniform(-1e6, 1e6) for _ in range(700)],
    "close": [1e12 + _random.random() for _ in range(300)],
    "of all sizes": [math.ldexp(_random.random(), _random.randint(-1074, 800)) for _ in range(300)],
    "too large": [1e300, -1.7e308, 1.7e308],
    "tiny": [5e-324, 1e-310, 0.0],
    "integers": [_random.randint(-(10**18), 10**18) for _ in range(300)],
    "one float of two integers": [(1 << 53) + 1, 1 << 53, 7],
    "zeros": [-0.0, -0.0],
    "no numbers": [math.nan, math.inf, -math.inf, 2.0],
}


@pytest.mark.parametrize("distinct", ["", "DISTINCT "])
@pytest.mark.parametrize("name", SPREAD)
@pytest.mark.parametrize("kind", NUMBERS)
def test_spread_is_exact(filled: Database, kind: str, name: str, distinct: str) -> None:
    """Deviations and percentiles in SQL are what Python's definitions give, in every bit."""
    numbers = NUMBERS[kind]
    for fraction in (None,) if name.startswith("stDev") else (0, 1, 0.5, 0.07, 1 / 3):
        gathering = AGGREGATES[name.lower()].over(bool(distinct))
        more: list[Value] = [] if fraction is None else [fraction]
        for number in numbers:
            gathering.add(number, *more)
        text = f"UNWIND $l AS x WITH x RETURN {name}({distinct}x{', $p' if more else ''})"
        with columns():
            given = {"l": numbers} if fraction is None else {"l": numbers, "p": fraction}
            found = filled.execute(text, given)
        assert found.summary.evaluator == "duckdb"
        assert same(found.fetchall()[0][0], gathering.result())


def test_there_are_many(runs: list[Runner]) -> None:
    """Of a run of the whole file; it comes last."""
    print(
        f"{sum(one.cells for one in runs):,} cells, {sum(one.by_columns for one in runs):,} rows of columns"
    )
    assert sum(one.cells for one in runs) > CELLS
