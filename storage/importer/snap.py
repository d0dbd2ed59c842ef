"""SNAP edge lists: two integers a line, tabs or spaces between, `#` comments, ids with gaps, plain or .gz."""

from __future__ import annotations

import re
import warnings
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np

from gdb.storage.importer.detect import damaged, open_input
from gdb.storage.importer.report import FileReport, Rejects
from gdb.storage.model import I64

CHUNK = 1 << 24
_BOM = b"\xef\xbb\xbf"
_COMMENT = re.compile(rb"^[ \t]*#[^\n]*", re.MULTILINE)
_INTEGER = re.compile(rb"[+-]?[0-9]+")
_LIMITS = np.iinfo(np.int64)
CURE = 'Two integers a line are wanted; for other columns or text ids use format="csv".'


def read_snap(
    path: Path, report: FileReport, rejects: Rejects, tick: Callable[[int], None]
) -> tuple[I64, I64]:
    """Source and target ids of every line; `tick` is called with the bytes read so far after each chunk.

    Raises
    ------
    ImportFailed : a line is not two integers (unless skipped), or the file is cut.
    """
    parts: list[I64] = []
    rest, line, done = b"", 1, 0
    with open_input(path) as stream:
        while True:
            try:
                data = stream.read(CHUNK)
            except (EOFError, OSError, zlib.error) as error:
                raise damaged(path, error) from None
            if not done and not rest:
                data = data.removeprefix(_BOM)
            block = rest + data
            cut = len(block) if not data else block.rfind(b"\n") + 1
            block, rest = block[:cut], block[cut:]
            if block:
                parts.append(_parse(block, line, report, rejects))
                line += block.count(b"\n")
            done += len(data)
            tick(done)
            if not data:
                break
    pairs = np.concatenate(parts) if parts else np.zeros((0, 2), np.int64)
    report.rows += len(pairs)
    return np.ascontiguousarray(pairs[:, 0]), np.ascontiguousarray(pairs[:, 1])


def _parse(block: bytes, line: int, report: FileReport, rejects: Rejects) -> I64:
    """The pairs of a block of whole lines, i64[n, 2]."""
    text = _COMMENT.sub(b"", block) if b"#" in block else block
    values = _numbers(text) if _two_each(text) else None
    if values is not None:
        return values.reshape(-1, 2)
    return _parse_slowly(text, line, report, rejects)


def _numbers(text: bytes) -> I64 | None:
    """All whitespace-separated integers of a text, or None if there is anything else."""
    if not text.strip():
        return np.zeros(0, np.int64)  # NumPy reads one number from nothing but white space
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            values = np.fromstring(text.decode("ascii"), np.int64, sep=" ")
        except (DeprecationWarning, ValueError, UnicodeDecodeError):
            return None
    if len(values) and (values.max() == _LIMITS.max or values.min() == _LIMITS.min):
        return None  # NumPy puts the nearest integer where one does not fit
    return values


def _two_each(text: bytes) -> bool:
    """Whether every line that holds words holds two."""
    return set(map(len, map(bytes.split, text.split(b"\n")))) <= {0, 2}


def _parse_slowly(text: bytes, line: int, report: FileReport, rejects: Rejects) -> I64:
    """Line by line, to name the bad ones."""
    found: list[tuple[int, int]] = []
    for k, raw in enumerate(text.split(b"\n")):
        words = raw.split()
        if not words:
            continue
        reason = _fault(words)
        if reason:
            rejects.add(
                report, line + k, raw[:500].decode("utf-8", "replace").strip(), reason, CURE
            )
        else:
            found.append((int(words[0]), int(words[1])))
    return np.array(found, np.int64).reshape(-1, 2)


def _fault(words: list[bytes]) -> str:
    if len(words) != 2:
        return f"{len(words)} columns instead of 2"
    for word in words:
        shown = repr(word.decode("utf-8", "replace")[:40])
        if not _INTEGER.fullmatch(word):
            return f"{shown} is not an integer id"
        if len(word) > 40 or not _LIMITS.min <= int(word) <= _LIMITS.max:
            return f"{shown} does not fit a 64-bit id"
    return ""


def places_of(path: Path, rows: list[int], refused: set[int]) -> list[tuple[int, str]]:
    """Line and text of edges by their numbers (from 0, ascending); `refused` lines do not count.

    Cost: reads the file up to the last of them.
    """
    found: list[tuple[int, str]] = []
    wanted, row = iter(rows), 0
    following = next(wanted, None)
    with open_input(path) as stream:
        for number, raw in enumerate(stream, 1):
            if following is None:
                break
            words = raw.removeprefix(_BOM).split()
            if not words or words[0].startswith(b"#") or number in refused:
                continue
            if row == following:
                found.append((number, raw.decode("utf-8", "replace").strip()))
                following = next(wanted, None)
            row += 1
    return found
