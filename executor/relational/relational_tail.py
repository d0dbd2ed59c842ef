"""The relational tail: everything after MATCH, as SQL over columns of the embeddings (design.md §3).

`gdb.physical.tail` writes a `Tail`; `part` gathers the columns that it names, for some of the embeddings at a time, and
`finish` hands them to a private in-memory DuckDB and gives the output columns back. Where the columns are the answer
(`Tail.direct`), gathering them is all there is to do. Names and literals of the user never reach SQL: columns are c0,
c1, ... and o0, o1, ..., values travel as prepared parameters.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping, Sequence
from datetime import date, time, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from gdb.errors import InternalError
from gdb.imports import deferred
from gdb.records import dataclass, field, quick
from gdb.storage.columns import slices
from gdb.storage.columns.model import I64, Column, Kind, offsets_of_lengths
from gdb.storage.columns.slices import Slice

from ..plan.embeddings import Embeddings, Wanted
from .batch import Batch

if TYPE_CHECKING:
    from gdb.base.sql import SqlText
    from gdb.base.values.duration import Duration
    from gdb.base.values.temporal import Temporal
    from gdb.storage.disk.arrays import Shelf
    from gdb.storage.graph.snapshot import Snapshot

    from . import lookup
    from .arrow import Array
else:
    lookup = deferred("gdb.executor.relational.lookup")

_PARAMETER = re.compile(r"\$(p\d+)\b")  # a text of the user is never in SQL
NUMBER = "n"  # the column with the number of embeddings that a row represents

Value: TypeAlias = (
    "int | float | bool | str | date | timedelta | time | Temporal | Duration | Sequence[Value]"
    "| Mapping[str, Value] | None"
)
"""The value of a parameter or of a result (lists and maps nest); a datetime is a date."""


def same(value: Value, other: Value) -> bool:
    """Whether two values of one kind are indistinguishable: 0.0 and -0.0 are not."""
    if value is other:
        return True
    return value == other and (isinstance(value, (bool, int, str)) or repr(value) == repr(other))


@dataclass(frozen=True, slots=True)
class ColumnRef:
    """One column to gather from the embeddings table.

    name : "c0", "c1", ...: generated, never the user's text.
    element, index : query vertex or query edge number `index`.
    key : the property's key; None unless `what` is "property".
    what : "element" (the vid or eid as BIGINT), "property" (its value), "id" (the user's id of a vertex,
        BIGINT or VARCHAR; of an edge its eid), "labels" (VARCHAR[] of a vertex), "type" (VARCHAR of an edge).
    kind : of a property or an id, the type that the SQL was written for (int64 columns widen to float64; "null" is
        a key that nothing has). None takes it from the store, over all groups or edge types that have the key.
    """

    name: str
    element: Literal["vertex", "edge"]
    index: int
    key: str | None = None
    what: Literal["element", "property", "id", "labels", "type"] = "element"
    kind: Kind | Literal["null"] | None = None


@dataclass(frozen=True, slots=True)
class Output:
    """One column of the answer: SQL column o0, o1, ... in order; `name` is the user's and only ever shown.

    kind : "node" and "relationship" outputs are vids and eids in SQL, and become Node and Relationship in the Result.
    durations : in SQL its numbers, or those in its lists, are microseconds; the answer has durations.
    values : the kind of a stored column with such values; None where that is not known.
    """

    name: str
    kind: Literal["value", "node", "relationship"] = "value"
    durations: bool = False
    values: Kind | None = None


@dataclass(frozen=True, slots=True)
class First:
    """Of the embeddings only the first `count` by a column are needed, and those whose values are equal to the last
    one's.

    descending : the largest values come first. nulls_first : so do nulls.
    """

    column: ColumnRef
    descending: bool
    nulls_first: bool
    count: int


@dataclass(frozen=True, slots=True)
class Tail:
    """The relational part of a query.

    columns : what the relation `embeddings` holds, one row per embedding.
    sql : one DuckDB SELECT over `embeddings` giving o0, o1, ...; `$p0`, `$p1`, ... are prepared parameters. "" where
        none is ever run.
    parameters : their values, keys without the dollar sign ("p0"), and those of parameters that it does not mention.
    outputs : the columns of the answer.
    count_only : the answer is the number of embeddings, or where `once` is given of its distinct values: `finish`
        gets that number instead of columns and `sql` is not run.
    row_limit : rows that the executor need produce at most (SKIP + LIMIT where nothing sorts, filters or
        groups), or None.
    once : the answer depends on nothing but the set of data vertices that this query vertex is bound to, so that the
        executor may give each of them once; None where every embedding counts.
    direct : the columns are the answer, and `sql` is not run: for each output the number of its column. Holds for
        at most `row_limit` embeddings.
    numbered : where the answer depends on nothing but the number of embeddings for each data vertex of one query
        vertex, what gives the SELECT over one row for each with that number as column `NUMBER`; else None.
    tally : the answer is the number of embeddings for each value of the only column, whole numbers, and `sql` is not
        run: for each output whether it is that number (else it is the value).
    kinds : the columns are labels and types, and of embeddings with the same ones only the number is needed, or one.
    by_part : the rows of the answer are those of any parts of the embeddings, one after the other: nothing sorts,
        groups or counts, and `row_limit` is all that cuts.
    first : which embeddings can be left out of many; None: none.
    """

    columns: tuple[ColumnRef, ...]
    sql: str | SqlText
    parameters: dict[str, Value] = field(default_factory=dict, compare=False)
    outputs: tuple[Output, ...] = ()
    count_only: bool = False
    row_limit: int | None = None
    once: int | None = None
    direct: tuple[int, ...] | None = None
    tally: tuple[bool, ...] | None = None
    numbered: Callable[[], SqlText] | None = field(default=None, compare=False)
    kinds: bool = False
    by_part: bool = False
    first: First | None = None
    wanted: Wanted = field(init=False, compare=False)  # the columns that the executor has to return

    def __post_init__(self) -> None:
        object.__setattr__(self, "wanted", self._wanted())

    @property
    def tallied_vertex(self) -> int | None:
        """The query vertex, if the query needs only the number of embeddings for each of its data vertices; else
        None."""
        return None if self.numbered is None else only_vertex(self.columns)

    def statement(self, *, numbered: bool = False) -> tuple[str, dict[str, Value]]:
        """The text of the SELECT, and the parameters that it mentions. numbered : see `with_multiplicities`."""
        query = self.numbered() if numbered and self.numbered is not None else self.sql
        text = str(query)
        named = sorted(set(_PARAMETER.findall(text))) if self.parameters else []
        return text, {name: self.parameters[name] for name in named}

    def _wanted(self) -> Wanted:
        vertices = {c.index for c in self.columns if c.element == "vertex"}
        edges = {c.index for c in self.columns if c.element == "edge"}
        return Wanted(tuple(sorted(vertices)), tuple(sorted(edges)), self.once)


def only_vertex(columns: Sequence[ColumnRef]) -> int | None:
    """The query vertex that all columns are of; None where they are of several elements, or an edge."""
    elements = {(one.element, one.index) for one in columns}
    return columns[0].index if len(elements) == 1 and columns[0].element == "vertex" else None


# what may be left where it lies; an element, when it is exported
_LYING = ("property", "id", "element")
_NO_VIDS, _NO_EIDS = np.zeros(0, np.uint32), np.zeros(0, np.int64)


@quick
@dataclass(frozen=True, slots=True, eq=False)
class TailResult:
    """The answer: a struct array in chunks, one field per output, in which nodes and relationships are vids and eids;
    or the one number that it consists of."""

    outputs: tuple[Output, ...]
    answer: Array | int

    @property
    def table(self) -> Array:
        """The answer as a struct array."""
        if not isinstance(self.answer, int):
            return self.answer
        from . import arrow  # here: it imports nanoarrow

        count = arrow.int64_array(np.array([self.answer], np.int64))
        return arrow.struct_array(["o0"], [count], 1)

    def __len__(self) -> int:
        return 1 if isinstance(self.answer, int) else len(self.answer)


def part(tail: Tail, some: Embeddings, snapshot: Snapshot) -> Array:
    """What the tail needs of some embeddings, in memory of its own or of the store: the columns it names, or its
    outputs, in one or more chunks."""
    if tail.direct is None:
        return gather(tail.columns, some, snapshot)
    batches: list[Batch] = []
    for run in _runs(tail.columns, some):
        columns = [gather_one(ref, run, snapshot) for ref in tail.columns]
        batches.append(Batch([columns[k] for k in tail.direct], len(run)))
    if len(batches) == 1:
        return batches[0]
    from . import arrow  # here: it imports nanoarrow

    return arrow.chunks_array([batch.array for batch in batches])


def filed_part(some: Array, shelf: Shelf) -> Array:
    """What `part` made, with its values in temporary files."""
    from . import arrow  # here: it imports nanoarrow

    return arrow.move_to_files(some, shelf)


def held_bytes(tail: Tail, some: Embeddings, made: Array) -> int:
    """Bytes of what `part` made of some embeddings, without what lies in the store."""
    if isinstance(made, Batch) and tail.direct is not None:
        refs = [tail.columns[k] for k in tail.direct]
        apart = {of for of in {(ref.element, ref.index) for ref in refs} if not _lies(some, *of)}
        return made.nbytes([(ref.element, ref.index) in apart for ref in refs])
    if tail.direct is not None:  # in runs, and most of these lie there
        return 0
    from . import arrow  # here: it imports nanoarrow

    return arrow.own_bytes(made)


def _lies(some: Embeddings, element: str, index: int) -> bool:
    """Whether the elements of some embeddings follow one another, so that their properties are no copies."""
    own = some.vertex(index) if element == "vertex" else some.edge(index)
    return slices.follow_one_another(own)


def _runs(columns: Sequence[ColumnRef], some: Embeddings) -> list[Embeddings]:
    """The rows in pieces in which elements follow one another, so that their columns need no copy; in one piece where
    that would make them short. A worker's rows are those of several work units."""
    count = len(some)
    if count < 2 * slices.LEAST:
        return [some]
    cuts = np.zeros(0, np.int64)
    for element, index in {(ref.element, ref.index) for ref in columns if ref.what in _LYING}:
        own = some.vertex(index) if element == "vertex" else some.edge(index)
        breaks = slices.breaks(own)
        if (len(breaks) + 1) * slices.LEAST <= count:
            cuts = np.union1d(cuts, breaks)
    bounds = [0, *cuts.tolist(), count]
    return [some.part(begin, end) for begin, end in pairwise(bounds)]


