"""The kinds of properties that `compact` writes: those of the values that are left.

A property has the kind of its first values, and becomes one of the kind "any" when a query gives it others. It keeps
that while values go, so that programs find one type. Where a program calls `compact`, a property without values is
left out, and one of the kind "any" whose values are all of one type is of that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple, cast

from gdb.base.values.temporal_python import to_python
from gdb.errors import ImportFailed

from ..columns.kinds import is_empty, same_kind
from ..columns.model import ITEM_OF, Column, EdgeTable, Kind, PropertyValue, VertexTable
from ..columns.python_columns import column_of
from ..graph.snapshot import Snapshot
from .edge_runs import PIECE

if TYPE_CHECKING:
    from gdb.base.values.kinds import Value

    from ..columns.model import Item

_AT_ONCE = 1 << 14  # values that are Python's objects


class Kinds(NamedTuple):
    """Properties that are written with another kind; None: not at all. By number of the group, or by type, and key."""

    nodes: Mapping[tuple[int, str], Kind | None]
    edges: Mapping[tuple[str, str], Kind | None]

    def vertices(self, tables: Iterable[VertexTable]) -> tuple[VertexTable, ...]:
        """The tables of the groups with these kinds."""
        return tuple(
            VertexTable(
                one.labels,
                one.id_space,
                one.ids,
                {
                    key: column
                    for key, found in one.columns.items()
                    if (column := _changed(found, self.nodes.get((n, key), found.kind))) is not None
                },
            )
            for n, one in enumerate(tables)
        )

    def of_edges(self, table: EdgeTable) -> EdgeTable:
        """A table of edges with these kinds."""
        columns = {
            key: column
            for key, found in table.columns.items()
            if (column := _changed(found, self.edges.get((table.type, key), found.kind)))
            is not None
        }
        return EdgeTable(table.type, table.directed, table.sources, table.targets, columns)


AS_THEY_ARE = Kinds({}, {})


def narrower(snapshot: Snapshot, look: Callable[[], object]) -> Kinds:
    """The properties of a graph that hold no value, or values of a narrower kind. look : called between two columns;
    what it raises ends the work.

    Cost: a look at the validity of columns; where one is of the kind "any", its values are read up to the first of
    another type.
    """
    nodes, edges = dict[tuple[int, str], Kind | None](), dict[tuple[str, str], Kind | None]()
    for number, group in enumerate(snapshot.groups):
        for key, kind in group.keys.items():
            look()
            seen = _Values(kind)
            if (column := snapshot.vertex_column(number, key)) is not None:
                seen.add(column)
            if seen.kind != kind:
                nodes[number, key] = seen.kind
    for edge_type in snapshot.edge_types:
        properties = {key: _Values(kind) for key, kind in edge_type.keys.items()}
        left = set(properties)
        for piece in snapshot.edge_pieces(edge_type.name, PIECE) if edge_type.edge_count else ():
            look()
            for key in left:
                properties[key].add(piece.columns[key])
            left = {key for key in left if not properties[key].settled}
            if not left:
                break
        for key, kind in edge_type.keys.items():
            if properties[key].kind != kind:
                edges[edge_type.name, key] = properties[key].kind
    return Kinds(nodes, edges)


class _Values:
    """The kind of the values of a property, which come part by part. settled : further ones do not change it."""

    def __init__(self, kind: Kind) -> None:
        self._declared = kind
        self._found: Kind | None = None
        self._lists = False  # whether there are empty ones
        self.settled = False

    @property
    def kind(self) -> Kind | None:
        """That of all values that were added; None of none."""
        return "string[]" if self._found is None and self._lists else self._found

    def add(self, column: Column) -> None:
        """Look at some more values."""
        if self.settled or is_empty(column):
            return
        if self._declared != "any":
            self._settle(self._declared)
            return
        for part in _parts(column):
            if is_empty(part):
                continue
            typed = _typed(part)
            if typed is None:
                self._settle("any")
                return
            items = typed.items
            if items is not None and not len(items):
                self._lists = True
            elif self._found in (None, typed.kind):
                self._found = typed.kind
            else:
                self._settle("any")
                return
            if self._lists and self._found is not None and self._found not in ITEM_OF:
                self._settle("any")
                return

    def _settle(self, kind: Kind) -> None:
        self._found, self.settled = kind, True


def _changed(column: Column, kind: Kind | None) -> Column | None:
    if kind is None or column.kind == kind:
        return None if kind is None else column
    if is_empty(column):
        return Column.nulls(kind, len(column))
    parts = []
    for part in _parts(column):
        typed = Column.nulls(kind, len(part)) if is_empty(part) else _typed(part)
        fitted = None if typed is None else same_kind(typed, kind)
        assert fitted is not None  # `narrower` has seen these values
        parts.append(fitted)
    return Column.concat(parts)


def _parts(column: Column) -> Iterator[Column]:
    for begin in range(0, len(column), _AT_ONCE):
        yield column.part(begin, min(begin + _AT_ONCE, len(column)))


def _typed(column: Column) -> Column | None:
    """Values of the kind "any" as a column of their type; None of several types, or one that "any" alone holds."""
    assert column.offsets is not None
    starts = column.offsets[:-1] if column.valid is None else column.offsets[:-1][column.valid]
    tags = column.values[starts]  # the first letter of a value's text is its type
    if (tags != tags[0]).any():
        return None
    try:
        typed = column_of([_plain(value) for value in column.to_list()])
    except ImportFailed:
        return None
    # 1 and 1.5 in lists would both be floats
    return typed if typed.kind != "any" and _texts(typed.as_any()) == _texts(column) else None


def _plain(value: PropertyValue) -> PropertyValue:
    """A value of the language as one of Python, where there is one."""
    if isinstance(value, list):
        return [cast("Item", _plain(item)) for item in value]
    return cast("PropertyValue", to_python(cast("Value", value)))


def _texts(column: Column) -> list[PropertyValue]:
    return Column("string", column.values, column.offsets, column.valid).to_list()
