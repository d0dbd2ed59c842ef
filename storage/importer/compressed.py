"""Compressed input files, gzip and Zstandard: unpacking them as a stream, and what they may unpack to.

Python before 3.14 reads no Zstandard, so DuckDB's reader unpacks it, as lines. It takes a file that ends early for a
whole one, so the frames are walked first (RFC 8878, https://www.rfc-editor.org/rfc/rfc8878, section 3.1).
"""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Callable, Generator
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Literal, TypeAlias, cast

import numpy as np

from gdb.base.sql import (
    aliased,
    binary,
    call,
    exp,
    parameter_of,
    pasted,
    read_by,
    select,
    value_of,
    written,
)
from gdb.errors import ImportFailed

from ..disk.duckdb_engine import Engine, run, tell_progress
from ..disk.import_root import open_bytes, reopened
from ..disk.sandbox import literal

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

Compression = Literal["none", "gzip", "zstd"]
_Inner: TypeAlias = "_Gzip | _Zstandard | io.BufferedReader"
RATIO = 200
"""A file may unpack to so many times what was read of it: texts of graphs do so to 3 to 17 times theirs."""
MOST_UNPACKED = 16 << 20
"""Bytes that it may unpack to even so, where the caller does not say."""
_CHUNK = 1 << 22
_DEFLATE = 1032  # times its size that gzip can unpack to at most
_BUFFER = {"none": 1 << 16, "gzip": 1 << 16, "zstd": _CHUNK}
_READ_AHEAD = 1 << 17  # bytes that Python's gzip may have read and not yet unpacked
_MAGIC: dict[bytes, Compression] = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
_BLOCK = 1 << 17  # bytes that a block of Zstandard unpacks to at most
_WINDOW = 1 << 27  # bytes that must be kept to unpack one: what the program zstd takes by itself


def compression_of(start: bytes) -> Compression:
    """What a file's first four bytes or more say."""
    return next((kind for magic, kind in _MAGIC.items() if start.startswith(magic)), "none")


def unpack(raw: BinaryIO, path: Path, most: int | None = None) -> BinaryIO:
    """The bytes of a file that is open at its begin; of Zstandard, every line ends with LF. Reading raises ImportFailed
    where the file cannot be read, ends early or is not what it says.

    most : reading also raises ImportFailed once more came out than so many bytes and `RATIO` times what was read of the
    file; None where that was compared before.
    """
    kind = compression_of(raw.read(4))
    raw.seek(0)
    packed: _Inner = cast(io.BufferedReader, raw)
    if kind == "zstd":
        raw.close()
        packed = _Zstandard(path)
    elif kind == "gzip":
        packed = _Gzip(raw)
    return cast(BinaryIO, io.BufferedReader(_Unpacked(packed, path, most), _BUFFER[kind]))


def bytes_read(stream: BinaryIO) -> int:
    """Bytes of the file itself that were read for what a stream of `unpack` has given so far."""
    below: object = getattr(stream, "raw", None)
    assert isinstance(below, _Unpacked)
    return below.packed()


def damaged(path: Path, error: Exception | str) -> ImportFailed:
    """The error for a compressed file that ends early or is not what it says."""
    return ImportFailed(
        f"cannot be decompressed ({error})", "Fetch the file again.", file=str(path)
    )


def allowance(size: int, most: int) -> int:
    """Bytes that a file of so many may unpack to, or make the reader allocate; the caller allows `most` to any file."""
    return max(most, RATIO * size)


def refusal(path: Path, allowed: int) -> ImportFailed:
    """The error for a file that unpacks to more than it may."""
    times = allowed // max(path.stat().st_size, 1)
    return ImportFailed(
        f"unpacks to more than {allowed:,} bytes, {times:,} times its size",
        "If it is to be trusted, raise max_unpacked=.",
        file=str(path),
    )


def check(path: Path, most: int, tick: Callable[[], None], *, whole: bool = False) -> None:
    """Refuse a compressed file that is cut, or that unpacks to more than `most` bytes and `RATIO` times its size.

    tick : called now and then; what it raises ends the check.
    whole : compare all of a gzip file, else only its first bytes: for a reader that is not that of `unpack`, which
    compares what it gives.
    Cost: unpacks gzip until the rest cannot be too large, 80 % where `whole`; reads the headers of the blocks of
    Zstandard, and unpacks it only where they allow too much, up to `RATIO` times its size.

    Raises
    ------
    ImportFailed
    """
    size = path.stat().st_size
    allowed = allowance(size, most)
    with open_bytes(path) as raw:
        kind = compression_of(raw.read(4))
        raw.seek(0)
        if kind == "none":
            return
        if kind == "zstd":
            if _unpacks_at_most(raw, path, allowed) > allowed and _is_above(path, allowed, tick):
                raise refusal(path, allowed)
            return
        found = 0
        with unpack(raw, path, most) as stream:
            while data := stream.read(_CHUNK):
                tick()
                found += len(data)
                if found + (size - raw.tell() + _READ_AHEAD) * _DEFLATE <= allowed:
                    return
                if not whole and found > MOST_UNPACKED + _CHUNK:
                    return