def finish(
    tail: Tail,
    parts: Sequence[Array] | int,
    *,
    numbers: I64 | None = None,
    memory: int | None = None,
    cancel: threading.Event | None = None,
    deadline: float | None = None,
) -> TailResult:
    """The answer, from what `part` made of all embeddings.

    Parameters
    ----------
    parts : at least one; or, exactly where tail.count_only, the number.
    numbers : with tail.numbered, how many embeddings each row of the only part represents, i64[rows]; None: one.
    memory : bytes for DuckDB before it spills to disk.
    cancel, deadline : stop once the event is set, or at this time.monotonic().

    Raises
    ------
    Cancelled, QueryTimeout, OutOfBudget, RunError, QueryError : see `relational.query`.
    """
    if isinstance(parts, int):
        return TailResult(tail.outputs, parts)
    relation = unite_parts(parts)
    if tail.direct is not None:
        return TailResult(tail.outputs, with_durations(relation, tail.outputs))
    if tail.tally is not None:
        return TailResult(tail.outputs, _tallied(parts, tail.tally, numbers))
    from .relational import query  # here: it imports DuckDB

    counted = numbers is not None and tail.numbered is not None
    sql, parameters = tail.statement(numbered=counted)
    if numbers is not None and counted:
        relation = with_multiplicities(tail.columns, relation, numbers)
    table = query(
        {"embeddings": relation}, sql, parameters, memory=memory, cancel=cancel, deadline=deadline
    )
    return TailResult(tail.outputs, with_durations(table, tail.outputs))


