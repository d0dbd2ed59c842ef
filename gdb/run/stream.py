"""Rows of a query as they are found: an answer larger than memory, taken piece by piece.

The query runs on a thread of its own and waits while `_MOST` pieces wait to be taken, so that a stream holds a bounded
number of rows however many there are, and so long as it is not read, nothing works. A statement that is known to give
no rows (its shape is: `gdb.run.query_cache`) runs on the thread of its reader.
"""

from __future__ import annotations

import logging
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain, islice
from typing import TYPE_CHECKING, TypeVar

from gdb import limits
from gdb.answer.result import Result, batch_size
from gdb.answer.rows import Answer, ColumnAnswer, RowAnswer, rows_of
from gdb.answer.summary import Summary
from gdb.base import forks, threads, waiting
from gdb.base.closing import Closing, Uncopied
from gdb.base.threads import for_callers
from gdb.errors import Cancelled, ClosedError, InternalError, QueryError
from gdb.executor import run as executor
from gdb.executor.relational import relational_tail
from gdb.language.parser import parse
from gdb.language.suspects import locate_failure
from gdb.records import dataclass
from gdb.run.interrupt import Cancel, run_interruptibly
from gdb.run.late_interrupt import Outcome
from gdb.run.pipeline import answer, run_statement

if TYPE_CHECKING:
    from gdb.answer.row import Row
    from gdb.executor.plan.embeddings import Embeddings
    from gdb.executor.relational.arrow import Array
    from gdb.run.request import QueryRun
    from gdb.run.statements import Statement

_log = logging.getLogger("gdb")
T = TypeVar("T")

_BLOCK = 256  # rows
_MOST = 8  # pieces that wait, beside one in the hands of each worker


@dataclass(frozen=True, slots=True)
class Begun:
    """What is known of the answer before its first row."""

    columns: list[str]
    warnings: tuple[str, ...]


class Pipe:
    """Between a query, which gives, and its reader, who takes; each waits for the other."""

    def __init__(self, cancel: threading.Event) -> None:
        self.cancel = cancel
        self._guard = waiting.Lock()  # of what follows
        self._state = threading.Condition(self._guard)
        self._pieces: deque[Answer] = deque()
        self.begun: Begun | None = None
        self.summary: Summary | None = None
        self._error: BaseException | None = None
        self._ended = self._failed = False
        self.given = 0  # pieces, in all
        forks.watch(self)

    def forked(self) -> None:
        """The query runs in the parent, and its thread is not here."""
        self.cancel, self._state = Cancel(), threading.Condition(self._guard)
        self._pieces, self._ended = deque(), True
        self._error = ClosedError(
            "the stream was begun in the parent process, where its query runs.",
            "Run the query in this process: db.stream(...).",
        )

    # ---- the query's side ------------------------------------------------------------------------

    def begin(self, begun: Begun) -> None:
        """Publish what the answer is; wakes the reader that waits in `started`."""
        with self._guard:
            self.begun = begun
            self._state.notify_all()

    def give(self, piece: Answer) -> None:
        """Add a piece, once there is room.

        Raises
        ------
        Cancelled : the stream was closed or cancelled.
        """
        with self._guard:
            while len(self._pieces) >= _MOST and not self.cancel.is_set():
                self._state.wait(waiting.STEP)
            if self.cancel.is_set():
                raise Outcome().cancelled()
            self._give(piece)

    def give_all(self, answer: Answer) -> None:
        """Give all rows at once, when nothing is left to be cancelled: what they describe may be committed."""
        with self._guard:
            self._give(answer)

    def _give(self, piece: Answer) -> None:
        self._pieces.append(piece)
        self.given += 1
        self._state.notify_all()

    def run(self, work: Callable[[Pipe], Summary]) -> None:
        """Do the work whose pieces these are, and keep what it raises for the reader."""
        summary, error = None, None
        try:
            summary = work(self)
        except BaseException as raised:
            error = raised
        with self._guard:
            self.summary, self._error, self._ended = summary, error, True
            self._state.notify_all()

    # ---- the reader's side -----------------------------------------------------------------------

    def started(self) -> Begun:
        """What the answer is; waits until it is known."""
        with self._guard:
            waiting.until(self._state, lambda: self.begun is not None or self._ended)
            if self.begun is None:
                self._raise()
                raise InternalError("a query ended without an answer.", "Please report it.")
            return self.begun

    def take(self) -> Answer | None:
        """The next piece; None after the last."""
        with self._guard:
            waiting.until(self._state, lambda: self._pieces or self._ended)
            if self._pieces:
                piece = self._pieces.popleft()
                self._state.notify_all()
                return piece
            self._raise()
            return None

    def stop(self) -> None:
        """Want no more."""
        self.cancel.set()
        with self._guard:
            self._pieces.clear()
            self._state.notify_all()

    def wait(self, impatient: threading.Event) -> None:
        """Until the query has ended, or `impatient` is set."""
        with self._guard:
            waiting.until(self._state, lambda: self._ended or impatient.is_set())

    def _raise(self) -> None:
        """Raise what the query has raised, once: its traceback has the reader's frames, and with these all that the
        query read, which would stay as long as it is held here."""
        error, self._error = self._error, None
        if error is None and self._failed:
            raise ClosedError("the query of the stream has failed.", "Begin another one.")
        if error is not None:
            self._failed = True
            try:
                raise error
            finally:
                del error


