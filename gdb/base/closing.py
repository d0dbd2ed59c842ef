"""Objects that are open: their closing, at the end of a `with` block and by destructors, and that none is copied."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar, NoReturn, Self, TypeVar

from gdb.errors import TypeProblem

T = TypeVar("T")


class Closing(ABC):
    """Something that is open until `close`, or to the end of a `with` block."""

    @abstractmethod
    def close(self) -> None:
        """Give back what it holds; closing twice is fine."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Uncopied:
    """What is open in this process alone: `copy` and `pickle` of it raise TypeProblem, with the cure `_instead`."""

    __slots__ = ()
    _instead: ClassVar[str]

    def __reduce__(self) -> NoReturn:
        raise TypeProblem(f"a {type(self).__name__} cannot be copied or pickled.", self._instead)


def destructor(close: Callable[[T], None]) -> Callable[[T], None]:
    """A `__del__` that calls `close`, and is silent about what fails because the process ends: an object that outlives
    the modules (a function of the user's main module that another module holds is enough) finds None under all of
    their names. The system closes what is open then."""

    def destroy(thing: T, ends: Callable[[], bool] = sys.is_finalizing) -> None:
        try:
            close(thing)
        except (AttributeError, TypeError):
            if not ends():
                raise

    return destroy
