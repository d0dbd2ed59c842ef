"""Rewrites: functions from a checked query to one with the same answer.

What they make, one pattern and its tail, is compiled as a whole where that is possible. Any of them may be left out,
and the answer stays the same.
"""

from __future__ import annotations

from collections.abc import Callable, Set

from gdb.language.clauses import Query
from gdb.logical.join_projections import join_projections
from gdb.logical.merge_creates import merge_creates
from gdb.logical.merge_matches import merge_matches
from gdb.query_graph import MatchMode

REWRITES: tuple[Callable[[Query, MatchMode], Query], ...] = (
    merge_creates,
    merge_matches,
    join_projections,
)
"""In the order in which they run."""


def improved(query: Query, mode: MatchMode, switched_off: Set[str] = frozenset()) -> Query:
    """The query after all rewrites but those named in `switched_off`.

    query : `language.checks.check` found nothing wrong with it. mode : of a MATCH that names none.
    """
    for function in REWRITES:
        if function.__name__ not in switched_off:
            query = function(query, mode)
    return query
