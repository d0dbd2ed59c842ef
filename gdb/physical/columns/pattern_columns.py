"""Patterns and queries inside expressions: pattern predicates, EXISTS { }, COUNT { } and COLLECT { } become columns of
the relation.

Patterns are matched for all rows at once, and counted for each row; so are queries of other kinds, as in CALL { }.
"""

from __future__ import annotations

from collections.abc import Sequence

from gdb.base.sql import (
    aliased,
    call,
    cast,
    column_of,
    counted,
    equal,
    exp,
    is_there,
    joined,
    left_joined,
    select,
    value_of,
)
from gdb.functions.sql_pieces import or_nothing
from gdb.functions.types import BOOLEAN, INTEGER, Typed
from gdb.language import syntax
from gdb.language.aggregation import has_aggregate
from gdb.language.clauses import Match, Query, Return, ReturnItem
from gdb.language.hidden_names import HIDDEN, is_hidden
from gdb.language.mentioned_names import asks, of_pattern, of_query
from gdb.language.syntax import Expression, rebuilt
from gdb.logical.merge_matches import one_pattern
from gdb.logical.needed_properties import Demand
from gdb.physical.columns.expression_translation import ChainTranslator
from gdb.physical.columns.looked_columns import Joined, RelationColumns, looked_up
from gdb.physical.columns.paths import read_pattern
from gdb.physical.columns.relation import Builder, Held, Per, Relation, select_columns
from gdb.physical.columns.steps import Found
from gdb.physical.rows.component import ComponentRun
from gdb.physical.rows.pattern import Condition
from gdb.records import replace

_NO_ERRORS = syntax.Literal, syntax.Variable, syntax.Property
"""Expressions without an error: a list of their values need not be made to be counted."""


