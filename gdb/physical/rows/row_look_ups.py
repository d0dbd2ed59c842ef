"""Nodes that rows name by a value: `n.key = value`, `id(n) = value` and the same with IN, where the value is the row's.

The values of all rows are looked up at once (`Snapshot.holders`): a search for each distinct value, whatever the number
of nodes. Matching then starts from the rows and the nodes that they name, as from nodes that a clause before bound.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from gdb.base import usage
from gdb.base.allowance import paced
from gdb.base.values.comparison import group_key
from gdb.errors import Cancelled, GdbError, QueryTimeout
from gdb.language.mentioned_names import asks, mentioned
from gdb.language.random_values import is_random
from gdb.language.syntax import (
    Call,
    Comparator,
    Comparison,
    Expression,
    In,
    Name,
    Property,
    Variable,
)
from gdb.records import dataclass, quick
from gdb.storage.graph.adjacency import I64, U32
from gdb.storage.graph.ascending import expanded, numbered
from gdb.storage.graph.value_index import Wanted

if TYPE_CHECKING:
    from gdb.base.values.kinds import Value
    from gdb.physical.rows.pattern import Component, Condition, Pattern
    from gdb.physical.rows.run_context import RowContext

ValuesOf: TypeAlias = "Callable[[Expression], Sequence[Value] | I64]"
"""What an expression is for each row. Raises GdbError."""
FEW = 4
"""Vertices for each row up to which a value names them: matching goes on from these, wherever the pattern begins."""


@quick
@dataclass(frozen=True, slots=True, eq=False)
class Seek:
    """Rows, each once for every way to name the nodes.

    rows : i64[k], their places, ascending. vids : by the pattern's name, u32[k] each. answered : the conditions that
        this is.
    """

    rows: I64
    vids: Mapping[str, U32]
    answered: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Equality:
    """A condition that a property (None: the id) of a vertex is a value of the rows, with `within` one of a list.
    mentions : the names in the value."""

    condition: Condition
    vertex: str
    key: str | None
    value: Expression
    within: bool
    mentions: frozenset[str]


@quick
@dataclass(frozen=True, slots=True, eq=False)
class _Answer:
    """Look-ups of rows and their results: rows and the codes of their values, i64[m] each; the codes of vertices, and
    these, i64[n] and u32[n], no vertex twice. pairs : how many of a row and a vertex there are."""

    equality: Equality
    rows: I64
    row_codes: I64
    codes: I64
    vids: U32
    pairs: int


def equality(condition: Condition, vertices: Collection[str]) -> Equality | None:
    """A condition as an equality of a property of one of the vertices with what does not mention that vertex; None for
    any other."""
    return next((one for one in condition.equalities if one.vertex in vertices), None)


def equalities(condition: Condition) -> Iterator[Equality]:
    """A condition as an equality of a property of any variable with what does not mention it."""
    for side, value, within in _sides(condition.expression):
        key: str | None
        match side:
            case Property(subject=Variable(name=name), key=Name(text=text)):
                key = text
            case Call(function=function, arguments=(Variable(name=name),)) if (
                function.text.lower() == "id"
            ):
                key = None
            case _:
                continue
        mentions = mentioned(value)
        if name not in mentions and not _wayward(value):
            yield Equality(condition, name, key, value, within, mentions)


def _sides(expression: Expression) -> Iterator[tuple[Expression, Expression, bool]]:
    match expression:
        case Comparison(operator=Comparator.EQUAL, left=left, right=right):
            yield left, right, False
            yield right, left, False
        case In(item=item, list=several):
            yield item, several, True


def _wayward(value: Expression) -> bool:
    """Whether a value is not the row's alone: by chance, or found by matching."""
    return asks(value) or is_random(value)


def seek(
    context: RowContext,
    pattern: Pattern,
    component: Component,
    conditions: Sequence[Condition],
    bound: Collection[str],
    reach: Collection[str],
    count: int,
    values_of: ValuesOf,
) -> Seek | None:
    """The vertices of a component that rows name by values; None where they name none, or where the component is
    better matched as it is.

    bound : what the rows have already. count : of the rows. values_of : what an expression is for each of them.
    """
    free = [name for name in component.vertices if name not in bound]
    unbound = frozenset(reach).difference(bound)
    named = []
    for condition in conditions:
        for one in condition.equalities:
            if one.vertex in free:  # the first is the condition's
                if not one.mentions & unbound:
                    named.append(one)
                break
    if not named or not count:
        return None
    held = len(free) < len(component.vertices)
    return _Seeking(context, pattern, component, count, values_of, held, reach).run(named)


