"""A MATCH clause taken apart: query vertices and edges by name, connected components, conditions.

What has no name gets one that no user can write. Conditions of property maps and of WHERE inside a pattern become
ordinary conditions on those names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from typing import TYPE_CHECKING

from gdb.base.once import cached_property
from gdb.errors import NotSupported
from gdb.language.hidden_names import HIDDEN, is_hidden
from gdb.language.mentioned_names import mentioned
from gdb.language.name_resolution import conjuncts
from gdb.language.quantified_patterns import repeats, unroll_patterns
from gdb.language.random_values import is_random
from gdb.language.report import problem
from gdb.language.scope import has_labels
from gdb.language.syntax import (
    Call,
    Comparator,
    Comparison,
    Expression,
    LabelTerms,
    Length,
    ListComprehension,
    Name,
    NodePattern,
    Not,
    PathMode,
    PathPattern,
    PatternComprehension,
    PatternTest,
    Place,
    Property,
    Quantified,
    Reduce,
    RelationshipPattern,
    Selector,
    Subquery,
    Variable,
    rebuilt,
    walk,
)
from gdb.physical.rows.distinct_paths import mark_once
from gdb.query_graph import MatchMode
from gdb.records import dataclass, field, replace
from gdb.storage.format.direction import Direction

if TYPE_CHECKING:
    from gdb.base.values.kinds import Row
    from gdb.language.clauses import Match
    from gdb.physical.rows.row_look_ups import Equality
    from gdb.physical.rows.row_program import RowProgram

_WITH_NAMES = ListComprehension, PatternComprehension, PatternTest, Quantified, Reduce, Subquery
"""Expressions that have names of their own, or that are not looked into."""

_MOST_ACCEPTED = 4096


@dataclass(slots=True)
class RowVertex:
    """A query vertex; `labels` add up over all places that name it."""

    name: str
    place: Place
    labels: LabelTerms = ()


@dataclass(frozen=True, slots=True)
class RowEdge:
    """A query edge between the vertices left and right of it, or with a length a path of them.

    alone : it means one relationship, although it has a length. clause : the number of its MATCH among those that
        the pattern is made of; relationships differ within one.
    once : of all its paths between two nodes one is enough, and rows do not have what it goes along.
    """

    name: str
    place: Place
    left: str
    right: str
    types: tuple[str, ...]
    direction: Direction
    length: Length | None = None
    mode: PathMode = PathMode.TRAIL
    selector: Selector | None = None
    conditions: tuple[Expression, ...] = ()
    alone: bool = False
    clause: int = 0
    once: bool = False

    @property
    def ends(self) -> tuple[str, str]:
        """The names of the vertices left and right of it."""
        return self.left, self.right

    @property
    def mentions(self) -> frozenset[str]:
        """The other names that the conditions of its relationships mention."""
        return frozenset(n for c in self.conditions for n in mentioned(c)) - {self.name}

    @property
    def how(self) -> str:
        """What is found of its paths over rows, for EXPLAIN."""
        if self.selector is not None:
            return "shortest paths"
        return "only where paths end" if self.once else "every path"


@dataclass(frozen=True, slots=True)
class Route:
    """A path that is named or has to be acyclic: its vertices, and the edges between each and the next."""

    name: str
    vertices: tuple[str, ...]
    edges: tuple[str, ...]
    acyclic: bool


@dataclass(frozen=True)
class Condition:
    """A part of the condition that must be true, and the names of the clause and of the rows that it mentions.

    random : it is another value each time, and concerns whole rows: `names` has all names of the pattern.
    """

    expression: Expression
    names: frozenset[str]
    random: bool = False

    @cached_property
    def equalities(self) -> tuple[Equality, ...]:
        """What it is as an equality of a property with a value (`gdb.physical.rows.row_look_ups`)."""
        # here: only conditions on several elements need it
        from gdb.physical.rows.row_look_ups import equalities

        return tuple(equalities(self))


@dataclass(frozen=True, slots=True)
class Component:
    """Vertices, and the edges of one relationship that connect them."""

    vertices: tuple[str, ...]
    edges: tuple[str, ...]


class Accepted(dict[tuple[str, ...], bool]):
    """Which sets of labels satisfy the labels of a query vertex: found once for each."""

    def __init__(self, terms: LabelTerms) -> None:
        super().__init__()
        self.terms = terms

    def __missing__(self, labels: tuple[str, ...]) -> bool:
        if len(self) >= _MOST_ACCEPTED:
            self.clear()
        found = self[labels] = has_labels(labels, self.terms)
        return found


@dataclass(frozen=True, slots=True)
class PatternParts:
    """What follows from a pattern alone.

    names : of all that it has. components : connected by edges of one relationship. long : edges of variable length.
    checks_edges : whether relationships of several of these have to differ. accepted : by vertex.
    """

    names: frozenset[str]
    components: tuple[Component, ...]
    long: tuple[RowEdge, ...]
    checks_edges: bool
    accepted: Mapping[str, Accepted]


@dataclass(slots=True)
class Pattern:
    """See the module. vertices, edges : by name, in the order of the text."""

    text: str
    mode: MatchMode
    vertices: dict[str, RowVertex] = field(default_factory=dict)
    edges: dict[str, RowEdge] = field(default_factory=dict)
    routes: list[Route] = field(default_factory=list)
    conditions: list[Condition] = field(default_factory=list)
    variants: list[Variant] = field(default_factory=list)
    _components: list[Component] | None = field(default=None, init=False, compare=False)
    _names: tuple[str, ...] | None = field(default=None, init=False, compare=False)
    _parts: PatternParts | None = field(default=None, init=False, compare=False)
    _programs: dict[frozenset[str], RowProgram | None] = field(
        default_factory=dict, init=False, compare=False
    )

    @property
    def names(self) -> tuple[str, ...]:
        """What the user named in it, in the order of the text."""
        if self._names is None:
            named = (*self.vertices, *self.edges, *(route.name for route in self.routes))
            if self.variants:
                several = (name for one in self.variants for name in one.names)
                self._names = tuple(dict.fromkeys(several))
            else:
                self._names = tuple(name for name in named if not is_hidden(name))
        return self._names

    @property
    def parts(self) -> PatternParts:
        """What all runs over rows need of it."""
        if self._parts is None:
            components, long = self.components(), self.long
            apart = bool(long) or len([c for c in components if c.edges]) > 1
            self._parts = PatternParts(
                frozenset({*self.vertices, *self.edges, *(route.name for route in self.routes)}),
                tuple(components),
                tuple(long),
                self.mode.edges_differ and apart,
                {name: Accepted(one.labels) for name, one in self.vertices.items()},
            )
        return self._parts

    def program(self, known: frozenset[str]) -> RowProgram | None:
        """Its program for one row (`gdb.physical.rows.row_program`), compiled once; None where it has none. known : the
        names that the row has."""
        if known not in self._programs:
            from gdb.physical.rows.row_program import compiled  # here: many patterns need none

            self._programs[known] = compiled(self, known)
        return self._programs[known]

    @property
    def single(self) -> list[RowEdge]:
        """The edges of one relationship."""
        return [edge for edge in self.edges.values() if edge.length is None]

    @property
    def long(self) -> list[RowEdge]:
        """The edges of variable length."""
        return [edge for edge in self.edges.values() if edge.length is not None]

    def components(self) -> list[Component]:
        """The connected components by edges of one relationship; all in one where the mode concerns all vertices."""
        if self._components is None:
            self._components = self._connected()
        return [*self._components]

    def _connected(self) -> list[Component]:
        whole = self.mode.nodes_differ or self.mode.distinct or self.mode.induced
        root = {name: name for name in self.vertices}

        def find(name: str) -> str:
            while root[name] != name:
                name = root[name]
            return name

        first = next(iter(self.vertices))
        for edge in self.single:
            root[find(edge.left)] = find(edge.right)
        for name in self.vertices if whole else ():
            root[find(name)] = find(first)
        found: dict[str, list[str]] = {}
        for name in self.vertices:
            found.setdefault(find(name), []).append(name)
        return [
            Component(
                tuple(names), tuple(edge.name for edge in self.single if edge.left in set(names))
            )
            for names in found.values()
        ]


@dataclass(frozen=True, slots=True)
class Variant:
    """A pattern in which repeated ones are written out (`gdb.language.quantified_patterns`).

    groups : for each group variable the names of its items. same : names that mean the node of another one.
    later : conditions that mention these.
    """

    pattern: Pattern
    groups: Mapping[str, tuple[str, ...]]
    same: Mapping[str, str]
    later: tuple[Expression, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """All names that a row of the variant has: of the pattern, of equal nodes, of group variables."""
        return (*self.pattern.names, *self.same, *self.groups)

    def completed(self, row: Row) -> bool:
        """Put the values of its names into a row of the pattern; whether they are those that it had before."""
        for name, other in self.same.items():
            if row.setdefault(name, row[other]) is not row[other]:
                return False
        for name, items in self.groups.items():
            row[name] = [row[item] for item in items]
        return True


def pattern_of(
    text: str,
    patterns: Sequence[PathPattern],
    where: Expression | None,
    mode: MatchMode,
    needed: Set[str] | None = None,
) -> Pattern:
    """Take a MATCH clause apart. needed : as `gdb.language.clauses.Match.needed`.

    Raises
    ------
    NotSupported : a path of variable length in a mode that concerns nodes; a selector of a longer pattern.
    """
    return _pattern(text, [(0, path) for path in patterns], where, mode, needed)


def pattern_of_match(text: str, clause: Match, default: MatchMode) -> Pattern:
    """Take a MATCH clause apart. default : its mode where it names none. Raises as `pattern_of`."""
    return _pattern(text, clause.numbered, clause.where, clause.mode or default, clause.needed)


def _pattern(
    text: str,
    patterns: Sequence[tuple[int, PathPattern]],
    where: Expression | None,
    mode: MatchMode,
    needed: Set[str] | None,
) -> Pattern:
    every = [path for _, path in patterns]
    if repeats(every):
        return _varied(text, every, where, mode)
    found = _PatternReader(text, mode).read(patterns, where)
    if needed is not None:
        mark_once(found, needed)
    return found


def _varied(
    text: str, patterns: Sequence[PathPattern], where: Expression | None, mode: MatchMode
) -> Pattern:
    """The pattern with a variant for each number of repetitions. Conditions of WHERE on group variables, and on nodes
    that may be another one's, are tested later."""
    several = unroll_patterns(text, patterns)
    own = {name for one in several for name in (*one.groups, *one.same)}
    parts = [] if where is None else list(conjuncts(where))
    later = tuple(part for part in parts if mentioned(part) & own)
    early = [part for part in parts if not mentioned(part) & own]
    variants = []
    for one in several:
        reader = _PatternReader(text, mode)
        reader.written = [*early, *one.conditions]
        found = reader.read([(0, path) for path in one.patterns], None)
        variants.append(Variant(found, one.groups, one.same, (*later, *one.later)))
    return Pattern(text, mode, variants=variants)


