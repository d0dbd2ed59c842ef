"""Properties, ids, labels and types of elements, as columns that are looked up in the store by vid or edge id."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeAlias

from gdb.base.sql import call, column_of, equal, exp, joined, left_joined, value_of
from gdb.executor.relational.relational_tail import ColumnRef
from gdb.functions.sql_pieces import null_where
from gdb.functions.types import BOOLEAN, NODE, NULL, RELATIONSHIP, STRING, Type, Typed, TypeName
from gdb.language.element_columns import STORE_KIND, What
from gdb.language.scope import has_labels
from gdb.language.syntax import ElementReference, LabelTerms, Name, Place
from gdb.logical.needed_properties import Demand
from gdb.physical.columns.relation import Builder, Held, Relation
from gdb.physical.columns.steps import Looked
from gdb.records import replace
from gdb.storage.columns.model import Kind as StoreKind

if TYPE_CHECKING:
    from gdb.base.sql import Rows


Joined: TypeAlias = "tuple[Rows, exp.Expr]"
"""What is LEFT JOINed, and on which condition."""


class RelationColumns:
    """Columns of a relation, and those that its elements get from the store, made on demand.

    names : what an expression may name.
    """

    def __init__(self, builder: Builder, names: Mapping[str, Held]) -> None:
        self.builder, self.scope = builder, builder.scope
        self.names = names
        self.held: dict[ElementReference, Held] = {}
        for held in names.values():
            if held.element is not None:
                self.held.setdefault(held.element, held)
        self._refs: dict[ElementReference, dict[tuple[What, str | None], ColumnRef]] = {}

    def _column(
        self,
        element: ElementReference,
        what: What,
        key: str | None = None,
        kind: StoreKind | None = None,
    ) -> exp.Expr:
        held = self.held[element]
        if held.gathered:
            return column_of(self.builder.take(element, what, key, kind))
        known = held.stored.get((what, key))
        if known is not None:
            return column_of(known)
        refs = self._refs.setdefault(element, {})
        if (what, key) not in refs:
            name = self.builder.fresh("c")
            refs[what, key] = ColumnRef(name, element.kind, 0, key, what, kind)
        return column_of(refs[what, key].name)

    def element(self, element: ElementReference) -> Typed:
        """A column of the element itself, as a number."""
        type_ = NODE if element.kind == "vertex" else RELATIONSHIP
        held = self.held[element]
        column = self.builder.take(element, "element") if held.gathered else held.column
        return Typed(column_of(column), type_)

    def property(self, element: ElementReference, key: Name) -> Typed:
        """The property's column, joined on first use; null where nothing in the schema has it."""
        type_ = self.scope.column_type(element, key)
        if type_ == NULL:
            return Typed(exp.Null(), NULL)
        return Typed(self._column(element, "property", key.text, STORE_KIND[type_]), type_)

    def identity(self, element: ElementReference, place: Place) -> Typed:
        """The id's column. `place` is underlined where ids of two kinds meet."""
        type_ = self.scope.id_type(element, place)
        kind = STORE_KIND[type_] if element.kind == "vertex" else None
        return Typed(self._column(element, "id", kind=kind), type_)

    def labels(self, element: ElementReference) -> Typed:
        """A column of lists of labels."""
        return Typed(self._column(element, "labels"), Type(TypeName.LIST, TypeName.STRING))

    def type(self, element: ElementReference) -> Typed:
        """A column of type names."""
        return Typed(self._column(element, "type"), STRING)

    def has_labels(self, element: ElementReference, labels: LabelTerms) -> Typed:
        """A constant where all groups that the vertex may be in agree (null for a null vertex); else a test."""
        if element.kind == "vertex":
            groups = self.scope.groups(element.index)
            held = self.scope.snapshot.groups
            if len({has_labels(held[group].labels, labels) for group in groups}) == 1:
                answer = has_labels(held[groups[0]].labels, labels)
                sure = value_of(answer)
                if not self.held[element].gathered:  # else it is never null
                    sure = null_where([self.element(element).sql], sure)
                return Typed(sure, BOOLEAN)
        terms = [[self._has(element, name.text) for name in term] for term in labels]
        return Typed(joined(exp.And, [joined(exp.Or, term) for term in terms]), BOOLEAN)

    def _has(self, element: ElementReference, label: str) -> exp.Expr:
        parameter = self.builder.parameters.add(label, STRING)
        if element.kind == "vertex":
            return call("list_contains", self.labels(element).sql, parameter)
        return exp.EQ(this=self.type(element).sql, expression=parameter)

    def asks(self) -> bool:
        """Whether any column was needed."""
        return bool(self._refs)

    # ---- where they come from --------------------------------------------------------------------

    def asked_of(self, relation: Relation) -> bool:
        """Whether a needed column belongs to an element of the relation that has no origin to be looked up from."""
        held = {h.element: h for h in relation.names.values() if h.element is not None}
        return any(e in held and held[e].origin is None for e in self._refs)

    def joins(self, relation: Relation) -> list[Joined]:
        """The LEFT JOINs that give the relation the needed columns of its elements."""
        found: list[Joined] = []
        known = {(h.column, h.element): h for h in relation.names.values() if h.element}
        for held in known.values():
            refs = self._refs.get(held.element) if held.element is not None else None
            if refs:
                assert held.origin is not None
                found.append(self.join(held.column, held.origin, tuple(refs.values())))
        return found

    def join_of(
        self, element: ElementReference, column: str, origin: tuple[str, str]
    ) -> Joined | None:
        """The LEFT JOIN for one element; None where none of its columns is needed."""
        refs = self._refs.get(element)
        return self.join(column, origin, tuple(refs.values())) if refs else None

    def join(self, column: str, origin: tuple[str, str], refs: tuple[ColumnRef, ...]) -> Joined:
        """Add a look-up step for a column: its table's name, and the join condition."""
        name, key = self.builder.fresh("l"), self.builder.fresh("k")
        self.builder.steps.append(Looked(name, *origin, key, refs))
        return name, equal(column, key)


