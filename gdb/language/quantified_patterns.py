"""Patterns that are repeated, `((x)-[:R]->(y) WHERE x.a < y.a){1,3}`, written out: a pattern of one relationship after
the other for each number of repetitions.

Their variables are lists outside (group variables), one item for each repetition. The end of one repetition is
the start of the next, and the outer ends are the nodes around.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import TypeVar

from gdb import limits
from gdb.errors import LimitExceeded
from gdb.language import syntax
from gdb.language.hidden_names import HIDDEN
from gdb.language.pattern_syntax import NodePattern, PathPattern, RelationshipPattern
from gdb.language.report import located_message
from gdb.language.syntax import Comparator, Expression, Name, rebuilt
from gdb.records import dataclass, field, replace

_MOST = 100
"""Ways to choose the numbers of repetitions of one MATCH."""


@dataclass(slots=True)
class Unrolled:
    """The patterns for one choice of the numbers of repetitions.

    conditions : of the repeated patterns. groups : the names whose values are the items of each group variable.
    same : names of nodes that are another one's, since nothing is between them. later : conditions that mention these.
    """

    patterns: list[PathPattern] = field(default_factory=list)
    conditions: list[Expression] = field(default_factory=list)
    groups: dict[str, tuple[str, ...]] = field(default_factory=dict)
    same: dict[str, str] = field(default_factory=dict)
    later: list[Expression] = field(default_factory=list)


def repeats(patterns: Sequence[PathPattern]) -> list[RelationshipPattern]:
    """The repeated patterns in some patterns."""
    return [one for path in patterns for one in path.relationships if one.repeated is not None]


def group_names(one: RelationshipPattern) -> Iterator[tuple[Name, bool]]:
    """The variables of a repeated pattern, and whether they are nodes."""
    assert one.repeated is not None
    for node in one.repeated.nodes:
        if node.variable is not None:
            yield node.variable, True
    for relationship in one.repeated.relationships:
        if relationship.variable is not None:
            yield relationship.variable, False


def unroll_patterns(text: str, patterns: Sequence[PathPattern]) -> list[Unrolled]:
    """The patterns for each choice of the numbers of repetitions.

    Raises
    ------
    LimitExceeded : there are very many choices, or a pattern would be very long.
    """
    several = repeats(patterns)
    never: list[Expression] = []
    spans, choices, longest = list[range](), 1, 0
    for one in several:
        assert one.repeated is not None
        assert one.length is not None
        low, high = one.length.low, one.length.high or 0
        if high < low:  # {3,2}: nothing matches, and the names are there all the same
            never.append(syntax.Literal(False, one.place))
            high = low
        spans.append(range(low, high + 1))
        choices *= len(spans[-1])
        longest += high * len(one.repeated.relationships)
    most = limits.size("MAX_PATTERN_EDGES")
    if choices > _MOST or longest > most:
        what = f"{longest} relationships, more than the limit of {most}"
        what = what if longest > most else f"{choices} numbers of repetitions, more than {_MOST}"
        message = f"the repeated patterns of this MATCH have up to {what}."
        cure = limits.cure("Repeat them less often", "MAX_PATTERN_EDGES")
        raise LimitExceeded(located_message(text, several[0].place, message), cure)
    found = [_Unrolling(patterns, choice).found for choice in product(*spans)]
    for way in found:
        way.conditions += never
    return found


Part = TypeVar("Part", NodePattern, RelationshipPattern)


class _Unrolling:
    """Writes patterns out for one choice of the numbers of repetitions."""

    def __init__(self, patterns: Sequence[PathPattern], counts: Sequence[int]) -> None:
        self.found = Unrolled()
        self.counts, self.fresh = iter(counts), 0
        for path in patterns:
            repeated = any(one.repeated for one in path.relationships)
            self.found.patterns.append(self._path(path) if repeated else path)

    def _path(self, path: PathPattern) -> PathPattern:
        nodes, relationships = [path.nodes[0]], list[RelationshipPattern]()
        for one, end in zip(path.relationships, path.nodes[1:], strict=True):
            if one.repeated is None:
                relationships.append(one)
                nodes.append(end)
                continue
            count = next(self.counts)
            if count == 0:
                nodes[-1] = self._merged(nodes[-1], end)
                self.found.groups.update((name.text, ()) for name, _ in group_names(one))
                continue
            inner, between = self._repetitions(one, count, nodes[-1], end)
            nodes[-1:] = inner
            relationships += between
        return replace(path, nodes=tuple(nodes), relationships=tuple(relationships))

    def _merged(self, left: NodePattern, right: NodePattern) -> NodePattern:
        """Both ends of a pattern that is repeated no time: one node."""
        if left.variable is None or right.variable is None or left.variable == right.variable:
            name = left.variable or right.variable
        else:
            name = left.variable
            self.found.same[right.variable.text] = name.text
        if right.where is not None:
            self.found.later.append(right.where)
        return replace(
            left,
            variable=name,
            labels=(*left.labels, *right.labels),
            properties=(*left.properties, *right.properties),
        )

    def _repetitions(
        self, one: RelationshipPattern, count: int, left: NodePattern, right: NodePattern
    ) -> tuple[list[NodePattern], list[RelationshipPattern]]:
        pattern = one.repeated
        assert pattern is not None
        nodes, relationships = [self._named(left)], list[RelationshipPattern]()
        items: dict[str, list[str]] = {name.text: [] for name, _ in group_names(one)}
        for number in range(count):
            last = number == count - 1
            inner = [nodes[-1], *(self._new(node) for node in pattern.nodes[1:])]
            if last:
                inner[-1] = self._named(right)
            between = [self._new(part) for part in pattern.relationships]
            names = self._names(pattern, inner, between)
            for name, own in names.items():
                items[name].append(own)
            ends = (0, len(inner) - 1)
            for k, node in enumerate(pattern.nodes):
                if k in ends:
                    inner[k] = replace(inner[k], labels=(*inner[k].labels, *node.labels))
                self._conditions(node, inner[k].variable, names)
            for part, own_part in zip(pattern.relationships, between, strict=True):
                self._conditions(part, own_part.variable, names)
            if one.where is not None:
                self.found.conditions.append(_renamed(one.where, names))
            nodes[-1:] = inner
            relationships += between
        self.found.groups.update((name, tuple(own)) for name, own in items.items())
        return nodes, relationships

    def _named(self, node: NodePattern) -> NodePattern:
        return node if node.variable else replace(node, variable=self._fresh(node))

    def _new(self, part: Part) -> Part:
        """A part of a repetition, under a name of its own, and without its conditions."""
        name = self._fresh(part)
        return replace(part, variable=name, properties=(), where=None)

    def _fresh(self, part: NodePattern | RelationshipPattern) -> Name:
        self.fresh += 1
        return Name(f"{HIDDEN}g{self.fresh}", part.place)

    @staticmethod
    def _names(
        pattern: PathPattern, nodes: list[NodePattern], between: list[RelationshipPattern]
    ) -> dict[str, str]:
        """What the variables of the pattern are called in one repetition."""
        own: tuple[NodePattern | RelationshipPattern, ...] = (*nodes, *between)
        return {
            part.variable.text: mine.variable.text
            for part, mine in zip(pattern.parts, own, strict=True)
            if part.variable is not None and mine.variable is not None
        }

    def _conditions(
        self, part: NodePattern | RelationshipPattern, name: Name | None, names: Mapping[str, str]
    ) -> None:
        assert name is not None
        for key, value in part.properties:
            place = key.place.to(value.place)
            subject = syntax.Property(syntax.Variable(name.text, key.place), key, key.place)
            equal = syntax.Comparison(Comparator.EQUAL, subject, _renamed(value, names), place)
            self.found.conditions.append(equal)
        if part.where is not None:
            self.found.conditions.append(_renamed(part.where, names))


def _renamed(expression: Expression, names: Mapping[str, str]) -> Expression:
    def other(part: Expression) -> Expression | None:
        if isinstance(part, syntax.Variable) and part.name in names:
            return syntax.Variable(names[part.name], part.place)
        return None

    return rebuilt(expression, other)