class _PatternReader:
    def __init__(self, text: str, mode: MatchMode) -> None:
        self.found = Pattern(text, mode)
        self.written: list[Expression] = []
        self.clause = 0

    def read(
        self, patterns: Sequence[tuple[int, PathPattern]], where: Expression | None
    ) -> Pattern:
        for self.clause, path in patterns:
            self._path(path)
        every = self.written if where is None else [*self.written, where]
        parts = [part for whole in every for part in conjuncts(whole)]
        self.found.conditions = [self._condition(p) for p in parts if not self._of_each_step(p)]
        return self.found

    def _condition(self, part: Expression) -> Condition:
        if is_random(part):  # it is tested of each row, not of what several rows share
            return Condition(
                part, mentioned(part).union(self.found.vertices, self.found.edges), True
            )
        return Condition(part, mentioned(part))

    def _of_each_step(self, part: Expression) -> bool:
        """Whether a part of WHERE says of all relationships of a path what each must be; then it is a condition of
        them, so that no path goes on over one that is not. (A shortest path is chosen before WHERE.)"""
        match part:
            case Quantified(quantifier="all" | "none" as every, variable=one, list=several):
                edge = self._stepped(several)
            case _:
                return False
        inner = tuple(walk(part.where))
        if edge is None or not mentioned(part.where) <= {one.text} or is_random(part.where):
            return False
        if any(isinstance(one, _WITH_NAMES) for one in inner):
            return False
        name = edge.name

        def renamed(of: Expression) -> Expression | None:
            return Variable(name, of.place) if isinstance(of, Variable) else None

        condition = rebuilt(part.where, renamed)
        if every == "none":
            condition = Not(condition, part.place)
        self.found.edges[name] = replace(edge, conditions=(*edge.conditions, condition))
        return True

    def _stepped(self, several: Expression) -> RowEdge | None:
        """The edge of variable length whose relationships a list is, or those of its path."""
        match several:
            case Variable(name=name):
                edge = self.found.edges.get(name)
            case Call(function=function, arguments=(Variable(name=name),)):
                routes = [r for r in self.found.routes if r.name == name and len(r.edges) == 1]
                if function.text.lower() != "relationships" or not routes:
                    return None
                edge = self.found.edges[routes[0].edges[0]]
            case _:
                return None
        if edge is None or edge.length is None or edge.selector is not None or edge.alone:
            return None
        return edge

    def _path(self, path: PathPattern) -> None:
        if path.selector is not None and len(path.relationships) != 1:
            raise self._not_supported(
                path.nodes[0].place,
                "a shortest path of several relationship patterns is",
                "Match its parts one by one.",
            )
        vertices = [self._vertex(node) for node in path.nodes]
        edges = [
            self._edge(one, vertices[k], vertices[k + 1], path)
            for k, one in enumerate(path.relationships)
        ]
        acyclic = path.mode is PathMode.ACYCLIC
        if path.name is not None or acyclic:
            name = path.name.text if path.name else f"{HIDDEN}p{len(self.found.routes)}"
            self.found.routes.append(Route(name, tuple(vertices), tuple(edges), acyclic))

    def _vertex(self, node: NodePattern) -> str:
        name = node.variable.text if node.variable else f"{HIDDEN}v{len(self.found.vertices)}"
        known = self.found.vertices.setdefault(name, RowVertex(name, node.place))
        known.labels = (*known.labels, *node.labels)
        self.written += _conditions(name, node)
        return name

    def _edge(self, one: RelationshipPattern, left: str, right: str, path: PathPattern) -> str:
        name = one.variable.text if one.variable else f"{HIDDEN}e{len(self.found.edges)}"
        length = one.length
        if length is None and path.selector is not None:
            length = Length(1, 1)
        conditions = tuple(_conditions(name, one))
        if length is None:
            self.written += conditions
            conditions = ()
        elif self.found.mode.nodes_differ or self.found.mode.induced:
            raise self._not_supported(
                one.place,
                "a relationship of variable length in this mode is",
                "Use MATCH without a mode, or ACYCLIC.",
            )
        mode = path.mode
        if not self.found.mode.edges_differ and mode is PathMode.TRAIL:
            mode = PathMode.WALK
        if length is not None and length.high is None and mode is PathMode.WALK:
            raise self._not_supported(
                one.place, "a walk without a longest length is", "Write *..10, or TRAIL."
            )
        self.found.edges[name] = RowEdge(
            name,
            one.place,
            left,
            right,
            tuple(sorted({type_.text for type_ in one.types})),
            one.direction,
            length,
            mode,
            path.selector,
            conditions,
            one.length is None,
            self.clause,
        )
        return name

    def _not_supported(self, place: Place, what: str, instead: str) -> NotSupported:
        text = self.found.text
        return problem(NotSupported, text, place, f"{what} not supported yet.", instead)


def _conditions(name: str, part: NodePattern | RelationshipPattern) -> Iterator[Expression]:
    for key, value in part.properties:
        yield equals(name, key, value)
    if part.where is not None:
        yield part.where


def equals(name: str, key: Name, value: Expression) -> Comparison:
    """name.key = value"""
    subject = Property(Variable(name, key.place), key, key.place)
    return Comparison(Comparator.EQUAL, subject, value, key.place.to(value.place))
