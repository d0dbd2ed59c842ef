"""The relational tail: everything after MATCH, as SQL over columns of the embeddings (design.md §3).

The binder writes a `Tail`; `run` gathers the columns that it names, hands them to a private in-memory
DuckDB and gives the output columns back. Names and literals of the user never reach SQL: columns are c0,
c1, ... and o0, o1, ..., values travel as prepared parameters.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from gdb.errors import InternalError
from gdb.executor.embeddings import Embeddings

if TYPE_CHECKING:
    from gdb.executor.arrow import Array
    from gdb.storage.snapshot import Snapshot

Value: TypeAlias = int | float | bool | str | Sequence["Value"] | None
"""What a parameter of a query, or a value of a result, may hold (lists nest)."""


@dataclass(frozen=True, slots=True)
class ColumnRef:
    """One column to gather from the embeddings table.

    name : "c0", "c1", ...: generated, never the user's text.
    element, index : query vertex or query edge number `index`.
    key : the property's key; None unless `what` is "property".
    what : "element" (the vid or eid as BIGINT), "property" (its value), "id" (the user's id of a vertex,
        BIGINT or VARCHAR; of an edge its eid), "labels" (VARCHAR[] of a vertex), "type" (VARCHAR of an edge).
    kind : of a property, the type that the SQL was written for (int64 columns widen to float64; "null" is a
        key that nothing has). None takes it from the store, over all groups or edge types that have the key.
    """

    name: str
    element: Literal["vertex", "edge"]
    index: int
    key: str | None = None
    what: Literal["element", "property", "id", "labels", "type"] = "element"
    kind: Literal["int64", "float64", "bool", "string", "null"] | None = None


@dataclass(frozen=True, slots=True)
class Output:
    """One column of the answer: SQL column o0, o1, ... in order; `name` is the user's and only ever shown.

    kind : "node" and "relationship" outputs are vids and eids in SQL, and become Node and Relationship in the Result.
    """

    name: str
    kind: Literal["value", "node", "relationship"] = "value"


@dataclass(frozen=True, slots=True)
class Tail:
    """The relational part of a query.

    columns : what the relation `embeddings` holds, one row per embedding.
    sql : one DuckDB SELECT over `embeddings` giving o0, o1, ...; `$p0`, `$p1`, ... are prepared parameters.
    parameters : their values, keys without the dollar sign ("p0").
    outputs : the columns of the answer.
    count_only : RETURN is exactly count(*): `run` gets a number instead of embeddings and `sql` is not run.
    row_limit : rows that the executor need produce at most (SKIP + LIMIT where nothing sorts, filters or
        groups), or None.
    """

    columns: tuple[ColumnRef, ...]
    sql: str
    parameters: dict[str, Value] = field(default_factory=dict, compare=False)
    outputs: tuple[Output, ...] = ()
    count_only: bool = False
    row_limit: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class TailResult:
    """The answer: a struct array in chunks, one field per output; nodes and relationships are vids and eids."""

    outputs: tuple[Output, ...]
    table: Array

    def __len__(self) -> int:
        return len(self.table)


def run(
    tail: Tail,
    found: Embeddings | int,
    snapshot: Snapshot,
    *,
    memory: int | None = None,
    cancel: threading.Event | None = None,
    deadline: float | None = None,
) -> TailResult:
    """Gather the columns of `tail` and run its SQL over them.

    Parameters
    ----------
    found : the embeddings; or, exactly where tail.count_only, their number.
    memory : bytes for DuckDB before it spills to disk.
    cancel, deadline : stop once the event is set, or at this time.monotonic().

    Raises
    ------
    Cancelled, QueryTimeout, OutOfBudget, TypeProblem, RunError : see `relational.query`.
    """
    from gdb.executor import (
        arrow,
    )  # here and below: whoever only builds tails needs neither Arrow nor DuckDB

    if not isinstance(found, Embeddings):
        count = arrow.int64_array(np.array([found], np.int64))
        return TailResult(tail.outputs, arrow.struct_array(["o0"], [count], 1))
    from gdb.executor.relational import query

    table = query(
        {"embeddings": gather(tail.columns, found, snapshot)},
        tail.sql,
        tail.parameters,
        memory=memory,
        cancel=cancel,
        deadline=deadline,
    )
    return TailResult(tail.outputs, table)


def gather(columns: Sequence[ColumnRef], embeddings: Embeddings, snapshot: Snapshot) -> Array:
    """The relation `embeddings`: one row per embedding, one field per column reference."""
    from gdb.executor import arrow

    children = [_gather_one(ref, embeddings, snapshot) for ref in columns]
    names = [ref.name for ref in columns]
    if not children:  # a relation needs a column, also where only its rows count
        names, children = ["row"], [arrow.int64_array(np.arange(len(embeddings), dtype=np.int64))]
    return arrow.struct_array(names, children, len(embeddings))


def _gather_one(ref: ColumnRef, embeddings: Embeddings, snapshot: Snapshot) -> Array:
    from gdb.executor import arrow, lookup

    vids = embeddings.vids[:, ref.index] if ref.element == "vertex" else np.zeros(0, np.uint32)
    eids = embeddings.eids[:, ref.index] if ref.element == "edge" else np.zeros(0, np.int64)
    match ref.element, ref.what:
        case "vertex", "element":
            return arrow.int64_array(vids.astype(np.int64))
        case "vertex", "id":
            return arrow.column_array(lookup.vertex_ids(snapshot, vids))
        case "vertex", "labels":
            lengths, names = lookup.vertex_labels(snapshot, vids)
            return arrow.list_array(lengths, arrow.column_array(names))
        case "edge", "element" | "id":
            return arrow.int64_array(eids)
        case "edge", "type":
            return arrow.column_array(lookup.edge_types(snapshot, eids))
        case element, "property" if ref.key is not None:
            if ref.kind == "null":
                return arrow.null_array(len(embeddings))
            column = (
                lookup.vertex_property(snapshot, vids, ref.key, ref.kind)
                if element == "vertex"
                else lookup.edge_property(snapshot, eids, ref.key, ref.kind)
            )
            return (
                arrow.null_array(len(embeddings)) if column is None else arrow.column_array(column)
            )
        case _:
            raise InternalError(
                f"a query's tail asks for {ref.what!r} of {ref.element} {ref.index}."
            )
