"""Implicit grouping: what may be said beside aggregates and DISTINCT, and the SELECT that groups.

In Cypher the items of RETURN without an aggregate are the grouping keys. Whatever else stands beside an aggregate, or
in ORDER BY, must be made of keys, of constants, of aggregates, or belong to a node or relationship that is a key.
"""

from __future__ import annotations

from dataclasses import replace

from gdb.errors import SyntaxProblem
from gdb.functions.nodes import exp
from gdb.functions.types import INTEGER, Typed, written
from gdb.language.aggregation import counts_rows, is_aggregate
from gdb.language.canonical import canonical
from gdb.language.report import problem
from gdb.language.syntax import (
    Arithmetic,
    Call,
    Element,
    Expression,
    LabelTerms,
    Name,
    Place,
    Property,
)
from gdb.language.translator import Translator


class Grouping:
    """The columns k0, k1, ... (keys) and a0, a1, ... (aggregates) of the SELECT that groups."""

    def __init__(self, inner: Translator) -> None:
        self.inner = inner
        self.keys: dict[str, Typed] = {}  # canonical text -> column
        self.aggregates: dict[str, Typed] = {}
        self.others = False  # whether an aggregate is another than count(*)
        self._keys: list[str] = []
        self._aggregates: list[str] = []
        self._gathers = False  # whether an aggregate stands in the SQL: those of null are constants

    def text(self, expression: Expression) -> str:
        return canonical(expression, self.inner.scope.parameters)

    def add_key(self, expression: Expression) -> None:
        typed = self.inner.translate(expression)  # first: it names missing parameters
        self.carry(self.text(expression), typed)

    def carry(self, text: str, typed: Typed) -> Typed:
        """A key column, made once for each text."""
        if text not in self.keys:
            name = f"k{len(self._keys)}"
            self._keys.append(f"{written(typed.sql, last=True)} AS {name}")
            self.keys[text] = Typed(exp.column(name), typed.type)
        return _again(self.keys[text])

    def aggregate(self, expression: Call) -> Typed:
        """An aggregate column, made once for each text."""
        self.others = self.others or not counts_rows(expression)
        key = self.text(expression)
        if key not in self.aggregates:
            if counts_rows(expression):  # and reads no element for it
                typed = Typed(exp.Count(this=exp.Star()), INTEGER)
            else:
                typed = self.inner.gathered(expression)
            self._gathers |= any(typed.sql.find_all(exp.Func))
            name = f"a{len(self._aggregates)}"
            self._aggregates.append(f"{written(typed.sql, last=True)} AS {name}")
            self.aggregates[key] = Typed(exp.column(name), typed.type)
        return _again(self.aggregates[key])

    @property
    def counts_rows(self) -> bool:
        """Whether all that it asks of the rows of a group is how many there are."""
        return bool(self._keys) and not self.others

    def select(self, source: str) -> str:
        """The SELECT over `source` (FROM and WHERE); keys are grouped by their position."""
        if self.inner.before:
            source = f"FROM (SELECT *, {', '.join(self.inner.before)} {source}) AS prepared"
        columns = [*self._keys, *self._aggregates]
        if not self._keys and not self._gathers:
            # aggregates of null leave none in the SQL, and there is one row all the same
            columns.append("COUNT(*) AS k0")
        select = f"SELECT {', '.join(columns)} {source}"
        if not self._keys:
            return select
        return f"{select} GROUP BY {', '.join(str(k + 1) for k in range(len(self._keys)))}"


class GroupedTranslator(Translator):
    """Translates over the columns of a grouping."""

    def __init__(self, grouping: Grouping) -> None:
        inner = grouping.inner
        super().__init__(inner.scope, _GroupedColumns(grouping), inner.parameters)
        self.grouping = grouping

    def translate(self, expression: Expression) -> Typed:
        if is_aggregate(expression):
            return self.grouping.aggregate(expression)
        if not isinstance(expression, Element):  # an element would be looked up a second time
            known = self.grouping.keys.get(_safe_text(self.grouping, expression))
            if known is not None:
                return _again(known)
        if isinstance(expression, Arithmetic) and len(expression.rest) > 1:
            # the begin of a chain may be a key: a.x + 1 in a.x + 1 + count(*)
            begin = replace(expression, rest=expression.rest[:-1])
            expression = replace(expression, first=begin, rest=expression.rest[-1:])
        return super().translate(expression)


class _GroupedColumns:
    """What belongs to an element that is a key is the same in all its rows, so it may be carried as another key."""

    def __init__(self, grouping: Grouping) -> None:
        self.grouping = grouping
        self.columns = grouping.inner.columns

    def _key(self, element: Element, place: Place) -> Typed:
        known = self.grouping.keys.get(self.grouping.text(element))
        if known is None:
            scope = self.grouping.inner.scope
            shown = scope.text[place.start : place.end]
            raise problem(
                SyntaxProblem,
                scope.text,
                place,
                f"'{shown[:40]}' is neither a column of its own nor inside an aggregate.",
                "Return it as a column as well: with DISTINCT or an aggregate, rows are grouped.",
            )
        return _again(known)

    def element(self, element: Element) -> Typed:
        return self._key(element, element.place)

    def property(self, element: Element, key: Name) -> Typed:
        self._key(element, element.place.to(key.place))
        text = self.grouping.text(Property(element, key, key.place))
        return self.grouping.carry(text, self.columns.property(element, key))

    def identity(self, element: Element, place: Place) -> Typed:
        self._key(element, place)
        text = f"id({self.grouping.text(element)})"
        return self.grouping.carry(text, self.columns.identity(element, place))

    def labels(self, element: Element) -> Typed:
        self._key(element, element.place)
        return self.grouping.carry(
            f"labels({self.grouping.text(element)})", self.columns.labels(element)
        )

    def type(self, element: Element) -> Typed:
        self._key(element, element.place)
        return self.grouping.carry(
            f"type({self.grouping.text(element)})", self.columns.type(element)
        )

    def has_labels(self, element: Element, labels: LabelTerms) -> Typed:
        self._key(element, element.place)
        typed = self.columns.has_labels(element, labels)
        return self.grouping.carry(
            f"{self.grouping.text(element)}:{len(self.grouping.keys)}", typed
        )


def _again(typed: Typed) -> Typed:
    """The column once more: an SQL node has one parent."""
    return Typed(exp.column(typed.sql.name), typed.type, typed.constant)


def _safe_text(grouping: Grouping, expression: Expression) -> str:
    """The text to look a key up by; "" where a parameter has no value (the translation says so)."""
    try:
        return grouping.text(expression)
    except KeyError:
        return ""
