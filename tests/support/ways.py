"""Every way to run a query, forced: what `gdb.run.columns_or_rows` and `gdb.run.pipeline` choose between."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal, get_args
from unittest.mock import patch

from gdb.run import columns_or_rows
from gdb.run.query_cache import QueryCache

Way = Literal["chosen", "selects", "operators", "columns", "rows"]
WAYS: tuple[Way, ...] = get_args(Way)


@contextmanager
def forced(way: Way) -> Iterator[None]:
    """Queries run as the library chooses; what is behind one pattern as a SELECT, however few its embeddings are; no
    query as one pattern and its tail; all operators over columns where they can; or over rows."""
    if way == "chosen":
        yield
        return
    if way == "selects":
        with patch.object(columns_or_rows, "WAY", "columns"):
            yield
        return
    no_pattern = patch.object(QueryCache, "one_pattern", lambda *_: None)
    with no_pattern, patch.object(columns_or_rows, "WAY", None if way == "operators" else way):
        yield
