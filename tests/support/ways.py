"""Every way to run a query, forced: what `gdb.run.columns_or_rows` and `gdb.run.pipeline` choose between."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Literal, get_args
from unittest.mock import patch

from gdb.run import columns_or_rows
from gdb.run.query_cache import QueryCache
from gdb.run.statements import Statements

Way = Literal["chosen", "selects", "operators", "columns", "rows"]
WAYS: tuple[Way, ...] = get_args(Way)


@contextmanager
def forced(way: Way) -> Iterator[None]:
    """Queries run as the library chooses; what is behind one pattern as a SELECT, however few its embeddings are; no
    query as one pattern and its tail; all operators over columns where they can; or over rows. In a forced way nothing
    is answered by a statement that was kept in another, and none is kept."""
    if way == "chosen":
        yield
        return
    instead = None if way == "operators" else "columns" if way == "selects" else way
    with ExitStack() as stack:
        for name in ("find", "keep", "keep_bound"):
            stack.enter_context(patch.object(Statements, name, lambda *_: None))
        stack.enter_context(
            patch.object(Statements, "bound", lambda self, text: self.cache.bound(text))
        )
        if way != "selects":
            stack.enter_context(patch.object(QueryCache, "one_pattern", lambda *_: None))
        stack.enter_context(patch.object(columns_or_rows, "WAY", instead))
        yield