def looked_up(
    builder: Builder, relation: Relation, columns: RelationColumns
) -> tuple[Relation, exp.Expr]:
    """The relation (as a table, where that must be) and its FROM with the needed columns of all its elements."""
    if columns.asked_of(relation):
        relation = builder.as_table(relation)
    return relation, left_joined(relation.from_, columns.joins(relation))


# ---- the embeddings of one pattern ---------------------------------------------------------------


def stored_columns(
    builder: Builder, known: Held, name: str, demand: Demand
) -> dict[tuple[What, str | None], str]:
    """Columns of an element that operators after this one need. name : as it is called there."""
    if not known.gathered or known.element is None:
        wished: set[tuple[What, str | None]] = {
            ("property", key) for of, key in demand.wishes if of == name
        }
        wished |= {(what, None) for of, what in demand.aspects if of == name}
        return {origin: column for origin, column in known.stored.items() if origin in wished}
    columns = RelationColumns(builder, {name: known})
    place = known.element.place
    for key in sorted(key for of, key in demand.wishes if of == name):
        columns.property(known.element, Name(key, place))
    for what in sorted(what for of, what in demand.aspects if of == name):
        if what == "id":
            columns.identity(known.element, place)
        elif what == ("labels" if known.element.kind == "vertex" else "type"):
            columns._column(known.element, what)
    taken = builder.taken.items()
    return {
        (what, key): ref.name
        for (of, what, key), ref in taken
        if of == known.element and what != "element"
    }


def settle_embeddings(builder: Builder, relation: Relation, demand: Demand) -> Relation:
    """The embeddings with columns for their elements, and for what later operators need of these."""
    names = {
        name: replace(
            held,
            column=builder.take(held.element, "element"),
            stored=stored_columns(builder, held, name, demand),
            gathered=False,
        )
        if held.gathered and held.element is not None
        else held
        for name, held in relation.names.items()
    }
    return replace(relation, names=names)
