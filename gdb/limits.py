"""Sizes of a query and of its result that gdb refuses to go beyond, so that no text can exhaust the stack or the
planner, and none a program that asks what others wrote.

Plain numbers of this module: a program may set them (`gdb.limits.MAX_DEPTH = 50`), and they are read at each query.
"""

from __future__ import annotations

from gdb.errors import LimitExceeded

MAX_QUERY_CHARACTERS = 1_000_000
MAX_DEPTH = 100
"""Nesting of one expression: parentheses, function calls, operands of operators."""
MAX_EXPRESSION_SIZE = 10_000
"""Parts (names, values, operators) of one expression; the values of a list do not count."""
MAX_PATTERN_VERTICES = 64
MAX_PATTERN_EDGES = 256
MAX_RETURN_ITEMS = 1000
MAX_ROWS: int | None = None
"""Rows of one result, None for any number. Of rows that are embeddings no more are found than it takes to refuse them;
what a query that writes did is undone."""
MAX_SECONDS: float | None = None
"""Seconds that a query may take which is given no `timeout=` of its own, None for any time."""


def check_rows(count: int) -> None:
    """Refuse a result of so many rows.

    Raises
    ------
    LimitExceeded : there are more than MAX_ROWS.
    """
    if MAX_ROWS is not None and count > MAX_ROWS:
        raise LimitExceeded(
            f"the result has more than {MAX_ROWS:,} rows.",
            "Use LIMIT, aggregate in the query, or raise gdb.limits.MAX_ROWS.",
        )
