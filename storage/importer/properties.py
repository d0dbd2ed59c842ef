"""The types of properties: one for each property of a label or relationship type, in all files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from gdb.errors import ImportFailed
from gdb.records import dataclass, field, replace

from ..columns.kinds import inexact, is_empty, joined
from ..columns.model import I64, ROUNDED, WIDER, Column, Kind, VertexTable
from ..columns.python_columns import shown
from ..disk.csv_values import is_text_of

Owner = str | tuple[tuple[str, ...], str]
"""The owner of a property: a label or a relationship type, or the nodes of one group (labels, id space), whose values
are one column of the store."""
Spot = tuple[int | None, str]
"""Line and text of a row; a graph in memory has no lines, and the text is how errors call the row."""


@dataclass(frozen=True, slots=True)
class Source:
    """The places of the rows of some columns.

    file : by what errors call it. number : from a row of the columns to a number by which `place` finds its line and
    text; only called while the columns are in hand.
    exported : a store had them. Of groups that share a label it may hold each as it likes.
    """

    file: str
    number: Callable[[int], int]
    place: Callable[[list[int]], Sequence[Spot]]
    exported: bool = False

    def taken(self, rows: I64) -> Source:
        """The places of some of the rows, for columns that are reduced to these."""
        return replace(self, number=lambda row: self.number(int(rows[row])))


@dataclass(frozen=True, slots=True)
class _Value:
    """A value, and what finds its place; the file is "" where the graph held it already."""

    shown: str
    file: str = ""
    number: int = 0
    place: Callable[[list[int]], Sequence[Spot]] = lambda _: ()

    @classmethod
    def of(cls, column: Column, row: int, source: Source | None) -> _Value:
        text = shown(column.part(row, row + 1).to_list()[0])
        if source is None:
            return cls(text)
        # not the source itself, which keeps the columns in memory
        return cls(text, source.file, source.number(row), source.place)

    def wrong(self, reason: str, cure: str) -> ImportFailed:
        """The error that blames it."""
        line, text = next(iter(self.place([self.number])), (None, ""))
        return ImportFailed(reason, cure, file=self.file, line=line, text=text)


@dataclass(slots=True)
class _Known:
    """What is known of a property.

    kind : of all its values. files : the kinds that they were given as, and the first file of each, "" for the graph.
    rounded : the first integer that is no float without loss.
    mixed : its values do not go together, because they do not in the graph or in an export.
    """

    kind: Kind
    files: dict[Kind, str] = field(default_factory=dict)
    rounded: _Value | None = None
    mixed: bool = False

    @property
    def takes_all(self) -> bool:
        """Whether values of all kinds go with it: the graph holds it as of any. (Of files that are read together none
        has this say, or their order would matter.)"""
        return self.files.get("any") == ""

    def clashes(self, kind: Kind, *, rounds: bool) -> bool:
        """Whether more values do not go with those that are known. rounds : an integer of them is no float without
        loss."""
        if self.takes_all:
            return False
        both = joined(self.kind, kind)
        loses = both in WIDER.values() and len({*self.files, kind}) > 1
        return both is None or (loses and (rounds or self.rounded is not None))

    def add(self, kind: Kind, rounded: _Value | None, file: str) -> None:
        self.kind = joined(self.kind, kind) or self.kind
        self.files.setdefault(kind, file)
        self.rounded = self.rounded or rounded


@dataclass(slots=True)
class Properties:
    """What is known so far of each property.

    A column without any value is ignored: an empty column is read as text.
    """

    _known: dict[tuple[Owner, str], _Known] = field(default_factory=dict)
    _void: dict[tuple[Owner, str], Kind] = field(default_factory=dict)

    def add_vertices(self, table: VertexTable, source: Source | None) -> None:
        """Take in a vertex table; source : None for what the store holds.

        Raises
        ------
        ImportFailed : a property has values that do not go with others under one of the labels: of another type, or
            integers that would be rounded beside floats. Names the first such value and its place.
        """
        self._add(_labels(table), _group(table), table.columns, source)

    def add_edges(self, type: str, columns: dict[str, Column], source: Source | None) -> None:
        """As `add_vertices`, for edges of one type."""
        self._add([], type_owner(type), columns, source)

    def refuses(self, owner: Owner, key: str, kind: Kind, *, rounds: bool) -> bool:
        """Whether values of a kind do not go with those that are known of a property, see `add_vertices`; rounds : one
        is an integer that is no float without loss."""
        held = self._known.get((owner, key))
        if held is None or not held.clashes(kind, rounds=rounds):
            return False
        return not (held.mixed and kind in held.files)

    def kind_of(self, owner: Owner, key: str) -> Kind | None:
        """The kind of all values of a property that are known."""
        held = self._known.get((owner, key))
        return None if held is None else held.kind

    def _add(
        self, labels: list[Owner], own: Owner, columns: dict[str, Column], source: Source | None
    ) -> None:
        """own : whose values become one column with these. labels : whose values should be of one type with these."""
        for key, column in columns.items():
            if is_empty(column):
                for owner in (*labels, own):
                    self._void.setdefault((owner, key), column.kind)
                continue
            known = [
                self._known.setdefault((owner, key), _Known(column.kind))
                for owner in (*labels, own)
            ]
            rounded = None
            if any(held.rounded is None for held in known):
                row = inexact(column)
                rounded = None if row is None else _Value.of(column, row, source)
            for owner, held in zip((*labels, own), known, strict=True):
                if held.clashes(column.kind, rounds=rounded is not None):
                    free = source is None or (source.exported and owner is not own)
                    if source and not free and not (held.mixed and column.kind in held.files):
                        raise _clash(owner, key, held, column, source, rounded)
                    held.mixed = True
                held.add(column.kind, rounded, "" if source is None else source.file)

    def settled(self, tables: Iterable[VertexTable]) -> list[VertexTable]:
        """The tables without those columns that hold no value and are of another type elsewhere. (A
        `gdb.storage.write.edge_spool.Spool` does this for edges.)"""

        def kept(owners: Iterable[Owner], columns: dict[str, Column]) -> dict[str, Column]:
            return {
                key: column
                for key, column in columns.items()
                if not is_empty(column)
                or all(self._takes(owner, key, column.kind) for owner in owners)
            }

        return [replace(t, columns=kept([*_labels(t), _group(t)], t.columns)) for t in tables]

    def _takes(self, owner: Owner, key: str, kind: Kind) -> bool:
        """Whether nulls of a kind leave a property as it is."""
        known = self._known.get((owner, key))
        own = self._void.get((owner, key), kind) if known is None else known.kind
        return joined(own, kind) == own


def label_owners(labels: Iterable[str]) -> list[Owner]:
    """The owners of the properties of nodes with some labels."""
    return [f":{label}" for label in labels] or ["nodes without label"]


def type_owner(type: str) -> Owner:
    """The owner of the properties of relationships of a type."""
    return f"relationship type {type}"


def _labels(table: VertexTable) -> list[Owner]:
    return label_owners(table.labels)


def _group(table: VertexTable) -> Owner:
    return tuple(sorted(table.labels)), table.id_space


def _name(owner: Owner) -> str:
    if isinstance(owner, str):
        return owner
    labels, space = owner
    named = "".join(f":{label}" for label in labels) or "nodes without label"
    return f"{named} in the id space {space!r}" if space else named


def _clash(
    owner: Owner, key: str, known: _Known, column: Column, source: Source, rounded: _Value | None
) -> ImportFailed:
    """The error for values that do not go with those that are known."""
    property = f"{key!r} of {_name(owner)}"
    if joined(known.kind, column.kind) is None:
        value = _Value.of(column, _first_unlike(column, known.kind), source)
        cure = f"Declare one type in the headers, for example {key}:{known.kind}, or give the property another name."
        if known.kind == "any":
            cure = (
                "Load this in a call of its own, after that one, or give the property another name."
            )
        return value.wrong(
            f"property {property} is {known.kind} {_where(known.files.get(known.kind))}, "
            f"and {column.kind} here: {value.shown}",
            cure,
        )
    if rounded is None and known.rounded is not None and not known.rounded.file:
        value = _Value.of(column, _first(column), source)
        return value.wrong(
            f"property {property} holds {known.rounded.shown} in the graph already, {ROUNDED}, "
            f"and is {column.kind} here: {value.shown}",
            "Give the property another name.",
        )
    blamed = rounded or known.rounded
    assert blamed is not None
    floats = WIDER.get(column.kind, column.kind)
    other = source.file if rounded is None else known.files.get(floats)
    lists = "[]" * floats.endswith("[]")
    return blamed.wrong(
        f"property {property} is {floats} {_where(other)}, and holds {ROUNDED}, here: {blamed.shown}",
        f"Declare it in all headers, as {key}:string{lists} to keep every digit or as "
        f"{key}:double{lists} to round it, or give it another name.",
    )


def _where(file: str | None) -> str:
    return f"in {file}" if file else "in the graph already"


def _first(column: Column) -> int:
    """The first row of a column that has a value."""
    return 0 if column.valid is None else int(np.flatnonzero(column.valid)[0])


def _first_unlike(column: Column, kind: Kind) -> int:
    """The first row whose value is none of a kind: of texts one that is not read so, else the first that is given."""
    if column.kind == "string":
        for row, text in enumerate(column.to_list()):
            if text is not None and not is_text_of(str(text), kind):
                return row
    return _first(column)
