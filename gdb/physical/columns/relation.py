"""Relations of a chain while it is compiled: their SQL, and the typed names that the user sees in them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol, TypeAlias
from typing import Literal as OneOf

from gdb.base.sql import (
    aliased,
    call,
    created,
    exp,
    parameter_of,
    row_number,
    rows_of,
    select,
    value_of,
    way,
    written,
)
from gdb.errors import NotSupported
from gdb.executor.relational.relational_tail import ColumnRef, Output
from gdb.functions.types import NODE, RELATIONSHIP, TypeName
from gdb.language.element_columns import STORE_KIND, Parameters
from gdb.language.hidden_names import HIDDEN
from gdb.language.report import problem, row_count
from gdb.language.syntax import ElementReference, Expression, Literal, Parameter, walk
from gdb.physical.columns.steps import CUT, FirstRows, Found, Made, Ownership, Step
from gdb.records import dataclass, field, replace

if TYPE_CHECKING:
    from gdb.base.sql import Part, Rows
    from gdb.functions.types import Type
    from gdb.language.clauses import Match
    from gdb.language.element_columns import What
    from gdb.language.scope import Scope
    from gdb.language.syntax import ElementReference, Expression, Place
    from gdb.logical.needed_properties import Demand
    from gdb.logical.operators import Limit, Names, Operators
    from gdb.physical.rows.run_context import RowContext
    from gdb.storage.columns.model import Kind as StoreKind


@dataclass(frozen=True, slots=True)
class Held:
    """The meaning of a name: a column.

    element : the query vertex or edge of the scope that it is; None for other values.
    origin : a table, and the column in it, that has all its values; None where there is none yet.
    stored : columns of what was taken from the store for it when it was matched, by what and key.
    measured : the function that its column is the value of: `length` of a path, `size` of a list of relationships;
        nothing else is known of them.
    gathered : it is an element of the one pattern whose embeddings the rows are, and has no column yet: what is needed
        of it becomes a column of the embeddings (`Builder.take`).
    """

    column: str
    type: Type
    element: ElementReference | None = None
    origin: tuple[str, str] | None = None
    stored: Mapping[tuple[What, str | None], str] = field(default_factory=dict)
    measured: OneOf["length", "size"] | None = None
    gathered: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Per:
    """The rows that a subquery runs for, all at once. column : of the number of the row that each of its own works for.
    table : of these rows, with that column. names : of them that the subquery sees."""

    column: str
    table: str
    names: Mapping[str, Held]


@dataclass(frozen=True, slots=True, eq=False)
class Relation:
    """Rows.

    source : a table's name, or a SELECT; None is one row without names. names : in the order in which they came.
    hidden : columns that every row keeps through all clauses: numbers of rows. order : those of them that the rows are
        ascending in, the first one first; none where they are in no order.
    sorted : how ORDER BY says it of others of them, where only the answer needs the order.
    weight : the one of them with the number of equal rows that a row represents, 1 or more; None where each is one.
    per : of the rows of a subquery, what they work for; its column is kept as well.
    """

    source: str | exp.Query | None
    names: Mapping[str, Held] = field(default_factory=dict)
    hidden: tuple[str, ...] = ()
    order: tuple[str, ...] = ()
    weight: str | None = None
    sorted: tuple[exp.Expr, ...] = ()
    per: Per | None = None

    @property
    def from_(self) -> exp.Expr:
        """The relation as an operand of FROM."""
        return rows_of(select_columns(()) if self.source is None else self.source)

    @property
    def table(self) -> str:
        """The name of the table that it is. Raises AssertionError: it is none, see `Builder.made`."""
        assert isinstance(self.source, str)
        return self.source

    @property
    def columns(self) -> tuple[str, ...]:
        """All its columns, each once: of the names, stored ones, hidden ones."""
        held = [c for one in self.names.values() for c in (one.column, *one.stored.values())]
        return tuple(dict.fromkeys((*held, *self.kept)))

    @property
    def kept(self) -> tuple[str, ...]:
        """The columns that are no names'."""
        return self.hidden if self.per is None else (*self.hidden, self.per.column)

    def only(self, live: Iterable[str]) -> Relation:
        """With fewer names."""
        kept = frozenset(live)
        return replace(self, names={n: held for n, held in self.names.items() if n in kept})

    @property
    def ways(self) -> tuple[exp.Expr, ...]:
        """How ORDER BY says the order of the rows; none where they are in no order."""
        return tuple(way(column) for column in self.order)

    def unordered(self) -> Relation:
        """The rows in no order."""
        if not self.order:
            return self
        hidden = tuple(column for column in self.hidden if column not in self.order)
        return replace(self, hidden=hidden, order=())

    def unweighted(self) -> Relation:
        """Each of its rows as one."""
        hidden = tuple(column for column in self.hidden if column != self.weight)
        return replace(self, hidden=hidden, weight=None)