def unite_parts(parts: Sequence[Array]) -> Array:
    """The parts of one relation as one."""
    if len(parts) == 1:  # a few rows are never converted to Arrow
        return parts[0]
    from . import arrow  # here: it imports nanoarrow

    return arrow.chunks_array([chunk for one in parts for chunk in one.iter_chunks()])


def with_multiplicities(columns: Sequence[ColumnRef], relation: Array, numbers: I64) -> Array:
    """The relation `embeddings` with how many each of its rows represents, i64[rows]."""
    from . import arrow  # here: it imports nanoarrow

    children = [arrow.child(relation, k) for k in range(len(columns))]
    names = [*(ref.name for ref in columns), NUMBER]
    return arrow.struct_array(names, [*children, arrow.int64_array(numbers)], len(numbers))


def with_durations(table: Array, outputs: Sequence[Output]) -> Array:
    """The table with its microseconds called durations."""
    for output in outputs:
        if output.durations:
            break
    else:
        return table
    from . import arrow  # here: it imports nanoarrow

    return arrow.as_durations(table, [output.durations for output in outputs])


def _tallied(parts: Sequence[Array], outputs: tuple[bool, ...], numbers: I64 | None) -> Array:
    """Each value of the only column of `parts`, null among them, and how often it occurs, or what its `numbers`
    add up to."""
    from . import arrow  # here: it imports nanoarrow

    columns = [arrow.int64_values(arrow.child(some, 0)) for some in parts]
    known = [values if valid is None else values[valid] for values, valid in columns]
    if numbers is None:
        values, counts = _counted(np.concatenate(known))
        nulls = sum(len(column[0]) for column in columns) - sum(map(len, known))
    else:
        ((_, valid),) = columns
        there = np.ones(len(numbers), np.bool_) if valid is None else valid
        values, place = np.unique(known[0], return_inverse=True)
        counts = np.zeros(len(values), np.int64)
        np.add.at(counts, place, numbers[there])
        nulls = int(numbers[~there].sum())
    valid = None
    if nulls:
        values, counts = np.append(values, 0), np.append(counts, nulls)
        valid = np.arange(len(values)) < len(values) - 1
    keys = arrow.column_array(Column("int64", values, None, valid))
    tally = arrow.int64_array(counts)
    names = [f"o{k}" for k in range(len(outputs))]
    return arrow.struct_array(names, [tally if x else keys for x in outputs], len(values))


