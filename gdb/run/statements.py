"""Prepared statements: what was understood and planned of a query is kept for when its text comes again.

A statement is found by text, match mode and the kinds of the parameters. It holds for one snapshot. The values of the
parameters are no part of it: with other values, what mentions them is evaluated again (`binder.with_values`), and the
plan and its prepared stages are kept as long as they are right and not much worse than a new plan would be.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING

from gdb.base import forks, waiting
from gdb.imports import deferred
from gdb.records import dataclass, replace
from gdb.run.parameters import kind_of
from gdb.run.query_cache import QueryCache

if TYPE_CHECKING:
    from gdb.answer.rows import Kinds
    from gdb.executor.nest import bindings
    from gdb.executor.nest.bindings import Bindings
    from gdb.executor.plan.plan import Compare, Plan
    from gdb.executor.relational import relational_tail
    from gdb.executor.relational.relational_tail import Tail, Value
    from gdb.language.pushdown import ElementConditions
    from gdb.language.syntax import ElementReference
    from gdb.physical.binder import BoundQuery
    from gdb.physical.counts import Counts
    from gdb.physical.rows.bound import Bound
    from gdb.physical.rows.row_tail import RowTails
    from gdb.query_graph import QueryEdge, QueryGraph, QueryVertex
    from gdb.run.bound_reads import Reads
    from gdb.run.bound_rows import BoundRows
    from gdb.run.bound_statement import BoundStatement
    from gdb.run.request import Request
    from gdb.storage.graph.snapshot import Snapshot
else:  # only texts that come again need them
    bindings = deferred("gdb.executor.nest.bindings")
    relational_tail = deferred("gdb.executor.relational.relational_tail")

MOST = 256  # statements of one database
MOST_BYTES = 512 << 20  # of what their stages keep
MOST_FOLLOWING = 128 << 20  # of those that outlive the snapshot for which they were planned
_THIRD = 3  # run of a text: it is bound, which takes as long as a few runs
_DRIFT = 8  # a candidate set this much larger or smaller than the planner saw needs a new plan,
_SMALL = 1024  # unless both are below this
_UNBOUNDED: Mapping[int, tuple[int, int]] = {}


# not frozen: each query makes one, and a frozen one takes four times as long to make
@dataclass(slots=True, eq=False)
class Statement:
    """A query understood and planned, its stages prepared once it ran.

    bound, plan : for the values that the query came with first.
    values : of the parameters. tail : as they have it.
    bindings : the candidates that they admit instead of the plan's, None for those.
    mentions : each query vertex and edge with conditions, the parameters in them, and these.
    lasting : parameters that only such conditions mention, and that the plan's symmetry does not depend on.
    passing : it is for these values alone, and the one before is kept.
    """

    bound: BoundQuery
    plan: Plan
    values: Mapping[str, Value]
    tail: Tail
    bindings: Bindings | None
    mentions: Sequence[tuple[ElementReference, frozenset[str], ElementConditions]]
    lasting: frozenset[str]
    passing: bool = False

    @classmethod
    def of(cls, bound: BoundQuery, plan: Plan) -> Statement:
        """The statement of a query that was just bound and planned. `lasting` is empty where values change the plan."""
        mentions = bound.conditions
        lasting = frozenset[str]()
        if _stay_unlike(plan, bound, [element.kind for element, *_ in mentions]):
            lasting = frozenset(bound.values) - bound.tail_names
        return cls(bound, plan, bound.values, bound.tail, None, mentions, lasting)

    @property
    def bytes(self) -> int:
        """Bytes that the plan's stages keep."""
        from gdb.executor.run import kept_bytes  # here: only a statement that has run is counted

        return kept_bytes(self.plan)

    @property
    def selects(self) -> bool:
        """Whether what is behind its pattern is a SELECT, or done over rows."""
        return self.tail.direct is None and not self.tail.count_only and not self.plan.counting

    @property
    def row_tails(self) -> RowTails | None:
        """The tail compiled for few embeddings; None where it has none, or needs none."""
        if not self.selects:
            return None
        tails = self.bound.row_tails
        return tails if tails.suit(self.values) else None

    def with_values(
        self,
        values: Mapping[str, Value],
        make_plan: Callable[[BoundQuery], Plan],
    ) -> Statement:
        """The statement for these values of its parameters; its plan is kept where that will do."""
        if self.has(values):
            return self
        bound = self.bound
        changed = bound.changed(values)
        if not changed:
            return replace(self, values=bound.values, tail=bound.tail, bindings=None)
        if changed <= self.lasting:
            compared = bound.graph.compared
            bounds = bound.bounds_again(values, changed) if compared else _UNBOUNDED
            if bounds is not None:
                numbered = self._numbered(bounds) if compared else _UNBOUNDED
                allowed = bound.allowed_again(values, changed, self.mentions)
                anew = bound.anew_at_hubs(values, allowed[0])
                if anew is not None:
                    return replace(Statement.of(anew, make_plan(anew)), passing=True)
                if numbered is not None:
                    changes = bindings.Bindings(*allowed, numbered)
                    if self._near(changes):
                        return self._with(values, bound.tail, changes)
        return self._bound_to(bound.with_values(values), make_plan)

    def has(self, values: Mapping[str, Value]) -> bool:
        """Whether it is the statement for these values."""
        known, same = self.values, relational_tail.same
        # not `all` of a generator, which takes a microsecond
        return not [name for name, value in values.items() if not same(value, known[name])]

    def _bound_to(self, bound: BoundQuery, make_plan: Callable[[BoundQuery], Plan]) -> Statement:
        """The statement of the query as it is bound anew."""
        before, after = self.bound.graph, bound.graph
        numbered = self._numbered_of(after)
        changes = bindings.Bindings(
            {
                k: allowed
                for k, allowed in enumerate(v.allowed for v in after.vertices)
                if allowed is not None and allowed is not before.vertices[k].allowed
            },
            {
                k: allowed
                for k, allowed in enumerate(e.allowed for e in after.edges)
                if allowed is not None and allowed is not before.edges[k].allowed
            },
            numbered or {},
        )
        others = changes.vertices or changes.edges or changes.bounds
        keeps = (
            numbered is not None
            and not after.optional
            and (_takes_others(self.plan, bound) or not others)
            and _same_tail(self.bound, bound)
            and after.symmetric_under == before.symmetric_under
            and _classes(after.vertices) == _classes(before.vertices)
            and _classes(after.edges) == _classes(before.edges)
            and self._near(changes)
        )
        if not keeps:
            return Statement.of(bound, make_plan(bound))
        return self._with(bound.values, bound.tail, changes)

    def _with(self, values: Mapping[str, Value], tail: Tail, changes: Bindings) -> Statement:
        """`bound` stays the query that was planned: changes are always measured against it."""
        return Statement(self.bound, self.plan, values, tail, changes, self.mentions, self.lasting)

    def _numbered_of(self, after: QueryGraph) -> dict[int, tuple[int, int]] | None:
        """The bounds that another query graph has, by the plan's numbers; None where more than bounds differs."""
        before = self.bound.graph.compared
        if _but_for_bounds(before) != _but_for_bounds(after.compared):
            return None
        changed = {
            k: (one.least, one.most) for k, one in enumerate(after.compared) if one is not before[k]
        }
        return self._numbered(changed)

    def _numbered(self, bounds: Mapping[int, tuple[int, int]]) -> dict[int, tuple[int, int]] | None:
        """Bounds of the query graph's comparisons as those of the plan's, which has them in its own order, and some
        that follow from them; None where the plan will not do for them."""
        from gdb.planner.implied import again  # here: only other values of parameters need it

        compared = self.bound.graph.compared
        number = {id(one): k for k, one in enumerate(self.plan.compares)}
        if any(id(compared[k]) not in number for k in bounds):
            return None  # it is no comparison to the plan
        return again(
            self.plan.compares, {number[id(compared[k])]: both for k, both in bounds.items()}
        )

    def _near(self, changes: Bindings) -> bool:
        """Whether candidate sets are of about the size that the planner saw, and lie where it took them to lie."""
        for vertex, allowed in changes.vertices.items():
            known, before = self.plan.candidates[vertex], self.bound.graph.vertices[vertex].allowed
            count, planned = len(allowed), known.count
            if before is None or len(before) != planned:
                return False
            if not are_near(count, planned):
                return False
            ranges = known.ranges
            if count and not ranges[0][0] <= allowed[0] <= allowed[-1] < ranges[-1][1]:
                return False
        return True


