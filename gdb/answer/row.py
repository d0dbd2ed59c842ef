"""The rows of an answer: tuples whose values are found by the names of the columns as well."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, SupportsIndex, TypeAlias, overload

from gdb.errors import NoSuchColumn
from gdb.language.suggest import did_you_mean

RowMaker: TypeAlias = "Callable[[Iterable[Any]], Row]"

_item = tuple.__getitem__
_KEPT = frozenset({"keys"})  # what dict(row) calls: a column of this name is read as row["keys"]


class Row(tuple[Any, ...]):
    """One row of an answer: a tuple in the order of RETURN, whose values have names as well.

    `row["name"]` and `row.name` are the value of the column `name`; `dict(row)` has all of them. A column whose name
    is no Python name, as `count(*)`, or begins with two underscores, is read as `row["count(*)"]`. A row is equal to
    the tuple of its values.

    Examples
    --------
    >>> import gdb
    >>> row = gdb.connect().execute("RETURN 'Ada' AS name, 1815 AS born").single()
    >>> row
    ('Ada', 1815)
    >>> row.name, row["born"], row[1]
    ('Ada', 1815, 1815)
    >>> dict(row)
    {'name': 'Ada', 'born': 1815}
    """

    __slots__ = ()
    __places__: ClassVar[dict[str, int]] = {}

    if TYPE_CHECKING:  # columns of these names hide the methods of a tuple
        count: Any
        index: Any

    def keys(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self.__places__)

    @overload
    def __getitem__(self, key: SupportsIndex | str, /) -> Any: ...
    @overload
    def __getitem__(self, key: slice, /) -> tuple[Any, ...]: ...
    def __getitem__(self, key: SupportsIndex | str | slice, /) -> Any:
        if isinstance(key, str):
            try:
                return _item(self, self.__places__[key])
            except KeyError:
                raise NoSuchColumn(*_missing(self, key)) from None
        return _item(self, key)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise AttributeError(" ".join(_missing(self, name)).strip())

    def __reduce__(self) -> tuple[Callable[..., Row], tuple[tuple[str, ...], tuple[Any, ...]]]:
        return row_of, (self.keys(), tuple(self))


def _missing(row: Row, name: object) -> tuple[str, str]:
    """What is said of a column that is not there, and the cure."""
    names = row.keys()
    cure = did_you_mean(str(name), names) or f"The columns are {', '.join(names)}."
    return f"the row has no column {name!r}.", cure


@lru_cache(256)
def row_maker(names: tuple[str, ...]) -> RowMaker:
    """The class of the rows with these columns, which makes one of an iterable of its values."""
    places = {name: place for place, name in enumerate(names)}
    read = {
        name: property(_reader(place))
        for name, place in places.items()
        if name.isidentifier() and not name.startswith("__") and name not in _KEPT
    }
    return type(
        "Row", (Row,), {"__slots__": (), "__module__": __name__, "__places__": places} | read
    )


def _reader(place: int) -> Callable[[Row], Any]:
    return lambda row: _item(row, place)


def row_of(names: tuple[str, ...], values: Iterable[Any]) -> Row:
    """One row of its own."""
    return row_maker(names)(values)
