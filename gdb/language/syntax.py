"""What a query says, as a tree: the dataclasses that `parser.parse` makes and `binder.bind` reads.

The tree holds names and values as they were written, and for each part its place in the text, so that every later
error can point there. Chains of one operator (`a AND b AND c`, `1 + 2 - 3`) are one node, so that a long query is not
a deep one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal as OneOf
from typing import TypeAlias

from gdb.query_graph import MatchMode
from gdb.storage.adjacency import Direction


@dataclass(frozen=True, slots=True)
class Place:
    """A part of the query's text: characters start (inclusive) to end (exclusive)."""

    start: int
    end: int

    def to(self, other: Place) -> Place:
        """From the begin of this place to the end of the other."""
        return Place(self.start, other.end)


@dataclass(frozen=True, slots=True)
class Name:
    """A name as the user wrote it, without backquotes."""

    text: str
    place: Place = field(compare=False)


class Connective(StrEnum):
    AND = "AND"
    OR = "OR"
    XOR = "XOR"


class Comparator(StrEnum):
    EQUAL = "="
    UNEQUAL = "<>"
    LESS = "<"
    LESS_EQUAL = "<="
    GREATER = ">"
    GREATER_EQUAL = ">="


class StringOperator(StrEnum):
    STARTS_WITH = "STARTS WITH"
    ENDS_WITH = "ENDS WITH"
    CONTAINS = "CONTAINS"


ArithmeticOperator: TypeAlias = OneOf["+", "-", "*", "/", "%", "^"]
LabelTerms: TypeAlias = "tuple[tuple[Name, ...], ...]"
"""An AND of ORs: ((A,), (B, C)) is :A&(B|C)."""


# ---- expressions --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Literal:
    """A number, string, boolean or null."""

    value: int | float | bool | str | None
    place: Place = field(compare=False)


@dataclass(frozen=True, slots=True)
class Parameter:
    """$name"""

    name: str
    place: Place = field(compare=False)


@dataclass(frozen=True, slots=True)
class Variable:
    """A name that stands alone: of a node, a relationship, or (in ORDER BY) a column."""

    name: str
    place: Place = field(compare=False)


@dataclass(frozen=True, slots=True)
class Element:
    """Query vertex or query edge `index`. The binder writes it for property maps; no text makes it."""

    kind: OneOf["vertex", "edge"]
    index: int
    place: Place = field(compare=False)


@dataclass(frozen=True, slots=True)
class Property:
    """subject.key"""

    subject: Expression
    key: Name
    place: Place = field(compare=False)


@dataclass(frozen=True, slots=True)
class ListLiteral:
    """[item, ...]"""

    items: tuple[Expression, ...]
    place: Place = field(compare=False)


@dataclass(frozen=True, slots=True)
class Connected:
    """Two or more operands joined by AND, OR or XOR."""

    connective: Connective
    operands: tuple[Expression, ...]
    place: Place = field(compare=False)


@dataclass(frozen=True, slots=True)
class Not:
    """NOT operand"""

    operand: Expression
    place: Place = field(compare=False)


@dataclass(frozen=True, slots=True)
class Comparison:
    """left = right, and so on; a chain a < b < c is the AND of its comparisons."""

    operator: Comparator
    left: Expression
    right: Expression
    place: Place = field(compare=False)


@dataclass(frozen=True, slots=True)
class StringTest:
    """left STARTS WITH right, and so on."""

    operator: StringOperator
    left: Expression
    right: Expression
    place: Place = field(compare=False)


@dataclass(frozen=True, slots=True)
class In:
    """item IN list"""

    item: Expression
    list: Expression
    place: Place = field(compare=False)


@dataclass(frozen=True, slots=True)
class IsNull:
    """operand IS [NOT] NULL"""

    operand: Expression
    negated: bool
    place: Place = field(compare=False)


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """first, then (operator, operand) from left to right; the operators are of one precedence."""

    first: Expression
    rest: tuple[tuple[ArithmeticOperator, Expression], ...]
    place: Place = field(compare=False)