class Stream(Uncopied, Closing):
    """The answer of `Database.stream`, read once, from one thread at a time: as tuples by iterating, or as Arrow by
    `batches`. A `with` block ends the query when it is left; so does `close`, and so does forgetting the stream.

    Each iteration goes on where the one before it stopped, whichever of the two it was: no row is given twice, none is
    left out. Reading a stream that was closed raises ClosedError.

    Iterating raises what `Database.execute` raises, when it comes to it: rows before an error are good. Ctrl-C while
    waiting for rows ends the query and raises Cancelled. A query that writes is committed before its first row.
    """

    _instead = "Give the rows that are read of it."

    def __init__(
        self, pipe: Pipe, work: Callable[[Pipe], Summary], outcome: Outcome, at_once: bool = False
    ) -> None:
        """at_once : do the work on this thread, since it gives no rows to wait for."""
        self._pipe, self._outcome = pipe, outcome
        self._run = partial(pipe.run, work)
        self._at_once = at_once
        self._closed = False
        self._piece: Answer | None = None  # which is being read
        self._taken = 0  # rows of it that were read before `_rows`
        self._rows: Iterator[Row] | None = None  # the rest of it, while it is read as rows
        self._block: list[Row] = []  # of `_rows`, where they are
        self._end = weakref.finalize(self, pipe.stop)
        # a daemon: a program that ends does not wait for a query whose rows are never read
        target = for_callers(self._run)  # this thread waits for its first row, and for others
        self._thread = threading.Thread(target=target, name="gdb-stream", daemon=True)
        begun = self._waited(self._begun)
        self.columns: list[str] = begun.columns
        self.warnings: tuple[str, ...] = begun.warnings

    def _begun(self) -> Begun:
        if self._at_once:
            self._run()
        else:
            threads.start(self._thread)
        return self._pipe.started()

    @property
    def summary(self) -> Summary | None:
        """How the query went; None while it runs, and where it failed.

        It is there once a loop has come to the end of the rows, and may be there before: the last rows wait to be read
        when the query has ended.
        """
        return self._pipe.summary

    def __iter__(self) -> Iterator[Row]:
        while (piece := self._current()) is not None:
            if self._rows is None:
                self._rows = chain.from_iterable(self._blocks(piece, self._taken))
            rows = self._rows
            yield from rows
            if self._rows is rows:  # neither `batches` nor `close` has emptied it
                self._taken, self._rows = len(piece), None

    def _blocks(self, piece: Answer, taken: int) -> Iterator[list[Row]]:
        """The rows behind those that were taken, in lists that `close` empties: a loop that is in one ends there."""
        rows = islice(rows_of(piece), taken, None)
        while self._piece is piece and (block := [*islice(rows, _BLOCK)]):
            self._block = block
            yield block

    def batches(self, size: int = 65_536) -> Iterator[Array]:
        """The rows that are left as Arrow, at most `size` at a time, all of one type, as `Result.batches` has them.

        Raises
        ------
        TypeProblem : `size` is no positive integer. All that iterating raises.
        """
        self._check_open()
        return self._batches(batch_size(size))

    def _batches(self, size: int) -> Iterator[Array]:
        while (piece := self._current()) is not None:
            if self._rows is not None:
                rows, self._rows = self._rows, None
                self._taken = len(piece) - sum(1 for _ in rows)
            taken = self._taken
            for batch in _from_row(piece.batches(size), size, taken):
                taken = self._taken = taken + len(batch)
                yield batch
                if self._taken != taken or self._rows is not None or self._piece is not piece:
                    break  # another loop has read rows meanwhile
            else:
                self._taken = len(piece)

    def _current(self) -> Answer | None:
        """The piece whose rows are read next; None after the last.

        Raises
        ------
        ClosedError : the stream is closed.
        """
        self._check_open()
        if self._piece is None or (self._rows is None and self._taken >= len(self._piece)):
            self._piece = None
            self._piece, self._taken = self._waited(self._pipe.take), 0
        return self._piece

    def _check_open(self) -> None:
        if self._closed:
            raise ClosedError(
                "the stream is closed.", "Read it inside of its `with` block, or stream again."
            )

    def cancelled(self) -> Cancelled:
        """What to raise for a Ctrl-C that came between two rows; it says whether what the query wrote is committed."""
        return self._outcome.cancelled()

    def close(self) -> None:
        """End the query; wait until it has stopped. Rows that were not read are lost: reading raises ClosedError."""
        self._closed = True
        self._piece = self._rows = None
        self._block.clear()
        impatient = Cancel()

        def stop() -> None:
            self._pipe.stop()
            self._end.detach()  # Python drops a Ctrl-C that strikes while it forgets an object
            if self._thread.ident is not None:  # else Ctrl-C came before it began
                self._pipe.wait(impatient)

        run_interruptibly(stop, impatient)

    def __repr__(self) -> str:
        state = "closed" if self._closed else "open"
        return f"<gdb.Stream of {', '.join(self.columns)}, {state}>"

    def _waited(self, wait: Callable[[], T]) -> T:
        try:
            return run_interruptibly(wait, self._pipe.cancel)
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):  # there was something to wait for no longer
                self.close()
            self._outcome.struck(error)
            raise