def are_near(count: int, planned: int) -> bool:
    """Whether a plan that was made for so many candidates of a query vertex will do for so many."""
    low, high = min(count, planned), max(count, planned)
    return high < _SMALL or high < _DRIFT * low


def _stay_unlike(plan: Plan, bound: BoundQuery, kinds: Sequence[str]) -> bool:
    """Whether a plan will do for other values of the parameters, which make elements with predicates alike or not: it
    was made where they were not. kinds : of these elements."""
    if not _takes_others(plan, bound):
        return False
    if all(kinds.count(kind) <= 1 for kind in kinds):
        return True
    graph = bound.graph
    texts = [v.predicate for v in graph.vertices] + [e.predicate for e in graph.edges]
    some = [text for text in texts if text]
    return not graph.mode.distinct and len({*some}) == len(some) == len(kinds)


def _takes_others(plan: Plan, bound: BoundQuery) -> bool:
    """Whether a plan can be run over other candidates: it has the query's own vertices, no terms that have some of
    their own, no numbering by degree, which has other vids."""
    own = len(plan.candidates) == len(bound.graph.vertices) + plan.further
    return own and not plan.terms and not plan.ranked and plan.divisor == 1


def _same_tail(before: BoundQuery, after: BoundQuery) -> bool:
    """Whether both need the same from the executor."""
    old, new = before.tail, after.tail
    return old is new or (
        (old.count_only, old.wanted, old.direct is None)
        == (new.count_only, new.wanted, new.direct is None)
    )


