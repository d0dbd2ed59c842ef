"""Nodes of the store while a query runs: their ids, and each property, are read when one of them is first needed.

Those of all nodes that were found together are read at once. A clause that only creates relationships at nodes, or sets
properties of them, reads none.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain, count
from typing import TYPE_CHECKING

from gdb.base.allowance import here
from gdb.base.values.elements import NodeValue
from gdb.base.values.sizes import size_of
from gdb.errors import InternalError
from gdb.executor.relational import lookup
from gdb.physical.rows.stored import from_store
from gdb.storage.columns.slices import Slice

if TYPE_CHECKING:
    from gdb.base.values.kinds import Row, Value
    from gdb.storage.columns.model import Kind
    from gdb.storage.graph.adjacency import U32
    from gdb.storage.graph.snapshot import Snapshot

_ELEMENT = 500  # bytes of a node or relationship, without its properties
_NUMBER = 200  # of a number, and what names it
_NUMBERS = (int, float, bool)
_FIXED = ("int64", "float64", "bool")  # kinds of these
_AS_STORED = ("int64", "float64", "bool", "string")


class Batch:
    """Nodes of one group, found together. vids : of the snapshot, in the order of `nodes`."""

    __slots__ = ("_read", "group", "nodes", "snapshot", "vids")

    def __init__(self, snapshot: Snapshot, group: int, vids: U32) -> None:
        self.snapshot, self.group, self.vids = snapshot, group, vids
        self.nodes: list[StoredNode] = []
        self._read: set[str] = set()

    def release(self) -> None:
        """Let go of the nodes, which hold the batch, and with it the snapshot: the query is over."""
        self.nodes = []

    def name(self) -> None:
        """Give all nodes their ids."""
        for node, own in zip(self.nodes, self.snapshot.user_ids(self.vids), strict=True):
            node.id = own

    def read(self, key: str) -> None:
        """Give all nodes one property that they had in the snapshot."""
        kind = self.snapshot.groups[self.group].keys.get(key)
        if kind is None or key in self._read:
            return
        self._read.add(key)
        if len(self.nodes) == 1:
            return self._read_one(key, kind)
        every = records({key: self._values(key, kind)}, len(self.nodes))
        if kind in _FIXED:
            here().keep(_NUMBER * len(every), "properties of nodes")
            here().tick(4 * len(every))
        else:
            count_elements(0, every, "properties of nodes")
        for node, properties in zip(self.nodes, every, strict=True):
            node.know(properties)

    def _read_one(self, key: str, kind: Kind) -> None:
        """As `read`, of one node."""
        own = self.snapshot.vertex_values(self.group, key, self.vids)
        (found,) = (None,) if own is None else lookup.widen(own, kind).to_list()
        if found is None:
            return
        value: Value = from_store(found)  # what is as it is stored stays so
        if type(value) in _NUMBERS:
            here().keep(_NUMBER, "properties of nodes")
        else:
            count_elements(0, [{key: value}], "properties of nodes")
        self.nodes[0].know({key: value})

    def _values(self, key: str, kind: Kind) -> Slice | None:
        """One property of all nodes; null where one has none."""
        if len(self.nodes) > 1:
            return lookup.vertex_property(self.snapshot, self.vids, key, kind)
        own = self.snapshot.vertex_values(self.group, key, self.vids)
        return None if own is None else Slice.of(lookup.widen(own, kind))

    def load(self) -> None:
        """Give all nodes the properties that they had in the snapshot, and what was set since."""
        keys = self.snapshot.groups[self.group].keys
        columns = {key: self._values(key, kind) for key, kind in sorted(keys.items())}
        every = records(columns, len(self.nodes))
        count_elements(0, every, "properties of nodes")
        for node, properties in zip(self.nodes, every, strict=True):
            node.load(properties)


class StoredNode(NodeValue):
    """A node of a batch."""

    __slots__ = ("_batch", "_id", "_known", "_unnamed")

    def __init__(self, labels: frozenset[str], id_space: str, batch: Batch) -> None:
        self.labels, self.id_space, self.deleted = labels, id_space, False
        self._batch: Batch | None = batch
        self._unnamed: Batch | None = batch
        self._known: dict[str, Value] = {}

    @property
    def id(self) -> int | str:
        """The user's id, read for the whole batch on first use. InternalError after the query's end."""
        if self._unnamed is not None:
            self._unnamed.name()
            if self._unnamed is not None:
                raise InternalError("a node is read after its query.")
        return self._id

    @id.setter
    def id(self, id: int | str) -> None:
        self._id, self._unnamed = id, None

    @property
    def properties(self) -> dict[str, Value]:
        """All properties, read for the whole batch on first use. InternalError after the query's end."""
        if self._batch is not None:
            self._batch.load()
            if self._batch is not None:
                raise InternalError("a node is read after its query.")
        return self._known

    @properties.setter
    def properties(self, properties: dict[str, Value]) -> None:
        self._batch, self._known = None, properties

    def value_of(self, key: str) -> Value:
        """One property, None where it is missing; only this key is read, for the whole batch."""
        if self._batch is not None and key not in self._known:
            if not self._batch.nodes:
                raise InternalError("a node is read after its query.")
            self._batch.read(key)
        return self._known.get(key)

    def know(self, properties: dict[str, Value]) -> None:
        """Take some properties of the store, under those that were set."""
        if self._batch is not None:
            self._known = {**properties, **self._known}

    def load(self, properties: dict[str, Value]) -> None:
        """Take the properties of the store, under those that were set."""
        if self._batch is not None:
            self._batch, self._known = None, {**properties, **self._known}

    def assign(self, key: str, value: Value) -> None:
        """Set a property; nothing is read for it."""
        self._known[key] = value


def count_elements(elements: int, properties: list[Row], what: str) -> None:
    """Account for so many elements and for properties, which the graph keeps as long as the query runs."""
    allowance = here()
    held = size_of(properties) if properties else 0
    allowance.keep(_ELEMENT * elements + held, what)
    if elements > 1 or properties:
        allowance.tick(4 * max(elements, len(properties)))


def records(columns: Mapping[str, Slice | None], count: int) -> list[Row]:
    """Columns turned into `count` dicts, nulls left out."""
    found: list[Row] = [{} for _ in range(count)]
    for key, column in columns.items():
        values = [] if column is None else column.to_list()
        convert = None if column is None or column.column.kind in _AS_STORED else from_store
        for record, value in zip(found, values, strict=False):
            if value is not None:
                record[key] = value if convert is None else convert(value)  # type: ignore[assignment]
    return found


def space_of_new(spaces: Mapping[str, Kind]) -> str:
    """The id space of nodes that a query creates: that without a name, or where its ids are strings "_created".

    spaces : the id spaces that there are, and the kind of their ids. Should the ids of "_created" be strings as well, a
    number follows the name.
    """
    names = chain(("", "_created"), (f"_created{k}" for k in count(2)))
    return next(name for name in names if spaces.get(name, "int64") == "int64")
