"""The steps of a chain, in the order in which they run. All names in them are made up: r1, f2, v3, ...; never the
user's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from gdb.records import dataclass, field

if TYPE_CHECKING:
    from gdb.executor.relational.relational_tail import ColumnRef, Output, Value
    from gdb.functions.types import Type
    from gdb.physical.rows.pattern import Component, Condition, Pattern, RowEdge


CUT = "most"
"""The parameter of how many rows are made at most."""


@dataclass(frozen=True, slots=True)
class Made:
    """A relation becomes a table. sql : the statement that makes it. what : a message for PROFILE, what the rows are.
    part : as `Found`. cut : the statement that makes no more than `CUT` of its rows; "" where none is run."""

    name: str
    sql: str
    parameters: Mapping[str, Value] = field(default_factory=dict, compare=False)
    what: str = ""
    part: bool = False
    cut: str = ""


@dataclass(frozen=True, slots=True)
class Sought:
    """A vertex is one of those that hold a value. table : of the values, in its column v. key : the property, None for
    the id. groups : the vertex groups that its labels admit."""

    table: str
    key: str | None
    groups: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Found:
    """A component of a pattern is matched, and becomes a table.

    conditions : of one element each, that the executors apply. bound : what elements may be: by the pattern's name, a
        table and its column of vids or edge ids. columns : the wanted elements and their columns in the table.
    values : what is taken from the store for them.
    once : only the distinct values of the wanted vertices are needed; the rows bind all of these.
    number : the column of how many embeddings there are for each value of the one wanted vertex, or of several that
        the rows bind, or where none is wanted in all, no row for none; None for a row for each embedding.
    part : some of its rows lead to some of the rows that the chain makes of all of them.
    sought : what vertices are held to by values of the rows, by the pattern's name.
    beside : what is matched at the one vertex of the component, and becomes columns of the same table: the `number` of
        each is how many embeddings there are for the vertex, with `once` 1 where there are any; null where there is
        none. held : the table has the vertices that lead to an embedding, and no others.
    """

    name: str
    pattern: Pattern
    component: Component
    conditions: tuple[Condition, ...]
    bound: Mapping[str, tuple[str, str]]
    columns: Mapping[str, str]
    values: tuple[ColumnRef, ...] = ()
    once: bool = False
    number: str | None = None
    part: bool = False
    what: str = ""
    sought: Mapping[str, Sought] = field(default_factory=dict)
    beside: tuple[Found, ...] = ()
    held: bool = False

    def alone(self, column: str) -> bool:
        """Whether a column has the vertices that the step lists, one for each row."""
        single = len(self.component.vertices) == 1 and not self.component.edges
        listed = self.number is None and not self.once and not self.sought
        return single and listed and column in self.columns.values()

    @property
    def how(self) -> str:
        """What is needed of its embeddings, and which vertices are looked up by values of the rows."""
        keys = [f"{name} by {one.key or 'id'}" for name, one in self.sought.items()]
        return ", ".join([self._output_text, *(f"looked up {key}" for key in keys)])

    @property
    def _output_text(self) -> str:
        each = ", ".join(name if not name.startswith(" ") else "one end" for name in self.columns)
        if self.once:
            return f"the first for each {each}"
        if self.number is not None:
            return f"counted for each {each}" if each else "counted"
        return "listed"


@dataclass(frozen=True, slots=True)
class Looked:
    """Properties, ids, labels or types of the elements in a column of a table become a table, one row for
    each element, with the element in the column `key`."""

    name: str
    table: str
    column: str
    key: str
    columns: tuple[ColumnRef, ...]


@dataclass(frozen=True, slots=True)
class End:
    """The vertices allowed at an end of a relationship of variable length: those in a column of a table, or where there
    is none those that satisfy its labels and conditions."""

    name: str
    place: tuple[str, str] | None = None
    conditions: tuple[Condition, ...] = ()


@dataclass(frozen=True, slots=True)
class Walked:
    """The ends of a relationship of variable length become a table. It has all paths of the ends that it is given, so
    that of some of these, where LIMIT stops early, it makes some of the rows.

    left, right : its ends. columns : the wanted vertices and their columns in the table. values : what is taken from
        the store for them; vertex 0 is the left one.
    once : all paths with the same ends are as one, and one row where their length is not needed.
    used : columns of relationships that the paths may not use, in `used_table`, which has an end as well, and as they
        are called here.
    length, number : columns for the length of a path, and for the number of paths; None where they are not needed.
    """

    name: str
    pattern: Pattern
    edge: RowEdge
    left: End
    right: End
    columns: Mapping[str, str]
    values: tuple[ColumnRef, ...] = ()
    once: bool = False
    used: Mapping[str, str] = field(default_factory=dict)
    used_table: str | None = None
    length: str | None = None
    number: str | None = None
    what: str = ""

    @property
    def listed(self) -> bool:
        """Whether every path is a row."""
        return self.length is not None or not (self.once or self.number is not None)

    @property
    def how(self) -> str:
        """What is kept of its paths."""
        if self.edge.selector is not None:
            return "shortest paths"
        if self.number is not None:
            return "paths are counted, not listed"
        return "every path" if self.listed else "only where paths end"


@dataclass(frozen=True, slots=True)
class FirstRows:
    """Steps whose last one makes a table of at most `enough` rows, whichever: they run over the first rows that are
    found, and over more of them as long as these are too few."""

    steps: tuple[Step, ...]
    enough: int

    @property
    def name(self) -> str:
        """The name of the table."""
        last = self.steps[-1]
        return last.name


Step: TypeAlias = Made | Found | Walked | Looked | FirstRows


@dataclass(slots=True)
class Ownership:
    """Which operator each step is of, for EXPLAIN and PROFILE; operators by `id`.

    apart : whether each operator makes a table of its own, so that it can be measured; else DuckDB runs several as one
        statement.
    owners : of steps, by name. tables : the table of each operator's rows, and the column with the number of rows that
        each row of it represents, None for one.
    """

    apart: bool = False
    owners: dict[str, int] = field(default_factory=dict)
    tables: list[tuple[int, str, str | None]] = field(default_factory=list)

    def own(self, steps: Sequence[Step], operator: object) -> None:
        """The steps that nothing owns are the operator's."""
        for step in _flat(steps):
            self.owners.setdefault(step.name, id(operator))


@dataclass(frozen=True, slots=True)
class Chain:
    """A compiled query. sql : the last SELECT, which gives o0, o1, ... types : of these.
    ownership : where its plan is needed."""

    steps: tuple[Step, ...]
    sql: str
    parameters: Mapping[str, Value]
    outputs: tuple[Output, ...]
    types: tuple[Type, ...] = ()
    ownership: Ownership | None = None

    def owned(self, operator: object) -> list[Made | Found | Walked | Looked]:
        """The steps of an operator."""
        of = {} if self.ownership is None else self.ownership.owners
        return [step for step in _flat(self.steps) if of.get(step.name) == id(operator)]


def _flat(steps: Sequence[Step]) -> Iterator[Made | Found | Walked | Looked]:
    for step in steps:
        if isinstance(step, FirstRows):
            yield from _flat(step.steps)
        else:
            yield step
            if isinstance(step, Found):
                yield from step.beside