class _Seeking:
    def __init__(
        self,
        context: RowContext,
        pattern: Pattern,
        component: Component,
        count: int,
        values_of: ValuesOf,
        held: bool,
        reach: Collection[str],
    ) -> None:
        self.count, self.values_of, self.pattern = count, values_of, pattern
        self.component, self.held, self.reach = component, held, reach
        self.snapshot = context.graph.snapshot

    def run(self, equalities: Sequence[Equality]) -> Seek | None:
        """By what names few vertices every vertex that has such; else by another property, the best, one vertex."""
        answers: list[_Answer] = []
        chosen: dict[str, list[_Answer]] = {}
        for one in equalities:
            if self.held and not self._by_key(one):
                continue
            answer = self._answer(one)
            if answer is None:
                continue
            answers.append(answer)
            if answer.pairs <= FEW * self.count:
                chosen.setdefault(one.vertex, []).append(answer)
        if len(answers) == len(chosen) == self.count == 1:
            (answer,) = answers
            at = np.zeros(len(answer.vids), np.int64)
            return Seek(at, {answer.equality.vertex: answer.vids}, (answer.equality.condition,))
        if not chosen and not self.held:
            found = [answer for answer in answers if self._worth(answer)]
            if found:
                vertex = min(found, key=lambda answer: answer.pairs).equality.vertex
                chosen[vertex] = [answer for answer in found if answer.equality.vertex == vertex]
        if not chosen:
            return None
        at = np.arange(self.count, dtype=np.int64)
        vids: dict[str, U32] = {}
        for name, answers in chosen.items():
            usage.pulse()
            kept, mine = _paired(answers, at, self.count)
            at = at[kept]
            vids = {other: column[kept] for other, column in vids.items()}
            vids[name] = mine
        answered = [answer.equality.condition for several in chosen.values() for answer in several]
        if len(at) > 1 and np.any(at[1:] < at[:-1]):
            order = np.argsort(at, kind="stable")
            at, vids = at[order], {name: column[order] for name, column in vids.items()}
        return Seek(at, vids, tuple(answered))

    def _groups(self, vertex: str) -> list[int]:
        accepted = self.pattern.parts.accepted[vertex]
        groups = enumerate(self.snapshot.groups)
        return [number for number, group in groups if accepted[group.labels]]

    def _by_key(self, one: Equality) -> bool:
        """Whether no two vertices of a group have the same value."""
        if one.key is None:
            return True
        return all(self.snapshot.is_id(group, one.key) for group in self._groups(one.vertex))

    def _worth(self, answer: _Answer) -> bool:
        """Whether to go on from the pairs costs no more than to list the vertices would. A value that is the same for
        all rows of a component with edges restricts candidates there, those of all vertices at once."""
        if not self.component.edges:
            return True
        if answer.equality.mentions.isdisjoint(self.reach):
            return False
        groups = self._groups(answer.equality.vertex)
        listed = sum(self.snapshot.groups[group].count for group in groups)
        return answer.pairs <= self.count + listed

    def _answer(self, one: Equality) -> _Answer | None:
        """What is found; None where the values of the rows or of the store are not for look-ups."""
        try:
            values = self.values_of(one.value)
        except (Cancelled, QueryTimeout):
            raise
        except GdbError:  # where nothing is matched it is never evaluated
            return None
        if len(values) == 1 and not one.within:
            (value,) = values.tolist() if isinstance(values, np.ndarray) else values
            return self._of_one(one, value)
        places = np.arange(len(values), dtype=np.int64)
        if one.within:
            values = values.tolist() if isinstance(values, np.ndarray) else values
            if not all(value is None or isinstance(value, list) for value in values):
                return None
            lists = [value if isinstance(value, list) else [] for value in values]
            places = places.repeat([len(items) for items in lists])
            values = [item for items in lists for item in items]
        distinct, codes = code_values(values)
        usage.pulse()
        found = self.snapshot.holders(self._groups(one.vertex), one.key, Wanted(distinct))
        if found is None:
            return None
        usage.pulse()
        known = codes >= 0
        both = places[known], codes[known]
        if one.within:
            pairs = np.unique(np.stack(both), axis=1)
            both = pairs[0], pairs[1]
        return _Answer(one, *both, *found, _pair_count(both[1], found[0]))

    def _of_one(self, one: Equality, value: Value) -> _Answer | None:
        """The same for a single row, whose value is not in a list."""
        distinct = () if value is None or value != value else (value,)
        found = self.snapshot.holders(self._groups(one.vertex), one.key, Wanted(distinct))
        if found is None:
            return None
        zeros = np.zeros(len(distinct), np.int64)
        return _Answer(one, zeros, zeros, *found, len(found[1]))


