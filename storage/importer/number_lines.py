"""Text files whose lines are numbers with blanks between, read block by block: edge lists and Matrix Market files."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from gdb.errors import ImportFailed
from gdb.records import dataclass

from .compressed import bytes_read
from .report import Fault, FileReport, Rejects

CHUNK = 1 << 23
LONGEST = 1 << 24  # bytes of a line; waiting for the end of a longer one would hold all of it
BOM = b"\xef\xbb\xbf"
INTEGER = re.compile(rb"[+-]?[0-9]+")
_LIMITS = np.iinfo(np.int64)
Numbers = npt.NDArray[np.int64 | np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Lines:
    """How the lines of a format are written.

    width : numbers of a line. comment : what begins a line that is none. fault : what is wrong with a line's words.
    reals : the last number of a line is a float, those before it are integers below 2**53.
    """

    width: int
    comment: bytes
    fault: Callable[[list[bytes]], Fault | None]
    reals: bool = False


def read_numbers(
    stream: BinaryIO,
    path: Path,
    line: int,
    how: Lines,
    report: FileReport,
    rejects: Rejects,
    tick: Callable[[int], None],
) -> Numbers:
    """The numbers of every line to the stream's end, i64[n, width], or f64[n, width] where they are reals; the rest as
    in `number_blocks`."""
    nothing: Numbers = np.zeros((0, how.width), np.float64 if how.reals else np.int64)
    blocks = number_blocks(stream, path, line, how, report, rejects, tick)
    found: Numbers = np.concatenate([nothing, *blocks])
    return found


def number_blocks(
    stream: BinaryIO,
    path: Path,
    line: int,
    how: Lines,
    report: FileReport,
    rejects: Rejects,
    tick: Callable[[int], None],
) -> Iterator[Numbers]:
    """The numbers of the lines that come, those of `CHUNK` bytes at a time.

    line : the number of the stream's current line. tick : called with the bytes of the file that are read,
    after each chunk.

    Raises
    ------
    ImportFailed : a line is none of these (unless skipped), or the file is cut.
    """
    rest, begun = b"", False
    while True:
        data = stream.read(CHUNK)
        if not begun and line == 1:
            data = data.removeprefix(BOM)
        block = rest + data
        cut = len(block) if not data else block.rfind(b"\n") + 1
        block, rest = block[:cut], block[cut:]
        if len(rest) > LONGEST:
            raise too_long(path, line + block.count(b"\n"))
        if block:
            found = _parse(block, line, how, report, rejects)
            line += block.count(b"\n")
            report.rows += len(found)
            yield found
        begun = True
        tick(bytes_read(stream))
        if not data:
            return


def too_long(path: Path, line: int) -> ImportFailed:
    """The error for a line that has no end."""
    return ImportFailed(
        f"a line has more than {LONGEST:,} bytes",
        "Check that it is a text file with line ends.",
        file=str(path),
        line=line,
    )


def _parse(block: bytes, line: int, how: Lines, report: FileReport, rejects: Rejects) -> Numbers:
    """The numbers of a block of whole lines."""
    text = block
    if how.comment in block:
        text = re.sub(rb"(?m)^[ \t]*" + how.comment + rb"[^\n]*", b"", block)
    values = _plain(text, how)
    if values is None and _all_fit(text, how):
        values = _numbers(text, how)
    if values is not None:
        return values.reshape(-1, how.width)
    return _parse_slowly(text, line, how, report, rejects)


def _plain(text: bytes, how: Lines) -> Numbers | None:
    """The integers of a text with one blank between any two, as most are written; None for any other."""
    blank = re.search(rb"[ \t]", text)
    if how.reals or blank is None:
        return None
    from .integers import parse_integers  # brings the compiler

    found = parse_integers(np.frombuffer(text, np.uint8), ord(blank[0]), how.width)
    return None if found is None else np.ascontiguousarray(found.T)


def _numbers(text: bytes, how: Lines) -> Numbers | None:
    """All whitespace-separated numbers of a text, or None if there is anything else."""
    kind = np.float64 if how.reals else np.int64
    if not text.strip():
        return np.zeros(0, kind)  # NumPy reads one number from nothing but white space
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            values: Numbers = np.fromstring(text.decode("ascii"), kind, sep=" ")
        except (DeprecationWarning, ValueError, UnicodeDecodeError):
            return None
    # NumPy puts the nearest integer, or an infinity, where a number does not fit
    if how.reals:
        extreme = np.isinf(values).sum() != text.lower().count(b"inf")
    else:
        extreme = values.max() == _LIMITS.max or values.min() == _LIMITS.min
    return None if extreme else values


# NumPy does not end a number at a blank alone: it takes "- 3" for one, and "3-4" and "1.5.5" for two
_ODD_SIGN = re.compile(rb"[+-](?![0-9])|[^ \t\r\n\v\f][+-]")
# and it would take 1.5 for an id where it reads floats
_REALS = re.compile(
    rb"(?m)^[ \t]*[+-]?[0-9]+[ \t]+[+-]?[0-9]+[ \t]+"
    rb"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|(?i:inf|nan))[ \t\r]*$"
)


def _all_fit(text: bytes, how: Lines) -> bool:
    """Whether every line that holds words holds as many as it must, and NumPy takes no two words for one number and no
    word for two; integers where only these are allowed."""
    lines = text.split(b"\n")
    if not set(map(len, map(bytes.split, lines))) <= {0, how.width}:
        return False
    if not how.reals:
        return _ODD_SIGN.search(text) is None
    return len(_REALS.findall(text)) == sum(map(bool, map(bytes.strip, lines)))


def _parse_slowly(
    text: bytes, line: int, how: Lines, report: FileReport, rejects: Rejects
) -> Numbers:
    """Line by line, to name the bad ones."""
    found: list[list[float]] = []
    for k, raw in enumerate(text.split(b"\n")):
        words = raw.split()
        if not words:
            continue
        fault = how.fault(words)
        if fault is not None:
            rejects.add(report, line + k, shown_line(raw), fault)
        else:
            found.append([float(word) if how.reals else int(word) for word in words])
    values: Numbers = np.array(found, np.float64 if how.reals else np.int64)
    return values.reshape(-1, how.width)


def integer_fault(word: bytes) -> str:
    """Why a word is no 64-bit integer; "" if it is."""
    text = repr(word.decode("utf-8", "replace")[:40])
    if not INTEGER.fullmatch(word):
        return f"{text} is not an integer"
    if len(word) > 40 or not _LIMITS.min <= int(word) <= _LIMITS.max:
        return f"{text} does not fit 64 bits"
    return ""


def is_beyond_floats(word: str) -> bool:
    """Whether a number is too large for a float, so that Python makes an infinity of it.

    Examples
    --------
    >>> is_beyond_floats("1e999"), is_beyond_floats("-inf"), is_beyond_floats("1e308")
    (True, False, False)
    """
    return math.isinf(float(word)) and "inf" not in word.lower()


def shown_line(raw: bytes) -> str:
    """A line as an error shows it."""
    return raw[:500].decode("utf-8", "replace").strip()


def places_of(
    lines: Iterator[tuple[int, bytes]], comment: bytes, rows: list[int], refused: set[int]
) -> list[tuple[int, str]]:
    """Line and text of edges by their numbers (from 0, ascending); `refused` lines do not count.

    Cost: reads the lines up to the last of them.
    """
    found: list[tuple[int, str]] = []
    wanted, row = iter(rows), 0
    following = next(wanted, None)
    for number, raw in lines:
        if following is None:
            break
        words = raw.removeprefix(BOM).split()
        if not words or words[0].startswith(comment) or number in refused:
            continue
        if row == following:
            found.append((number, raw.decode("utf-8", "replace").strip()))
            following = next(wanted, None)
        row += 1
    return found
