"""The syntax tree of a query: its clauses. `parser.parse` makes a `Query`."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias, TypeVar

from gdb.language import syntax
from gdb.language.dynamic_labels import HasNamed
from gdb.language.pattern_syntax import NodePattern, PathPattern, RelationshipPattern
from gdb.language.syntax import Connective, Expression, Name, Place
from gdb.query_graph import MatchMode
from gdb.records import dataclass, field, replace

if TYPE_CHECKING:
    from gdb.language.long_constants import Constant

# ---- reading -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Match:
    """[OPTIONAL] MATCH mode pattern, pattern, ... WHERE condition; no mode leaves it to the database.

    of : where several MATCH were put together (`gdb.logical.merge_matches`), the number of the one that each pattern
        comes from: relationships differ within one. Else empty.
    needed : where rows that are alike in these names may be one row (`gdb.logical.distinct_matches`); None where each
        row counts.
    """

    mode: MatchMode | None
    patterns: tuple[PathPattern, ...]
    where: Expression | None
    optional: bool = False
    place: Place = field(compare=False, default=Place(0, 0))
    of: tuple[int, ...] = ()
    needed: frozenset[str] | None = field(compare=False, default=None)

    @property
    def numbered(self) -> list[tuple[int, PathPattern]]:
        """The patterns, each with the number of its MATCH."""
        return list(zip(self.of or (0,) * len(self.patterns), self.patterns, strict=True))


@dataclass(frozen=True, slots=True)
class Unwind:
    """UNWIND list AS variable"""

    list: Expression
    variable: Name
    place: Place = field(compare=False)


@dataclass(frozen=True, slots=True)
class ReturnItem:
    """expression AS alias; `text` is the expression as written, the column's name where there is no alias."""

    expression: Expression
    alias: Name | None
    text: str = field(compare=False)

    @property
    def name(self) -> str:
        """The name of the column."""
        return self.alias.text if self.alias else self.text


@dataclass(frozen=True, slots=True)
class SortItem:
    """expression [ASC | DESC] [NULLS FIRST | NULLS LAST]; null is the largest value where nothing is said."""

    expression: Expression
    descending: bool = False
    nulls_first: bool | None = None


@dataclass(frozen=True, slots=True)
class Return:
    """RETURN [DISTINCT] [*,] items ORDER BY order SKIP skip LIMIT limit; `everything` says that it has the *."""

    place: Place = field(compare=False)
    distinct: bool
    everything: bool
    items: tuple[ReturnItem, ...]
    order: tuple[SortItem, ...] = ()
    skip: Expression | None = None
    limit: Expression | None = None


@dataclass(frozen=True, slots=True)
class With:
    """WITH, which is RETURN in the middle of a query, and WHERE behind it."""

    projection: Return
    where: Expression | None
    place: Place = field(compare=False)


@dataclass(frozen=True, slots=True)
class Finish:
    """FINISH: the query ends, and gives nothing back."""

    place: Place = field(compare=False)


@dataclass(frozen=True, slots=True)
class CallSubquery:
    """CALL { query }, CALL (a, b) { query }, CALL (*) { query }. imports : the variables that it sees; None where its
    first WITH says so (the older form), ("*",) for all. optional : OPTIONAL CALL."""

    query: Query
    imports: tuple[Name, ...] | None
    place: Place = field(compare=False)
    optional: bool = False


@dataclass(frozen=True, slots=True)
class CallProcedure:
    """CALL name(arguments) YIELD item AS alias, ... WHERE where; arguments None without parentheses; yields None
    without YIELD, or with `everything` the sign *."""

    name: Name
    arguments: tuple[Expression, ...] | None
    yields: tuple[tuple[Name, Name], ...] | None
    place: Place = field(compare=False)
    everything: bool = False
    where: Expression | None = None


@dataclass(frozen=True, slots=True)
class LoadCsv:
    """LOAD CSV [WITH HEADERS] FROM source AS variable [FIELDTERMINATOR ';']"""

    headers: bool
    source: Expression
    variable: Name
    terminator: str
    place: Place = field(compare=False)


# ---- writing -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Create:
    """CREATE pattern, pattern, ..."""

    patterns: tuple[PathPattern, ...]
    place: Place = field(compare=False)


@dataclass(frozen=True, slots=True)
class BulkPattern:
    """A pattern in which variables replace names and literals.

    known : the numbers of the names that are those of nodes that are there, and their variables. new : of what it
    makes. values : the variables of the literals.
    """

    path: PathPattern
    known: tuple[tuple[int, str], ...]
    new: tuple[tuple[int, str], ...]
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class BulkCreate:
    """CREATE pattern, pattern, ... of very many patterns that are literals (`gdb.language.bulk`).

    shapes : of the patterns. rows : for each pattern the number of its shape, its names and its literals. nodes,
    relationships : the names that they bring, in their order. text : as it is written.
    """

    shapes: tuple[BulkPattern, ...]
    rows: Sequence[tuple[int, tuple[str, ...], tuple[int | float | bool | str, ...]]]
    nodes: Collection[str]
    relationships: Collection[str]
    text: str
    place: Place = field(compare=False)


@dataclass(frozen=True, slots=True)
class SetProperty:
    """subject.key = value, or subject[key] = value"""

    target: syntax.Property | syntax.Index
    value: Expression
    place: Place = field(compare=False)


