"""The boundary between a program and the library: tracebacks end at the program's own line, and warnings name it."""

from __future__ import annotations

import functools
import os
import sys
import warnings
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from gdb.errors import GdbError, InternalError, QueryWarning

if TYPE_CHECKING:
    from gdb.run.late_interrupt import Outcome

P = ParamSpec("P")
T = TypeVar("T")

WHOLE = "GDB_TRACEBACK"
"""The variable of the environment that keeps tracebacks whole, where it is "whole"."""
_OURS = __name__.partition(".")[0]


def boundary(method: Callable[P, T]) -> Callable[P, T]:
    """A function that programs call: what it raises on purpose has a traceback of the caller's frames and one of ours.

    The frames inside the library do not help a user who has mistyped a query. An InternalError, which is a fault of
    ours, and what the caller's own functions raise keep theirs.
    """

    @functools.wraps(method)
    def called(*args: P.args, **kwargs: P.kwargs) -> T:
        __tracebackhide__ = True  # IPython and pytest leave this frame out
        try:
            return method(*args, **kwargs)
        except GdbError as error:
            if keeps_frames(error):
                raise
            raise error.with_traceback(None) from error.__cause__

    return called


def keeps_frames(error: GdbError) -> bool:
    """Whether the frames inside the library are shown: it is a fault of ours, or the environment says so."""
    return isinstance(error, InternalError) or os.environ.get(WHOLE) == "whole"


def warn(texts: Iterable[str], outcome: Outcome | None = None) -> None:
    """Give what may be mistakes in a query to Python's warnings, at the line of the program that ran it.

    Python shows each text once for a line, as its filters say. outcome : of the query; where the filters make an error
    of a warning, a note of it says that the query is committed all the same.
    """
    for text in texts:
        whole = text.encode("utf-8", "backslashreplace").decode()  # without halves of characters
        try:
            warnings.warn(whole, QueryWarning, stacklevel=_depth())
        except QueryWarning as error:
            if outcome is not None:
                outcome.note(error)
            raise


def _depth() -> int:
    """How many frames there are from `warn` to the first outside of the library."""
    frame, depth = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(f"{_OURS}."):
        frame, depth = frame.f_back, depth + 1
    return depth
