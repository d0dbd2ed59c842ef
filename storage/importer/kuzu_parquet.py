"""Parquet files of Kuzu with SERIAL columns, which no reader takes: mended copies of them.

Kuzu (0.11) writes the number 22 as the converted type of such a column, and Parquet's end at 21, so that readers refuse
the whole file. The column is an INT64 as any other; its copy says INT_64, which is 18 and takes as many bytes.

Source: apache/parquet-format, `parquet.thrift` (FileMetaData, SchemaElement, ConvertedType), and the compact protocol
of Thrift (apache/thrift, doc/specs/thrift-compact-protocol.md).
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from gdb.records import dataclass

from ..disk.import_root import open_bytes
from .detect import PARQUET

_MOST = 1 << 26  # bytes of a footer that is read
_LAST, _INT_64 = 21, 18  # of the converted types
_I32, _LIST, _STRUCT = 5, 9, 12  # types of the compact protocol
_SCHEMA, _CONVERTED = 2, 6  # fields of FileMetaData and of SchemaElement
_MAKER = b"KUZU"


class Mending:
    """The copies of an import; they go with it."""

    def __init__(self) -> None:
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def __enter__(self) -> Mending:
        return self

    def __exit__(self, *_: object) -> None:
        if self._folder is not None:
            self._folder.cleanup()

    def mended(self, path: Path) -> Path:
        """The file itself, or where it has what no reader takes, a copy without that, which has the same name."""
        faults = faults_of(path)
        if not faults:
            return path
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="gdb-load-")
        copy = Path(self._folder.name) / path.name
        with open_bytes(path) as source, copy.open("wb") as out:
            shutil.copyfileobj(source, out, 1 << 20)
            for at in faults:
                out.seek(at)
                out.write(bytes([2 * _INT_64]))
        return copy


def faults_of(path: Path) -> list[int]:
    """Where in a Parquet file of Kuzu the converted types lie that Parquet has not; none of any other file."""
    with open_bytes(path) as file:
        size = file.seek(0, os.SEEK_END)
        if size < 12:
            return []
        file.seek(size - 8)
        length, end = int.from_bytes(file.read(4), "little"), file.read(4)
        if end != PARQUET or not 0 < length <= min(_MOST, size - 8):
            return []
        file.seek(size - 8 - length)
        footer = file.read(length)
    if _MAKER not in footer[-64:]:
        return []
    try:
        return [size - 8 - length + at for at in _Footer(footer).unknown_types()]
    except (
        IndexError,
        ValueError,
        RecursionError,
    ):  # it is damaged, or no such footer: the reader reports it
        return []


@dataclass(slots=True)
class _Footer:
    """FileMetaData in the compact protocol, read as far as its schema. IndexError: it ends too early; ValueError: it is
    none."""

    data: bytes
    at: int = 0

    def unknown_types(self) -> list[int]:
        """Where converted types of one byte lie that Parquet has not."""
        field = 0
        while True:
            field, kind = self._field(field)
            if kind == 0 or field > _SCHEMA:
                return []
            if (field, kind) == (_SCHEMA, _LIST):
                head = self._byte()
                many = self._number() if head >> 4 == 15 else head >> 4
                if head & 15 != _STRUCT:
                    raise ValueError
                return [at for _ in range(many) for at in self._element()]
            self._skip(kind)

    def _element(self) -> list[int]:
        """Read a SchemaElement."""
        found: list[int] = []
        field = 0
        while True:
            field, kind = self._field(field)
            if kind == 0:
                return found
            begin = self.at
            self._skip(kind)
            short = (field, kind) == (_CONVERTED, _I32) and self.at == begin + 1
            if short and self.data[begin] > 2 * _LAST:  # zigzag: a type n is the byte 2n
                found.append(begin)

    def _field(self, before: int) -> tuple[int, int]:
        """The number and type of the next field; type 0 ends a struct."""
        head = self._byte()
        if head & 15 and not head >> 4:  # the number in full, zigzag
            number = self._number()
            return (number >> 1) ^ -(number & 1), head & 15
        return before + (head >> 4), head & 15

    def _skip(self, kind: int) -> None:
        match kind:
            case 1 | 2:  # true, false
                pass
            case 3:
                self.at += 1
            case 4 | 5 | 6:
                self._number()
            case 7:
                self.at += 8
            case 8:
                length = self._number()
                self.at += length
            case 12:
                field = 0
                while True:
                    field, inner = self._field(field)
                    if inner == 0:
                        return
                    self._skip(inner)
            case _:
                raise ValueError(kind)
        if self.at > len(self.data):
            raise IndexError

    def _byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def _number(self) -> int:
        """An unsigned number of seven bits a byte."""
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value
            if shift > 63:
                raise ValueError