Matched: TypeAlias = "Callable[[Builder, Relation, Match, Demand], Relation]"
"""What makes a relation of MATCH."""


class Over(Protocol):
    """What makes a relation of operators; answers : its rows are the answer."""

    def __call__(
        self, builder: Builder, side: Operators, names: Names, start: Relation, *, answers: bool
    ) -> Relation:
        """The relation."""
        ...


UNIT = Relation(None)
"""One row without names."""


class Builder:
    """What all parts of the compilation share.

    alone : the rows are the embeddings of one pattern that was bound to the scope before, and all must be one SELECT.
    scope : every element that any clause names is numbered in it, whichever clause it is in.
    whole : how many of the steps make tables whose every row is needed, whatever LIMIT follows.
    rows : the integers of the longest range() that UNWIND makes rows of.
    reached : the place of the operator that is compiled now.
    partly : what is compiled now makes rows of rows, so that some make some; not what tests that there is none.
    ownership : which steps belong to which operator, where the plan is needed.
    """

    def __init__(
        self,
        scope: Scope,
        context: RowContext | None,
        matched: Matched | None = None,
        over: Over | None = None,
    ) -> None:
        self._context, self._matched, self._over = context, matched, over
        self.alone = context is None
        self.text, self.scope = scope.text, scope
        self.parameters = Parameters()
        self.taken: dict[tuple[ElementReference, What, str | None], ColumnRef] = {}
        self.steps: list[Step] = []
        self._queries: dict[str, exp.Query] = {}  # of the tables that are made
        self.whole, self.partly = 0, True
        self.reached = self.rows = 0
        self.growing = 0  # how many of its parts make strings longer than what they are made of
        self._count = 0
        self.ownership: Ownership | None = None
        if context is not None and context.shown:
            self.ownership = Ownership(apart=context.meter is not None)

    @property
    def context(self) -> RowContext:
        """The context of the run that may follow. Raises NotSupported: there is none, `alone`."""
        if self._context is None:
            raise NotSupported("what more than one pattern takes is no part of its tail.")
        return self._context

    def matched(self, relation: Relation, clause: Match, demand: Demand) -> Relation:
        """The rows that MATCH makes of a relation (`gdb.physical.columns.column_matching`). demand : what later
        operators need of them. Raises NotSupported, where there is no context, and other QueryErrors."""
        if self._matched is None:
            raise NotSupported("what more than one pattern takes is no part of its tail.")
        return self._matched(self, relation, clause, demand)

    def made_of(self, side: Operators, names: Names, start: Relation) -> Relation:
        """The relation that some operators make of one, for others behind them
        (`gdb.physical.columns.chain_compilation.over`)."""
        if self._over is None:
            raise NotSupported("what more than one pattern takes is no part of its tail.")
        return self._over(self, side, names, start, answers=False)

    def pulse(self) -> None:
        """To be called now and then. Raises Cancelled, QueryTimeout."""
        if self._context is not None:
            self._context.pulse()

    def fresh(self, letter: str) -> str:
        """A name that nothing else has."""
        self._count += 1
        return f"{letter}{self._count}"

    def another(self, element: ElementReference) -> ElementReference:
        """A new element of the scope, of the same labels or types."""
        scope = self.scope
        if element.kind == "vertex":
            scope.vertices.append(replace(scope.vertices[element.index]))
            return replace(element, index=len(scope.vertices) - 1)
        scope.edges.append(replace(scope.edges[element.index]))
        return replace(element, index=len(scope.edges) - 1)

    def take(
        self,
        element: ElementReference,
        what: What,
        key: str | None = None,
        kind: StoreKind | None = None,
    ) -> str:
        """The column of the embeddings that has something of an element."""
        place = element, what, key
        if place not in self.taken:
            name = f"c{len(self.taken)}"
            self.taken[place] = ColumnRef(name, element.kind, element.index, key, what, kind)
        return self.taken[place].name

    def as_table(self, relation: Relation, what: str = "") -> Relation:
        """The relation as a table."""
        if isinstance(relation.source, str):
            return relation
        name = self.table(
            "r", select_columns(relation.columns, relation.from_), what, part=self.partly
        )
        names = {
            n: held if held.element is None else replace(held, origin=(name, held.column))
            for n, held in relation.names.items()
        }
        return replace(relation, source=name, names=names)

    def numbered(self, relation: Relation) -> tuple[Relation, str]:
        """The relation as a table whose rows are numbered, and the column of the numbers."""
        number = self.fresh("n")
        columns: list[Part] = [*relation.columns, aliased(row_number(), number)]
        source, hidden = select_columns(columns, relation.from_), (*relation.hidden, number)
        return self.as_table(replace(relation, source=source, hidden=hidden)), number

    def in_one_order(self, relation: Relation) -> Relation:
        """The relation with one number of its rows for the several columns that say their order."""
        if len(relation.order) < 2:
            return relation
        bare, number = relation.unordered(), self.fresh("n")
        columns: list[Part] = [*bare.columns, aliased(row_number(relation.ways), number)]
        source, hidden = select_columns(columns, relation.from_), (*bare.hidden, number)
        return replace(bare, source=source, hidden=hidden, order=(number,))

    def table(self, letter: str, query: exp.Query, what: str, *, part: bool = False) -> str:
        """A new table, of what a SELECT gives. what, part : as `Made`."""
        name = self.fresh(letter)
        sql = written(created(name, query))
        self._queries[name] = query
        self.steps.append(Made(name, sql, self.parameters.used(sql), what, part))
        return name

    def beside(self, relation: Relation, name: str, found: Found) -> bool:
        """Let the step whose rows a relation is, each a vertex of its own, which `name` means, match a pattern at that
        vertex as well; False where its rows are others.

        found : what is matched there (`Found.beside`), which binds the vertex.
        """
        column = relation.names[name].column
        for place, step in enumerate(self.steps):
            if isinstance(step, Found) and step.name == relation.source and step.alone(column):
                self.steps[place] = replace(step, beside=(*step.beside, found))
                return True
        return False

    @contextmanager
    def asking(self) -> Iterator[None]:
        """While what is compiled counts rows, or tests that there is none."""
        before, self.partly = self.partly, False
        try:
            yield
        finally:
            self.partly = before

    def all_needed(self) -> None:
        """What the steps so far make is needed with every row."""
        self.whole = len(self.steps)

    def limited(self, relation: Relation, enough: int) -> Relation:
        """A relation of at most `enough` rows, whichever, as a table for which no more is matched than is needed."""
        if not any(isinstance(s, Made | Found) and s.part for s in self.steps[self.whole :]):
            return relation
        with self.asking():
            relation = self.as_table(relation, f"at most {enough:,} rows")
        steps = [self._cut(s) if isinstance(s, Made) else s for s in self.steps[self.whole :]]
        self.steps[self.whole :] = [FirstRows(tuple(steps), enough)]
        self.all_needed()
        return relation

    def _cut(self, step: Made) -> Made:
        """With the statement of the first rows alone, where it makes a part."""
        if not step.part:
            return step
        few = select([exp.Star()], self._queries[step.name], limit=parameter_of(CUT))
        return replace(step, cut=written(created(step.name, few)))

    def expanded(self, relation: Relation) -> Relation:
        """The relation with a row for each row, for what takes no weights."""
        if relation.weight is None:
            return relation
        found = relation.unweighted()
        each = aliased(call("unnest", call("range", relation.weight)), self.fresh("n"))
        inner = select_columns([*found.columns, each], relation.from_)
        return replace(found, source=select_columns(found.columns, inner))

    def check_measured(self, column: Held | None, place: Place) -> None:
        """Refuse a name whose only known value is its length or its size (`Held.measured`)."""
        if column is not None and column.measured:
            path = column.measured == "length"
            what = "a name for a whole path" if path else "a list of relationships"
            raise self.refuse(place, f"{what}, but for its {column.measured}, is")

    def refuse(self, place: Place, what: str) -> NotSupported:
        """Why a part of the query is not for columns."""
        return problem(NotSupported, self.text, place, f"{what} not covered over columns.")


