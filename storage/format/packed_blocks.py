"""Numbers packed in blocks of 128, each in as few bits as the block's own numbers, or their differences, want.

A block is coded as what takes the fewest bits of four: the differences from its least number, or, where it ascends,
from each number to the next, each less the least of these; and these either all in the width of the largest, or in
Rice's code. Blocks of 65,536 numbers are a part, which begins with a word of its own, so that parts are unpacked in
parallel (docs/FORMAT.md, *Packed numbers*).

Source: Goldstein, Ramakrishnan, Shaft, Compressing relations and indexes, ICDE 1998 (frames of reference).
"""

from __future__ import annotations

from gdb.base.machine.compile import compiled, together
from gdb.base.machine.memory import load_i64, store_i64, store_u8, store_u32

from .bitstream import bit_length, bits, put, rice, shifted

BLOCK = 128
PART = 1 << 16
_ASCENDS, _RICE = 1, 2  # bits of a block's mode
_MODE, _WIDTH = 2, 7  # their bits; also of every other length
_MOST_RICE = 56  # low bits


def most_words(count: int) -> int:
    """Words that `count` numbers of a part take at most."""
    blocks = -(-count // BLOCK)
    return (64 * count + 160 * blocks) // 64 + 2


@compiled
def _entry(values: int, at: int, mode: int, base: int, step: int) -> int:
    """The packed form, in a block, of the number at a place."""
    if mode & _ASCENDS != 0:
        return load_i64(values, at + 1) - load_i64(values, at) - step
    return load_i64(values, at) - base


@compiled
def _rice_width(values: int, at: int, count: int, mode: int, base: int, step: int) -> int:
    """Low bits that make the entries of a block shortest in Rice's code, and with how many bits: bits << 8 | width."""
    total = 0
    for k in range(count):
        total += _entry(values, at + k, mode, base, step)
    middle = bit_length(total // max(count, 1))
    best = -1
    for width in range(max(middle - 2, 0), min(middle + 2, _MOST_RICE + 1)):
        size = count * (1 + width)
        for k in range(count):
            size += _entry(values, at + k, mode, base, step) >> width
        if best < 0 or size << 8 | width < best:
            best = size << 8 | width
    return best


@compiled
def _widest(values: int, at: int, count: int, mode: int, base: int, step: int) -> int:
    """Bits of the largest entry of a block."""
    found = 0
    for k in range(count):
        found = found | _entry(values, at + k, mode, base, step)
    return bit_length(found)


@compiled
def _least(values: int, at: int, count: int) -> int:
    found = load_i64(values, at)
    for k in range(count):
        found = min(found, load_i64(values, at + k))
    return found


@compiled
def _least_step(values: int, at: int, count: int) -> int:
    """The least difference of neighbouring numbers of a block; below 0 where it does not ascend."""
    found = load_i64(values, at + 1) - load_i64(values, at)
    for k in range(count - 1):
        found = min(found, load_i64(values, at + k + 1) - load_i64(values, at + k))
    return found


@compiled
def _length(number: int) -> int:
    """Bits of a number that follows its length."""
    return _WIDTH + bit_length(number)


@compiled
def _folded(number: int) -> int:
    """0, -1, 1, -2, ... as 0, 1, 2, 3, ..."""
    return number << 1 ^ number >> 63


@compiled
def _unfolded(number: int) -> int:
    return shifted(number, 1) ^ -(number & 1)


@compiled
def _best(values: int, at: int, count: int, mode: int, base: int, step: int) -> tuple[int, int]:
    """The shorter of a mode with and without Rice's code: the bits of its entries, and mode << 8 | width."""
    width = _widest(values, at, count, mode, base, step)
    size = count * width
    if width <= _MOST_RICE:
        other = _rice_width(values, at, count, mode, base, step)
        if other >> 8 < size:
            return other >> 8, (mode | _RICE) << 8 | other & 255
    return size, mode << 8 | width


def _pack_numbers(values: int, count: int, words: int) -> int:
    """Pack i64[count] into words that are 0; the bits that it took."""
    at = 0
    begin = 0
    while begin < count:
        here = min(BLOCK, count - begin)
        base = _least(values, begin, here)
        step = 0
        size, chosen = _best(values, begin, here, 0, base, step)
        size += _length(_folded(base))
        entries = here
        if here > 1:
            rise = _least_step(values, begin, here)
            first = load_i64(values, begin)
            if rise >= 0:
                other, way = _best(values, begin, here - 1, _ASCENDS, first, rise)
                if other + _length(_folded(first)) + _length(rise) < size:
                    base = first
                    step = rise
                    chosen = way
                    entries = here - 1
        mode = chosen >> 8
        width = chosen & 255
        at = put(words, at, mode, _MODE)
        at = put(words, at, width, _WIDTH)
        at = put(words, at, bit_length(_folded(base)), _WIDTH)
        at = put(words, at, _folded(base), bit_length(_folded(base)))
        if mode & _ASCENDS != 0:
            at = put(words, at, bit_length(step), _WIDTH)
            at = put(words, at, step, bit_length(step))
        for k in range(entries):
            entry = _entry(values, begin + k, mode, base, step)
            if mode & _RICE != 0:
                at = put(words, at + (entry >> width), 1, 1)
                at = put(words, at, entry & ((1 << width) - 1), width)
            else:
                at = put(words, at, entry, width)
        begin += here
    return at


@compiled
def _store(out: int, at: int, value: int, item: int) -> None:
    if item == 8:
        store_i64(out, at, value)
    elif item == 4:
        store_u32(out, at, value)
    else:
        store_u8(out, at, value)


@compiled
def _unpack_block(
    words: int, at: int, end: int, out: int, item: int, place: int, count: int
) -> int:
    """A block to out[place : place + count]; where the next one begins, -1 where it is none."""
    if at >= end:
        return -1
    head = bits(words, at, _MODE + 2 * _WIDTH)
    mode = head & (1 << _MODE) - 1
    width = head >> _MODE & (1 << _WIDTH) - 1
    length = head >> (_MODE + _WIDTH)
    at += _MODE + 2 * _WIDTH
    if width > 64 or length > 64 or at + length > end:
        return -1
    value = _unfolded(bits(words, at, length))
    at += length
    step = 0
    entries = count
    if mode & _ASCENDS != 0:
        if at + _WIDTH > end:
            return -1
        length = bits(words, at, _WIDTH)
        at += _WIDTH
        if length > 64 or at + length > end:
            return -1
        step = bits(words, at, length)
        at += length
        _store(out, place, value, item)
        place += 1
        entries -= 1
    if mode & _RICE != 0:
        if width > _MOST_RICE:
            return -1
        for k in range(entries):
            entry, at = rice(words, at, end, width)
            if at < 0:
                return -1
            if mode & _ASCENDS != 0:
                value += step + entry
                _store(out, place + k, value, item)
            else:
                _store(out, place + k, value + entry, item)
        return at
    if at + entries * width > end:
        return -1
    for k in range(entries):
        entry = bits(words, at, width)
        at += width
        if mode & _ASCENDS != 0:
            value += step + entry
            _store(out, place + k, value, item)
        else:
            _store(out, place + k, value + entry, item)
    return at


def _unpack_numbers(words: int, at: int, end: int, out: int, item: int, count: int) -> int:
    """Unpack the part of `count` numbers that lies in the bits at .. end, to items of so many bytes; where it ends, -1
    where it is none."""
    place = 0
    while place < count:
        here = min(BLOCK, count - place)
        at = _unpack_block(words, at, end, out, item, place, here)
        if at < 0 or at > end:
            return -1
        place += here
    return at


pack_numbers, unpack_numbers = together(_pack_numbers, _unpack_numbers)
