"""A query run clause by clause over rows: the meaning of the language, and the way of all queries that are more than a
pattern and its relational tail.

Rows are dicts of variables. They go from clause to clause in batches (`gdb.rows.batches`); patterns are matched by the
executors for a batch at once, expressions evaluated row by row (`gdb.evaluator`). A clause that writes waits for all
rows before it, and has written when its `Batches` are there.
"""

from __future__ import annotations

import time
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING

from gdb import limits
from gdb.allowance import Allowance, paced
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
from gdb.language.syntax import Expression, PathPattern
from gdb.rows import writing
from gdb.rows.batches import (
    MATCHED,
    ROW,
    Batches,
    Few,
    Parts,
    Replayed,
    expanded,
    gathered,
    held,
    regrouped,
)
from gdb.rows.limiting import stops
from gdb.rows.matching import Matching, Numbered, extensions
from gdb.rows.names import names_after, returned, seen
from gdb.rows.pattern import Pattern, pattern_of, pattern_of_match, visible
from gdb.rows.projecting import Projection
from gdb.rows.projecting import enough as needed
from gdb.rows.subqueries import Prepared
from gdb.values.aggregates import KEY
from gdb.values.comparison import group_key
from gdb.values.sizes import Pile
from gdb.values.temporal_clock import clock_at

if TYPE_CHECKING:
    from gdb.rows.context import Context
    from gdb.values.kinds import Row, Value


FIRST, TIMES_MORE = 256, 8
"""Where LIMIT is to be filled, the embeddings that a MATCH finds at first, and how many times more after that."""


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


def answered(context: Context, query: Query, start: Batches | None = None) -> Answer:
    """Run a query.

    start : the rows that it begins with; None for one row without names.

    Raises
    ------
    GdbError : QueryError with the place, ChangeRefused, Cancelled, QueryTimeout, OutOfBudget, DeviceError.
    """
    runner = Runner(context, query.alone)
    allowance = context.allowance
    context.evaluator = Evaluator(context.text, context.parameters, runner, allowance)
    try:
        with clock_at(time.time_ns()):
            found = runner.query(query, start or Batches((), iter([[{}]])))
            if not isinstance(query.parts[0][-1], Return) and query.alone is None:
                for _ in found.parts:
                    pass  # its last clause is a CALL, or has written; its rows are nobody's
                found = Batches((), iter(()))
            rows = _answer(allowance, found)
        context.graph.flush()
    finally:
        del (
            context.evaluator
        )  # it knows the runner, which knows the context: together they would outlive the query
    return Answer(found.names, rows)


