"""The temporal scenarios of the openCypher TCK, and as much of an interpreter as their queries need.

A query is WITH and RETURN of temporal functions, operators and components on literals; what a scenario stores first
(CREATE) is one map, which a MATCH binds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from gdb.base.values.kinds import Value
from gdb.base.values.temporal import TEMPORAL_TYPES, Temporal
from gdb.base.values.temporal_between import add, divide, multiply, subtract
from gdb.base.values.temporal_clock import clock_at
from gdb.base.values.temporal_components import component
from gdb.functions.library import FUNCTIONS

_TOKEN = re.compile(
    r"\s*(?:(?P<number>\d+(?:\.\d+)?)|'(?P<text>[^']*)'|(?P<name>[A-Za-z_][\w]*)|(?P<sign><=|>=|<>|.))"
)
_CLAUSE = re.compile(r"\b(WITH|MATCH|RETURN|CREATE)\b")
NOW = 1_500_000_000_123_456_789


@dataclass(frozen=True, slots=True)
class Case:
    """One row of examples. setup : what CREATE stored. expected : a row of the result, as texts of literals."""

    name: str
    setup: str
    query: str
    expected: tuple[str, ...]


# ---- the feature files --------------------------------------------------------------------------


def cases(folder: Path) -> Iterator[Case]:
    for path in sorted(folder.glob("*.feature")):
        text = path.read_text(encoding="utf-8")
        for scenario in re.split(r"^\s*Scenario(?: Outline)?: ", text, flags=re.MULTILINE)[1:]:
            yield from _of_scenario(path.stem, scenario)


def _of_scenario(stem: str, text: str) -> Iterator[Case]:
    title, _, body = text.partition("\n")
    body, _, examples = body.partition("Examples:")
    queries = [query.strip() for query in re.findall(r'"""(.*?)"""', body, re.DOTALL)]
    *setup, query = queries
    row = _rows(body)[1]  # the first is of the names; side effects come before a control query
    row = _rows(body.rpartition("Then the result should be")[2])[1]
    table = _rows(examples) or [[], []]
    for number, values in enumerate(table[1:]):
        fill = dict(zip(table[0], values, strict=True))
        yield Case(
            f"{stem}{title.split(']')[0]}]{number}",
            _filled(" ".join(setup), fill),
            _filled(query, fill),
            tuple(_filled(cell, fill) for cell in row),
        )


def _rows(text: str) -> list[list[str]]:
    lines = [line.strip() for line in text.splitlines()]
    return [
        [cell.strip() for cell in line[1:-1].split("|")] for line in lines if line.startswith("|")
    ]


def _filled(text: str, fill: dict[str, str]) -> str:
    for name, value in fill.items():
        text = text.replace(f"<{name}>", value)
    return text


# ---- the interpreter ----------------------------------------------------------------------------


def run(case: Case) -> tuple[Value, ...]:
    """The row that the query returns."""
    with clock_at(NOW):
        stored: dict[str, Value] = {}
        if case.setup:
            (properties,) = re.findall(r"\{.*\}", case.setup, re.DOTALL)
            stored = _map(evaluate(properties, {}))
        variables: dict[str, Value] = {}
        pieces = _CLAUSE.split(case.query)[1:]
        for clause, body in zip(pieces[::2], pieces[1::2], strict=True):
            if clause == "MATCH":
                variables[re.findall(r"\w+", body)[0]] = stored
            else:
                values = _Parser(body, variables).items()
                variables |= {name: value for name, value in values if name}
        return tuple(value for _, value in values)


def literal(text: str) -> Value:
    return evaluate(text, {})


def evaluate(text: str, variables: dict[str, Value]) -> Value:
    return _Parser(text, variables).expression()


def shown(value: Value) -> Value:
    """The value as a result of the TCK writes it: temporal values as texts."""
    if isinstance(value, list):
        return [shown(item) for item in value]
    return str(value) if isinstance(value, TEMPORAL_TYPES) else value


def _map(value: Value) -> dict[str, Value]:
    assert isinstance(value, dict)
    return value


def _temporal(value: Value) -> Temporal:
    assert isinstance(value, TEMPORAL_TYPES)
    return value


@dataclass(slots=True)
class _Parser:
    text: str
    variables: dict[str, Value]
    tokens: list[tuple[str, str]] = field(init=False)

    def __post_init__(self) -> None:
        found = _TOKEN.finditer(self.text.strip())
        self.tokens = [(m.lastgroup or "", m[m.lastgroup or 0]) for m in found]

    def items(self) -> list[tuple[str, Value]]:
        """Expressions with their names, as WITH and RETURN have them."""
        found = []
        while self.tokens:
            value, name = self.expression(), ""
            if self._skip("AS"):
                name = self.tokens.pop(0)[1]
            found.append((name, value))
            assert self._skip(",") or not self.tokens, self.tokens
        return found

    def expression(self) -> Value:
        left = self._sum()
        for sign in ("<=", ">=", "<", ">", "="):
            if self._skip(sign):
                right = self._sum()
                if sign == "=":
                    return left == right
                one, other = _temporal(left), _temporal(right)
                return {
                    "<": one < other,
                    "<=": one <= other,
                    ">": one > other,
                    ">=": one >= other,
                }[sign]
        return left

    def _sum(self) -> Value:
        left = self._product()
        while self.tokens and self.tokens[0] in (("sign", "+"), ("sign", "-")):
            operation = add if self.tokens.pop(0)[1] == "+" else subtract
            left = operation(left, self._product())
        return left

    def _product(self) -> Value:
        left = self._primary()
        while self.tokens and self.tokens[0] in (("sign", "*"), ("sign", "/")):
            operation = multiply if self.tokens.pop(0)[1] == "*" else divide
            left = operation(left, self._primary())
        return left

    def _primary(self) -> Value:
        kind, text = self.tokens.pop(0)
        match kind, text:
            case "number", _:
                return float(text) if "." in text else int(text)
            case "text", _:
                return text
            case "sign", "-":
                value = self._primary()
                assert isinstance(value, int | float)
                return -value
            case "sign", "{":
                return self._entries()
            case "sign", "[":
                return self._until("]")
            case "name", "true" | "false" | "null":
                return {"true": True, "false": False, "null": None}[text]
        assert kind == "name", (kind, text)
        return self._named(text)

    def _named(self, name: str) -> Value:
        if name in self.variables:
            value = self.variables[name]
            while self._skip("."):
                key = self.tokens.pop(0)[1]
                value = value[key] if isinstance(value, dict) else component(_temporal(value), key)
            return value
        while self._skip("."):
            name += "." + self.tokens.pop(0)[1]
        assert self._skip("("), name
        given = self._until(")")
        if name == "toString":
            return str(given[0])
        function = FUNCTIONS[name.lower()]
        assert function.signature.least <= len(given) <= function.signature.most
        return function.apply(*given)

    def _until(self, end: str) -> list[Value]:
        found = []
        while not self._skip(end):
            found.append(self.expression())
            self._skip(",")
        return found

    def _entries(self) -> dict[str, Value]:
        found = {}
        while not self._skip("}"):
            key = self.tokens.pop(0)[1]
            assert self._skip(":")
            found[key] = self.expression()
            self._skip(",")
        return found

    def _skip(self, text: str) -> bool:
        if self.tokens and self.tokens[0][1] == text and self.tokens[0][0] != "text":
            self.tokens.pop(0)
            return True
        return False
