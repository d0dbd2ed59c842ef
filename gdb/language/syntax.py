"""The syntax tree of expressions and patterns. `gdb.language.clauses` has the clauses around them.

The tree holds names and values as they were written, and for each part its place in the text, which every later error
can point at. Chains of one operator (`a AND b AND c`, `1 + 2 - 3`) are one node, so that a long query is not
a deep one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import StrEnum
from typing import TYPE_CHECKING, TypeAlias, cast
from typing import Literal as OneOf

from gdb.language.dynamic_labels import HasNamed
from gdb.language.pattern_syntax import Length as Length
from gdb.language.pattern_syntax import NodePattern as NodePattern
from gdb.language.pattern_syntax import PathMode as PathMode
from gdb.language.pattern_syntax import PathPattern as PathPattern
from gdb.language.pattern_syntax import RelationshipPattern as RelationshipPattern
from gdb.language.pattern_syntax import Selector as Selector
from gdb.language.value_types import IsNormalized, IsTyped
from gdb.records import dataclass, field, quick, replace

if TYPE_CHECKING:
    from gdb.language.clauses import Query


@quick
@dataclass(frozen=True, slots=True)
class Place:
    """A part of the query's text: characters start (inclusive) to end (exclusive)."""

    start: int
    end: int

    def to(self, other: Place) -> Place:
        """From the begin of this place to the end of the other."""
        return Place(self.start, other.end)


@quick
@dataclass(frozen=True, slots=True)
class Name:
    """A name as the user wrote it, without backquotes."""

    text: str
    place: Place = field(compare=False)


class Connective(StrEnum):
    """What joins two conditions."""

    AND = "AND"
    OR = "OR"
    XOR = "XOR"


class Comparator(StrEnum):
    """What compares two values."""

    EQUAL = "="
    UNEQUAL = "<>"
    LESS = "<"
    LESS_EQUAL = "<="
    GREATER = ">"
    GREATER_EQUAL = ">="


class StringOperator(StrEnum):
    """What compares two texts."""

    STARTS_WITH = "STARTS WITH"
    ENDS_WITH = "ENDS WITH"
    CONTAINS = "CONTAINS"
    MATCHES = "=~"


ArithmeticOperator: TypeAlias = OneOf["+", "-", "||", "*", "/", "%", "^"]
Quantifier: TypeAlias = OneOf["all", "any", "none", "single"]
SubqueryKind: TypeAlias = OneOf["EXISTS", "COUNT", "COLLECT"]
LabelTerms: TypeAlias = "tuple[tuple[Name, ...], ...]"
"""An AND of ORs: ((A,), (B, C)) is :A&(B|C)."""


# ---- expressions --------------------------------------------------------------------------------


@quick
@dataclass(frozen=True, slots=True, eq=False)
class Literal:
    """A number, string, boolean or null. Two are equal where they are of one type as well: 2 is not 2.0, nor 1 true,
    nor 0.0 -0.0."""

    value: int | float | bool | str | None
    place: Place

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Literal) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[object, ...]:
        value = self.value
        if isinstance(value, float):  # -0.0 == 0.0, and NaN is not NaN
            return float, repr(value)
        return type(value), value


@quick
@dataclass(frozen=True, slots=True)
class Parameter:
    """$name"""

    name: str
    place: Place = field(compare=False)


@quick
@dataclass(frozen=True, slots=True)
class Variable:
    """A name by itself: of a node, a relationship, or (in ORDER BY) a column."""

    name: str
    place: Place = field(compare=False)


@quick
@dataclass(frozen=True, slots=True)
class ElementReference:
    """Query vertex or query edge `index`. The binder writes it for property maps; no text makes it."""

    kind: OneOf["vertex", "edge"]
    index: int
    place: Place = field(compare=False)


@quick
@dataclass(frozen=True, slots=True)
class Property:
    """subject.key"""

    subject: Expression
    key: Name
    place: Place = field(compare=False)


