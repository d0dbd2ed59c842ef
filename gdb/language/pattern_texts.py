"""Patterns inside conditions as texts, equal for a path and for the same path read from its other end: whether an
automorphism keeps a condition (`QueryGraph.symmetric_under`) is seen in its text."""

from __future__ import annotations

from collections.abc import Callable

from gdb.language import syntax
from gdb.language.canonical import labels_text
from gdb.language.clauses import Match
from gdb.language.hidden_names import is_hidden
from gdb.language.pattern_syntax import NodePattern, PathMode, PathPattern, RelationshipPattern
from gdb.language.syntax import Expression, Name, rebuilt
from gdb.storage.format.direction import Direction

Named = Callable[[str], str]
"""The text of what a variable names."""


def with_pattern_texts(expression: Expression, named: Named) -> Expression:
    """The expression with a variable, whose name is such a text, in the place of each pattern test, EXISTS and COUNT of
    one plain path; others stay."""

    def replaced(part: Expression) -> Expression | None:
        match part:
            case syntax.PatternTest(pattern=path, place=place):
                kind = "EXISTS"
            case syntax.Subquery(kind="EXISTS" | "COUNT" as kind, query=query, place=place):
                if len(query.parts) != 1 or len(query.parts[0]) != 1:
                    return None
                (clause,) = query.parts[0]
                if not isinstance(clause, Match) or clause.optional or clause.where is not None:
                    return None
                if len(clause.patterns) != 1:
                    return None
                (path,) = clause.patterns
                if clause.mode is not None:
                    kind = f"{kind} {clause.mode}"
            case _:
                return None
        text = _path_text(path, named)
        return None if text is None else syntax.Variable(f"{kind} {text}", place)

    return rebuilt(expression, replaced)


def _path_text(path: PathPattern, named: Named) -> str | None:
    """The text of a path; None where it has conditions, or an element that may not be read both ways."""
    plain = path.name is None and path.selector is None and path.mode is PathMode.TRAIL
    nodes = [_node_text(node, named) for node in path.nodes]
    between = [_relationship_text(one, named) for one in path.relationships]
    if not plain or None in nodes or None in between:
        return None
    ways = [one.direction for one in path.relationships]
    there = _joined([*map(str, nodes)], [*map(str, between)], ways)
    flipped = [way.flipped for way in reversed(ways)]
    back = _joined([*map(str, nodes[::-1])], [*map(str, between[::-1])], flipped)
    return min(there, back)


def _joined(nodes: list[str], between: list[str], ways: list[Direction]) -> str:
    found = f"({nodes[0]})"
    for node, text, way in zip(nodes[1:], between, ways, strict=True):
        found += f"{way.value}[{text}]({node})"
    return found


def _node_text(node: NodePattern, named: Named) -> str | None:
    if node.properties or node.given is not None or node.where is not None or node.named:
        return None
    return f"{_variable_text(node.variable, named)}:{labels_text(node.labels)}"


def _relationship_text(one: RelationshipPattern, named: Named) -> str | None:
    more = one.properties or one.given is not None or one.where is not None or one.named
    if more or one.repeated is not None:
        return None
    if one.length is not None and one.variable is not None and not is_hidden(one.variable.text):
        return None  # a list, whose order is that of the path
    types = "|".join(sorted({name.text for name in one.types}))
    length = "" if one.length is None else f"*{one.length.low}..{one.length.high}"
    return f"{_variable_text(one.variable, named)}:{types}{length}"


def _variable_text(variable: Name | None, named: Named) -> str:
    return "" if variable is None or is_hidden(variable.text) else named(variable.text)
