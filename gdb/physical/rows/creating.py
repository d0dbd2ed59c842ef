"""CREATE over rows: what a pattern says and a row has not, and what may be a property of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import islice, takewhile
from typing import TYPE_CHECKING, TypeAlias

from gdb.base.allowance import paced
from gdb.base.values.elements import NodeValue, PathValue, RelationshipValue
from gdb.base.values.problems import ValueProblem
from gdb.errors import DeletedProblem, GdbError, QueryError, TypeProblem
from gdb.language.clauses import BulkCreate, Create
from gdb.language.report import problem
from gdb.language.syntax import NodePattern, PathPattern, Place, RelationshipPattern
from gdb.physical.rows.named_labels import names_of
from gdb.storage.format.direction import Direction

if TYPE_CHECKING:
    from gdb.base.values.kinds import Row, Value
    from gdb.physical.rows.run_context import RowContext

Change: TypeAlias = "Callable[[list[Row]], list[Row]]"
"""What a clause makes of rows, and writes."""
PLAIN = frozenset({int, float, str, bool, type(None)})


def created(context: RowContext, clause: Create) -> Change:
    """The function from rows to those with what CREATE made for each."""
    makers = [Maker(context, pattern) for pattern in clause.patterns]
    named = any(maker.names for maker in makers)

    def change(rows: list[Row]) -> list[Row]:
        if named:
            rows = [dict(row) for row in rows]
        for row in paced(rows, len(rows)):
            for maker in makers:
                maker.make(row)
        return rows

    return change


def create_all(context: RowContext, clause: BulkCreate, rows: list[Row]) -> list[Row]:
    """The rows with what a table of patterns made for each."""
    shapes = [(Maker(context, one.path), one) for one in clause.shapes]
    made: list[Row] = []
    for row in rows:
        found: Row = {}
        for place, (number, names, values) in enumerate(paced(clause.rows, len(clause.rows))):
            maker, shape = shapes[number]
            own: Row = dict(zip(shape.values, values, strict=True))
            for k, variable in shape.known:
                own[variable] = found[names[k]]
            try:
                maker.make(own)
            except QueryError:
                _make_as_written(context, place, {**row, **found})
                raise
            for k, variable in shape.new:
                found[names[k]] = own[variable]
        made.append({**row, **found})
    return made


def _make_as_written(context: RowContext, number: int, row: Row) -> None:
    """Make a pattern of a table as it is written, so that its error shows its place in the text: that of the table
    shows the first pattern of its shape."""
    from gdb.language.parser import parse

    clauses = takewhile(
        lambda one: isinstance(one, Create), parse(context.text, tables=False).parts[0]
    )
    patterns = (one for clause in clauses if isinstance(clause, Create) for one in clause.patterns)
    Maker(context, next(islice(patterns, number, None))).make(row)


class Maker:
    """Makes what a pattern says and a row has not, and puts it into the row.

    names : of the pattern, which a row gets.
    """

    def __init__(self, context: RowContext, pattern: PathPattern) -> None:
        self.context, self.pattern = context, pattern
        self.path = None if pattern.name is None else pattern.name.text
        self.nodes = [_NodeMaker(context, node) for node in pattern.nodes]
        self.relationships: list[_RelationshipMaker] = []
        for k, one in enumerate(pattern.relationships):
            self.relationships.append(_RelationshipMaker(context, one, k))
        names = [self.path, *[one.name for one in self.nodes]]
        names += [one.name for one in self.relationships]
        self.names = {name for name in names if name is not None}

    def make(self, row: Row) -> None:
        """A name that the row has keeps its node. A relationship without direction goes to the right."""
        nodes = [one.create(row) for one in self.nodes]
        if self.path is not None:
            made = tuple([one.create(nodes, row) for one in self.relationships])
            row[self.path] = PathValue(tuple(nodes), made)
            return
        for one in self.relationships:
            if one.name is None:
                one.connect(nodes, row)
            else:
                one.create(nodes, row)


class _NodeMaker:
    """Makes the nodes of a part of a pattern."""

    def __init__(self, context: RowContext, pattern: NodePattern) -> None:
        self.context, self.pattern = context, pattern
        self.name = pattern.variable.text if pattern.variable else None
        self.labels = frozenset(label.text for term in pattern.labels for label in term)
        self.named = names_of(context, pattern.named) if pattern.named else None
        self.properties = _Properties(context, pattern)

    def create(self, row: Row) -> NodeValue:
        """The node that the row has, or a new one."""
        if self.name is not None and self.name in row:
            known = row[self.name]
            if not isinstance(known, NodeValue) or known.deleted:
                raise self._refused(known)
            return known
        labels = self.labels if self.named is None else self.labels.union(self.named(row))
        node = self.context.graph.create_node(labels, self.properties.of(row))
        if self.name is not None:
            row[self.name] = node
        return node

    def _refused(self, known: Value) -> GdbError:
        gone = isinstance(known, NodeValue)
        how = "has been deleted" if gone else "is no node here"
        return problem(
            *(DeletedProblem if gone else TypeProblem, self.context.text, self.pattern.place),
            f"'{self.name}' {how}, so that no relationship can be created at it.",
        )


class _RelationshipMaker:
    """Makes the relationships of a part of a pattern. left : the number of the node before it."""

    def __init__(self, context: RowContext, pattern: RelationshipPattern, left: int) -> None:
        self.context, self.pattern = context, pattern
        self.name = pattern.variable.text if pattern.variable else None
        ends = left, left + 1
        self.start, self.end = ends[::-1] if pattern.direction is Direction.IN else ends
        self.named = names_of(context, pattern.named) if pattern.named else None
        self.types = [one.text for one in pattern.types]
        self.type = self.types[0] if self.named is None and len(self.types) == 1 else None
        self.properties = _Properties(context, pattern)
        self.bare = not pattern.properties and pattern.given is None

    def create(self, nodes: Sequence[NodeValue], row: Row) -> RelationshipValue:
        """A new relationship, which the row gets if it is named."""
        properties, ends = self.properties.of(row), (nodes[self.start], nodes[self.end])
        made = self.context.graph.create_relationship(self._type(row), *ends, properties)
        if self.name is not None:
            row[self.name] = made
        return made

    def connect(self, nodes: Sequence[NodeValue], row: Row) -> None:
        """As `create`, where nothing names it."""
        properties = {} if self.bare else self.properties.of(row)
        type_ = self.type or self._type(row)
        self.context.graph.connect(type_, nodes[self.start], nodes[self.end], properties)

    def _type(self, row: Row) -> str:
        names = self.types if self.named is None else self.named(row)
        if len(names) != 1:
            raise problem(
                *(TypeProblem, self.context.text, self.pattern.place),
                f"a relationship that is created has one type, and $(...) names {len(names)}.",
            )
        return names[0]


class _Properties:
    """The properties that a pattern gives an element."""

    def __init__(self, context: RowContext, part: NodePattern | RelationshipPattern) -> None:
        self.context, self.part = context, part
        compiled = context.evaluator.compiled
        self.written = [(key.text, compiled(value), value.place) for key, value in part.properties]
        self.given = None if part.given is None else compiled(part.given)

    def of(self, row: Row) -> dict[str, Value]:
        if not self.written and self.given is None:
            return {}
        found: dict[str, Value] = {}
        for key, value, place in self.written:
            found[key] = storable(self.context, value(row), place)
        if self.given is not None and self.part.given is not None:
            place = self.part.given.place
            for key, one in map_of(self.context, self.given(row), place).items():
                found[key] = storable(self.context, one, place)
        return found


def map_of(context: RowContext, value: Value, place: Place) -> Mapping[str, Value]:
    """The properties in a value: a map, or those of an element."""
    match value:
        case None:
            return {}
        case dict():
            return value
        case NodeValue() | RelationshipValue():
            from gdb.base.values.graph_functions import stored  # here: few take an element

            try:
                return dict(stored(value))
            except ValueProblem as refused:
                raise context.evaluator.located(refused, place) from None
    raise problem(TypeProblem, context.text, place, "properties are a map, and this is none.")


def storable(context: RowContext, value: Value, place: Place) -> Value:
    """A value that a property may have."""
    if type(value) in PLAIN:
        return value
    bad = isinstance(value, (dict, NodeValue, RelationshipValue, PathValue))
    if isinstance(value, list):
        bad = any(
            item is None or isinstance(item, (list, dict, NodeValue, RelationshipValue, PathValue))
            for item in value
        )
    if bad:
        raise problem(
            *(TypeProblem, context.text, place),
            "a property is a number, string, boolean or time, or a list of one of these.",
            "Store the parts one by one.",
        )
    return value
