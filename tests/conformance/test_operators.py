"""Every operator, over values of every type and of pairs of types; parameters and constants."""

from __future__ import annotations

import math

import pytest

import gdb
from gdb.base.values.numbers import rounded
from gdb.base.values.temporal_components import PARTS
from tests.conformance import corpus
from tests.conformance.ways import Runner, Subject, columns, same

CELLS = 15_000
_BINARY = (
    *("+", "-", "*", "/", "%", "^", "=", "<>", "<", "<=", ">", ">=", "AND", "OR", "XOR", "IN"),
    *("STARTS WITH", "ENDS WITH", "CONTAINS", "=~"),
)
_UNARY = (
    *("-n.x", "NOT n.x", "n.x IS NULL", "n.x IS NOT NULL", "[n.x, n.x]", "[n.x, null]", "n.x[0]"),
    *("n.x[-1]", "n.x[1..]", "n.x[..-1]", "CASE WHEN n.x IS NULL THEN 1 ELSE 2 END", "n.x.year"),
    *("CASE n.x WHEN 1 THEN 'one' WHEN 'a' THEN 'a' WHEN true THEN 'yes' END", "'a' + n.x"),
    *("[n.x, 2.5]", "coalesce(n.x, 2.5)", "coalesce(n.x, 1/0)", "n.x IN [1, 2.5, null]"),
    *("n.x + 9223372036854775807 > 3", "9223372036854775807 - n.x >= 3", "n.x * 2 < 5"),
    *("n.x IN [9007199254740992, 0.5]", "n.x IN [9007199254740993.0]", "n.x < 2", "n.x >= 0.5"),
    *("n.x = 9007199254740992.0", "n.x <> 9007199254740993", "n.x = 'a'", "n.x STARTS WITH 'a'"),
    *("n.x = date('2024-02-29')", "n.x < localdatetime('2024-02-29T12:31')", "n.x =~ '.*'"),
    *("n.x = duration('PT30H')", "n.x = duration('P1DT6H')", "n.x < duration('P2D')"),
    *("n.x IN [duration('P1DT6H')]", "n.x IN [date('2024-02-29'), 1]", "[x IN n.x | x]"),
    *("n.x =~ 'a.c'", "n.x =~ '(?i)A.*'", "abs(n.x) % 2 = 1", "toUpper(trim(n.x)) = 'A B'"),
)


_UNITS = (
    *("millennium", "century", "decade", "year", "weekYear", "quarter", "month", "week", "day"),
    *("hour", "minute", "second", "millisecond", "microsecond", "age"),
)
_LENGTHS = (
    *("P1D", "PT25H", "PT-1S", "P1M", "P-1Y1D", "P1M-3DT0.000001S", "PT0.000000001S"),
    *("P9998Y", "P3000000D", "P99999999D"),
)
_DISTANCES = (
    *("inDays(n.x, m.x).days", "inSeconds(n.x, m.x)", "inSeconds(n.x, m.x).minutes"),
    *("inMonths(n.x, m.x).years", "inMonths(n.x, m.x).monthsOfYear", "between(n.x, m.x).months"),
    *("between(n.x, m.x).days", "between(n.x, m.x).hours", "between(n.x, m.x).secondsOfMinute"),
    *("inDays(n.x, m.x)", "between(n.x, m.x)", "between(n.x, m.x).microsecondsOfSecond"),
)
_TIMES = (
    *(f"n.x.{field}" for field in sorted(PARTS)),
    *(f"{of}.truncate('{unit}', n.x)" for of in ("date", "localdatetime") for unit in _UNITS),
    *(f"n.x {sign} duration('{length}')" for sign in "+-" for length in _LENGTHS),
    *("duration('P1M1D') + n.x", "n.x + duration({days: 1}) > date('2024-02-29')"),
    *("n.x - duration('P1M') + duration('P1M')", "date(n.x).month", "localtime(n.x).hour"),
    *("date.truncate('month', n.x, {day: 2})", "date.truncate('month', date(n.x)).day"),
    *("date.truncate(null, n.x)", "date(n.x) + duration('P1D') = date('2024-03-01')"),
)
_PAIRED = {"Int", "Float", "String", "Bool", "Date", "Length", "Ints"}
"""The labels that are paired with one another; the others only with themselves."""


@pytest.mark.parametrize("text", _UNARY)
def test_operators_of_one(runner: Runner, text: str) -> None:
    for kind in corpus.KINDS:
        runner.check(Subject(text, (kind,), {}))


@pytest.mark.parametrize("operator", _BINARY)
def test_operators_of_two(runner: Runner, operator: str) -> None:
    for kind in corpus.KINDS:
        for other in corpus.KINDS:
            if kind == other or {kind, other} <= _PAIRED:
                like = kind == other or {kind, other} == {"Int", "Float"}
                runner.check(Subject(f"n.x {operator} m.x", (kind, other), {}), everywhere=like)


