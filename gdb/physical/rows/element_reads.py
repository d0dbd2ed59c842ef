"""Look-ups of nodes and relationships by their numbers: where rows have vids and edge ids instead of objects.

An expression that has an id, a property, labels or the type of an element looks that up. What it looks it up in is
found for a snapshot, and found again for the next one, while the compiled expressions stay.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING, Protocol, TypeAlias, cast

import numpy as np

from gdb.executor.relational import lookup
from gdb.language.syntax import (
    Call,
    Comparator,
    Comparison,
    ElementReference,
    Expression,
    IsNull,
    PatternComprehension,
    PatternTest,
    Property,
    Subquery,
    Variable,
    walk,
)
from gdb.physical.evaluator import Evaluator
from gdb.physical.rows.row_steps import LOOPS, Elements, RowSteps, Step, Unsuited
from gdb.physical.rows.stored import from_store
from gdb.storage.graph.single_look_ups import GroupLookUp

if TYPE_CHECKING:
    from gdb.base.allowance import Allowance
    from gdb.base.values.kinds import Row, Value
    from gdb.logical.operators import Column, Operator
    from gdb.physical.evaluator import Compiled, Condition
    from gdb.physical.rows.row_program import RowProgram
    from gdb.physical.rows.run_context import RowContext
    from gdb.physical.rows.subqueries import SubqueryExpression
    from gdb.storage.columns.model import Kind
    from gdb.storage.columns.slices import Slice
    from gdb.storage.graph.snapshot import Snapshot

_PLAIN = frozenset({"int64", "float64", "bool", "string"})  # kinds that a look-up has one by one
_ValueOf: TypeAlias = "Callable[[int], Value]"
_ReadAll: TypeAlias = "Callable[[list[int]], list[Value]]"


class NeedsBatches(Exception):
    """A pattern inside an expression is not for one row after the other."""


class Kinds(Protocol):
    """Which elements the elements of a pattern may be."""

    def groups(self, element: ElementReference, snapshot: Snapshot) -> Sequence[int]:
        """The groups of a node, by number."""
        ...

    def types(self, element: ElementReference, snapshot: Snapshot) -> Sequence[str]:
        """The types of a relationship."""
        ...

    def need(self, element: ElementReference) -> None:
        """Raise Unsuited where rows have no number of an element."""
        ...


class Reader:
    """Reads one thing of an element. name : of the rows, that has its number; "" where only rows of a pattern inside an
    expression have it. of : gives the thing by that number."""

    __slots__ = ("_find", "_known", "name", "of")

    def __init__(self, name: str, find: Callable[[Snapshot], _ValueOf | _ReadAllOf]) -> None:
        self.name, self._find = name, find
        self._known: _Values | None = None
        self.of: _ValueOf = _nothing

    def bind(self, snapshot: Snapshot) -> None:
        """Read in a snapshot. Raises Unsuited."""
        found, self._known = self._find(snapshot), None
        if isinstance(found, _ReadAllOf):
            self._known = _Values(found.read)
            self.of = self._known.__getitem__
        else:
            self.of = found

    def fetch(self, rows: Sequence[Row]) -> None:
        """Read at once what rows need, where that is quicker."""
        known = self._known
        if known is not None and self.name and len(rows) > 1:
            known.fetch({cast("int", n) for row in rows if (n := row[self.name]) is not None})

    def forget(self) -> None:
        """Keep nothing of what was read."""
        if self._known is not None:
            self._known.clear()

    def stay(self) -> None:
        """Read in this snapshot for good, and hold nothing of what finds others."""
        del self._find

    def leave(self) -> None:
        """Hold no snapshot."""
        self._known, self.of = None, _nothing


def _nothing(_: int) -> Value:
    return None


class _ReadAllOf:
    """What reads of many elements at once. read : the value of each number."""

    def __init__(self, read: _ReadAll) -> None:
        self.read = read


class _Values(dict[int, "Value"]):
    """The values of some numbers; of others each is read when it is wanted."""

    def __init__(self, read: _ReadAll) -> None:
        super().__init__()
        self._read = read

    def fetch(self, numbers: set[int]) -> None:
        """Read those of some numbers."""
        missing = [*(numbers - self.keys())]
        self.update(zip(missing, self._read(missing), strict=True))

    def __missing__(self, number: int) -> Value:
        (self[number],) = self._read([number])
        return self[number]


class NumberEvaluator(Evaluator):
    """Compiles expressions over rows of numbers.

    program_of : gives the program of a pattern inside an expression, and what it runs in; None where there are none.
    elements : the names that are elements. missing : the elements that may be null. lists : names that are paths, or
    the relationships of one, as `NumberGraph` has them, and what comes before the edge ids. returned : whether the next
    operator gives the rows of the answer; listed : the columns of these that are such lists. names : of the rows.
    readers : what was compiled to read; `bind` makes them read in a snapshot.
    """

    def __init__(
        self,
        text: str,
        parameters: Mapping[str, Value],
        allowance: Allowance,
        kinds: Kinds,
        program_of: Callable[[SubqueryExpression], tuple[RowContext, RowProgram]] | None = None,
    ) -> None:
        super().__init__(text, parameters, None, allowance)
        self._kinds, self._program_of = kinds, program_of
        self.names: frozenset[str] = frozenset()
        self.elements: Elements = {}
        self.missing: set[ElementReference] = set()
        self.lists: dict[str, int] = {}
        self.returned, self.listed = False, dict[str, int]()
        self.readers: list[Reader] = []

    def bind(self, snapshot: Snapshot) -> None:
        """Read in a snapshot from now on. Raises Unsuited."""
        for reader in self.readers:
            reader.bind(snapshot)

    def compiled(self, expression: Expression) -> Compiled:
        """As an `Evaluator`'s. Raises Unsuited where it needs an element itself."""
        if self._name(expression) is not None or self._is_list(expression):
            raise Unsuited
        match expression:
            case PatternComprehension():
                raise Unsuited
            case Subquery(kind="COUNT"):
                rows_of = self._matched(expression)
                return lambda row: len(rows_of(row))
            case Subquery(kind="EXISTS"):
                rows_of = self._matched(expression)
                return lambda row: bool(rows_of(row))
            case Subquery():
                raise Unsuited
            case Property(subject=subject, key=key) if name := self._name(subject):
                return self._reading(name, partial(self._stored, self.elements[name], key.text))
            case Call(function=function, arguments=(subject,)) if name := self._name(subject):
                element = self.elements[name]
                match function.text.lower():
                    case "id":
                        return self._reading(name, partial(self._stored, element, None))
                    case "labels" if element.kind == "vertex":
                        return self._reading(name, partial(self._labels, element))
                    case "type" if element.kind == "edge":
                        return self._reading(name, partial(self._type, element))
            case Call(function=function, arguments=(Variable(name=name),)) if name in self.lists:
                if function.text.lower() in ("length", "size"):
                    return partial(_length, name, self.lists[name])
        return super().compiled(expression)

    def _test(self, expression: Expression) -> Condition | None:
        match expression:
            case PatternTest():
                rows_of = self._matched(expression)
                return lambda row: bool(rows_of(row))
            case IsNull(operand=operand, negated=negated) if name := self._name(operand):
                return lambda row: (row[name] is None) is not negated
            case Comparison(operator=operator, left=left, right=right) if (
                operator in (Comparator.EQUAL, Comparator.UNEQUAL)
                and (one := self._name(left)) is not None
                and (other := self._name(right)) is not None
                and self.elements[one].kind == self.elements[other].kind
            ):
                return _alike(one, other, operator is Comparator.EQUAL)
        return super()._test(expression)

    def _matched(self, part: SubqueryExpression) -> Callable[[Row], list[Row]]:
        """The rows that a pattern inside an expression makes of a row. Raises Unsuited."""
        if self._program_of is None:
            raise Unsuited
        begun = len(self.readers)
        context, program = self._program_of(part)
        for reader in self.readers[begun:]:
            reader.name = ""

        def rows_of(row: Row) -> list[Row]:
            found = program.run(context, row)
            if found is None:
                raise NeedsBatches
            return found

        return rows_of

    def _name(self, expression: Expression) -> str | None:
        """The name of the rows that an expression is, where it is an element."""
        match expression:
            case Variable(name=name):
                return name if name in self.elements else None
            case ElementReference():
                return next(name for name, one in self.elements.items() if one == expression)
        return None

    def _is_list(self, expression: Expression) -> bool:
        return isinstance(expression, Variable) and expression.name in self.lists

    def _reading(self, name: str, find: Callable[[Snapshot], _ValueOf | _ReadAllOf]) -> Compiled:
        """What gives something of the element that rows have by a name."""
        reader, number = Reader(name, find), cast("Callable[[Row], int]", itemgetter(name))
        self.readers.append(reader)
        if self.elements[name] not in self.missing:
            return lambda row: reader.of(number(row))

        def value(row: Row) -> Value:
            at = row[name]
            return None if at is None else reader.of(cast("int", at))

        return value

    # ---- in a snapshot ---------------------------------------------------------------------------

    def _stored(
        self, element: ElementReference, key: str | None, snapshot: Snapshot
    ) -> _ValueOf | _ReadAllOf:
        """What reads a property (None: the id) of elements. Raises Unsuited."""
        if element.kind == "edge":
            return self._of_edge(element, key, snapshot)
        groups = self._kinds.groups(element, snapshot)
        having = [group for group in groups if key is None or key in snapshot.groups[group].keys]
        if not having:
            return _nothing
        self._kinds.need(element)
        if key is not None:
            kinds = {snapshot.groups[group].keys[key] for group in having}
            if len(kinds) > 1:
                raise Unsuited
            (kind,) = kinds
            if kind not in _PLAIN:
                return _ReadAllOf(partial(_of_vertices, snapshot, key, kind))
        looks = {group: snapshot.value_look_up(group, key) for group in having}
        if None in looks.values() or len({look.kind for look in looks.values() if look}) > 1:
            raise Unsuited
        readers = {group: look.value for group, look in looks.items() if look is not None}
        if len(groups) == 1:
            (value_of,) = readers.values()
            return cast("_ValueOf", value_of)
        return _by_group(snapshot, groups, readers)

    def _labels(self, element: ElementReference, snapshot: Snapshot) -> _ValueOf:
        self._kinds.need(element)
        groups = self._kinds.groups(element, snapshot)
        labels = {group: sorted(snapshot.groups[group].labels) for group in groups}
        copied = {group: partial(_copied, own) for group, own in labels.items()}
        return _by_group(snapshot, groups, copied)

    def _type(self, element: ElementReference, snapshot: Snapshot) -> _ReadAllOf:
        self._kinds.need(element)
        return _ReadAllOf(partial(_types, snapshot))

    def _of_edge(
        self, element: ElementReference, key: str | None, snapshot: Snapshot
    ) -> _ValueOf | _ReadAllOf:
        if key is None:
            self._kinds.need(element)
            return _itself
        admitted = self._kinds.types(element, snapshot)
        types = [one for one in snapshot.edge_types if one.name in admitted]
        kinds = {one.keys[key] for one in types if key in one.keys}
        if not kinds:
            return _nothing
        self._kinds.need(element)
        if len(kinds) > 1:
            raise Unsuited
        return _ReadAllOf(partial(_of_edges, snapshot, key, kinds.pop()))


