"""A line about a query that takes long, which vanishes when there is something else to see."""

from __future__ import annotations

import threading
import time
from typing import TextIO

from gdb.base import waiting

_AFTER, _EACH = 1.0, 0.5  # seconds until it is shown, and between two of them
_CLEAR = "\r\x1b[K"


class Ticker:
    """Prints seconds and rows while a block waits for them.

    err : the terminal; None shows nothing. begun : `time.perf_counter` of the query. rows : that were found so far.
    """

    def __init__(self, err: TextIO | None, begun: float) -> None:
        self._err, self._begun, self.rows = err, begun, 0
        self._thread: threading.Thread | None = None
        self._ended = threading.Event()

    def __enter__(self) -> Ticker:
        if self._err is not None:
            self._ended.clear()
            self._thread = threading.Thread(target=self._run, args=(self._err,), daemon=True)
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        if self._thread is not None:
            waiting.join_thread(self._thread)
            self._thread = None

    def _run(self, err: TextIO) -> None:
        shown = False
        wait = _AFTER
        while not self._ended.wait(wait):
            err.write(f"{_CLEAR}{self._text()}")
            err.flush()
            shown, wait = True, _EACH
        if shown:
            err.write(_CLEAR)
            err.flush()

    def _text(self) -> str:
        rows = f", {self.rows:,} rows so far" if self.rows else ""
        return f"{time.perf_counter() - self._begun:.0f} s{rows}; Ctrl-C stops the query"
