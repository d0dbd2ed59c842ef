"""Text of integers with a delimiter between them, as many in each line: parsed by machine code, on all cores."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from gdb.base import waiting
from gdb.base.machine.compile import compiled, together
from gdb.base.machine.cores import cores
from gdb.base.machine.memory import load_i64, load_u8, store_i64
from gdb.errors import Cancelled

from ..columns.model import I64, U8
from ..disk.arrays import unset
from ..disk.import_root import open_bytes

_PART = 6 << 20  # bytes that a thread parses at a time, at most
_REST = 1 << 10  # bytes behind them in which their last line ends, most often
_NEWLINE, _RETURN, _MINUS, _ZERO = 10, 13, 45, 48
_NEWLINES = 0x0A0A0A0A0A0A0A0A
_SEVEN_BITS, _ONES = 0x7F7F7F7F7F7F7F7F, 0x0101010101010101
_MOST_DIGITS = 18  # of a number that surely has 64 bits


@compiled
def _line_end(text: int, at: int, end: int) -> int:
    """Where the next line begins if one ends here, -1 if none does; the end of the text ends a line."""
    if at >= end:
        return end
    c = load_u8(text, at)
    if c == _RETURN and at + 1 < end and load_u8(text, at + 1) == _NEWLINE:
        return at + 2
    if c == _NEWLINE:
        return at + 1
    return -1


def _parse_part(
    text: int, at: int, end: int, delimiter: int, width: int, out: int, stride: int
) -> int:
    """Parse the lines of text[at:end]: number k of line r to out[k * stride + r]. The number of lines, blank ones left
    out; -1 where something is no plain integer (no fraction, no plus, no leading zero, no blank), or missing."""
    rows = 0
    while at < end:
        after = _line_end(text, at, end)
        if after >= 0:
            if width == 1:
                return -1
            at = after
            continue
        for k in range(width):
            minus = at < end and load_u8(text, at) == _MINUS
            if minus:
                at += 1
            begin = at
            value = 0
            while at < end and load_u8(text, at) >= _ZERO and load_u8(text, at) < _ZERO + 10:
                value = value * 10 + load_u8(text, at) - _ZERO
                at += 1
            if at == begin or at - begin > _MOST_DIGITS:
                return -1
            if load_u8(text, begin) == _ZERO and (minus or at - begin > 1):
                return -1
            if minus:
                value = -value
            store_i64(out, k * stride + rows, value)
            if k + 1 < width:
                if at >= end or load_u8(text, at) != delimiter:
                    return -1
                at += 1
        at = _line_end(text, at, end)
        if at < 0:
            return -1
        rows += 1
    return rows


def _count_newlines(text: int, words: int) -> int:
    """The number of newlines in words of 8 bytes."""
    found = 0
    for k in range(words):
        other = load_i64(text, k) ^ _NEWLINES
        some = (other & _SEVEN_BITS) + _SEVEN_BITS  # the eighth bit: one of the seven is set
        found += ((~(some | other | _SEVEN_BITS) >> 7 & _ONES) * _ONES >> 56) & 255
    return found


_parse, _count = together(_parse_part, _count_newlines)


def parse_integers(
    text: U8, delimiter: int, width: int, cancel: threading.Event | None = None
) -> I64 | None:
    """The integers of a text, i64[width, lines], or None where there is anything else in it.

    Parameters
    ----------
    text : u8[n], lines that end with LF or CR LF; blank ones do not count. delimiter : a byte that is no digit, no
        minus and no end of a line. width : numbers of a line; of one, a blank line lacks it.
    cancel : looked at before each part.

    Raises
    ------
    Cancelled
    """
    parts = _parts(text)
    with waiting.Pool(cores()) as pool:
        found = list(
            pool.map(lambda p: _numbers(text[p[0] : p[1]], delimiter, width, cancel), parts)
        )
    whole = [some for some in found if some is not None]
    if len(whole) < len(parts):
        return None
    return np.concatenate([np.empty((width, 0), np.int64), *whole], axis=1)


def parsed_file(
    path: Path, start: int, delimiter: int, width: int, cancel: threading.Event | None = None
) -> Iterator[tuple[I64, int] | None]:
    """The integers of a file from a line's begin on, as `parse_integers` gives them, part by part, each with the byte
    behind it; None and no more where there is anything else. Some parts are read and parsed ahead of the caller.

    Raises
    ------
    Cancelled
    """
    with ExitStack() as stack:
        # not mapped: a program that truncates it meanwhile would kill the process
        stream = stack.enter_context(open_bytes(path, buffering=0))
        size = os.fstat(stream.fileno()).st_size
        pool = stack.enter_context(waiting.Pool(cores()))
        ahead = deque[tuple[int, Future[I64 | None]]]()
        stack.callback(lambda: [later.cancel() for _, later in ahead])
        spare = list[U8]()  # memory that was used before costs no page faults

        def run(begin: int, end: int) -> I64 | None:
            text, memory = _lines(stream.fileno(), begin, end, start, spare)
            found = _numbers(text, delimiter, width, cancel)
            spare.append(memory)
            return found

        at, rounds = start, -(-(size - start) // (cores() * _PART))
        part = -(-(size - start) // max(rounds * cores(), 1))  # as many for each thread
        while at < size or ahead:
            while at < size and len(ahead) < cores() + 1:
                end = min(at + part, size)
                ahead.append((end, pool.submit(run, at, end)))
                at = end
            end, later = ahead.popleft()
            found = waiting.result(later)
            yield None if found is None else (found, end)
            if found is None:
                return


def _lines(file: int, begin: int, end: int, start: int, spare: list[U8]) -> tuple[U8, U8]:
    """The lines of an open file that begin in a range of its bytes, and the memory that holds them, which may be
    one of `spare`; a line begins at `start`."""
    # a line begins at `begin` if the byte before ends one
    base, more = (max(begin - 1, start), _REST)
    while True:
        size = end - base + more
        memory = spare.pop() if spare else np.empty(0, np.uint8)
        if len(memory) < size:
            memory = unset(size, np.uint8)
        text = memory[: _read(file, base, memory[:size])]
        first = 0 if base == begin else _line_after(text, 0, end - base - 1)
        if base < begin and not first:
            return text[:0], memory
        last = _line_after(text, end - base - 1, len(text))
        if last or len(text) < size:  # the file ends a line, too
            return text[first : last or len(text)], memory
        more *= 16


def _line_after(text: U8, begin: int, end: int) -> int:
    """Where the line begins that the first newline from one place to another ends; 0 if there is none."""
    for at in range(begin, end, _REST):
        found = text[at : min(at + _REST, end)].tobytes().find(b"\n")
        if found >= 0:
            return at + found + 1
    return 0


def _read(file: int, at: int, out: U8) -> int:
    """Fill an array with the bytes of an open file from there on; how many there were."""
    done = 0
    while done < len(out) and (more := os.preadv(file, [out[done:].data], at + done)):
        done += more
    return done


def _numbers(text: U8, delimiter: int, width: int, cancel: threading.Event | None) -> I64 | None:
    """As `parse_integers`, in this thread."""
    if cancel is not None and cancel.is_set():
        raise Cancelled("The import was cancelled; nothing was stored.")
    most = 1 + _newlines(text)  # fewer where lines are blank
    out = unset(width * most, np.int64).reshape(width, most)
    rows = _parse(text.ctypes.data, 0, len(text), delimiter, width, out.ctypes.data, most)
    return None if rows < 0 else out[:, :rows]


def _newlines(text: U8) -> int:
    begin = min(-text.ctypes.data % 8, len(text))  # words lie at multiples of their length
    words = (len(text) - begin) // 8
    rest = text[:begin].tobytes() + text[begin + 8 * words :].tobytes()
    return rest.count(b"\n") + _count(text.ctypes.data + begin, words)


def _parts(text: U8) -> list[tuple[int, int]]:
    """Pieces of a text that end with a line, about as many for each thread."""
    found: list[tuple[int, int]] = []
    begin, rounds = 0, -(-len(text) // (cores() * _PART))
    size = -(-len(text) // max(rounds * cores(), 1))
    while begin < len(text):
        end = min(begin + size, len(text))
        if end < len(text):
            last = text[begin:end].tobytes().rfind(b"\n")
            end = begin + last + 1 if last >= 0 else len(text)
        found.append((begin, end))
        begin = end
    return found
