"""sqlglot's classes of SQL nodes, as `exp`: a query of which only the number of embeddings is wanted has no SQL, and
needs not wait for the largest of all imports."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gdb.imports import deferred

__all__ = ["exp"]

if TYPE_CHECKING:
    from sqlglot import exp
else:
    exp = deferred("sqlglot.expressions")
