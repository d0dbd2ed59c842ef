"""RETURN as SQL: at most three SELECTs, one inside the other.

1. Where rows are grouped (an aggregate, or DISTINCT): keys k0, k1, ... and aggregates a0, a1, ... over `embeddings`.
   Grouping is implicit in Cypher: the items without an aggregate are the keys.
2. The items o0, o1, ... and what ORDER BY sorts by, s0, s1, ...
3. Only where there is an ORDER BY: the items, sorted, cut by SKIP and LIMIT.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal as OneOf

from gdb.errors import SyntaxProblem, TypeProblem
from gdb.executor.tail import NUMBER, ColumnRef, Output, Tail
from gdb.functions.nodes import exp
from gdb.functions.types import Kind, Typed, joined, written
from gdb.language.aggregation import (
    counts_rows,
    has_aggregate,
    ignores_repeats,
    is_aggregate,
    is_count,
)
from gdb.language.clauses import Return, ReturnItem, SortItem
from gdb.language.columns import EmbeddingColumns, Parameters
from gdb.language.grouping import GroupedTranslator, Grouping
from gdb.language.hidden import is_hidden
from gdb.language.report import problem
from gdb.language.resolve import elements, is_id, measure, resolve
from gdb.language.scope import Scope
from gdb.language.syntax import (
    Element,
    Expression,
    Literal,
    Parameter,
    Place,
    Variable,
    walk,
)
from gdb.language.translator import Translator

NEGATIVE = "NegativeIntegerArgument"  # the standard's name of the error


def project(scope: Scope, returning: Return, conditions: Sequence[Expression]) -> Tail:
    """The relational part of a query.

    conditions : resolved conditions that are left for the embeddings table.

    Raises
    ------
    SyntaxProblem, NameProblem, TypeProblem, NotSupported : with the place.
    """
    return _Projection(scope, returning, conditions).tail()


class _Projection:
    def __init__(self, scope: Scope, returning: Return, conditions: Sequence[Expression]) -> None:
        self.scope = scope
        self.returning = returning
        self.parameters = Parameters()
        self.columns = EmbeddingColumns(scope, self.parameters)
        self.over_embeddings = Translator(scope, self.columns, self.parameters)
        self.items = self._items()
        self.order = [self._sorted_by(item) for item in returning.order]
        sorts = [item.expression for item in self.order]
        aggregates = any(has_aggregate(e) for e in [*(i.expression for i in self.items), *sorts])
        self.grouping = aggregates or returning.distinct
        self.skip = self._number(returning.skip, "SKIP")
        self.limit = self._number(returning.limit, "LIMIT")
        parts = [self.over_embeddings.condition(condition) for condition in conditions]
        self.where = joined(exp.And, parts) if parts else None

    # ---- names -----------------------------------------------------------------------------------

    def _items(self) -> list[ReturnItem]:
        """The items with their variables resolved; * as the named elements in the order of the text."""
        items: list[ReturnItem] = []
        if self.returning.everything:
            at = self.scope.text.index("*", self.returning.place.start)
            star = Place(at, at + 1)
            if all(map(is_hidden, self.scope.names)):
                raise problem(
                    SyntaxProblem,
                    self.scope.text,
                    star,
                    "RETURN * has nothing to return: the pattern names nothing.",
                    "Name a node, as in (a), or write RETURN count(*).",
                )
            for name, element in self.scope.names.items():
                if is_hidden(name):
                    continue
                items.append(ReturnItem(Element(element.kind, element.index, star), None, name))
        for item in self.returning.items:
            measure(item.expression, self.scope.text)
            items.append(replace(item, expression=resolve(item.expression, self.scope.lookup)))
        seen: set[str] = set()
        for item in items:
            if item.name in seen:
                place = item.alias.place if item.alias else item.expression.place
                raise problem(
                    SyntaxProblem,
                    self.scope.text,
                    place,
                    f"two columns are called '{item.name}'.",
                    "Name one of them with AS.",
                )
            seen.add(item.name)
        return items

    def _sorted_by(self, item: SortItem) -> SortItem:
        """A sort item resolved: a column's name means the column, before any node of that name."""
        columns = {i.alias.text: i.expression for i in self.items if i.alias}

        def lookup(variable: Variable) -> Expression:
            found = columns.get(variable.name)
            return found if found is not None else self.scope.lookup(variable)

        measure(item.expression, self.scope.text)
        resolved = resolve(item.expression, lookup)
        measure(resolved, self.scope.text)
        return replace(item, expression=resolved)

    def _number(self, given: Expression | None, clause: str) -> int | None:
        """The value of SKIP or LIMIT."""
        if given is None:
            return None
        value: object = None
        if isinstance(given, Literal):
            value = given.value
        elif isinstance(given, Parameter):
            value = self.scope.parameter(given.name, given.place)
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise problem(
                TypeProblem,
                self.scope.text,
                given.place,
                f"{clause} takes a whole number, 0 or more, and this is {str(value)[:40]!r}.",
                detail=NEGATIVE if type(value) is int else "InvalidArgumentType",
            )
        return value

    # ---- the three SELECTs -----------------------------------------------------------------------

    def tail(self) -> Tail:
        if not self.order and self._counts_only(None):
            return self._number_alone()
        translator: Translator = self.over_embeddings
        grouping = Grouping(self.over_embeddings) if self.grouping else None
        if grouping is not None:
            for item in self.items:
                if not has_aggregate(item.expression):
                    grouping.add_key(item.expression)
            translator = GroupedTranslator(grouping)
        items = [translator.translate(item.expression) for item in self.items]
        sorts = [translator.translate(item.expression) for item in self.order]
        self._check_outputs(items)
        named = [f"{written(item.sql, last=True)} AS o{k}" for k, item in enumerate(items)]
        named += [f"{written(sort.sql, last=True)} AS s{k}" for k, sort in enumerate(sorts)]
        source = self._from_embeddings()
        if grouping is not None:
            source = f"FROM ({grouping.select(source)}) AS grouped"
        select = self._cut(self._sorted(f"SELECT {', '.join(named)} {source}"))
        outputs = tuple(
            Output(item.name, _output_kind(typed), Kind.DURATION in (typed.kind, typed.type.item))
            for item, typed in zip(self.items, items, strict=True)
        )
        refs = tuple(self.columns.refs.values())
        once = self._once(refs)
        direct = self._direct(items, refs, once)
        vertices = {(ref.element, ref.index) for ref in refs}
        alone = len(vertices) == 1 and refs[0].element == "vertex"
        counts = grouping is not None and grouping.counts_rows and alone and once is None
        return Tail(
            refs,
            select,
            self.parameters.used(select),
            outputs,
            self._counts_only(once),
            self._row_limit(once, direct),
            once,
            direct,
            self._tally(refs),
            _numbered(select) if counts else None,
            self._by_part(),
        )

    def _number_alone(self) -> Tail:
        """The tail of `RETURN count(*)`: no SQL of it is ever run, and none has to be translated."""
        select = "SELECT a0 AS o0 FROM (SELECT COUNT(*) AS a0 FROM embeddings) AS grouped"
        outputs = (Output(self.items[0].name),)
        return Tail((), self._cut(select), outputs=outputs, count_only=True)

    def _from_embeddings(self) -> str:
        where = "" if self.where is None else f" WHERE {written(self.where, last=True)}"
        return f"FROM embeddings{where}"

    def _sorted(self, select: str) -> str:
        """The items alone, in order; null is the largest value."""
        if not self.order:
            return select
        names = ", ".join(f"o{k}" for k in range(len(self.items)))
        keys = ", ".join(_sort_key(f"s{k}", item) for k, item in enumerate(self.order))
        return f"SELECT {names} FROM ({select}) AS projected ORDER BY {keys}"

    def _cut(self, select: str) -> str:
        limit = "" if self.limit is None else f" LIMIT {self.limit}"
        return f"{select}{limit}{f' OFFSET {self.skip}' if self.skip else ''}"

    def _check_outputs(self, items: Sequence[Typed]) -> None:
        for item, typed in zip(self.items, items, strict=True):
            if typed.type.item in (Kind.NODE, Kind.RELATIONSHIP):
                raise self.over_embeddings.refuse(item.expression.place, "a list of nodes is")

    # ---- what the executor is told ---------------------------------------------------------------

    def _counts_only(self, once: int | None) -> bool:
        """Whether the number of embeddings, or of distinct values, is the whole answer."""
        if len(self.items) != 1 or self.where is not None or self.skip or self.limit == 0:
            return False
        item = self.items[0].expression
        if once is None:
            return counts_rows(item)
        return is_count(item) and self._tells_apart(item.arguments[0])

    def _row_limit(self, once: int | None, direct: tuple[int, ...] | None) -> int | None:
        rows_are_embeddings = not self.grouping or (once is not None and direct is not None)
        if self.limit is None or not rows_are_embeddings or self.order or self.where is not None:
            return None
        return self.limit + (self.skip or 0)

    def _by_part(self) -> bool:
        cut = bool(self.skip) or (self.limit is not None and self.where is not None)
        return not (self.grouping or self.order or cut)

    def _once(self, refs: Sequence[ColumnRef]) -> int | None:
        """The query vertex of which the distinct values are enough: nothing else is asked for, and how often it
        occurs shows nowhere."""
        of = {(ref.element, ref.index) for ref in refs}
        items = [item.expression for item in self.items]
        aggregates = [part for item in items for part in walk(item) if is_aggregate(part)]
        aggregates += [
            part for item in self.order for part in walk(item.expression) if is_aggregate(part)
        ]
        repeats_show = not all(ignores_repeats(part) for part in aggregates)
        if not self.grouping or repeats_show or len(of) != 1:
            return None
        element, index = of.pop()
        return index if element == "vertex" else None

    def _direct(
        self, items: Sequence[Typed], refs: Sequence[ColumnRef], once: int | None
    ) -> tuple[int, ...] | None:
        """The column of each output, where the columns are the answer."""
        if self.where is not None or self.order or self.skip:
            return None
        expressions = [item.expression for item in self.items]
        if self.grouping:
            # DISTINCT of what tells the values of one vertex apart, and of anything else that belongs to it
            plain = once is not None and not any(map(has_aggregate, expressions))
            if not plain or not any(map(self._tells_apart, expressions)):
                return None
            items = [self.over_embeddings.translate(expression) for expression in expressions]
        if not all(isinstance(item.sql, exp.Column) for item in items):
            return None
        names = [ref.name for ref in refs]
        return tuple(names.index(item.sql.name) for item in items)

    def _tally(self, refs: Sequence[ColumnRef]) -> tuple[bool, ...] | None:
        """For each output whether it is the number of embeddings, where all others are the one key, a whole
        number."""
        cut = self.limit is not None or self.skip is not None
        if self.where is not None or self.order or cut or len(refs) != 1:
            return None
        numbers = tuple(counts_rows(item.expression) for item in self.items)
        keys = [i.expression for i, n in zip(self.items, numbers, strict=True) if not n]
        if not any(numbers) or not keys or any(map(has_aggregate, keys)):
            return None
        translated = [self.over_embeddings.translate(key) for key in keys]
        plain = all(isinstance(key.sql, exp.Column) for key in translated)
        kinds = {key.kind for key in translated}
        return numbers if plain and kinds <= {Kind.INTEGER, Kind.NODE, Kind.RELATIONSHIP} else None

    def _tells_apart(self, expression: Expression) -> bool:
        """Whether two vertices never have the same value of this."""
        if isinstance(expression, Element):
            return True
        if not is_id(expression):
            return False
        (element,) = elements(expression)
        groups = self.scope.groups(element.index)
        return len({self.scope.snapshot.groups[group].id_space for group in groups}) <= 1


def _sort_key(name: str, item: SortItem) -> str:
    nulls_first = item.descending if item.nulls_first is None else item.nulls_first
    return f"{name} {'DESC' if item.descending else 'ASC'}{' NULLS FIRST' * nulls_first}"


def _numbered(select: str) -> str:
    """The SELECT over rows that stand for `NUMBER` embeddings each; no text of the user stands in it."""
    return select.replace("COUNT(*)", f"CAST(SUM({NUMBER}) AS BIGINT)")


def _output_kind(typed: Typed) -> OneOf["value", "node", "relationship"]:
    if typed.kind is Kind.NODE:
        return "node"
    return "relationship" if typed.kind is Kind.RELATIONSHIP else "value"
