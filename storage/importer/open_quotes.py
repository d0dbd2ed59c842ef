"""A quoted text of a CSV file that does not end where it should: DuckDB's reader loses the lines behind its quote, how
many depends on its buffers, and it does not count them. So the quote is found here."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from gdb.base.machine.compile import compiled
from gdb.base.machine.memory import load_i64, load_u8, store_i64
from gdb.errors import ImportFailed
from gdb.records import dataclass

from ..columns.model import I64
from .detect import open_input
from .layout import Layout
from .number_lines import BOM, LONGEST

UNCLOSED = "a quoted text that begins here does not end"
_CHUNK = 1 << 22
_WIDEST = 1 << 16  # characters of a line that are kept
_NEWLINE, _RETURN, _BLANK = 10, 13, 32
_START, _PLAIN, _QUOTED, _ESCAPED, _CLOSED, _BEHIND = range(6)
"""Where a byte is: at the begin of a field, in one without quotes, in a quoted one, behind an escape there, behind a
quote there, and behind blanks after it."""
_STATE, _WINDOW, _READ, _OPEN, _LINES = range(5)
"""Places in the state of a scan: the bytes before, the bytes read, the place of the last opening quote, and the lines
that its text has ended."""


@dataclass(frozen=True, slots=True)
class OpenQuote:
    """line, text : of the line in which it opens. last : whether no other line follows, so that none is lost."""

    line: int
    text: str
    last: bool


class Quotes:
    """Follows the quoted texts of a file, some bytes at a time.

    Cost: machine code looks at each byte of the chunks in which there is a quote or a text is open.
    """

    def __init__(self, layout: Layout) -> None:
        self._quote, self._escape = layout.quote.encode(), layout.escape.encode()
        self._delimiter = layout.delimiter.encode()
        self._mask = (1 << 8 * len(self._delimiter)) - 1
        self._state: I64 = np.array([_START, 0, 0, -1, 0], np.int64)
        self._found = -1

    def follow(self, data: bytes) -> None:
        """Take in the bytes that come next in the file."""
        if self._found >= 0:
            return
        if self._state[_READ] == 0 and data.startswith(BOM):
            data = data.removeprefix(BOM)
            self._state[_READ] = len(BOM)
        if self._state[_STATE] in (_START, _PLAIN) and self._quote not in data:
            self._pass_over(data)
            return
        named, text = int.from_bytes(self._delimiter), np.frombuffer(data, np.uint8)
        quotes = self._quote[0], self._escape[0]
        self._found = _scan(
            text.ctypes.data, len(data), named, self._mask, *quotes, self._state.ctypes.data
        )

    def _pass_over(self, data: bytes) -> None:
        """The same for bytes that neither are in a quoted text nor begin one."""
        width = len(self._delimiter)
        before = int(self._state[_WINDOW]).to_bytes(width) + data
        content = before.rstrip(b" ")
        if before.endswith(self._delimiter):
            self._state[_STATE] = _START
        elif len(before) - len(content) < len(data):  # else nothing but blanks came
            ends = (self._delimiter, b"\n", b"\r")
            self._state[_STATE] = _START if content.endswith(ends) else _PLAIN
        self._state[_WINDOW] = int.from_bytes(before[-width:])
        self._state[_READ] += len(data)

    def place(self) -> int:
        """The place in the file of the first quote whose text does not end, or ends in another line at a quote behind
        which neither a delimiter nor a line end comes; -1 for none."""
        if self._found < 0 and self._state[_STATE] in (_QUOTED, _ESCAPED):
            return int(self._state[_OPEN])
        return self._found

    def first(self, path: Path) -> OpenQuote | None:
        """What is at that place in the file that was followed; None where there is none."""
        at, line, begin = self.place(), 1, 0
        if at < 0:
            return None
        with open_input(path) as stream:
            while raw := stream.readline(LONGEST):
                if begin + len(raw) > at:
                    text = raw[:_WIDEST].decode("utf-8-sig" if begin == 0 else "utf-8", "replace")
                    return OpenQuote(line, text.strip("\r\n"), not stream.read(1))
                line, begin = line + raw.endswith(b"\n"), begin + len(raw)
        return None  # the file was cut meanwhile


def open_quote(path: Path, layout: Layout, stopped: Callable[[], bool]) -> OpenQuote | None:
    """The first open quote of a file, see `Quotes`; None where there is none, or it is to be `stopped`.

    Cost: reads the file, and decompresses it if it is. Raises ImportFailed as `compressed.unpack`.
    """
    quotes = Quotes(layout)
    with open_input(path) as stream:
        while data := stream.read(_CHUNK):
            if stopped():
                return None
            quotes.follow(data)
    return quotes.first(path)


def look_through(path: Path, most: int, quotes: Quotes, stopped: Callable[[], bool]) -> bool:
    """Follow the quotes of a file; whether what is behind its last line end has more than `most` bytes. False once it
    is to be `stopped`. Cost and errors as `open_quote`."""
    behind = 0
    with open_input(path) as stream:
        while not stopped() and (data := stream.read(_CHUNK)):
            quotes.follow(data)
            at = max(data.rfind(b"\n"), data.rfind(b"\r"))
            behind = behind + len(data) if at < 0 else len(data) - at - 1
    return behind > most


def unclosed(path: Path, quote: OpenQuote) -> ImportFailed:
    """The error for a quote behind which lines are lost."""
    return ImportFailed(
        f"{UNCLOSED}: where the lines behind it begin is not known",
        "Close the quote in this line, or double a quote inside a quoted field.",
        file=str(path),
        line=quote.line,
        text=quote.text,
    )


def _scan_part(
    text: int, size: int, delimiter: int, mask: int, quote: int, escape: int, state: int
) -> int:
    """Follow the fields of text[:size]; the place in the file of a quote as `Quotes.place`, -1 for none.

    delimiter : its bytes as one number; `mask` is the largest of as many. state : i64[5], as the module says.
    """
    at, window, base = load_i64(state, _STATE), load_i64(state, _WINDOW), load_i64(state, _READ)
    opened, lines = load_i64(state, _OPEN), load_i64(state, _LINES)
    for k in range(size):
        c = load_u8(text, k)
        window = (window << 8 | c) & mask
        if at == _QUOTED:
            if c == quote:
                at = _CLOSED
            elif c == escape:
                at = _ESCAPED
            elif c == _NEWLINE:
                lines += 1
        elif at == _ESCAPED or (at == _CLOSED and c == quote and quote == escape):
            at = _QUOTED
        # machine code has no `in`
        elif window == delimiter or c == _NEWLINE or c == _RETURN:  # noqa: SIM109
            at = _START
        elif at == _START:
            if c == quote:
                at, opened, lines = _QUOTED, base + k, 0
            elif c != _BLANK:
                at = _PLAIN
        elif at >= _CLOSED:
            # of a delimiter of several bytes, the first ones
            if c == _BLANK or (mask > 255 and c > 127):
                at = _BEHIND
            elif lines > 0:
                return opened
            else:
                at = _PLAIN
    store_i64(state, _STATE, at)
    store_i64(state, _WINDOW, window)
    store_i64(state, _READ, base + size)
    store_i64(state, _OPEN, opened)
    store_i64(state, _LINES, lines)
    return -1


_scan = compiled(_scan_part, entry=True)
