"""Edges of one type on their way into a store, under the numbers that vertices have before they are numbered anew."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from gdb.errors import ImportFailed
from gdb.records import dataclass

from ..columns.kinds import is_empty
from ..columns.model import I64, U32, Column, EdgeTable, Kind, Rows, common_kind
from ..format.direction import Direction
from ..graph.pcsr import U64
from . import edge_runs
from .edge_runs import Ahead, Pieces, Room, Run, RunPiece, Turned
from .renumber import ShareSets

if TYPE_CHECKING:
    from ..graph.edge_loops import Packed

LOW = np.uint64(0xFFFFFFFF)
HIGH = np.uint64(32)
_POSITION = "\0"  # a column that is no property


class Spool(Pieces):
    """A run of the edges of one type, its keys being `source row << 32 | target row`.

    What is added may have other columns than what is there, or integers where that has floats (all exact as floats, see
    `gdb.storage.columns.kinds`), or values of any kind where that has those of any: a column is null where it was not
    given. A column that holds no value at all takes any kind.

    loops : how many edges end where they begin. highest : the highest row, -1 where there is no edge.
    """

    def __init__(self, name: str, directed: bool, room: Room) -> None:
        super().__init__(room)
        self.name, self.directed = name, directed
        self.loops, self.highest = 0, -1
        self._kinds: dict[str, list[Kind]] = {}
        self._void: dict[str, Kind] = {}

    def add_edges(self, sources: Rows, targets: Rows, columns: dict[str, Column]) -> None:
        """Take some edges: rows of both ends, i64[m] or u32[m], and columns of m values.

        Raises
        ------
        ImportFailed : these are not as many, an end is below 0, or a property has values of kinds that do not go
            together.
        """
        if len(targets) != len(sources):
            raise ImportFailed(f"the edge type {self.name!r} has more sources than targets", "")
        from ..graph.edge_loops import pack  # brings the compiler

        self.add_packed(pack(sources, targets), columns)

    def add_packed(self, ends: Packed, columns: dict[str, Column]) -> None:
        """Take some edges by their keys. Raises as `add_edges`."""
        count = len(ends.keys)
        for key, column in columns.items():
            self._take_kind(key, column, count)
        if ends.least < 0:
            raise missing(self.name)
        self.highest = max(self.highest, ends.highest)
        self.loops += ends.loops
        for begin in range(0, count, edge_runs.PIECE):
            end = min(begin + edge_runs.PIECE, count)
            few = {key: column.part(begin, end) for key, column in columns.items()}
            self.add(RunPiece(ends.keys[begin:end], few))

    def add_table(self, table: EdgeTable) -> None:
        """Take a table of the same type. Raises as `add_edges`."""
        self.add_edges(table.sources, table.targets, table.columns)

    @property
    def kinds(self) -> dict[str, Kind]:
        """The properties and their kinds, by name."""
        found = dict(self._void)
        found.update({key: common_kind(kinds) for key, kinds in self._kinds.items()})
        return dict(sorted(found.items()))

    def piece(self, k: int) -> RunPiece:
        """Piece k with all columns of the spool: cast to the kinds that they have by now, null where it lacks one."""
        found = super().piece(k)
        kinds = self.kinds
        if not kinds:
            return found
        count = len(found.keys)
        columns = {key: _as(kind, found.columns.get(key), count) for key, kind in kinds.items()}
        return RunPiece(found.keys, columns)

    def _take_kind(self, key: str, column: Column, count: int) -> None:
        owner = f"the property {key!r} of {self.name}"
        if len(column) != count:
            raise ImportFailed(f"{owner} has {len(column)} values for {count} rows")
        if is_empty(column):
            self._void.setdefault(key, column.kind)
            return
        kinds = self._kinds.setdefault(key, [])
        if column.kind not in kinds:
            kinds.append(column.kind)
            try:
                common_kind(kinds)
            except ImportFailed as error:
                raise ImportFailed(f"{owner}: {error.reason}", error.cure) from None


def missing(name: str) -> ImportFailed:
    """The error for an edge that has no end."""
    return ImportFailed(f"an edge of type {name!r} refers to a vertex that is missing")


def _as(kind: Kind, column: Column | None, count: int) -> Column:
    """A column of `count` values of a kind; one of another kind is empty, or integers that become floats, or goes into
    a property of any."""
    if column is None or (column.kind != kind and is_empty(column)):
        return Column.nulls(kind, count)
    if column.kind == kind:
        return column
    return column.as_any() if kind == "any" else column.as_floats()


def shares_of(types: Sequence[Spool], vertices: int) -> tuple[ShareSets, I64]:
    """The parts that each vertex belongs to, and its degree in all of them, i64[vertices]. A type has two parts,
    the outgoing one and the incoming one, or one where it has no direction."""
    from ..graph.edge_loops import add_counts, count_ends  # brings the compiler

    even = vertices + vertices % 2
    shares = ShareSets(even, sum(2 if spool.directed else 1 for spool in types))
    degrees, times = np.zeros(even, np.int64), np.zeros((2, even), np.uint32)
    part = 0
    for spool in types:
        times[:] = 0  # as source, as target
        for piece in spool:
            count_ends(piece.keys, *times)
        for row in times:
            add_counts(row, degrees, shares.bits, part)
            part += int(spool.directed)
        part += int(not spool.directed)
    shares.bits = shares.bits[:vertices]
    return shares, degrees[:vertices]


def without_repeats(spool: Spool, before: int) -> Spool:
    """The edges without those that join the same two vertices as an earlier one; the first `before` all stay.

    Cost: as `gdb.storage.write.edge_runs.order_edges`.
    """
    kept = Spool(spool.name, spool.directed, spool.room)
    numbered = Turned(
        _Numbered(spool), (lambda keys: keys) if spool.directed else low_first, 1, True
    )
    for piece in edge_runs.order_edges(numbered, spool.room):
        position = piece.columns.pop(_POSITION).values
        first = np.ones(len(piece.keys), np.bool_)
        first[1:] = piece.keys[1:] != piece.keys[:-1]
        rows = np.flatnonzero(first | (position < before))
        taken = piece.take(rows)
        sources, targets = (taken.keys >> HIGH).astype(np.uint32), taken.keys.astype(np.uint32)
        kept.add_edges(sources, targets, taken.columns)
    return kept


@dataclass(frozen=True, slots=True, eq=False)
class _Numbered:
    """A run with the number of each edge beside it."""

    run: Run

    @property
    def nbytes(self) -> int:
        return self.run.nbytes + 8 * len(self.run)

    def __len__(self) -> int:
        return len(self.run)

    def __iter__(self) -> Iterator[RunPiece]:
        at = 0
        for piece in self.run:
            number: I64 = np.arange(at, at + len(piece.keys))
            yield RunPiece(piece.keys, {**piece.columns, _POSITION: Column("int64", number)})
            at += len(piece.keys)

    def sample(self) -> U64:
        return self.run.sample()


def low_first(keys: U64) -> U64:
    """The keys with the lower end above: an edge without direction has one of them."""
    high, low = keys >> HIGH, keys & LOW
    turned: U64 = (np.minimum(high, low) << HIGH) | np.maximum(high, low)
    return turned


class Sorts:
    """The edges of a type under their vids, in the orders in which they are written; the first sorts begin at once, in
    threads. `close` ends them.

    Iterating gives a direction and its keys in ascending order; with the first ones come the columns. Edges without
    direction have keys of the direction None first where they have columns: those of the canonical slots, each in the
    row of the smaller end.
    """

    def __init__(self, spool: Spool, vids: U32) -> None:
        from ..graph.edge_loops import renumber_keys  # brings the compiler

        self.spool, self._begun = spool, list[Ahead]()

        def out(keys: U64) -> U64:
            return renumber_keys(keys, vids, swap=False)

        def back(keys: U64) -> U64:
            return renumber_keys(keys, vids, swap=True)

        def both(keys: U64) -> U64:
            turned = out(keys)
            apart = turned[turned >> HIGH != turned & LOW]  # a self-loop has one slot
            return np.concatenate([turned, (apart & LOW) << HIGH | apart >> HIGH])

        columns = bool(spool.kinds)
        self._runs: list[tuple[Direction | None, Turned]] = [
            (Direction.OUT, Turned(spool, out, columns=columns)),
            (Direction.IN, Turned(spool, back)),
        ]
        if not spool.directed:
            canonical = Turned(spool, lambda keys: low_first(out(keys)), columns=True)
            self._runs = [(None, canonical)] if columns else []
            self._runs.append((Direction.ANY, Turned(spool, both, fold=2)))
        self._begin(2 if spool.directed else 1)

    def _begin(self, count: int) -> None:
        for _, run in self._runs[len(self._begun) : count]:
            self._begun.append(Ahead(edge_runs.order_edges(run, self.spool.room)))

    def __iter__(self) -> Iterator[tuple[Direction | None, Ahead]]:
        for number, (direction, _) in enumerate(self._runs):
            self._begin(number + 1)
            yield direction, self._begun[number]

    def close(self) -> None:
        """End the sorts; no more than those that were begun is lost."""
        for each in self._begun:
            each.close()
