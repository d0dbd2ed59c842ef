"""EXPLAIN and PROFILE of a query that is one pattern and its tail (`gdb.run.operator_tree`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from gdb.answer.result import Result
from gdb.answer.summary import Summary, spent_lines
from gdb.errors import QueryError
from gdb.executor import run as executor
from gdb.executor.choose_device import shown
from gdb.executor.relational import relational_tail
from gdb.language.clauses import Match
from gdb.logical.cardinality import cardinality
from gdb.logical.operators import Plan
from gdb.physical.kind_counts import suits
from gdb.physical.meter import ANSWER, Figures, Meter
from gdb.physical.pattern_plans import embeddings
from gdb.physical.tail import TailCompiler
from gdb.planner.explain import explain
from gdb.records import replace
from gdb.run.operator_tree import DUCKDB, Shown, figures_text, tree_lines

if TYPE_CHECKING:
    import threading

    from gdb.executor.relational.arrow import Array
    from gdb.executor.relational.relational_tail import Tail, TailResult
    from gdb.logical.operators import Operator, Operators
    from gdb.physical.columns.steps import Chain
    from gdb.physical.one_pattern import OnePattern
    from gdb.run.request import QueryRun, Request
    from gdb.run.statements import Statement
    from gdb.storage.graph.adjacency import I64

Finish = Callable[..., "TailResult"]
"""As `gdb.executor.relational.relational_tail.finish`."""


def explain_lines(run: QueryRun, statement: Statement) -> list[str]:
    """The lines of EXPLAIN. Raises DeviceError."""
    return _lines(run, statement, None, {})


def profile_statement(
    run: QueryRun,
    statement: Statement,
    ran: Callable[[Statement, executor.Profile, Finish], Result],
) -> Result:
    """The plan in lines, with what its run counted and the seconds of each step.

    ran : gives the answer of a statement; the profile is what the executors note in, and the tail is finished by the
        third argument. Raises what it raises.
    """
    profile = executor.Profile(loops=True)
    measured = _Measured(statement, Meter(profile))
    result = ran(measured.statement, profile, measured.finish)
    summary = result.summary
    if summary.why:  # columns failed at a value: it ran again over rows, and says so itself
        return result
    figures = measured.figures(summary)
    lines = _lines(run, statement, profile, figures)
    if measured.answer is not None:
        lines.append(f"Result   [{DUCKDB}]   {figures_text(measured.answer)}")
    lines += [f"embeddings: {summary.embeddings:,}   rows: {summary.rows:,}", *spent_lines(summary)]
    if summary.device.startswith("cuda"):
        kernels = summary.kernel_seconds * 1e3
        lines.append(
            f"on {summary.device}: {kernels:.3f} ms in kernels, {summary.moved_bytes:,} bytes copied to it"
        )
    shown = Summary(summary.seconds, summary.device, len(lines), bytes_read=summary.bytes_read)
    return Result.of_lines("plan", lines, shown)


# ---- lines ---------------------------------------------------------------------------------------


def _lines(
    run: QueryRun,
    statement: Statement,
    profile: executor.Profile | None,
    figures: Mapping[int, Figures],
) -> list[str]:
    """profile, figures : of a run; None and nothing under EXPLAIN."""
    request, snapshot = run.request, run.snapshot
    bound, tail = statement.bound, statement.tail
    plan = statement.plan.best
    pattern = bound.sources.pattern
    counted = None if profile is None else profile.bound
    nest = tuple(explain(plan, snapshot, request.options(request.timeout), counted).splitlines())
    device = shown(plan, request.device, snapshot, ran=profile is not None).device
    *before, last = pattern.first

    def show(operator: Operator) -> Shown:
        if operator in before:
            return Shown(f"compiled nest on {device}", merged=True)
        own = figures.get(id(operator))
        if operator is last:
            return Shown(_of_pattern(statement, device), nest, own)
        return Shown(_of_tail(tail), (), own, merged=profile is not None and own is None)

    expected = _expected(pattern, statement, request)
    lines = [f"one compiled pattern{_then(statement, ran=profile is not None)}"]
    lines += tree_lines(_plan(pattern, pattern.operators), show, expected)
    known = "\n".join(lines)
    return [*lines, *(f"warning: {text}" for text in bound.warnings if text not in known)]


def _plan(pattern: OnePattern, operators: Operators) -> Plan:
    return Plan(pattern.text, (operators,), (), (), True)


def _expected(
    pattern: OnePattern, statement: Statement, request: Request
) -> dict[int, float | None]:
    """The rows of the operators: the first ones are one pattern, and estimated as one."""
    unknown = statement.bound.sources.rest or _only_matched(statement)
    many = None if unknown else embeddings(statement.plan)
    found: dict[int, float | None] = {id(pattern.first[-1]): many}
    behind = _plan(pattern, pattern.behind)
    return found | cardinality(behind, lambda _: None, request.parameters, many)


def _only_matched(statement: Statement) -> bool:
    """Whether an OPTIONAL MATCH is matched as a MATCH is: its rows that match nothing are not counted, so that the
    number of embeddings is not that of its rows."""
    first = statement.bound.sources.pattern.first
    optional = any(isinstance(one, Match) and one.optional for one in first)
    return optional and not statement.plan.optional


def _of_pattern(statement: Statement, device: str) -> str:
    """How the pattern runs."""
    plan, tail = statement.plan, statement.tail
    how = f"compiled nest on {device}"
    if tail.once is not None:
        return f"{how}, each {plan.names[tail.once]} once"
    if tail.count_only and _only_matched(statement):
        return f"{how}, counted without the rows that match nothing"
    if tail.count_only:
        return f"{how}, counted"
    if suits(statement.bound.graph, tail, statement.bound.sources.scope):
        return "counted for each kind of nodes and relationships, by degrees and label sets"
    if plan.counting and tail.tallied_vertex is not None:
        return f"{how}, counted for each {plan.names[tail.tallied_vertex]}"
    if tail.row_limit is not None:
        return f"{how}, stops after {tail.row_limit:,} rows"
    if tail.first is not None:
        return f"{how}, keeps the first {tail.first.count:,} rows in order"
    return how


def _selects(tail: Tail) -> bool:
    """Whether DuckDB runs it."""
    return tail.direct is None and tail.tally is None and not tail.count_only


def _of_tail(tail: Tail) -> str:
    """How the operators behind the pattern run."""
    if tail.count_only:
        return "in the nest"
    if tail.direct is not None:
        return "columns of the store on cpu"
    return "NumPy on cpu" if tail.tally is not None else DUCKDB


def _then(statement: Statement, *, ran: bool) -> str:
    """What becomes of its embeddings. ran : under PROFILE, which measures the SELECT."""
    tail = statement.tail
    if tail.count_only:
        return ", whose number is the answer"
    if tail.direct is not None:
        return ", whose columns are the answer"
    many = ", then NumPy" if tail.tally is not None else ", then columns (DuckDB)"
    tails = None if ran else statement.row_tails
    most = 0 if tails is None else tails.most
    return f"{many}; up to {most:,} embeddings over rows" if most else many


# ---- what a run did ------------------------------------------------------------------------------


class _Measured:
    """A statement whose tail is finished operator by operator.

    statement : the one to run: its embeddings have the columns that this takes. answer : what the last SELECT did.
    """

    def __init__(self, statement: Statement, meter: Meter) -> None:
        self.meter, self.plans = meter, meter.profile.plans
        self.statement = statement
        self.chain: Chain | None = None
        self.answer: Figures | None = None
        if _selects(statement.tail):
            self._take_apart(statement)

    def _take_apart(self, statement: Statement) -> None:
        tail, sources = statement.tail, statement.bound.sources
        pattern = sources.pattern
        kinds = suits(statement.bound.graph, tail, sources.scope)
        weighted = tail.numbered is not None and (kinds or statement.plan.counting)
        try:
            given = sources.scope, pattern.behind, pattern.names, sources.rest, pattern.demand
            weight = relational_tail.NUMBER if weighted else None
            chain, columns = TailCompiler(*given).by_operator(pattern.first[-1], weight)
        except QueryError:
            return  # it runs as one SELECT, and the last operator has its figures
        self.chain = chain
        self.statement = replace(statement, tail=replace(tail, columns=columns, first=None))

    def finish(
        self,
        tail: Tail,
        parts: Sequence[Array],
        *,
        numbers: I64 | None,
        memory: int | None,
        cancel: threading.Event | None,
        deadline: float | None,
    ) -> TailResult:
        """As `gdb.executor.relational.relational_tail.finish`."""
        if self.chain is None:
            return relational_tail.finish(
                *(tail, parts),
                numbers=numbers,
                memory=memory,
                cancel=cancel,
                deadline=deadline,
            )
        from gdb.executor.relational.relational import Session  # here: it imports DuckDB
        from gdb.physical.columns.chain_run import over_embeddings

        relation = relational_tail.unite_parts(parts)
        if numbers is not None:
            relation = relational_tail.with_multiplicities(tail.columns, relation, numbers)
        with Session(memory, cancel, deadline) as session:
            found = over_embeddings(relation, self.chain, session, self.meter)
        self.answer = self.meter.step(ANSWER)
        return found

    def figures(self, summary: Summary) -> dict[int, Figures]:
        """The figures of the operators, by `id`; none of those that ran as one with the next."""
        pattern = self.statement.bound.sources.pattern
        *_, last = pattern.first
        held = max((run.budget.most for run in self.plans), default=0)
        rows = None if _only_matched(self.statement) else summary.embeddings
        own = Figures(rows, summary.seconds.get("run"), held or None)
        found = {id(last): own}
        if self.chain is None:
            return found | self._of_tail(pattern.behind, summary)
        for operator in (last, *pattern.behind):
            known = self.meter.operators.get(id(operator))
            if known is not None:
                figures = found.setdefault(id(operator), Figures())
                figures.rows = known.rows
                for step in self.chain.owned(operator):
                    figures.add(self.meter.step(step.name))
        return found

    def _of_tail(self, behind: Operators, summary: Summary) -> dict[int, Figures]:
        """Where it is no chain: rows are known where every operator makes as many as the answer has."""
        known = behind[-1:] if _selects(self.statement.tail) else behind
        found = {id(one): Figures(summary.rows) for one in known}
        found[id(behind[-1])].seconds = summary.seconds.get("tail")
        return found
