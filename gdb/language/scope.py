"""The names of a query: which query vertex or edge a variable is, and what the store knows of its labels and keys."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from gdb import limits
from gdb.errors import LimitExceeded, NameProblem
from gdb.functions import types
from gdb.functions.types import Type, TypeName, common_kind, in_columns
from gdb.language import syntax
from gdb.language.clauses import Match
from gdb.language.hidden_names import parameter_shown
from gdb.language.pattern_syntax import NodePattern, RelationshipPattern
from gdb.language.report import beyond_pattern, problem
from gdb.language.syntax import Comparator, Expression, Name, Place
from gdb.query_graph import Components
from gdb.records import dataclass, field
from gdb.storage.format.direction import Direction

if TYPE_CHECKING:
    from gdb.executor.relational.relational_tail import Value
    from gdb.storage.columns.model import Kind as StoreKind
    from gdb.storage.graph.snapshot import Snapshot


@dataclass(slots=True)
class ScopeVertex:
    """A query vertex: `labels` add up over all places that name it."""

    name: str | None
    place: Place
    labels: list[tuple[Name, ...]] = field(default_factory=list)


@dataclass(slots=True)
class ScopeEdge:
    """A query edge from vertex `source` to vertex `target`; direction OUT or ANY; of the MATCH number `clause`."""

    name: str | None
    place: Place
    source: int
    target: int
    types: tuple[Name, ...]
    direction: Direction
    clause: int = 0


class Scope:
    """The pattern of a query, numbered, beside the snapshot that it is matched in."""

    def __init__(self, text: str, snapshot: Snapshot, parameters: Mapping[str, Value]) -> None:
        self.text = text
        self.snapshot = snapshot
        self.parameters = parameters
        self.vertices: list[ScopeVertex] = []
        self.edges: list[ScopeEdge] = []
        self.names: dict[str, syntax.ElementReference] = {}
        self.conditions: list[Expression] = []  # from property maps; elements, no variables
        self._types: dict[tuple[syntax.ElementReference, str], Type] = {}

    def with_parameters(self, parameters: Mapping[str, Value]) -> Scope:
        """The same pattern and names with other values."""
        scope = Scope.__new__(Scope)  # not `copy`, which takes ten times as long
        vars(scope).update(vars(self), parameters=parameters)
        return scope

    def over(self, snapshot: Snapshot | None) -> Scope:
        """The same pattern, names and values beside another snapshot of the same vertex groups and edge types; beside
        none, which holds no snapshot in memory."""
        scope = Scope.__new__(Scope)
        vars(scope).update(vars(self))
        if snapshot is None:
            del scope.snapshot
        else:
            scope.snapshot = snapshot
        return scope

    def parts(self) -> list[int]:
        """For each query vertex a number of the part of the pattern that edges join it to."""
        components = Components(len(self.vertices))
        for edge in self.edges:
            components.join(edge.source, edge.target)
        return [components.of(vertex) for vertex in range(len(self.vertices))]

    @property
    def is_connected(self) -> bool:
        """Whether edges join all query vertices."""
        return len(self.vertices) < 2 or len(set(self.parts())) == 1

    # ---- patterns ---------------------------------------------------------------------------------

    def add(self, match: Match, clause: int = 0) -> None:
        """Number the vertices and edges of all patterns of the MATCH number `clause`, where it was put together of
        several of those from that number on.

        Raises
        ------
        NotSupported : a relationship of an earlier MATCH.
        LimitExceeded : too many of them.
        """
        for number, path in match.numbered:
            at = [self._vertex(node) for node in path.nodes]
            for k, relationship in enumerate(path.relationships):
                self._edge(relationship, at[k], at[k + 1], clause + number)
        most = limits.size("MAX_PATTERN_VERTICES")
        if len(self.vertices) > most:
            raise LimitExceeded(
                f"the pattern has {len(self.vertices)} nodes, more than the limit of {most}.",
                limits.cure("Match a smaller pattern", "MAX_PATTERN_VERTICES"),
            )
        most = limits.size("MAX_PATTERN_EDGES")
        if len(self.edges) > most:
            raise LimitExceeded(
                f"the pattern has {len(self.edges)} relationships, more than the limit of {most}.",
                limits.cure("Match a smaller pattern", "MAX_PATTERN_EDGES"),
            )

    def _vertex(self, node: NodePattern) -> int:
        name = node.variable.text if node.variable else None
        known = self.names.get(name) if name is not None else None
        if known is None:
            known = syntax.ElementReference("vertex", len(self.vertices), node.place)
            self.vertices.append(ScopeVertex(name, node.place))
            if name is not None:
                self.names[name] = known
        self.vertices[known.index].labels += node.labels
        self._map(known, node.properties)
        return known.index

    def _edge(self, relationship: RelationshipPattern, left: int, right: int, clause: int) -> None:
        variable = relationship.variable
        element = syntax.ElementReference("edge", len(self.edges), relationship.place)
        if variable is not None:
            known = self.names.get(variable.text)
            if known is not None:
                what = f"the relationship '{variable.text}' of an earlier MATCH is"
                raise beyond_pattern(self.text, variable.place, what)
            self.names[variable.text] = element
        back = relationship.direction is Direction.IN
        self.edges.append(
            ScopeEdge(
                variable.text if variable else None,
                relationship.place,
                right if back else left,
                left if back else right,
                relationship.types,
                Direction.OUT if back else relationship.direction,
                clause,
            )
        )
        self._map(element, relationship.properties)

    def _map(
        self, element: syntax.ElementReference, properties: Sequence[tuple[Name, Expression]]
    ) -> None:
        for key, value in properties:
            place = key.place.to(value.place)
            subject = syntax.Property(element, key, key.place)
            self.conditions.append(syntax.Comparison(Comparator.EQUAL, subject, value, place))

    # ---- names ------------------------------------------------------------------------------------

    def lookup(self, variable: syntax.Variable) -> Expression:
        """The expression that a variable means.

        Raises
        ------
        NameProblem : the pattern has no such name.
        """
        known = self.names.get(variable.name)
        if known is None:
            message = f"the pattern has no '{variable.name}'."
            raise problem(NameProblem, self.text, variable.place, message)
        return syntax.ElementReference(known.kind, known.index, variable.place)

    def parameter(self, name: str, place: Place) -> Value:
        """The value of a parameter. Raises NotSupported: it is not for columns."""
        value = self.parameters[name]
        if not in_columns(value):
            raise beyond_pattern(
                self.text, place, f"the value of {parameter_shown(name)}, such a time, is"
            )
        return value

    # ---- what the store knows ---------------------------------------------------------------------

    def groups(self, vertex: int) -> tuple[int, ...]:
        """The vertex groups that the labels of a query vertex admit."""
        terms = self.vertices[vertex].labels
        if not terms:
            return tuple(range(len(self.snapshot.groups)))
        return tuple(
            number
            for number, group in enumerate(self.snapshot.groups)
            if has_labels(group.labels, terms)
        )

    def types(self, edge: int) -> tuple[str, ...]:
        """The edge types of the store that a query edge may have."""
        wanted = {name.text for name in self.edges[edge].types}
        names = (type_.name for type_ in self.snapshot.edge_types)
        return tuple(name for name in names if not wanted or name in wanted)

    def property_type(self, element: syntax.ElementReference, key: Name) -> Type:
        """The type of a property wherever this element may have it; NULL where nothing has it.

        Raises
        ------
        NotSupported : it is, say, a number here and a string there; only a run over rows has such values.
        """
        place = (element, key.text)
        if place not in self._types:
            self._types[place] = self._property_type(element, key)
        return self._types[place]

    def column_type(self, element: syntax.ElementReference, key: Name) -> Type:
        """The type of a property as one column.

        Raises
        ------
        NotSupported : it is an integer here and a float there: a column would make floats of all.
        """
        type_ = self.property_type(element, key)
        if type_.kind is TypeName.FLOAT and len(self.stored_kinds(element, key.text)) > 1:
            what = f"{key.text}, here an integer and there a float, is"
            raise beyond_pattern(self.text, key.place, what)
        return type_

    def _property_type(self, element: syntax.ElementReference, key: Name) -> Type:
        kinds = self.stored_kinds(element, key.text)
        if not kinds:
            return types.NULL
        several = {types.OF_STORE[kind] for kind in kinds if kind != "any"}
        common = common_kind({type_.kind for type_ in several})
        if "any" in kinds or (len(several) > 1 and common is None):
            what = f"the property {key.text}, which holds values of several types, is"
            raise beyond_pattern(self.text, key.place, what)
        if len(several) == 1:
            return several.pop()
        assert common is not None
        return Type(common)

    def stored_kinds(self, element: syntax.ElementReference, key: str) -> frozenset[StoreKind]:
        """The types that the store has for a property, wherever this element may have it."""
        return frozenset(keys[key] for keys in self._keys(element) if key in keys)

    def _keys(self, element: syntax.ElementReference) -> list[Mapping[str, StoreKind]]:
        """The keys of each group or edge type that an element may belong to."""
        if element.kind == "vertex":
            return [self.snapshot.groups[number].keys for number in self.groups(element.index)]
        admitted = self.types(element.index)
        return [type_.keys for type_ in self.snapshot.edge_types if type_.name in admitted]

    def id_type(self, element: syntax.ElementReference, place: Place) -> Type:
        """The type of id(element).

        Raises
        ------
        NotSupported : some ids are numbers, some strings.
        """
        if element.kind == "edge":
            return types.INTEGER
        kinds = {self.snapshot.id_column(group).kind for group in self.groups(element.index)}
        if len(kinds) > 1:
            raise beyond_pattern(self.text, place, "an id that is a number or a string is")
        return types.STRING if kinds == {"string"} else types.INTEGER


def has_labels(labels: Sequence[str], terms: Iterable[tuple[Name, ...]]) -> bool:
    """Whether a vertex with these labels satisfies an AND of ORs."""
    return all(any(name.text in labels for name in term) for term in terms)
