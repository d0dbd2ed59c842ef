"""The ways in which an expression can be evaluated, and what each gives for every value of a label."""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from zlib import crc32

from gdb import Database
from gdb.answer.row import Row
from gdb.base.values.comparison import equal
from gdb.base.values.kinds import Value
from gdb.base.values.temporal_python import from_python, to_python
from gdb.errors import QueryError
from gdb.language.clauses import Return
from gdb.language.parser import parse
from gdb.physical.evaluator.evaluate import Evaluator
from gdb.run import columns_or_rows
from tests.conformance.corpus import values
from tests.support.effort import PROFILE

Key = tuple[int, ...]
_FAILED = object()
_ALL = os.environ.get("GDB_CONFORMANCE") == "all"
_EACH = 1 if _ALL else 4 if PROFILE == "ci" else 2
"""One of so many subjects is tried where not all are."""


@dataclass(frozen=True, slots=True)
class Subject:
    """An expression of n.x, or of n.x and m.x. kinds : the labels of n and m. parameters : of the rest of it."""

    text: str
    kinds: tuple[str, ...]
    parameters: Mapping[str, object]

    @property
    def match(self) -> str:
        return "MATCH " + ", ".join(f"({n}:{k})" for n, k in zip("nm", self.kinds, strict=False))

    @property
    def keys(self) -> str:
        return ", ".join(f"{name}.k" for name, _ in zip("nm", self.kinds, strict=False))


class Definition:
    """What an expression means, by the reference evaluator: a value for each key, or an error's class."""

    def __init__(self, subject: Subject) -> None:
        clause = parse(f"RETURN {subject.text}").parts[0][0]
        assert isinstance(clause, Return)
        given = {name: from_python(value) for name, value in subject.parameters.items()}
        of = Evaluator("RETURN " + subject.text, given).compiled(clause.items[0].expression)
        self.values: dict[Key, Value] = {}
        self.failed: dict[Key, type[QueryError]] = {}
        held = [list(enumerate(values(kind))) for kind in subject.kinds]
        for several in itertools.product(*held):
            key = tuple(k for k, _ in several)
            row: dict[str, Value] = {
                name: {"x": value} for name, (_, value) in zip("nm", several, strict=False)
            }
            try:
                self.values[key] = of(row)
            except QueryError as error:
                self.failed[key] = type(error)


@contextmanager
def columns() -> Iterator[None]:
    """Small graphs are not left to rows."""
    columns_or_rows.WAY = "columns"
    try:
        yield
    finally:
        columns_or_rows.WAY = None


def same(one: object, other: object) -> bool:
    """Whether no query distinguishes the values."""
    if type(one) is not type(other):
        return False
    if isinstance(one, float) and isinstance(other, float):
        if math.isnan(one) or math.isnan(other):
            return math.isnan(one) and math.isnan(other)
        return one == other and math.copysign(1, one) == math.copysign(1, other)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return one == other