def _unpacks_at_most(raw: BinaryIO, path: Path, allowed: int) -> int:
    """Bytes that the frames of a Zstandard file cannot unpack beyond.

    Raises
    ------
    ImportFailed : one ends early, wants too much memory, or they say themselves that they unpack to more than allowed.
    """

    def number(size: int) -> int:
        data = raw.read(size)
        if len(data) < size:
            raise damaged(path, "it ends early")
        return int.from_bytes(data, "little")

    found, total, size = 0, 0, path.stat().st_size
    while raw.tell() < size:
        magic = number(4)
        if magic >> 4 == 0x184D2A5:  # a frame to be skipped
            raw.seek(number(4), io.SEEK_CUR)
            continue
        if magic != 0xFD2FB528:
            raise damaged(path, "something follows its last frame")
        said = number(1)
        single = said >> 5 & 1
        if not single and _window(number(1)) > _WINDOW:
            raise ImportFailed(
                f"needs more than {_WINDOW:,} bytes of memory to be unpacked",
                "Pack it again, without a longer window (zstd --long).",
                file=str(path),
            )
        number((0, 1, 2, 4)[said & 3])
        total += number((single, 2, 4, 8)[said >> 6])  # of two bytes 256 less than there are
        if total > allowed:
            raise refusal(path, allowed)
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


def _window(said: int) -> int:
    """The size of a window as a frame's header says it."""
    base = 1 << 10 + (said >> 3)
    return base + base // 8 * (said & 7)


class _Unpacked(io.RawIOBase):
    """What a file unpacks to, as long as it may; one that is not compressed as it is."""

    def __init__(self, inner: _Inner, path: Path, most: int | None) -> None:
        self._inner, self._path, self._most = inner, path, most
        self._size, self._found = path.stat().st_size, 0

    def readable(self) -> bool:
        return True

    def readinto(self, into: WriteableBuffer) -> int:
        try:
            count = self._inner.readinto(into)
        except (EOFError, OSError, zlib.error) as error:
            raise damaged(self._path, error) from None
        self._found += count
        if self._most is not None:
            # how much of a Zstandard file was read is known only about
            read = self._size if isinstance(self._inner, _Zstandard) else self.packed()
            allowed = allowance(min(read, self._size), self._most)
            if self._found > allowed:
                raise refusal(self._path, allowed)
        return count

    def packed(self) -> int:
        """Bytes of the file that were read."""
        inner = self._inner
        return inner.tell() if isinstance(inner, io.BufferedReader) else inner.packed()

    def close(self) -> None:
        if not self.closed:
            self._inner.close()
        super().close()


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


_FIRST = 2048  # lines that come by themselves, as most readers look at the first few only


def _read() -> exp.Expr:
    """The lines l of a file, which is a parameter."""
    return read_by(
        *("read_csv", parameter_of()),
        columns={"l": "VARCHAR"},
        delim="",
        quote="",
        escape="",
        header=False,
        auto_detect=False,
        nullstr="",
        allow_quoted_nulls=False,
        compression="zstd",
        # Latin-1 decodes any bytes, so that bad UTF-8 is found where all other formats find it
        encoding="latin-1",
        parallel=False,
        hive_partitioning=False,
    )


@cache
def _parts() -> tuple[str, str]:
    """SELECTs of the first lines, and of all others."""
    line = aliased(pasted(call("coalesce", "l", value_of("")), call("chr", value_of(10))), "l")
    first, others = select([line], _read(), limit=_FIRST), select([line], _read(), offset=_FIRST)
    return written(first), written(others)


@cache
def _above() -> str:
    """Whether the lines are longer than a parameter says: a row where they are."""
    length = binary(exp.Add, call("coalesce", call("strlen", "l"), value_of(0)), value_of(1))
    # a window that streams: it stops where it finds a row
    spec = exp.WindowSpec(kind="ROWS", start="UNBOUNDED", start_side="PRECEDING")
    total = aliased(exp.Window(this=call("sum", length), spec=spec, over="OVER"), "s")
    beyond = binary(exp.GT, "s", parameter_of())
    return written(select([value_of(1)], select([total], _read()), where=[beyond], limit=1))


_MEMORY = 1 << 30  # bytes; DuckDB takes a quarter of them to compare


def _chunks(path: Path, tick: Callable[[float], None]) -> Generator[bytes]:
    import duckdb
    import nanoarrow as na

    with (
        reopened(path) as place,
        closing(Engine(files=[path])) as engine,
        closing(engine.cursor()) as connection,
    ):
        tell_progress(connection)
        try:
            for part in _parts():
                lines = connection.sql(part, params=[literal(place)])
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


def _is_above(path: Path, allowed: int, tick: Callable[[], None]) -> bool:
    """Whether a Zstandard file unpacks to more than so many bytes; it is unpacked to there."""
    import duckdb

    with (
        reopened(path) as place,
        closing(Engine(_MEMORY, files=[path])) as engine,
        closing(engine.cursor()) as connection,
    ):
        tell_progress(connection)
        try:
            parameters = [literal(place), allowed]
            found = run(
                connection,
                lambda: connection.execute(_above(), parameters).fetchone(),
                lambda _: tick(),
            )
        except duckdb.OutOfMemoryException:  # 2,048 of its lines are more than that
            return True
        except duckdb.Error as error:
            raise _readable(path, str(error)) from None
    return found is not None


def _readable(path: Path, message: str) -> ImportFailed:
    """DuckDB's message in our words."""
    unpack = "Unpack it first."
    if "invalid state" in message:
        return ImportFailed("its lines end in different ways", unpack, file=str(path))
    if "line size" in message:
        return ImportFailed("has a line of more than 2,000,000 bytes", unpack, file=str(path))
    short = message.split("\n")[0].strip().rstrip(".")
    return damaged(path, short.removeprefix("IO Error: "))
