"""The canonical text of a query: `parse(printed(query)) == query`, whatever the query.

An operand has parentheses only where it would be read as something else without them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from gdb.language import clauses, syntax
from gdb.language.clauses import Clause, Query, SetItem
from gdb.language.dynamic_labels import HasNamed
from gdb.language.expressions import Level
from gdb.language.hidden_names import COMPUTED, LONG_CONSTANT, parameter_shown
from gdb.language.name_text import dotted_text, name_text, value_text
from gdb.language.pattern_syntax import (
    Length,
    NodePattern,
    PathMode,
    PathPattern,
    RelationshipPattern,
)
from gdb.language.reading import MODES
from gdb.language.syntax import Connective, Expression, LabelTerms, Name
from gdb.language.value_types import IsNormalized, IsTyped
from gdb.query_graph import MatchMode
from gdb.storage.format.direction import Direction

_NUMBER = re.compile(r"0|[1-9][0-9]{0,90}")
_TIGHT = Level.UNARY + 1  # of what can have .key or [index] behind it


def printed(query: Query) -> str:
    """The text of a query.

    Examples
    --------
    >>> from gdb.language.parser import parse
    >>> printed(parse("match (a)-->(b:Person {name: 'x'}) return a.age+1 as n limit 3"))
    "MATCH (a)-->(b:Person {name: 'x'}) RETURN a.age + 1 AS n LIMIT 3"
    """
    start = "EXPLAIN " * query.explain + "PROFILE " * query.profile
    if query.copying is not None:
        return start + _copy(query.copying)
    parts = [" ".join(map(clause_text, part)) for part in query.parts]
    text = parts[0]
    for all_, part in zip(query.all, parts[1:], strict=True):
        text += f" UNION {'ALL ' * all_}{part}"
    return start + text


def _copy(copy: clauses.Copy | clauses.CopyTo) -> str:
    options = "" if copy.options is None else f" OPTIONS {expression_text(copy.options)}"
    if isinstance(copy, clauses.CopyTo):
        source, target = f"({printed(copy.query)})", expression_text(copy.target)
        return f"COPY {source} TO {target}{options}"
    name = "" if copy.name is None else f":{name_text(copy.name.text)}"
    start, end = (f":{name_text(one.text)}" for one in copy.ends) if copy.ends else ("", "")
    arrow = f"({start})-[{name}]-{'>' * copy.directed}({end}) "
    target = {"nodes": f"({name}) ", "relationships": arrow, "graph": ""}[copy.what]
    return f"COPY {target}FROM {', '.join(map(expression_text, copy.sources))}{options}"


# ---- clauses -------------------------------------------------------------------------------------


def clause_text(clause: Clause) -> str:
    """The canonical text of one clause, on one line."""
    match clause:
        case clauses.Match(mode=mode, where=where, optional=optional):
            begin = f"{'OPTIONAL ' * optional}MATCH {_mode(mode)}"
            several: dict[int, list[PathPattern]] = {}
            for number, pattern in clause.numbered:
                several.setdefault(number, []).append(pattern)
            texts = [begin + patterns_text(some) for some in several.values()]
            return f"{' '.join(texts)}{where_text(where)}"
        case clauses.Unwind(list=of, variable=variable):
            return f"UNWIND {expression_text(of)} AS {name_text(variable.text)}"
        case clauses.With(projection=projection, where=where):
            return f"WITH {_projection(projection)}{where_text(where)}"
        case clauses.Finish():
            return "FINISH"
        case clauses.Return():
            return f"RETURN {_projection(clause)}"
        case clauses.CallSubquery(query=query, imports=imports, optional=optional):
            imported = "" if imports is None else f"({_imports(imports)}) "
            return f"{'OPTIONAL ' * optional}CALL {imported}{{ {printed(query)} }}"
        case clauses.CallProcedure():
            return _procedure(clause)
        case clauses.LoadCsv(
            headers=headers, source=source, variable=variable, terminator=terminator
        ):
            begin = f"LOAD CSV {'WITH HEADERS ' * headers}FROM {expression_text(source)}"
            end = f" FIELDTERMINATOR {value_text(terminator)}" if terminator != "," else ""
            return f"{begin} AS {name_text(variable.text)}{end}"
        case _:
            return _writing(clause)


def _mode(mode: MatchMode | None) -> str:
    if mode is None:
        return ""
    return next(words for words, known in MODES.items() if known == mode) + " "


def _imports(imports: tuple[Name, ...]) -> str:
    return ", ".join("*" if name.text == "*" else name_text(name.text) for name in imports)


def _projection(projection: clauses.Return) -> str:
    items = ["*"] if projection.everything else []
    items += map(_returned, projection.items)
    text = "DISTINCT " * projection.distinct + ", ".join(items)
    if projection.order:
        text += f" ORDER BY {', '.join(map(sort_text, projection.order))}"
    if projection.skip is not None:
        text += f" SKIP {expression_text(projection.skip)}"
    if projection.limit is not None:
        text += f" LIMIT {expression_text(projection.limit)}"
    return text


def _returned(item: clauses.ReturnItem) -> str:
    alias = f" AS {name_text(item.alias.text)}" if item.alias else ""
    return expression_text(item.expression) + alias


def sort_text(item: clauses.SortItem) -> str:
    """The canonical text of one item of ORDER BY."""
    text = expression_text(item.expression) + " DESC" * item.descending
    if item.nulls_first is not None:
        text += " NULLS FIRST" if item.nulls_first else " NULLS LAST"
    return text


def _procedure(call: clauses.CallProcedure) -> str:
    text = f"CALL {dotted_text(call.name.text)}"
    text += "" if call.arguments is None else f"({items_text(call.arguments)})"
    if call.yields is not None:
        pairs = [f"{name_text(a.text)} AS {name_text(b.text)}" for a, b in call.yields]
        text += f" YIELD {', '.join(pairs) or '-'}"
    return text + " YIELD *" * call.everything + where_text(call.where)


def _writing(clause: Clause) -> str:
    match clause:
        case clauses.Create(patterns=patterns):
            return f"CREATE {patterns_text(patterns)}"
        case clauses.BulkCreate(text=text):
            return text
        case clauses.Merge(pattern=pattern, on_create=on_create, on_match=on_match):
            text = f"MERGE {path_text(pattern)}"
            text += f" ON CREATE SET {_set_items(on_create)}" if on_create else ""
            return text + (f" ON MATCH SET {_set_items(on_match)}" if on_match else "")
        case clauses.Set(items=set_items):
            return f"SET {_set_items(set_items)}"
        case clauses.Remove(items=removed):
            return f"REMOVE {', '.join(map(expression_text, removed))}"
        case clauses.Delete(targets=targets, detach=detach):
            return f"{'DETACH ' * detach}DELETE {', '.join(map(expression_text, targets))}"
        case clauses.Foreach(variable=variable, list=of, clauses=inner):
            return f"FOREACH ({in_text(variable, of)} | {' '.join(map(clause_text, inner))})"
        case _:
            raise AssertionError(clause)


def _set_items(items: tuple[SetItem, ...]) -> str:
    return ", ".join(map(_set_item, items))


def _set_item(item: SetItem) -> str:
    match item:
        case clauses.SetProperty(target=target, value=value):
            return f"{expression_text(target)} = {expression_text(value)}"
        case clauses.SetAll(variable=variable, value=value, add=add):
            return f"{name_text(variable.name)} {'+' * add}= {expression_text(value)}"
        case clauses.SetLabels(variable=variable, labels=labels, named=named):
            text = name_text(variable.name) + "".join(f":{name_text(n.text)}" for n in labels)
            return text + named_text(named)


# ---- expressions ---------------------------------------------------------------------------------


def labels_text(labels: LabelTerms) -> str:
    """:A:(B|C)"""
    terms = ["|".join(name_text(name.text) for name in term) for term in labels]
    return "".join(
        f":({text})" if len(term) > 1 else f":{text}"
        for term, text in zip(labels, terms, strict=True)
    )


def named_text(named: tuple[Expression, ...]) -> str:
    """:$(expression):$(expression)"""
    return "".join(f":$({expression_text(one)})" for one in named)


def expression_text(expression: Expression, least: int = Level.OR) -> str:
    """The text of an expression, in parentheses if its operator binds less tightly than `least`."""
    level, text = _leveled(expression)
    return text if level >= least else f"({text})"


def _leveled(expression: Expression) -> tuple[int, str]:
    """How tightly it binds, and its text without parentheses around it."""
    match expression:
        case syntax.Connected():
            return _connected(expression)
        case syntax.Not(operand=operand):
            return Level.NOT, f"NOT {expression_text(operand, Level.NOT)}"
        case syntax.Comparison(operator=operator, left=left, right=right):
            return Level.COMPARISON, _joined(left, Level.TEST, operator, right, Level.TEST)
        case syntax.StringTest(operator=operator, left=left, right=right):
            return Level.TEST, _joined(left, Level.TEST, operator, right, Level.ADD)
        case syntax.In(item=left, list=right):
            return Level.TEST, _joined(left, Level.TEST, "IN", right, Level.ADD)
        case syntax.IsNull(operand=operand, negated=negated):
            text = f"{expression_text(operand, Level.TEST)} IS {'NOT ' * negated}NULL"
            return Level.TEST, text
        case IsTyped(operand=operand, type=type_, negated=negated):
            # where a | may end what is around, a type has none of its own
            several = f"ANY<{type_}>" if len(type_.alternatives) > 1 else str(type_)
            test = f"IS {'NOT ' * negated}:: {several}"
            return Level.TEST, f"{expression_text(operand, Level.TEST)} {test}"
        case IsNormalized(operand=operand, form=form, negated=negated):
            test = f"IS {'NOT ' * negated}{form} NORMALIZED"
            return Level.TEST, f"{expression_text(operand, Level.TEST)} {test}"
        case syntax.Arithmetic(first=first, rest=rest):
            level = Level.POWER
            if rest[0][0] != "^":
                level = Level.ADD if rest[0][0] in ("+", "-", "||") else Level.MULTIPLY
            parts = [f" {operator} {expression_text(part, level + 1)}" for operator, part in rest]
            return level, expression_text(first, level + 1) + "".join(parts)
        case syntax.Negative(operand=operand):
            return Level.UNARY, f"-{_not_signed(operand)}"
        case syntax.HasLabels(subject=subject, labels=labels):
            return Level.UNARY, expression_text(subject, _TIGHT) + labels_text(labels)
        case HasNamed(subject=subject, names=names, any=any_):
            named = f":${'any' * any_}({expression_text(names)})"
            return Level.UNARY, expression_text(subject, _TIGHT) + named
        case syntax.Literal(value=value):
            number = isinstance(value, (int, float)) and not isinstance(value, bool)
            return Level.UNARY if number else _TIGHT, value_text(value)
        case syntax.PatternTest(pattern=pattern):
            return Level.NOT, path_text(pattern)
        case _:
            return _TIGHT, _atom(expression)


def _joined(left: Expression, before: int, operator: str, right: Expression, behind: int) -> str:
    return f"{expression_text(left, before)} {operator} {expression_text(right, behind)}"


def _connected(expression: syntax.Connected) -> tuple[int, str]:
    operands = expression.operands
    chain = [part for part in operands if isinstance(part, syntax.Comparison)]
    following = pairwise(chain)
    if (
        expression.connective is Connective.AND
        and len(chain) == len(operands)
        and all(one.right is next_.left for one, next_ in following)
    ):
        # a < b < c: written out, chains in chains would double at each step
        first, *others = [expression_text(part.left, Level.TEST) for part in chain]
        texts = [*others, expression_text(chain[-1].right, Level.TEST)]
        links = [f" {part.operator} {text}" for part, text in zip(chain, texts, strict=True)]
        return Level.COMPARISON, first + "".join(links)
    level = Level[expression.connective.name]
    texts = [expression_text(operand, level + 1) for operand in operands]
    return level, f" {expression.connective} ".join(texts)


def _not_signed(operand: Expression) -> str:
    """An operand after a minus, which would make a number another number; two minuses could be an arrow."""
    text = expression_text(operand, Level.UNARY)
    unclear = isinstance(operand, (syntax.Literal, syntax.Negative)) or text[0].isdigit()
    return f"({text})" if unclear else text


def _atom(expression: Expression) -> str:
    match expression:
        case syntax.Parameter(name=name) if name.startswith(LONG_CONSTANT):
            return "[...]"  # a long list of constants
        case syntax.Parameter(name=name) if name.startswith(COMPUTED):
            return parameter_shown(name)
        case syntax.Parameter(name=name):
            return f"${name}" if _NUMBER.fullmatch(name) else f"${name_text(name)}"
        case syntax.Variable(name=name):
            return name_text(name)
        case syntax.ElementReference(kind=kind, index=index):
            return f"${kind[0]}{index}"
        case syntax.Property(subject=syntax.Parameter(name=name), key=key):
            # the dot is not that of 0.5
            return f"${name_text(name)}.{name_text(key.text)}"
        case syntax.Property(subject=subject, key=key):
            return f"{expression_text(subject, _TIGHT)}.{name_text(key.text)}"
        case syntax.Index(subject=subject, index=index_):
            return f"{expression_text(subject, _TIGHT)}[{expression_text(index_)}]"
        case syntax.Slice(subject=subject, start=start, stop=stop):
            low = expression_text(start) if start else ""
            high = expression_text(stop) if stop else ""
            return f"{expression_text(subject, _TIGHT)}[{low}..{high}]"
        case syntax.ListLiteral(items=items):
            return f"[{items_text(items)}]"
        case syntax.MapLiteral(entries=entries):
            return f"{{{_entries(entries)}}}"
        case syntax.MapProjection(subject=subject, everything=everything, entries=entries):
            star = [".*"] if everything else []
            return f"{name_text(subject.name)}{{{', '.join([*star, *_pairs(entries)])}}}"
        case syntax.Call():
            return _call(expression)
        case syntax.Case():
            return _case(expression)
        case _:
            return _scoped(expression)


def items_text(items: tuple[Expression, ...]) -> str:
    """A single item that begins `name IN` would make a list a comprehension."""
    texts = [expression_text(item) for item in items]
    return f"({texts[0]})" if len(items) == 1 and " IN " in texts[0] else ", ".join(texts)


def _pairs(entries: tuple[tuple[Name, Expression], ...]) -> list[str]:
    return [f"{name_text(key.text)}: {expression_text(value)}" for key, value in entries]


def _entries(entries: tuple[tuple[Name, Expression], ...]) -> str:
    return ", ".join(_pairs(entries))


def _call(call: syntax.Call) -> str:
    inner = "*" if call.star else ", ".join(map(expression_text, call.arguments))
    return f"{dotted_text(call.function.text)}({'DISTINCT ' * call.distinct}{inner})"


def _case(case: syntax.Case) -> str:
    parts = ["CASE"]
    if case.subject is not None:
        parts.append(expression_text(case.subject))
    for condition, value in case.branches:
        parts.append(f"WHEN {expression_text(condition)} THEN {expression_text(value)}")
    if case.default is not None:
        parts.append(f"ELSE {expression_text(case.default)}")
    return " ".join([*parts, "END"])


def _scoped(expression: Expression) -> str:
    """What names something for a part of itself."""
    match expression:
        case syntax.ListComprehension(variable=variable, list=of, where=where, result=result):
            end = f" | {expression_text(result)}" if result else ""
            return f"[{in_text(variable, of)}{where_text(where)}{end}]"
        case syntax.Quantified(quantifier=quantifier, variable=variable, list=of, where=where):
            return f"{quantifier}({in_text(variable, of)}{where_text(where)})"
        case syntax.Reduce(total=total, initial=initial, variable=variable, list=of, result=result):
            begin = f"{name_text(total.text)} = {expression_text(initial)}"
            return f"reduce({begin}, {in_text(variable, of)} | {expression_text(result)})"
        case syntax.PatternComprehension(pattern=pattern, where=where, result=result):
            return f"[{path_text(pattern)}{where_text(where)} | {expression_text(result)}]"
        case syntax.Subquery(kind=kind, query=query):
            return f"{kind} {{ {printed(query)} }}"
        case _:
            raise AssertionError(expression)


def in_text(variable: Name, of: Expression) -> str:
    """variable IN list."""
    return f"{name_text(variable.text)} IN {expression_text(of)}"


def where_text(where: Expression | None) -> str:
    """A WHERE with a space before it; nothing where there is none."""
    return f" WHERE {expression_text(where)}" if where else ""


# ---- patterns ------------------------------------------------------------------------------------


def patterns_text(patterns: Sequence[PathPattern]) -> str:
    """Patterns with commas between them."""
    return ", ".join(map(path_text, patterns))


def path_text(path: PathPattern) -> str:
    """A pattern with its name, selector and mode."""
    begin = f"{name_text(path.name.text)} = " if path.name else ""
    if path.selector is not None:
        kind = path.selector.kind
        begin += f"{kind} " if kind == "ALL SHORTEST" else f"{kind} {path.selector.count} "
    if path.mode is not PathMode.TRAIL:
        begin += f"{path.mode} "
    text = _node(path.nodes[0])
    for relationship, node in zip(path.relationships, path.nodes[1:], strict=True):
        text += _relationship(relationship) + _node(node)
    return begin + text


def _node(node: NodePattern) -> str:
    name = name_text(node.variable.text) if node.variable else ""
    return f"({_inside(name + labels_text(node.labels) + named_text(node.named), node)})"


def _relationship(relationship: RelationshipPattern) -> str:
    if relationship.repeated is not None and relationship.length is not None:
        inner = path_text(relationship.repeated) + where_text(relationship.where)
        low, high = relationship.length.low, relationship.length.high
        return f"({inner}){{{low},{'' if high is None else high}}}"
    name = name_text(relationship.variable.text) if relationship.variable else ""
    types = "|".join(name_text(name.text) for name in relationship.types)
    begin = name + (f":{types}" if types else "") + named_text(relationship.named)
    begin += _length(relationship.length)
    inside = _inside(begin, relationship)
    bracket = f"[{inside}]" if inside else ""
    match relationship.direction:
        case Direction.OUT:
            return f"-{bracket}->"
        case Direction.IN:
            return f"<-{bracket}-"
        case Direction.ANY:
            return f"-{bracket}-"


def _length(length: Length | None) -> str:
    if length is None:
        return ""
    if length.low == length.high:
        return f"*{length.low}"
    return f"*{length.low}..{'' if length.high is None else length.high}"


def _inside(begin: str, pattern: NodePattern | RelationshipPattern) -> str:
    """Name and labels, the map or the parameter, WHERE."""
    parts = [begin] if begin else []
    if pattern.properties:
        parts.append(f"{{{_entries(pattern.properties)}}}")
    if pattern.given is not None:
        parts.append(expression_text(pattern.given))
    return (" ".join(parts) + where_text(pattern.where)).lstrip()
