"""Tests of string columns by NumPy, over their UTF-8 in place: eight bytes of each row at a time.

The order of code points is the order of UTF-8, and a text is found in another exactly where its bytes are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

from gdb.errors import InternalError
from gdb.storage.columns.model import I64, U8, Column

if TYPE_CHECKING:
    from .masks import Bools, TextOperator

U64: TypeAlias = npt.NDArray[np.uint64]
I8: TypeAlias = npt.NDArray[np.int8]

_WORD = 8
_WINDOW = 1 << 18  # bytes that are searched at a time


def compare_texts(operator: Callable[..., Bools], column: Column, text: bytes) -> Bools:
    """Each text of a column, nulls as "", with a constant; operator : np.equal, np.less, ..."""
    data, starts, lengths = _of(column)
    if operator in (np.equal, np.not_equal):
        same = _here(data, starts, lengths == len(text), text)
        return same if operator is np.equal else ~same
    return operator(_order(data, starts, lengths, text), np.int8(0))


def test_texts(operator: TextOperator, column: Column, text: bytes) -> Bools:
    """Each text of a column, nulls as "", STARTS WITH a constant, and so on."""
    data, starts, lengths = _of(column)
    room = lengths >= len(text)
    match operator:
        case "STARTS WITH":
            return _here(data, starts, room, text)
        case "ENDS WITH":
            return _here(data, starts + lengths - len(text), room, text)
        case "CONTAINS":
            return room if not text else _contains(data, starts, lengths, text)


def _of(column: Column) -> tuple[U8, I64, I64]:
    """The bytes of all texts, and where each begins and how long it is."""
    if column.offsets is None:
        raise InternalError(f"a column of {column.kind} holds no texts.")
    return column.values.view(np.uint8), column.offsets[:-1], np.diff(column.offsets)


def _words(data: U8, at: I64) -> U64:
    """The eight bytes from each place on, the first the most significant; anything behind the end of the data."""
    size = data.shape[0]
    if size < _WORD:
        data, size = np.concatenate([data, np.zeros(_WORD, np.uint8)]), size + _WORD
    every = np.ndarray((size - _WORD + 1,), np.dtype(">u8"), data.data, 0, (1,))
    last = size - _WORD
    inside = np.clip(at, 0, last)
    found: U64 = every[inside].astype(np.uint64)
    if len(at) and int(at.max()) > last:  # read from the last eight, and moved up
        found <<= ((at - inside) * 8).astype(np.uint64)
    return found


def _key(text: bytes, at: int) -> int:
    return int.from_bytes(text[at : at + _WORD].ljust(_WORD, b"\0"), "big")


def _shown(count: int) -> np.uint64:
    """A mask of the first bytes of a word."""
    return np.uint64(((1 << 8 * count) - 1) << 8 * (_WORD - count))


def _here(data: U8, starts: I64, may: Bools, text: bytes) -> Bools:
    """The rows of `may` whose bytes from `starts` on are the text; all rows have enough bytes."""
    rows = np.flatnonzero(may)
    for at in range(0, len(text), _WORD):
        shown = _shown(min(_WORD, len(text) - at))
        same = _words(data, starts[rows] + at) & shown == np.uint64(_key(text, at))
        rows = rows[same]
    found = np.zeros(len(may), np.bool_)
    found[rows] = True
    return found


def _order(data: U8, starts: I64, lengths: I64, text: bytes) -> I8:
    """Below 0 where a row's text comes before the constant, 0 where it is the same, above 0 where it comes after."""
    order = np.sign(lengths - len(text)).astype(np.int8)  # if one is the beginning of the other
    rows = np.arange(len(starts))
    for at in range(0, len(text), _WORD):
        left = np.clip(lengths[rows] - at, 0, _WORD)
        hidden = ((_WORD - left) * 8).astype(np.uint64)
        words = _words(data, starts[rows] + at) >> hidden << hidden
        # what is behind the constant's last byte does not count: there its length decides
        words &= _shown(min(_WORD, len(text) - at))
        key = np.uint64(_key(text, at))
        order[rows[words < key]] = -1
        order[rows[words > key]] = 1
        rows = rows[words == key]
    return order


def _contains(data: U8, starts: I64, lengths: I64, text: bytes) -> Bools:
    """The rows that contain the text, which is not empty; rows follow one another in the data."""
    found = np.zeros(len(starts), np.bool_)
    if not len(starts):
        return found
    begin, end = int(starts[0]), int(starts[-1] + lengths[-1])
    for at in range(begin, end - len(text) + 1, _WINDOW):
        stop = min(at + _WINDOW, end - len(text) + 1)
        first = data[at:stop] == text[0]
        for k, byte in enumerate(text[1:_WORD], 1):
            first &= data[at + k : stop + k] == byte
        places = np.flatnonzero(first) + at
        rows = np.searchsorted(starts, places, side="right") - 1
        fits = places + len(text) <= starts[rows] + lengths[rows]
        places, rows = places[fits], rows[fits]
        found[rows[_here(data, places, np.ones(len(places), np.bool_), text)]] = True
    return found
