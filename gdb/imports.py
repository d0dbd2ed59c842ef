"""Modules that are imported when the first of their names is read.

The first answer of a process waits for every module on its way. A room that few queries enter is bound so where it is
used in several places, and to its real self for the type checker:

    if TYPE_CHECKING:
        from gdb.base.values import aggregates
    else:
        aggregates = deferred("gdb.base.values.aggregates")

Where one function alone uses it, the function imports it.
"""

from __future__ import annotations

from importlib import import_module


class _Deferred:
    """Has the names of a module. One that was read is an attribute of its own, read as fast as the module's."""

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> object:
        found = getattr(import_module(self._module), name)
        setattr(self, name, found)
        return found


def deferred(module: str) -> _Deferred:
    """A module, by its full name."""
    return _Deferred(module)
