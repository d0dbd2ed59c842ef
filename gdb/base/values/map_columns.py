"""Lists of maps that are a table: what a program gives a query as the rows of a batch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence


class MapColumns(list["Mapping[str, object]"]):
    """A list of maps that all have the same keys and, as values, numbers, booleans, strings and null only. Nothing
    changes it.

    columns : the values of all maps, by key.
    """

    __slots__ = ("columns",)

    def __init__(
        self, maps: Iterable[Mapping[str, object]], columns: Mapping[str, Sequence[object]]
    ) -> None:
        super().__init__(maps)
        self.columns = columns
