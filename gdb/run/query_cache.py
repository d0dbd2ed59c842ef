"""Parsed, checked and logically planned queries by text: what needs no graph is done once, also for queries that write,
and in transactions."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, TypeAlias, TypeVar, cast

from gdb import limits
from gdb.base import forks, waiting
from gdb.errors import QueryError
from gdb.imports import deferred
from gdb.records import replace

if TYPE_CHECKING:
    from gdb.executor.relational.relational_tail import Value
    from gdb.language import shapes
    from gdb.language.clauses import Query
    from gdb.language.procedure_signatures import Procedure
    from gdb.language.shapes import Constant, Key
    from gdb.logical.operators import Plan
    from gdb.physical.one_pattern import OnePattern
    from gdb.physical.rows.kept import KeptPatterns
    from gdb.query_graph import MatchMode
    from gdb.run.bound_rows import BoundRows
    from gdb.run.columns_or_rows import Planned
    from gdb.run.computed_request import Computed
    from gdb.run.request import QueryRun, Request
else:  # only queries without parameters need it
    shapes = deferred("gdb.language.shapes")

MOST = 256
"""Queries of one database."""
MOST_UNBOUND = 8
"""Runs of the shape of a text that reads, none of them bound, after which such texts run as they are written."""
MOST_SAME = 3
"""Runs of the same text by its shape, after which it is kept itself."""
MOST_LENGTH = 1 << 20
"""Characters of all of them: a parsed query takes some hundred times the memory of its text."""
_CALCULATED = re.compile(r"(?!count\b)\b[A-Za-z_][\w.]*\(|\$\w+\s*[-.\[+*/^%]|[-+*/^%]\s*\$")
"""Calls, and parameters that are calculated with: what a text needs to have something that is calculated once."""
K = TypeVar("K", bound=Hashable)
T = TypeVar("T")
_PreparedKey: TypeAlias = "tuple[tuple[bool, ...], frozenset[str]]"


class QueryCache:
    """The queries of one database, by text; safe for any number of threads."""

    def __init__(self) -> None:
        self._lock = waiting.Lock()
        self._forget()
        forks.watch(self)

    def _forget(self) -> None:
        self._queries: OrderedDict[str, Query] = OrderedDict()
        self._warnings: dict[str, dict[tuple[frozenset[str], MatchMode], tuple[str, ...]]] = {}
        self._plans: dict[str, dict[MatchMode, Plan]] = {}
        self._patterns: dict[str, dict[MatchMode, KeptPatterns]] = {}
        self._single: dict[str, dict[MatchMode, OnePattern | None]] = {}
        self._of_schema: dict[str, dict[Hashable, tuple[Hashable, tuple[str, ...]]]] = {}
        self._prepared: dict[str, dict[_PreparedKey, Planned]] = {}
        self._bound: dict[str, BoundRows | None] = {}  # None for what cannot be
        self._computed: dict[str, Computed | None] = {}  # None where nothing is, or nothing good
        # that have run over a snapshot since `leave_snapshots`
        self.holding: set[BoundRows] = set()
        self._found = (
            *(self._warnings, self._plans, self._patterns, self._single),
            *(self._of_schema, self._prepared, self._bound, self._computed),
        )
        self._length = 0
        self._shapes: OrderedDict[Key, str | None] = OrderedDict()
        self._once: set[Key] = set()  # what was seen once and has no shape yet
        self._unbound: dict[Key, int] = {}  # runs of a shape that reads since it last was bound
        self._same: dict[str, int] = {}  # how often a text ran by its shape

    def forked(self) -> None:
        """Drop everything if another thread of the parent was changing it."""
        if self._lock.torn:
            self._forget()

    def shaped(self, text: str) -> tuple[str, dict[str, Constant]] | None:
        """The shape of a text that came before with other literals, and its parameters (`gdb.language.shapes`). None
        where it has none, or comes for the first time; and of a text that reads where it is kept itself, or where its
        shape came again and again and was not bound: then one plan for all values has no advantage, and may be bad."""
        reads = shapes.reads(text)
        own = reads and (text in self._queries or self._same.get(text, 0) >= MOST_SAME)
        found = None if own else shapes.split_literals(text)
        if found is None:
            return None
        key, values = found
        with self._lock:
            made, known = self._shapes.get(key), key in self._shapes
            if made is not None and reads:
                self._unbound[key] = times = self._unbound.get(key, 0) + 1
                if times > MOST_UNBOUND:
                    made = self._shapes[key] = None
            elif not known and key not in self._once:
                if len(self._once) >= MOST:
                    self._once.clear()
                self._once.add(key)
                return None
        if not known:
            made = self._shape(text, key, values)
        return None if made is None else (made, shapes.named_parameters(values))

    def _shape(self, text: str, key: Key, values: list[Constant]) -> str | None:
        """Find the shape of a text, and keep it."""
        from gdb.language.checks import check  # here: texts in the cache are not checked again

        made = None
        with suppress(QueryError):  # what is wrong is said of the text
            made = shapes.shape(text, key, values, self.parsed)
            if made is not None and check(self.parsed(text), ()):
                made = None  # a warning shows what is written
        with self._lock:
            self._once.discard(key)
            self._shapes[key] = made
            self._unbound.pop(key, None)
            while len(self._shapes) > MOST:
                self._unbound.pop(self._shapes.popitem(last=False)[0], None)
        return made

    def shape_of_reading(self, text: str) -> tuple[str, Key, dict[str, Constant]] | None:
        """The shape of a text that reads, its key, and its parameters; None where it is not kept."""
        times = self._same.get(text, 0)
        if times >= MOST_SAME or not self._shapes or not shapes.reads(text):
            return None
        found = shapes.split_literals(text)
        made = None if found is None else self._shapes.get(found[0])
        if made is None or found is None:
            return None
        if len(self._same) >= MOST:
            self._same.clear()
        self._same[text] = times + 1
        return made, found[0], shapes.named_parameters(found[1])

    def ran_bound(self, key: Key) -> None:
        """Note that a shape that reads was bound."""
        self._unbound.pop(key, None)

    def has_shape(self, text: str) -> bool:
        """Whether a text writes, gives nothing back, and its shape is kept."""
        found = None if shapes.reads(text) else shapes.split_literals(text)
        return found is not None and self._shapes.get(found[0]) is not None

    def run_as_written(self, text: str) -> None:
        """See to it that a text runs as it is written when it comes again; where its shape is kept, all texts of it."""
        found = shapes.split_literals(text)
        if found is not None:
            key, _ = found
            with self._lock:
                self._once.discard(key)
                if key in self._shapes:
                    self._shapes[key] = None

    def parsed(self, text: str, pulse: Callable[[], object] = lambda: None) -> Query:
        """The query that a text is. pulse : called now and then while it is read. Raises as `gdb.language.parser`."""
        from gdb.language.parser import parse  # `import gdb` stays light

        with self._lock:
            known = self._queries.get(text)
            if known is not None:
                self._queries.move_to_end(text)
                return known
        query = parse(text, pulse)
        self._keep(query)
        return query

    def _keep(self, query: Query) -> None:
        with self._lock:
            if query.text not in self._queries:
                self._queries[query.text] = query
                self._length += len(query.text)
            while self._queries and (len(self._queries) > MOST or self._length > MOST_LENGTH):
                oldest, _ = self._queries.popitem(last=False)
                self._length -= len(oldest)
                if (bound := self._bound.get(oldest)) is not None:
                    self.holding.discard(bound)
                for of_text in self._found:
                    of_text.pop(oldest, None)

    def computed(
        self, text: str, parameters: Mapping[str, object] | None
    ) -> tuple[str, dict[str, object]] | None:
        """The text of a query that came before with parameters instead of what is calculated once for a run, and their
        values beside the user's; None where there is none."""
        found = self._computed.get(text)
        values = None if found is None else found.parameters(parameters)
        if found is None or values is None:
            return None
        self._keep(found.query)
        return found.query.text, values

    def computed_text(self, text: str) -> str | None:
        """The text that `computed` gives for a text, whatever the parameters; None where there is none."""
        found = self._computed.get(text)
        return None if found is None else found.query.text

    def is_computed(self, text: str) -> bool:
        """Whether it is known what of a text is calculated once for a run."""
        return text in self._computed

    def compute(self, request: Request, pulse: Callable[[], object]) -> None:
        """Find what of a text is calculated once for a run: nothing, where a warning shows what is written. Raises as
        `parsed` and `checked`."""
        if _CALCULATED.search(request.text) is None:
            with self._lock:
                if len(self._computed) >= 4 * MOST:
                    self._computed.clear()
                self._computed[request.text] = None
            return
        from gdb.run.computed_request import computed  # here: what is known needs it no more

        query, known = self.parsed(request.text, pulse), (request.procedures, request.mode, pulse)
        found = computed(query)
        if found is not None and self.checked(query, request.parameters, *known):
            found = None
        with self._lock:
            if self._queries.get(request.text) is query:
                self._computed[request.text] = found

    def leave_computed(self, text: str) -> None:
        """See to it that a text runs as it is written when it comes again."""
        with self._lock:
            if text in self._queries:
                self._computed[text] = None

    def _remembered(
        self, table: dict[str, dict[K, T]], query: Query, key: K, find: Callable[[], T]
    ) -> T:
        """What is found of a query by a key, kept in a table."""
        with self._lock:
            known = table.get(query.text, {})
            if key in known:
                return known[key]
        found = find()
        with self._lock:
            if self._keeps(query):
                table.setdefault(query.text, {})[key] = found
        return found

    def checked(
        self,
        query: Query,
        parameters: Mapping[str, object],
        procedures: Mapping[str, Procedure],
        mode: MatchMode,
        pulse: Callable[[], object] = lambda: None,
    ) -> tuple[str, ...]:
        """The warnings of a query. What a check finds depends on the names of the parameters, on the mode of a MATCH
        that names none, and with CALL on the procedures that there are. Raises as `gdb.language.checks.check`."""
        # here: texts in the cache are not checked again
        from gdb.language.checks import check
        from gdb.language.checks.pattern_checks import UNBOUNDED

        def find() -> tuple[str, ...]:
            found = check(query, parameters, procedures, pulse)
            if not any(warning.endswith(UNBOUNDED) for warning in found):
                return found
            # here: few queries have such paths
            from gdb.physical.unbounded_paths import without_searched

            return without_searched(found, query, procedures, mode)

        return self._remembered(self._warnings, query, (frozenset(parameters), mode), find)

    def planned(self, query: Query, procedures: Mapping[str, Procedure], mode: MatchMode) -> Plan:
        """The operators of a query that was checked (`gdb.logical.planning`)."""
        from gdb.logical.planning import planned  # here: texts in the cache are not planned again

        find = partial(planned, query, procedures, mode)
        return self._remembered(self._plans, query, mode, find)

    def one_pattern(self, query: Query, plan: Plan, mode: MatchMode) -> OnePattern | None:
        """The operators of a query as one pattern and its tail; None where they are none."""
        # here: texts in the cache are not taken apart again
        from gdb.physical.one_pattern import one_pattern

        return self._remembered(self._single, query, mode, partial(one_pattern, plan))

    def schema_warnings(
        self, query: Query, key: Hashable, schema: Hashable, find: Callable[[], tuple[str, ...]]
    ) -> tuple[str, ...]:
        """What a query names beside what a graph has, as the last snapshots of one schema had it.

        key : the query's text, mode, and kinds of parameters. schema : of the snapshot (`Snapshot.schema`).
        """
        with self._lock:
            known = self._of_schema.get(query.text, {}).get(key)
        if known is not None and known[0] == schema:
            return known[1]
        found = find()
        with self._lock:
            if self._keeps(query):
                self._of_schema.setdefault(query.text, {})[key] = schema, found
        return found

    def patterns(self, query: Query, plan: Plan, mode: MatchMode) -> KeptPatterns:
        """What earlier runs of a plan found of its operators."""
        from gdb.physical.rows.kept import KeptPatterns  # here: only runs over rows need it

        with self._lock:
            known = self._patterns.get(query.text, {}).get(mode)
            if known is None:
                known = KeptPatterns(plan)
                if self._plans.get(query.text, {}).get(mode) is plan:
                    self._patterns.setdefault(query.text, {})[mode] = known
        return known

    def prepared(self, request: Request) -> Planned | None:
        """The operators of a query that came before and runs operator by operator whatever the graph; None where that
        is not known of it."""
        several = self._prepared.get(request.text)
        found = None if several is None else several.get(_prepared_key(request))
        if found is not None:
            with self._lock:
                if request.text in self._queries:
                    self._queries.move_to_end(request.text)
        return found

    def prepare(self, request: Request, query: Query, plan: Planned) -> None:
        """Keep the operators of a query that was checked, and runs operator by operator whatever the graph."""
        with self._lock:
            if self._keeps(query):
                self._prepared.setdefault(query.text, {})[_prepared_key(request)] = plan

    def bound(self, text: str) -> BoundRows | None:
        """The statement of a text that runs over rows, where it is bound."""
        found = self._bound.get(text)
        if found is not None:
            with self._lock:
                if text in self._queries:
                    self._queries.move_to_end(text)
        return found

    def is_to_be_bound(self, text: str) -> bool:
        """Whether a statement that runs over rows and was prepared is to be bound (`keep_bound`)."""
        return text not in self._bound

    def keep_bound(self, text: str, made: BoundRows | None) -> None:
        """Keep a statement that was bound; None where it cannot be."""
        with self._lock:
            if text in self._queries:
                self._bound[text] = made

    def leave_snapshots(self) -> None:
        """See to it that no statement holds a snapshot."""
        with suppress(KeyError):  # another thread may be at it
            while True:
                self.holding.pop().leave()

    def _keeps(self, query: Query) -> bool:
        """Whether what is found of a query may be kept: not of a CALL, perhaps of a procedure, as these come and go."""
        return self._queries.get(query.text) is query and "call" not in query.text.lower()


