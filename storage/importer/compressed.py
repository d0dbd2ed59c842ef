"""Compressed input files, gzip and Zstandard: unpacking them as a stream, and what they may unpack to.

Python before 3.14 reads no Zstandard, so DuckDB's reader unpacks it, as lines. It takes a file that ends early for a
whole one, so the frames are walked first (RFC 8878, https://www.rfc-editor.org/rfc/rfc8878, section 3.1).
"""

from __future__ import annotations

import gzip
import io
import re
import zlib
from collections.abc import Callable, Generator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Literal, cast

import numpy as np

from gdb.errors import ImportFailed
from gdb.storage.engine import Engine, tell_progress
from gdb.storage.importer.rooted import open_bytes, reopened

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

Compression = Literal["none", "gzip", "zstd"]
RATIO = 1000
"""A file may always unpack to so many times its size: texts of graphs do so to 3 to 50 times theirs."""
MOST_UNPACKED = 1 << 30
"""Bytes that it may unpack to even so, where the caller does not say."""
_CHUNK = 1 << 22
_DEFLATE = 1032  # times its size that gzip can unpack to at most
_READ_AHEAD = 1 << 17  # bytes that Python's gzip may have read and not yet unpacked
_MAGIC: dict[bytes, Compression] = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
_BLOCK = 1 << 17  # bytes that a block of Zstandard unpacks to at most


def literal(path: Path) -> str:
    """A path that DuckDB takes for one file, not for a pattern of names."""
    return re.sub(r"[*?\[]", r"[\g<0>]", str(path))


def compression_of(start: bytes) -> Compression:
    """What a file's first four bytes or more say."""
    return next((kind for magic, kind in _MAGIC.items() if start.startswith(magic)), "none")


def unpacked(raw: BinaryIO, path: Path) -> BinaryIO:
    """The bytes of a file that is open at its begin; of Zstandard, every line ends with LF."""
    kind = compression_of(raw.read(4))
    raw.seek(0)
    if kind == "gzip":
        return cast(BinaryIO, io.BufferedReader(_Gzip(raw)))
    if kind == "zstd":
        raw.close()
        return cast(BinaryIO, io.BufferedReader(_Zstandard(path), _CHUNK))
    return raw


def bytes_read(stream: BinaryIO) -> int:
    """Bytes of the file itself that were read for what a stream of `unpacked` has given so far."""
    below: object = getattr(stream, "raw", stream)
    return below.packed() if isinstance(below, _Gzip | _Zstandard) else stream.tell()


def damaged(path: Path, error: Exception | str) -> ImportFailed:
    """The error for a compressed file that ends early or is not what it says."""
    return ImportFailed(
        f"cannot be decompressed ({error})", "Fetch the file again.", file=str(path)
    )


def allowance(path: Path, most: int) -> int:
    """Bytes that a file may unpack to, or ask for, where the caller allows `most` to any."""
    return max(most, RATIO * path.stat().st_size)


def refuse_above(path: Path, most: int, unpacked: int) -> None:
    """Refuse a file that unpacks to more than it may.

    Raises
    ------
    ImportFailed
    """
    allowed = allowance(path, most)
    if unpacked > allowed:
        raise ImportFailed(
            f"unpacks to more than {allowed:,} bytes, {RATIO:,} times its size or more",
            "If it is to be trusted, raise max_unpacked=.",
            file=str(path),
        )


def check(path: Path, most: int, tick: Callable[[], None]) -> None:
    """Refuse a compressed file that is cut, or that unpacks to more than `most` bytes and `RATIO` times its size.

    tick : called now and then; what it raises ends the check.
    Cost: unpacks no more of gzip than tells that the rest cannot be too large, mostly 3 %; reads the headers of the
    blocks of Zstandard, and unpacks it only where they allow too much.

    Raises
    ------
    ImportFailed
    """
    with open_bytes(path) as raw:
        packed, kind = path.stat().st_size, compression_of(raw.read(4))
        raw.seek(0)
        allowed = allowance(path, most)
        if kind == "none" or (kind == "zstd" and _unpacks_at_most(raw, path) <= allowed):
            return
        raw.seek(0)
        found = 0
        with unpacked(raw, path) as stream:
            try:
                while data := stream.read(_CHUNK):
                    tick()
                    found += len(data)
                    refuse_above(path, most, found)
                    left = packed - raw.tell() + _READ_AHEAD if kind == "gzip" else allowed
                    if found + left * _DEFLATE <= allowed:
                        return
            except (EOFError, OSError, zlib.error) as error:
                raise damaged(path, error) from None


