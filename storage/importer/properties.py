"""The types of properties: one for each property of a label or relationship type, in all files; of the groups of an
export one for each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from gdb.errors import ImportFailed
from gdb.storage.model import Column, Kind, VertexTable
from gdb.storage.spool import is_void

_NUMBERS = {"int64", "float64"}


@dataclass(slots=True)
class Properties:
    """What is known so far: (label, group or type, property) -> its type and the file that says so.

    A column without any value has no say: an empty column is read as text.
    """

    _known: dict[tuple[str, str], tuple[Kind, str]] = field(default_factory=dict)
    _void: dict[tuple[str, str], Kind] = field(default_factory=dict)

    def add_vertices(self, table: VertexTable, file: str, *, exported: bool = False) -> None:
        """Take in a vertex table; `file` is "" for what the store holds.

        exported : from a store, which may hold a property as it likes for each label set and id space.

        Raises
        ------
        ImportFailed : a property has another type under one of the labels.
        """
        self._add(_group(table) if exported else _owners(table), table.columns, file)

    def add_edges(self, type: str, columns: dict[str, Column], file: str) -> None:
        """As `add_vertices`, for edges of one type."""
        self._add([f"relationship type {type}"], columns, file)

    def _add(self, owners: list[str], columns: dict[str, Column], file: str) -> None:
        for key, column in columns.items():
            if is_void(column):
                for owner in owners:
                    self._void.setdefault((owner, key), column.kind)
                continue
            for owner in owners:
                kind, other = self._known.setdefault((owner, key), (column.kind, file))
                # of groups that share a label the store itself may hold one as it likes
                if file and kind != column.kind and not {kind, column.kind} <= _NUMBERS:
                    raise ImportFailed(
                        f"property {key!r} of {owner} is {column.kind} here and {kind} "
                        + (f"in {other}" if other else "in the graph already"),
                        f"Declare one type in the headers, for example {key}:{kind}, "
                        "or give the property another name.",
                        file=file,
                    )

    def settled(self, tables: Iterable[VertexTable]) -> list[VertexTable]:
        """The tables without those columns that hold no value and are of another type elsewhere. (A
        `gdb.storage.spool.Spool` does this for edges.)"""

        def kept(owners: Iterable[str], columns: dict[str, Column]) -> dict[str, Column]:
            return {
                key: column
                for key, column in columns.items()
                if not is_void(column)
                or all(self._kind(o, key, column.kind) == column.kind for o in owners)
            }

        return [replace(t, columns=kept(_owners(t), t.columns)) for t in tables]

    def _kind(self, owner: str, key: str, otherwise: Kind) -> Kind:
        return self._known.get((owner, key), (self._void.get((owner, key), otherwise), ""))[0]


def _owners(table: VertexTable) -> list[str]:
    """The labels of a table's nodes, and these labels together in the id space."""
    labels = [f":{label}" for label in table.labels] or ["nodes without label"]
    return [*labels, *_group(table)]


def _group(table: VertexTable) -> list[str]:
    labels = "".join(f":{label}" for label in sorted(table.labels)) or "nodes without label"
    return [f"{labels} in the id space {table.id_space!r}"]
