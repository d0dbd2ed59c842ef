"""Rows on their way from clause to clause: in batches, made when the next clause wants them.

A clause that treats each row by itself (MATCH, UNWIND, a plain WITH) hands batches on as they come, so that a LIMIT
behind it ends its work; what sorts or groups takes all of them first, and so does what writes.

What a batch leaves behind when its reader wants the next one is garbage or kept, and counted, by the reader. So who
makes batches sets `Allowance.made` back to what it was before each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, TypeAlias

from gdb import limits
from gdb.base.values.sizes import Pile, size_of
from gdb.errors import InternalError
from gdb.records import dataclass

if TYPE_CHECKING:
    from gdb.base.allowance import Allowance
    from gdb.base.values.kinds import Row, Value
    from gdb.physical.rows.run_context import Numbered

FIRST, MOST, TIMES_MORE = 256, 8192, 4
"""Rows of a clause's first batch, of its largest, and how many times more the next one has."""
MATCHED = 1 << 16
"""Rows that a pattern is matched for at once: a match takes a millisecond before it begins."""
ROW = 240
"""Bytes of a row without its values."""
_SLACK = 1 << 20
ALONE = 16
"""Rows of a first batch that do not count while it is seen whether there is another."""
Parts: TypeAlias = "Iterator[list[Row]]"


@dataclass(slots=True)
class Batches:
    """Rows, once, in batches, and the names that each row has, in the order in which they came.

    some : all of them, where they are known, a few, and counted by none; then the operator that takes these leaves
        `parts`.
    """

    names: tuple[str, ...]
    parts: Parts
    some: list[Row] | None = None


def few_rows(names: tuple[str, ...], rows: list[Row]) -> Batches:
    """A few rows that are made already."""
    return Batches(names, iter((rows,)), rows)


def narrow_rows(rows: Batches, names: tuple[str, ...]) -> Batches:
    """The rows with some of their names."""
    return Batches(names, ([{name: row[name] for name in names} for row in p] for p in rows.parts))


@dataclass(slots=True)
class Few:
    """A bound on what MATCH finds. most : embeddings of each part of a pattern, for one batch of rows.
    cut : whether there may be more. ends : the run goes no further where there are."""

    most: int
    cut: bool = False
    ends: bool = False


def expand_rows(
    allowance: Allowance,
    parts: Parts,
    expand: Callable[[Row], Iterable[Row]],
    prepare: Callable[[list[Row]], object] = len,
) -> Parts:
    """The rows that a clause makes of each row, in batches of growing size.

    expand : the rows of one. prepare : is called with each batch before.
    """
    made: list[Row] = []
    size = FIRST
    for part in parts:
        prepare(part)
        begun = allowance.made
        for row in part:
            if allowance.made - begun > _SLACK:  # the rows before have left something behind
                allowance.made = begun + size_of(made)
            rows = expand(row)
            level = allowance.made
            for one in rows:
                made.append(one)
                if len(made) >= size:
                    yield from _handed_on(allowance, made)
                    made, size = [], min(size * TIMES_MORE, MOST)
                    allowance.made = level
            allowance.tick()
    yield from _handed_on(allowance, made)


def _handed_on(allowance: Allowance, rows: list[Row]) -> Parts:
    if rows:
        allowance.make(ROW * len(rows), "rows")
        allowance.tick(len(rows))
        yield rows


def gather_rows(
    allowance: Allowance, parts: Iterable[list[Row]], pile: Pile, enough: int | None = None
) -> list[Row]:
    """All rows of some batches, which `pile` counts; of the last batch more than `enough`. Raises OutOfBudget,
    Cancelled, QueryTimeout."""
    level = allowance.made
    rows: list[Row] = []
    for part in parts:
        pile.batch(part, allowance.made - level)
        rows += part
        allowance.tick(len(part))
        allowance.made = level
        if enough is not None and len(rows) >= enough:
            break
    return rows


