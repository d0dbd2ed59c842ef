"""A pattern for one row, compiled: nodes that values name, relationships between nodes of the row, conditions.

What `gdb.physical.rows.row_matching` finds out for each batch of rows (which component comes next, which condition a
look-up answers, which conditions can be tested) follows from the pattern and from the names that the rows have. For a
pattern of such parts it is found out once, and kept with the pattern; one row then goes from step to step without
arrays. A step that finds no answer of its own, as where a value names many nodes, leaves the row to the matching of
batches.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

from gdb.base.values.elements import NodeValue
from gdb.errors import GdbError
from gdb.language.hidden_names import is_hidden
from gdb.language.mentioned_names import asks
from gdb.language.syntax import Expression, Parameter, Variable
from gdb.physical.rows.expand import expand_component
from gdb.physical.rows.row_look_ups import FEW, Equality
from gdb.storage.graph.value_index import Wanted

if TYPE_CHECKING:
    from gdb.base.values.kinds import Row, Value
    from gdb.physical.rows.pattern import Accepted, Component, Pattern, RowEdge
    from gdb.physical.rows.run_context import RowContext

MOST = 64
"""Rows that one row becomes up to which it goes on by itself."""
Step: TypeAlias = "Callable[[RowContext, list[Row]], list[Row] | None]"
"""The rows that some rows become; None where the step has no answer."""
ValueOf: TypeAlias = "Callable[[RowContext, Row], Value]"


class RowProgram:
    """The steps of a pattern, one after the other. Nothing in it belongs to a run: threads may share it."""

    __slots__ = ("steps",)

    def __init__(self, steps: Sequence[Step]) -> None:
        self.steps = steps

    def run(self, context: RowContext, row: Row) -> list[Row] | None:
        """The rows that MATCH makes of a row, their hidden names included; None where this needs the matching of
        batches."""
        return self.run_all(context, [row])

    def run_all(self, context: RowContext, rows: Sequence[Row]) -> list[Row] | None:
        """As `run`, of several rows, in their order."""
        rows = [dict(row) for row in rows]
        for step in self.steps:
            found = step(context, rows)
            if not found or len(found) > MOST:
                return None if found is None or found else []
            rows = found
        return rows


def compiled(pattern: Pattern, known: frozenset[str]) -> RowProgram | None:
    """The program of a pattern; None where some part of it is of another kind. known : the names that rows have."""
    mode = pattern.mode
    if pattern.variants or pattern.routes or pattern.parts.long or pattern.parts.checks_edges:
        return None
    if mode.nodes_differ or mode.distinct or mode.induced:
        return None
    if any(asks(condition.expression) for condition in pattern.conditions):
        return None
    compiler = _Compiler(pattern, known)
    return RowProgram(compiler.steps) if compiler.compile() else None


class _Compiler:
    """Goes through a pattern as the matching of batches does. steps : those that were compiled so far."""

    def __init__(self, pattern: Pattern, known: frozenset[str]) -> None:
        self.pattern, self.bound = pattern, set(known)
        self.reach = pattern.parts.names | known
        self.waiting = list(pattern.conditions)
        self.steps: list[Step] = []

    def compile(self) -> bool:
        """Compile all of the pattern; whether that can be."""
        shared = [*self.bound.intersection((*self.pattern.vertices, *self.pattern.edges))]
        if shared:
            self.steps.append(_there(shared))
        self._test()
        left = list(self.pattern.parts.components)
        while left:
            met = (c for c in left if self.bound.intersection((*c.vertices, *c.edges)))
            component = next(met, left[0])
            step = self._edge(component) if component.edges else self._vertex(component)
            if step is None:
                return False
            self.steps.append(step)
            left.remove(component)
            self.bound.update(component.vertices, component.edges)
            self._test()
        return True

    def _test(self) -> None:
        """Test the conditions that can be tested now."""
        ready = [c for c in self.waiting if c.names & self.reach <= self.bound]
        if ready:
            self.waiting = [c for c in self.waiting if c not in ready]
            self.steps.append(_satisfying([c.expression for c in ready]))

    def _vertex(self, component: Component) -> Step | None:
        """The step of a node that the row has, or that a value of the row names."""
        (name,) = component.vertices
        if name in self.bound:
            return _labelled(name, self.pattern.parts.accepted[name])
        return self._named(name, alone=True)

    def _named(self, name: str, *, alone: bool) -> Step | None:
        """The step of a node that a value of the row names. alone : it is a component."""
        unbound = self.reach - self.bound
        for condition in self.waiting:
            for one in condition.equalities:
                if one.vertex == name:  # the first is the condition's
                    if not one.within and not one.mentions & unbound:
                        self.waiting.remove(condition)
                        return _look_up(one, self.pattern.parts.accepted[name], alone=alone)
                    break
        return None

    def _edge(self, component: Component) -> Step | None:
        """The step of one relationship at a node that the row has, or that a value names, or between two of the row."""
        if len(component.edges) > 1:
            return None
        edge = self.pattern.edges[component.edges[0]]
        if edge.name in self.bound or edge.left == edge.right:
            return None
        if self.bound.isdisjoint(component.vertices):
            ends = ((end, self._named(end, alone=False)) for end in edge.ends)
            end, step = next((both for both in ends if both[1] is not None), ("", None))
            if step is None:
                return None
            self.steps.append(step)
            self.bound.add(end)
        asked = not is_hidden(edge.name) or any(edge.name in c.names for c in self.waiting)
        name = edge.name if asked else None
        new = [end for end in component.vertices if end not in self.bound]
        if new:
            return _expanded(self.pattern, component, new[0], name)
        return _between(self.pattern, component, name)


def _there(names: Sequence[str]) -> Step:
    """Rows in which what the pattern shares with them is there: not null, and not deleted."""

    def step(_: RowContext, rows: list[Row]) -> list[Row]:
        return [row for row in rows if all(is_there(row[name]) for name in names)]

    def is_there(value: Value) -> bool:
        return value is not None and not getattr(value, "deleted", False)

    return step


def _satisfying(conditions: Sequence[Expression]) -> Step:
    def step(context: RowContext, rows: list[Row]) -> list[Row]:
        tests = [context.evaluator.condition(one) for one in conditions]
        return [row for row in rows if all(test(row) is True for test in tests)]

    return step


def _labelled(name: str, accepted: Accepted) -> Step:
    """Rows whose node has the labels of the pattern."""

    def step(context: RowContext, rows: list[Row]) -> list[Row]:
        found = [row for row in rows if not accepted.terms or has(row[name])]
        context.embeddings += len(found)
        return found

    def has(node: Value) -> bool:
        assert isinstance(node, NodeValue)
        return accepted[tuple(sorted(node.labels))]

    return step


def _look_up(equality: Equality, accepted: Accepted, *, alone: bool) -> Step:
    """Rows with each node that a value of theirs names. alone : it is a component."""
    name, key, value_of = equality.vertex, equality.key, _value(equality.value)

    def step(context: RowContext, rows: list[Row]) -> list[Row] | None:
        graph, made = context.graph, list["Row"]()
        snapshot = graph.snapshot
        groups = [k for k, group in enumerate(snapshot.groups) if accepted[group.labels]]
        for row in rows:
            try:
                value = value_of(context, row)
            except GdbError:  # where nothing is matched it is never evaluated
                return None
            if value is None or value != value:
                continue
            if len(groups) == 1 and type(value) is int:
                vid = snapshot.one_named(groups[0], key, value)
                if vid is not None:
                    if vid >= 0:
                        made.append({**row, name: graph.node(vid, groups[0])})
                    continue
            found = snapshot.holders(groups, key, Wanted((value,)))
            if found is None or len(found[1]) > FEW:
                return None
            for vid in found[1].tolist():
                made.append({**row, name: graph.node(vid)})
        if alone:
            context.embeddings += len(made)
        return made

    return step


def _value(expression: Expression) -> ValueOf:
    match expression:
        case Parameter(name=name):
            return lambda context, row: context.parameters[name]
        case Variable(name=name):
            return lambda context, row: row[name]
        case _:
            return lambda context, row: context.evaluator.compiled(expression)(row)


def _between(pattern: Pattern, component: Component, name: str | None) -> Step:
    """Rows with each relationship between two nodes of theirs. name : what it is called, None where that is unused."""
    edge = pattern.edges[component.edges[0]]
    if name is None and not any(pattern.parts.accepted[end].terms for end in edge.ends):
        return _counted(edge)

    def step(context: RowContext, rows: list[Row]) -> list[Row] | None:
        graph, made = context.graph, list["Row"]()
        for row in rows:
            ends = []
            for end in component.vertices:
                node = row[end]
                assert isinstance(node, NodeValue)
                ends.append(node)
            vids = graph.vids(ends)
            bound = {end: vids[k : k + 1] for k, end in enumerate(component.vertices)}
            found = expand_component(graph.snapshot, pattern, component, bound)
            if found is None:
                return None
            _, edges, at = found
            (eids,) = edges.values()
            if name is None:
                made += [{**row} for _ in range(len(at))]
            else:
                made += [{**row, name: one} for one in graph.relationships(eids)]
        context.embeddings += len(made)
        return made

    return step


def _expanded(pattern: Pattern, component: Component, new: str, name: str | None) -> Step:
    """Rows with each relationship at a node of theirs, and the node at its other end. new : what that is called. name :
    what the relationship is called, None where that is unused."""
    (known,) = (end for end in component.vertices if end != new)

    def step(context: RowContext, rows: list[Row]) -> list[Row] | None:
        graph = context.graph
        nodes = list[NodeValue]()
        for row in rows:
            node = row[known]
            assert isinstance(node, NodeValue)
            nodes.append(node)
        vids = graph.vids(nodes)
        found = expand_component(graph.snapshot, pattern, component, {known: vids})
        if found is None or len(found[2]) > MOST:
            return None
        vertices, edges, at = found
        others, places = graph.nodes(vertices[new]), at.tolist()
        context.embeddings += len(places)
        if name is None:
            return [{**rows[k], new: other} for k, other in zip(places, others, strict=True)]
        (eids,) = edges.values()
        found_edges = graph.relationships(eids)
        return [
            {**rows[k], new: other, name: edge}
            for k, other, edge in zip(places, others, found_edges, strict=True)
        ]

    return step


def _counted(edge: RowEdge) -> Step:
    """As `_between`, of a relationship without a name between nodes of any labels."""

    def step(context: RowContext, rows: list[Row]) -> list[Row]:
        graph, made = context.graph, list["Row"]()
        snapshot = graph.snapshot
        for row in rows:
            left, right = row[edge.left], row[edge.right]
            assert isinstance(left, NodeValue)
            assert isinstance(right, NodeValue)
            ends = graph.vid(left), graph.vid(right)
            made += [
                {**row} for _ in range(snapshot.count_between(*ends, edge.types, edge.direction))
            ]
        context.embeddings += len(made)
        return made

    return step