def _counted(values: I64) -> tuple[I64, I64]:
    """The distinct values, ascending, and how often each occurs."""
    if len(values):
        low, high = int(values.min()), int(values.max())
        if high - low < len(values):  # a count for each number between is shorter than sorting
            counts = np.bincount(values - low)
            found = np.flatnonzero(counts)
            return found + low, counts[found]
    distinct, counts = np.unique(values, return_counts=True)
    return distinct, counts


def gather(columns: Sequence[ColumnRef], embeddings: Embeddings, snapshot: Snapshot) -> Array:
    """The relation `embeddings`: one row per embedding, one field per column reference."""
    from . import arrow  # here: it imports nanoarrow

    gathered = [gather_one(ref, embeddings, snapshot) for ref in columns]
    children = [arrow.column_array(c) if isinstance(c, Slice) else c for c in gathered]
    names = [ref.name for ref in columns]
    if not children:  # a relation needs a column, also where only its rows count
        names, children = ["row"], [arrow.int64_array(np.arange(len(embeddings), dtype=np.int64))]
    return arrow.struct_array(names, children, len(embeddings))


def gather_one(ref: ColumnRef, embeddings: Embeddings, snapshot: Snapshot) -> Slice | Array:
    """The values of one column reference, one for each embedding."""
    vids, eids = _NO_VIDS, _NO_EIDS
    if ref.element == "vertex":
        vids = embeddings.vertex(ref.index)
    else:
        eids = embeddings.edge(ref.index)
    match ref.element, ref.what:
        case "vertex", "element":
            return Slice.of(Column("int64", vids.astype(np.int64)))
        case "vertex", "id":
            kind = None if ref.kind == "null" else ref.kind
            return lookup.vertex_ids(snapshot, vids, kind)
        case "vertex", "labels":
            lengths, names = lookup.vertex_labels(snapshot, vids)
            return Slice.of(Column.of_lists(names, offsets_of_lengths(lengths)))
        case "edge", "element" | "id":
            return Slice.of(Column("int64", eids.copy()))
        case "edge", "type":
            return Slice.of(lookup.edge_types(snapshot, eids))
        case element, "property" if ref.key is not None:
            if ref.kind == "null":
                return _nulls(len(embeddings))
            column = (
                lookup.vertex_property(snapshot, vids, ref.key, ref.kind)
                if element == "vertex"
                else lookup.edge_property(snapshot, eids, ref.key, ref.kind)
            )
            return _nulls(len(embeddings)) if column is None else column.in_sql()
        case _:
            raise InternalError(f"a query's tail reads {ref.what!r} of {ref.element} {ref.index}.")


def _nulls(length: int) -> Array:
    from . import arrow  # here: it imports nanoarrow

    return arrow.null_array(length)
