"""Relationships of variable length in a chain: each becomes a table of its ends, which is joined as components are.

A vertex that is alone in the pattern, an end of such a relationship and nothing else, gets no table of its own: its
labels and conditions say where paths may begin or end. Of the relationships on a path only their number is known.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from gdb.executor.relational.relational_tail import ColumnRef
from gdb.language.hidden_names import is_hidden
from gdb.logical.needed_properties import Demand
from gdb.physical.columns.relation import Builder, Relation
from gdb.physical.columns.steps import End, Walked
from gdb.physical.rows.component import admissible
from gdb.physical.rows.distinct_paths import rivals
from gdb.physical.rows.pattern import Component, Condition, Pattern, RowEdge, pattern_of_match
from gdb.records import dataclass, field, replace

if TYPE_CHECKING:
    from gdb.language.clauses import Match


@dataclass(slots=True)
class Part:
    """A table that a component, or a relationship of variable length, becomes.

    columns : of the elements that are wanted. stored : what is taken from the store for new elements.
    lengths : of relationships of variable length, how long they are.
    number : the column with the number of embeddings or paths that a row represents; None where each is one.
    present : names that are only tested for null, and a column that is null where they are.
    beside : its number is a column of the rows' own table, which it is not joined with (`Found.beside`).
    """

    table: str
    columns: dict[str, str]
    stored: dict[str, list[ColumnRef]] = field(default_factory=dict)
    lengths: dict[str, str] = field(default_factory=dict)
    number: str | None = None
    present: Mapping[str, str] = field(default_factory=dict)
    beside: bool = False


def _check(builder: Builder, pattern: Pattern) -> None:
    """Refuse what is not walked over columns."""
    for edge in pattern.long:
        if not admissible(builder.context, pattern, edge):
            raise builder.refuse(edge.place, "such a condition of a path's relationships is")
        if edge.left == edge.right and edge.selector is not None:
            raise builder.refuse(edge.place, "a shortest path from a node to itself is")
    long = {edge.name for edge in pattern.long}
    for route in pattern.routes:
        if route.acyclic and (len(route.edges) > 1 or not long.issuperset(route.edges)):
            place = pattern.edges[route.edges[0]].place
            what = "ACYCLIC, except of one relationship of variable length,"
            raise builder.refuse(place, f"{what} is")


def read_pattern(builder: Builder, clause: Match) -> Pattern:
    """The pattern of a clause, if it is one that is joined from components. Raises NotSupported."""
    for path in clause.patterns:
        for part in path.parts:
            if part.given is not None:
                raise builder.refuse(part.place, "a parameter for a whole property map is")
    mode = clause.mode or builder.context.mode
    if mode.nodes_differ or mode.distinct or mode.induced:
        raise builder.refuse(clause.place, "this match mode is")
    pattern = pattern_of_match(builder.text, clause, builder.context.mode)
    if pattern.variants:
        raise builder.refuse(clause.place, "a pattern that is repeated is")
    _check(builder, pattern)
    return pattern


def folded_path(pattern: Pattern, component: Component, bound: Collection[str]) -> bool:
    """Whether a component is nothing but a new end of paths."""
    if component.edges or len(component.vertices) > 1:
        return False
    (vertex,) = component.vertices
    return vertex not in bound and any(vertex in edge.ends for edge in pattern.long)


class Paths:
    """The tables of a pattern's relationships of variable length.

    conditions : of new vertices, which say where paths may begin and end. wanted : names whose columns are needed.
    present : those of them that are only tested for null. demand : what later operators need of the rows.
    """

    def __init__(
        self,
        builder: Builder,
        pattern: Pattern,
        conditions: Mapping[str, tuple[Condition, ...]],
        wanted: Collection[str],
        present: Collection[str],
        demand: Demand,
    ) -> None:
        self.builder, self.pattern, self.conditions = builder, pattern, conditions
        self.wanted, self.present, self.demand = wanted, present, demand
        self.places: dict[str, tuple[str, str]] = {}

    def parts(
        self, relation: Relation, before: Sequence[Part], stored: Mapping[str, Sequence[ColumnRef]]
    ) -> list[Part]:
        """The tables. before : those of components. stored : what is taken from the store for new vertices."""
        for name in self.pattern.vertices:
            if name in relation.names:
                self.places[name] = relation.table, relation.names[name].column
        for part in before:
            for name, column in part.columns.items():
                if name in self.pattern.vertices:
                    self.places[name] = part.table, column
        waiting, found = list(self.pattern.long), list[Part]()
        while waiting:
            edge = max(waiting, key=lambda e: len(self.places.keys() & set(e.ends)))
            waiting.remove(edge)
            found.append(self._part(edge, [*before, *found], stored, waiting))
        return found

    def _part(
        self,
        edge: RowEdge,
        before: Sequence[Part],
        stored: Mapping[str, Sequence[ColumnRef]],
        waiting: Sequence[RowEdge],
    ) -> Part:
        builder = self.builder
        used_table, used = self._used(edge, before)
        left, right = map(self._end, edge.ends)
        later = {end for other in waiting for end in other.ends}
        needed = [
            name
            for name in dict.fromkeys(edge.ends)
            if name in self.wanted or name in self.places or name in later
        ]
        number = builder.fresh("w") if self._counts(edge) else None
        flags = []
        if number is not None:
            flags = [n for n in needed if n in self.present and n not in {*self.places, *later}]
            needed = [name for name in needed if name not in flags]
        columns = {name: builder.fresh("x") for name in needed}
        part = Part(builder.fresh("f"), columns, number=number)
        if number is not None:
            part.present = dict.fromkeys(flags, number)
        taken: list[ColumnRef] = []
        for name in needed:
            if name not in self.places and name in stored:
                part.stored[name] = list(stored[name])
                taken += [replace(ref, index=edge.ends.index(name)) for ref in stored[name]]
        if edge.name in self.wanted:
            part.lengths[edge.name] = builder.fresh("d")
        names = {used[name]: builder.fresh("x") for name in used}
        part.columns = columns | {name: names[used[name]] for name in used}
        shown = [name for name in edge.ends if not is_hidden(name)]
        builder.steps.append(
            Walked(
                *(part.table, self.pattern, edge, left, right, columns, tuple(taken)),
                once=self._once(edge),
                used=names,
                used_table=used_table,
                length=part.lengths.get(edge.name),
                number=number,
                what=f"walk {' to '.join(shown) or 'from anywhere'}",
            )
        )
        for name in needed:
            self.places.setdefault(name, (part.table, part.columns[name]))
        return part

    def _counts(self, edge: RowEdge) -> bool:
        """Whether paths are to be counted, and not listed."""
        listed = edge.name in self.wanted or edge.selector is not None
        return self.demand.numbers and not self._once(edge) and not listed

    def _once(self, edge: RowEdge) -> bool:
        """Whether of all paths with the same ends one is enough."""
        return self.demand.once or edge.once

    def _end(self, name: str) -> End:
        return End(name, self.places.get(name), self.conditions.get(name, ()))

    def _used(self, edge: RowEdge, before: Sequence[Part]) -> tuple[str | None, dict[str, str]]:
        """The table of one of its ends with the relationships that a path may not use, and their columns by name."""
        others = [other.name for other in rivals(self.pattern, edge)]
        if not others:
            return None, {}
        tables = {self.places[end][0] for end in edge.ends if end in self.places}
        for part in before:
            if part.table in tables and set(others) <= part.columns.keys():
                for end in edge.ends:  # the same row has the end and the relationships
                    if end in part.columns:
                        self.places[end] = part.table, part.columns[end]
                return part.table, {name: part.columns[name] for name in others}
        what = "a relationship of variable length that must differ from others like these"
        raise self.builder.refuse(edge.place, f"{what} is")
