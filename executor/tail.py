"""The relational tail: everything after MATCH, run as SQL by DuckDB over columns gathered from the embeddings (design.md §3).

The binder writes a `Tail`; `run` gathers the columns that it names, hands them to a private in-memory DuckDB and gives the
output columns back. Names and literals of the user never reach SQL: columns are c0, c1, ... and o0, o1, ..., values travel as
prepared parameters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, Union

Value: TypeAlias = Union[int, float, bool, str, None, Sequence["Value"]]
"""What a parameter of a query, or a value of a result, may hold (lists nest)."""


@dataclass(frozen=True, slots=True)
class ColumnRef:
    """One column to gather from the embeddings table.

    name : "c0", "c1", ...: generated, never the user's text.
    element, index : query vertex or query edge number `index`.
    key : the property's key; None unless `what` is "property".
    what : "element" (the vid or eid as BIGINT), "property" (the property's value), "id" (the user's id of a vertex, BIGINT
        or VARCHAR; of an edge its eid), "labels" (VARCHAR[] of a vertex), "type" (VARCHAR of an edge).
    kind : of a property, the type that the SQL was written for (int64 columns widen to float64; "null" is a key that
        nothing has). None takes the type from the store, over all groups or edge types that have the key.
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
    row_limit : rows that the executor need produce at most (SKIP + LIMIT where nothing sorts, filters or groups), or None.
    """

    columns: tuple[ColumnRef, ...]
    sql: str
    parameters: dict[str, Value] = field(default_factory=dict, compare=False)
    outputs: tuple[Output, ...] = ()
    count_only: bool = False
    row_limit: int | None = None
