"""Demand analysis: what later operators need of the rows of an operator: which names, which properties, whether they
need each row or only how many there are, and whether they need the order of the rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal, TypeAlias

from gdb.language.aggregation import ignores_repeats, is_count, keeps_order
from gdb.language.clauses import BulkCreate, Create, Finish, Match, Merge, Unwind
from gdb.language.mentioned_names import mentioned, of_clause
from gdb.language.name_resolution import properties
from gdb.language.syntax import Call, Expression, HasLabels, Variable, walk
from gdb.logical import operators
from gdb.logical.operators import Column, Names, Operator, follow, names_after
from gdb.records import dataclass, field, quick

_WEIGHED = ("count", "sum", "min", "max")
"""The aggregates that can be computed from rows with a weight."""
_ADDS = (Match, Create, BulkCreate, Merge)
"""The operators whose rows have the names before them, and their own."""
Wishes = frozenset[tuple[str, str]]
Aspect: TypeAlias = Literal["id", "labels", "type"]
_ASPECTS: Mapping[str, Aspect] = {"id": "id", "labels": "labels", "type": "type"}


@quick
@dataclass(frozen=True, slots=True)
class Demand:
    """What later operators need of the rows of an operator.

    live : the names that are used. present : those of them that are only tested for null. wishes : the properties that
        are used, by name and key. aspects : what else of elements is used, by name: "id", "labels", "type".
    numbers : equal rows may be one row with their number. once : not even the number is needed.
    ordered : their order may show in the answer, so that an order that they have is kept.
    """

    live: frozenset[str]
    present: frozenset[str] = frozenset()
    wishes: Wishes = frozenset()
    numbers: bool = False
    once: bool = False
    aspects: frozenset[tuple[str, Aspect]] = frozenset()
    ordered: bool = True


def demands(
    side: Sequence[Operator],
    names: Iterable[str],
    start: Names | None = None,
    *,
    once: bool = False,
) -> list[Demand]:
    """For each operator of a side what later ones need of its rows. names : the columns of the answer. start : the
    names before the first, where they are known; then names that an operator brings are not live before it, so that of
    many operators with names of their own each needs few. once : whether of equal rows of the answer one is enough."""
    return demands_around(side, names, start, once=once)[1:]


def demands_around(
    side: Sequence[Operator],
    names: Iterable[str],
    start: Names | None = None,
    *,
    once: bool = False,
) -> list[Demand]:
    """What all operators need of the rows before them, and then `demands`."""
    state = _Demands({*names}, {*names}, once=once)
    brought = [()] * len(side) if start is None else _brought(side, start)
    found = [state.demand()]
    for operator, own in zip(reversed(side), reversed(brought), strict=True):
        state.before(operator)
        state.live.difference_update(own)
        state.valued.difference_update(own)
        found.append(state.demand())
    return found[::-1]


def _brought(side: Sequence[Operator], start: Names) -> list[Names]:
    """The names that each operator adds to those before it."""
    known = dict.fromkeys(start)
    found: list[Names] = []
    for operator in side:
        adds = isinstance(operator, _ADDS)
        found.append(tuple(n for n in names_after(operator, ()) if adds and n not in known))
        follow(operator, known)
    return found


@dataclass(slots=True)
class _Demands:
    """The demand at one place, read from the end. valued : the names whose values are needed."""

    live: set[str]
    valued: set[str]
    wishes: set[tuple[str, str]] = field(default_factory=set)
    numbers: bool = False
    once: bool = False
    aspects: set[tuple[str, Aspect]] = field(default_factory=set)
    ordered: bool = True

    def demand(self) -> Demand:
        present = frozenset(self.live - self.valued)
        wishes = frozenset(self.wishes)
        aspects = frozenset(self.aspects)
        live, counted = frozenset(self.live), (self.numbers, self.once)
        return Demand(live, present, wishes, *counted, aspects, self.ordered)

    def before(self, operator: Operator) -> None:
        match operator:
            case operators.Project(columns=columns):
                self._columns(columns, ())
            case operators.Aggregate(keys=keys, calls=calls, rest=rest):
                rested = [Column(name, Variable(name, operator.place)) for name in rest]
                self.valued |= {key.name for key in keys}  # they are compared
                self._columns([*keys, *rested], [gathered.call for gathered in calls])
                self.numbers = all(map(_weighed, (gathered.call for gathered in calls)))
                self.once = all(ignores_repeats(gathered.call) for gathered in calls)
                in_groups = any(keeps_order(gathered.call) for gathered in calls)
                self.ordered = in_groups or (self.ordered and bool(keys))
            case operators.Argument(names=names):
                self.live.difference_update(names)
                self.valued.difference_update(names)
            case operators.Distinct(names=names):
                self._names(names)
                self.numbers = self.once = True
            case operators.Sort(keys=keys):
                self._ask([key.expression for key in keys])
                plain = [k.expression for k in keys if isinstance(k.expression, Variable)]
                self.aspects |= {(key.name, "id") for key in plain}  # elements are in this order
            case operators.Filter(condition=condition):
                self._ask([condition])
            case operators.Limit():
                self.numbers = self.once = False
                self.ordered = True
            case Unwind(variable=variable):
                self.live.discard(variable.text)
                self.valued.discard(variable.text)
                self._ask([operator.list])
            case Match(where=where):
                self._names(of_clause(operator))
                self.wishes |= properties([] if where is None else [where])
            case operators.Apply(sees=sees):
                self._names(sees)
                self.numbers = self.once = False
            case Finish():
                self.live, self.valued = set(), set()
                self.wishes, self.aspects = set(), set()
                self.ordered = False
            case _:
                self._names(of_clause(operator))
                self.numbers = self.once = False
                self.ordered = True

    def _names(self, names: Iterable[str]) -> None:
        names = {*names}
        self.live |= names
        self.valued |= names

    def _ask(self, expressions: Sequence[Expression]) -> None:
        for expression in expressions:
            self._names(mentioned(expression))
        self.wishes |= properties(expressions)
        self.aspects |= {
            aspect for one in expressions for part in walk(one) for aspect in _aspects_of(part)
        }

    def _columns(self, columns: Sequence[Column], calls: Sequence[Call]) -> None:
        """Replace the demand by what columns and aggregates need of the rows before; only these go on."""
        behind = self.live, self.valued, self.wishes, self.aspects
        self.live, self.valued, self.wishes, self.aspects = set(), set(), set(), set()
        for column in columns:
            if isinstance(column.expression, Variable):
                name = column.expression.name
                self.live.add(name)
                if column.name in behind[1]:
                    self.valued.add(name)
                self.wishes |= {(name, key) for of, key in behind[2] if of == column.name}
                self.aspects |= {(name, what) for of, what in behind[3] if of == column.name}
            else:
                self._ask([column.expression])
        for call in calls:
            if _counts(call) and isinstance(call.arguments[0], Variable):
                self.live.add(call.arguments[0].name)
            else:
                self._ask([call])


def _aspects_of(part: Expression) -> Iterator[tuple[str, Aspect]]:
    """What a part of an expression uses of an element, except its properties."""
    match part:
        case HasLabels(subject=Variable(name=name)):
            yield from ((name, "labels"), (name, "type"))
        case Call(function=function, arguments=(Variable(name=name),)):
            aspect = _ASPECTS.get(function.text.lower())
            if aspect is not None:
                yield name, aspect


def _counts(call: Call) -> bool:
    """Whether an aggregate only tests whether its argument is null."""
    return is_count(call) and not call.distinct and len(call.arguments) == 1


def _weighed(call: Call) -> bool:
    return call.distinct or call.function.text.lower() in _WEIGHED
