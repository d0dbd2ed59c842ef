"""Sources of the values of elements: columns of the embeddings, or of one element's properties.

An expression is translated against one of these; it never sees which.
"""

from __future__ import annotations

import re
from datetime import timedelta
from typing import TYPE_CHECKING, Protocol
from typing import Literal as OneOf

from gdb.base.sql import cast, column_of, exp, value_of
from gdb.errors import InternalError
from gdb.functions.types import BOOLEAN, NULL, OF_STORE, STRING, Type, Typed, sql_type
from gdb.language.scope import Scope, has_labels
from gdb.language.syntax import ElementReference, LabelTerms, Name, Place
from gdb.storage.columns.temporal import length_of

if TYPE_CHECKING:
    from gdb.executor.relational.relational_tail import Value
    from gdb.storage.columns.model import Kind as StoreKind

What = OneOf["element", "property", "id", "labels", "type"]

_PLACEHOLDER = re.compile(r"\$(p\d+)\b")  # SQL never contains a text of the user

STORE_KIND: dict[Type, StoreKind] = {type_: kind for kind, type_ in OF_STORE.items()}


class Parameters:
    """The prepared parameters of one SQL text: $p0, $p1, ..."""

    def __init__(self) -> None:
        self.values: dict[str, Value] = {}

    def add(self, value: Value, type_: Type) -> exp.Expr:
        """A new parameter, cast to its type: DuckDB would guess one from the value."""
        name = f"p{len(self.values)}"
        self.values[name] = _in_sql(value)
        return cast(exp.Placeholder(this=name), sql_type(type_))

    def used(self, sql: str) -> dict[str, Value]:
        """Those that a finished SQL text mentions: what is null for its types alone drops its operands."""
        names = sorted(set(_PLACEHOLDER.findall(sql))) if self.values else []
        return {name: self.values[name] for name in names}


def _in_sql(value: Value) -> Value:
    """The value as DuckDB is given it, see `Column.in_sql`."""
    if isinstance(value, timedelta):
        return length_of(value)
    return [_in_sql(item) for item in value] if isinstance(value, (list, tuple)) else value


class Columns(Protocol):
    """The columns of an element that an expression may use."""

    def element(self, element: ElementReference) -> Typed:
        """The element itself, as a number."""

    def property(self, element: ElementReference, key: Name) -> Typed:
        """A property of an element; null where no group or type that it may be of has it."""

    def identity(self, element: ElementReference, place: Place) -> Typed:
        """id(element)"""

    def labels(self, element: ElementReference) -> Typed:
        """The labels of a node, a list."""

    def type(self, element: ElementReference) -> Typed:
        """The type of a relationship."""

    def has_labels(self, element: ElementReference, labels: LabelTerms) -> Typed:
        """Whether an element has a label of each term."""


class ElementColumns:
    """Property columns c0, c1, ... of one element, whose labels or type are known beforehand.

    names : the labels of the vertex (all that the condition tests are in or out alike), or the edge's one type.
    casts : a column may come without a type: nothing in some part of the elements has the key.
    """

    def __init__(
        self, scope: Scope, parameters: Parameters, names: tuple[str, ...], casts: bool
    ) -> None:
        self.scope = scope
        self.parameters = parameters
        self.names = names
        self.casts = casts
        self.keys: dict[str, str] = {}  # column name -> key
        self._columns: dict[str, str] = {}  # the inverse

    def element(self, element: ElementReference) -> Typed:
        """Always raises InternalError: conditions on the element itself are not evaluated here."""
        raise InternalError("a condition on one element uses the element itself.")

    def property(self, element: ElementReference, key: Name) -> Typed:
        """The property's column, added to `keys` on first use; null where nothing in the schema has it."""
        type_ = self.scope.column_type(element, key)
        if type_ == NULL:
            return Typed(exp.Null(), NULL)
        name = self._columns.setdefault(key.text, f"c{len(self._columns)}")
        self.keys[name] = key.text
        column = column_of(name)
        return Typed(cast(column, sql_type(type_)) if self.casts else column, type_)

    def identity(self, element: ElementReference, place: Place) -> Typed:
        """Always raises InternalError: conditions on ids are look-ups."""
        raise InternalError("a condition on one element uses its id.")

    def labels(self, element: ElementReference) -> Typed:
        """Always raises InternalError: labels are the same for all rows here."""
        raise InternalError("a condition on one element uses its labels.")

    def type(self, element: ElementReference) -> Typed:
        """The edge's one type, as a parameter."""
        return Typed(self.parameters.add(self.names[0], STRING), STRING)

    def has_labels(self, element: ElementReference, labels: LabelTerms) -> Typed:
        """A constant: all rows here have the same labels or type."""
        return Typed(value_of(has_labels(self.names, labels)), BOOLEAN)
