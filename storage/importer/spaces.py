"""Id spaces: which vertex each user id names."""

from __future__ import annotations

import numpy as np

from gdb.base import waiting
from gdb.errors import ImportFailed

from ..columns.model import I64, U32, Bools
from ..graph.ascending import distinct
from ..graph.edge_loops import NONE, find_rows
from .report import FileReport

Ids = I64 | list[str]
DUPLICATE = (
    'If it is the same node, pass on_duplicate="skip" or on_duplicate="update", or on_error="skip" to list such lines; '
    "other nodes want an id space of their own: id_space=, or :ID(Space)."
)
"""The cure for a duplicate id."""


class Space:
    """The ids of one space and the vertices that they name; all int64 or all strings."""

    def __init__(self, name: str, declared: bool = True) -> None:
        self.name, self.declared = name, declared
        self.numbers: I64 = np.zeros(0, np.int64)
        self.rows: U32 = np.zeros(0, np.uint32)
        self._dense: U32 | None = None  # row of each id from the least to the highest, or NONE
        self._lock = waiting.Lock()  # both ends of edges are looked up at once
        self.texts: dict[str, int] = {}

    def is_text(self) -> bool | None:
        """Whether the ids are text; None where there is none yet."""
        return True if self.texts else False if len(self.numbers) else None

    def has(self, one: int | str) -> bool:
        """Whether an id is here."""
        if isinstance(one, str):
            return one in self.texts
        at = int(np.searchsorted(self.numbers, one))
        return at < len(self.numbers) and int(self.numbers[at]) == one

    def repeated(self, ids: Ids) -> I64:
        """The places of ids that are here already or come earlier among them; i64[k] ascending."""
        if isinstance(ids, list):
            if len(set(ids)) == len(ids) and self.texts.keys().isdisjoint(ids):
                return np.zeros(0, np.int64)
            first_of = dict(zip(reversed(ids), range(len(ids) - 1, -1, -1), strict=True))
            found = [k for k, x in enumerate(ids) if x in self.texts or first_of[x] != k]
            return np.array(found, np.int64)
        again = np.zeros(len(ids), np.bool_)
        if not (ids[1:] > ids[:-1]).all():
            again[:] = True
            again[firsts(ids)] = False
        if len(ids) and len(self.numbers):
            low, high = int(self.numbers[0]), int(self.numbers[-1])
            inside = np.flatnonzero((ids >= low) & (ids <= high))
            again[inside] |= np.isin(ids[inside], self.numbers)
        return np.flatnonzero(again)

    def add(self, ids: Ids, first_row: int, report: FileReport | None) -> None:
        """Give ids the rows from `first_row` on."""
        self._same_type(ids, report)
        if isinstance(ids, list):
            again = self.repeated(ids)
            if len(again):
                raise _twice(ids[int(again[0])], self.name, report)
            self.texts |= zip(ids, range(first_row, first_row + len(ids)), strict=True)
            return
        rows = np.arange(first_row, first_row + len(ids), dtype=np.uint32)
        if not (ids[1:] > ids[:-1]).all():
            order = np.argsort(ids, kind="stable")
            ids, rows = ids[order], rows[order]
        at = np.searchsorted(self.numbers, ids)
        again = np.zeros(len(ids), np.bool_)
        again[1:] = ids[1:] == ids[:-1]
        inside = np.flatnonzero(at < len(self.numbers))
        again[inside] |= self.numbers[at[inside]] == ids[inside]
        if again.any():
            raise _twice(int(ids[np.argmax(again)]), self.name, report)
        if self._dense is not None:
            low, high = int(self.numbers[0]), int(self.numbers[-1])
            if len(ids) and low <= int(ids[0]) <= int(ids[-1]) <= high:
                self._dense[ids - low] = rows
            else:
                self._dense = None
        if not len(at) or int(at[0]) == len(self.numbers):  # behind all that are there
            self.numbers = np.concatenate([self.numbers, ids]) if len(self.numbers) else ids
            self.rows = np.concatenate([self.rows, rows]) if len(self.rows) else rows
        else:
            self.numbers = np.insert(self.numbers, at, ids)
            self.rows = np.insert(self.rows, at, rows)

    def _same_type(self, ids: Ids, report: FileReport | None) -> None:
        if len(ids) and self.is_text() is (not isinstance(ids, list)):
            ours, theirs = ("text", "numbers") if isinstance(ids, list) else ("numbers", "text")
            raise ImportFailed(
                f"its ids are {ours}, those of id space {self.name!r} are {theirs}",
                "Give the nodes another id space: id_space=, or :ID(Space) in the header.",
                file=report.file if report else "",
            )

    def find(self, ids: Ids, report: FileReport) -> I64:
        """The row of each id, -1 where there is none."""
        self._same_type(ids, report)
        if isinstance(ids, list):
            return np.fromiter((self.texts.get(x, -1) for x in ids), np.int64, len(ids))
        if not len(self.numbers):
            return np.full(len(ids), -1, np.int64)
        low, high = int(self.numbers[0]), int(self.numbers[-1])
        with self._lock:
            if self._dense is None and high - low < 8 * len(self.numbers) + 2 * len(ids):
                self._dense = np.full(high - low + 1, NONE, np.uint32)
                self._dense[self.numbers - low] = self.rows
        if self._dense is not None:  # look up, do not search
            return find_rows(ids, low, self._dense)
        order = np.argsort(ids)  # searching in order stays in the cache
        at = np.empty(len(ids), np.int64)
        at[order] = np.searchsorted(self.numbers, ids[order])
        at = np.minimum(at, len(self.numbers) - 1)
        return np.where(self.numbers[at] == ids, self.rows[at].astype(np.int64), -1)

    def absent(self, ids: Ids, report: FileReport) -> Ids:
        """The ids that are not here yet, each once; text in order of appearance, numbers ascending."""
        self._same_type(ids, report)
        if isinstance(ids, list):
            return [x for x in dict.fromkeys(ids) if x not in self.texts]
        return distinct(ids[self.find(ids, report) < 0])


def firsts(values: I64) -> I64:
    """The first place of each distinct value, i64[k], in ascending order of the values."""
    order = np.argsort(values)  # not stable, so each run takes the least of its places
    begins = np.flatnonzero(_begins(values[order]))
    return np.minimum.reduceat(order, begins) if len(begins) else begins


def _begins(ordered: I64) -> Bools:
    """True where a run of equal values begins."""
    begins = np.ones(len(ordered), np.bool_)
    begins[1:] = ordered[1:] != ordered[:-1]
    return begins


def some_ids(ids: Ids, rows: I64) -> Ids:
    """The ids of some rows, i64[k]."""
    return [ids[row] for row in rows.tolist()] if isinstance(ids, list) else ids[rows]


def join_ids(a: Ids, b: Ids) -> Ids:
    """The ids of `a`, then those of `b`: i64[n] where both are integers, else a list of strings."""
    if isinstance(a, list) and isinstance(b, list):
        return [*a, *b]
    if isinstance(a, list) or isinstance(b, list):
        return [*map(str, a), *map(str, b)]
    return np.concatenate([a, b])


def _twice(value: int | str, space: str, report: FileReport | None) -> ImportFailed:
    where = f" in id space {space!r}" if space else ""
    return ImportFailed(
        f"node id {value!r} occurs twice{where}", DUPLICATE, file=report.file if report else ""
    )
