"""Elements of a graph as documents hold them, and one pass over a document."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn, TypeAlias

from gdb.errors import ImportFailed
from gdb.records import dataclass, field

from ...columns.model import INT64, PropertyValue
from ..csv_graph import Naming
from ..report import Fault

Id: TypeAlias = int | str
Values: TypeAlias = dict[str, PropertyValue]
_DIGITS = re.compile(r"0|-?[1-9][0-9]{0,18}")
LONGEST = 1 << 24
"""Characters of one text, or of whatever else has to be held whole."""


@dataclass(slots=True)
class Node:
    """line : where it begins, from 1."""

    id: Id
    labels: tuple[str, ...]
    values: Values
    line: int

    @property
    def name(self) -> str:
        """The node as messages name it."""
        return f"node {self.id!r}"


@dataclass(slots=True)
class Edge:
    """type : None where the document names none. line : see `Node`."""

    source: Id
    target: Id
    type: str | None
    directed: bool
    values: Values
    line: int

    @property
    def name(self) -> str:
        """The edge as messages name it."""
        return f"edge {self.source!r} -> {self.target!r}"


Element: TypeAlias = Node | Edge


@dataclass(slots=True)
class Pass:
    """One reading of a document from its begin to its end.

    most : bytes that the file may unpack to. naming : what the caller says of tables. side : "nodes" or "edges" where
    the caller says which of both a table of records holds, else "".
    nodes : this pass is for nodes: of relationships only the ends matter. Otherwise nodes are not wanted.
    reject : decides about an element that is wrong, by its line, what it is, and the fault; it may raise.
    tick : called now and then with the part of the file that is read, 0 to 1.
    left_out : what was found and cannot be stored, and how often, for the report.
    """

    path: Path
    most: int
    naming: Naming
    side: str
    nodes: bool
    reject: Callable[[int, str, Fault], None]
    tick: Callable[[float], None]
    left_out: dict[str, int] = field(default_factory=dict)

    def leave_out(self, what: str) -> None:
        """Count something that is not stored."""
        self.left_out[what] = self.left_out.get(what, 0) + 1

    def fail(self, line: int, reason: str, cure: str, text: str = "") -> NoReturn:
        """End the import for what no line alone is wrong about."""
        raise ImportFailed(reason, cure, file=str(self.path), line=line, text=text)


def is_integer(text: str) -> bool:
    """Whether a text is an integer of 64 bits as Python writes it."""
    return _DIGITS.fullmatch(text) is not None and int(text) in INT64