@quick
@dataclass(frozen=True, slots=True)
class ListLiteral:
    """[item, ...]"""

    items: tuple[Expression, ...]
    place: Place = field(compare=False)


@quick
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


@quick
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


@quick
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


@quick
@dataclass(frozen=True, slots=True)
class Call:
    """function(arguments), function(DISTINCT argument), or count(*) (star, no arguments)."""

    function: Name
    arguments: tuple[Expression, ...]
    place: Place = field(compare=False)
    distinct: bool = False
    star: bool = False


@quick
@dataclass(frozen=True, slots=True)
class MapLiteral:
    """{key: value, ...}; no key occurs twice."""

    entries: tuple[tuple[Name, Expression], ...]
    place: Place = field(compare=False)


@dataclass(frozen=True, slots=True)
class MapProjection:
    """subject{.key, .*, name, key: value}: `.key` is the entry key: subject.key, `name` the entry name: name.

    everything : it has .*, all properties of the subject, which entries override.
    """

    subject: Variable
    everything: bool
    entries: tuple[tuple[Name, Expression], ...]
    place: Place = field(compare=False)


@dataclass(frozen=True, slots=True)
class Index:
    """subject[index], of a list by number (from the end where negative), of a map or element by key."""

    subject: Expression
    index: Expression
    place: Place = field(compare=False)


@dataclass(frozen=True, slots=True)
class Slice:
    """subject[start..stop], of a list; stop is exclusive."""

    subject: Expression
    start: Expression | None
    stop: Expression | None
    place: Place = field(compare=False)


@dataclass(frozen=True, slots=True)
class Case:
    """CASE [subject] WHEN condition THEN value ... [ELSE default] END; with a subject conditions are values that it may
    equal."""

    subject: Expression | None
    branches: tuple[tuple[Expression, Expression], ...]
    default: Expression | None
    place: Place = field(compare=False)


@dataclass(frozen=True, slots=True)
class ListComprehension:
    """[variable IN list WHERE where | result]; without a result the items themselves."""

    variable: Name
    list: Expression
    where: Expression | None
    result: Expression | None
    place: Place = field(compare=False)


@dataclass(frozen=True, slots=True)
class Quantified:
    """all(variable IN list WHERE where), and so on."""

    quantifier: Quantifier
    variable: Name
    list: Expression
    where: Expression
    place: Place = field(compare=False)


@dataclass(frozen=True, slots=True)
class Reduce:
    """reduce(total = initial, variable IN list | result)"""

    total: Name
    initial: Expression
    variable: Name
    list: Expression
    result: Expression
    place: Place = field(compare=False)


@dataclass(frozen=True, slots=True)
class PatternComprehension:
    """[path = (a)-->(b) WHERE where | result]; the path's name is the pattern's."""

    pattern: PathPattern
    where: Expression | None
    result: Expression
    place: Place = field(compare=False)


@dataclass(frozen=True, slots=True)
class PatternTest:
    """(a)-->(b) as a condition: whether there is such a path. exists(pattern) is the same."""

    pattern: PathPattern
    place: Place = field(compare=False)


@dataclass(frozen=True, slots=True)
class Subquery:
    """EXISTS { query }, COUNT { query }, COLLECT { query }. The query may use the names around it. Of EXISTS and
    COUNT it may be a bare pattern: then it is one MATCH without RETURN."""

    kind: SubqueryKind
    query: Query
    place: Place = field(compare=False)


Expression: TypeAlias = (
    Literal
    | Parameter
    | Variable
    | ElementReference
    | Property
    | ListLiteral
    | Connected
    | Not
    | Comparison
    | StringTest
    | In
    | IsNull
    | IsTyped
    | IsNormalized
    | Arithmetic
    | Negative
    | HasLabels
    | HasNamed
    | Call
    | MapLiteral
    | MapProjection
    | Index
    | Slice
    | Case
    | ListComprehension
    | Quantified
    | Reduce
    | PatternComprehension
    | PatternTest
    | Subquery
)


