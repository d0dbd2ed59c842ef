"""The graph that a query sees row by row: one object for each node and relationship, and what the query changes.

Reading makes the objects from a snapshot. Changes are made to the objects at once and noted; `flush` brings what was
noted into the transaction in bulk, and `snapshot` is the graph with it. So what one row changes the next one sees, and
a pattern is only ever matched against a snapshot.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from gdb.answer.summary import Effects
from gdb.base.values.elements import NodeValue, PathValue, RelationshipValue
from gdb.errors import ChangeRefused
from gdb.executor.relational import lookup
from gdb.language.report import change_problem
from gdb.physical.rows.new_edges import NewEdges, there
from gdb.physical.rows.stored import columns_of
from gdb.physical.rows.stored_nodes import (
    Batch,
    StoredNode,
    count_elements,
    records,
    space_of_new,
)
from gdb.storage.columns.model import I64, U32, Column
from gdb.storage.graph.vid_ranges import by_number

if TYPE_CHECKING:
    from gdb.base.values.kinds import Value
    from gdb.language.syntax import Place
    from gdb.storage.graph.snapshot import Snapshot
    from gdb.storage.write.transaction import Changes

HOW_TO_DETACH = "Delete them first, or write DETACH DELETE."


class Graph:
    """See the module. changes : of the transaction that a writing query is part of; None for one that reads.
    text : the query's, for errors. most : rows that one row becomes up to which it goes on by itself."""

    most = 64

    def __init__(self, snapshot: Snapshot, changes: Changes | None = None, text: str = "") -> None:
        self._snapshot, self._text = snapshot, text
        self.behind = False  # whether the snapshot is older than what was flushed
        self.changes = changes
        self.effects = Effects()
        self._nodes: dict[int, NodeValue] = {}  # by vid of the snapshot
        self._vids: dict[NodeValue, int] = {}
        self._edges: dict[tuple[str, int], RelationshipValue] = {}  # by type and handle
        self._handles: dict[RelationshipValue, int] = {}
        self._new_nodes: list[NodeValue] = []
        self._new_edges: dict[str, NewEdges] = {}  # by type
        self._dirty_nodes: dict[NodeValue, dict[str, Value]] = {}
        self._dirty_edges: dict[RelationshipValue, dict[str, Value]] = {}
        self._relabelled: dict[NodeValue, frozenset[str]] = {}  # with the labels before
        self._dead_nodes: dict[NodeValue, Place] = {}  # with the place of DELETE
        self._detached: set[NodeValue] = set()  # of the store, without relationships
        self._dead_edges: list[RelationshipValue] = []
        self._dead_handles: dict[str, set[int]] = {}  # by type, of edges without an object
        self._batches: list[Batch] = []
        self.new_ids: tuple[str, Iterator[int]] | None = None

    def release(self) -> None:
        """Hold no snapshot and no element any more, also where no garbage is collected; nothing is read from the graph
        after this."""
        for batch in self._batches:
            batch.release()
        for elements in (self._nodes, self._vids, self._edges, self._handles):
            elements.clear()

    # ---- reading ---------------------------------------------------------------------------------

    @property
    def snapshot(self) -> Snapshot:
        """The graph with all changes so far."""
        if self.changes is not None:
            self.flush()
            if self.behind:
                return self._now()
        return self._snapshot

    def _now(self) -> Snapshot:
        """The graph with what was flushed: made when it is read, for a statement often ends with what it writes."""
        if self.behind and self.changes is not None:
            self._snapshot, self.behind = self.changes.view, False
        return self._snapshot

    def nodes(self, vids: U32) -> list[NodeValue]:
        """One object per vid."""
        known, wanted = self._nodes, vids.tolist()
        if len(wanted) == 1:
            return [self.node(wanted[0])]
        if missing := {vid for vid in wanted if vid not in known}:
            snapshot, fresh = self._now(), np.array(sorted(missing), np.uint32)
            for number, at in by_number(snapshot.groups_of(fresh)):
                self._load_group(snapshot, number, fresh[at])
        return [known[vid] for vid in wanted]

    def node(self, vid: int, group: int | None = None) -> NodeValue:
        """The object of one vid. group : its number, where it is known."""
        found = self._nodes.get(vid)
        if found is None:
            snapshot, vids = self._now(), np.array((vid,), np.uint32)
            number = int(snapshot.groups_of(vids)[0]) if group is None else group
            own, batch = snapshot.groups[number], Batch(snapshot, number, vids)
            self._batches.append(batch)
            made = StoredNode(frozenset(own.labels), own.id_space, batch)
            batch.nodes.append(made)
            self._nodes[vid], self._vids[made] = made, vid
            count_elements(1, [], "nodes")
            found = made
        return found

    def _load_group(self, snapshot: Snapshot, number: int, vids: U32) -> None:
        """Make the objects of some nodes of one group."""
        group, batch = snapshot.groups[number], Batch(snapshot, number, vids)
        self._batches.append(batch)
        labels, space = frozenset(group.labels), group.id_space
        batch.nodes = nodes = [StoredNode(labels, space, batch) for _ in range(len(vids))]
        numbers = vids.tolist()
        self._nodes.update(zip(numbers, nodes, strict=True))
        self._vids.update(zip(nodes, numbers, strict=True))
        count_elements(len(nodes), [], "nodes")

    def relationships(self, eids: I64) -> list[RelationshipValue]:
        """One object per edge id."""
        if not len(eids):
            return []
        snapshot = self._now()
        distinct, inverse = np.unique(eids, return_inverse=True)
        types, sources, targets = snapshot.edge_ends(distinct)
        starts, ends = self.nodes(sources), self.nodes(targets)
        made: list[RelationshipValue | None] = [None] * len(distinct)
        for number in np.unique(types).tolist():
            type_ = snapshot.edge_types[number]
            at = np.flatnonzero(types == number)
            handles = snapshot.edge_handles(type_.name, distinct[at]).tolist()
            fresh = [k for k, h in enumerate(handles) if (type_.name, h) not in self._edges]
            new = at[fresh]
            columns = {
                key: lookup.edge_property(snapshot, distinct[new], key, kind)
                for key, kind in sorted(type_.keys.items())
            }
            made_of = records(columns, len(fresh))
            count_elements(len(fresh), made_of, "relationships")
            for k, properties in zip(fresh, made_of, strict=True):
                place = int(at[k])
                one = RelationshipValue(
                    int(distinct[place]),
                    type_.name,
                    starts[place],
                    ends[place],
                    properties,
                    type_.directed,
                )
                self._edges[type_.name, handles[k]] = one
                self._handles[one] = handles[k]
            for place, handle in zip(at.tolist(), handles, strict=True):
                made[place] = self._edges[type_.name, handle]
        found = [one for one in made if one is not None]
        return [found[place] for place in inverse.tolist()]

    def labels_of(self, node: NodeValue) -> tuple[str, ...]:
        """The labels of a node, ascending."""
        return tuple(sorted(node.labels))

    def listed(self, relationships: list[RelationshipValue]) -> Value:
        """What a row has for the relationships of a path."""
        return [*relationships]

    def path(self, vertices: Sequence[NodeValue], edges: Sequence[Value]) -> Value:
        """What a row has for a path; an edge may be what is `listed`."""
        return PathValue.along(vertices[0], edges)

    def vid(self, node: NodeValue) -> int:
        """The vid of a node, which is not deleted, in a snapshot with all changes so far."""
        return self._vids[node]

    def vids(self, nodes: Sequence[NodeValue]) -> U32:
        """The vid of each node, u32[n]; none of them is deleted."""
        self.flush()
        return np.array([self._vids[node] for node in nodes], np.uint32)

    def eids(self, relationships: Sequence[RelationshipValue]) -> I64:
        """The edge id of each relationship, i64[n]; none of them is deleted."""
        self.flush()
        found = np.full(len(relationships), -1, np.int64)
        by_type: dict[str, list[int]] = {}
        for place, one in enumerate(relationships):
            by_type.setdefault(one.type, []).append(place)
        for name, places in by_type.items():
            handles = np.array([self._handles[relationships[k]] for k in places], np.int64)
            found[places] = self._now().edges_called(name, handles)
        return found

    # ---- changing --------------------------------------------------------------------------------

    def create_node(self, labels: Iterable[str], properties: dict[str, Value]) -> NodeValue:
        """A new node, with an id of its own; null properties are left out. properties : its own from now on."""
        kept = there(properties)
        space, free = self.ids_of_new()
        node = NodeValue(next(free), frozenset(labels), kept, space)
        self._new_nodes.append(node)
        self.effects.nodes_created += 1
        self.effects.properties_set += len(kept)
        self.effects.labels_added += len(node.labels)
        return node

    def create_relationship(
        self, type_: str, start: NodeValue, end: NodeValue, properties: dict[str, Value]
    ) -> RelationshipValue:
        """A new relationship; null properties are left out."""
        kept = there(properties)
        one = RelationshipValue(-1, type_, start, end, kept)
        self._connected_by(type_).add(start, end, kept, one)
        self.effects.relationships_created += 1
        self.effects.properties_set += len(kept)
        return one

    def connect(
        self,
        type_: str,
        start: NodeValue,
        end: NodeValue,
        properties: dict[str, Value],
    ) -> None:
        """As `create_relationship`, of one that the query does not name: no object is made for it."""
        kept = there(properties) if properties else properties
        new = self._new_edges.get(type_) or self._connected_by(type_)
        new.add(start, end, kept, None)
        self.effects.relationships_created += 1
        if kept:
            self.effects.properties_set += len(kept)

    def _connected_by(self, type_: str) -> NewEdges:
        known = self._new_edges.get(type_)
        if known is None:
            known = self._new_edges[type_] = NewEdges()
        return known

    def set_property(self, element: NodeValue | RelationshipValue, key: str, value: Value) -> None:
        """Set a property; null takes it away."""
        if value is None:
            if key not in element.properties:
                return
            del element.properties[key]
            self.effects.properties_removed += 1
        else:
            if isinstance(element, StoredNode):
                element.assign(key, value)
            else:
                element.properties[key] = value
            self.effects.properties_set += 1
        dirty: dict[str, Value] | None
        if isinstance(element, NodeValue):
            if element in self._vids:
                dirty = self._dirty_nodes.get(element)
                if dirty is None:
                    dirty = self._dirty_nodes[element] = {}
                dirty[key] = value
        elif element in self._handles:
            self._dirty_edges.setdefault(element, {})[key] = value

    def set_labels(self, node: NodeValue, add: Iterable[str], remove: Iterable[str]) -> None:
        """Give a node labels, and take labels away."""
        before = node.labels
        after = before.union(add).difference(remove)
        if after == before:
            return
        self.effects.labels_added += len(after - before)
        self.effects.labels_removed += len(before - after)
        node.labels = after
        if node in self._vids:
            self._relabelled.setdefault(node, before)

    def delete(self, element: NodeValue | RelationshipValue, place: Place) -> None:
        """Delete an element; once is enough. place : in the query, for an error."""
        if element.deleted:
            return
        element.deleted = True
        if isinstance(element, NodeValue):
            self.effects.nodes_deleted += 1
            self._dead_nodes[element] = place
        else:
            self.effects.relationships_deleted += 1
            self._dead_edges.append(element)

    def detach(self, nodes: Iterable[NodeValue], place: Place) -> None:
        """Delete the relationships of nodes that are about to be deleted. Those without objects get
        none."""
        several = {node for node in nodes if not node.deleted}
        for new in self._new_edges.values():
            left = []
            for k, ends in enumerate(zip(new.starts, new.ends, strict=True)):
                one = new.objects[k]
                if several.isdisjoint(ends):
                    left.append(k)
                elif one is None:
                    self.effects.relationships_deleted += 1
                else:
                    self.delete(one, place)
            new.keep(left)
        stored = several & self._vids.keys()
        self._detached |= stored
        vids = np.array(sorted([self._vids[node] for node in stored]), np.uint32)
        for name, handles in self._now().handles_at(vids) if stored else ():
            gone = self._dead_handles.setdefault(name, set())
            before = len(gone)
            for handle in handles.tolist():
                known = self._edges.get((name, handle)) if self._edges else None
                if known is None:
                    gone.add(handle)
                else:
                    self.delete(known, place)
            self.effects.relationships_deleted += len(gone) - before

    def ids_of_new(self) -> tuple[str, Iterator[int]]:
        """The id space of nodes that the query creates, and ids that no node of it has."""
        if self.new_ids is None:
            snapshot = self._now()
            space = space_of_new(snapshot.id_spaces)
            self.new_ids = space, snapshot.free_ids(space)
        return self.new_ids

    # ---- into the transaction --------------------------------------------------------------------

    def flush(self) -> None:
        """Bring what was changed since the last time into the transaction.

        Raises
        ------
        ChangeRefused : a node that is deleted has relationships; a property is what no store keeps.
        """
        dies = self._dead_nodes or self._dead_edges or self._dead_handles
        changed = self._new_nodes or self._new_edges or self._dirty_nodes or self._dirty_edges
        if not (changed or dies or self._relabelled):
            return
        changes = self.changes
        assert changes is not None
        changes.widens = True
        try:
            if self._new_nodes:
                self._flush_new_nodes(changes)
            if self._relabelled:
                self._flush_labels(changes)
            if self._dirty_nodes or self._dirty_edges:
                self._flush_properties(changes)
            if self._new_edges:
                self._flush_new_edges(changes)
        finally:
            changes.widens = False
        if dies:
            self._flush_deaths(changes)
        self.behind = True

    def _flush_new_nodes(self, changes: Changes) -> None:
        from gdb.storage.write.collected import NewGroup  # here: readers never need it

        groups: dict[tuple[tuple[str, ...], str], list[NodeValue]] = {}
        for node in self._new_nodes:
            if not node.deleted:
                groups.setdefault((tuple(sorted(node.labels)), node.id_space), []).append(node)
        new = []
        for key, nodes in groups.items():
            ids = Column("int64", np.array([node.id for node in nodes], np.int64))
            new.append(NewGroup(*key, ids, columns_of([node.properties for node in nodes])))
        for nodes, made in zip(groups.values(), changes.add_groups(new), strict=True):
            vids = made.tolist()
            self._vids.update(zip(nodes, vids, strict=True))
            self._nodes.update(zip(vids, nodes, strict=True))
        self._new_nodes = []

    def _flush_labels(self, changes: Changes) -> None:
        moves: dict[tuple[frozenset[str], frozenset[str]], list[NodeValue]] = {}
        for node, before in self._relabelled.items():
            if not node.deleted:
                after = node.labels
                moves.setdefault((after - before, before - after), []).append(node)
        self._relabelled = {}
        from gdb.storage.write.relabelling import relabel  # here: few statements need it

        vids = [np.array([self._vids[n] for n in nodes], np.uint32) for nodes in moves.values()]
        moved = relabel(changes, [(v, *how) for v, how in zip(vids, moves, strict=True)])
        if moved is None:
            return
        for old, new in zip(moved.before.tolist(), moved.after.tolist(), strict=True):
            moving = self._nodes.pop(old, None)
            if moving is not None:
                self._vids[moving], self._nodes[new] = new, moving
        for name, (before_, after_) in moved.edges.items():
            self._rename(name, before_, after_)

    def _rename(self, name: str, before: I64, after: I64) -> None:
        """Edges of a type have other handles."""
        taken = [self._edges.pop((name, handle), None) for handle in before.tolist()]
        for one, handle in zip(taken, after.tolist(), strict=True):
            if one is not None:
                self._edges[name, handle] = one
                self._handles[one] = handle
        gone = self._dead_handles.get(name)
        if gone:
            now = dict(zip(before.tolist(), after.tolist(), strict=True))
            self._dead_handles[name] = {now.get(handle, handle) for handle in gone}

    def _flush_properties(self, changes: Changes) -> None:
        if len(self._dirty_nodes) == 1 and not self._dirty_edges:
            ((node, values),) = self._dirty_nodes.items()
            self._dirty_nodes = {}
            if not node.deleted:
                vids = np.array((self._vids[node],), np.uint32)
                changes.set_vertices(vids, columns_of((values,), values))
            return
        nodes: dict[frozenset[str], list[NodeValue]] = {}
        for node, values in self._dirty_nodes.items():
            if not node.deleted:
                nodes.setdefault(frozenset(values), []).append(node)
        for keys, several in nodes.items():
            vids = np.array([self._vids[node] for node in several], np.uint32)
            columns = columns_of([self._dirty_nodes[node] for node in several], keys)
            changes.set_vertices(vids, columns)
        edges: dict[tuple[str, frozenset[str]], list[RelationshipValue]] = {}
        for one, values in self._dirty_edges.items():
            if not one.deleted:
                edges.setdefault((one.type, frozenset(values)), []).append(one)
        for (name, keys), alike in edges.items():
            handles = np.array([self._handles[one] for one in alike], np.int64)
            columns = columns_of([self._dirty_edges[one] for one in alike], keys)
            changes.set_named_edges(name, handles, columns)
        self._dirty_nodes, self._dirty_edges = {}, {}

    def _flush_new_edges(self, changes: Changes) -> None:
        for name, new in self._new_edges.items():
            objects = enumerate(new.objects)
            new.keep([k for k, one in objects if one is None or not one.deleted])
            if not new.starts:
                continue
            for start, end in zip(new.starts, new.ends, strict=True):
                if start.deleted or end.deleted:
                    raise self._connected(self._dead_nodes[start if start.deleted else end], name)
            directed = changes.directed(name) is not False
            vid = self._vids.__getitem__
            sources = np.fromiter(map(vid, new.starts), np.uint32, len(new.starts))
            targets = np.fromiter(map(vid, new.ends), np.uint32, len(new.ends))
            handles = changes.add_edges(
                name, directed, sources, targets, columns_of(new.properties)
            )
            self._named(changes, name, directed, new.objects, handles)
        self._new_edges = {}

    def _named(
        self,
        changes: Changes,
        name: str,
        directed: bool,
        objects: Sequence[RelationshipValue | None],
        handles: I64,
    ) -> None:
        """Give the objects of new relationships of a type what these are called by."""
        several = [(k, one) for k, one in enumerate(objects) if one is not None]
        if not several:
            return
        called = handles[[k for k, _ in several]]
        eids = changes.view.edges_called(name, called).tolist()
        for (_, one), handle, eid in zip(several, called.tolist(), eids, strict=True):
            one.id, one.directed = eid, directed
            self._edges[name, handle] = one
            self._handles[one] = handle

    def _flush_deaths(self, changes: Changes) -> None:
        by_type = {name: [*handles] for name, handles in self._dead_handles.items() if handles}
        for one in [one for one in self._dead_edges if one in self._handles]:
            handle = self._handles.pop(one)
            del self._edges[one.type, handle]
            by_type.setdefault(one.type, []).append(handle)
        for name, handles in by_type.items():
            changes.remove_named_edges(name, np.array(handles, np.int64))
        alone: list[int] = []
        places: dict[Place, list[int]] = {}
        for node, place in self._dead_nodes.items():
            if node in self._vids:  # else it was made and deleted since the last time
                vid = self._vids.pop(node)
                del self._nodes[vid]
                (alone if node in self._detached else places.setdefault(place, [])).append(vid)
        changes.drop_vertices(np.array(alone, np.uint32))
        for place, vids in places.items():
            try:
                changes.remove_vertices(np.array(vids, np.uint32), detach=False)
            except ChangeRefused as error:
                raise change_problem(self._text, place, error.reason, HOW_TO_DETACH) from None
        self._dead_nodes, self._dead_edges, self._dead_handles = {}, [], {}
        self._detached = set()

    def _connected(self, place: Place, type_: str) -> ChangeRefused:
        reason = f"a node that is to be removed has relationships ({type_})"
        return change_problem(self._text, place, reason, HOW_TO_DETACH)
