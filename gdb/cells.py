"""Python values as Arrow columns: what a result of rows is for the world outside."""

from __future__ import annotations

from collections.abc import Sequence

from gdb.errors import NotSupported
from gdb.executor.arrow import Array


def table_of(names: Sequence[str], columns: Sequence[Sequence[object]], count: int) -> Array:
    """The columns as one struct array."""
    raise NotSupported("this result cannot be had as Arrow yet.", "Use its rows.")