def hold_rows(allowance: Allowance, parts: Iterable[list[Row]], size: int = MOST) -> Parts:
    """All rows of some batches, gathered before the first is handed on; they count as long as they are read."""
    pile = Pile(allowance, "the rows of a clause")
    rows = gather_rows(allowance, parts, pile)
    return hand_rows(rows, pile, size)


def hand_rows(rows: list[Row], pile: Pile, size: int = MOST) -> Parts:
    """Some rows, which `pile` counts as long as they are read."""
    try:
        for start in range(0, len(rows), size):
            yield rows[start : start + size]
    finally:
        pile.clear()


def regroup_rows(allowance: Allowance, parts: Parts, size: int) -> Parts:
    """The rows in batches of about `size`, the last one smaller; what is waiting for more counts."""
    level = allowance.made
    first = next(parts, None)
    if first is None:
        return
    if len(first) <= ALONE:
        second = next(parts, None)
        if second is None:
            yield first
            return
        parts = chain((first, second), parts)
    else:
        parts = chain((first,), parts)
    pile = Pile(allowance, "rows that are matched together")
    try:
        rows: list[Row] = []
        for part in parts:
            if not rows and len(part) >= size:
                yield part
                continue
            pile.batch(part, allowance.made - level)
            rows += part
            if len(rows) >= size:
                yield rows
                rows = []
                pile.clear()
        if rows:
            yield rows
    finally:
        pile.clear()


class Replayed:
    """Batches that may be read from the first one on again and again; what was read counts until it is cleared.

    what : what the rows are, for errors.
    """

    def __init__(self, allowance: Allowance, parts: Parts, what: str) -> None:
        self._allowance, self._parts = allowance, parts
        self._pile = Pile(allowance, what)
        self._known: list[list[Row]] = []

    def again(self) -> Parts:
        """The batches, from the first one on; their rows are copies."""
        at = 0
        while True:
            if at == len(self._known):
                level = self._allowance.made
                part = next(self._parts, None)
                if part is None:
                    return
                self._pile.batch(part, self._allowance.made - level)
                self._known.append(part)
            yield [dict(row) for row in self._known[at]]
            at += 1

    def clear(self) -> None:
        """Forget all of them."""
        self._known.clear()
        self._pile.clear()


def called_rows(parts: Parts, row: Row, missing: Row | None) -> Iterator[Row]:
    """A row with each of those that a subquery found for it. missing : what OPTIONAL puts where there are none."""
    some = False
    for part in parts:
        for one in part:
            some = True
            yield {**row, **one}
    if not some and missing is not None:
        yield {**row, **missing}


def padded_rows(
    found: Iterator[list[Numbered]], rows: Sequence[Row], fresh: Sequence[str]
) -> Iterator[list[Numbered]]:
    """What OPTIONAL MATCH found, with null where it found nothing. Numbers come in ascending order."""
    missing: Row = dict.fromkeys(fresh)
    place = 0  # the first row that is not handed on
    for some in found:
        made: list[Numbered] = []
        for number, row in some:
            if number < place - 1:
                raise InternalError("a pattern was matched in another order than its rows have.")
            while place < number:
                made.append((place, {**rows[place], **missing}))
                place += 1
            made.append((number, row))
            place = number + 1
        yield made
    rest = [(number, {**rows[number], **missing}) for number in range(place, len(rows))]
    if rest:
        yield rest


def answer_rows(allowance: Allowance, batches: Batches) -> list[tuple[Value, ...]]:
    """The rows of the result, which count as long as the query runs."""
    pile = Pile(allowance, "the rows of the result")
    level = allowance.made
    rows: list[tuple[Value, ...]] = []
    for part in batches.parts:
        some = [tuple([row[name] for name in batches.names]) for row in part]
        pile.batch(some, allowance.made - level)
        rows += some
        allowance.tick(len(part))
        allowance.made = level
        limits.check_rows(len(rows))
    return rows
