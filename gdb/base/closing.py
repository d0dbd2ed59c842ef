"""The closing of objects, at the end of a `with` block and by their destructors."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Self, TypeVar

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
