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

import _signal  # type: ignore[import-not-found]  # as in `gdb.run.interrupt`
import sys
from importlib import import_module
from types import FrameType, ModuleType

_SIGINT = int(_signal.SIGINT)


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


def imported(module: str) -> ModuleType:
    """A module, by its full name. A Ctrl-C while it is imported is answered when all of it is there: half of NumPy or
    of pandas cannot be imported again, and the process could not go on.

    Raises
    ------
    ImportError : there is none, or it cannot be imported. KeyboardInterrupt : Ctrl-C came meanwhile.
    """
    found, before = sys.modules.get(module), _signal.getsignal(_SIGINT)
    if found is not None or not callable(before):
        return import_module(module)  # or waits for the thread that is importing it
    came: list[tuple[int, FrameType | None]] = []
    try:
        _signal.signal(_SIGINT, lambda number, frame: came.append((number, frame)))
    except ValueError:  # no signal reaches this thread
        return import_module(module)
    try:
        found = import_module(module)
    finally:
        _signal.signal(_SIGINT, before)
    for number, frame in came[:1]:
        before(number, frame)
    return found
