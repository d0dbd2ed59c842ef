"""The reading methods of a Database: queries, their plans, what the graph holds, and copies of it."""

from __future__ import annotations

import os
import sys
import threading
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Literal, TypeAlias, TypeVar

from gdb import limits
from gdb.api.boundary import boundary, warn
from gdb.api.procedures import ALWAYS, with_procedure
from gdb.api.running_work import Work, never_changes, no_load, run_copy
from gdb.api.schema import Join, Schema, joins_of, schema_of
from gdb.base.budget import UNBOUNDED
from gdb.base.closing import Closing
from gdb.errors import PlacedError
from gdb.executor.device_names import checked_device
from gdb.imports import deferred
from gdb.run import options
from gdb.run.interrupt import Cancel, held_back, run_beside, run_interruptibly
from gdb.run.late_interrupt import Outcome
from gdb.run.parameters import checked_parameters
from gdb.run.statements import Statements

if TYPE_CHECKING:
    from gdb.answer.device_columns import DeviceColumns
    from gdb.answer.result import Result
    from gdb.api.dbapi_cursor import Cursor
    from gdb.language.procedure_signatures import Procedure
    from gdb.run import pipeline
    from gdb.run import request as requests
    from gdb.run.progress import Progress
    from gdb.run.request import Clock, Load, QueryRun, Request
    from gdb.run.stream import Stream
    from gdb.storage.checking.check import Report
    from gdb.storage.disk.steps import Steps
    from gdb.storage.graph.snapshot import Snapshot, StoreStats
    from gdb.storage.write.transaction import Changes
else:  # an import runs no query
    pipeline, requests = deferred("gdb.run.pipeline"), deferred("gdb.run.request")

PathLike: TypeAlias = str | os.PathLike[str]
T = TypeVar("T")
_DEFAULTS = options.QueryOptions()
_NO_OPTIONS = ("auto", 0, *(None,) * 5)


