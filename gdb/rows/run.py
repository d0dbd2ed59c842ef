"""A query run clause by clause over rows: the meaning of the language, and the way of all queries that are more than a
pattern and its relational tail.

Rows are dicts of variables. Patterns are matched by the executors for all rows of a clause at once; expressions are
evaluated row by row (`gdb.evaluator`).
"""

from __future__ import annotations

import time
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gdb.errors import InternalError
from gdb.evaluator import Evaluator
from gdb.language.clauses import (
    WRITING,
    CallProcedure,
    CallSubquery,
    Clause,
    Create,
    Delete,
    Finish,
    Foreach,
    LoadCsv,
    Match,
    Merge,
    Query,
    Remove,
    Return,
    Set,
    Unwind,
    With,
)
from gdb.language.syntax import Expression, NodePattern, PathPattern, RelationshipPattern
from gdb.rows import writing
from gdb.rows.limiting import stops
from gdb.rows.matching import extended, partly_extended
from gdb.rows.pattern import Pattern, pattern_of, visible
from gdb.rows.projecting import enough as needed
from gdb.rows.projecting import projected
from gdb.rows.subqueries import Prepared, compiled
from gdb.values.comparison import group_key
from gdb.values.temporal_clock import clock_at

if TYPE_CHECKING:
    from gdb.rows.context import Context
    from gdb.values.kinds import Row, Value


FIRST, TIMES_MORE = 256, 8
"""Where LIMIT is to be filled, the rows of each clause that are made at first, and how many times more after that."""


@dataclass(slots=True)
class Table:
    """Rows, and the names that each of them has, in the order in which they came."""

    names: tuple[str, ...]
    rows: list[Row]


@dataclass(frozen=True, slots=True)
class Answer:
    """What RETURN gives; no columns where the query ends with a clause that writes."""

    columns: tuple[str, ...]
    rows: list[tuple[Value, ...]]


def writes(query: Query) -> bool:
    """Whether a query changes the graph."""
    return any(_writes(clause) for clauses in query.parts for clause in clauses)


def _writes(clause: Clause) -> bool:
    if isinstance(clause, CallSubquery):
        return writes(clause.query)
    return isinstance(clause, WRITING)


def answered(context: Context, query: Query) -> Answer:
    """Run a query.

    Raises
    ------
    GdbError : QueryError with the place, ChangeRefused, Cancelled, QueryTimeout, OutOfBudget, DeviceError.
    """
    runner = Runner(context, query.alone)
    context.evaluator = Evaluator(context.text, context.parameters, runner)
    try:
        with clock_at(time.time_ns()):
            found = runner.query(query, Table((), [{}]))
        context.graph.flush()
    finally:
        del (
            context.evaluator
        )  # it knows the runner, which knows the context: together they would outlive the query
    if not isinstance(query.parts[0][-1], Return) and query.alone is None:
        return Answer((), [])
    rows = [tuple(row[name] for name in found.names) for row in found.rows]
    return Answer(found.names, rows)


