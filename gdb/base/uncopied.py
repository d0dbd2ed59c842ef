"""Objects that `copy` and `pickle` refuse, because what they hold is open in this process alone."""

from __future__ import annotations

from typing import ClassVar, NoReturn

from gdb.errors import TypeProblem


class Uncopied:
    """Raises TypeProblem where it is copied or pickled, with the cure `_instead`."""

    __slots__ = ()
    _instead: ClassVar[str]

    def __reduce__(self) -> NoReturn:
        raise TypeProblem(f"a {type(self).__name__} cannot be copied or pickled.", self._instead)
