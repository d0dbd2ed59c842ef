"""An answer that stays on a GPU: its columns as arrays there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from gdb.answer.summary import Summary


class DeviceColumn(Protocol):
    """An array in the memory of a GPU: i64[rows]. In fact a `cupy.ndarray`; this is what others may rely on."""

    @property
    def shape(self) -> tuple[int, ...]:
        """(rows,)"""
        ...

    @property
    def __cuda_array_interface__(self) -> Mapping[str, object]: ...

    def __dlpack__(self, *, stream: int | None = None) -> object: ...

    def __dlpack_device__(self) -> tuple[int, int]: ...


class DeviceColumns(Mapping[str, DeviceColumn]):
    """The answer of `Database.device_columns`: the columns in the order of RETURN, by name, on one GPU.

    Each is an int64 array of user's ids, one for each row, complete and exclusively owned:
    `cupy.asarray(found["a"])` and `torch.from_dlpack(found["a"])` take it without a copy. It lives as long as a
    reference to it, also after the database is closed. Rows are in no promised order, the same in all columns.
    """

    def __init__(
        self, columns: Mapping[str, DeviceColumn], warnings: Sequence[str], summary: Summary
    ) -> None:
        self._columns = columns
        self.warnings: tuple[str, ...] = tuple(warnings)
        self.summary = summary

    @property
    def columns(self) -> list[str]:
        """The names of the columns, as RETURN gives them."""
        return [*self._columns]

    @property
    def rows(self) -> int:
        """How many values each column has."""
        return self.summary.rows

    def __getitem__(self, name: str) -> DeviceColumn:
        return self._columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def __repr__(self) -> str:
        where = self.summary.device
        return f"<gdb.DeviceColumns: {self.rows} rows of {', '.join(self.columns)} on {where}>"
