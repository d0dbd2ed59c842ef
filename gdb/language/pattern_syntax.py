"""The syntax tree of patterns. `gdb.language.syntax` exports them too, beside the expressions."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import TYPE_CHECKING
from typing import Literal as OneOf

from gdb.records import dataclass, field, quick
from gdb.storage.format.direction import Direction

if TYPE_CHECKING:
    from gdb.language.syntax import Expression, LabelTerms, Name, Place


@quick
@dataclass(frozen=True, slots=True)
class NodePattern:
    """(variable:Label {key: value} WHERE where)

    given : a parameter or expression instead of a written map. named : of a node that is created, the labels of
        `:$(expression)`; of one that is matched these are in `where`.
    """

    variable: Name | None
    labels: LabelTerms
    properties: tuple[tuple[Name, Expression], ...]
    place: Place = field(compare=False)
    given: Expression | None = None
    where: Expression | None = None
    named: tuple[Expression, ...] = ()


@dataclass(frozen=True, slots=True)
class Length:
    """How many relationships follow each other: * is 1 to any number, *2 two, *1..3, *..5 (from 1), *0..; `high` None
    has no bound. `{2}`, `{1,3}`, `+` after a relationship are the same."""

    low: int
    high: int | None


@quick
@dataclass(frozen=True, slots=True)
class RelationshipPattern:
    """-[variable:TYPE*1..3 {key: value} WHERE where]->; `direction` as seen from the node to the left. No length is one
    relationship; with a length the variable is a list.

    named : of one that is created, the type of `:$(expression)`. repeated : a pattern in parentheses that is repeated
        `length` times, ((x)-->(y) WHERE where){1,3}; nothing else is said then.
    """

    variable: Name | None
    types: tuple[Name, ...]
    properties: tuple[tuple[Name, Expression], ...]
    direction: Direction
    place: Place = field(compare=False)
    length: Length | None = None
    given: Expression | None = None
    where: Expression | None = None
    named: tuple[Expression, ...] = ()
    repeated: PathPattern | None = None


class PathMode(StrEnum):
    """What may repeat within one path of variable length."""

    TRAIL = "TRAIL"  # no relationship
    WALK = "WALK"  # anything may
    ACYCLIC = "ACYCLIC"  # no node


@dataclass(frozen=True, slots=True)
class Selector:
    """Which paths between the same two ends: ANY (any one), ALL SHORTEST, SHORTEST count (that many, shortest first).
    shortestPath(...) is SHORTEST 1, allShortestPaths(...) ALL SHORTEST."""

    kind: OneOf["ANY", "ALL SHORTEST", "SHORTEST"]
    count: int = 1


@quick
@dataclass(frozen=True, slots=True)
class PathPattern:
    """name = nodes, and the relationships between each and the next: one fewer."""

    nodes: tuple[NodePattern, ...]
    relationships: tuple[RelationshipPattern, ...]
    name: Name | None = None
    selector: Selector | None = None
    mode: PathMode = PathMode.TRAIL

    @property
    def parts(self) -> tuple[NodePattern | RelationshipPattern, ...]:
        """Its nodes, then its relationships."""
        return (*self.nodes, *self.relationships)


def values(part: NodePattern | RelationshipPattern) -> Iterator[Expression]:
    """What is written in a node or relationship for its properties."""
    for _, value in part.properties:
        yield value
    if part.given is not None:
        yield part.given
