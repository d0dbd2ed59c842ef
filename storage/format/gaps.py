"""Neighbours packed as the gaps of their rows, in Rice's code with a parameter by the length of the row.

The gaps of a row of d ascending numbers out of a span of N are about N / d: a Rice code of log2(ln 2 * N / d) low bits
takes about log2(N / d) + 1.5 bits for each, where the entropy of a random set is log2(N / d) + 1.44. 4096 rows are a
part, which has an offset of that parameter for the first neighbours of its rows, and another for the gaps behind them,
where vertices that are neighbours have numbers that are near, or as far as those of others are not
(docs/FORMAT.md, *Packed rows*).
"""

from __future__ import annotations

from gdb.base.machine.compile import compiled, together
from gdb.base.machine.memory import load_i64, load_u32, store_i64, store_u32

from .bitstream import bit_length, put, rice

PART = 4096  # rows
OFFSETS = 16  # values of an offset of the parameter: -OFFSETS / 2 .. OFFSETS / 2 - 1
_HALF = OFFSETS >> 1
_EVERY = 8  # one row in so many is sampled to choose the offsets
_MOST = 32  # low bits


@compiled
def _low_bits(span: int, length: int, offset: int) -> int:
    """The parameter of a row; 11/16 is ln 2."""
    own = max(bit_length((span * 11 >> 4) // length) - 1, 0)
    return min(max(own + offset, 0), _MOST)


@compiled
def _gap(neighbours: int, at: int, begin: int, least: int, step: int) -> int:
    """The gap before an entry of the row that begins at a position; below 0 where the row does not ascend."""
    if at == begin:
        return load_u32(neighbours, at) - least
    return load_u32(neighbours, at) - load_u32(neighbours, at - 1) - step


def _choose_gaps(
    offsets: int, rows: int, neighbours: int, least: int, span: int, step: int, sizes: int
) -> int:
    """The offsets that make a part shortest, by a sample of its rows: of gaps << 8 | of first neighbours, each plus
    OFFSETS / 2. sizes : i64[2 * OFFSETS], 0, for own use."""
    row = 0
    while row < rows:
        begin = load_i64(offsets, row)
        end = load_i64(offsets, row + 1)
        length = end - begin
        for offset in range(OFFSETS):
            width = _low_bits(span, length, offset - _HALF)
            first = (_gap(neighbours, begin, begin, least, step) >> width) + width
            rest = (length - 1) * width
            for at in range(begin + 1, end):
                rest += _gap(neighbours, at, begin, least, step) >> width
            store_i64(sizes, offset, load_i64(sizes, offset) + rest)
            store_i64(sizes, OFFSETS + offset, load_i64(sizes, OFFSETS + offset) + first)
        row += _EVERY
    of_gaps = _HALF
    of_first = _HALF
    for offset in range(OFFSETS):
        if load_i64(sizes, offset) < load_i64(sizes, of_gaps):
            of_gaps = offset
        if load_i64(sizes, OFFSETS + offset) < load_i64(sizes, OFFSETS + of_first):
            of_first = offset
    return of_gaps << 8 | of_first


def _measure_gaps(
    offsets: int, rows: int, neighbours: int, least: int, span: int, step: int, chosen: int
) -> int:
    """The bits of a part with such offsets; -1 where a row does not ascend."""
    size = 0
    for row in range(rows):
        begin = load_i64(offsets, row)
        end = load_i64(offsets, row + 1)
        width = _low_bits(span, end - begin, (chosen & 255) - _HALF)
        for at in range(begin, end):
            gap = _gap(neighbours, at, begin, least, step)
            if gap < 0:
                return -1
            size += (gap >> width) + 1 + width
            if at == begin:
                width = _low_bits(span, end - begin, (chosen >> 8) - _HALF)
    return size


def _pack_gaps(
    offsets: int,
    rows: int,
    neighbours: int,
    least: int,
    span: int,
    step: int,
    chosen: int,
    words: int,
) -> int:
    """Pack rows into words that are 0; the bits that they took."""
    put_at = 0
    for row in range(rows):
        begin = load_i64(offsets, row)
        end = load_i64(offsets, row + 1)
        width = _low_bits(span, end - begin, (chosen & 255) - _HALF)
        for at in range(begin, end):
            gap = _gap(neighbours, at, begin, least, step)
            put_at = put(words, put_at + (gap >> width), 1, 1)
            put_at = put(words, put_at, gap & ((1 << width) - 1), width)
            if at == begin:
                width = _low_bits(span, end - begin, (chosen >> 8) - _HALF)
    return put_at


def _unpack_gaps(
    words: int,
    at: int,
    end: int,
    offsets: int,
    rows: int,
    least: int,
    span: int,
    step: int,
    chosen: int,
    out: int,
) -> int:
    """Unpack the rows whose offsets are i64[rows + 1], ascending, from the bits at .. end to out[offsets[0]:]; where
    they end, -1 where they are none: beyond the stream, or numbers beyond least + span."""
    last = least + span
    for row in range(rows):
        begin = load_i64(offsets, row)
        stop = load_i64(offsets, row + 1)
        if stop <= begin:
            return -1
        gap, at = rice(words, at, end, _low_bits(span, stop - begin, (chosen & 255) - _HALF))
        width = _low_bits(span, stop - begin, (chosen >> 8) - _HALF)
        value = least + gap
        if at < 0 or value >= last:
            return -1
        store_u32(out, begin, value)
        for place in range(begin + 1, stop):
            gap, at = rice(words, at, end, width)
            value += step + gap
            if at < 0 or value >= last:
                return -1
            store_u32(out, place, value)
    return at


choose_gaps, measure_gaps, pack_gaps, unpack_gaps = together(
    _choose_gaps, _measure_gaps, _pack_gaps, _unpack_gaps
)