@dataclass(frozen=True, slots=True)
class Negative:
    """-operand"""

    operand: Expression
    place: Place = field(compare=False)


@dataclass(frozen=True, slots=True)
class HasLabels:
    """subject:Label, of a node; of a relationship, its type."""

    subject: Expression
    labels: LabelTerms
    place: Place = field(compare=False)


@dataclass(frozen=True, slots=True)
class Call:
    """function(arguments), function(DISTINCT argument), or count(*) (star, no arguments)."""

    function: Name
    arguments: tuple[Expression, ...]
    place: Place = field(compare=False)
    distinct: bool = False
    star: bool = False


Expression: TypeAlias = (
    Literal
    | Parameter
    | Variable
    | Element
    | Property
    | ListLiteral
    | Connected
    | Not
    | Comparison
    | StringTest
    | In
    | IsNull
    | Arithmetic
    | Negative
    | HasLabels
    | Call
)


def children(expression: Expression) -> tuple[Expression, ...]:
    """The operands of an expression, in the order of the text."""
    match expression:
        case Property(subject=inner) | HasLabels(subject=inner):
            return (inner,)
        case Not(operand=inner) | Negative(operand=inner) | IsNull(operand=inner):
            return (inner,)
        case ListLiteral(items=several) | Connected(operands=several) | Call(arguments=several):
            return several
        case Comparison(left=left, right=right) | StringTest(left=left, right=right):
            return left, right
        case In(item=left, list=right):
            return left, right
        case Arithmetic(first=first, rest=rest):
            return first, *(operand for _, operand in rest)
        case _:
            return ()


def walk(expression: Expression) -> Iterator[Expression]:
    """The expression and everything in it, without recursion."""
    waiting = [expression]
    while waiting:
        found = waiting.pop()
        yield found
        waiting.extend(reversed(children(found)))


# ---- patterns -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class NodePattern:
    """(variable:Label {key: value})"""

    variable: Name | None
    labels: LabelTerms
    properties: tuple[tuple[Name, Expression], ...]
    place: Place = field(compare=False)


@dataclass(frozen=True, slots=True)
class RelationshipPattern:
    """-[variable:TYPE {key: value}]->; `direction` as seen from the node to the left."""

    variable: Name | None
    types: tuple[Name, ...]
    properties: tuple[tuple[Name, Expression], ...]
    direction: Direction
    place: Place = field(compare=False)


@dataclass(frozen=True, slots=True)
class PathPattern:
    """Nodes, and the relationships between each and the next: one fewer."""

    nodes: tuple[NodePattern, ...]
    relationships: tuple[RelationshipPattern, ...]


# ---- clauses ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Match:
    """MATCH mode pattern, pattern, ... WHERE condition; no mode leaves it to the database."""

    mode: MatchMode | None
    patterns: tuple[PathPattern, ...]
    where: Expression | None


@dataclass(frozen=True, slots=True)
class ReturnItem:
    """expression AS alias; `text` is the expression as written, the column's name where there is no alias."""

    expression: Expression
    alias: Name | None
    text: str

    @property
    def name(self) -> str:
        return self.alias.text if self.alias else self.text


@dataclass(frozen=True, slots=True)
class SortItem:
    """expression [ASC | DESC]"""

    expression: Expression
    descending: bool = False


@dataclass(frozen=True, slots=True)
class Return:
    """RETURN [DISTINCT] [*,] items ORDER BY order SKIP skip LIMIT limit; `star` is the place of the *."""

    place: Place = field(compare=False)
    distinct: bool
    star: Place | None
    items: tuple[ReturnItem, ...]
    order: tuple[SortItem, ...] = ()
    skip: Literal | Parameter | None = None
    limit: Literal | Parameter | None = None


@dataclass(frozen=True, slots=True)
class Query:
    """[EXPLAIN | PROFILE] MATCH ... RETURN ...; `text` is the whole query, for errors."""

    text: str = field(compare=False)
    explain: bool
    match: Match
    returning: Return
    profile: bool = False
