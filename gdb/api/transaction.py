"""Transactions: changes from Python, in bulk, all of them or none (design.md §2, *Commit*)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from gdb.api.boundary import boundary, warn
from gdb.api.change_columns import given_nodes, given_relationships, name_of, space_of
from gdb.api.running_work import faults
from gdb.base import forks
from gdb.base.closing import Uncopied
from gdb.errors import Cancelled, ClosedError, TypeProblem
from gdb.run.interrupt import run_interruptibly
from gdb.run.late_interrupt import Outcome

if TYPE_CHECKING:
    from gdb.answer.result import Result
    from gdb.api.change_columns import ChangeRows, Ids, Properties
    from gdb.storage.columns.model import Column
    from gdb.storage.write.store import Store
    from gdb.storage.write.transaction import Changes


class Transaction(Uncopied):
    """Changes of a graph that are committed together; made by `Database.transaction`, used in a `with` block.

    The block's end commits, durably; an exception that leaves the block, or `rollback`, drops everything. Ctrl-C waits
    for the commit, and then raises a KeyboardInterrupt whose text says that it was made. Each method
    takes many nodes or relationships at once, and either makes all its changes or raises and makes none. Nodes
    are named by their ids, relationships by their type and the ids of their ends.

    Others see the graph as it was until the commit. One transaction writes at a time, over all processes.

    Examples
    --------
    >>> import gdb
    >>> db = gdb.connect()
    >>> with db.transaction() as tx:
    ...     tx.add_nodes("Person", ["ada", "bob"], {"born": [1815, 1912]})
    ...     tx.add_relationships("KNOWS", ["ada"], ["bob"])
    >>> db.execute("MATCH (a)-[:KNOWS]->(b) RETURN b.born").scalar()
    1912
    """

    _instead = "Begin one where it is used, with db.transaction()."

    def __init__(
        self,
        store: Store,
        run: Callable[[Changes, str, Mapping[str, object] | None], Result],
        begun: Callable[[], None],
        commit: Callable[[Changes], bool],
        ended: Callable[[], None],
        cancel: threading.Event,
    ) -> None:
        """run : a query on the changes. commit : the changes; whether there were any; Ctrl-C is held back, and sets
        `cancel`. ended : called before the writer's lock is given back."""
        self._store, self._run, self._begun, self._commit = store, run, begun, commit
        self._ended_with = ended
        self._outcome, self._cancel = Outcome("transaction"), cancel
        self._ended = False
        self._stack = ExitStack()
        self._changes: Changes | None = None
        self._thread: threading.Thread | None = None
        self._inherited = False
        forks.watch(self)

    def forked(self) -> None:
        """A transaction that is open belongs to the process that began it: nothing here ends it."""
        if self._thread and not self._ended:
            forks.leak(self._stack)
            self._stack, self._changes, self._inherited = ExitStack(), None, True

    def __enter__(self) -> Transaction:
        from gdb.storage.write.transaction import Changes  # here: readers never need it

        if self._thread:
            raise ClosedError("A transaction begins once.", "Call db.transaction() again.")
        self._thread = threading.current_thread()
        self._begun()

        cancel, outcome = self._cancel, self._outcome

        def check() -> None:  # without `self`: one that is forgotten must not wait for a collection
            if cancel.is_set():
                raise outcome.cancelled()

        def begin() -> None:
            self._stack.enter_context(self._store.writer(check))
            self._changes = Changes(self._store.snapshot())

        try:
            with faults():
                run_interruptibly(begin, self._cancel)
        except BaseException as error:
            self._changes = None
            self._stack.close()
            if isinstance(error, Cancelled):  # while another thread wrote
                raise KeyboardInterrupt from None
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        elsewhere = not self._ended and self._thread is not threading.current_thread()
        if kind is None and self._inherited:
            raise _of_the_parent()  # else the child would take it for committed
        if kind is None and elsewhere:
            raise ClosedError(
                "The block of a transaction ends in another thread than began it: nothing is committed.",
                "End it in the thread that began it, or drop the changes there with rollback().",
            )
        if self._inherited:
            return
        try:
            self._end(keep=kind is None)
        except BaseException as error:
            if not self._ended:  # it came before signals were held back
                self._end(keep=False)
            if isinstance(error, KeyboardInterrupt) and self._outcome.committed:
                raise KeyboardInterrupt(str(self._outcome.cancelled())) from None
            self._outcome.note(error)
            raise

    def _end(self, *, keep: bool) -> None:
        """Commit or drop the changes; Ctrl-C is held back meanwhile."""

        def end() -> None:
            changes, self._changes, self._ended = self._changes, None, True
            with faults(), self._stack:
                try:
                    if keep and changes is not None:
                        changes.base.look()  # what another thread reads may not be verified yet
                        self._outcome.committed = self._commit(changes)
                finally:
                    self._ended_with()
                del changes  # first: what it was made from may be removed with the lock

        run_interruptibly(end, self._cancel)

    @boundary
    def rollback(self) -> None:
        """Drop all changes and end the transaction."""
        self._open()
        self._end(keep=False)

    @boundary
    def execute(self, text: str, parameters: Mapping[str, object] | None = None) -> Result:
        """Run a query on the graph with the changes; see `Database.execute`."""
        result = self._run(self._open(), text, parameters)
        warn(result.warnings)
        return result

    # ---- nodes -----------------------------------------------------------------------------------

    @boundary
    def add_nodes(
        self,
        labels: str | Sequence[str],
        ids: Ids,
        properties: Properties = None,
        *,
        id_space: str = "",
    ) -> None:
        """Add nodes.

        Parameters
        ----------
        labels : one label, or several that each node gets; () for none.
        ids : of the nodes; new in their id space, all integers or all strings: a list, an array of NumPy or Arrow, a
            column of a data frame. Or a table with `__arrow_c_stream__` (of pyarrow, polars, pandas, DuckDB), whose
            columns are ids and properties, by the names that `load` knows; its column of ids becomes a property of that
            name as well, as in `load` (":ID" names none).
        properties : key -> a value for each node, as ids are given, null for none: integers, floats, booleans,
            strings, dates, datetimes, timedeltas, and lists of one of these.

        Raises
        ------
        ChangeRefused : an id is there already; a property is of another type than that of the nodes with these labels,
            or a value is none that it can hold.
        """
        with self._changing(lambda: given_nodes(ids, properties, new=True)) as (changes, columns):
            if len(columns):
                changes.collect_vertices(
                    _names(labels), space_of(id_space), columns.ids[0], columns.properties
                )

    @boundary
    def set_nodes(self, ids: Ids, properties: Properties = None, *, id_space: str = "") -> None:
        """Set properties of nodes; None removes one. `ids` may be a table, as for `add_nodes`, whose column of ids
        only names the nodes. Raises as `add_nodes`, and where a node does not exist."""
        with self._changing(lambda: given_nodes(ids, properties, needed=True)) as (
            changes,
            columns,
        ):
            changes.set_vertices(
                changes.find(_wanted(columns.ids[0]), space_of(id_space)), columns.properties
            )

    @boundary
    def set_labels(
        self,
        ids: Ids,
        add: str | Sequence[str] = (),
        remove: str | Sequence[str] = (),
        *,
        id_space: str = "",
    ) -> None:
        """Give nodes labels, and take labels away. Cost: the relationships of the nodes are written anew.

        Parameters
        ----------
        ids : or a table, whose column of ids alone is read.

        Raises
        ------
        ChangeRefused : a node is not there; a property is of another type under the new labels.
        """
        from gdb.storage.write.relabelling import relabel  # here: few transactions need it

        with self._changing(lambda: given_nodes(ids, values=False)) as (changes, columns):
            vids = changes.find(_wanted(columns.ids[0]), space_of(id_space))
            relabel(changes, ((vids, frozenset(_names(add)), frozenset(_names(remove))),))

    @boundary
    def remove_nodes(self, ids: Ids, *, detach: bool = False, id_space: str = "") -> None:
        """Remove nodes; with `detach` their relationships as well. `ids` as for `set_labels`.

        Raises
        ------
        ChangeRefused : a node is not there, or has relationships and `detach` is not given.
        """
        with self._changing(lambda: given_nodes(ids, values=False)) as (changes, columns):
            vids = changes.find(_wanted(columns.ids[0]), space_of(id_space))
            changes.remove_vertices(vids, detach=detach)

    # ---- relationships -----------------------------------------------------------------------------

    @boundary
    def add_relationships(
        self,
        type: str,
        starts: Ids,
        ends: Ids | None = None,
        properties: Properties = None,
        *,
        directed: bool | None = None,
        id_space: str | tuple[str, str] = "",
    ) -> None:
        """Add relationships, from each of `starts` to the node at the same place of `ends`.

        Parameters
        ----------
        starts, ends, properties : or, for all of them, one table, as for `add_nodes`.
        directed : what a new type is (None: directed); that of a type that is there cannot change.
        id_space : of the ids; two where starts and ends have different ones.

        Raises
        ------
        ChangeRefused : an end is not there; the type is directed otherwise; a property is of another type.
        """
        with self._changing(lambda: given_relationships(starts, ends, properties)) as (
            changes,
            columns,
        ):
            sources, targets = _ends(changes, columns.ids, id_space)
            name = name_of(type)
            if directed is None:
                directed = changes.directed(name) is not False
            changes.add_edges(name, directed, sources, targets, columns.properties)

    @boundary
    def set_relationships(
        self,
        type: str,
        starts: Ids,
        ends: Ids | None = None,
        properties: Properties = None,
        *,
        id_space: str | tuple[str, str] = "",
    ) -> int:
        """Set properties of all relationships of a type between pairs of nodes; how many there are. `starts` may be
        one table of all."""
        with self._changing(lambda: given_relationships(starts, ends, properties, needed=True)) as (
            changes,
            columns,
        ):
            return changes.set_edges(
                name_of(type), *_ends(changes, columns.ids, id_space), columns.properties
            )

    @boundary
    def remove_relationships(
        self,
        type: str,
        starts: Ids,
        ends: Ids | None = None,
        *,
        id_space: str | tuple[str, str] = "",
    ) -> int:
        """Remove all relationships of a type between pairs of nodes; how many there were. `starts` may be a table;
        only its columns of both ends are read."""
        with self._changing(lambda: given_relationships(starts, ends, values=False)) as (
            changes,
            columns,
        ):
            return changes.remove_edges(name_of(type), *_ends(changes, columns.ids, id_space))

    @contextmanager
    def _changing(self, give: Callable[[], ChangeRows]) -> Iterator[tuple[Changes, ChangeRows]]:
        """The changes so far, and what is given for them; what is added in the block is dropped where it raises.
        give : may call what the caller has written: an iterator, an array of another library."""
        changes = self._open()
        before = changes.mark()
        try:
            with faults(foreign=True):
                columns = give()
            with faults():
                changes.base.look()
                yield changes, columns
        except BaseException:
            changes.restore(before)
            raise

    def _open(self) -> Changes:
        if self._inherited:
            raise _of_the_parent()
        if self._changes is None:
            raise ClosedError(
                "The transaction is not open.", "Use it inside: with db.transaction() as tx."
            )
        if self._thread is not threading.current_thread():
            raise ClosedError(
                "A transaction is used by the thread that began it.", "Begin one in this thread."
            )
        return self._changes


def _of_the_parent() -> ClosedError:
    return ClosedError(
        "The transaction was begun in the parent process, which alone can commit it.",
        "Begin one in this process: with db.transaction() as tx.",
    )


def _ends(
    changes: Changes, ids: tuple[Column, ...], id_space: str | tuple[str, str]
) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32]]:
    """The vids of both ends of relationships."""
    one, other = (id_space, id_space) if isinstance(id_space, str) else id_space
    spaces = space_of(one), space_of(other)
    starts, ends = map(_wanted, ids)
    return changes.find_ends(starts, ends, spaces)


def _wanted(ids: Column) -> npt.NDArray[np.int64] | Sequence[str]:
    if ids.kind == "int64":
        return ids.values.astype(np.int64, copy=False)
    return [str(value) for value in ids.to_list()]


def _names(labels: str | Sequence[str]) -> tuple[str, ...]:
    if not isinstance(labels, Iterable):
        raise TypeProblem(f"labels are texts, not {labels!r}.")
    return tuple(name_of(label) for label in ((labels,) if isinstance(labels, str) else labels))