def _prepared_key(request: Request) -> _PreparedKey:
    """What the meaning of a text depends on: its mode, as a tuple, which is hashed faster, and the names of the
    parameters."""
    mode = request.mode
    flags = mode.edges_differ, mode.nodes_differ, mode.distinct, mode.induced
    return flags, frozenset(request.parameters)


def by_shape(request: Request, cache: QueryCache) -> Request | None:
    """The request with its literals as parameters, where a statement of its shape came before (`QueryCache.shaped`).

    Raises
    ------
    QueryError : the text is no query.
    """
    text = request.text
    if request.parameters or len(text) > limits.size("MAX_QUERY_CHARACTERS"):
        return None
    if not text.isascii():
        from gdb.language.tokens import check_unicode  # here: most texts are ASCII

        check_unicode(text)
    reads = shapes.reads(text)
    found = cache.shaped(text) if request.plain or not reads else None
    return (
        None if found is None else replace(request, text=found[0], parameters=found[1], plain=reads)
    )


def answer_computed(run: QueryRun, answer: Callable[[QueryRun], T]) -> T:
    """What `answer` gives for a run, with parameters instead of what is calculated once. Where that fails, the query is
    run as it is written: a part that has no value may not be needed, and an error shows what is written."""
    asked, cache = run.request, run.statements.cache
    if not cache.is_computed(asked.text):
        run.clock.step("parse", lambda: cache.compute(asked, run.clock.check))
    found = cache.computed(asked.text, asked.parameters)
    if found is None:
        return answer(run)
    run.request = replace(asked, text=found[0], parameters=cast("dict[str, Value]", found[1]))
    with suppress(QueryError):
        return answer(run)
    run.request = asked
    result = answer(run)
    cache.leave_computed(asked.text)
    return result