class Runner:
    """Runs expressions in every way, and notes what differs. cells : values that were compared, those of `by_columns`
    without Python's evaluator."""

    def __init__(self, db: Database) -> None:
        self.db = db
        self.cells = self.by_columns = self.turn = 0
        self.differing: list[str] = []

    def check(self, subject: Subject, everywhere: bool = True) -> None:
        """Compare the ways with the definition: all of them, or one of those over columns, each in its turn; of such
        subjects every second one, unless GDB_CONFORMANCE is "all". In the profile `ci`: every second subject in all of
        the ways, other types for each expression, and every fourth of the others."""
        self.turn += 1
        if not everywhere and self.turn % _EACH:
            return
        meant = Definition(subject)
        everywhere = everywhere and any(value is not None for value in meant.values.values())
        if _EACH > 2:
            everywhere = everywhere and (crc32(subject.text.encode()) + self.turn) % 2 == 0
        ways = (
            ("", "WITH * ", "rows") if everywhere else ("", "WITH * ")[self.turn // _EACH % 2 :][:1]
        )
        before = self.by_columns
        for way in ways:
            self._returned(subject, meant, way)
        if meant.values and everywhere and (self.by_columns > before or subject.kinds == ("Any",)):
            self._written(subject, meant)
            self._tested(subject, meant)

    # ---- RETURN ----------------------------------------------------------------------------------

    def _returned(self, subject: Subject, meant: Definition, way: str) -> None:
        more = "WITH * " if way == "rows" else way
        if meant.failed:
            text = f"{subject.match} {more}RETURN {subject.text}"
            found = self._run(text, subject.parameters, way != "rows")
            if not isinstance(found, QueryError) or type(found) not in meant.failed.values():
                self._differs(text, found, f"one of {set(meant.failed.values())}")
            self.cells += len(meant.failed)
        good, where = self._good(subject, meant)
        if not meant.values:
            return
        text = f"{subject.match} {where}{more}RETURN {subject.keys}, {subject.text}"
        found = self._run(text, {**subject.parameters, **good}, way != "rows")
        self._compare(text, found, meant.values, len(subject.kinds))

    def _good(self, subject: Subject, meant: Definition) -> tuple[dict[str, object], str]:
        """What leaves out those that fail."""
        if not meant.failed:
            return {}, ""
        if len(subject.kinds) == 1:
            return {"good": [k for (k,) in meant.values]}, "WHERE n.k IN $good "
        return {"good": [a * 100 + b for a, b in meant.values]}, "WHERE n.k * 100 + m.k IN $good "

    def _written(self, subject: Subject, meant: Definition) -> None:
        """In a query that writes."""
        good, where = self._good(subject, meant)
        text = f"{subject.match} {where}SET n.t = 1 RETURN {subject.keys}, {subject.text}"
        with self.db.transaction() as changes:
            found = list(changes.execute(text, {**subject.parameters, **good}))
            changes.rollback()
        self._compare(text, found, meant.values, len(subject.kinds))

    def _compare(self, text: str, found: object, meant: Mapping[Key, Value], width: int) -> None:
        if isinstance(found, Exception):
            self._differs(text, found, "values")
            return
        assert isinstance(found, list)
        got = {tuple(row[:width]): row[width] for row in found}
        for key, value in meant.items():
            self.cells += 1
            if not same(got.get(key, _FAILED), to_python(value)):
                self._differs(f"{text} of {key}", got.get(key, "no row"), to_python(value))

    # ---- conditions ------------------------------------------------------------------------------

    def _tested(self, subject: Subject, meant: Definition) -> None:
        """As a condition: pushed into candidates, behind WITH, in EXISTS; compared with one of its own values, and
        with null (in the profile `ci` by turns)."""
        good, where = self._good(subject, meant)
        where = where.replace("WHERE ", "") + "AND " if where else ""
        distinct = {repr(value): value for value in meant.values.values() if value is not None}
        wanted: Sequence[tuple[str, Value]] = [("= $value", v) for v in [*distinct.values()][:1]]
        tests = [*wanted, ("IS NULL", None)]
        for test, value in tests if _EACH <= 2 else tests[self.turn % len(tests) :][:1]:
            passing = {
                key: (found is None if value is None else equal(found, value) is True)
                for key, found in meant.values.items()
            }
            expected = sorted(key for key, passes in passing.items() if passes)
            condition = f"{where}({subject.text}) {test}"
            inner = f"EXISTS {{ MATCH (o:One) WHERE {condition} }}"
            for text in (
                f"{subject.match} WHERE {condition} RETURN {subject.keys}",
                f"{subject.match} WITH * WHERE {condition} RETURN {subject.keys}",
                f"{subject.match} WHERE {inner} RETURN {subject.keys}",
            ):
                given = {**subject.parameters, **good, "value": to_python(value)}
                if value is None:
                    del given["value"]
                found = self._run(text, given, True)
                self.cells += len(passing)
                if not isinstance(found, list) or sorted(map(tuple, found)) != expected:
                    self._differs(f"{text} with {given}", found, expected)

    # ---- running ---------------------------------------------------------------------------------

    def _run(
        self, text: str, parameters: Mapping[str, object], over_columns: bool
    ) -> list[Row] | QueryError:
        try:
            if over_columns:
                with columns():
                    found = self.db.execute(text, dict(parameters))
            else:
                found = self.db.execute(text, dict(parameters))
        except QueryError as error:
            return error
        rows = list(found)
        if found.summary.evaluator == "duckdb":
            self.by_columns += len(rows)
        return rows

    def _differs(self, text: str, found: object, meant: object) -> None:
        shown = f"{type(found).__name__}: {found}" if isinstance(found, Exception) else repr(found)
        self.differing.append(
            f"{text[:300]}\n    gives {shown[:200]}\n    means {str(meant)[:200]}"
        )
