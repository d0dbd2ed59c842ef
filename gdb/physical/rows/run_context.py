"""The context that all clauses of one run share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from gdb.physical.rows.kept import KeptPatterns
from gdb.physical.rows.pattern import pattern_of_match
from gdb.records import dataclass, field

if TYPE_CHECKING:
    from gdb.base.allowance import Allowance
    from gdb.base.values.kinds import Row, Value
    from gdb.executor import run as executor
    from gdb.executor.relational.relational_tail import Value as Plain
    from gdb.language.clauses import Match
    from gdb.language.procedure_signatures import Procedure
    from gdb.physical.evaluator import Evaluator
    from gdb.physical.meter import Meter
    from gdb.physical.rows.object_graph import Graph
    from gdb.physical.rows.pattern import Pattern
    from gdb.query_graph import MatchMode

Numbered: TypeAlias = "tuple[int, Row]"
"""The number of the row that one came from, and the row."""
Extensions: TypeAlias = (
    "Callable[[RowContext, Pattern, Sequence[Row], Iterable[str]], Iterator[list[Numbered]]]"
)


@dataclass(slots=True)
class RowContext:
    """The run of one query, row by row.

    parameters : as values of the language. plain : as the caller gave them, for what is evaluated over columns.
    graph : what it reads and changes; it is there while it runs.
    extensions : extends rows by a pattern, in batches (`gdb.physical.rows.row_matching`); it is there while the rows
        run, as the evaluator is.
    options : how patterns are run. embeddings : how many they had. handled : rows that went into clauses.
    import_root : the folder in which files that are read must lie, None for any.
    procedures : what CALL finds, by name. allowance : what the run may still take.
    shown : whether its plan is needed, by EXPLAIN or PROFILE. meter : what measures it, under PROFILE.
    kept : what is known of its operators from earlier runs. estimates : expected rows of its operators, by `id`, where
    it writes under PROFILE: the graph is another one afterwards.
    """

    text: str
    parameters: Mapping[str, Value]
    plain: Mapping[str, Plain]
    mode: MatchMode
    options: executor.Options
    allowance: Allowance
    graph: Graph = field(init=False)
    evaluator: Evaluator = field(init=False)
    extensions: Extensions = field(init=False)
    embeddings: int = 0
    handled: int = 0
    import_root: Path | None = None
    procedures: Mapping[str, Procedure] = field(default_factory=dict)
    shown: bool = False
    meter: Meter | None = None
    kept: KeptPatterns = field(default_factory=KeptPatterns)
    estimates: Mapping[int, float | None] | None = None
    _numbers: int = 0
    _patterns: dict[int, tuple[Match, Pattern]] = field(default_factory=dict)

    def next_number(self) -> int:
        """A number that no other hidden name of the run has."""
        self._numbers += 1
        return self._numbers

    def pattern(self, clause: Match) -> Pattern:
        """The pattern of a MATCH, made once."""
        if id(clause) not in self._patterns:
            make = partial(pattern_of_match, self.text, clause, self.mode)
            self._patterns[id(clause)] = clause, self.kept.pattern(clause, make)
        return self._patterns[id(clause)][1]

    def pulse(self) -> None:
        """To be called now and then.

        Raises
        ------
        Cancelled, QueryTimeout.
        """
        self.allowance.pulse()