def _pair_count(rows: I64, codes: I64) -> int:
    """How many pairs of a row and a vertex there are, by the codes of both."""
    if not len(codes):
        return 0
    if len(rows) == 1:
        return int(np.count_nonzero(codes == rows[0]))
    return int(np.bincount(codes, minlength=int(rows.max(initial=0)) + 1)[rows].sum())


def code_values(values: Sequence[Value] | I64) -> tuple[Sequence[Value] | I64, I64]:
    """The distinct values, an array where all are integers, and for each value its number among them, i64[n]; -1 for
    null and NaN, which equal nothing."""
    if not isinstance(values, np.ndarray) and len(values) > 1 and {*map(type, values)} == {int}:
        with suppress(OverflowError):
            values = np.array(values, np.int64)
    if isinstance(values, np.ndarray):
        first, codes = numbered(values)
        return values[first], codes
    numbers: dict[object, int] = {}
    kept: list[Value] = []
    found = np.full(len(values), -1, np.int64)
    for place, value in enumerate(paced(values, len(values))):
        if value is None or value != value:
            continue
        number = numbers.setdefault(group_key(value), len(kept))
        if number == len(kept):
            kept.append(value)
        found[place] = number
    return kept, found


def _paired(answers: Sequence[_Answer], at: I64, rows: int) -> tuple[I64, U32]:
    """Which of the entries of `at`, places of rows, go with which vertices by all answers: places in `at`, i64[k], and
    vids, u32[k]."""
    first, *others = (
        sorted(answers, key=lambda answer: answer.pairs) if len(answers) > 1 else answers
    )
    of_row, vertex = _pairs(first)
    for other in others:
        kept = _agrees(other, of_row, vertex)
        of_row, vertex = of_row[kept], vertex[kept]
    if len(at) == rows and (at == np.arange(rows)).all():
        return of_row, vertex
    order = np.argsort(of_row, kind="stable")
    of_row, vertex = of_row[order], vertex[order]
    low, high = (np.searchsorted(of_row, at, side) for side in ("left", "right"))
    kept, places = expanded(low, high)
    return kept, vertex[places]


def _pairs(answer: _Answer) -> tuple[I64, U32]:
    """The pairs of a row and a vertex: places of rows, and vids, [n] each."""
    if len(answer.row_codes) == 1:
        vids = answer.vids[answer.codes == answer.row_codes[0]]
        return np.repeat(answer.rows, len(vids)), vids
    if not len(answer.codes):
        return answer.rows[:0], answer.vids
    if np.bincount(answer.codes).max() == 1:  # as of keys
        place = np.full(int(max(answer.codes.max(), answer.row_codes.max(initial=0))) + 1, -1)
        place[answer.codes] = np.arange(len(answer.codes))
        places = place[answer.row_codes]
        found = places >= 0
        return answer.rows[found], answer.vids[places[found]]
    order = np.argsort(answer.codes, kind="stable")
    codes, vids = answer.codes[order], answer.vids[order]
    low, high = (np.searchsorted(codes, answer.row_codes, side) for side in ("left", "right"))
    each, places = expanded(low, high)
    return answer.rows[each], vids[places]


def _agrees(answer: _Answer, rows: I64, vids: U32) -> I64:
    """The places of the pairs (row, vid) that an answer has as well."""
    order = np.argsort(answer.vids)
    ascending = answer.vids[order]
    at = np.minimum(np.searchsorted(ascending, vids), max(len(ascending) - 1, 0))
    if not len(ascending):
        return np.zeros(0, np.int64)
    code = np.where(ascending[at] == vids, answer.codes[order][at], -1)
    width = int(max(answer.row_codes.max(initial=0), code.max(initial=0))) + 1
    known = np.unique(answer.rows * width + answer.row_codes)
    return np.flatnonzero((code >= 0) & np.isin(rows * width + code, known))
