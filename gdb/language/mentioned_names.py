"""The names that an expression mentions, wherever in it they occur."""

from __future__ import annotations

from collections.abc import Iterator

from gdb.language import clauses, syntax
from gdb.language.clauses import Clause, Query, SetItem
from gdb.language.pattern_syntax import values
from gdb.language.syntax import Expression, PathPattern, RelationshipPattern, walk


def mentioned(expression: Expression) -> frozenset[str]:
    """The names of all variables in an expression, in the patterns and subqueries inside it too. Those that a
    comprehension, a pattern or a subquery introduces are among them: the caller knows which names there are outside."""
    return frozenset(_of_expression(expression))


def of_pattern(pattern: PathPattern) -> frozenset[str]:
    """The names that a pattern mentions, its own among them."""
    return frozenset(_of_pattern(pattern))


def of_query(query: Query) -> frozenset[str]:
    """The names that a query mentions, its own among them."""
    return frozenset(_of_query(query))


def inside_conditions(clause: clauses.Match) -> frozenset[str]:
    """The names in the patterns and subqueries of the conditions of a MATCH, in its WHERE and in its patterns: those
    that are not bound outside are new there."""
    conditions = [*expressions(clause), *(e for p in clause.patterns for e in _conditions(p))]
    asking = (part for e in conditions for part in walk(e) if isinstance(part, _ASKING))
    return frozenset(name for part in asking for name in _of_asking(part))


def asks(expression: Expression) -> bool:
    """Whether an expression contains a pattern or a subquery."""
    return any(isinstance(part, _ASKING) for part in walk(expression))


def inner_expressions(part: Expression) -> Iterator[Expression]:
    """Of a pattern or a subquery in an expression, the expressions inside it that `walk` does not come to."""
    match part:
        case syntax.PatternTest(pattern=pattern) | syntax.PatternComprehension(pattern=pattern):
            yield from conditions_of_pattern(pattern)
        case syntax.Subquery(query=query):
            for side in query.parts:
                for clause in side:
                    yield from all_expressions(clause)


def all_expressions(clause: Clause) -> Iterator[Expression]:
    """The expressions of a clause, in its patterns and in a query inside it too."""
    yield from expressions(clause)
    for pattern in _patterns(clause):
        yield from conditions_of_pattern(pattern)
    match clause:
        case clauses.CallSubquery(query=query):
            for side in query.parts:
                for one in side:
                    yield from all_expressions(one)
        case clauses.Foreach(clauses=inner):
            for one in inner:
                yield from all_expressions(one)


def conditions_of_pattern(pattern: PathPattern) -> Iterator[Expression]:
    """The expressions in the parts of a pattern, those of repeated ones too."""
    yield from _conditions(pattern)
    for part in pattern.relationships:
        if part.repeated is not None:
            yield from conditions_of_pattern(part.repeated)


_Asking = syntax.PatternTest | syntax.PatternComprehension | syntax.Subquery
_ASKING = (syntax.PatternTest, syntax.PatternComprehension, syntax.Subquery)


def _of_expression(expression: Expression) -> Iterator[str]:
    for part in walk(expression):
        if isinstance(part, syntax.Variable):
            yield part.name
        elif isinstance(part, _ASKING):
            yield from _of_asking(part)


def _of_asking(part: _Asking) -> Iterator[str]:
    return _of_query(part.query) if isinstance(part, syntax.Subquery) else _of_pattern(part.pattern)


def _of_pattern(pattern: PathPattern) -> Iterator[str]:
    if pattern.name is not None:
        yield pattern.name.text
    for part in pattern.parts:
        if part.variable is not None:
            yield part.variable.text
        if isinstance(part, RelationshipPattern) and part.repeated is not None:
            yield from _of_pattern(part.repeated)
    for expression in _conditions(pattern):
        yield from _of_expression(expression)


def _conditions(pattern: PathPattern) -> Iterator[Expression]:
    """The expressions in the parts of a pattern, but for those of a repeated one."""
    for part in pattern.parts:
        for expression in (*values(part), part.where, *part.named):
            if expression is not None:
                yield expression


def _of_query(query: Query) -> Iterator[str]:
    for side in query.parts:
        for clause in side:
            yield from of_clause(clause)


def of_clause(clause: Clause) -> Iterator[str]:
    """The names that a clause mentions, in its patterns, expressions and subqueries; a name may come more than once."""
    for pattern in _patterns(clause):
        yield from _of_pattern(pattern)
    for expression in expressions(clause):
        yield from _of_expression(expression)
    match clause:
        case clauses.BulkCreate(nodes=nodes, relationships=relationships):
            yield from (*nodes, *relationships)
        case clauses.CallSubquery(query=query, imports=imports):
            yield from (name.text for name in imports or () if name.text != "*")
            yield from _of_query(query)
        case clauses.Foreach(clauses=inner):
            for one in inner:
                yield from of_clause(one)


def _patterns(clause: Clause) -> tuple[PathPattern, ...]:
    match clause:
        case clauses.Match(patterns=patterns) | clauses.Create(patterns=patterns):
            return patterns
        case clauses.Merge(pattern=pattern):
            return (pattern,)
        case _:
            return ()


def expressions(clause: Clause) -> Iterator[Expression]:
    """The expressions of a clause, without those in its patterns, or in a query inside it."""
    match clause:
        case clauses.Match(where=where) if where is not None:
            yield where
        case clauses.Unwind(list=of) | clauses.Foreach(list=of):
            yield of
        case clauses.Return():
            yield from _projected(clause)
        case clauses.With(projection=projection, where=where):
            yield from _projected(projection)
            if where is not None:
                yield where
        case clauses.Set(items=items):
            yield from _assigned(items)
        case clauses.Merge(on_create=created, on_match=matched):
            yield from _assigned((*created, *matched))
        case clauses.Delete(targets=targets):
            yield from targets
        case clauses.Remove(items=removed):
            yield from removed
        case clauses.LoadCsv(source=source):
            yield source
        case clauses.CallProcedure(arguments=arguments, where=where):
            yield from arguments or ()
            if where is not None:
                yield where


def _projected(projection: clauses.Return) -> Iterator[Expression]:
    yield from (item.expression for item in projection.items)
    yield from (item.expression for item in projection.order)


def _assigned(items: tuple[SetItem, ...]) -> Iterator[Expression]:
    for item in items:
        match item:
            case clauses.SetProperty(target=target, value=value):
                yield target
                yield value
            case _:
                yield item.variable
                if isinstance(item, clauses.SetLabels):
                    yield from item.named
                else:
                    yield item.value
