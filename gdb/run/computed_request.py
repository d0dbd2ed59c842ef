"""A request whose text has parts that are calculated once for a run (`gdb.language.computed_constants`), as one of the
text that has parameters in their places."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from gdb.errors import QueryError
from gdb.language import name_resolution
from gdb.language.computed_constants import with_computed
from gdb.records import dataclass

if TYPE_CHECKING:
    from gdb.language.clauses import Query
    from gdb.language.syntax import Expression

MOST_ITEMS = 1_000
"""Items of a list, or of a map, that is made a value of the language for each run, to calculate with it."""


@dataclass(frozen=True, slots=True)
class Computed:
    """What the text of a query has that is calculated once for a run.

    query : with parameters instead. parts : by their names. mentions : the parameters of the user in them.
    """

    query: Query
    parts: Mapping[str, Expression]
    mentions: frozenset[str]

    def parameters(self, given: Mapping[str, object] | None) -> dict[str, object] | None:
        """The parameters of a run, with those that are calculated; None where one cannot be: then the part is run as it
        is written, for it may not be needed, and else says what is wrong."""
        given = {} if given is None else given
        if not isinstance(given, Mapping):
            return None
        if any(name not in given or not _is_short(given[name]) for name in self.mentions):
            return None
        # here: few texts have such parts
        from gdb.base.values.problems import ValueProblem
        from gdb.base.values.temporal_clock import clock_at, real_instant
        from gdb.base.values.temporal_python import from_python, to_python
        from gdb.physical.evaluator import Evaluator

        try:
            evaluator = Evaluator(
                self.query.text, {name: from_python(given[name]) for name in self.mentions}
            )
            with clock_at(real_instant()):
                made = {name: evaluator.compiled(part)({}) for name, part in self.parts.items()}
            return {**given, **{name: to_python(value) for name, value in made.items()}}
        except (ValueProblem, QueryError):
            return None


def computed(query: Query) -> Computed | None:
    """What of a query is calculated once for a run; None where nothing is."""
    found = None if query.copying is not None else with_computed(query)
    if found is None:
        return None
    made, parts = found
    return Computed(made, parts, frozenset(_mentioned(parts.values())))


def _mentioned(parts: Iterable[Expression]) -> Iterable[str]:
    return (name for part in parts for name, _ in name_resolution.parameters(part))


def _is_short(value: object) -> bool:
    return not isinstance(value, (list, tuple, dict)) or (
        len(value) <= MOST_ITEMS
        and all(map(_is_short, value.values() if isinstance(value, dict) else value))
    )