def _from_row(batches: Iterator[Array], size: int, row: int) -> Iterator[Array]:
    """The batches without the rows before one of them."""
    for batch in batches:
        if row == 0:
            yield batch
        elif row < len(batch):
            from gdb.executor.relational import arrow  # here: it imports nanoarrow

            yield from arrow.pieces(batch, size, row)
        row = max(0, row - len(batch))


def stream_query(run: QueryRun, pipe: Pipe) -> Summary:
    """Run a query and give its rows to a pipe: as they are found where it is one pattern whose rows are found one by
    one; else, what sorts, groups or has several clauses, when it has all of them.

    Raises
    ------
    GdbError : as `gdb.run.pipeline.answer`; where a GPU fails after the first rows, also with the device "auto".
    """

    def give(run: QueryRun, statement: Statement) -> Result:
        if not statement.tail.by_part or statement.tail.once is not None:
            return run_statement(run, statement)
        return Result(RowAnswer([], []), summary=_give_rows(run, statement, pipe))

    run.run = give
    found = answer(run)
    if pipe.begun is None:
        pipe.begin(Begun(found.columns, found.warnings))
        if len(found):
            pipe.give_all(found.answer)
    return found.summary


def _give_rows(run: QueryRun, statement: Statement, pipe: Pipe) -> Summary:
    """Give the rows of a statement."""
    notes = dict.fromkeys((*statement.bound.warnings, *statement.plan.notes.warnings))
    pipe.begin(Begun([output.name for output in statement.tail.outputs], tuple(notes)))
    try:
        return _by_part(run, statement, pipe)
    except QueryError as failed:
        if failed.line is not None:
            raise
        raise locate_failure(parse(run.request.text), failed) from None


def _by_part(run: QueryRun, statement: Statement, pipe: Pipe) -> Summary:
    request, snapshot, clock = run.request, run.snapshot, run.clock
    plan, tail = statement.plan, statement.tail
    profile = executor.Profile()
    options = run.options(profile)
    rows, lock, most = 0, threading.Lock(), limits.rows()

    def take(some: Embeddings) -> None:
        nonlocal rows
        made = relational_tail.finish(
            tail,
            [relational_tail.part(tail, some, snapshot)],
            memory=request.memory,
            cancel=request.cancel,
            deadline=clock.deadline,
        )
        if len(made):
            with lock:
                rows += len(made)
            limits.check_rows(rows, most)
            snapshot.look_at_rows()
            pipe.give(ColumnAnswer(made, snapshot))

    hand_over = partial(executor.handed_over, plan, snapshot, options, tail.wanted, take)
    embeddings = clock.step("run", lambda: hand_over(tail.row_limit, statement.bindings))
    return Summary(
        *(
            clock.seconds,
            options.ran,
            rows,
            embeddings,
            profile.kernel_seconds,
            profile.moved_bytes,
        ),
        bytes_read=clock.usage.bytes_read,
        evaluator="duckdb",
    )
