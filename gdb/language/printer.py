"""The canonical text of a query: `parse(printed(query)) == query`, whatever the query; `expression_text` has the texts
of the expressions in its clauses."""

from __future__ import annotations

from gdb.language.clauses import (
    BulkCreate,
    CallProcedure,
    CallSubquery,
    Clause,
    Copy,
    CopyTo,
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
from gdb.language.expression_text import (
    dotted_text,
    expression_text,
    in_text,
    items_text,
    name_text,
    named_text,
    path_text,
    patterns_text,
    value_text,
    where_text,
)
from gdb.language.reading import MODES
from gdb.language.syntax import Name, PathPattern
from gdb.query_graph import MatchMode


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


def _copy(copy: Copy | CopyTo) -> str:
    options = "" if copy.options is None else f" OPTIONS {expression_text(copy.options)}"
    if isinstance(copy, CopyTo):
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
        case Match(mode=mode, where=where, optional=optional):
            begin = f"{'OPTIONAL ' * optional}MATCH {_mode(mode)}"
            several: dict[int, list[PathPattern]] = {}
            for number, pattern in clause.numbered:
                several.setdefault(number, []).append(pattern)
            texts = [begin + patterns_text(some) for some in several.values()]
            return f"{' '.join(texts)}{where_text(where)}"
        case Unwind(list=of, variable=variable):
            return f"UNWIND {expression_text(of)} AS {name_text(variable.text)}"
        case With(projection=projection, where=where):
            return f"WITH {_projection(projection)}{where_text(where)}"
        case Finish():
            return "FINISH"
        case Return():
            return f"RETURN {_projection(clause)}"
        case CallSubquery(query=query, imports=imports, optional=optional):
            imported = "" if imports is None else f"({_imports(imports)}) "
            return f"{'OPTIONAL ' * optional}CALL {imported}{{ {printed(query)} }}"
        case CallProcedure():
            return _procedure(clause)
        case LoadCsv(headers=headers, source=source, variable=variable, terminator=terminator):
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


def _projection(projection: Return) -> str:
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


def _returned(item: ReturnItem) -> str:
    alias = f" AS {name_text(item.alias.text)}" if item.alias else ""
    return expression_text(item.expression) + alias


def sort_text(item: SortItem) -> str:
    """The canonical text of one item of ORDER BY."""
    text = expression_text(item.expression) + " DESC" * item.descending
    if item.nulls_first is not None:
        text += " NULLS FIRST" if item.nulls_first else " NULLS LAST"
    return text


def _procedure(call: CallProcedure) -> str:
    text = f"CALL {dotted_text(call.name.text)}"
    text += "" if call.arguments is None else f"({items_text(call.arguments)})"
    if call.yields is not None:
        pairs = [f"{name_text(a.text)} AS {name_text(b.text)}" for a, b in call.yields]
        text += f" YIELD {', '.join(pairs) or '-'}"
    where = "" if call.where is None else f" WHERE {expression_text(call.where)}"
    return text + " YIELD *" * call.everything + where


def _writing(clause: Clause) -> str:
    match clause:
        case Create(patterns=patterns):
            return f"CREATE {patterns_text(patterns)}"
        case BulkCreate(text=text):
            return text
        case Merge(pattern=pattern, on_create=on_create, on_match=on_match):
            text = f"MERGE {path_text(pattern)}"
            text += f" ON CREATE SET {_set_items(on_create)}" if on_create else ""
            return text + (f" ON MATCH SET {_set_items(on_match)}" if on_match else "")
        case Set(items=set_items):
            return f"SET {_set_items(set_items)}"
        case Remove(items=removed):
            return f"REMOVE {', '.join(map(expression_text, removed))}"
        case Delete(targets=targets, detach=detach):
            return f"{'DETACH ' * detach}DELETE {', '.join(map(expression_text, targets))}"
        case Foreach(variable=variable, list=of, clauses=clauses):
            return f"FOREACH ({in_text(variable, of)} | {' '.join(map(clause_text, clauses))})"
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
        case SetLabels(variable=variable, labels=labels, named=named):
            text = name_text(variable.name) + "".join(f":{name_text(n.text)}" for n in labels)
            return text + named_text(named)
