"""All ways mean the same."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import gdb
from gdb import Database
from gdb.functions.function import Function
from gdb.functions.kinds import Kind
from gdb.functions.library import AGGREGATES, FUNCTIONS
from gdb.values.temporal_python import to_python
from tests.conformance import corpus
from tests.conformance.ways import Runner, Subject, columns, same

_LABELS: dict[Kind, tuple[str, ...]] = {
    Kind.INTEGER: ("Int",),
    Kind.FLOAT: ("Float",),
    Kind.STRING: ("String",),
    Kind.BOOLEAN: ("Bool",),
    Kind.LIST: ("Ints", "Strings"),
    Kind.DURATION: ("Length",),
    Kind.TEMPORAL: ("Date", "Moment"),
    Kind.VALUE: ("Int", "Float", "String", "Date", "Ints"),
}
_THIRD: dict[Kind, tuple[object, ...]] = {
    Kind.INTEGER: (0, 2, -1, None),
    Kind.STRING: ("", "a", "half_even", None),
    Kind.MAP: ({"day": 1}, None),
}
_OF_ELEMENTS = (Kind.NODE, Kind.RELATIONSHIP, Kind.PATH)
_CELLS = {"functions": 0, "operators": 0, "aggregates": 0}
"""How many were compared; the last test prints and asserts them."""


@pytest.fixture(scope="module")
def db() -> Iterator[Database]:
    with gdb.connect() as made:
        corpus.fill(made)
        yield made


def finished(runner: Runner, what: str) -> None:
    _CELLS[what] += runner.cells
    assert not runner.differing, f"{len(runner.differing)} differ:\n" + "\n".join(
        runner.differing[:20]
    )


def compared(one: Function) -> bool:
    """Whether its value depends on nothing but values: not on chance, the clock, or elements."""
    parameters = one.signature.parameters
    if (
        one.varies
        or not parameters
        or any(name in one.name for name in ("transaction", "statement", "realtime"))
    ):
        return False
    return not any(kind in _OF_ELEMENTS for kind in parameters[0].takes) and one.name not in (
        "all_different",
        "same",
    )


# ---- functions -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(n for n, one in FUNCTIONS.items() if compared(one)))
def test_functions(db: Database, name: str) -> None:
    runner, one = Runner(db), FUNCTIONS[name]
    if one.least <= 1:
        for kind in corpus.KINDS:
            runner.check(Subject(f"{one.name}(n.x)", (kind,), {}))
    if one.most is None or one.most >= 2:
        second = one.signature.parameters[min(1, len(one.signature.parameters) - 1)]
        others = {label for kind in second.takes for label in _LABELS.get(kind, ("Any",))} | {"Int"}
        first = {
            label
            for kind in one.signature.parameters[0].takes
            for label in _LABELS.get(kind, ("Any",))
        }
        for kind in sorted(first) if one.least <= 2 else ():
            for other in sorted(others):
                text = f"{one.name}(n.x, m.x)"
                runner.check(Subject(text, (kind, other), {}), everywhere=kind == other)
    if one.most is not None and one.most >= 3:
        third = one.signature.parameters[2]
        for given in (value for kind in third.takes for value in _THIRD[kind]):
            for kind in sorted(first):
                for other in sorted(others):
                    text = f"{one.name}(n.x, m.x, $third)"
                    subject = Subject(text, (kind, other), {"third": given})
                    runner.check(subject, everywhere=False)
    finished(runner, "functions")


# ---- operators -----------------------------------------------------------------------------------

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


_PAIRED = {"Int", "Float", "String", "Bool", "Date", "Length", "Ints"}
"""The labels of which each is paired with each; the others only with themselves."""


@pytest.mark.parametrize("text", _UNARY)
def test_operators_of_one(db: Database, text: str) -> None:
    runner = Runner(db)
    for kind in corpus.KINDS:
        runner.check(Subject(text, (kind,), {}))
    finished(runner, "operators")


@pytest.mark.parametrize("operator", _BINARY)
def test_operators_of_two(db: Database, operator: str) -> None:
    runner = Runner(db)
    for kind in corpus.KINDS:
        for other in corpus.KINDS:
            if kind == other or {kind, other} <= _PAIRED:
                like = kind == other or {kind, other} == {"Int", "Float"}
                runner.check(Subject(f"n.x {operator} m.x", (kind, other), {}), everywhere=like)
    finished(runner, "operators")


@pytest.mark.parametrize("kind", corpus.KINDS)
def test_parameters_and_constants(db: Database, kind: str) -> None:
    """A value of a parameter is what the property of the same value is."""
    runner = Runner(db)
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
    finished(runner, "operators")


# ---- aggregates ----------------------------------------------------------------------------------


@pytest.mark.parametrize("distinct", ["", "DISTINCT "])
@pytest.mark.parametrize("name", sorted(AGGREGATES))
def test_aggregates(db: Database, name: str, distinct: str) -> None:
    one = AGGREGATES[name]
    runner = Runner(db)
    more = ", 0.3" if one.signature.least == 2 else ""
    for kind in corpus.KINDS:
        for last in range(0, len(corpus.values(kind)) + 1, 2):
            _check_aggregate(runner, f"{one.name}({distinct}n.x{more})", name, kind, last)
    finished(runner, "aggregates")


def _check_aggregate(runner: Runner, text: str, name: str, kind: str, last: int) -> None:
    """Over the first values of a label: none, one, ... all; and over each alone."""
    values = corpus.values(kind)[:last]
    gathering = AGGREGATES[name].over("DISTINCT" in text)
    try:
        for value in values:
            gathering.add(value, *([0.3] if ", 0.3" in text else []))
        meant = gathering.result()
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
    if name in ("min", "max") and found == meant == 0.0:
        return type(found) is type(meant)  # 0.0 and -0.0 are equal: either may be the first
    if name == "collect" and isinstance(found, list) and isinstance(meant, list):
        return len(found) == len(meant) and same(sorted(found, key=repr), sorted(meant, key=repr))
    return same(found, meant)


def test_sums_do_not_depend_on_the_order_or_the_way(db: Database) -> None:
    hard = [0.1] * 10 + [1e16, 1.0, -1e16, 1e-30, 1e300, -1e300, 3.3, 2.0**62, -(2.0**62), 5e-324]
    for numbers in (hard, hard[::-1], sorted(hard)):
        with columns():
            for text in (
                "UNWIND $l AS x RETURN sum(x), avg(x)",
                "UNWIND $l AS x WITH x RETURN sum(x), avg(x)",
            ):
                import math

                total = math.fsum(hard)
                assert db.execute(text, {"l": numbers}).fetchall() == [(total, total / len(hard))]


def test_there_are_many() -> None:
    """Run last: of a run of this file alone."""
    print({**_CELLS, "all": sum(_CELLS.values())})
    assert sum(_CELLS.values()) > 100_000
