"""Sections in fewer bytes: arrays packed into words of 64 bits, and back (docs/FORMAT.md, *Packed sections*).

A packed section is an array of words: how many items it has, what its code needs, where each part of it begins, the
parts, each from a word of its own, and one word more, which is 0. Parts are packed and unpacked on all cores.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from gdb.base import usage, waiting

from ..columns.model import I64, U8, U32
from ..disk.arrays import GRAPH, GRAPH_SHARE, placed
from . import gaps, packed_blocks
from .sections import Code, Data, Section, Streamed

U64 = npt.NDArray[np.uint64]
T = TypeVar("T")
R = TypeVar("R")

_MOST_SPAN = 1 << 32
_NUMBERS_HEAD, _ROWS_HEAD = 1, 4  # words before the places of the parts
_CHOSEN = 48  # bits of a place of rows that hold the position; those above are the part's offsets


class Unreadable(Exception):
    """A packed section holds what no packer wrote."""


def packed_section(section: Section) -> Section:
    """The section in the form in which it takes fewer bytes; what is made of it does not depend on the blocks in which
    it comes."""
    if section.rows is not None and not isinstance(section.data, Streamed):
        words = packed_rows(section.rows, section.data.astype(np.uint32, copy=False))
        if words is None or words.nbytes >= section.data.nbytes:
            return section
        return Section(section.kind, words, code=Code.ROWS, item=4)
    if not section.counted or not section.data.nbytes:
        return section
    item = section.data.dtype.itemsize
    if isinstance(section.data, Streamed):
        # what has no room in memory is packed twice: for the lengths, and when it is written
        lengths = [len(part) for part in packed_numbers(section.blocks())]
    else:
        parts = list(packed_numbers(section.blocks()))
        lengths = [len(part) for part in parts]
    head = numbers_head(section.data.nbytes // item, lengths)
    total = len(head) + sum(lengths) + 1
    if 8 * total >= section.data.nbytes:
        return section
    last = np.zeros(1, np.uint64)
    if not isinstance(section.data, Streamed):
        return Section(
            section.kind, np.concatenate([head, *parts, last]), code=Code.NUMBERS, item=item
        )

    def blocks() -> Iterator[Data]:
        yield head
        yield from packed_numbers(section.blocks())
        yield last

    data = Streamed(np.dtype(np.uint64), total, blocks)
    return Section(section.kind, data, code=Code.NUMBERS, item=item)


# ---- numbers ---------------------------------------------------------------------------------------


def packed_numbers(blocks: Iterable[Data]) -> Iterator[U64]:
    """The parts of an array that comes in blocks, each as words."""
    return waiting.in_order(_pack_part, _parts(blocks))


def numbers_head(count: int, lengths: list[int]) -> U64:
    """The head before parts of so many words."""
    starts = np.cumsum([_NUMBERS_HEAD + len(lengths), *lengths])[:-1]
    return np.array([count, *starts.tolist()], np.uint64)


def _parts(blocks: Iterable[Data]) -> Iterator[I64]:
    """Blocks of any lengths as parts of one length, the last one shorter."""
    rest = np.zeros(0, np.int64)
    for block in blocks:
        block = block.view(np.int64) if block.dtype == np.uint64 else block
        begin = 0
        while begin < len(block):
            some = block[begin : begin + packed_blocks.PART - len(rest)].astype(
                np.int64, copy=False
            )
            begin += len(some)
            rest = np.concatenate([rest, some]) if len(rest) else np.ascontiguousarray(some)
            if len(rest) == packed_blocks.PART:
                yield rest
                rest = np.zeros(0, np.int64)
    if len(rest):
        yield rest


def _pack_part(values: I64) -> U64:
    words = np.zeros(packed_blocks.most_words(len(values)), np.uint64)
    used = packed_blocks.pack_numbers(values.ctypes.data, len(values), words.ctypes.data)
    return words[: -(-used // 64)].copy()


def unpacked_numbers(words: U64, item: int, most: int) -> U8:
    """The bytes of the items, at most `most` of them. item : bytes of each.

    Raises
    ------
    Unreadable
    """
    count, starts = _head(words, _NUMBERS_HEAD, most, packed_blocks.PART)
    places = [*starts, len(words) - 1]
    out = placed(count * item, np.uint8, GRAPH, usage.room(), most=GRAPH_SHARE)

    def run(part: int) -> bool:
        first, end = part * packed_blocks.PART, places[part + 1] * 64
        here = min(packed_blocks.PART, count - first)
        at = packed_blocks.unpack_numbers(
            words.ctypes.data, places[part] * 64, end, out.ctypes.data + first * item, item, here
        )
        return _ends(words, at, end)

    _all(run, len(starts))
    return out


# ---- rows ------------------------------------------------------------------------------------------


def packed_rows(offsets: I64, neighbours: U32) -> U64 | None:
    """Ascending rows as words; None where there is nothing to pack.

    offsets : i64[rows + 1] from 0, none empty. neighbours : u32[m].
    """
    rows, count = len(offsets) - 1, len(neighbours)
    if not count:
        return None
    offsets, neighbours = np.ascontiguousarray(offsets), np.ascontiguousarray(neighbours)
    least, span = int(neighbours.min()), int(neighbours.max()) - int(neighbours.min()) + 1
    again = neighbours[1:] == neighbours[:-1]
    again[offsets[1:-1] - 1] = False  # where rows begin
    step = int(not again.any())

    def pack(row: int) -> tuple[int, U64]:
        return _pack_rows(offsets[row : row + gaps.PART + 1], neighbours, least, span, step)

    found = list(waiting.in_order(pack, range(0, rows, gaps.PART)))
    lengths = [len(words) for _, words in found]
    starts = np.cumsum([_ROWS_HEAD + len(found), *lengths])[:-1]
    places = [int(at) | chosen << _CHOSEN for at, (chosen, _) in zip(starts, found, strict=True)]
    head = np.array([count, least, span, step, *places], np.uint64)
    return np.concatenate([head, *(words for _, words in found), np.zeros(1, np.uint64)])


def _pack_rows(offsets: I64, neighbours: U32, least: int, span: int, step: int) -> tuple[int, U64]:
    rows = offsets.ctypes.data, len(offsets) - 1, neighbours.ctypes.data, least, span, step
    sizes = np.zeros(2 * gaps.OFFSETS, np.int64)
    chosen = gaps.choose_gaps(*rows, sizes.ctypes.data)
    used = gaps.measure_gaps(*rows, chosen)
    words = np.zeros(-(-used // 64) + 1, np.uint64)
    gaps.pack_gaps(*rows, chosen, words.ctypes.data)
    return chosen, words[:-1]


def unpack_rows(words: U64, offsets: I64, out: U32) -> None:
    """Unpack rows to `out`, u32[m] with m = offsets[-1].

    Raises
    ------
    Unreadable
    """
    rows = len(offsets) - 1
    parts = -(-rows // gaps.PART)
    if len(words) < _ROWS_HEAD + parts + 1:
        raise Unreadable
    count, least, span, step = words[:_ROWS_HEAD].tolist()
    if count != len(out) or step > 1 or not 1 <= span <= least + span <= _MOST_SPAN:
        raise Unreadable
    heads = words[_ROWS_HEAD : _ROWS_HEAD + parts].tolist()
    starts = [one & (1 << _CHOSEN) - 1 for one in heads]
    chosen = [one >> _CHOSEN for one in heads]
    places = _places(words, starts, _ROWS_HEAD)
    if any(one & 255 >= gaps.OFFSETS or one >> 8 >= gaps.OFFSETS for one in chosen):
        raise Unreadable
    offsets = np.ascontiguousarray(offsets)

    def run(part: int) -> bool:
        first, end = part * gaps.PART, places[part + 1] * 64
        at = gaps.unpack_gaps(
            words.ctypes.data,
            places[part] * 64,
            end,
            offsets.ctypes.data + 8 * first,
            min(gaps.PART, rows - first),
            least,
            span,
            step,
            chosen[part],
            out.ctypes.data,
        )
        return _ends(words, at, end)

    _all(run, parts)


# ---- both ------------------------------------------------------------------------------------------


def _head(words: U64, head: int, most: int, size: int) -> tuple[int, list[int]]:
    """The number of items, and where each part begins; parts have `size` items but the last."""
    count = int(words[0]) if len(words) else most + 1
    parts = -(-count // size)
    if count > most or len(words) < head + parts + 1:
        raise Unreadable
    starts = words[head : head + parts].tolist()
    return count, _places(words, starts, head)[:-1]


def _places(words: U64, starts: list[int], head: int) -> list[int]:
    """Where parts begin and the last one ends, in words; one word is behind that."""
    places = [*starts, len(words) - 1]
    first = head + len(starts)
    rising = all(a < b for a, b in pairwise(places))
    if places[0] != first or not rising or int(words[-1]):
        raise Unreadable
    return places


def _ends(words: U64, at: int, end: int) -> bool:
    """Whether a part that was read up to a bit ends in the word before another one, whose other bits are 0."""
    return end - 64 < at <= end and (at == end or not int(words[at >> 6]) >> (at & 63))


def _all(run: Callable[[int], bool], parts: int) -> None:
    if parts == 1:
        good = run(0)
    else:
        good = all(waiting.in_order(run, range(parts)))
    if not good:
        raise Unreadable