class NumberSteps(RowSteps):
    """Compiles operators over rows of numbers."""

    def __init__(self, evaluator: NumberEvaluator, text: str) -> None:
        self._numbers = evaluator
        super().__init__(evaluator, text)

    @property
    def elements(self) -> Elements:
        """Of the rows before the next operator."""
        return self._numbers.elements

    @elements.setter
    def elements(self, elements: Elements) -> None:
        self._numbers.elements = elements

    def step(self, operator: Operator) -> Step:
        """As `RowSteps.step`; what is read of many rows is read at once."""
        begun = len(self._numbers.readers)
        step = super().step(operator)
        readers = self._numbers.readers[begun:]
        if not readers:
            return step

        def fetching(rows: list[Row]) -> list[Row]:
            for reader in readers:
                reader.fetch(rows)
            return step(rows)

        return fetching

    def check(self, expression: Expression) -> None:
        """As `RowSteps.check`, but for patterns, which the evaluator refuses."""
        if any(isinstance(p, LOOPS) and p.variable.text in self.elements for p in walk(expression)):
            raise Unsuited

    def _column(self, column: Column, elements: Elements, after: Elements) -> Compiled:
        match column.expression:
            case Variable(name=name) if self._numbers.returned and name in self._numbers.lists:
                self._numbers.listed[column.name] = self._numbers.lists[name]
                return itemgetter(name)
        return super()._column(column, elements, after)

    def _is_there(self, expression: Expression) -> bool:
        name = expression.name if isinstance(expression, Variable) else ""
        element = self.elements.get(name)
        return element is not None and element not in self._numbers.missing


