"""The clauses that write, over rows: CREATE, MERGE, SET, REMOVE, DELETE."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from gdb.base.allowance import paced
from gdb.base.values.comparison import group_key
from gdb.base.values.elements import NodeValue, PathValue, RelationshipValue
from gdb.errors import DeletedProblem, SyntaxProblem, TypeProblem
from gdb.language.clauses import (
    Create,
    Delete,
    Merge,
    Remove,
    SetAll,
    SetItem,
    SetLabels,
    SetProperty,
)
from gdb.language.hidden import HIDDEN
from gdb.language.named_by import HasNamed
from gdb.language.report import problem
from gdb.language.syntax import (
    Expression,
    HasLabels,
    Index,
    Name,
    NodePattern,
    PathPattern,
    Place,
    Property,
    RelationshipPattern,
    Variable,
)
from gdb.physical.rows.matching import extended
from gdb.physical.rows.named_labels import names_of
from gdb.physical.rows.pattern import Pattern, pattern_of
from gdb.storage.adjacency import Direction

if TYPE_CHECKING:
    from gdb.base.values.kinds import Row, Value
    from gdb.physical.rows.context import Context


_PLAIN = frozenset({int, float, str, bool, type(None)})

# ---- CREATE ----------------------------------------------------------------------------------------


def create(context: Context, clause: Create, rows: Sequence[Row]) -> list[Row]:
    """The rows with what CREATE made for each."""
    makers = [_Maker(context, pattern) for pattern in clause.patterns]
    return [_through(makers, dict(row)) for row in paced(rows, len(rows))]


def _through(makers: Iterable[_Maker], row: Row) -> Row:
    for maker in makers:
        maker.make(row)
    return row


class _Maker:
    """Makes what a pattern says and a row has not, and puts it into the row."""

    def __init__(self, context: Context, pattern: PathPattern) -> None:
        self.context, self.pattern = context, pattern
        parts: tuple[NodePattern | RelationshipPattern, ...]
        parts = (*pattern.nodes, *pattern.relationships)
        self.named = {id(part): names_of(context, part.named) for part in parts if part.named}
        self.nodes = [_Properties(context, node) for node in pattern.nodes]
        self.relationships = [_Properties(context, one) for one in pattern.relationships]

    def make(self, row: Row) -> None:
        """A name that the row has keeps its node. A relationship without direction goes to the right."""
        nodes = [self._node(k, row) for k in range(len(self.nodes))]
        made = [self._relationship(k, nodes, row) for k in range(len(self.relationships))]
        if self.pattern.name is not None:
            row[self.pattern.name.text] = PathValue(tuple(nodes), tuple(made))

    def _node(self, k: int, row: Row) -> NodeValue:
        pattern = self.pattern.nodes[k]
        name = pattern.variable.text if pattern.variable else None
        if name is not None and name in row:
            known = row[name]
            if not isinstance(known, NodeValue):
                raise problem(
                    *(TypeProblem, self.context.text, pattern.place),
                    f"'{name}' is no node here, so that no relationship can be created at it.",
                )
            if known.deleted:
                raise problem(
                    *(DeletedProblem, self.context.text, pattern.place),
                    f"'{name}' has been deleted, so that no relationship can be created at it.",
                )
            return known
        labels = [label.text for term in pattern.labels for label in term]
        if pattern.named:
            labels += self.named[id(pattern)](row)
        node = self.context.graph.create_node(labels, self.nodes[k].of(row))
        if name is not None:
            row[name] = node
        return node

    def _relationship(self, k: int, nodes: Sequence[NodeValue], row: Row) -> RelationshipValue:
        pattern = self.pattern.relationships[k]
        ends = nodes[k], nodes[k + 1]
        start, end = ends[::-1] if pattern.direction is Direction.IN else ends
        properties = self.relationships[k].of(row)
        made = self.context.graph.create_relationship(
            self._type(pattern, row), start, end, properties
        )
        if pattern.variable is not None:
            row[pattern.variable.text] = made
        return made

    def _type(self, pattern: RelationshipPattern, row: Row) -> str:
        if not pattern.named:
            (type_,) = pattern.types
            return type_.text
        names = self.named[id(pattern)](row)
        if len(names) != 1:
            raise problem(
                *(TypeProblem, self.context.text, pattern.place),
                f"a relationship that is created has one type, and $(...) names {len(names)}.",
            )
        return names[0]


class _Properties:
    """The properties that a pattern gives an element."""

    def __init__(self, context: Context, part: NodePattern | RelationshipPattern) -> None:
        self.context, self.part = context, part
        compiled = context.evaluator.compiled
        self.written = [(key.text, compiled(value), value.place) for key, value in part.properties]
        self.given = None if part.given is None else compiled(part.given)

    def of(self, row: Row) -> dict[str, Value]:
        if not self.written and self.given is None:
            return {}
        found = {
            key: _storable(self.context, value(row), place) for key, value, place in self.written
        }
        if self.given is not None and self.part.given is not None:
            place = self.part.given.place
            for key, value in _map(self.context, self.given(row), place).items():
                found[key] = _storable(self.context, value, place)
        return found


def _map(context: Context, value: Value, place: Place) -> Mapping[str, Value]:
    """The properties that a value stands for: a map, or those of an element."""
    match value:
        case None:
            return {}
        case dict():
            return value
        case NodeValue() | RelationshipValue():
            return dict(value.properties)
    raise problem(TypeProblem, context.text, place, "properties are a map, and this is none.")


# ---- SET and REMOVE --------------------------------------------------------------------------------


def assign(context: Context, items: Sequence[SetItem], rows: Sequence[Row]) -> None:
    """SET for each row, item by item."""
    assignments = _assignments(context, items)
    for row in paced(rows, len(rows)):
        for assignment in assignments:
            assignment.apply(row)


def _assignments(context: Context, items: Sequence[SetItem]) -> list[_Assignment]:
    return [_Assignment(context, item) for item in items]


class _Assignment:
    def __init__(self, context: Context, item: SetItem) -> None:
        self.context, self.item = context, item
        compiled = context.evaluator.compiled
        self.value = None
        if isinstance(item, SetProperty):
            self.subject = compiled(item.target.subject)
            self.value = compiled(item.value)
            self.key = None if isinstance(item.target, Property) else compiled(item.target.index)
        else:
            self.subject = compiled(item.variable)
            if isinstance(item, SetLabels):
                self.named = names_of(context, item.named)
            if isinstance(item, SetAll):
                self.value = compiled(item.value)

    def apply(self, row: Row) -> None:
        item, graph = self.item, self.context.graph
        element = self.subject(row)
        if element is None or getattr(element, "deleted", False):
            return
        if not isinstance(element, (NodeValue, RelationshipValue)):
            raise problem(
                *(TypeProblem, self.context.text, item.place),
                "only a node or a relationship has properties that can be set.",
            )
        if isinstance(item, SetProperty):
            assert self.value is not None
            key = item.target.key.text if isinstance(item.target, Property) else self._key(row)
            value = self.value(row)
            graph.set_property(element, key, _storable(self.context, value, item.value.place))
        elif isinstance(item, SetAll):
            assert self.value is not None
            given = _map(self.context, self.value(row), item.value.place)
            given = {k: _storable(self.context, v, item.value.place) for k, v in given.items()}
            if not item.add:
                for name in [name for name in element.properties if name not in given]:
                    graph.set_property(element, name, None)
            for name, value in given.items():
                graph.set_property(element, name, value)
        elif isinstance(element, NodeValue):
            labels = [label.text for label in item.labels]
            graph.set_labels(element, labels + self.named(row), ())
        else:
            raise problem(TypeProblem, self.context.text, item.place, "only a node has labels.")

    def _key(self, row: Row) -> str:
        assert self.key is not None
        assert isinstance(self.item, SetProperty)
        key = self.key(row)
        if isinstance(key, str):
            return key
        place = self.item.target.place
        raise problem(TypeProblem, self.context.text, place, "a property is named by a string.")


def _storable(context: Context, value: Value, place: Place) -> Value:
    """A value that a property may have."""
    if type(value) in _PLAIN:
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


def remove(context: Context, clause: Remove, rows: Sequence[Row]) -> None:
    """REMOVE for each row."""
    compiled = context.evaluator.compiled
    parts = [
        (
            item,
            compiled(item.subject),
            names_of(context, [item.names] if isinstance(item, HasNamed) else []),
        )
        for item in clause.items
    ]
    for row in rows:
        for item, subject, named in parts:
            element = subject(row)
            if element is None or getattr(element, "deleted", False):
                continue
            if not isinstance(element, (NodeValue, RelationshipValue)):
                raise problem(
                    *(TypeProblem, context.text, item.place),
                    "only a node or a relationship has properties that can be removed.",
                )
            match item:
                case HasLabels(labels=labels) if isinstance(element, NodeValue):
                    names = [name.text for term in labels for name in term]
                    context.graph.set_labels(element, (), names)
                case HasNamed() if isinstance(element, NodeValue):
                    context.graph.set_labels(element, (), named(row))
                case Property(key=key):
                    context.graph.set_property(element, key.text, None)
                case Index(index=index):
                    name = compiled(index)(row)
                    if isinstance(name, str):
                        context.graph.set_property(element, name, None)
                case _:
                    raise problem(TypeProblem, context.text, item.place, "only a node has labels.")


# ---- DELETE ----------------------------------------------------------------------------------------


def delete(context: Context, clause: Delete, rows: Sequence[Row]) -> None:
    """DELETE for each row: nodes, relationships, all of a path, and what lists of them hold."""
    targets = [(target, context.evaluator.compiled(target)) for target in clause.targets]
    found: list[tuple[NodeValue | RelationshipValue, Place]] = []
    for row in rows:
        for target, value in targets:
            place = target.place
            found += [(one, place) for one in _elements(context, value(row), place)]
    # relationships first, so that a node whose last one goes here can go
    for one, place in sorted(found, key=lambda one: isinstance(one[0], NodeValue)):
        context.graph.delete(one, place, detach=clause.detach)


def _elements(
    context: Context, value: Value, place: Place
) -> Iterator[NodeValue | RelationshipValue]:
    match value:
        case None:
            return
        case NodeValue() | RelationshipValue():
            yield value
        case PathValue(nodes=nodes, relationships=relationships):
            yield from relationships
            yield from nodes
        case list():
            for item in value:
                yield from _elements(context, item, place)
        case _:
            raise problem(
                *(TypeProblem, context.text, place),
                "DELETE takes nodes, relationships and paths, and this is something else.",
                "A property is taken away with REMOVE.",
            )


# ---- MERGE -----------------------------------------------------------------------------------------


def merge(context: Context, clause: Merge, rows: Sequence[Row], known: Sequence[str]) -> list[Row]:
    """The rows with what MERGE found for each, or made where there was none."""
    return _Merge(context, clause, known).run(rows)


class _Merge:
    def __init__(self, context: Context, clause: Merge, known: Sequence[str]) -> None:
        self.context, self.clause, self.known = context, clause, frozenset(known)
        self.maker = _Maker(context, clause.pattern)
        self.keys = self._keys()
        self.hidden = [f"{HIDDEN}m{k}" for k in range(len(self.keys))]

    def run(self, rows: Sequence[Row]) -> list[Row]:
        """Rows of one key find the same; so one of each is matched, all at once. Where what one row does could make
        another row's key match, each row is matched by itself."""
        if not self._independent():
            return [one for row in rows for one in self._merged([row])]
        return self._merged(rows)

    def _merged(self, rows: Sequence[Row]) -> list[Row]:
        pattern, prepared = self._prepared(rows)
        self._refuse_null(prepared)
        names = [*self.known, *self.hidden]
        firsts: dict[object, int] = {}
        of = [firsts.setdefault(key, k) for k, key in enumerate(self._keys_of(prepared))]
        distinct = list(firsts.values())
        matches = extended(self.context, pattern, [prepared[k] for k in distinct], names)
        own = [name for name in pattern.names if name not in self.known]
        found: dict[int, list[Row]] = {}
        for number, match in matches:
            found.setdefault(distinct[number], []).append({name: match[name] for name in own})
        on_match = _assignments(self.context, self.clause.on_match)
        on_create = _assignments(self.context, self.clause.on_create)
        made: list[Row] = []
        created: dict[int, Row] = {}
        for first, row in zip(of, rows, strict=True):
            several = found.get(first)
            if several is not None:
                merged = [{**row, **match} for match in several]
                assignments = on_match
            elif first in created:
                merged, assignments = [{**row, **created[first]}], on_match
            else:
                new = dict(row)
                self.maker.make(new)
                created[first] = {name: new[name] for name in own}
                merged, assignments = [new], on_create
            for assignment in assignments:
                for one in merged:
                    assignment.apply(one)
            made += merged
        return made

    # ---- keys ------------------------------------------------------------------------------------

    def _keys(self) -> list[tuple[Name, Expression]]:
        return [pair for part in _parts(self.clause.pattern) for pair in part.properties]

    def _prepared(self, rows: Sequence[Row]) -> tuple[Pattern, list[Row]]:
        """The pattern in which properties are compared with hidden variables, and the rows with these."""
        compiled = [self.context.evaluator.compiled(value) for _, value in self.keys]
        number = iter(range(len(self.keys)))

        def hidden(key: Name, value: Expression) -> tuple[Name, Expression]:
            return key, Variable(self.hidden[next(number)], value.place)

        pattern = self.clause.pattern
        nodes = tuple(_with(node, hidden) for node in pattern.nodes)
        relationships = tuple(_with(one, hidden) for one in pattern.relationships)
        changed = replace(pattern, nodes=nodes, relationships=relationships)
        prepared = [dict(row) for row in rows]
        for name, value in zip(self.hidden, compiled, strict=True):
            for row in prepared:
                row[name] = value(row)
        return pattern_of(self.context.text, [changed], None, self.context.mode), prepared

    def _keys_of(self, prepared: Sequence[Row]) -> Iterator[object]:
        """What tells each row from others that find something else."""
        bound = [name for name in self._bound() if not prepared or name in prepared[0]]
        hidden = self.hidden
        for row in prepared:
            values = [group_key(row[name]) for name in hidden]
            yield (*values, *[id(row[name]) for name in bound])

    def _bound(self) -> list[str]:
        """The names in the pattern that the rows have."""
        named = [part.variable for part in _parts(self.clause.pattern)]
        return [name.text for name in named if name is not None and name.text in self.known]

    def _independent(self) -> bool:
        """Whether what is made or set for one row never matches another row's key."""
        pattern = self.clause.pattern
        if len(pattern.relationships) > 1:
            return False
        if any(map(self._either_way, pattern.relationships)):
            return False
        bound = self._bound()
        if pattern.relationships and len(bound) < 2:
            return False
        changed = (*self.clause.on_create, *self.clause.on_match)
        keys = {key.text for key, _ in self.keys}
        return all(
            isinstance(item, SetProperty)
            and isinstance(item.target, Property)
            and item.target.key.text not in keys
            for item in changed
        )

    def _either_way(self, one: RelationshipPattern) -> bool:
        """Whether a relationship between two nodes is found from both."""
        types = {type_.text for type_ in one.types}
        known = self.context.graph.snapshot.edge_types
        undirected = any(t.name in types and not t.directed for t in known)
        return one.direction is Direction.ANY or undirected

    def _refuse_null(self, rows: Sequence[Row]) -> None:
        """rows : with the hidden variables."""
        for name, (key, value) in zip(self.hidden, self.keys, strict=True):
            if any(row[name] is None for row in rows):
                raise problem(
                    *(SyntaxProblem, self.context.text, value.place),
                    f"MERGE cannot look for a null {key.text}: null equals nothing.",
                    "Filter such rows out before, with WHERE ... IS NOT NULL.",
                    detail="MergeReadOwnWrites",
                )
        for name in self._bound():
            if any(row[name] is None for row in rows):
                raise problem(
                    *(SyntaxProblem, self.context.text, self.clause.place),
                    f"'{name}' is null, and MERGE has no node to begin at.",
                )


def _parts(pattern: PathPattern) -> tuple[NodePattern | RelationshipPattern, ...]:
    return (*pattern.nodes, *pattern.relationships)


_Part = TypeVar("_Part", NodePattern, RelationshipPattern)


def _with(part: _Part, hidden: Callable[[Name, Expression], tuple[Name, Expression]]) -> _Part:
    """The part with other values of its properties."""
    return replace(part, properties=tuple(hidden(key, value) for key, value in part.properties))
