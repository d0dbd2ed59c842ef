"""sqlglot's classes of SQL nodes, as `exp`. sqlglot is imported when the first is asked for: a query of which only the
number of embeddings is wanted has no SQL, and needs not wait for the largest of all imports."""

from __future__ import annotations

from typing import TYPE_CHECKING

__all__ = ["exp"]

if TYPE_CHECKING:
    from sqlglot import exp
else:

    class _Classes:
        def __getattr__(self, name: str) -> object:
            from sqlglot import exp

            found = getattr(exp, name)
            setattr(self, name, found)  # the next time this is not asked
            return found

    exp = _Classes()
