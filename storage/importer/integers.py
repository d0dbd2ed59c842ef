"""Text of integers with a delimiter between them, as many in each line: parsed by machine code, on all cores."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from gdb.errors import Cancelled
from gdb.machine.compile import compiled
from gdb.machine.cores import cores
from gdb.machine.memory import load_u8, store_i64
from gdb.storage.model import I64, U8

_PART = 1 << 21  # bytes that a thread parses at a time
_NEWLINE, _RETURN, _MINUS, _ZERO = 10, 13, 45, 48
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


_parse = compiled(_parse_part, entry=True)


def parsed(
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
    counts = [int(np.count_nonzero(text[a:b] == _NEWLINE)) + (b == len(text)) for a, b in parts]
    starts = np.cumsum([0, *counts])
    out = np.empty((width, int(starts[-1])), np.int64)

    def run(k: int) -> int:
        if cancel is not None and cancel.is_set():
            raise Cancelled("The import was cancelled; nothing was stored.")
        (begin, end), at = parts[k], out.ctypes.data + 8 * int(starts[k])
        return _parse(text.ctypes.data, begin, end, delimiter, width, at, out.shape[1])

    with ThreadPoolExecutor(cores()) as pool:
        found = list(pool.map(run, range(len(parts))))
    if min(found, default=0) < 0:
        return None
    # where lines were blank there are fewer than there was room for
    pieces = [out[:, at : at + n] for at, n in zip(starts.tolist(), found, strict=False)]
    return np.concatenate([out[:, :0], *pieces], axis=1)


def _parts(text: U8) -> list[tuple[int, int]]:
    """Pieces of a text that end with a line."""
    found: list[tuple[int, int]] = []
    begin = 0
    while begin < len(text):
        end = min(begin + _PART, len(text))
        if end < len(text):
            last = text[begin:end].tobytes().rfind(b"\n")
            end = begin + last + 1 if last >= 0 else len(text)
        found.append((begin, end))
        begin = end
    return found
