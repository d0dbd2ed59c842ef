"""What a query asks, whichever way its clauses were written: passes over the checked tree.

`PASSES` are functions from a query to one with the same answer, for all ways to run it; any of them may be left out.
"""

from __future__ import annotations

from collections.abc import Callable, Set

from gdb.language.clauses import Query
from gdb.logical.join_projections import join_projections
from gdb.logical.merge_matches import merge_matches
from gdb.query_graph import MatchMode

__all__ = ["NAMES", "PASSES", "improved"]

PASSES: tuple[Callable[[Query, MatchMode], Query], ...] = (merge_matches, join_projections)
"""In the order in which they run."""
NAMES = tuple(function.__name__ for function in PASSES)


def improved(query: Query, mode: MatchMode, switched_off: Set[str] = frozenset()) -> Query:
    """The query after all passes but those named in `switched_off`.

    query : `language.checks.check` found nothing wrong with it. mode : of a MATCH that names none.
    """
    for function in PASSES:
        if function.__name__ not in switched_off:
            query = function(query, mode)
    return query
