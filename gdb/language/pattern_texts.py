"""Patterns inside conditions as texts, equal for a path and for the same path read from its other end: whether an
automorphism keeps a condition (`QueryGraph.symmetric_under`) is seen in its text."""

from __future__ import annotations

from collections.abc import Callable

from gdb.language import syntax
from gdb.language.canonical import labels_text
from gdb.language.clauses import Match, Query
from gdb.language.hidden_names import is_hidden
from gdb.language.pattern_syntax import NodePattern, PathPattern, RelationshipPattern
from gdb.language.syntax import Expression, Name, rebuilt
from gdb.records import replace

Named = Callable[[str], str]
"""The text of what a variable names."""


def with_pattern_texts(expression: Expression, named: Named) -> Expression:
    """The expression with a variable, whose name is such a text, in the place of each pattern test, EXISTS and COUNT of
    one plain path; others stay."""

    def replaced(part: Expression) -> Expression | None:
        match part:
            case syntax.PatternTest(pattern=path):
                kind, mode = "EXISTS", None
            case syntax.Subquery(
                kind="EXISTS" | "COUNT" as kind,
                query=Query(
                    parts=((Match(mode=mode, patterns=(path,), where=None, optional=False),),)
                ),
            ):
                pass
            case _:
                return None
        text = _path_text(path, named)
        return None if text is None else syntax.Variable(f"{kind} {mode} {text}", part.place)

    return rebuilt(expression, replaced)


def _path_text(path: PathPattern, named: Named) -> str | None:
    """The text of a path; None where it has conditions, or an element that may not be read both ways."""
    nodes, between = path.nodes, path.relationships
    if path != PathPattern(nodes, between) or not all(map(_is_plain, path.parts)):
        return None
    back = tuple(replace(one, direction=one.direction.flipped) for one in reversed(between))
    return min(_joined(nodes, between, named), _joined(nodes[::-1], back, named))


def _is_plain(part: NodePattern | RelationshipPattern) -> bool:
    """Whether it has no condition beside its labels or types, and names no list, whose order is that of the path."""
    if isinstance(part, NodePattern):
        return part == NodePattern(part.variable, part.labels, (), part.place)
    name, length = part.variable, part.length
    if length is not None and name is not None and not is_hidden(name.text):
        return False
    return part == RelationshipPattern(name, part.types, (), part.direction, part.place, length)


def _joined(
    nodes: tuple[NodePattern, ...], between: tuple[RelationshipPattern, ...], named: Named
) -> str:
    found = _node_text(nodes[0], named)
    for one, node in zip(between, nodes[1:], strict=True):
        types = "|".join(sorted({name.text for name in one.types}))
        length = "" if one.length is None else f"*{one.length.low}..{one.length.high}"
        shown = f"{_variable_text(one.variable, named)}:{types}{length}"
        found += f"{one.direction.value}[{shown}]{_node_text(node, named)}"
    return found


def _node_text(node: NodePattern, named: Named) -> str:
    return f"({_variable_text(node.variable, named)}:{labels_text(node.labels)})"


def _variable_text(variable: Name | None, named: Named) -> str:
    return "" if variable is None or is_hidden(variable.text) else named(variable.text)
