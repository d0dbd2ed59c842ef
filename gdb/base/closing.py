"""The base class of objects that the end of a `with` block closes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Self


class Closing(ABC):
    """Something that is open until `close`, or to the end of a `with` block."""

    @abstractmethod
    def close(self) -> None:
        """Give back what it holds; closing twice is fine."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
