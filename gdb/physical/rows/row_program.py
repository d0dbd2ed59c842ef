"""A pattern for one row, compiled: nodes that values name, relationships and paths at nodes of the row, conditions.

What `gdb.physical.rows.row_matching` finds out for each batch of rows (which component comes next, which condition a
look-up answers, which conditions can be tested) follows from the pattern and from the names that the rows have. For a
pattern of such parts it is found out once, and kept with the pattern; one row then goes from step to step without
arrays. A step that finds no answer of its own, as where a value names many nodes, leaves the row to the matching of
batches.

What rows have for nodes and relationships is the graph's: objects (`gdb.physical.rows.object_graph`), or their numbers
(`gdb.physical.rows.number_graph`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, TypeAlias

from gdb.errors import Cancelled, GdbError, QueryTimeout
from gdb.language.hidden_names import is_hidden
from gdb.language.mentioned_names import asks
from gdb.language.syntax import Expression, Parameter, Variable
from gdb.physical.rows.expand import expand_component
from gdb.physical.rows.number_graph import node_of
from gdb.physical.rows.row_look_ups import FEW, Equality
from gdb.records import replace
from gdb.storage.graph.value_index import Wanted

if TYPE_CHECKING:
    from gdb.base.values.kinds import Row, Value
    from gdb.physical.rows.pattern import Accepted, Component, Pattern, Route, RowEdge
    from gdb.physical.rows.run_context import RowContext

Step: TypeAlias = "Callable[[RowContext, list[Row]], list[Row] | None]"
"""The rows that some rows become; None where the step has no answer."""
Count: TypeAlias = "Callable[[RowContext, list[Row]], int | None]"
"""How many rows some rows become, as of a `Step`."""
ValueOf: TypeAlias = "Callable[[RowContext, Row], Value]"


class RowProgram:
    """The steps of a pattern, one after the other. Nothing in it belongs to a run: threads may share it.

    conditions, values : that they evaluate. counted : the number of rows that the last step would make of some, where
    only that is wanted; None where it takes as long.
    """

    __slots__ = ("conditions", "counted", "steps", "values")

    def __init__(
        self,
        steps: Sequence[Step],
        conditions: Sequence[Expression],
        values: Sequence[Expression],
        counted: Count | None,
    ) -> None:
        self.steps, self.conditions, self.values = steps, conditions, values
        self.counted = counted

    def run(self, context: RowContext, row: Row) -> list[Row] | None:
        """The rows that MATCH makes of a row, their hidden names included; None where this needs the matching of
        batches."""
        return self.run_all(context, [row])

    def run_all(self, context: RowContext, rows: Sequence[Row]) -> list[Row] | None:
        """As `run`, of several rows, in their order."""
        return _through(self.steps, context, [dict(row) for row in rows])

    def count(self, context: RowContext, rows: Sequence[Row]) -> int | None:
        """How many rows `run_all` gives, where `counted` is there."""
        assert self.counted is not None
        before = _through(self.steps[:-1], context, [dict(row) for row in rows])
        return None if before is None else self.counted(context, before)


def _through(steps: Sequence[Step], context: RowContext, rows: list[Row]) -> list[Row] | None:
    for step in steps:
        found = step(context, rows)
        if not found or len(found) > context.graph.most:
            return None if found is None or found else []
        rows = found
    return rows


def compiled(pattern: Pattern, known: frozenset[str]) -> RowProgram | None:
    """The program of a pattern; None where some part of it is of another kind. known : the names that rows have."""
    mode = pattern.mode
    if pattern.variants or any(route.acyclic for route in pattern.routes):
        return None
    if mode.nodes_differ or mode.distinct or mode.induced:
        return None
    if any(asks(condition.expression) for condition in pattern.conditions):
        return None
    compiler = _Compiler(pattern, known)
    if not compiler.compile():
        return None
    return RowProgram(compiler.steps, compiler.conditions, compiler.values, compiler.counted)


class _Compiler:
    """Goes through a pattern as the matching of batches does. steps : those that were compiled so far."""

    def __init__(self, pattern: Pattern, known: frozenset[str]) -> None:
        self.pattern, self.bound = pattern, set(known)
        self.reach = pattern.parts.names | known
        self.waiting = list(pattern.conditions)
        self.steps: list[Step] = []
        self.labelled: set[str] = set()  # whose labels were tested
        self.conditions: list[Expression] = []
        self.values: list[Expression] = []
        self.counted: Count | None = None
        self._counting: Step | None = None
        self._count: Count | None = None

    def compile(self) -> bool:
        """Compile all of the pattern; whether that can be."""
        shared = [*self.bound.intersection((*self.pattern.vertices, *self.pattern.edges))]
        if shared:
            self._add(_there(shared))
        self._test()
        left, long = list(self.pattern.parts.components), list(self.pattern.parts.long)
        ends = {end for edge in long for end in edge.ends}
        while left or long:
            met = (c for c in left if self.bound.intersection((*c.vertices, *c.edges)))
            component = next(met, None)
            edge = next((e for e in long if self._may_walk(e, left)), None)
            if component is None and edge is None:
                # of those at which paths may begin or end, one that a value names
                component = next((c for c in left if c.edges or not ends & {*c.vertices}), None)
                component = component or next(filter(self._is_named, left), None)
                if component is None:
                    return False
            if component is None:
                assert edge is not None
                step = self._long(edge)
                if step is None:
                    return False
                long.remove(edge)
                new = [end for end in edge.ends if end not in self.bound]
                self._add(step)
                self._label(new)
                self._bind(_passed, (*edge.ends, edge.name))
            else:
                left.remove(component)
                add = self._edges if component.edges else self._vertices
                if not add(component):
                    return False
        for route in self.pattern.routes:
            if any(self.pattern.edges[name].once for name in route.edges):
                continue  # nothing needs it
            self._bind(_routed(route), (route.name,))
        return True

    def _add(self, step: Step) -> None:
        if step is _passed:
            return
        self.steps.append(step)
        self.counted = self._count if step is self._counting else None

    def _test(self) -> None:
        """Test the conditions that can be tested now."""
        ready = [c for c in self.waiting if c.names & self.reach <= self.bound]
        if ready:
            self.waiting = [c for c in self.waiting if c not in ready]
            self.conditions += [c.expression for c in ready]
            self._add(_satisfying([c.expression for c in ready]))

    def _label(self, names: Sequence[str]) -> None:
        """Leave the nodes that paths lead to and that have the labels: conditions are tested on these alone."""
        for name in names:
            accepted = self.pattern.parts.accepted[name]
            if accepted.terms:
                self._add(_labelled(name, accepted))
            self.labelled.add(name)

    def _is_named(self, component: Component) -> bool:
        """Whether a value of the row names the node that a component is."""
        return not component.edges and self._names(component.vertices)

    def _names(self, vertices: Sequence[str]) -> bool:
        """Whether a value of the row names one of some nodes."""
        unbound = self.reach - self.bound
        return any(
            one.vertex in vertices and not one.within and not one.mentions & unbound
            for condition in self.waiting
            for one in condition.equalities[:1]
        )

    def _may_walk(self, edge: RowEdge, left: Sequence[Component]) -> bool:
        """Whether paths can be walked now: from a node of the row, to one as well where a value names it or they have
        a selector."""
        ends = [end in self.bound for end in edge.ends]
        if not any(ends) or all(ends):
            return all(ends)
        others = [
            c for c in left if self.bound.isdisjoint(c.vertices) and {*c.vertices} & {*edge.ends}
        ]
        return edge.selector is None and not any(map(self._is_named, others))

    def _needs(self, edge: RowEdge) -> bool:
        """Whether rows need what an edge is."""
        return (
            not is_hidden(edge.name)
            or any(edge.name in condition.names for condition in self.waiting)
            or any(edge.name in route.edges for route in self.pattern.routes)
        )

    def _long(self, edge: RowEdge) -> Step | None:
        """The step of a relationship of variable length at a node that the row has, or between two."""
        if edge.conditions or edge.name in self.bound or edge.left == edge.right:
            return None
        if any(self._rival(edge, other) for other in self.pattern.edges.values()):
            return None
        if edge.selector is not None and not self.bound.issuperset(edge.ends):
            return None
        closed = self.bound.issuperset(edge.ends)
        from gdb.physical.rows.path_steps import PathSteps  # machine code of its own

        walk = PathSteps(edge, edge.left in self.bound, closed, self._needs(edge))
        self._counting, self._count = walk.step, walk.count
        return self._counting

    def _vertex(self, component: Component) -> Step | None:
        """The step of a node that the row has, or that a value of the row names."""
        (name,) = component.vertices
        if name in self.bound:
            accepted = self.pattern.parts.accepted[name]
            tested = name in self.labelled or not accepted.terms
            return _passed if tested else _labelled(name, accepted)
        return self._named(name, alone=True)

    def _named(self, name: str, *, alone: bool) -> Step | None:
        """The step of a node that a value of the row names. alone : it is a component."""
        unbound = self.reach - self.bound
        for condition in self.waiting:
            for one in condition.equalities:
                if one.vertex == name:  # the first is the condition's
                    if not one.within and not one.mentions & unbound:
                        self.waiting.remove(condition)
                        self.values.append(one.value)
                        return _look_up(one, self.pattern.parts.accepted[name], alone=alone)
                    break
        return None

    def _vertices(self, component: Component) -> bool:
        """Add the step of a component without relationships; whether that can be."""
        step = self._vertex(component)
        if step is None:
            return False
        self._bind(step, component.vertices)
        return True

    def _edges(self, component: Component) -> bool:
        """Add the steps of the relationships of a component, one after the other; whether they can be."""
        left = [self.pattern.edges[name] for name in component.edges]
        while left:
            met = (edge for edge in left if not self.bound.isdisjoint(edge.ends))
            edge = next(met, None) or next(filter(self._has_named, left), None)
            if edge is None or edge.name in self.bound or edge.left == edge.right:
                return False
            rivals = [one for one in self.pattern.edges.values() if self._rival(edge, one)]
            step = self._edge(edge, component, needed=bool(rivals))
            if step is None:
                return False
            left.remove(edge)
            others = [one.name for one in rivals if one.name in self.bound]
            self._add(step)
            if others:
                self._add(_apart(edge.name, others))
            self._bind(_passed, (*edge.ends, edge.name))
        return True

    def _bind(self, step: Step, names: Iterable[str]) -> None:
        self._add(step)
        self.bound.update(names)
        self._test()

    def _has_named(self, edge: RowEdge) -> bool:
        """Whether a value of the row names an end of a relationship."""
        return any(self._names((end,)) for end in edge.ends)

    def _rival(self, edge: RowEdge, other: RowEdge) -> bool:
        """Whether another relationship of its MATCH might be the same."""
        if other is edge or other.clause != edge.clause or not self.pattern.mode.edges_differ:
            return False
        return not edge.types or not other.types or not {*edge.types}.isdisjoint(other.types)

    def _edge(self, edge: RowEdge, component: Component, *, needed: bool) -> Step | None:
        """The step of one relationship of a component, at a node that the row has, or that a value names, or between
        two of the row."""
        component = replace(component, vertices=edge.ends, edges=(edge.name,))
        if self.bound.isdisjoint(edge.ends):
            ends = ((end, self._named(end, alone=False)) for end in edge.ends)
            end, step = next((both for both in ends if both[1] is not None), ("", None))
            if step is None:
                return None
            self.steps.append(step)
            self.bound.add(end)
        name = edge.name if needed or self._needs(edge) else None
        new = [end for end in edge.ends if end not in self.bound]
        if new:
            return _expanded(self.pattern, component, new[0], name)
        return _between(self.pattern, component, name)


def _apart(name: str, others: Sequence[str]) -> Step:
    """Rows in which a relationship is none of some others."""

    def step(_: RowContext, rows: list[Row]) -> list[Row]:
        return [row for row in rows if all(row[name] != row[other] for other in others)]

    return step


def _there(names: Sequence[str]) -> Step:
    """Rows in which what the pattern shares with them is there: not null, and not deleted."""

    def step(_: RowContext, rows: list[Row]) -> list[Row]:
        return [row for row in rows if all(is_there(row[name]) for name in names)]

    def is_there(value: Value) -> bool:
        return value is not None and not getattr(value, "deleted", False)

    return step


def _passed(_: RowContext, rows: list[Row]) -> list[Row]:
    """Of a node that the row has, of any labels."""
    return rows


def _satisfying(conditions: Sequence[Expression]) -> Step:
    def step(context: RowContext, rows: list[Row]) -> list[Row]:
        tests = [context.evaluator.kept_condition(one) for one in conditions]
        return [row for row in rows if all(test(row) is True for test in tests)]

    return step


def _labelled(name: str, accepted: Accepted) -> Step:
    """Rows whose node has the labels of the pattern."""

    def step(context: RowContext, rows: list[Row]) -> list[Row]:
        labels_of = context.graph.labels_of
        found = [row for row in rows if accepted[labels_of(node_of(row, name))]]
        context.embeddings += len(found)
        return found

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
            except (Cancelled, QueryTimeout):
                raise
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
            return lambda context, row: context.evaluator.kept(expression)(row)


def _between(pattern: Pattern, component: Component, name: str | None) -> Step:
    """Rows with each relationship between two nodes of theirs. name : what it is called, None where that is unused."""
    edge = pattern.edges[component.edges[0]]
    if name is None and not any(pattern.parts.accepted[end].terms for end in edge.ends):
        return _counted(edge)

    def step(context: RowContext, rows: list[Row]) -> list[Row] | None:
        graph, made = context.graph, list["Row"]()
        for row in rows:
            vids = graph.vids([node_of(row, end) for end in component.vertices])
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
        vids = graph.vids([node_of(row, known) for row in rows])
        found = expand_component(graph.snapshot, pattern, component, {known: vids})
        if found is None or len(found[2]) > graph.most:
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
            ends = graph.vid(node_of(row, edge.left)), graph.vid(node_of(row, edge.right))
            made += [
                {**row} for _ in range(snapshot.count_between(*ends, edge.types, edge.direction))
            ]
        context.embeddings += len(made)
        return made

    return step


def _routed(route: Route) -> Step:
    """Rows with a path that is named."""

    def step(context: RowContext, rows: list[Row]) -> list[Row]:
        path_of = context.graph.path
        for row in rows:
            row[route.name] = path_of(
                [node_of(row, name) for name in route.vertices], [row[name] for name in route.edges]
            )
        return rows

    return step
