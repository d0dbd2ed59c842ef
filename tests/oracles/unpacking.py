"""Packed sections, read by the text of docs/FORMAT.md alone: shares no code with `gdb.storage`."""

from __future__ import annotations

import itertools


class Bits:
    """The bits of words, from a word on."""

    def __init__(self, words: list[int], start: int, end: int) -> None:
        self.all = sum(word << 64 * n for n, word in enumerate(words[start:end]))
        self.at, self.end = 0, 64 * (end - start)

    def number(self, count: int) -> int:
        found = self.all >> self.at & (1 << count) - 1
        self.at += count
        return found

    def rice(self, width: int) -> int:
        zeros = 0
        while not self.number(1):
            zeros += 1
        return zeros << width | self.number(width)

    def close(self) -> None:
        """The rest of the last word is 0."""
        assert self.end - 64 < self.at <= self.end
        assert not self.all >> self.at


def unpacked_numbers(words: list[int]) -> list[int]:
    """Modulo 2^64."""
    count = words[0]
    starts = [*words[1 : 1 + -(-count // 65536)], len(words) - 1]
    assert starts[0] == len(starts)
    found: list[int] = []
    for part, (start, end) in enumerate(itertools.pairwise(starts)):
        bits = Bits(words, start, end)
        while len(found) < min(count, (part + 1) * 65536):
            here = min(128, count - len(found))
            mode, width = bits.number(2), bits.number(7)
            folded = bits.number(bits.number(7))
            base = folded >> 1 ^ -(folded & 1)
            step = bits.number(bits.number(7)) if mode & 1 else 0
            entry = bits.rice if mode & 2 else bits.number
            entries = [entry(width) for _ in range(here - (mode & 1))]
            if mode & 1:
                found += itertools.accumulate((step + one for one in entries), initial=base)
            else:
                found += [base + one for one in entries]
        bits.close()
    return found


def unpacked_rows(words: list[int], rows: list[int]) -> list[int]:
    count, least, span, step = words[:4]
    places = words[4 : 4 + -(-len(rows) // 4096)]
    starts = [*(place % (1 << 48) for place in places), len(words) - 1]
    assert starts[0] == 4 + len(places)
    found: list[int] = []
    for part, (start, end) in enumerate(itertools.pairwise(starts)):
        bits = Bits(words, start, end)
        first, others = (places[part] >> 48 & 255) - 8, (places[part] >> 56) - 8
        for length in rows[4096 * part : 4096 * (part + 1)]:
            own = max((span * 11 // 16 // length).bit_length() - 1, 0)
            for k in range(length):
                gap = bits.rice(min(max(own + (others if k else first), 0), 32))
                found.append(found[-1] + step + gap if k else least + gap)
        bits.close()
    assert len(found) == count == sum(rows)
    return found
