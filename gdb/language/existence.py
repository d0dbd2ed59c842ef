"""Conditions of WHERE that belong to the query graph: nodes that differ, and whether a relationship is there.

`a <> b` and `id(a) <> id(b)` make two vertices differ; `(a)-[:X]->(b)`, alone or in EXISTS { }, requires an edge
between two vertices of the pattern, or from one of them to any vertex, and NOT of it requires none. Conditions with
more than one relationship, or on more than its types, are left to others.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from gdb.language import syntax
from gdb.language.canonical import labels_text
from gdb.language.clauses import Match
from gdb.language.name_resolution import is_id
from gdb.language.pattern_syntax import NodePattern, PathMode, PathPattern, RelationshipPattern
from gdb.language.report import beyond_pattern
from gdb.language.scope import Scope, has_labels
from gdb.language.syntax import Comparator, Expression, LabelTerms, Name, Place
from gdb.query_graph import MatchMode, QueryEdge
from gdb.records import dataclass
from gdb.storage.format.direction import Direction

if TYPE_CHECKING:
    from gdb.storage.graph.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class EdgeTest:
    """Whether an edge leads from vertex `start` to vertex `end`, or to any vertex with `labels` where that is None.

    types : () for any. direction : as seen from `start`. negated : none may.
    """

    start: int
    end: int | None
    labels: LabelTerms
    types: tuple[Name, ...]
    direction: Direction
    negated: bool

    @property
    def edge(self) -> QueryEdge:
        """The edge of the query graph that it is, between two vertices."""
        source, target, direction = self.start, self.end, self.direction
        assert target is not None
        if direction is Direction.IN:
            source, target, direction = target, source, Direction.OUT
        types = tuple(sorted({name.text for name in self.types}))
        return QueryEdge(source, target, types, direction, exists=not self.negated)

    @property
    def text(self) -> str:
        """What it says of a vertex, equal for two that say the same."""
        types = "|".join(sorted({name.text for name in self.types}))
        left, right = ("<-", "-") if self.direction is Direction.IN else ("-", "->")
        right = "-" if self.direction is Direction.ANY else right
        labels = f":{labels_text(self.labels)}" if self.labels else ""
        shown = f"(){left}[{':' * bool(types)}{types}]{right}({labels})".replace("$", "\\x24")
        return f"NOT {shown}" if self.negated else shown


# ---- relationships -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _EdgePattern:
    """A condition about one relationship as it was written; local : names that nothing has are its own (EXISTS)."""

    left: NodePattern
    relationship: RelationshipPattern
    right: NodePattern
    negated: bool
    local: bool
    place: Place


def is_edge_test(condition: Expression) -> bool:
    """Whether a condition tests one relationship, and nothing but its types."""
    return _edge_pattern(condition) is not None


def _edge_pattern(condition: Expression) -> _EdgePattern | None:
    negated = False
    while isinstance(condition, syntax.Not):
        negated, condition = not negated, condition.operand
    local = isinstance(condition, syntax.Subquery)
    path = _path(condition)
    if path is None or len(path.relationships) != 1:
        return None
    (left, right), (one,) = path.nodes, path.relationships
    plain = path.name is None and path.selector is None and path.mode is PathMode.TRAIL
    if not plain or one.length is not None or (one.variable is not None and not local):
        return None
    for part in (left, right, one):
        if part.properties or part.given is not None or part.where is not None:
            return None
    return _EdgePattern(left, one, right, negated, local, condition.place)


def _path(condition: Expression) -> PathPattern | None:
    """The one pattern of a condition."""
    match condition:
        case syntax.PatternTest(pattern=pattern):
            return pattern
        case syntax.Subquery(kind="EXISTS", query=query) if len(query.parts) == 1:
            match query.parts[0]:
                case (Match(mode=None, patterns=(only,), where=None, optional=False),):
                    return only
    return None


def edge_test(
    scope: Scope, condition: Expression, default: MatchMode, *, apart: bool
) -> EdgeTest | None:
    """The test that a condition makes of the edges of the pattern's vertices; None where it is no such test.

    default : the mode of what names none, so of the pattern in the condition. apart : whether the pattern's own
    vertices differ, as those of the condition then must.

    Raises
    ------
    NotSupported : it tests more than that. NameProblem : nothing has a name in it.
    """
    pattern = _edge_pattern(condition)
    if pattern is None:
        return None
    variable = pattern.relationship.variable
    known = variable is not None and variable.text in scope.names
    start, end = (_vertex(scope, node, pattern) for node in (pattern.left, pattern.right))
    direction, other = pattern.relationship.direction, pattern.right
    if start is None:
        start, end, other, direction = end, None, pattern.left, direction.flipped
    bound = [node for node in (pattern.left, pattern.right) if node is not other or end is not None]
    more = any(node.labels for node in bound)
    same = default.induced or end is None or start == end or not apart
    if start is None or known or more or (default.nodes_differ and same):
        raise beyond_pattern(scope.text, pattern.place, "a pattern inside an expression is")
    labels = () if end is not None else other.labels
    return EdgeTest(start, end, labels, pattern.relationship.types, direction, pattern.negated)


def _vertex(scope: Scope, node: NodePattern, pattern: _EdgePattern) -> int | None:
    """The query vertex that a node is; None where it may be any."""
    name = node.variable
    if name is None or (pattern.local and name.text not in scope.names):
        return None
    found = scope.lookup(syntax.Variable(name.text, name.place))
    return (
        found.index
        if isinstance(found, syntax.ElementReference) and found.kind == "vertex"
        else None
    )


def with_edge(snapshot: Snapshot, test: EdgeTest) -> npt.NDArray[np.int64]:
    """The vids for which a test of one vertex is true, i64[k] ascending. Reads the partition's rows, and where it tests
    labels its neighbours."""
    known = {type_.name for type_ in snapshot.edge_types}
    types_of_test = {name.text for name in test.types}
    types = tuple(sorted(known & types_of_test))
    found = np.zeros(0, np.int64)
    if types or not types_of_test:
        adjacency = snapshot.adjacency(() if len(types) == len(known) else types, test.direction)
        found = adjacency.vids().astype(np.int64)
        if test.labels and len(found):
            near = np.zeros(len(adjacency.neighbours), np.int64)
            for group in snapshot.groups:
                if has_labels(group.labels, test.labels):
                    for low, high in group.ranges:
                        near |= (adjacency.neighbours >= low) & (adjacency.neighbours < high)
            found = found[np.add.reduceat(near, adjacency.offsets[:-1]) > 0]
    if not test.negated:
        return found
    others = np.ones(snapshot.vertex_count, bool)
    others[found] = False
    return np.flatnonzero(others)


# ---- nodes that differ ---------------------------------------------------------------------------


def told_apart(
    scope: Scope, conditions: Iterable[Expression]
) -> tuple[tuple[tuple[int, int], ...], list[Expression]]:
    """The pairs of vertices that conditions say to differ, and the other conditions."""
    pairs: set[tuple[int, int]] = set()
    rest: list[Expression] = []
    for condition in conditions:
        pair = _pair(scope, condition)
        if pair is None:
            rest.append(condition)
        else:
            pairs.add(pair)
    return tuple(sorted(pairs)), rest


def _pair(scope: Scope, condition: Expression) -> tuple[int, int] | None:
    negated = False
    while isinstance(condition, syntax.Not):
        negated, condition = not negated, condition.operand
    wanted = Comparator.EQUAL if negated else Comparator.UNEQUAL
    if not isinstance(condition, syntax.Comparison) or condition.operator is not wanted:
        return None
    left, right = condition.left, condition.right
    if (
        is_id(left)
        and is_id(right)
        and isinstance(left, syntax.Call)
        and isinstance(right, syntax.Call)
    ):
        left, right = left.arguments[0], right.arguments[0]
        if not _one_id_space(scope, [left, right]):
            return None
    if not isinstance(left, syntax.ElementReference) or not isinstance(
        right, syntax.ElementReference
    ):
        return None
    if left.kind != "vertex" or right.kind != "vertex" or left.index == right.index:
        return None
    return min(left.index, right.index), max(left.index, right.index)


def _one_id_space(scope: Scope, elements: Iterable[Expression]) -> bool:
    """Whether two vertices that are candidates of some elements never have the same id."""
    groups = {
        group
        for element in elements
        if isinstance(element, syntax.ElementReference) and element.kind == "vertex"
        for group in scope.groups(element.index)
    }
    return len({scope.snapshot.groups[group].id_space for group in groups}) <= 1