@dataclass(slots=True)
class Runner:
    """Runs clauses; also what expressions ask for patterns and subqueries inside them.

    alone : the CALL that is the whole query, where there is one.
    """

    context: Context
    alone: CallProcedure | None = None
    _patterns: dict[int, Pattern] = field(default_factory=dict)
    _kept: list[object] = field(default_factory=list)  # whose ids are keys

    # ---- what expressions ask ----------------------------------------------------------------------

    def matches(self, pattern: PathPattern, where: Expression | None, row: Row) -> Iterator[Row]:
        """The row extended by every way to match a pattern."""
        key = id(pattern)
        if key not in self._patterns:
            self._patterns[key] = pattern_of(self.context.text, [pattern], where, self.context.mode)
            self._kept.append(pattern)
        row = visible(row)  # its anonymous parts are not those of a pattern around it
        for _, found in extended(self.context, self._patterns[key], [row], row):
            yield found

    def rows(self, query: Query, row: Row) -> Iterable[Row]:
        """The rows of a subquery that sees a row; without RETURN, its last rows."""
        row = visible(row)
        return self.query(query, Table(tuple(row), [row])).rows

    # ---- queries -----------------------------------------------------------------------------------

    def query(self, query: Query, start: Table) -> Table:
        """The rows of a query that begins with some; of UNION all sides'."""
        found = self._clauses(query.parts[0], start)
        for every, clauses in zip(query.all, query.parts[1:], strict=True):
            other = self._clauses(clauses, start)
            found = Table(found.names, found.rows + other.rows)
            if not every:
                found = Table(found.names, _distinct(found))
        return found

    def _clauses(self, clauses: Sequence[Clause], start: Table) -> Table:
        table = Table(start.names, [dict(row) for row in start.rows])
        place, limits = 0, stops(clauses)
        while place < len(clauses):
            last = limits[place]
            if last is None:
                table = self._clause(clauses[place], table)
                place += 1
            else:
                table = self._filled(clauses[place : last + 1], table)
                place = last + 1
        return table

    def _filled(self, clauses: Sequence[Clause], start: Table) -> Table:
        """The rows of some clauses of which the last has a LIMIT that any rows fill (`gdb.rows.limiting`): the others
        run over the first rows that there are, and over more of them as long as that leads to too few."""
        last = clauses[-1]
        projection = last.projection if isinstance(last, With) else last
        assert isinstance(projection, Return)
        enough = needed(self.context, projection)
        most = max(FIRST, 2 * enough)
        while True:
            whole = len(start.rows) <= most
            table = Table(start.names, [dict(row) for row in start.rows[:most]])
            for clause in clauses[:-1]:
                table, every = self._some(clause, table, most)
                whole = whole and every
            if whole or len(table.rows) >= enough:
                return self._clause(last, Table(table.names, table.rows[:enough]))
            most *= TIMES_MORE

    def _some(self, clause: Clause, table: Table, most: int) -> tuple[Table, bool]:
        """Some `most` rows of a clause, and whether these are all."""
        if not isinstance(clause, Match) or clause.optional:
            found = self._clause(clause, table)
            return Table(found.names, found.rows[:most]), len(found.rows) <= most
        self._begin(table)
        pattern, names = self._pattern_of(clause, table)
        context = self.context
        some, whole = partly_extended(context, pattern, table.rows, table.names, most)
        return Table(names, [visible(row) for _, row in some]), whole

    def _begin(self, table: Table) -> None:
        self.context.pulse()
        self.context.handled += len(table.rows)

    def _clause(self, clause: Clause, table: Table) -> Table:
        self._begin(table)
        match clause:
            case Match():
                return self._match(clause, table)
            case Unwind():
                return self._unwind(clause, table)
            case With(projection=projection, where=where):
                return self._project(projection, where, table)
            case Return():
                return self._project(clause, None, table)
            case Finish():
                return Table((), [])
            case CallSubquery():
                return self._call(clause, table)
            case Create() | Merge() | Set() | Remove() | Delete() | Foreach():
                return self._write(clause, table)
            case LoadCsv():
                from gdb.rows.csv import loaded

                rows = [
                    {**row, clause.variable.text: line}
                    for row in table.rows
                    for line in loaded(self.context, clause, row)
                ]
                return Table((*table.names, clause.variable.text), rows)
            case CallProcedure():
                from gdb.rows.calling import called

                names, rows = called(self.context, clause, table.rows, clause is self.alone)
                return Table((*table.names, *names), rows)
        raise InternalError(f"{type(clause).__name__} cannot be run.")

    # ---- reading -----------------------------------------------------------------------------------

    def _pattern_of(self, clause: Match, table: Table) -> tuple[Pattern, tuple[str, ...]]:
        """The pattern of a clause, and the names that its rows have."""
        mode = clause.mode or self.context.mode
        pattern = pattern_of(self.context.text, clause.patterns, clause.where, mode)
        fresh = (name for name in pattern.names if name not in table.names)
        return pattern, (*table.names, *fresh)

    def _match(self, clause: Match, table: Table) -> Table:
        pattern, names = self._pattern_of(clause, table)
        fresh = names[len(table.names) :]
        found = extended(self.context, pattern, table.rows, table.names)
        if not clause.optional:
            return Table(names, [visible(row) for _, row in found])
        rows: list[Row] = []
        place = 0
        found.sort(key=lambda one: one[0])
        for number, row in enumerate(table.rows):
            before = place
            while place < len(found) and found[place][0] == number:
                rows.append(visible(found[place][1]))
                place += 1
            if place == before:
                rows.append({**row, **dict.fromkeys(fresh)})
        return Table(names, rows)

    def _unwind(self, clause: Unwind, table: Table) -> Table:
        prepared, (values,) = compiled(self.context, [clause.list])
        prepared.fill(table.rows)
        name = clause.variable.text
        rows: list[Row] = []
        for filled in table.rows:
            found, row = values(filled), visible(filled)
            items = found if isinstance(found, list) else [] if found is None else [found]
            rows += [{**row, name: item} for item in items]
        return Table((*(n for n in table.names if n != name), name), rows)

    def _project(self, clause: Return, where: Expression | None, table: Table) -> Table:
        found = projected(self.context, clause, table.names, table.rows)
        if where is None:
            return Table(found.names, [row for row, _ in found.rows])
        prepared = Prepared(self.context, [where])
        test = self.context.evaluator.condition(prepared.expressions[0])
        both = [{**before, **row} for row, before in found.rows]
        prepared.fill(both)
        kept = [row for (row, _), seen in zip(found.rows, both, strict=True) if test(seen) is True]
        return Table(found.names, kept)

    def _call(self, clause: CallSubquery, table: Table) -> Table:
        imports = clause.imports
        seen: tuple[str, ...] = tuple(name.text for name in imports or ())
        if imports is None or seen == ("*",):
            seen = table.names
        rows: list[Row] = []
        fresh: tuple[str, ...] = ()
        ends = isinstance(clause.query.parts[0][-1], Return)
        for row in table.rows:
            inner = self.query(clause.query, Table(seen, [{name: row[name] for name in seen}]))
            if not ends:
                rows.append(row)
                continue
            fresh = tuple(name for name in inner.names if name not in table.names)
            rows += [{**row, **one} for one in inner.rows]
            if clause.optional and not inner.rows:
                rows.append({**row, **dict.fromkeys(fresh)})
        return Table((*table.names, *fresh), rows)

    # ---- writing -----------------------------------------------------------------------------------

    def _write(self, clause: Clause, table: Table) -> Table:
        if self.context.graph.changes is None:
            raise InternalError("a query that writes runs without a transaction.")
        match clause:
            case Create():
                rows = writing.create(self.context, clause, table.rows)
                named = [name for p in clause.patterns for name in _names_of(p)]
                return Table(_joined(table.names, named), rows)
            case Merge():
                rows = writing.merge(self.context, clause, table.rows, table.names)
                return Table(_joined(table.names, _names_of(clause.pattern)), rows)
            case Set(items=items):
                writing.assign(self.context, items, table.rows)
            case Remove():
                writing.remove(self.context, clause, table.rows)
            case Delete():
                writing.delete(self.context, clause, table.rows)
            case Foreach():
                self._foreach(clause, table)
        return table

    def _foreach(self, clause: Foreach, table: Table) -> None:
        values = self.context.evaluator.compiled(clause.list)
        name = clause.variable.text
        rows: list[Row] = []
        for row in table.rows:
            found = values(row)
            for item in found if isinstance(found, list) else []:
                rows.append({**row, name: item})
        self._clauses(clause.clauses, Table((*table.names, name), rows))


def _names_of(pattern: PathPattern) -> list[str]:
    parts: tuple[NodePattern | RelationshipPattern, ...]
    parts = (*pattern.nodes, *pattern.relationships)
    named = [part.variable.text for part in parts if part.variable is not None]
    return named if pattern.name is None else [*named, pattern.name.text]


def _joined(names: Sequence[str], more: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*names, *more)))


def _distinct(table: Table) -> list[Row]:
    """The first of equal rows."""
    seen: set[Hashable] = set()
    kept = []
    for row in table.rows:
        key = tuple(group_key(row[name]) for name in table.names)
        if key not in seen:
            seen.add(key)
            kept.append(row)
    return kept
