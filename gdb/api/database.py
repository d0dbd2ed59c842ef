"""The public face: `connect` opens a store as a `Database`, which loads graphs and answers queries (design.md §6)."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from gdb.api.boundary import boundary
from gdb.api.queries import PathLike, Queries
from gdb.api.running_work import Work, run_copy
from gdb.base.closing import Uncopied
from gdb.errors import Cancelled, ChangeRefused
from gdb.imports import imported
from gdb.run import options
from gdb.run.interrupt import Cancel, held_back
from gdb.run.late_interrupt import Outcome
from gdb.run.statements import Statements
from gdb.run.store_urls import remote_files

if TYPE_CHECKING:
    from gdb.answer.result import Result
    from gdb.api.snapshot import HeldSnapshot
    from gdb.api.transaction import Transaction
    from gdb.run.progress import Progress, ProgressCallback
    from gdb.run.request import Clock, Load, Request
    from gdb.storage.graph.snapshot import Snapshot, StoreStats
    from gdb.storage.importer import AnySource, Edges, LoadReport, Nodes
    from gdb.storage.importer.load_options import (
        Format,
        LoadOptions,
        MissingEnds,
        OnDuplicate,
        OnError,
        Repeated,
    )
    from gdb.storage.importer.meter import LoadProgress
    from gdb.storage.write.compaction import Compactor
    from gdb.storage.write.store import Store
    from gdb.storage.write.transaction import Changes

T = TypeVar("T")


@boundary
def connect(
    path: str | os.PathLike[str] | None = None,
    *,
    read_only: bool = False,
    create: bool = True,
    match: str = "DIFFERENT EDGES",
    import_root: PathLike | None = None,
    limits: Mapping[str, float] | None = None,
    memory: int | str | None = None,
    gpu_memory: int | str | None = None,
    storage_options: Mapping[str, object] | None = None,
) -> Database:
    """Open a store, or make an empty one.

    Parameters
    ----------
    path : the folder of the store, a relative one of the working folder of now; None for a graph in memory that is gone
        when it is closed. Or, with read_only, a URL that fsspec reads, as "s3://bucket/social.gdb": its files are
        fetched when they are first needed, see docs/guides/remote.md.
    read_only : never write; any number of processes may read one store.
    create : make the folder where it does not exist (never with read_only).
    match : the mode of a MATCH that names none: "DIFFERENT EDGES" (openCypher's), "DIFFERENT NODES", "REPEATABLE
        ELEMENTS", "SUBGRAPHS" or "INDUCED".
    import_root : a folder; `load` and LOAD CSV refuse files that lie outside of it, also by `..` or symbolic links.
        None: any file.
    limits : limits of `gdb.limits` by name that are others for the queries of this database, as in
        {"MAX_QUERY_CHARACTERS": 10_000_000}.
    memory, gpu_memory : bytes of the host and of each GPU that a query may hold which is given no budget of its own, or
        as in "2GB"; None for no bound, and on a GPU for a share of what is free when it runs.
    storage_options : what the file system of a URL takes, as credentials.

    Raises
    ------
    NotAStore, CorruptStore, StoreVersionError, StorePermissionError : the folder cannot be opened as a store; or
        NotAStore : `import_root` is no folder.
    ReadOnlyError : a URL without read_only=True. StoreError : it cannot be read, or a package that it needs is missing.
    NameProblem : there is no such match mode, or limit. TypeProblem, QueryError : a limit is no number from 1, or a
        budget no size. OutOfBudget : a budget is below what a query needs at least.

    Examples
    --------
    >>> import gdb
    >>> with gdb.connect() as db:
    ...     db.path is None
    True
    """
    # here: opening a store costs its modules, `import gdb` does not
    imported("gdb.storage.write.store")
    from gdb.storage.write.store import Store

    own, budgets = options.own_limits(limits), options.budgets(memory, gpu_memory)
    mode, root = options.match_mode(match), options.import_root(import_root)
    options.truth("read_only", read_only)
    options.truth("create", create)
    files = remote_files(path, read_only, storage_options)
    where = None if path is None or files is not None else options.folder(path)
    create = create and not read_only
    store = Store.open(where, create=create, read_only=read_only, files=files)
    return Database(store, options.Settings(mode, root, own, budgets))


class Database(Uncopied, Queries):
    """A store that is open: made by `connect`, closed by `close` or at the end of a `with` block.

    Several threads may use one Database at once. A query reads the graph as it was when the query began.
    """

    _instead = (
        "Open the store by its path where it is used, as in gdb.connect(path, read_only=True)."
    )

    def __init__(self, store: Store, settings: options.Settings) -> None:
        self._store = store
        self._compactor: Compactor | None = None  # made by the first commit
        self._load_failed = False
        super().__init__(settings, Work())

    @property
    def path(self) -> Path | None:
        """The folder of the store, absolute; None in memory, and of a store at a URL."""
        return self._store.path

    @property
    def read_only(self) -> bool:
        """Whether writes raise ReadOnlyError."""
        return self._store.read_only

    @property
    def closed(self) -> bool:
        """Whether `close` was called; other methods then raise ClosedError."""
        return self._work.closed

    def __repr__(self) -> str:
        where = self._store.files.where
        written = ", read-only" * self.read_only
        return f"<gdb.Database {where}{written}{', closed' * self.closed}>"

    def close(self) -> None:
        """Cancel what runs, as `interrupt` does, wait for it, and close the store; closing twice is fine.

        In a signal's handler, or a function that is called by a query or an import, it does not wait for that query or
        import, at whose end the store is closed. A store that this database made, in which nothing was stored and an
        import failed, is removed.
        """
        self._work.close(self._close)

    def _close(self) -> None:
        self._statements.clear()
        if self._load_failed and not self._store.closed:
            # here: only after an import that failed
            from gdb.storage.write.failed_import import unmake

            unmake(self._store)
        self._store.close()

    def interrupt(self) -> None:
        """Cancel all queries and imports that run now, in any thread; each raises Cancelled, unless it commits already:
        then it ends well."""
        self._work.interrupt()

    # ---- import ------------------------------------------------------------------------------------

    @boundary
    def load(
        self,
        source: AnySource | Sequence[AnySource] | None = None,
        *,
        nodes: Nodes | None = None,
        edges: Edges | None = None,
        format: Format = "auto",
        type: str | None = None,
        label: str | None = None,
        directed: bool = True,
        columns: Sequence[str] | None = None,
        delimiter: str | None = None,
        header: bool | None = None,
        id_space: str | None = None,
        ends: tuple[str, str] | None = None,
        missing_ends: MissingEnds | None = None,
        multi_edges: Repeated = "keep",
        self_loops: Repeated = "keep",
        on_duplicate: OnDuplicate = "error",
        on_error: OnError = "raise",
        max_errors: int = 1000,
        rejects_file: PathLike | None = None,
        max_unpacked: int | str = "16MiB",
        memory: int | str | None = None,
        cancel: threading.Event | None = None,
        packed: bool | None = None,
        progress: Callable[[LoadProgress], None] | None = None,
    ) -> LoadReport:
        """Import files, data frames and graphs of networkx into the graph: all of it, or on any error nothing.

        A progress bar is shown where stderr is a terminal, unless `progress` is given.

        Parameters
        ----------
        source : edge lists, tables or graphs (GraphML, GEXF, GML, JSON, .graph, Matrix Market), their format found from
            their content unless `format` names it; folders that `export` or Kuzu's EXPORT DATABASE wrote, which say all
            of the rest themselves; graphs of networkx; or tables as below.
        nodes, edges : CSV, Parquet or JSON files with neo4j-admin headers or plain names, or tables in memory: whatever
            has `__arrow_c_stream__` (of pyarrow, polars, pandas, DuckDB), lazy frames of polars, lists of
            dicts; or a mapping of label (type) to these. The key "KNOWS:Person:Person" of relationships names the
            labels of both ends as well, so that files between different labels, whose ids overlap, are loaded in one
            call. A table may lie in several files, "header.csv,part1.csv,part2.csv", and names may be patterns: see
            docs/IMPORT.md.
        type, label : relationship type and node label where the files name none.
        directed : False stores each relationship once, for both directions.
        missing_ends : "create" or "refuse" a node that a relationship names and no file holds. It is made with label
            and id where the labels of the ends are named.
        multi_edges, self_loops : "drop" keeps one relationship between two nodes, or none from a node to itself.
        on_duplicate : of a node whose id is there already, in the graph or the files: "skip" leaves it out, "update"
            writes its properties over those of the node. So a second load of the same nodes is no error.
        on_error : "skip" leaves bad lines out, at most `max_errors`; the report lists them, and `rejects_file`, a new
            CSV file. More than 1 % of a file is worth a Python warning, `gdb.errors.LinesSkipped`.
        max_unpacked : bytes, or as in "8GB", that a compressed or Parquet file may unpack to if they are more than
            200 times its size.
        memory : bytes, or as in "512MB", that the import may take; None for half of what the machine has. Relationships
            and properties of nodes that have no room in it lie in temporary files in the store's folder. Ids of nodes
            stay in memory, about 60 bytes each, and are not counted: see docs/IMPORT.md.
        cancel : stops the import when another thread sets it.
        packed : True keeps the store in less than half of the bytes, from now on; a query unpacks into memory what it
            touches first. False undoes that, None leaves it.
        progress : called now and then with a `gdb.LoadProgress`: the step, the part of it done, bytes of the files that
            are read and of all; from other threads than the caller's. What it raises ends the import, and nothing is
            stored.

        `gdb.storage.importer.load_options.LoadOptions` documents the others.

        Raises
        ------
        ReadOnlyError, StoreLocked : the store cannot be written.
        ImportFailed : an input is wrong; names file, line and reason. Nothing of it was stored.
        Cancelled : Ctrl-C, `interrupt` or `close`; nothing was stored, unless its `committed` is True.
        """
        from gdb.storage.importer.load_options import LoadOptions

        with self.importing():
            if self._store.read_only:
                raise self._store.read_only_error()
            options.check_load_calls(rejects_file, progress, cancel)
            said = LoadOptions(
                format=format,
                type=type,
                label=label,
                directed=directed,
                columns=columns,
                delimiter=delimiter,
                header=header,
                id_space=id_space,
                ends=ends,
                missing_ends=missing_ends,
                multi_edges=multi_edges,
                self_loops=self_loops,
                on_duplicate=on_duplicate,
                on_error=on_error,
                max_errors=max_errors,
                rejects_file=None if rejects_file is None else Path(rejects_file),
                max_unpacked=options.byte_count("max_unpacked", max_unpacked),
                memory=options.import_memory(memory),
                packed=packed,
            )
            options.check_load(said)
            return self._load(source, nodes, edges, said, cancel, progress)

    def _load(
        self,
        source: AnySource | Sequence[AnySource] | None,
        nodes: Nodes | None,
        edges: Edges | None,
        said: LoadOptions,
        cancel: threading.Event | None,
        progress: Callable[[LoadProgress], None] | None,
    ) -> LoadReport:
        """Import, with a progress bar, where Ctrl-C cancels it."""
        from gdb.run.progress import ProgressCallback
        from gdb.storage.importer import load

        self._refuse_inside()
        stop = Cancel() if cancel is None else cancel
        self._statements.clear()  # or they would hold the snapshot, and so its files

        callback = None if progress is None else ProgressCallback(progress)

        def work(bar: Progress | None) -> LoadReport:
            return load(
                self._store,
                source,
                nodes=nodes,
                edges=edges,
                options=said,
                import_root=self._settings.import_root,
                progress=callback if bar is None else partial(_step_of, bar),
                cancel=stop,
            )

        outcome = Outcome("import", "what it read is stored")
        with _raised_by(callback):
            return self._long(work, outcome, stop, quiet=callback is not None)

    @contextmanager
    def importing(self) -> Iterator[None]:
        """A block that is an import, as a program may make one of a transaction: where it fails, in a store that this
        database made and in which nothing was ever stored, `close` removes the store. `load` is such a block.

        Examples
        --------
        >>> import gdb
        >>> with gdb.connect() as db, db.importing(), db.transaction() as tx:
        ...     _ = tx.execute("CREATE (:Person)")
        """
        self._load_failed = True  # until it has not
        yield
        self._load_failed = False

    def _loads(self) -> Load:
        return self.load

    # ---- snapshots ---------------------------------------------------------------------------------

    def _snapshot(self) -> Snapshot:
        return self._store.snapshot()

    def _is_newest(self, snapshot: Snapshot) -> bool:
        return self._store.is_newest(snapshot)

    @boundary
    def snapshot(self) -> HeldSnapshot:
        """The graph as it is now, for as long as it is held: any number of queries and streams of one version, in a
        `with` block or until it is closed; see `HeldSnapshot`.

        Raises
        ------
        ClosedError : the database is closed.

        Examples
        --------
        >>> import gdb
        >>> db = gdb.connect()
        >>> with db.snapshot() as before:
        ...     _ = db.execute("CREATE (:Person)")
        ...     before.execute("MATCH (n) RETURN count(*)").scalar()
        0
        >>> db.execute("MATCH (n) RETURN count(*)").scalar()
        1
        """
        from gdb.api.snapshot import HeldSnapshot

        found = self._work.do(self._snapshot)
        return HeldSnapshot(found, self._settings, self._work, self._procedures)

    # ---- changes -----------------------------------------------------------------------------------

    def _change(self, request: Request, clock: Clock, work: Callable[[Changes], T]) -> T:
        """The last look at whether the query was cancelled is before the commit; what follows goes on as well."""
        from gdb.storage.write.transaction import Changes  # here: readers never need it

        if self._store.read_only:
            raise self._store.read_only_error(", and this query writes")
        self._refuse_inside()
        clock.waited_from = time.monotonic()
        with self._store.writer(clock.check):
            clock.waited_from = None
            changes = Changes(self._snapshot())
            value = work(changes)
            commit = partial(self._commit, changes, clock.over)
            request.outcome.committed = clock.last_step("commit", commit)
            # before the writer's lock is given back: what it was made from may then be removed
            del changes
        return value

    def _commit(self, changes: Changes, over: Callable[[], bool]) -> bool:
        """Commit; whether there was anything to commit. over : whether to write the graph anew has taken too long."""
        from gdb.storage.write.commit import commit  # here: readers never need it
        from gdb.storage.write.compaction import Compactor

        if self._compactor is None:
            self._compactor = Compactor(options.import_memory(None))
        made = commit(self._store, changes, self._compactor, over)
        self._statements.committed(made)  # or they would hold the snapshot, and so its files
        return made is not changes.base

    def _refuse_inside(self) -> None:
        if self._store.writes_here and not self.closed:
            raise ChangeRefused(
                "a transaction of this thread is open",
                "End it first: it and this cannot both write.",
            )

    def transaction(self) -> Transaction:
        """Changes that are committed together: `with db.transaction() as tx: tx.add_nodes(...)`; see `Transaction`.

        Raises
        ------
        ReadOnlyError, StoreLocked, ClosedError : the store takes no writes; raised when the block begins.
        """
        from gdb.api.transaction import Transaction  # here: readers never need it

        statements = Statements(self._statements.cache)

        def run(changes: Changes, text: str, parameters: Mapping[str, object] | None) -> Result:
            from gdb.run.pipeline import answer
            from gdb.run.request import QueryRun

            request = self._request(text, parameters)
            request.load = None
            before = changes.delta

            def work() -> Result:
                view = changes.view
                statements.of(view)
                run = QueryRun(request, lambda: view, statements, copy=run_copy)
                run.change = partial(_all_or_nothing, changes)
                return answer(run)

            try:
                return self._work.do(work, request.cancel)
            except BaseException as error:
                changes.delta = before
                if isinstance(error, KeyboardInterrupt):  # it came when the answer was ready
                    raise request.outcome.cancelled() from None
                raise

        def begin() -> None:
            self._refuse_inside()
            self._statements.clear()  # or they would hold the snapshot, and so its files

        cancel = Cancel()

        def commit(changes: Changes) -> bool:
            return self._work.do(lambda: self._commit(changes, cancel.is_set), cancel, held_back)

        return Transaction(self._store, run, begin, commit, statements.clear, cancel)

    @boundary
    def compact(self, memory: int | str | None = None, packed: bool | None = None) -> StoreStats:
        """Write the graph anew with all that was changed since it was last written whole, which makes it smaller and
        quicker to read. It runs by itself when much has changed. Readers go on meanwhile. memory, packed : see
        `load`.

        Raises
        ------
        ReadOnlyError, StoreLocked : the store cannot be written.
        Cancelled : Ctrl-C, `interrupt` or `close`; the store is as it was, unless its `committed` is True.
        """
        from gdb.storage.write.compaction import compact

        budget = options.import_memory(memory)
        packed = options.choice_or_none("packed", packed)
        self._refuse_inside()
        self._statements.clear()
        return self._written(
            "compaction", lambda steps: compact(self._store, steps.part, budget, packed).stats()
        )


def _all_or_nothing(
    changes: Changes, request: Request, clock: Clock, work: Callable[[Changes], T]
) -> T:
    """Do the work of a statement of a transaction; what it has changed is dropped where it raises."""
    before = changes.delta
    try:
        return work(changes)
    except BaseException:
        changes.delta = before
        raise


@contextmanager
def _raised_by(callback: ProgressCallback[LoadProgress] | None) -> Iterator[None]:
    """Raise what the caller's own function has raised, as it is."""
    try:
        yield
    except Cancelled:
        if callback is not None and callback.raised is not None:
            raise callback.raised from None
        raise


def _step_of(bar: Progress, at: LoadProgress) -> None:
    bar(at.step, at.part)