@pytest.mark.parametrize("text", _TIMES)
def test_times(runner: Runner, text: str) -> None:
    """Fields, truncation, and arithmetic of what columns hold."""
    for kind in ("Date", "Moment", "Length", "Int", "Any"):
        runner.check(Subject(text, (kind,), {}))


OVER_COLUMNS = (
    *("n.x.year", "n.x.week", "n.x.dayOfWeek", "date(n.x).month", "date.truncate('month', n.x)"),
    *("localdatetime.truncate('weekYear', n.x)", "n.x + duration({days: 1})", "n.x.ordinalDay"),
    *("duration('P1M') + n.x - duration('PT1H')", "duration.inDays(n.x, n.x).days"),
    *("duration.between(localdatetime('2024-02-29T12:31'), n.x).months", "n.x.quarter"),
    "duration.inSeconds(n.x, localdatetime('2024-02-29T12:31'))",
)


@pytest.mark.parametrize("text", OVER_COLUMNS)
@pytest.mark.parametrize("kind", ["Date", "Moment"])
def test_times_have_columns(filled: gdb.Database, text: str, kind: str) -> None:
    with columns():
        found = filled.execute(f"MATCH (n:{kind}) WHERE n.k = 1 RETURN {text}")
    assert found.summary.evaluator == "duckdb"


@pytest.mark.parametrize("text", ["n.x + m.x", "n.x - m.x", *(f"duration.{d}" for d in _DISTANCES)])
def test_times_of_two(runner: Runner, text: str) -> None:
    for kind in ("Date", "Moment", "Length"):
        for other in ("Date", "Moment", "Length"):
            runner.check(Subject(text, (kind, other), {}))


ROUNDED = [
    *(0.0, -0.0, -0.04, 0.15, 0.25, 0.35, -1.25, 2.675, 1.005, 0.049999999999999996, 1e15, 5e-324),
    *(k / 7.0 for k in range(-60, 60)),
    *(k / 100.0 for k in range(-60, 60)),
    *(math.nextafter(k / 100.0 + 0.05, k % 2) for k in range(60)),
    *(1.5**k for k in range(-60, 120)),
]


@pytest.mark.parametrize("digits", [1, 2, 5, 15, 16, -1])
def test_rounded_to_digits(digits: int) -> None:
    """As Python rounds decimal texts, ties and signs of zeros included."""
    with gdb.connect() as db, columns():
        rows = [{"k": k, "x": x} for k, x in enumerate(ROUNDED)]
        db.execute("UNWIND $rows AS row CREATE (:One {k: row.k, x: row.x})", {"rows": rows})
        for text in (str(digits), "$digits"):
            given = {"digits": digits} if "$" in text else {}
            found = db.execute(f"MATCH (n:One) RETURN n.k, round(n.x, {text}) AS x", given)
            assert found.summary.evaluator == "duckdb"
            assert all(same(x, rounded(ROUNDED[k], digits)) for k, x in found)


@pytest.mark.parametrize("kind", corpus.KINDS)
def test_parameters_and_constants(runner: Runner, kind: str) -> None:
    """A value of a parameter is what the property of the same value is."""
    for k, value in enumerate(corpus.CORPUS[kind]):
        for text in (
            "$v",
            "[$v]",
            "n.x = $v",
            "n.x < $v",
            "$v IN [n.x]",
            "n.x IN [$v]",
            "toString($v)",
        ):
            runner.check(Subject(text, (kind,), {"v": value}), everywhere=False)
        assert k < 100


def test_an_integer_here_and_a_float_there() -> None:
    """A key that has two types keeps both, in every way."""
    with gdb.connect() as db:
        db.execute(
            "CREATE (:One {k: 1, v: 9007199254740993}), (:Two {k: 2, v: 2.5}), (:Two {k: 3, v: 4.0})"
        )
        meant = [(1, 9007199254740993), (2, 2.5), (3, 4.0)]
        with columns():
            for more in ("", "WITH n "):
                text = f"MATCH (n:One|Two) {more}RETURN n.k, n.v ORDER BY n.k"
                assert all(map(same, db.execute(text).fetchall(), meant))
                halves = db.execute(
                    f"MATCH (n:One|Two) {more}WHERE n.v / 2 = 2 RETURN n.k"
                ).fetchall()
                assert halves == [(3,)]
                found = db.execute(
                    f"MATCH (n:One|Two) {more}WHERE n.v = 9007199254740992 RETURN n.k"
                )
                assert found.fetchall() == []


def test_there_are_many(runs: list[Runner]) -> None:
    """Of a run of the whole file; it comes last."""
    print(
        f"{sum(one.cells for one in runs):,} cells, {sum(one.by_columns for one in runs):,} rows of columns"
    )
    assert sum(one.cells for one in runs) > CELLS
