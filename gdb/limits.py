"""Sizes of a query that gdb refuses to go beyond, so that no text can exhaust the stack or the planner.

Plain numbers of this module: a program may set them (`gdb.limits.MAX_DEPTH = 50`), and they are read at each query.
"""

from __future__ import annotations

MAX_QUERY_CHARACTERS = 1_000_000
MAX_DEPTH = 100
"""Nesting of one expression: parentheses, function calls, operands of operators."""
MAX_EXPRESSION_SIZE = 10_000
"""Parts (names, values, operators) of one expression; the values of a list do not count."""
MAX_PATTERN_VERTICES = 64
MAX_PATTERN_EDGES = 256
MAX_RETURN_ITEMS = 1000