def _length(name: str, before: int, row: Row) -> Value:
    several = row[name]
    return None if several is None else len(cast("tuple[int, ...]", several)) - before


def _alike(one: str, other: str, equal: bool) -> Condition:
    """Whether two names of a row are the same element, or not."""

    def test(row: Row) -> bool | None:
        left, right = row[one], row[other]
        return None if left is None or right is None else (left == right) is equal

    return test


def _by_group(
    snapshot: Snapshot, groups: Sequence[int], readers: Mapping[int, Callable[[int], object]]
) -> _ValueOf:
    """What reads a value of nodes of several groups. readers : of those that have it."""
    look_up = GroupLookUp.of({group: snapshot.groups[group] for group in groups})
    if look_up is None:
        raise Unsuited
    group_of = look_up.find

    def value(vid: int) -> Value:
        read = readers.get(group_of(vid))
        return None if read is None else cast("Value", read(vid))

    return value


def _itself(number: int) -> Value:
    return number


def _of_vertices(snapshot: Snapshot, key: str, kind: Kind, vids: list[int]) -> list[Value]:
    return _as_values(lookup.vertex_property(snapshot, np.array(vids, np.uint32), key, kind), vids)


def _of_edges(snapshot: Snapshot, key: str, kind: Kind, eids: list[int]) -> list[Value]:
    return _as_values(lookup.edge_property(snapshot, np.array(eids, np.int64), key, kind), eids)


def _as_values(found: Slice | None, of: list[int]) -> list[Value]:
    if found is None:
        return [None] * len(of)
    return [*map(from_store, found.to_list())]


def _types(snapshot: Snapshot, eids: list[int]) -> list[Value]:
    return cast("list[Value]", lookup.edge_types(snapshot, np.array(eids, np.int64)).to_list())


def _copied(labels: list[str], _: int) -> list[str]:
    return [*labels]
