"""The steps of a chain, in the order in which they run. All names in them are made up: r1, f2, v3, ...; never the
user's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from gdb.executor.tail import ColumnRef, Output, Value
    from gdb.rows.pattern import Component, Condition, Edge, Pattern


@dataclass(frozen=True, slots=True)
class Made:
    """A relation becomes a table. rows : a message for PROFILE, what the rows are."""

    name: str
    sql: str
    parameters: Mapping[str, Value] = field(default_factory=dict, compare=False)
    what: str = ""


@dataclass(frozen=True, slots=True)
class Found:
    """A component of a pattern is matched, and becomes a table.

    conditions : of one element each, that the executors apply. bound : what elements may be: by the pattern's name, a
        table and its column of vids or edge ids. columns : the wanted elements and their columns in the table.
    values : what is taken from the store for them.
    once : nothing but the distinct values of the one wanted vertex are asked for.
    """

    name: str
    pattern: Pattern
    component: Component
    conditions: tuple[Condition, ...]
    bound: Mapping[str, tuple[str, str]]
    columns: Mapping[str, str]
    values: tuple[ColumnRef, ...] = ()
    once: bool = False
    what: str = ""


@dataclass(frozen=True, slots=True)
class Looked:
    """Properties, ids, labels or types of the elements that stand in a column of a table become a table, one row for
    each element, with the element in the column `key`."""

    name: str
    table: str
    column: str
    key: str
    columns: tuple[ColumnRef, ...]


class Keep(Enum):
    """What is asked of the rows that a clause makes: each; how many there are of each kind; only which kinds."""

    EACH = "each"
    COUNTED = "counted"
    ONCE = "once"


@dataclass(frozen=True, slots=True)
class End:
    """What a vertex at an end of a relationship of variable length may be: what stands in a column of a table, or where
    there is none what satisfies its labels and conditions."""

    name: str
    place: tuple[str, str] | None = None
    conditions: tuple[Condition, ...] = ()


@dataclass(frozen=True, slots=True)
class Walked:
    """The ends of a relationship of variable length become a table.

    left, right : its ends. keep : whether every path is a row, or all with the same ends are one.
    columns : the wanted vertices and their columns in the table. values : what is taken from the store for them; vertex
        0 is the left one.
    used : columns of relationships that the paths may not use, in `used_table`, which has an end as well, and as they
        are called here.
    length, times : columns for how long a path is, and for how many there are; None where they are not asked for.
    """

    name: str
    pattern: Pattern
    edge: Edge
    left: End
    right: End
    keep: Keep
    columns: Mapping[str, str]
    values: tuple[ColumnRef, ...] = ()
    used: Mapping[str, str] = field(default_factory=dict)
    length: str | None = None
    times: str | None = None
    used_table: str | None = None
    what: str = ""


Step: TypeAlias = Made | Found | Walked | Looked


@dataclass(frozen=True, slots=True)
class Chain:
    """A compiled query. sql : the last SELECT, which gives o0, o1, ... warnings : of names that the store has not."""

    steps: tuple[Step, ...]
    sql: str
    parameters: Mapping[str, Value]
    outputs: tuple[Output, ...]
    warnings: tuple[str, ...] = ()