class PatternColumns:
    """A relation that gets a column for every pattern in some expressions."""

    def __init__(self, builder: Builder, relation: Relation) -> None:
        self.builder, self.relation = builder, relation

    def answered(self, expressions: Sequence[Expression]) -> list[Expression]:
        """The expressions with names of columns instead of patterns; `relation` has these columns afterwards."""
        return [
            rebuilt(expression, self._replaced) if asks(expression) else expression
            for expression in expressions
        ]

    def filtered(self, conditions: Sequence[Expression], *, own: bool = False) -> Relation:
        """The rows that satisfy some conditions. own : they are of the clause that the rows were matched for."""
        rest = [one for one in conditions if not (own and self._holds(one))]
        if not rest:
            return self.relation
        answered = self.answered(rest)
        relation = self.relation
        columns = RelationColumns(self.builder, relation.names)
        translator = ChainTranslator(self.builder, columns)
        tests = [translator.tested(condition) for condition in answered]
        relation, source = looked_up(self.builder, relation, columns)
        return replace(relation, source=select_columns(relation.columns, source, where=tests))

    def _replaced(self, part: Expression) -> Expression | None:
        match part:
            case syntax.PatternTest(pattern=pattern):
                return self._counted(part, self._matches(part), "EXISTS", of_pattern(pattern))
            case syntax.Subquery(kind=kind, query=query):
                matches = () if kind == "COLLECT" else self._matches(part)
                if not matches:
                    return self._of_query(part)
                return self._counted(part, matches, kind, of_query(query))
            case syntax.PatternComprehension():
                return self._of_query(_collecting(self.builder.text, part))
            case syntax.Call(arguments=(syntax.PatternComprehension(result=result) as listed,)) if (
                part.function.text.lower() == "size" and isinstance(result, _NO_ERRORS)
            ):
                return self._replaced(_counting(self.builder.text, listed))
            case syntax.ListComprehension() | syntax.Quantified() | syntax.Reduce():
                raise self.builder.refuse(part.place, "a pattern inside a comprehension is")
        return None

    def _matches(self, part: syntax.PatternTest | syntax.Subquery) -> tuple[Match, ...]:
        """The patterns that a test or a count is of; none where it is of more than patterns."""
        if isinstance(part, syntax.PatternTest):
            return (Match(None, (part.pattern,), None, place=part.place),)
        clauses = part.query.parts[0]
        if isinstance(clauses[-1], Return) and _plain(clauses[-1]):
            clauses = clauses[:-1]
        clauses = tuple(one_pattern(clauses, self.builder.context.mode))
        matches = tuple(clause for clause in clauses if isinstance(clause, Match))
        if len(part.query.parts) > 1 or len(matches) < len(clauses):
            return ()
        return matches

    def _holds(self, condition: Expression) -> bool:
        """Whether the step whose vertices the rows are lists no vertex that fails a condition."""
        test = isinstance(condition, syntax.PatternTest)
        if not test and not (isinstance(condition, syntax.Subquery) and condition.kind == "EXISTS"):
            return False
        assert isinstance(condition, syntax.PatternTest | syntax.Subquery)
        matches = self._matches(condition)
        if not matches:
            return False
        step = self._at_ends(matches, "EXISTS", self.builder.fresh("q"))
        return step is not None and self._beside(replace(step, number=None, held=True))

    def _beside(self, step: Found) -> bool:
        """Whether a step became a part of the one whose vertices the rows are."""
        (name, *others) = step.bound
        return not others and self.builder.beside(self.relation, name, step)

    def _counted(
        self, part: Expression, matches: Sequence[Match], kind: str, mentioned: frozenset[str]
    ) -> Expression:
        """A new column of the relation: how many matches each row has, or whether it has one."""
        number, hidden = self.builder.fresh("q"), self.relation.hidden
        fast = self._by_ends(matches, kind, number)
        joins = [self._by_number(matches, kind, number, mentioned)] if fast is None else fast
        many = kind == "COUNT"
        value = call("coalesce", number, value_of(0)) if many else is_there(number)
        found = self._with_column(part, joins, Typed(value, INTEGER if many else BOOLEAN))
        self.relation = replace(self.relation, hidden=hidden)
        return found

    def _with_column(
        self, part: Expression, joins: Sequence[Joined], value: Typed
    ) -> syntax.Variable:
        """A new column of the relation, of what is joined with it."""
        relation, column = self.relation, self.builder.fresh("q")
        sql = select_columns(
            [*relation.columns, aliased(value.sql, column)], left_joined(relation.from_, joins)
        )
        name = f" {column}"
        names = {**relation.names, name: Held(column, value.type)}
        self.relation = replace(relation, source=sql, names=names)
        return syntax.Variable(name, part.place)

    def _of_query(self, part: syntax.Subquery) -> syntax.Variable:
        """A new column of the relation: what a query that is more than patterns gives for each row."""
        # here: few expressions have such a query
        from gdb.logical.planning import planned
        from gdb.physical.columns.applied import rows_of_all

        builder, context, kind = self.builder, self.builder.context, part.kind
        hidden = self.relation.hidden
        self.relation, number = builder.numbered(self.relation)
        relation = self.relation.unweighted()
        seen = {name: held for name, held in relation.names.items() if not is_hidden(name)}
        procedures, mode = context.procedures, context.mode
        plan = planned(part.query, procedures, mode, tuple(seen), once=kind == "EXISTS")
        inner = rows_of_all(builder, plan, Per(number, relation.table, seen))
        other, column = builder.fresh("n"), builder.fresh("q")
        if kind == "COLLECT":
            inner = builder.expanded(inner)
            (name,) = plan.names
            columns = RelationColumns(builder, inner.names)
            called = syntax.Name("collect", part.place), (syntax.Variable(name, part.place),)
            translator = ChainTranslator(builder, columns)
            value = translator.listed(syntax.Call(*called, part.place), inner.ways)
            inner, source = looked_up(builder, inner, columns)
        else:
            many = counted() if inner.weight is None else cast(call("sum", inner.weight), "BIGINT")
            value, source = Typed(many, INTEGER), inner.from_
        every = [aliased(number, other), aliased(value.sql, column)]
        rows = select(every, source, group=[column_of(number)])
        joins = [(rows, equal(number, other))]
        if kind == "EXISTS":
            value = Typed(is_there(column), BOOLEAN)
        else:
            nothing = value_of(0) if kind == "COUNT" else or_nothing(value.type)
            value = Typed(call("coalesce", column, nothing), value.type)
        found = self._with_column(part, joins, value)
        self.relation = replace(self.relation, hidden=hidden)
        return found

    def _by_ends(self, matches: Sequence[Match], kind: str, number: str) -> Sequence[Joined] | None:
        """The numbers for each value of what the pattern shares with the rows, where that alone decides; and how to
        join them, nothing where the rows have them already."""
        step = self._at_ends(matches, kind, number)
        if step is None:
            return None
        if step.number is not None and self._beside(step):
            return ()
        self.builder.steps.append(step)
        names, rows = self.relation.names, step.name
        on = [equal(names[name].column, column) for name, column in step.columns.items()]
        if step.number is not None:
            return ((rows, joined(exp.And, on)),)
        by = [column_of(key) for key in step.columns.values()]
        grouped = select([*step.columns.values(), aliased(counted(), number)], rows, group=by)
        return ((grouped, joined(exp.And, on)),)

    def _at_ends(self, matches: Sequence[Match], kind: str, number: str) -> Found | None:
        """The step that counts, or tests for existence, for each value of what the pattern shares with the rows, which
        are a table then; None where that alone does not decide. It has a number where it is for vertices."""
        if len(matches) > 1 or matches[0].optional:
            return None
        builder, names = self.builder, self.relation.names
        pattern = read_pattern(builder, matches[0])
        if pattern.long:
            return None
        (component, *others) = pattern.components()
        own = (*component.vertices, *component.edges)
        shared = [name for name in own if name in names]
        elements = [names[name].element for name in shared]
        reach = {*own, *names}
        conditions = [Condition(c.expression, c.names & reach) for c in pattern.conditions]
        alone = all(c.names <= {*own} and c.names - {*shared} for c in conditions)
        if others or not shared or not alone or any(e is None for e in elements):
            return None
        if any(
            element is not None and (element.kind == "vertex") != (name in pattern.vertices)
            for name, element in zip(shared, elements, strict=True)
        ):
            return None
        run = ComponentRun(builder.context, pattern, component)
        if len(run.pushable(conditions, shared)) < len(conditions):
            return None
        self.relation = relation = builder.as_table(self.relation)
        columns = {name: builder.fresh("x") for name in shared}
        bound = {name: (relation.table, relation.names[name].column) for name in shared}
        keyed = all(name in pattern.vertices for name in shared)
        return Found(
            *(builder.fresh("f"), pattern, component, tuple(conditions), bound, columns),
            once=keyed and kind == "EXISTS",
            number=number if keyed else None,
            what=f"match a pattern at {', '.join(shared)}",
        )

    def _by_number(
        self, matches: Sequence[Match], kind: str, number: str, mentioned: frozenset[str]
    ) -> Joined:
        """The numbers for each row, which is numbered first; and how to join them."""
        builder = self.builder
        numbered, row = builder.numbered(self.relation)
        inner = numbered.only(mentioned).unweighted()
        for k, clause in enumerate(matches):
            live = frozenset[str]() if k == len(matches) - 1 else mentioned
            demand = Demand(live, numbers=True, once=kind == "EXISTS")
            with builder.asking():
                inner = builder.matched(inner, clause, demand)
        other = builder.fresh("n")
        many = counted() if inner.weight is None else cast(call("sum", inner.weight), "BIGINT")
        rows = select(
            [aliased(row, other), aliased(many, number)], inner.from_, group=[column_of(row)]
        )
        self.relation = numbered
        return rows, equal(row, other)


def _collecting(text: str, part: syntax.PatternComprehension) -> syntax.Subquery:
    """[pattern WHERE where | result] as COLLECT { MATCH pattern WHERE where RETURN result }."""
    name = syntax.Name(f"{HIDDEN}item", part.place)
    given = Return(part.place, False, False, (ReturnItem(part.result, name, ""),))
    return syntax.Subquery("COLLECT", Query(text, ((_matching(part), given),)), part.place)


def _counting(text: str, part: syntax.PatternComprehension) -> syntax.Subquery:
    """The size of [pattern WHERE where | result] as COUNT { pattern WHERE where }."""
    return syntax.Subquery("COUNT", Query(text, ((_matching(part),),)), part.place)


def _matching(part: syntax.PatternComprehension) -> Match:
    return Match(None, (part.pattern,), part.where, place=part.place)


def _plain(clause: Return) -> bool:
    """Whether RETURN gives a row for each row."""
    if clause.distinct or clause.skip is not None or clause.limit is not None:
        return False
    return not any(has_aggregate(item.expression) for item in clause.items)
