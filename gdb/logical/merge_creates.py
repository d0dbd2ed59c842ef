"""The CREATE clauses that a query begins with are one.

CREATE (a:A) CREATE (b:B) CREATE (a)-[:T]->(b)
CREATE (a:A), (b:B), (a)-[:T]->(b)

There is one row before them, so what they create comes in the same order. A script that writes a graph has tens of
thousands of them, and each operator looks at the names of all before it.
"""

from __future__ import annotations

from itertools import takewhile

from gdb.language.clauses import BulkCreate, Clause, Create, Query
from gdb.language.mentioned_names import asks
from gdb.language.pattern_syntax import values
from gdb.query_graph import MatchMode
from gdb.records import replace


def merge_creates(query: Query, mode: MatchMode) -> Query:
    """See the module. A pattern or a subquery in a property may see what the clauses before it have created: such a
    clause stays by itself."""
    parts = tuple(map(_merged, query.parts))
    return query if parts == query.parts else replace(query, parts=parts)


def _merged(clauses: tuple[Clause, ...]) -> tuple[Clause, ...]:
    begun = tuple(takewhile(lambda one: isinstance(one, BulkCreate), clauses))
    several = [*takewhile(_merges, clauses[len(begun) :])]
    if len(several) < 2:
        return clauses
    creates = [one for one in several if isinstance(one, Create)]
    patterns = tuple(pattern for one in creates for pattern in one.patterns)
    place = creates[0].place.to(creates[-1].place)
    return *begun, Create(patterns, place), *clauses[len(begun) + len(several) :]


def _merges(clause: Clause) -> bool:
    if not isinstance(clause, Create):
        return False
    parts = (part for path in clause.patterns for part in path.parts)
    written = (value for part in parts for value in (*values(part), *part.named))
    return not any(map(asks, written))
