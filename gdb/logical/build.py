"""From the clauses of a checked query to operators.

WITH and RETURN are several steps. An item with an aggregate is computed from aggregates and grouping keys, which get
hidden names; ORDER BY and WHERE may repeat the expression of a column, and then mean the column. Names of the rows
before that they use are passed on until then:

    WITH a, count(b) AS n ORDER BY n DESC LIMIT 3 WHERE n > 1
    Aggregate a; count(b)   Project a, n   Sort n DESC   Limit 3   Filter n > 1

The names that a subquery takes from around it (not by the older form, a WITH in front) stay visible behind each of its
WITH, whatever that passes on. So they go through each Project, and come back behind each Aggregate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from gdb.language import clauses, syntax
from gdb.language.aggregation import has_aggregate, is_aggregate
from gdb.language.clauses import Clause, Query, imports_names
from gdb.language.mentioned_names import asks, mentioned
from gdb.language.procedure_signatures import Procedure
from gdb.language.syntax import Expression, Name, brings, rebuilt
from gdb.logical import operators
from gdb.logical.operators import (
    MADE,
    Aggregate,
    Argument,
    Column,
    Names,
    Operator,
    Operators,
    behind,
    follow,
)
from gdb.records import dataclass, replace


def built(query: Query, procedures: Mapping[str, Procedure], start: Names = ()) -> operators.Plan:
    """The operators of a query in which `language.checks.check` found nothing wrong.

    procedures : what CALL finds. start : of a subquery in an expression, the names of the row that it begins with.
    """
    alone = query.alone
    if alone is not None:  # all that the procedure gives is the answer
        query = replace(query, parts=((_resolved(alone, procedures, alone=True),),))
    builder = _OperatorBuilder(procedures)
    sides = tuple(builder.side(side, start, start) for side in query.parts)
    returns = isinstance(query.parts[0][-1], clauses.Return) or alone is not None
    return operators.Plan(query.text, sides, query.all, start, returns)


def _resolved(
    clause: clauses.CallProcedure, procedures: Mapping[str, Procedure], alone: bool = False
) -> clauses.CallProcedure:
    """The CALL with all that its procedure says: the parameters that it takes, the outputs that it brings."""
    signature = procedures[clause.name.text].signature
    place, arguments, yields = clause.place, clause.arguments, clause.yields
    if arguments is None:
        arguments = tuple(syntax.Parameter(field.name, place) for field in signature.arguments)
    if yields is None:
        outputs = signature.outputs if alone or clause.everything else ()
        names = [Name(field.name, place) for field in outputs]
        yields = tuple((name, name) for name in names)
    return replace(clause, arguments=arguments, yields=yields, everything=False)


class _OperatorBuilder:
    def __init__(self, procedures: Mapping[str, Procedure]) -> None:
        self.procedures = procedures
        self.count = 0

    def fresh(self, letter: str) -> str:
        """A name that no user writes."""
        self.count += 1
        return f"{MADE}{letter}{self.count}"

    def side(self, side: Sequence[Clause], names: Names, around: Names) -> Operators:
        """The operators of a side. names : before it. around : those of them that no WITH drops."""
        found: list[Operator] = []
        known = dict.fromkeys(names)
        apart = frozenset(around)  # of `*`: those around that no WITH has made columns of its own
        for clause in side:
            if isinstance(clause, (clauses.With, clauses.Return)):
                projection = _projection(self, clause, tuple(known), around, apart)
                made: Sequence[Operator] = projection.operators()
                apart = frozenset(around) - {column.name for column in projection.columns}
            elif isinstance(clause, clauses.CallSubquery):
                made = [self.apply(clause, tuple(known))]
            elif isinstance(clause, clauses.CallProcedure):
                made = [_resolved(clause, self.procedures)]
            else:
                made = [clause]
            for operator in made:
                follow(operator, known)
                found.append(operator)
        return tuple(found)

    def apply(self, clause: clauses.CallSubquery, names: Names) -> operators.Apply:
        query, imports = clause.query, clause.imports
        if imports is None:  # the first WITH of each side says what it takes
            sees = names if any(imports_names(side[0]) for side in query.parts) else ()
        else:
            several = tuple(name.text for name in imports)
            sees = names if several == ("*",) else several
        sides = []
        for side in query.parts:
            alone = imports is None and sees and not imports_names(side[0])
            nothing = [operators.Project((), clause.place)] if alone else []
            before = () if alone else sees
            sides.append((*nothing, *self.side(side, before, () if imports is None else sees)))
        returns = isinstance(query.parts[0][-1], clauses.Return)
        plan = operators.Plan(query.text, tuple(sides), query.all, sees, returns)
        brings = plan.names if returns else ()
        return operators.Apply(plan, sees, brings, returns, clause.optional, clause.place)


# ---- WITH and RETURN -----------------------------------------------------------------------------


def _projection(
    builder: _OperatorBuilder,
    clause: clauses.With | clauses.Return,
    names: Names,
    around: Names,
    apart: frozenset[str],
) -> _Projection:
    """names : before it. around : those of them that no WITH drops. apart : those of these that `*` does not mean."""
    where = clause.where if isinstance(clause, clauses.With) else None
    one = clause.projection if isinstance(clause, clauses.With) else clause
    every = [name for name in names if name not in apart] if one.everything else []
    columns = [Column(name, syntax.Variable(name, one.place)) for name in every]
    columns += [Column(item.name, item.expression) for item in one.items]
    own = {column.name for column in columns}
    stays = tuple(name for name in around if name not in own)
    return _Projection(
        builder, one, where, names, columns, around, stays if one is not clause else ()
    )


@dataclass(slots=True)
class _Projection:
    """columns : those that are written, or that `*` means. around : the names before it that no WITH drops.
    stays : those of them that are visible behind it without being columns."""

    builder: _OperatorBuilder
    clause: clauses.Return
    where: Expression | None
    names: Names
    columns: list[Column]
    around: Names
    stays: Names

    def operators(self) -> list[Operator]:
        clause, place = self.clause, self.clause.place
        columns = self.columns
        order = list(clause.order)
        where = [] if self.where is None else [self.where]
        # what says a column again means it, but where its names are columns of their own
        shadows = frozenset(c.name for c in columns if not c.passes_on)
        again = {c.expression: c.name for c in reversed(columns)}
        order = [_sorted_by(item, again, shadows) for item in order]
        where = [_renamed(one, again, shadows) for one in where]
        found: list[Operator] = []
        before = self.names
        later = [item.expression for item in order] + where
        aggregated: Operators = ()
        if any(map(has_aggregate, [*(c.expression for c in columns), *later])):
            aggregated, columns, later = self._grouped(columns, later, shadows)
            found += aggregated
            before = behind(aggregated, before)
        order = [
            replace(item, expression=e) for item, e in zip(order, later[: len(order)], strict=True)
        ]
        where = later[len(order) :]
        new = tuple(c.name for c in columns)
        cuts = clause.distinct or order or clause.skip is not None or clause.limit is not None
        if not cuts and not found:
            early = [one for one in where if _same(one, columns)]
            found += [operators.Filter(one, place) for one in early]
            where = [one for one in where if one not in early]
        order, keys = self._keys(order, before, columns)
        grouped = clause.distinct or bool(aggregated)
        needed = _seen([*(i.expression for i in order), *where], grouped=grouped)
        passed = [name for name in before if name in needed and name not in (*new, *self.stays)]
        kept = [Column(name, syntax.Variable(name, place)) for name in passed]
        stays = [Column(name, syntax.Variable(name, place)) for name in self.stays]
        found.append(operators.Project((*columns, *keys, *kept, *stays), place))
        if clause.distinct:
            found.append(operators.Distinct(new, place))
        if order:
            found.append(operators.Sort(tuple(order), place))
        if clause.skip is not None or clause.limit is not None:
            found.append(operators.Limit(clause.skip, clause.limit, place))
        found += [operators.Filter(one, place) for one in where]
        if keys or kept:
            left = [Column(name, syntax.Variable(name, place)) for name in new]
            found.append(operators.Project((*left, *stays), place))
        return found

    def _grouped(
        self, columns: Sequence[Column], others: Sequence[Expression], shadows: frozenset[str]
    ) -> tuple[Operators, list[Column], list[Expression]]:
        """The groups, and what is computed from them: the columns, and the expressions of ORDER BY and WHERE.

        shadows : names that mean something else in these.
        """
        keys: dict[Expression, str] = {}
        calls: dict[syntax.Call, str] = {}
        new = {column.name for column in columns}
        hides = any(map(asks, others))  # a key that is no column is none of the names that they see
        drawn: dict[str, Column] = {}  # keys beside one of the same expression, by their column
        for column in columns:
            if not has_aggregate(column.expression) and column.expression not in keys:
                of = column.expression
                own = of.name if isinstance(of, syntax.Variable) else None
                keys[of] = own if own and (own in new or not hides) else self.builder.fresh("k")
            elif column.expression in keys and _is_drawn(column.expression):
                drawn[column.name] = Column(self.builder.fresh("k"), column.expression)

        def gathered(part: Expression) -> str | None:
            if not is_aggregate(part):
                return None
            if part not in calls:
                calls[part] = self.builder.fresh("a")
            return calls[part]

        made = [
            replace(c, expression=syntax.Variable(drawn[c.name].name, c.expression.place))
            if c.name in drawn
            else replace(c, expression=_renamed(c.expression, keys, frozenset(), gathered))
            for c in columns
        ]
        after = [_renamed(one, keys, shadows, gathered) for one in others]
        needed = {name for column in made for name in mentioned(column.expression)}
        needed |= _seen(after, grouped=True) - new
        rest = (needed & {*self.names}) - {*keys.values(), *self.around}
        needed |= {name for one in after for name in mentioned(one)} - new
        aggregate = Aggregate(
            (*(Column(name, key) for key, name in keys.items()), *drawn.values()),
            tuple(operators.Gathered(name, call) for call, name in calls.items()),
            tuple(name for name in self.names if name in rest),
            self.clause.place,
        )
        grouped = {*keys.values()}
        outer = [n for n in self.around if n not in grouped and (n in needed or n in self.stays)]
        again = [Argument(tuple(outer), self.clause.place)] if outer else []
        return (aggregate, *again), made, after

    def _keys(
        self, order: Sequence[clauses.SortItem], before: Names, new: Sequence[Column]
    ) -> tuple[list[clauses.SortItem], list[Column]]:
        """What rows are sorted by, and columns for what of it the rows before say alone."""
        items: list[clauses.SortItem] = []
        columns: list[Column] = []
        for item in order:
            plain = isinstance(item.expression, syntax.Variable) or self.clause.distinct
            if not plain and mentioned(item.expression) & {*before} and _same(item.expression, new):
                name, place = self.builder.fresh("s"), item.expression.place
                columns.append(Column(name, item.expression))
                item = replace(item, expression=syntax.Variable(name, place))
            items.append(item)
        return items, columns


def _seen(expressions: Iterable[Expression], *, grouped: bool) -> set[str]:
    """The names of the rows before a projection that expressions behind it may mention. grouped : whether it puts rows
    together; then patterns and subqueries see none of these: a name that is no column is a new one in them."""
    if not grouped:
        return {name for one in expressions for name in mentioned(one)}
    found: set[str] = set()
    waiting = [*expressions]
    while waiting:
        part = waiting.pop()
        if isinstance(part, syntax.Variable):
            found.add(part.name)
        elif not isinstance(part, (syntax.Subquery, syntax.PatternComprehension)):
            waiting += syntax.children(part)
    return found


def _is_drawn(expression: Expression) -> bool:
    """Whether each column with an expression has a value of its own."""
    from gdb.language.random_values import is_random  # here: few keys are alike

    return is_random(expression)


def _same(expression: Expression, columns: Iterable[Column]) -> bool:
    """Whether the names that an expression mentions mean before the columns what they mean behind them."""
    names = mentioned(expression)
    return all(column.passes_on for column in columns if column.name in names)


def _sorted_by(
    item: clauses.SortItem, known: Mapping[Expression, str], shadows: frozenset[str]
) -> clauses.SortItem:
    return replace(item, expression=_renamed(item.expression, known, shadows))


def _renamed(
    expression: Expression,
    known: Mapping[Expression, str],
    shadows: frozenset[str],
    gathered: Callable[[Expression], str | None] = lambda _: None,
) -> Expression:
    """The expression with names for the parts that have one.

    shadows : names that mean something else here than in `known`. gathered : the name of an aggregate.
    """

    def replaced(part: Expression) -> Expression | None:
        if isinstance(part, (syntax.Literal, syntax.Parameter)):
            return None
        name = gathered(part)
        if name is None and part in known and not mentioned(part) & shadows:
            name = known[part]
        if name is not None:
            return syntax.Variable(name, part.place)
        own = brings(part) - shadows
        if own:  # in it they mean items of a list, or what a pattern finds
            return _renamed(part, known, shadows | own, gathered)
        return None

    return rebuilt(expression, replaced)
