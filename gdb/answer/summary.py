"""The summary of a query: its seconds by step, what ran it, what it changed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

from gdb.base import usage
from gdb.records import dataclass, field

Evaluator: TypeAlias = Literal["duckdb", "rows", ""]

_CHANGES = (
    ("nodes_created", "created", "node", "nodes"),
    ("relationships_created", "created", "relationship", "relationships"),
    ("nodes_deleted", "deleted", "node", "nodes"),
    ("relationships_deleted", "deleted", "relationship", "relationships"),
    ("properties_set", "set", "property", "properties"),
    ("properties_removed", "removed", "property", "properties"),
    ("labels_added", "added", "label", "labels"),
    ("labels_removed", "removed", "label", "labels"),
)


@dataclass(slots=True)
class Effects:
    """What a statement did, counted as the openCypher TCK counts it."""

    nodes_created: int = 0
    nodes_deleted: int = 0
    relationships_created: int = 0
    relationships_deleted: int = 0
    properties_set: int = 0
    properties_removed: int = 0
    labels_added: int = 0
    labels_removed: int = 0

    def copy(self) -> Effects:
        """The same counts, which go on by themselves."""
        return Effects(*(getattr(self, name) for name in self.__slots__))

    def __bool__(self) -> bool:
        return any(getattr(self, name) for name in self.__slots__)


@dataclass(frozen=True, slots=True)
class Summary:
    """How a query went; `str` of it is a line of text.

    seconds : step -> seconds, in order: parse, bind, plan, compile, run, tail (only steps that took place). compile:
        waiting for machine code, for the kernel of the CPU or of a GPU: LLVM or NVRTC at work, or the loading of what
        they have made before. That is once in a process; kernels of a GPU that are compiled while another one runs (see
        docs/performance.md) do not delay the query. The other steps are without it.
    device : what ran the pattern: "cpu", "gpu", "reference", or "" where nothing ran (EXPLAIN).
    rows : rows of the answer.
    embeddings : what the pattern matched (rows or count), before the relational part; None where nothing ran.
    effects : what a query that writes changed, see `gdb.physical.rows.object_graph.Effects`; None where it only read.
    kernel_seconds, moved_bytes : on a GPU, the time in its kernels by its own clock, and what was copied to it (nothing
        where the graph and the query's tables were there already).
    bytes_read : bytes of the graph's arrays that the query read from: of relationships the adjacency of each type and
        direction (index, offsets, neighbours) and their ids, of properties and of the user's ids the columns. Each
        array counts once and whole, as it lies in memory (mapped files, or put together from a delta and the base),
        whether or not it had been read before. Not counted: what only the planner looked at, looking up nodes by id,
        and, where rows hold nodes or relationships of a query over columns, what these are made of when they are read.
    evaluator : "duckdb" where the query ran over columns: as one pattern and a relational tail, or, where there is a
        `why`, operator by operator; "rows" where it ran so over rows, and `why`, or, without one, where what is
        behind the few embeddings of one pattern ran over rows; "" where nothing ran.
    """

    seconds: Mapping[str, float] = field(default_factory=dict)
    device: str = ""
    rows: int = 0
    embeddings: int | None = None
    kernel_seconds: float = 0.0
    moved_bytes: int = 0
    bytes_read: int = 0
    effects: Effects | None = None
    evaluator: Evaluator = ""
    why: str = ""

    @property
    def total_seconds(self) -> float:
        """Seconds of all steps together."""
        return sum(self.seconds.values())

    def __str__(self) -> str:
        """As in: 2 nodes created, 3 properties set; 12 ms on the CPU."""
        done = counted(self.rows, "row")
        if self.effects is not None:
            changed = [f"{count} {verb}" for verb, count in _counts(self.effects)]
            changes = ", ".join(changed) or "nothing changed"
            done = f"{changes}, {done}" if self.rows else changes
        where = "the CPU" if self.device == "cpu" else self.device
        return f"{done}; {duration_text(self.total_seconds)}" + (f" on {where}" if where else "")


def spent_lines(summary: Summary) -> list[str]:
    """What PROFILE says of the time and of what was read."""
    steps = ", ".join(f"{step} {seconds * 1e3:.1f}" for step, seconds in summary.seconds.items())
    lines = [f"milliseconds: {steps}", f"bytes read: {summary.bytes_read:,}"]
    budget = usage.room()
    return lines if budget is None else [*lines, f"memory: {budget.spent()}"]


def sentence(effects: Effects) -> str:
    """What a query did: Created 2 nodes and 1 relationship, set 3 properties."""
    by_verb: dict[str, list[str]] = {}
    for verb, count in _counts(effects):
        by_verb.setdefault(verb, []).append(count)
    changes = ", ".join(f"{verb} {' and '.join(counts)}" for verb, counts in by_verb.items())
    return f"{changes[:1].upper()}{changes[1:]}." if changes else "Nothing changed."


def _counts(effects: Effects) -> list[tuple[str, str]]:
    """What was done, and to how many of what."""
    numbers = [(getattr(effects, name), *words) for name, *words in _CHANGES]
    return [(verb, f"{n:,} {one if n == 1 else many}") for n, verb, one, many in numbers if n]


def duration_text(seconds: float) -> str:
    """As in: 12.3 ms."""
    return f"{seconds:.3g} s" if seconds >= 1 else f"{seconds * 1e3:.3g} ms"


def counted(number: int, what: str) -> str:
    """A number of things, as "1 row" or "1,234 rows"."""
    return f"{number:,} {what}{'s' * (number != 1)}"
