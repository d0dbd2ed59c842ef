"""OPTIONAL MATCH after a pattern, where only the number of rows is needed.

Each embedding of the pattern counts as often as the product of what its OPTIONAL MATCHes find beside it, each at least
once. So they become optional graphs of the query graph, each with conditions and a mode of its own; one that uses names
of another one is within that. Where the number is that of elements which an OPTIONAL MATCH finds, rows without them
count nothing, so that it is a MATCH like the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count
from typing import TYPE_CHECKING

from gdb.errors import NotSupported
from gdb.language import question
from gdb.language.mentioned_names import of_pattern
from gdb.language.question import edge_of, vertex_of
from gdb.language.report import beyond_pattern
from gdb.language.scope import Scope
from gdb.language.syntax import Variable
from gdb.physical.one_pattern import OnePattern, counted_alone
from gdb.query_graph import MatchMode, OptionalGraph, QueryGraph
from gdb.records import dataclass, replace

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gdb.executor.relational.relational_tail import Tail
    from gdb.language.clauses import Match


def needed_matches(pattern: OnePattern) -> OnePattern:
    """The pattern with those of its OPTIONAL MATCHes as MATCHes without whose elements a row does not count."""
    call = counted_alone(pattern.behind)
    argument = None if call is None or call.star else call.arguments[0]
    if not isinstance(argument, Variable):
        return pattern
    arounds = _arounds(pattern)
    at = next((k for k, own in enumerate(_own_names(pattern)) if argument.name in own), -1)
    taken: set[int] = set()
    while at >= 0:
        taken.add(at)
        at = arounds[at]
    matches = [replace(one, optional=False) for k, one in enumerate(pattern.optional) if k in taken]
    left = tuple(one for k, one in enumerate(pattern.optional) if k not in taken)
    return replace(pattern, matches=(*pattern.matches, *matches), optional=left)


def with_optional(
    graph: QueryGraph, tail: Tail, pattern: OnePattern, scope: Scope, default_mode: MatchMode
) -> QueryGraph:
    """The query graph of the MATCHes with those of the OPTIONAL MATCHes.

    tail : what is made of the rows. scope : of the MATCHes. default_mode : of a MATCH
    that names none.

    Raises
    ------
    GdbError : as `binder.bind`; NotSupported where an OPTIONAL MATCH has conditions beyond its graph.
    """
    if graph.mode.distinct or not tail.count_only:
        raise _refused(pattern, pattern.optional[0])
    known = {name: element.index for name, element in scope.names.items()}
    wholes = _Wholes(pattern, scope, default_mode, _arounds(pattern))
    return replace(graph, optional=wholes.within(-1, known, count(len(graph.vertices))))


def _own_names(pattern: OnePattern) -> list[frozenset[str]]:
    """For each OPTIONAL MATCH the names that it is the first to have."""
    known = frozenset[str]().union(*map(_names, pattern.matches))
    found = []
    for match in pattern.optional:
        found.append(_names(match) - known)
        known |= found[-1]
    return found


def _names(match: Match) -> frozenset[str]:
    return frozenset[str]().union(*map(of_pattern, match.patterns))


def _arounds(pattern: OnePattern) -> list[int]:
    """For each OPTIONAL MATCH the last one of whose own names it uses any, -1 for none. Raises NotSupported where
    these are not all around one another."""
    own, arounds = _own_names(pattern), list[int]()
    for k, match in enumerate(pattern.optional):
        used = {j for j in range(k) if own[j] & _names(match)}
        arounds.append(max(used, default=-1))
        path, at = set[int](), arounds[-1]
        while at >= 0:
            path.add(at)
            at = arounds[at]
        if not used <= path:
            raise _refused(pattern, match)
    return arounds


def _refused(pattern: OnePattern, match: Match) -> NotSupported:
    return beyond_pattern(pattern.text, match.place, "this OPTIONAL MATCH is")


@dataclass(frozen=True, slots=True)
class _Wholes:
    """What makes optional graphs. arounds : as `_arounds`."""

    pattern: OnePattern
    scope: Scope
    default_mode: MatchMode
    arounds: Sequence[int]

    def within(
        self, around: int, known: Mapping[str, int], numbers: Iterator[int]
    ) -> tuple[OptionalGraph, ...]:
        """Those of the OPTIONAL MATCHes within one. known : the numbers of the vertices that have names; numbers : of
        others."""
        found = [k for k, up in enumerate(self.arounds) if up == around]
        return tuple(self._graph(k, known, numbers) for k in found)

    def _graph(self, k: int, known: Mapping[str, int], numbers: Iterator[int]) -> OptionalGraph:
        match, base = self.pattern.optional[k], self.scope
        mode = match.mode or self.default_mode
        scope = Scope(base.text, base.snapshot, base.parameters)
        scope.add(match)
        graph = self._own(scope, match, mode)
        own = {name: one.index for name, one in scope.names.items() if one.kind == "vertex"}
        held = tuple((own[name], known[name]) for name in own if name in known)
        shared = {v for v, _ in held}
        bound = [edge for edge in graph.edges if not edge.exists]
        closed = any({edge.source, edge.target} <= shared for edge in bound)
        again = known.keys() & (scope.names.keys() - own.keys())
        if mode.distinct or closed or again or len(shared) == len(graph.vertices):
            raise _refused(self.pattern, match)
        at = dict(held)
        for v in range(len(graph.vertices)):
            if v not in at:
                at[v] = next(numbers)
        seen = {**known, **{name: at[v] for name, v in own.items()}}
        return OptionalGraph(replace(graph, optional=self.within(k, seen, numbers)), held)

    def _own(self, scope: Scope, match: Match, mode: MatchMode) -> QueryGraph:
        """The query graph of an OPTIONAL MATCH by itself. Raises NotSupported where a condition is not in it."""
        where = [] if match.where is None else [match.where]
        found = question.sort_conditions(
            scope, *question.conditions_of(scope, where, self.default_mode)
        )
        allowed = question.candidates(scope, found.pushed, "vertex")
        vertices = [vertex_of(scope, k, allowed) for k in range(len(scope.vertices))]
        found.compare(scope)
        if found.rest:
            raise _refused(self.pattern, match)
        allowed = question.candidates(scope, found.pushed, "edge")
        edges = [edge_of(scope, k, allowed, False) for k in range(len(scope.edges))]
        return found.graph(vertices, edges, mode)
