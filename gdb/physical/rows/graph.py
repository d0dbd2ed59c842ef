"""The graph that a query sees row by row: one object for each node and relationship, and what the query changes.

Reading makes the objects from a snapshot. Changes are made to the objects at once and noted; `flush` brings what was
noted into the transaction in bulk, and `snapshot` is the graph with it. So what one row changes the next one sees, and
a pattern is only ever matched against a snapshot.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, count
from typing import TYPE_CHECKING

import numpy as np

from gdb.answer.summary import Effects
from gdb.base.values.elements import NodeValue, RelationshipValue
from gdb.errors import ChangeRefused
from gdb.executor import lookup
from gdb.language.report import refused
from gdb.physical.rows.stored import columns_of
from gdb.physical.rows.stored_nodes import Batch, StoredNode, counted, records
from gdb.storage.adjacency import Direction
from gdb.storage.model import I64, U32, Column, Kind

if TYPE_CHECKING:
    from gdb.base.values.kinds import Value
    from gdb.language.syntax import Place
    from gdb.storage.snapshot import Snapshot
    from gdb.storage.transaction import Changes

_DETACH = "Delete them first, or write DETACH DELETE."


def _there(properties: Mapping[str, Value]) -> dict[str, Value]:
    """The properties that are not null; a copy."""
    if type(None) in map(type, properties.values()):
        return {key: value for key, value in properties.items() if value is not None}
    return dict(properties)


class Graph:
    """See the module. changes : of the transaction that a writing query is part of; None for one that reads.
    text : the query's, for errors."""

    def __init__(self, snapshot: Snapshot, changes: Changes | None = None, text: str = "") -> None:
        self._snapshot, self._text = snapshot, text
        self.changes = changes
        self.effects = Effects()
        self._nodes: dict[int, NodeValue] = {}  # by vid of the snapshot
        self._vids: dict[NodeValue, int] = {}
        self._edges: dict[tuple[str, int], RelationshipValue] = {}  # by type and handle
        self._handles: dict[RelationshipValue, int] = {}
        self._new_nodes: list[NodeValue] = []
        self._new_edges: list[RelationshipValue] = []
        self._dirty_nodes: dict[NodeValue, dict[str, Value]] = {}
        self._dirty_edges: dict[RelationshipValue, dict[str, Value]] = {}
        self._relabelled: dict[NodeValue, frozenset[str]] = {}  # with the labels before
        self._dead_nodes: dict[NodeValue, Place] = {}  # with the place of DELETE
        self._dead_edges: list[RelationshipValue] = []
        self._dead_handles: dict[str, set[int]] = {}  # by type, of edges without an object
        self._batches: list[Batch] = []
        self._new_ids: tuple[str, Iterator[int]] | None = None

    def release(self) -> None:
        """Hold no snapshot any more, also where no garbage is collected; nothing is read from the graph after this."""
        for batch in self._batches:
            batch.release()

    # ---- reading ---------------------------------------------------------------------------------

    @property
    def snapshot(self) -> Snapshot:
        """The graph with all changes so far."""
        self.flush()
        return self._snapshot

    def nodes(self, vids: U32) -> list[NodeValue]:
        """One object per vid."""
        known = self._nodes
        wanted = vids.tolist()
        missing = np.array(sorted({vid for vid in wanted if vid not in known}), np.uint32)
        if len(missing):
            self._load_nodes(missing)
        return [known[vid] for vid in wanted]

    def _load_nodes(self, vids: U32) -> None:
        snapshot = self._snapshot
        ids = snapshot.user_ids(vids)
        groups = snapshot.groups_of(vids)
        for number in np.unique(groups).tolist():
            group = snapshot.groups[number]
            labels, space, at = group.labels, group.id_space, np.flatnonzero(groups == number)
            batch = Batch(snapshot, number, vids[at])
            self._batches.append(batch)
            for place, vid in zip(at.tolist(), batch.vids.tolist(), strict=True):
                node = StoredNode(ids[place], set(labels), space, batch)
                batch.nodes.append(node)
                self._nodes[vid], self._vids[node] = node, vid
            counted(len(batch.nodes), [], "nodes")

    def relationships(self, eids: I64) -> list[RelationshipValue]:
        """One object per edge id."""
        if not len(eids):
            return []
        snapshot = self._snapshot
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
            counted(len(fresh), made_of, "relationships")
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
            found[places] = self._snapshot.edges_called(name, handles)
        return found

    # ---- changing --------------------------------------------------------------------------------

    def create_node(self, labels: Iterable[str], properties: Mapping[str, Value]) -> NodeValue:
        """A new node, with an id of its own; null properties are left out."""
        kept = _there(properties)
        space, free = self._ids_of_new()
        node = NodeValue(next(free), set(labels), kept, space)
        self._new_nodes.append(node)
        self.effects.nodes_created += 1
        self.effects.properties_set += len(kept)
        self.effects.labels_added += len(node.labels)
        return node

    def create_relationship(
        self, type_: str, start: NodeValue, end: NodeValue, properties: Mapping[str, Value]
    ) -> RelationshipValue:
        """A new relationship; null properties are left out."""
        kept = _there(properties)
        one = RelationshipValue(-1, type_, start, end, kept)
        self._new_edges.append(one)
        self.effects.relationships_created += 1
        self.effects.properties_set += len(kept)
        return one

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
        if isinstance(element, NodeValue):
            if element in self._vids:
                self._dirty_nodes.setdefault(element, {})[key] = value
        elif element in self._handles:
            self._dirty_edges.setdefault(element, {})[key] = value

    def set_labels(self, node: NodeValue, add: Iterable[str], remove: Iterable[str]) -> None:
        """Give a node labels, and take labels away."""
        before = frozenset(node.labels)
        after = (before | set(add)) - set(remove)
        if after == before:
            return
        self.effects.labels_added += len(after - before)
        self.effects.labels_removed += len(before - after)
        node.labels.clear()
        node.labels.update(after)
        if node in self._vids:
            self._relabelled.setdefault(node, before)

    def delete(
        self, element: NodeValue | RelationshipValue, place: Place, *, detach: bool = False
    ) -> None:
        """Delete an element, with `detach` the relationships of a node as well; once is enough.

        place : in the query, where that is asked.
        """
        if element.deleted:
            return
        if isinstance(element, NodeValue):
            if detach:
                self._detach(element, place)
            element.deleted = True
            self.effects.nodes_deleted += 1
            self._dead_nodes[element] = place
        else:
            element.deleted = True
            self.effects.relationships_deleted += 1
            self._dead_edges.append(element)

    def _detach(self, node: NodeValue, place: Place) -> None:
        """Delete the relationships of a node. Those of which there are no objects get none."""
        for one in [one for one in self._new_edges if node in (one.start, one.end)]:
            self.delete(one, place)
        vid = self._vids.get(node)
        if vid is None:
            return
        snapshot = self._snapshot
        _, _, eids = snapshot.incident(np.array([vid], np.uint32), (), Direction.ANY)
        numbers = lookup.edge_type_numbers(snapshot, eids)
        for number in np.unique(numbers).tolist():
            name = snapshot.edge_types[number].name
            gone = self._dead_handles.setdefault(name, set())
            for handle in snapshot.edge_handles(name, eids[numbers == number]).tolist():
                known = self._edges.get((name, handle))
                if known is not None:
                    self.delete(known, place)
                elif handle not in gone:
                    gone.add(handle)
                    self.effects.relationships_deleted += 1

    def _ids_of_new(self) -> tuple[str, Iterator[int]]:
        """The id space of nodes that the query creates, and ids that no node of it has."""
        if self._new_ids is None:
            space = space_of_new(self._snapshot.id_spaces)
            self._new_ids = space, self._snapshot.free_ids(space)
        return self._new_ids

    # ---- into the transaction --------------------------------------------------------------------

    def flush(self) -> None:
        """Bring what was changed since the last time into the transaction.

        Raises
        ------
        ChangeRefused : a node that is deleted has relationships; a property is what no store keeps.
        """
        pending = (
            *(self._new_nodes, self._new_edges, self._dirty_nodes, self._dirty_edges),
            *(self._relabelled, self._dead_nodes, self._dead_edges, self._dead_handles),
        )
        if not any(pending):
            return
        changes = self.changes
        assert changes is not None
        with changes.widening():
            self._flush_new_nodes(changes)
            self._flush_labels(changes)
            self._flush_properties(changes)
            self._flush_new_edges(changes)
        self._flush_deaths(changes)
        self._snapshot = changes.view
        self._nodes = {vid: node for node, vid in self._vids.items()}

    def _flush_new_nodes(self, changes: Changes) -> None:
        alive = [node for node in self._new_nodes if not node.deleted]
        groups: dict[tuple[tuple[str, ...], str], list[NodeValue]] = {}
        for node in alive:
            groups.setdefault((tuple(sorted(node.labels)), node.id_space), []).append(node)
        for (labels, space), nodes in groups.items():
            ids = Column("int64", np.array([node.id for node in nodes], np.int64))
            columns = columns_of([node.properties for node in nodes])
            vids = changes.add_vertices(labels, space, ids, columns)
            self._vids.update(zip(nodes, vids.tolist(), strict=True))
        self._new_nodes = []

    def _flush_labels(self, changes: Changes) -> None:
        moves: dict[tuple[frozenset[str], frozenset[str]], list[NodeValue]] = {}
        for node, before in self._relabelled.items():
            if not node.deleted:
                after = frozenset(node.labels)
                moves.setdefault((after - before, before - after), []).append(node)
        self._relabelled = {}
        for (add, remove), nodes in moves.items():
            vids = np.array([self._vids[node] for node in nodes], np.uint32)
            by_vid = {vid: node for node, vid in self._vids.items()}
            for moved in changes.relabel(vids, add, remove):
                pairs = zip(moved.before.tolist(), moved.after.tolist(), strict=True)
                for old, new in pairs:
                    if old in by_vid:
                        self._vids[by_vid[old]] = new
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
        by_type: dict[str, list[RelationshipValue]] = {}
        for one in self._new_edges:
            if one.deleted:
                continue
            dead = one.start if one.start.deleted else one.end
            if dead.deleted:
                raise self._connected(self._dead_nodes[dead], one.type)
            by_type.setdefault(one.type, []).append(one)
        for name, several in by_type.items():
            known = (t.directed for t in changes.view.edge_types if t.name == name)
            directed = next(known, True)
            sources = np.array([self._vids[one.start] for one in several], np.uint32)
            targets = np.array([self._vids[one.end] for one in several], np.uint32)
            columns = columns_of([one.properties for one in several])
            handles = changes.add_edges(name, directed, sources, targets, columns).tolist()
            for one, handle in zip(several, handles, strict=True):
                one.directed = directed
                self._edges[name, handle] = one
                self._handles[one] = handle
            eids = changes.view.edges_called(name, np.array(handles, np.int64)).tolist()
            for one, eid in zip(several, eids, strict=True):
                one.id = eid
        self._dead_edges = [one for one in self._dead_edges if one in self._handles]
        self._new_edges = []

    def _flush_deaths(self, changes: Changes) -> None:
        by_type = {name: [*handles] for name, handles in self._dead_handles.items() if handles}
        for one in self._dead_edges:
            handle = self._handles.pop(one)
            del self._edges[one.type, handle]
            by_type.setdefault(one.type, []).append(handle)
        for name, handles in by_type.items():
            changes.remove_named_edges(name, np.array(handles, np.int64))
        places: dict[Place, list[int]] = {}
        for node, place in self._dead_nodes.items():
            if node in self._vids:  # else it was made and deleted since the last time
                places.setdefault(place, []).append(self._vids.pop(node))
        for place, vids in places.items():
            try:
                changes.remove_vertices(np.array(vids, np.uint32), detach=False)
            except ChangeRefused as error:
                raise refused(self._text, place, error.reason, _DETACH) from None
        self._dead_nodes, self._dead_edges, self._dead_handles = {}, [], {}

    def _connected(self, place: Place, type_: str) -> ChangeRefused:
        reason = f"a node that is to be removed has relationships ({type_})"
        return refused(self._text, place, reason, _DETACH)


def space_of_new(spaces: Mapping[str, Kind]) -> str:
    """The id space of nodes that a query creates: that without a name, or where its ids are strings "_created".

    spaces : the id spaces that there are, and the kind of their ids. Should the ids of "_created" be strings as well, a
    number stands behind the name.
    """
    names = chain(("", "_created"), (f"_created{k}" for k in count(2)))
    return next(name for name in names if spaces.get(name, "int64") == "int64")