_OPERANDS: dict[type, tuple[str, ...]] = {
    **dict.fromkeys((Property, HasLabels), ("subject",)),
    **dict.fromkeys((Not, Negative, IsNull, IsTyped, IsNormalized), ("operand",)),
    **dict.fromkeys((Comparison, StringTest), ("left", "right")),
    HasNamed: ("subject", "names"),
    ListLiteral: ("items",),
    Connected: ("operands",),
    Call: ("arguments",),
    In: ("item", "list"),
    Arithmetic: ("first", "rest"),
    MapLiteral: ("entries",),
    MapProjection: ("subject", "entries"),
    Index: ("subject", "index"),
    Slice: ("subject", "start", "stop"),
    Case: ("subject", "branches", "default"),
    ListComprehension: ("list", "where", "result"),
    Quantified: ("list", "where"),
    Reduce: ("initial", "list", "result"),
    PatternComprehension: ("where", "result"),
}
"""The fields of each kind of expression that hold its operands, in the order of the text. A field is an expression,
None, or a tuple of expressions, or of pairs with an expression: of an operator and it, of a name and it, of two."""


def children(expression: Expression) -> tuple[Expression, ...]:
    """The operands of an expression, in the order of the text. Expressions in a pattern or a subquery inside it are not
    among them; those in the scope of a comprehension's variable are."""
    found: list[Expression] = []
    for name in _OPERANDS.get(type(expression), ()):
        held = getattr(expression, name)
        if type(held) is not tuple:
            found += () if held is None else (held,)
            continue
        for one in held:
            if type(one) is tuple:
                found += [part for part in one if not isinstance(part, (str, Name))]
            else:
                found.append(one)
    return tuple(found)


def rebuilt(
    expression: Expression, replaced: Callable[[Expression], Expression | None]
) -> Expression:
    """The expression in which every part for which `replaced` gives another is that other, outer parts first; patterns
    and subqueries stay, and so does the variable that a map projection is of."""
    other = replaced(expression)
    if other is not None:
        return other
    names = _OPERANDS.get(type(expression), ())
    if isinstance(expression, MapProjection):
        names = ("entries",)
    if not names:
        return expression
    changed = {name: _mapped(getattr(expression, name), replaced) for name in names}
    return cast("Callable[..., Expression]", replace)(expression, **changed)


def _mapped(held: object, replaced: Callable[[Expression], Expression | None]) -> object:
    """A field with its expressions rebuilt, see `_OPERANDS`."""
    if isinstance(held, tuple):
        return tuple([_mapped(one, replaced) for one in held])
    if held is None or isinstance(held, (str, Name)):
        return held
    return rebuilt(cast("Expression", held), replaced)


def walk(expression: Expression) -> Iterator[Expression]:
    """The expression and everything in it, without recursion."""
    waiting = [expression]
    while waiting:
        found = waiting.pop()
        yield found
        if type(found) not in _LEAVES:
            waiting.extend(reversed(children(found)))


_LEAVES = frozenset({Literal, Parameter, Variable, ElementReference, PatternTest, Subquery})


def brings(expression: Expression) -> frozenset[str]:
    """The variables that an expression has of its own."""
    match expression:
        case ListComprehension(variable=variable) | Quantified(variable=variable):
            return frozenset([variable.text])
        case Reduce(total=total, variable=variable):
            return frozenset([total.text, variable.text])
        case PatternComprehension(pattern=pattern):
            names = [pattern.name, *(part.variable for part in pattern.parts)]
            return frozenset(name.text for name in names if name is not None)
        case _:
            return frozenset()


def own_variables(expression: Expression) -> frozenset[str]:
    """The names that the parts of an expression have of their own."""
    return frozenset[str]().union(*map(brings, walk(expression)))