@dataclass(frozen=True, slots=True)
class SetAll:
    """variable = map, or with `add` variable += map"""

    variable: syntax.Variable
    value: Expression
    add: bool
    place: Place = field(compare=False)


@dataclass(frozen=True, slots=True)
class SetLabels:
    """variable:Label:$(expression); named : the expressions."""

    variable: syntax.Variable
    labels: tuple[Name, ...]
    place: Place = field(compare=False)
    named: tuple[Expression, ...] = ()


SetItem: TypeAlias = SetProperty | SetAll | SetLabels


@dataclass(frozen=True, slots=True)
class Set:
    """SET item, item, ..."""

    items: tuple[SetItem, ...]
    place: Place = field(compare=False)


@dataclass(frozen=True, slots=True)
class Remove:
    """REMOVE n.key, n:Label, n:$(expression), ...; a HasLabels has one label in each of its terms."""

    items: tuple[syntax.Property | syntax.Index | syntax.HasLabels | HasNamed, ...]
    place: Place = field(compare=False)


@dataclass(frozen=True, slots=True)
class Delete:
    """[DETACH] DELETE expression, ..."""

    targets: tuple[Expression, ...]
    detach: bool
    place: Place = field(compare=False)


@dataclass(frozen=True, slots=True)
class Merge:
    """MERGE pattern ON CREATE SET ... ON MATCH SET ..."""

    pattern: PathPattern
    on_create: tuple[SetItem, ...]
    on_match: tuple[SetItem, ...]
    place: Place = field(compare=False)


@dataclass(frozen=True, slots=True)
class Foreach:
    """FOREACH (variable IN list | clauses), clauses that write."""

    variable: Name
    list: Expression
    clauses: tuple[Clause, ...]
    place: Place = field(compare=False)


Clause: TypeAlias = (
    Match
    | Unwind
    | With
    | Return
    | Finish
    | CallSubquery
    | CallProcedure
    | LoadCsv
    | Create
    | BulkCreate
    | Set
    | Remove
    | Delete
    | Merge
    | Foreach
)
WRITING = (Create, BulkCreate, Set, Remove, Delete, Merge, Foreach)


# ---- the whole -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Copy:
    """COPY what FROM source, source, ... OPTIONS options

    what : "nodes" of (:name), "relationships" of ()-[:name]->(), or the "graph" that the files themselves define.
    name : label or type, None where the files name them. directed : of relationships, whether there is an arrow.
    ends : labels of both ends of relationships, None where they are not named.
    """

    what: Literal["nodes", "relationships", "graph"]
    name: Name | None
    directed: bool
    sources: tuple[Expression, ...]
    options: Expression | None
    place: Place = field(compare=False)
    ends: tuple[Name, Name] | None = None


@dataclass(frozen=True, slots=True)
class CopyTo:
    """COPY (query) TO target OPTIONS options

    query : which gives the rows; its text has the place that it has in the whole. target : a file or a folder.
    """

    query: Query
    target: Expression
    options: Expression | None
    place: Place = field(compare=False)


@dataclass(frozen=True, slots=True)
class Query:
    """[EXPLAIN | PROFILE] clauses UNION [ALL] clauses ...; `text` is the whole text, for errors.

    parts : the clauses of each side of UNION; one where there is none, none of COPY. all : for each UNION whether it is
        UNION ALL; one fewer than parts. copying : COPY, which is a query by itself. constants : its long lists of
        constants, parameters that every run of it has.
    """

    text: str = field(compare=False)
    parts: tuple[tuple[Clause, ...], ...]
    all: tuple[bool, ...] = ()
    explain: bool = False
    profile: bool = False
    copying: Copy | CopyTo | None = None
    constants: Mapping[str, list[Constant]] = field(default_factory=dict, compare=False)

    @property
    def alone(self) -> CallProcedure | None:
        """The CALL of a procedure that is the whole query: what it gives is the answer."""
        if len(self.parts) == 1 and len(self.parts[0]) == 1:
            (clause,) = self.parts[0]
            return clause if isinstance(clause, CallProcedure) else None
        return None


def imports_names(clause: Clause) -> bool:
    """Whether it is WITH a, b: names only, so that in front of CALL { } they are taken from around it."""
    if not isinstance(clause, With) or clause.where is not None:
        return False
    projection = clause.projection
    if projection.distinct or projection.order or projection.skip or projection.limit:
        return False
    return all(
        isinstance(item.expression, syntax.Variable) and item.name == item.expression.name
        for item in projection.items
    )


def hoist_conditions(match: Match) -> Match:
    """The same clause with the conditions of its nodes and single relationships behind its patterns."""
    moved: list[Expression] = []
    if all(part.where is None for path in match.patterns for part in path.parts):
        return match

    def bare(part: Part) -> Part:
        if part.where is None or (isinstance(part, RelationshipPattern) and part.length):
            return part
        moved.append(part.where)
        return replace(part, where=None)

    patterns = tuple(
        replace(
            path,
            nodes=tuple(map(bare, path.nodes)),
            relationships=tuple(map(bare, path.relationships)),
        )
        for path in match.patterns
    )
    if not moved:
        return match
    operands = (*moved, *(() if match.where is None else (match.where,)))
    place = operands[0].place.to(operands[-1].place)
    whole = operands[0] if len(operands) == 1 else syntax.Connected(Connective.AND, operands, place)
    return replace(match, patterns=patterns, where=whole)


Part = TypeVar("Part", NodePattern, RelationshipPattern)
