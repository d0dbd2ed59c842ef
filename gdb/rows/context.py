"""What all clauses of one run share."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from gdb.errors import Cancelled, QueryTimeout

if TYPE_CHECKING:
    from gdb.evaluator import Evaluator
    from gdb.executor import run as executor
    from gdb.language.procedures import Procedure
    from gdb.query_graph import MatchMode
    from gdb.rows.graph import Graph
    from gdb.values.kinds import Value


@dataclass(slots=True)
class Context:
    """The run of one query, row by row.

    parameters : as values of the language. plain : as the caller gave them, for what is evaluated over columns.
    options : how patterns are run. embeddings : how many they had. handled : rows that went into clauses.
    import_root : the folder in which files that are read must lie, None for any.
    procedures : what CALL finds, by name.
    """

    text: str
    graph: Graph
    parameters: Mapping[str, Value]
    plain: Mapping[str, object]
    mode: MatchMode
    options: executor.Options
    evaluator: Evaluator = field(init=False)
    deadline: float | None = None
    embeddings: int = 0
    handled: int = 0
    cancel: threading.Event | None = None
    import_root: Path | None = None
    procedures: Mapping[str, Procedure] = field(default_factory=dict)
    _numbers: int = 0

    def next_number(self) -> int:
        """A number that no other hidden name of the run has."""
        self._numbers += 1
        return self._numbers

    def pulse(self) -> None:
        """To be called now and then.

        Raises
        ------
        Cancelled, QueryTimeout.
        """
        if self.cancel is not None and self.cancel.is_set():
            raise Cancelled("the query was cancelled.")
        if self.deadline is not None and time.monotonic() > self.deadline:
            raise QueryTimeout(
                "the query ran longer than its timeout.", "Give a larger timeout=, or ask for less."
            )
