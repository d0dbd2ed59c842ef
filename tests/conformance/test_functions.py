"""Every function, over values of every type."""

from __future__ import annotations

import pytest

from gdb.functions.function import Function
from gdb.functions.library import FUNCTIONS
from gdb.functions.static_kinds import Kind
from tests.conformance import corpus
from tests.conformance.ways import Runner, Subject

CELLS = 15_000
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
        "ALL_DIFFERENT",
        "SAME",
    )


@pytest.mark.parametrize("name", sorted(n for n, one in FUNCTIONS.items() if compared(one)))
def test_functions(runner: Runner, name: str) -> None:
    one = FUNCTIONS[name]
    if one.signature.least <= 1:
        for kind in corpus.KINDS:
            runner.check(Subject(f"{one.name}(n.x)", (kind,), {}))
    if one.signature.most is None or one.signature.most >= 2:
        second = one.signature.parameters[min(1, len(one.signature.parameters) - 1)]
        others = {label for kind in second.takes for label in _LABELS.get(kind, ("Any",))} | {"Int"}
        first = {
            label
            for kind in one.signature.parameters[0].takes
            for label in _LABELS.get(kind, ("Any",))
        }
        for kind in sorted(first) if one.signature.least <= 2 else ():
            for other in sorted(others):
                text = f"{one.name}(n.x, m.x)"
                runner.check(Subject(text, (kind, other), {}), everywhere=kind == other)
    if one.signature.most is not None and one.signature.most >= 3:
        third = one.signature.parameters[2]
        for given in (value for kind in third.takes for value in _THIRD[kind]):
            for kind in sorted(first):
                for other in sorted(others):
                    text = f"{one.name}(n.x, m.x, $third)"
                    subject = Subject(text, (kind, other), {"third": given})
                    runner.check(subject, everywhere=False)


def test_there_are_many(runs: list[Runner]) -> None:
    """Of a run of the whole file; it comes last."""
    print(
        f"{sum(one.cells for one in runs):,} cells, {sum(one.by_columns for one in runs):,} rows of columns"
    )
    assert sum(one.cells for one in runs) > CELLS