def _answer(allowance: Allowance, found: Batches) -> list[tuple[Value, ...]]:
    """The rows of the result, which count as long as the query runs."""
    pile = Pile(allowance, "the rows of the result")
    level = allowance.made
    rows: list[tuple[Value, ...]] = []
    for part in found.parts:
        some = [tuple([row[name] for name in found.names]) for row in part]
        pile.batch(some, allowance.made - level)
        rows += some
        allowance.tick(len(part))
        allowance.made = level
        limits.check_rows(len(rows))
    return rows


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
        for some in extensions(self.context, self._patterns[key], [row], row):
            for _, found in some:
                yield found

    def rows(self, query: Query, row: Row) -> Iterable[Row]:
        """The rows of a subquery that sees a row; without RETURN, its last rows."""
        row = visible(row)
        found = self.query(query, Batches(tuple(row), iter([[row]])))
        return (one for part in found.parts for one in part)

    # ---- queries -----------------------------------------------------------------------------------

    def query(self, query: Query, start: Batches) -> Batches:
        """The rows of a query that begins with some; of UNION all sides'. What it writes is written when this returns;
        rows are read as they are wanted."""
        if len(query.parts) == 1:
            return self._clauses(query.parts[0], start)
        rows = [row for part in start.parts for row in part]
        changes = writes(query)
        found: Batches | None = None
        for every, clauses in zip((True, *query.all), query.parts, strict=True):
            other = self._clauses(clauses, Batches(start.names, iter([rows])))
            if changes:  # what this side reads, it reads before the next one writes
                other = Batches(other.names, held(self.context.allowance, other.parts))
            if found is not None:
                other = Batches(found.names, chain(found.parts, other.parts))
            found = other if every else Batches(other.names, self._distinct(other))
        assert found is not None
        return found

    def _distinct(self, rows: Batches) -> Parts:
        """The first of equal rows."""
        pile = Pile(self.context.allowance, "the distinct rows of UNION")
        seen: set[Hashable] = set()
        for part in rows.parts:
            kept = []
            for row in part:
                key = tuple(group_key(row[name]) for name in rows.names)
                if key not in seen:
                    pile.several([row[name] for name in rows.names], KEY)
                    seen.add(key)
                    kept.append(row)
            yield kept
        pile.clear()

    def _clauses(self, clauses: Sequence[Clause], start: Batches) -> Batches:
        rows = Batches(start.names, ([dict(row) for row in part] for part in start.parts))
        place, limited = 0, stops(clauses)
        while place < len(clauses):
            last = limited[place]
            if last is None:
                rows = self._clause(clauses[place], rows)
                place += 1
            else:
                rows = self._filled(clauses[place : last + 1], rows)
                place = last + 1
        return rows

    def _filled(self, clauses: Sequence[Clause], start: Batches) -> Batches:
        """The rows of some clauses of which the last has a LIMIT that any rows fill (`gdb.rows.limiting`): each MATCH
        before it finds some embeddings, and more of them as long as that leads to too few rows."""
        *before, last = clauses
        names = start.names
        for clause in before:
            names = names_after(self.context, clause, names, self.alone)
        return self._clause(last, Batches(names, self._some(before, last, start)))

    def _some(self, clauses: Sequence[Clause], last: Clause, start: Batches) -> Parts:
        """As many rows of some clauses as the LIMIT of the one behind them takes."""
        projection = last.projection if isinstance(last, With) else last
        assert isinstance(projection, Return)
        enough = needed(self.context, projection)
        few = Few(max(FIRST, 2 * enough))
        again = Replayed(self.context.allowance, start.parts)
        while True:
            few.cut = False
            rows: list[Row] = []
            for part in self._through(clauses, Batches(start.names, again.again()), few).parts:
                rows += part
                if len(rows) >= enough:
                    break
            if len(rows) >= enough or not few.cut:
                again.clear()
                yield rows[:enough]
                return
            few = Few(few.most * TIMES_MORE)

    def _through(self, clauses: Sequence[Clause], rows: Batches, few: Few) -> Batches:
        for clause in clauses:
            rows = self._clause(clause, rows, few)
        return rows

    def _counted(self, parts: Parts) -> Parts:
        for part in parts:
            self.context.pulse()
            self.context.handled += len(part)
            yield part

    def _clause(self, clause: Clause, rows: Batches, few: Few | None = None) -> Batches:
        """The rows that a clause makes of some. What it writes is written when this returns."""
        names = names_after(self.context, clause, rows.names, self.alone)
        return Batches(
            names, self._parts(clause, Batches(rows.names, self._counted(rows.parts)), few)
        )

    def _parts(self, clause: Clause, rows: Batches, few: Few | None) -> Parts:
        match clause:
            case Match():
                return self._matched(clause, rows, few)
            case Unwind():
                return self._unwind(clause, rows)
            case With(projection=projection, where=where):
                return self._project(projection, where, rows)
            case Return():
                return self._project(clause, None, rows)
            case Finish():
                return iter(())
            case CallSubquery():
                return self._call(clause, rows)
            case Create() | Merge() | Set() | Remove() | Delete() | Foreach():
                return self._write(clause, rows)
            case LoadCsv():
                return self._load(clause, rows)
            case CallProcedure():
                from gdb.rows.calling import called

                return called(self.context, clause, rows.parts, clause is self.alone)
        raise InternalError(f"{type(clause).__name__} cannot be run.")

    # ---- reading -----------------------------------------------------------------------------------

    def _matched(self, clause: Match, rows: Batches, few: Few | None) -> Parts:
        if id(clause) not in self._patterns:
            pattern = pattern_of_match(self.context.text, clause, self.context.mode)
            self._patterns[id(clause)] = pattern
            self._kept.append(clause)
        pattern = self._patterns[id(clause)]
        fresh = [name for name in pattern.names if name not in rows.names]
        allowance = self.context.allowance
        size = MATCHED if few is None else FIRST
        matching = Matching(self.context, pattern, rows.names, few)
        for part in regrouped(allowance, rows.parts, size):
            level = allowance.made
            found = matching.extensions(part)
            numbered = found if not clause.optional else _padded(found, part, fresh)
            for some in numbered:
                allowance.make(ROW * len(some), "rows")
                yield [visible(row) for _, row in some]
                allowance.made = level

    def _unwind(self, clause: Unwind, rows: Batches) -> Parts:
        name = clause.variable.text
        prepared = Prepared(self.context, [clause.list])
        values = self.context.evaluator.unwound(prepared.expressions[0])

        def expand(filled: Row) -> Iterable[Row]:
            found, row = values(filled), visible(filled)
            return ({**row, name: item} for item in found)

        return expanded(self.context.allowance, rows.parts, expand, prepared.fill)

    def _load(self, clause: LoadCsv, rows: Batches) -> Parts:
        from gdb.rows.csv import loaded

        name = clause.variable.text

        def expand(row: Row) -> Iterable[Row]:
            return ({**row, name: line} for line in loaded(self.context, clause, row))

        return expanded(self.context.allowance, rows.parts, expand)

    def _project(self, clause: Return, where: Expression | None, rows: Batches) -> Parts:
        projection = Projection(self.context, clause, rows.names)
        made = projection.made(rows.parts)
        if where is None:
            return ([row for row, _ in part] for part in made)
        return self._satisfying(where, made)

    def _satisfying(self, where: Expression, made: Iterator[list[tuple[Row, Row]]]) -> Parts:
        """The rows that satisfy a condition, which sees what was before them too."""
        prepared = Prepared(self.context, [where])
        test = self.context.evaluator.condition(prepared.expressions[0])
        for part in made:
            both = [{**before, **row} for row, before in part]
            prepared.fill(both)
            answers = map(test, paced(both, len(both)))
            yield [row for (row, _), answer in zip(part, answers, strict=True) if answer is True]

    def _call(self, clause: CallSubquery, rows: Batches) -> Parts:
        """What a subquery finds for each row; where it writes, one row after the other, and all before this is read."""
        query, allowance = clause.query, self.context.allowance
        inner = seen(clause, rows.names)
        brings = returned(self.context, query, inner)
        ends = isinstance(query.parts[0][-1], Return)
        missing: Row = dict.fromkeys(name for name in brings if name not in rows.names)

        def expand(row: Row) -> Iterable[Row]:
            found = self.query(query, Batches(inner, iter([[{name: row[name] for name in inner}]])))
            if not ends:
                return [row]
            return _called(found, row, missing if clause.optional else None)

        if not writes(query):
            return expanded(allowance, rows.parts, expand)
        return held(allowance, expanded(allowance, held(allowance, rows.parts), expand))

    # ---- writing -----------------------------------------------------------------------------------

    def _write(self, clause: Clause, before: Batches) -> Parts:
        """All rows before are made first: they do not see what is written here."""
        context = self.context
        if context.graph.changes is None:
            raise InternalError("a query that writes runs without a transaction.")
        pile = Pile(context.allowance, "the rows before a clause that writes")
        rows = gathered(context.allowance, before.parts, pile)
        match clause:
            case Create():
                rows = writing.create(context, clause, rows)
            case Merge():
                rows = writing.merge(context, clause, rows, before.names)
            case Set(items=items):
                writing.assign(context, items, rows)
            case Remove():
                writing.remove(context, clause, rows)
            case Delete():
                writing.delete(context, clause, rows)
            case Foreach():
                self._foreach(clause, before.names, rows)
        pile.clear()
        return held(context.allowance, [rows])

    def _foreach(self, clause: Foreach, names: tuple[str, ...], rows: list[Row]) -> None:
        values = self.context.evaluator.items(clause.list)
        name = clause.variable.text

        def expand(row: Row) -> Iterable[Row]:
            return ({**row, name: item} for item in values(row) or ())

        parts = expanded(self.context.allowance, iter([rows]), expand)
        inner = self._clauses(clause.clauses, Batches((*names, name), parts))
        for _ in inner.parts:
            pass


def _called(found: Batches, row: Row, missing: Row | None) -> Iterator[Row]:
    """A row with each of those that a subquery found for it. missing : what OPTIONAL puts where there are none."""
    some = False
    for part in found.parts:
        for one in part:
            some = True
            yield {**row, **one}
    if not some and missing is not None:
        yield {**row, **missing}


def _padded(
    found: Iterator[list[Numbered]], rows: Sequence[Row], fresh: Sequence[str]
) -> Iterator[list[Numbered]]:
    """What OPTIONAL MATCH found, with null where it found nothing. Numbers come in ascending order."""
    missing: Row = dict.fromkeys(fresh)
    place = 0  # the first row that is not handed on
    for some in found:
        made: list[Numbered] = []
        for number, row in some:
            if number < place - 1:
                raise InternalError("a pattern was matched in another order than its rows have.")
            while place < number:
                made.append((place, {**rows[place], **missing}))
                place += 1
            made.append((number, row))
            place = number + 1
        yield made
    rest = [(number, {**rows[number], **missing}) for number in range(place, len(rows))]
    if rest:
        yield rest
