"""The canonical text of a query: `parse(printed(query)) == query`, whatever the query.

Keywords are written large, names that are keywords stand in backquotes, and an operand has parentheses only where it
would be read as something else without them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from gdb.language.atoms import LOOSE_WORDS, NO_VALUES, QUANTIFIERS, SHORTEST, SUBQUERIES
from gdb.language.clauses import (
    CallProcedure,
    CallSubquery,
    Clause,
    Copy,
    Create,
    Delete,
    Foreach,
    LoadCsv,
    Match,
    Merge,
    Query,
    Remove,
    Return,
    ReturnItem,
    Set,
    SetAll,
    SetItem,
    SetLabels,
    SetProperty,
    SortItem,
    Unwind,
    With,
)
from gdb.language.expressions import OPERATOR_WORDS, Level
from gdb.language.patterns import PATH_WORDS
from gdb.language.reading import MODES
from gdb.language.syntax import (
    Arithmetic,
    Call,
    Case,
    Comparison,
    Connected,
    Connective,
    Element,
    Expression,
    HasLabels,
    In,
    Index,
    IsNull,
    LabelTerms,
    Length,
    ListComprehension,
    ListLiteral,
    Literal,
    MapLiteral,
    MapProjection,
    Name,
    Negative,
    NodePattern,
    Not,
    Parameter,
    PathMode,
    PathPattern,
    PatternComprehension,
    PatternTest,
    Property,
    Quantified,
    Reduce,
    RelationshipPattern,
    Slice,
    StringTest,
    Subquery,
    Variable,
)
from gdb.query_graph import MatchMode
from gdb.storage.adjacency import Direction

_PLAIN = re.compile(r"[^\W\d]\w*")
_NUMBER = re.compile(r"0|[1-9][0-9]{0,90}")
_CLAUSES = """
    OPTIONAL LOAD CSV CREATE INSERT MERGE SET REMOVE DELETE DETACH FOREACH CALL YIELD ORDER BY OFFSET ASC ASCENDING
    DESC DESCENDING NULLS FIRST LAST ON HEADERS FROM FIELDTERMINATOR EXPLAIN PROFILE DISTINCT BINDING BINDINGS
    CASE WHEN THEN ELSE END REDUCE IS STARTS ENDS GROUP GROUPS PATH PATHS USE SHOW FILTER LET FINISH DROP ALTER
    TRANSACTIONS CONCURRENT