class Queries(Closing):
    """What answers questions about a graph: a Database (`gdb.api.database`), whose graph is the newest, or a snapshot
    of it that is held (`gdb.api.snapshot`). work : what runs. procedures : what CALL finds."""

    def __init__(
        self, settings: options.Settings, work: Work, procedures: Mapping[str, Procedure] = ALWAYS
    ) -> None:
        self._settings, self._work, self._procedures = settings, work, procedures
        self._statements = Statements()
        self._unlimited = not settings.limits and settings.budgets == UNBOUNDED

    if not TYPE_CHECKING:  # type checkers refuse what is not there by themselves

        def __getattr__(self, name: str) -> object:
            from gdb.api.foreign_names import no_attribute  # here: only wrong names come here

            raise no_attribute(self, name)

    @abstractmethod
    def _snapshot(self) -> Snapshot:
        """What the next query sees.

        Raises
        ------
        ClosedError : nothing any more.
        """

    @abstractmethod
    def _is_newest(self, snapshot: Snapshot) -> bool:
        """Whether the next query sees this one; False also where only `_snapshot` can say so. It changes nothing."""

    @boundary
    def execute(
        self,
        text: str,
        parameters: Mapping[str, object] | None = None,
        *,
        device: str = "auto",
        memory: int | str | None = None,
        gpu_memory: int | str | None = None,
        timeout: float | None = None,
        match: str | None = None,
        threads: int = 0,
        on: object = None,
    ) -> Result:
        """Run one query. What was understood and planned of its text is kept, for when it comes again with the same
        or with other parameters, or literals.

        Parameters
        ----------
        text : a Cypher query (docs/LANGUAGE.md); EXPLAIN before it gives the plan instead.
        parameters : values for $name in the text: numbers, booleans, strings, dates and times, None, lists, dicts.
        device : "auto", "cpu", "cuda", "cuda:N", or several GPUs: "cuda:0,1"; each one holds the graph.
        memory : budget in bytes, or as in "8GB", at least 1 MiB; None for the database's. Arrays that have no room lie
            in temporary files, in the folder that TMPDIR names; rows of the answer that have none are refused.
        gpu_memory : bytes of each GPU that it may hold, from 64 MiB on, or as in "2GB"; None for the database's, or for
            a share of what is free there. What of the graph does not fit is read from the host's memory.
        timeout : seconds; None for none. threads : 0 for one on each core.
        match : mode of a MATCH that names none, instead of the database's.
        on : other processes that share the work of a query that takes a second and more (docs/CLUSTER.md): a
            `concurrent.futures.Executor`, as a process pool, a `dask.distributed.Client`, or a `gdb.Cluster`. They read
            the store's folder under the same path.

        Raises
        ------
        SyntaxProblem, NameProblem, TypeProblem, NotSupported, LimitExceeded : the query cannot be understood.
        Cancelled : Ctrl-C, `interrupt` or `close`; what ran has stopped, and nothing was committed, unless its
            `committed` is True: then Ctrl-C came when the commit had begun, which has been made.
        QueryTimeout, OutOfBudget, DeviceError, ClusterError, RunError : it cannot be finished; nothing was committed.
        ClosedError : the database is closed.

        Warns
        -----
        QueryWarning : something is probably a mistake, as a label that no node has; also in `warnings` of the Result.
        """
        free = self._unlimited and limits.MAX_ROWS is limits.MAX_SECONDS is None
        plain = free and (device, threads, memory, gpu_memory, timeout, match, on) == _NO_OPTIONS
        if plain and type(text) is str:
            bound, values, otherwise = self._statements.bound(text), parameters, False
            if bound is None:
                bound, values, otherwise = self._statements.bound_otherwise(text, parameters)
            found = None
            try:
                if bound is not None and bound.look_up is not None:
                    found = self._work.at_once(bound.look_up, self._is_newest, values)
                if bound is not None and found is None:
                    found = bound.run(self._work.do, self._snapshot, self._change, values)
            except PlacedError:
                if not otherwise:
                    raise
            # errors and warnings show the text as it is written
            if found is not None and not (otherwise and found.warnings):
                warn(found.warnings)
                return found
        said = options.QueryOptions(device, memory, gpu_memory, timeout, match, threads, on)
        request = self._request(text, parameters, said)
        request.plain, request.outcome.warn = plain, warn
        try:
            result = self._work.do(lambda: pipeline.answer(self._run(request)), request.cancel)
        except BaseException as error:
            request.outcome.struck(error)
            raise
        if not request.outcome.warned:
            warn(result.warnings, request.outcome)
        return result

    @boundary
    def stream(
        self,
        text: str,
        parameters: Mapping[str, object] | None = None,
        *,
        device: str = "auto",
        memory: int | str | None = None,
        gpu_memory: int | str | None = None,
        timeout: float | None = None,
        match: str | None = None,
        threads: int = 0,
        on: object = None,
    ) -> Stream:
        """Run one query and hand its rows out as they are found, for answers larger than memory: the query
        waits until rows are read. It sees the graph as it is now, however long it is read.

        A pattern whose rows are found one by one (MATCH ... WHERE ... RETURN ... LIMIT) is streamed; what sorts,
        groups, is distinct, skips or has several clauses is answered as a whole first, as by `execute`.

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
        >>> import gdb
        >>> db = gdb.connect()
        >>> _ = db.execute("UNWIND range(1, 3) AS x CREATE (:N {x: x})-[:R]->(:N {x: -x})")
        >>> with db.stream("MATCH (a)-->(b) RETURN a.x AS x") as stream:
        ...     sum(row.x for row in stream)
        6
        """
        from gdb.run.stream import Pipe, Stream, stream_query

        said = options.QueryOptions(device, memory, gpu_memory, timeout, match, threads, on)
        request = self._request(text, parameters, said)
        run = self._work.do(lambda: self._run(request))
        at_once = not parameters and self._statements.cache.has_shape(text)
        answers = held_back if at_once else run_interruptibly  # Ctrl-C: Stream does that itself
        stream = Stream(
            Pipe(request.cancel),
            lambda pipe: self._work.do(lambda: stream_query(run, pipe), request.cancel, answers),
            request.outcome,
            at_once,
        )
        warn(stream.warnings, request.outcome)
        return stream

    def cursor(self) -> Cursor:
        """A cursor of PEP 249 (`gdb.dbapi`), which pandas.read_sql(query, db) and polars.read_database(query, db)
        need."""
        from gdb.api.dbapi_cursor import Cursor  # PEP 249 is seldom used

        return Cursor(self)

    @boundary
    def device_columns(
        self,
        text: str,
        parameters: Mapping[str, object] | None = None,
        *,
        device: str = "cuda",
        memory: int | str | None = None,
        gpu_memory: int | str | None = None,
        timeout: float | None = None,
        match: str | None = None,
    ) -> DeviceColumns:
        """Run one query on a GPU and leave its rows there, as arrays for CuPy, PyTorch, cuDF and whatever else takes
        `__cuda_array_interface__` or DLPack.

        The query returns nodes, relationships or their ids, and nothing else; LIMIT and DISTINCT of one node
        are allowed. A column holds what `id()` gives, int64: the user's ids of nodes (as `Node.id`), the numbers of
        relationships (as `Relationship.id`).

        Parameters
        ----------
        device : "cuda" or "cuda:N". gpu_memory : rows, and what the query needs on the GPU beside them.
        The others are those of `execute`.

        Raises
        ------
        NotSupported : the answer is not columns of ids. TypeProblem : the ids are strings.
        DeviceError : there is no such GPU, or the rows do not fit it. OutOfBudget : they do not fit `gpu_memory`.
        All that `execute` raises.

        Examples
        --------
        >>> found = db.device_columns("MATCH (a)-->(b) RETURN id(a), b")  # doctest: +SKIP
        >>> torch.from_dlpack(found["id(a)"]), cupy.asarray(found["b"])  # doctest: +SKIP
        """
        said = options.QueryOptions(device, memory, gpu_memory, timeout, match)
        request = self._request(text, parameters, said)
        columns = self._work.do(lambda: pipeline.on_device(self._run(request)), request.cancel)
        warn(columns.warnings)
        return columns

    @boundary
    def explain(
        self,
        text: str,
        parameters: Mapping[str, object] | None = None,
        *,
        device: str = "auto",
        memory: int | str | None = None,
        gpu_memory: int | str | None = None,
        timeout: float | None = None,
        match: str | None = None,
        threads: int = 0,
        on: object = None,
    ) -> str:
        """The plan of a query, for a person to read; arguments and errors as `execute`."""
        said = options.QueryOptions(device, memory, gpu_memory, timeout, match, threads, on)
        request = self._request(text, parameters, said)

        def plan() -> str:
            how = request, self._snapshot, Statements()
            return pipeline.explain_query(requests.QueryRun(*how, copy=run_copy, explains=True))

        return self._work.do(plan, request.cancel)

    @boundary
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
            list or tuple with the outputs in order, or a dict by their names. It may query this Database.
        help : what `CALL dbms.procedures()` says of it.

        Raises
        ------
        SyntaxProblem : the signature is none. NameProblem : it is the name of a procedure of gdb's own.

        Examples
        --------
        >>> import gdb
        >>> db = gdb.connect()
        >>> db.register_procedure("my.up(x :: INTEGER) :: (y :: INTEGER)", lambda x: [(x + 1,)])
        >>> db.execute("UNWIND [1, 2] AS x CALL my.up(x) YIELD y RETURN y").fetchall()
        [(2,), (3,)]
        """
        self._procedures = with_procedure(self._procedures, signature, function, help)

    def procedures(self) -> list[str]:
        """The signatures of all procedures, by name."""
        return [str(one.signature) for _, one in sorted(self._procedures.items())]

    def _request(
        self,
        text: str,
        parameters: Mapping[str, object] | None,
        said: options.QueryOptions = _DEFAULTS,
    ) -> Request:
        """The request, its arguments checked. Raises what these checks do."""
        options.query_text(text)
        own = self._settings
        return requests.Request(
            text,
            checked_parameters(parameters),
            own.mode if said.match is None else options.match_mode(said.match),
            Cancel(),
            device=checked_device(said.device),
            threads=options.thread_count(said.threads),
            memory=options.memory_bytes(said.memory, own.budgets.memory),
            gpu_memory=options.gpu_memory_bytes(said.gpu_memory, own.budgets.gpu_memory),
            timeout=options.timeout_seconds(said.timeout, own.limits),
            import_root=own.import_root,
            procedures=self._procedures,
            load=self._loads(),
            limits=own.limits,
            on=None if said.on is None else options.cluster(said.on),
        )

    def _run(self, request: Request) -> QueryRun:
        """The run of a query over what it sees now."""
        statements, change = self._statements, self._change
        return requests.QueryRun(request, self._snapshot, statements, change, run_copy)

    def _loads(self) -> Load:
        """What COPY does."""
        return no_load

    def _change(self, request: Request, clock: Clock, work: Callable[[Changes], T]) -> T:
        """Do the work of a query that writes on the changes of a transaction of its own, which is then committed.

        Raises
        ------
        ReadOnlyError : nothing is written here.
        """
        raise never_changes()

    # ---- about the graph ---------------------------------------------------------------------------

    def schema(self) -> Schema:
        """Labels, relationship types and properties; `str()` of it is a table, `.draw()` a drawing."""
        return self._work.do(lambda: schema_of(self._snapshot(), self._joins))

    def _joins(self) -> list[Join]:
        return self._work.do(lambda: joins_of(self._snapshot()))

    def stats(self) -> StoreStats:
        """Vertices, edges and bytes, and for each partition its rows, intervals, edges and bytes."""
        return self._work.do(lambda: self._snapshot().stats())

    @boundary
    def check(self) -> Report:
        """Read every file of the store anew and compare every invariant; docs/FORMAT.md lists them, and what no check
        can detect. Takes the memory of the largest edge type, and shows a progress bar where stderr is a terminal.

        Returns
        -------
        The invariants by name, how many things each was compared of, and files that mean nothing.

        Raises
        ------
        CorruptStore : something is wrong; the message names the first fault and its file, `faults` has all of them.
        Cancelled : Ctrl-C, `interrupt` or `close`.
        """
        from gdb.run.progress import terminal_progress
        from gdb.storage.disk.steps import Steps

        cancel = Cancel()
        with terminal_progress(sys.stderr) as progress:
            steps = Steps("check", progress, cancel)
            return self._work.do(lambda: self._snapshot().check(steps), cancel, run_beside)

    # ---- copies ------------------------------------------------------------------------------------

    @boundary
    def backup(self, path: PathLike) -> StoreStats:
        """Copy the store to a new folder, which is a store: all of it, verified and synced, or nothing.

        The copy is the graph as it was when the backup began, also while another process writes. It works on a
        read-only database and on one in memory. A progress bar is shown where stderr is a terminal.

        Parameters
        ----------
        path : the new folder; an empty one may be there.

        Returns
        -------
        The sizes of the copy.

        Raises
        ------
        FolderTaken : there is something at `path`.
        CorruptStore : a file of this store is damaged; the message names it.
        Cancelled : Ctrl-C, `interrupt` or `close`. StorePermissionError, StoreError : it cannot be written.
        """
        from gdb.storage.copies.backup import backup

        target = options.folder(path)
        return self._written("backup", lambda steps: backup(self._snapshot(), target, steps))

    @boundary
    def export(
        self,
        folder: PathLike,
        format: Literal["csv", "parquet"] = "csv",
        *,
        guard_formulas: bool = False,
    ) -> StoreStats:
        """Write the graph into a new folder as CSV or Parquet files: all of it, or nothing. `load(folder)` reads it.

        What comes back is equal: nodes with ids, id spaces, labels and typed properties, relationships with types and
        directions. The files have neo4j-admin headers, for other programs; `gdb-export.json` beside them holds what
        such headers cannot. It is the graph as it was when the export began. A progress bar is shown on a terminal.

        Parameters
        ----------
        folder : the new folder; an empty one may be there.
        format : "csv" (null is an empty field, an empty text is "") or "parquet".
        guard_formulas : for spreadsheets: in CSV, texts that begin with `=`, `+`, `-`, `@`, a tab or CR get an
            apostrophe before them, so that they are no formulas. `load` does not take it off: what comes back differs.

        Returns
        -------
        The sizes of the store that was exported.

        Raises
        ------
        FolderTaken : there is something at `folder`.
        CorruptStore : a file of this store is damaged; the message names it.
        Cancelled : Ctrl-C, `interrupt` or `close`. StorePermissionError, StoreError : it cannot be written.
        """
        options.one_of("format", format, ("csv", "parquet"))
        from gdb.storage.copies.exporter import export

        target = options.folder(folder)
        return self._written(
            "export",
            lambda steps: export(
                self._snapshot(), target, format, steps, guard_formulas=guard_formulas
            ),
        )

    def _written(self, work: str, write: Callable[[Steps], StoreStats]) -> StoreStats:
        from gdb.storage.disk.steps import Steps  # here: only copies need it

        cancel = Cancel()
        return self._long(
            lambda progress: write(Steps(work, progress, cancel)),
            Outcome(work, "it is done"),
            cancel,
        )

    def _long(
        self,
        work: Callable[[Progress | None], T],
        outcome: Outcome,
        cancel: threading.Event,
        *,
        quiet: bool = False,
    ) -> T:
        """Do work that writes something, and show how far it is, unless quiet."""
        from gdb.run.progress import terminal_progress  # here: only long work shows progress

        try:
            with terminal_progress(None if quiet else sys.stderr) as progress:

                def kept() -> T:
                    value = work(progress)
                    outcome.committed = True
                    return value

                return self._work.do(kept, cancel, run_beside)
        except BaseException as error:
            outcome.struck(error)
            raise