def select_columns(
    columns: Sequence[Part], *rows: Rows, where: Sequence[exp.Expr] = (), distinct: bool = False
) -> exp.Query:
    """A SELECT of the columns, each once."""
    once = {one if isinstance(one, str) else id(one): one for one in columns}
    every = [*once.values()] or [aliased(value_of(1), "one")]
    return select(every, *rows, where=where, distinct=distinct)


def embedded(scope: Scope, conditions: Sequence[Expression] = ()) -> dict[str, Held]:
    """The elements that a scope numbers: what is needed of them becomes columns of their embeddings. conditions : on
    elements, also of ones without a name, which get hidden ones."""
    types = {"vertex": NODE, "edge": RELATIONSHIP}
    elements = dict(scope.names)
    named = {*elements.values()}
    for part in (part for condition in conditions for part in walk(condition)):
        if isinstance(part, ElementReference) and part not in named:
            named.add(part)
            elements[f"{HIDDEN}{part.kind}{part.index}"] = part
    return {
        name: Held("", types[element.kind], element, gathered=True)
        for name, element in elements.items()
    }


# ---- SKIP and LIMIT ------------------------------------------------------------------------------


def cuts(builder: Builder, operator: Limit) -> tuple[int, int | None]:
    """The numbers of SKIP and LIMIT.

    Raises
    ------
    TypeProblem : one is none. NotSupported : one is calculated.
    """
    skip = _number(builder, operator.skip, "SKIP")
    return skip or 0, _number(builder, operator.limit, "LIMIT")


def _number(builder: Builder, expression: Expression | None, clause: str) -> int | None:
    if expression is None:
        return None
    value: object = None
    if isinstance(expression, Literal):
        value = expression.value
    elif isinstance(expression, Parameter):
        value = builder.scope.parameter(expression.name, expression.place)
    else:
        raise builder.refuse(expression.place, "a calculated SKIP or LIMIT is")
    return row_count(value, builder.text, expression.place, clause)


# ---- the answer ----------------------------------------------------------------------------------


def outputs(names: Names, types: Sequence[Type]) -> tuple[Output, ...]:
    """What the answer's columns are."""
    return tuple(
        Output(
            name,
            _KINDS.get(type_.kind, "value"),
            TypeName.DURATION in (type_.kind, type_.item),
            STORE_KIND.get(type_),
        )
        for name, type_ in zip(names, types, strict=True)
    )


_KINDS: Mapping[TypeName, OneOf["node", "relationship"]] = {
    TypeName.NODE: "node",
    TypeName.RELATIONSHIP: "relationship",
}