def _classes(alike: tuple[QueryVertex, ...] | tuple[QueryEdge, ...]) -> list[int]:
    """For each query vertex (edge) the first with the same predicate: what the symmetry of a plan rests on."""
    texts = [element.predicate for element in alike]
    return [texts.index(text) for text in texts]


def _but_for_bounds(compared: tuple[Compare, ...]) -> list[Compare]:
    return [replace(one, least=0, most=0) for one in compared]


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a query is not one pattern and its tail. lasting : whatever the values of its parameters. columns : nor are
    all of its operators for columns. always : whatever the graph. bound : it could be, but runs over so many rows;
    kinds : those of its columns."""

    why: str
    lasting: bool = True
    columns: bool = False
    always: bool = False
    bound: Bound | None = None
    kinds: Kinds | None = None


def key_of(request: Request) -> Hashable:
    """What a statement is found by."""
    mode = request.mode  # its numbers: to hash a dataclass takes longer than to find a statement
    flags = mode.edges_differ, mode.nodes_differ, mode.distinct, mode.induced
    if not request.parameters:
        return request.text, flags
    kinds = []
    for name, value in request.parameters.items():
        kinds.append((name, kind_of(value)))
    return request.text, flags, frozenset(kinds)


class Statements:
    """The statements of one database, for one snapshot at a time; safe for any number of threads.

    cache : of parsed queries, which lasts beyond a snapshot.
    """

    def __init__(self, cache: QueryCache | None = None) -> None:
        self.cache = QueryCache() if cache is None else cache
        self._lock = waiting.Lock()
        self._refused: dict[Hashable, Refusal] = {}
        self._counts: dict[Hashable, Counts] = {}
        self._kept: OrderedDict[Hashable, Statement] = OrderedDict()
        self._bytes: dict[Hashable, int] = {}  # of each when it was kept, and their sum
        self._held = 0
        self._bound: dict[str, BoundStatement | None] = {}  # by text; None for what cannot be
        self._runs: dict[str, int] = {}  # of texts that are not bound
        self._of: Snapshot | None = None
        forks.watch(self)

    def forked(self) -> None:
        """Drop everything if another thread of the parent was changing it."""
        if self._lock.torn:
            self._bound = {}
            self._forget(None)

    def of(self, snapshot: Snapshot) -> None:
        """Keep nothing of another snapshot."""
        with self._lock:
            if self._of is not snapshot:
                self._forget(snapshot)

    def find(self, key: Hashable, snapshot: Snapshot) -> Statement | None:
        """The statement kept for a key, if it is of this snapshot."""
        with self._lock:
            if self._of is not snapshot:
                return None
            found = self._kept.get(key)
            if found is not None:
                self._kept.move_to_end(key)
            return found

    def refusal(self, key: Hashable, snapshot: Snapshot) -> Refusal | None:
        """Why a query of this snapshot is not one pattern and its tail, where that is known."""
        with self._lock:
            return self._refused.get(key) if self._of is snapshot else None

    def refuse(self, key: Hashable, snapshot: Snapshot, why: Refusal) -> None:
        """Keep why a query is not one pattern and its tail."""
        with self._lock:
            if self._turned_to(snapshot) and len(self._refused) < MOST:
                self._refused[key] = why

    def counts(self, key: Hashable, snapshot: Snapshot) -> Counts | None:
        """The counts that a query of this snapshot begins with, where they are known."""
        with self._lock:
            return self._counts.get(key) if self._of is snapshot else None

    def keep_counts(self, key: Hashable, snapshot: Snapshot, counts: Counts) -> None:
        """Keep the counts that a query begins with, and their plans."""
        with self._lock:
            if self._turned_to(snapshot) and len(self._counts) < MOST:
                self._counts[key] = counts

    def _turned_to(self, snapshot: Snapshot) -> bool:
        """Whether what is kept is of this snapshot from now on; not where it is of a later one."""
        if self._of is not snapshot:
            if self._of is not None and self._of.version > snapshot.version:
                return False
            self._forget(snapshot)
        return True

    def keep(self, key: Hashable, snapshot: Snapshot, statement: Statement) -> None:
        """Keep a statement that ran; forget those of other snapshots, and the longest unused above `MOST` and
        `MOST_BYTES`."""
        with self._lock:
            if not self._turned_to(snapshot):
                return  # the query ended late
            known = key in self._kept
            self._kept[key] = statement
            if known:
                return
            self._bytes[key] = statement.bytes
            self._held += self._bytes[key]
            while self._kept and (len(self._kept) > MOST or self._held > MOST_BYTES):
                oldest, last = self._kept.popitem(last=False)
                text = last.bound.sources.pattern.text
                bound = self._bound.get(text)
                if bound is not None and bound.used:  # `find` does not see its runs
                    bound.used = False
                    self._kept[oldest] = last
                    continue
                self._held -= self._bytes.pop(oldest)
                self._bound.pop(text, None)

    def bound(self, text: str) -> BoundStatement | BoundRows | None:
        """The statement of a text that is bound: to a snapshot, perhaps an earlier one, or to none."""
        return self._bound.get(text) or self.cache.bound(text)

    def bound_otherwise(
        self, text: str, parameters: Mapping[str, object] | None
    ) -> tuple[BoundStatement | BoundRows | None, Mapping[str, object] | None, bool]:
        """The bound statement of another text that says the same, None where there is none, its parameters, and whether
        there is one: of a text with parameters instead of what is calculated once (`gdb.run.computed_request`), or of
        the shape of a text that reads (`gdb.language.shapes`)."""
        other = self.cache.computed_text(text)
        if other is not None:
            bound = self.bound(other)
            computed = None if bound is None else self.cache.computed(text, parameters)
            if bound is None or computed is None:
                return None, parameters, False
            return bound, computed[1], True
        found = None if parameters else self.cache.shape_of_reading(text)
        if found is None or (bound := self.bound(found[0])) is None:
            return None, parameters, False
        self.cache.ran_bound(found[1])
        return bound, found[2], True

    def is_to_be_bound(self, text: str, snapshot: Snapshot) -> bool:
        """Whether a statement that has run for a request without options is to be bound to a snapshot (`keep_bound`),
        as it came before and was not."""
        if text in self._bound and self._of is snapshot:
            return False
        with self._lock:
            if text not in self._runs and len(self._runs) >= MOST:
                self._runs.clear()
            self._runs[text] = runs = self._runs.get(text, 0) + 1
        return runs >= _THIRD

    def keep_bound(self, text: str, snapshot: Snapshot, made: BoundStatement | None) -> None:
        """Keep a statement that was bound to a snapshot; None where it cannot be."""
        with self._lock:
            if self._of is snapshot:
                self._bound[text] = made

    def moved(self, bound: BoundStatement, snapshot: Snapshot) -> Reads | None:
        """What a statement that was bound to an earlier snapshot looks up in this one; None where it depends on what
        was committed since."""
        with self._lock:
            if not self._turned_to(snapshot) or self._bound.get(bound.text) is not bound:
                return None
        reads = bound.over(snapshot)
        with self._lock:
            if self._of is snapshot and self._bound.get(bound.text) is bound:
                bound.reads = reads
                if reads is None:
                    del self._bound[bound.text]
        return reads

    def committed(self, snapshot: Snapshot) -> None:
        """To be called after a commit, before files that it has replaced are removed: keep nothing of an earlier
        snapshot but what this one has as well."""
        self.cache.leave_snapshots()
        if self._of is not None or self._bound:
            with self._lock:
                self._turned_to(snapshot)

    def clear(self) -> None:
        """Forget all, so that nothing holds the snapshot."""
        self.cache.leave_snapshots()
        if self._of is not None or self._bound:
            with self._lock:
                self._forget(None)

    def _forget(self, snapshot: Snapshot | None) -> None:
        self.cache.leave_snapshots()
        self._bound = self._followers(snapshot)
        for known in (self._kept, self._bytes, self._refused, self._counts):
            if known:
                known.clear()
        self._held, self._of = 0, snapshot

    def _followers(self, snapshot: Snapshot | None) -> dict[str, BoundStatement | None]:
        """The bound statements that do not depend on what was committed before a snapshot, the latest ones. They hold
        no snapshot until they run again."""
        found: dict[str, BoundStatement | None] = {}
        left = MOST_FOLLOWING
        for text, one in reversed(self._bound.items()):
            if one is not None and one.leaves(snapshot) and len(found) < MOST:
                left -= one.bytes
                if left >= 0:
                    found[text] = one
                    continue
            self._runs.pop(text, None)
        return dict(reversed(found.items()))

    def __len__(self) -> int:
        return len(self._kept)