def _unpacks_at_most(raw: BinaryIO, path: Path) -> int:
    """Bytes that the frames of a Zstandard file cannot unpack beyond. Raises ImportFailed where one ends early."""

    def number(size: int) -> int:
        data = raw.read(size)
        if len(data) < size:
            raise damaged(path, "it ends early")
        return int.from_bytes(data, "little")

    found, size = 0, path.stat().st_size
    while raw.tell() < size:
        magic = number(4)
        if magic >> 4 == 0x184D2A5:  # a frame to be skipped
            raw.seek(number(4), io.SEEK_CUR)
            continue
        if magic != 0xFD2FB528:
            raise damaged(path, "something follows its last frame")
        said = number(1)
        single = said >> 5 & 1
        number((1 - single) + (0, 1, 2, 4)[said & 3] + (single, 2, 4, 8)[said >> 6])
        last = 0
        while not last:
            block = number(3)
            last, kind, length = block & 1, block >> 1 & 3, block >> 3
            found += _BLOCK if kind == 2 else length
            raw.seek(1 if kind == 1 else length, io.SEEK_CUR)  # a run is one byte, repeated
        number(4 if said & 4 else 0)
    if raw.tell() > size:
        raise damaged(path, "it ends early")
    return found


class _Gzip(gzip.GzipFile):
    """The bytes of a gzip file, which is closed with it; Python's own leaves a file open that it did not open."""

    def __init__(self, raw: BinaryIO) -> None:
        self._packed = raw
        super().__init__(fileobj=raw)

    def close(self) -> None:
        try:
            super().close()
        finally:
            self._packed.close()

    def packed(self) -> int:
        """Bytes of the file that were read."""
        return self._packed.tell()


class _Zstandard(io.RawIOBase):
    """The lines of a Zstandard file as bytes."""

    def __init__(self, path: Path) -> None:
        self._size, self._part = path.stat().st_size, 0.0
        self._chunks, self._rest = _chunks(path, self._at), memoryview(b"")

    def _at(self, part: float) -> None:
        self._part = part

    def packed(self) -> int:
        """Bytes of the file that were read, by what DuckDB says."""
        return int(self._size * self._part)

    def readable(self) -> bool:
        return True

    def readinto(self, into: WriteableBuffer) -> int:
        target = memoryview(into).cast("B")
        while not self._rest:
            data = next(self._chunks, None)
            if data is None:
                return 0
            self._rest = memoryview(data)
        count = min(len(target), len(self._rest))
        target[:count], self._rest = self._rest[:count], self._rest[count:]
        return count

    def close(self) -> None:
        self._chunks.close()
        super().close()


# Latin-1 stands for any bytes, so that bad UTF-8 is found where all other formats find it
_LINES = (
    "SELECT coalesce(l, '') || chr(10) AS l FROM read_csv(?, columns={'l': 'VARCHAR'}, delim='', quote='', "
    "escape='', header=false, auto_detect=false, nullstr='', allow_quoted_nulls=false, compression='zstd', "
    "encoding='latin-1', parallel=false, hive_partitioning=false)"
)


def _chunks(path: Path, tick: Callable[[float], None]) -> Generator[bytes]:
    import duckdb
    import nanoarrow as na

    with (
        reopened(path) as place,
        closing(Engine()) as engine,
        closing(engine.cursor()) as connection,
    ):
        tell_progress(connection)
        try:
            lines = connection.sql(_LINES, params=[literal(place)])
            with na.c_array_stream(lines) as stream:
                for chunk in stream:
                    tick(max(connection.query_progress(), 0.0) / 100.0)
                    text = chunk.child(0)
                    ends = np.asarray(text.view().buffer(1))
                    first, last = ends[text.offset], ends[text.offset + text.length]
                    data = np.asarray(text.view().buffer(2)).view(np.uint8)[first:last]
                    yield data.tobytes().decode().encode("latin-1")
        except (duckdb.Error, RuntimeError) as error:
            raise _readable(path, str(error)) from None


def _readable(path: Path, message: str) -> ImportFailed:
    """DuckDB's message in our words."""
    unpack = "Unpack it first."
    if "invalid state" in message:
        return ImportFailed("its lines end in different ways", unpack, file=str(path))
    if "line size" in message:
        return ImportFailed("has a line of more than 2,000,000 bytes", unpack, file=str(path))
    short = message.split("\n")[0].strip().rstrip(".")
    return damaged(path, short.removeprefix("IO Error: "))