"""
_KEYWORDS = frozenset(
    word
    for words in (
        *(_CLAUSES, *LOOSE_WORDS, *NO_VALUES, *QUANTIFIERS, *SHORTEST, *SUBQUERIES),
        *(*OPERATOR_WORDS, *PATH_WORDS, *MODES),
    )
    for word in words.split()
)
_ESCAPES = {
    "\\": "\\\\",
    "'": "\\'",
    "\n": "\\n",
    "\t": "\\t",
    "\r": "\\r",
    "\b": "\\b",
    "\f": "\\f",
}
_TIGHT = Level.UNARY + 1  # of what can have .key or [index] behind it


def printed(query: Query) -> str:
    """The text of a query.

    Examples
    --------
    >>> from gdb.language.parser import parse
    >>> printed(parse("match (a)-->(b:Person {name: 'x'}) return a.age+1 as n limit 3"))
    "MATCH (a)-->(b:Person {name: 'x'}) RETURN a.age + 1 AS n LIMIT 3"
    """
    if query.copying is not None:
        return _copy(query.copying)
    start = "EXPLAIN " * query.explain + "PROFILE " * query.profile
    parts = [" ".join(map(clause_text, part)) for part in query.parts]
    text = parts[0]
    for all_, part in zip(query.all, parts[1:], strict=True):
        text += f" UNION {'ALL ' * all_}{part}"
    return start + text


def _copy(copy: Copy) -> str:
    name = "" if copy.name is None else f":{name_text(copy.name.text)}"
    arrow = f"()-[{name}]-{'>' * copy.directed}() "
    target = {"nodes": f"({name}) ", "relationships": arrow, "graph": ""}[copy.what]
    options = "" if copy.options is None else f" OPTIONS {expression_text(copy.options)}"
    return f"COPY {target}FROM {', '.join(map(expression_text, copy.sources))}{options}"


# ---- names and values ----------------------------------------------------------------------------


def name_text(name: str) -> str:
    """A name as the language takes it: in backquotes if it is a keyword or no plain word."""
    if _PLAIN.fullmatch(name) and name.upper() not in _KEYWORDS:
        return name
    return "`" + name.replace("`", "``") + "`"


def _dotted(name: str) -> str:
    """The name of a function or procedure."""
    if name.lower() in ("count", "collect"):  # keywords only before a brace
        return name
    parts = name.split(".")
    return ".".join(map(name_text, parts)) if all(parts) else name_text(name)


def _value(value: int | float | bool | str | None) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return "'" + "".join(_ESCAPES.get(character, character) for character in value) + "'"
        case _:
            return repr(value)


def labels_text(labels: LabelTerms) -> str:
    """:A:(B|C)"""
    terms = ["|".join(name_text(name.text) for name in term) for term in labels]
    return "".join(
        f":({text})" if len(term) > 1 else f":{text}"
        for term, text in zip(labels, terms, strict=True)
    )


# ---- expressions ---------------------------------------------------------------------------------


def expression_text(expression: Expression, least: int = Level.OR) -> str:
    """The text of an expression, in parentheses if its operator binds less tightly than `least`."""
    level, text = _leveled(expression)
    return text if level >= least else f"({text})"


def _leveled(expression: Expression) -> tuple[int, str]:
    """How tightly it binds, and its text without parentheses around it."""
    match expression:
        case Connected():
            return _connected(expression)
        case Not(operand=operand):
            return Level.NOT, f"NOT {expression_text(operand, Level.NOT)}"
        case Comparison(operator=operator, left=left, right=right):
            return Level.COMPARISON, _joined(left, Level.TEST, operator, right, Level.TEST)
        case StringTest(operator=operator, left=left, right=right):
            return Level.TEST, _joined(left, Level.TEST, operator, right, Level.ADD)
        case In(item=left, list=right):
            return Level.TEST, _joined(left, Level.TEST, "IN", right, Level.ADD)
        case IsNull(operand=operand, negated=negated):
            text = f"{expression_text(operand, Level.TEST)} IS {'NOT ' * negated}NULL"
            return Level.TEST, text
        case Arithmetic(first=first, rest=rest):
            level = Level.POWER
            if rest[0][0] != "^":
                level = Level.ADD if rest[0][0] in "+-" else Level.MULTIPLY
            parts = [f" {operator} {expression_text(part, level + 1)}" for operator, part in rest]
            return level, expression_text(first, level + 1) + "".join(parts)
        case Negative(operand=operand):
            return Level.UNARY, f"-{_not_signed(operand)}"
        case HasLabels(subject=subject, labels=labels):
            return Level.UNARY, expression_text(subject, _TIGHT) + labels_text(labels)
        case Literal(value=value):
            number = isinstance(value, (int, float)) and not isinstance(value, bool)
            return Level.UNARY if number else _TIGHT, _value(value)
        case PatternTest(pattern=pattern):
            return Level.NOT, _path(pattern)
        case _:
            return _TIGHT, _atom(expression)


def _joined(left: Expression, before: int, operator: str, right: Expression, behind: int) -> str:
    return f"{expression_text(left, before)} {operator} {expression_text(right, behind)}"


def _connected(expression: Connected) -> tuple[int, str]:
    operands = expression.operands
    chain = [part for part in operands if isinstance(part, Comparison)]
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
    """An operand behind a minus, which would make a number another number, and two of which could be an arrow."""
    text = expression_text(operand, Level.UNARY)
    unclear = isinstance(operand, (Literal, Negative)) or text[0].isdigit()
    return f"({text})" if unclear else text


def _atom(expression: Expression) -> str:
    match expression:
        case Parameter(name=name):
            return f"${name}" if _NUMBER.fullmatch(name) else f"${name_text(name)}"
        case Variable(name=name):
            return name_text(name)
        case Element(kind=kind, index=index):
            return f"${kind[0]}{index}"
        case Property(subject=Parameter(name=name), key=key):  # the dot is not that of 0.5
            return f"${name_text(name)}.{name_text(key.text)}"
        case Property(subject=subject, key=key):
            return f"{expression_text(subject, _TIGHT)}.{name_text(key.text)}"
        case Index(subject=subject, index=index_):
            return f"{expression_text(subject, _TIGHT)}[{expression_text(index_)}]"
        case Slice(subject=subject, start=start, stop=stop):
            low = expression_text(start) if start else ""
            high = expression_text(stop) if stop else ""
            return f"{expression_text(subject, _TIGHT)}[{low}..{high}]"
        case ListLiteral(items=items):
            return f"[{_items(items)}]"
        case MapLiteral(entries=entries):
            return f"{{{_entries(entries)}}}"
        case MapProjection(subject=subject, everything=everything, entries=entries):
            star = [".*"] if everything else []
            return f"{name_text(subject.name)}{{{', '.join([*star, *_pairs(entries)])}}}"
        case Call():
            return _call(expression)
        case Case():
            return _case(expression)
        case _:
            return _scoped(expression)


def _items(items: tuple[Expression, ...]) -> str:
    """A single item that begins `name IN` would make a list a comprehension."""
    texts = [expression_text(item) for item in items]
    return f"({texts[0]})" if len(items) == 1 and " IN " in texts[0] else ", ".join(texts)


def _pairs(entries: tuple[tuple[Name, Expression], ...]) -> list[str]:
    return [f"{name_text(key.text)}: {expression_text(value)}" for key, value in entries]


def _entries(entries: tuple[tuple[Name, Expression], ...]) -> str:
    return ", ".join(_pairs(entries))


def _call(call: Call) -> str:
    inner = "*" if call.star else ", ".join(map(expression_text, call.arguments))
    return f"{_dotted(call.function.text)}({'DISTINCT ' * call.distinct}{inner})"


def _case(case: Case) -> str:
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
        case ListComprehension(variable=variable, list=of, where=where, result=result):
            end = f" | {expression_text(result)}" if result else ""
            return f"[{_in(variable, of)}{_where(where)}{end}]"
        case Quantified(quantifier=quantifier, variable=variable, list=of, where=where):
            return f"{quantifier}({_in(variable, of)}{_where(where)})"
        case Reduce(total=total, initial=initial, variable=variable, list=of, result=result):
            begin = f"{name_text(total.text)} = {expression_text(initial)}"
            return f"reduce({begin}, {_in(variable, of)} | {expression_text(result)})"
        case PatternComprehension(pattern=pattern, where=where, result=result):
            return f"[{_path(pattern)}{_where(where)} | {expression_text(result)}]"
        case Subquery(kind=kind, query=query):
            return f"{kind} {{ {printed(query)} }}"
        case _:
            raise AssertionError(expression)


def _in(variable: Name, of: Expression) -> str:
    return f"{name_text(variable.text)} IN {expression_text(of)}"


def _where(where: Expression | None) -> str:
    return f" WHERE {expression_text(where)}" if where else ""


# ---- patterns ------------------------------------------------------------------------------------


def _patterns(patterns: Sequence[PathPattern]) -> str:
    return ", ".join(map(_path, patterns))


def _path(path: PathPattern) -> str:
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
    return f"({_inside(name + labels_text(node.labels), node)})"


def _relationship(relationship: RelationshipPattern) -> str:
    name = name_text(relationship.variable.text) if relationship.variable else ""
    types = "|".join(name_text(name.text) for name in relationship.types)
    begin = name + (f":{types}" if types else "") + _length(relationship.length)
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
    return (" ".join(parts) + _where(pattern.where)).lstrip()


# ---- clauses -------------------------------------------------------------------------------------


def clause_text(clause: Clause) -> str:
    match clause:
        case Match(mode=mode, where=where, optional=optional):
            begin = f"{'OPTIONAL ' * optional}MATCH {_mode(mode)}"
            several: dict[int, list[PathPattern]] = {}
            for number, pattern in clause.numbered:
                several.setdefault(number, []).append(pattern)
            return (
                f"{' '.join(begin + _patterns(some) for some in several.values())}{_where(where)}"
            )
        case Unwind(list=of, variable=variable):
            return f"UNWIND {expression_text(of)} AS {name_text(variable.text)}"
        case With(projection=projection, where=where):
            return f"WITH {_projection(projection)}{_where(where)}"
        case Return():
            return f"RETURN {_projection(clause)}"
        case CallSubquery(query=query, imports=imports, optional=optional):
            given = "" if imports is None else f"({_imports(imports)}) "
            return f"{'OPTIONAL ' * optional}CALL {given}{{ {printed(query)} }}"
        case CallProcedure():
            return _procedure(clause)
        case LoadCsv(headers=headers, source=source, variable=variable, terminator=terminator):
            begin = f"LOAD CSV {'WITH HEADERS ' * headers}FROM {expression_text(source)}"
            end = f" FIELDTERMINATOR {_value(terminator)}" if terminator != "," else ""
            return f"{begin} AS {name_text(variable.text)}{end}"
        case _:
            return _writing(clause)


def _mode(mode: MatchMode | None) -> str:
    if mode is None:
        return ""
    return next(words for words, known in MODES.items() if known == mode) + " "


def _imports(imports: tuple[Name, ...]) -> str:
    return ", ".join("*" if name.text == "*" else name_text(name.text) for name in imports)


def _projection(projection: Return) -> str:
    items = ["*"] if projection.everything else []
    items += map(_returned, projection.items)
    text = "DISTINCT " * projection.distinct + ", ".join(items)
    if projection.order:
        text += f" ORDER BY {', '.join(map(_sorted, projection.order))}"
    if projection.skip is not None:
        text += f" SKIP {expression_text(projection.skip)}"
    if projection.limit is not None:
        text += f" LIMIT {expression_text(projection.limit)}"
    return text


def _returned(item: ReturnItem) -> str:
    alias = f" AS {name_text(item.alias.text)}" if item.alias else ""
    return expression_text(item.expression) + alias


def _sorted(item: SortItem) -> str:
    text = expression_text(item.expression) + " DESC" * item.descending
    if item.nulls_first is not None:
        text += " NULLS FIRST" if item.nulls_first else " NULLS LAST"
    return text


def _procedure(call: CallProcedure) -> str:
    text = f"CALL {_dotted(call.name.text)}"
    text += "" if call.arguments is None else f"({_items(call.arguments)})"
    if call.yields is not None:
        pairs = [f"{name_text(a.text)} AS {name_text(b.text)}" for a, b in call.yields]
        text += f" YIELD {', '.join(pairs) or '-'}"
    where = "" if call.where is None else f" WHERE {expression_text(call.where)}"
    return text + " YIELD *" * call.everything + where


def _writing(clause: Clause) -> str:
    match clause:
        case Create(patterns=patterns):
            return f"CREATE {_patterns(patterns)}"
        case Merge(pattern=pattern, on_create=on_create, on_match=on_match):
            text = f"MERGE {_path(pattern)}"
            text += f" ON CREATE SET {_set_items(on_create)}" if on_create else ""
            return text + (f" ON MATCH SET {_set_items(on_match)}" if on_match else "")
        case Set(items=set_items):
            return f"SET {_set_items(set_items)}"
        case Remove(items=removed):
            return f"REMOVE {', '.join(map(expression_text, removed))}"
        case Delete(targets=targets, detach=detach):
            return f"{'DETACH ' * detach}DELETE {', '.join(map(expression_text, targets))}"
        case Foreach(variable=variable, list=of, clauses=clauses):
            return f"FOREACH ({_in(variable, of)} | {' '.join(map(clause_text, clauses))})"
        case _:
            raise AssertionError(clause)


def _set_items(items: tuple[SetItem, ...]) -> str:
    return ", ".join(map(_set_item, items))


def _set_item(item: SetItem) -> str:
    match item:
        case SetProperty(target=target, value=value):
            return f"{expression_text(target)} = {expression_text(value)}"
        case SetAll(variable=variable, value=value, add=add):
            return f"{name_text(variable.name)} {'+' * add}= {expression_text(value)}"
        case SetLabels(variable=variable, labels=labels):
            return name_text(variable.name) + "".join(f":{name_text(n.text)}" for n in labels)
