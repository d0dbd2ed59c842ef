"""Rows of a MATCH that are alike in all needed names may be one row, where it does not matter how many they are.

Match (a)-[*]->(b)   Distinct b
Match (a)-[*]->(b)   Distinct b      where of all paths between two nodes one is enough

Then a relationship of variable length is searched breadth first for the nodes at which its paths end, in every way of
running: over columns, over rows, in what writes, and in EXISTS { }.
"""

from __future__ import annotations

from gdb.language.clauses import Match
from gdb.logical.needed_properties import demands
from gdb.logical.operators import Names, Operators, unless_same
from gdb.records import replace


def distinct_matches(operators: Operators, names: Names, once: bool = False) -> Operators:
    """See the module. once : whether of equal rows of the answer one is enough."""
    found = [
        replace(operator, needed=demand.live)
        if isinstance(operator, Match) and demand.once
        else operator
        for operator, demand in zip(operators, demands(operators, names, once=once), strict=True)
    ]
    return unless_same(operators, found)
