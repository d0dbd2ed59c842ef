"""What a Database is asked: queries, their plans, and what the graph holds."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from gdb import options
from gdb.errors import Cancelled, ChangeRefused, ReadOnlyError
from gdb.interrupt import run_beside
from gdb.procedures import ALWAYS, registered
from gdb.schema import Schema, schema_of
from gdb.statements import Statements
from gdb.work import Work

if TYPE_CHECKING:
    from pathlib import Path

    from gdb.dbapi import Cursor
    from gdb.language.procedures import Procedure
    from gdb.query_graph import MatchMode
    from gdb.request import Load, Request
    from gdb.result import DeviceColumns, Result
    from gdb.storage.snapshot import StoreStats
    from gdb.storage.store import Store
    from gdb.storage.transaction import Changes
    from gdb.stream import Stream

T = TypeVar("T")


class Queries:
    """The part of a Database that answers. See `gdb.api.Database`, which opens the store.

    mode : of a MATCH that names none. import_root : where files that LOAD CSV reads must lie, None for any.
    """

    def __init__(
        self, store: Store, mode: MatchMode, *, read_only: bool, import_root: Path | None
    ) -> None:
        self._store, self._mode = store, mode
        self._read_only, self._import_root = read_only, import_root
        self._work = Work()
        self._statements = Statements()
        self._events: list[threading.Event] = []  # of queries that have ended
        self._procedures: Mapping[str, Procedure] = ALWAYS

    def execute(
        self,
        text: str,
        parameters: Mapping[str, object] | None = None,
        *,
        device: str = "auto",
        memory: int | str | None = None,
        timeout: float | None = None,
        match: str | None = None,
        threads: int = 0,
    ) -> Result:
        """Run one query. What was understood and planned of its text is kept, for when it comes again with the same
        or with other parameters.

        Parameters
        ----------
        text : a Cypher query (docs/LANGUAGE.md); EXPLAIN before it gives the plan instead.
        parameters : values for $name in the text: numbers, booleans, strings, dates, datetimes, timedeltas, None, lists
            of these.
        device : "auto", "cpu", "cuda", "cuda:N", or several GPUs: "cuda:0,1", each of which holds the graph.
        memory : budget in bytes, or as in "8GB"; None for none.
        timeout : seconds; None for none.
        match : mode of a MATCH that names none, instead of the database's.
        threads : 0 for one on each core.

        Raises
        ------
        SyntaxProblem, NameProblem, TypeProblem, NotSupported, LimitExceeded : the query cannot be understood.
        Cancelled : Ctrl-C, `interrupt` or `close`; what ran has stopped.
        QueryTimeout, OutOfBudget, DeviceError, RunError : it cannot be finished.
        ClosedError : the database is closed.
        """
        from gdb.pipeline import answer  # here and below: who imports a graph asks nothing

        request = self._request(text, parameters, device, memory, timeout, match, threads)
        cancel = request.cancel
        try:
            return self._work.do(
                lambda: answer(request, self._store.snapshot(), self._statements, self._change),
                cancel,
            )
        except KeyboardInterrupt:  # it came when the answer was ready
            raise Cancelled("the query was cancelled.") from None
        finally:
            if not cancel.is_set():
                self._events.append(cancel)

    def stream(
        self,
        text: str,
        parameters: Mapping[str, object] | None = None,
        *,
        device: str = "auto",
        memory: int | str | None = None,
        timeout: float | None = None,
        match: str | None = None,
        threads: int = 0,
    ) -> Stream:
        """Run one query and hand its rows out as they are found, for answers larger than memory: while nobody reads,
        the query waits. It sees the graph as it is now, however long it is read.

        A pattern whose rows are told one by one (MATCH ... WHERE ... RETURN ... LIMIT) is streamed; what sorts, groups,
        is distinct, skips or has several clauses is answered as a whole first, as by `execute`.

        Parameters
        ----------
        memory : budget in bytes of what finds the rows; those that wait to be read, some 100,000 for each core, are not
            counted.
        timeout : seconds until the last row is read. The others are those of `execute`.

        Raises
        ------
        What `execute` raises, here or when the rows are read; DeviceError where a GPU gives up after the first rows.

        Examples
        --------
        >>> with db.stream("MATCH (a)-->(b)-->(c) RETURN id(a), id(c)") as stream:  # doctest: +SKIP
        ...     for batch in stream.batches():
        ...         writer.write_batch(pyarrow.record_batch(batch))
        """
        from gdb.stream import Pipe, Stream, streamed

        request = self._request(text, parameters, device, memory, timeout, match, threads)
        request.cancel = threading.Event()  # not one that another query may have after this one
        snapshot = self._work.do(self._store.snapshot)
        run = partial(streamed, request, snapshot, self._statements, self._change)
        return Stream(
            Pipe(request.cancel),
            lambda pipe: self._work.do(lambda: run(pipe), request.cancel),
        )

    def cursor(self) -> Cursor:
        """A cursor of PEP 249 (`gdb.dbapi`), which pandas.read_sql(query, db) and polars.read_database(query, db) ask
        for."""
        from gdb.dbapi import Cursor

        return Cursor(self)

    def device_columns(
        self,
        text: str,
        parameters: Mapping[str, object] | None = None,
        *,
        device: str = "cuda",
        memory: int | str | None = None,
        timeout: float | None = None,
        match: str | None = None,
    ) -> DeviceColumns:
        """Run one query on a GPU and leave its rows there, as arrays for CuPy, PyTorch, cuDF and whatever else takes
        `__cuda_array_interface__` or DLPack.

        The query returns nodes, relationships or their ids, and nothing else; LIMIT and DISTINCT of one node may
        stand. A column holds what `id()` gives, int64: the user's ids of nodes (as `Node.id`), the numbers of
        relationships (as `Relationship.id`).

        Parameters
        ----------
        device : "cuda" or "cuda:N". memory : budget in bytes, rows and what the query needs on the GPU beside them.
        The others are those of `execute`.

        Raises
        ------
        NotSupported : the answer is not columns of ids. TypeProblem : the ids are strings.
        DeviceError : there is no such GPU, or the rows do not fit it. OutOfBudget : they do not fit `memory`.
        All that `execute` raises.

        Examples
        --------
        >>> found = db.device_columns("MATCH (a)-->(b) RETURN id(a), b")  # doctest: +SKIP
        >>> torch.from_dlpack(found["id(a)"]), cupy.asarray(found["b"])  # doctest: +SKIP
        """
        from gdb.pipeline import on_device

        request = self._request(text, parameters, device, memory, timeout, match, 0)
        return self._work.do(
            lambda: on_device(request, self._store.snapshot(), self._statements), request.cancel
        )

    def explain(
        self,
        text: str,
        parameters: Mapping[str, object] | None = None,
        *,
        device: str = "auto",
        memory: int | str | None = None,
        timeout: float | None = None,
        match: str | None = None,
        threads: int = 0,
    ) -> str:
        """The plan of a query, for a person to read; arguments and errors as `execute`."""
        from gdb.pipeline import explained

        request = self._request(text, parameters, device, memory, timeout, match, threads)
        return self._work.do(lambda: explained(request, self._store.snapshot()), request.cancel)

    def register_procedure(
        self, signature: str, function: Callable[..., Iterable[object]], help: str = ""
    ) -> None:
        """Add a procedure, which queries of this Database call by CALL name(...) YIELD ...; one of its name that was
        registered before is replaced.

        Parameters
        ----------
        signature : its name, what it takes and what it gives, as in
            "my.cities(name :: STRING, code :: INTEGER?) :: (city :: STRING, people :: INTEGER?)"; the types are listed
            in docs/LANGUAGE.md. A question mark allows null.
        function : called with the arguments, as Python has them, once for each row that comes to CALL. It gives rows: a
            list or tuple with the outputs in order, or a dict by their names. It may ask this Database.
        help : what `CALL dbms.procedures()` says of it.

        Raises
        ------
        SyntaxProblem : the signature is none. NameProblem : it is the name of a procedure of gdb's own.

        Examples
        --------
        >>> db.register_procedure("my.up(x :: INTEGER) :: (y :: INTEGER)", lambda x: [(x + 1,)])  # doctest: +SKIP
        >>> db.execute("UNWIND [1, 2] AS x CALL my.up(x) YIELD y RETURN y").fetchall()  # doctest: +SKIP
        [(2,), (3,)]
        """
        self._procedures = registered(self._procedures, signature, function, help)

    def procedures(self) -> list[str]:
        """The signatures of all procedures, by name."""
        return [str(one.signature) for _, one in sorted(self._procedures.items())]

    def _request(
        self,
        text: str,
        parameters: Mapping[str, object] | None,
        device: str,
        memory: int | str | None,
        timeout: float | None,
        match: str | None,
        threads: int,
    ) -> Request:
        options.query_text(text, device)
        from gdb.request import Request

        return Request(
            text,
            options.checked_parameters(parameters),
            self._mode if match is None else options.match_mode(match),
            self._event(),
            device=device,
            threads=options.thread_count(threads),
            memory=options.memory_bytes(memory),
            timeout=options.timeout_seconds(timeout),
            import_root=self._import_root,
            procedures=self._procedures,
            load=self._loads(),
        )

    def _loads(self) -> Load | None:
        """What COPY does; None where nothing can be loaded."""
        return None

    def _change(self, work: Callable[[Changes], T]) -> T:
        """Do some work in a transaction of its own, which is committed when the work ends well."""
        if self._read_only:
            raise ReadOnlyError(
                f"the store {self._store.path} was opened read-only, and this query writes.",
                "Open it without read_only=True (gdbsh: without --read-only).",
            )
        self._refuse_inside()
        self._statements.clear()  # or they would hold the snapshot, and so its files
        with self._store.writer():
            return self._changed(work)

    def _changed(self, work: Callable[[Changes], T]) -> T:
        from gdb.storage.commit import commit
        from gdb.storage.transaction import Changes

        changes = Changes(self._store.snapshot())
        found = work(changes)
        commit(self._store, changes)
        return found

    def _event(self) -> threading.Event:
        """An event for a query: one that an earlier query needed no longer, for to make one takes 4 us."""
        try:
            return self._events.pop()
        except IndexError:
            return threading.Event()

    def _refuse_inside(self) -> None:
        if self._store.writes_here:
            raise ChangeRefused(
                "a transaction of this thread is open",
                "End it first: it and this cannot both write.",
            )

    # ---- about the graph ---------------------------------------------------------------------------

    def schema(self) -> Schema:
        """Labels, relationship types and properties; `str()` of it is a table."""
        return self._work.do(lambda: schema_of(self._store.snapshot()))

    def stats(self) -> StoreStats:
        """Vertices, edges and bytes, and for each partition its rows, intervals, edges and bytes."""
        return self._work.do(lambda: self._store.snapshot().stats())

    def check(self) -> None:
        """Read every file of the store and compare its checksum.

        Raises
        ------
        CorruptStore : a file is not the one that was committed; the message names it.
        """
        self._work.do(lambda: self._store.snapshot().check(), None, run_beside)
