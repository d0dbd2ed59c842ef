"""Transactions: changes from Python, in bulk, all of them or none (design.md §2, *Commit*)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, TypeAlias, TypeGuard, cast

import numpy as np
import numpy.typing as npt

from gdb.errors import ChangeRefused, ClosedError, ImportFailed, TypeProblem

if TYPE_CHECKING:
    from gdb.result import Result
    from gdb.storage.importer.frames import ArrowStream
    from gdb.storage.model import Column, PropertyValue
    from gdb.storage.store import Store
    from gdb.storage.transaction import Changes

Ids: TypeAlias = "Sequence[int] | Sequence[str] | Sequence[int | str] | npt.NDArray[np.int64]"
Values: TypeAlias = "Sequence[object] | npt.NDArray[np.generic]"
Properties: TypeAlias = "Mapping[str, Values] | None"


class Transaction:
    """Changes of a graph that are committed together; made by `Database.transaction`, used in a `with` block.

    The block's end commits, durably; an exception that leaves the block, or `rollback`, drops everything. Each method
    takes many nodes or relationships at once, and either does all that it is asked or raises and changes nothing. Nodes
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

    def __init__(
        self,
        store: Store,
        run: Callable[[Changes, str, Mapping[str, object] | None], Result],
        begun: Callable[[], None],
    ) -> None:
        self._store, self._run, self._begun = store, run, begun
        self._stack = ExitStack()
        self._changes: Changes | None = None
        self._thread = 0

    def __enter__(self) -> Transaction:
        from gdb.storage.transaction import Changes

        if self._thread:
            raise ClosedError("A transaction begins once.", "Call db.transaction() again.")
        self._thread = threading.get_ident()
        self._begun()
        self._stack.enter_context(self._store.writer())
        try:
            self._changes = Changes(self._store.snapshot())
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        from gdb.storage.commit import commit

        changes, self._changes = self._changes, None
        with self._stack:
            if kind is None and changes is not None:
                commit(self._store, changes)
            del (
                changes
            )  # before the writer's lock is given back: what it was made from may then be removed

    def rollback(self) -> None:
        """Drop all changes and end the transaction."""
        self._open()
        self._changes = None
        self._stack.close()

    def execute(self, text: str, parameters: Mapping[str, object] | None = None) -> Result:
        """Run a query on the graph with the changes; see `Database.execute`."""
        return self._run(self._open(), text, parameters)

    # ---- nodes -----------------------------------------------------------------------------------

    def add_nodes(
        self,
        labels: str | Sequence[str],
        ids: Ids | ArrowStream,
        properties: Properties = None,
        *,
        id_space: str = "",
    ) -> None:
        """Add nodes.

        Parameters
        ----------
        labels : one label, or several that each node gets; () for none.
        ids : of the nodes; new in their id space, all integers or all strings. Or a table with `__arrow_c_stream__`
            (of pyarrow, polars, pandas, DuckDB), whose columns are ids and properties, by the names that `load` knows.
        properties : key -> a value for each node, None for none: integers, floats, booleans, strings, dates,
            datetimes, timedeltas, and lists of one of these.

        Raises
        ------
        ChangeRefused : an id is there already; a property is of another type than that of the nodes with these labels.
        """
        if _is_table(ids, properties):
            (own,), columns = _table(ids, edges=False)
        else:
            own = _ids(cast("Ids", ids))
            columns = _columns(properties, len(own))
        with self._changing() as changes:
            changes.add_vertices(_names(labels), id_space, own, columns)

    def set_nodes(self, ids: Ids, properties: Mapping[str, Values], *, id_space: str = "") -> None:
        """Set properties of nodes; None takes one away. Raises as `add_nodes`, and where a node is not there."""
        with self._changing() as changes:
            columns = _columns(properties, len(ids))
            changes.set_vertices(changes.find(_wanted(ids), id_space), columns)

    def set_labels(
        self,
        ids: Ids,
        add: str | Sequence[str] = (),
        remove: str | Sequence[str] = (),
        *,
        id_space: str = "",
    ) -> None:
        """Give nodes labels, and take labels away. Cost: the relationships of the nodes are written anew.

        Raises
        ------
        ChangeRefused : a node is not there; a property is of another type under the new labels.
        """
        with self._changing() as changes:
            vids = changes.find(_wanted(ids), id_space)
            changes.relabel(vids, frozenset(_names(add)), frozenset(_names(remove)))

    def remove_nodes(self, ids: Ids, *, detach: bool = False, id_space: str = "") -> None:
        """Remove nodes; with `detach` their relationships as well.

        Raises
        ------
        ChangeRefused : a node is not there, or has relationships and `detach` is not given.
        """
        with self._changing() as changes:
            changes.remove_vertices(changes.find(_wanted(ids), id_space), detach=detach)

    # ---- relationships -----------------------------------------------------------------------------

    def add_relationships(
        self,
        type: str,
        starts: Ids | ArrowStream,
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
        columns: dict[str, Column] | None = None
        if _is_table(starts, ends, properties):
            (first, second), columns = _table(starts, edges=True)
            starts, ends = _plain(first), _plain(second)
        elif ends is None:
            raise TypeProblem("ends are a list or an array, unless starts is a table of both.")
        with self._changing() as changes:
            sources, targets = _ends(changes, cast("Ids", starts), ends, id_space)
            if columns is None:
                columns = _columns(properties, len(sources))
            if directed is None:
                known = (t.directed for t in changes.view.edge_types if t.name == type)
                directed = next(known, True)
            changes.add_edges(_name(type), directed, sources, targets, columns)

    def set_relationships(
        self,
        type: str,
        starts: Ids,
        ends: Ids,
        properties: Mapping[str, Values],
        *,
        id_space: str | tuple[str, str] = "",
    ) -> int:
        """Set properties of all relationships of a type between pairs of nodes; how many there are."""
        with self._changing() as changes:
            sources, targets = _ends(changes, starts, ends, id_space)
            return changes.set_edges(type, sources, targets, _columns(properties, len(sources)))

    def remove_relationships(
        self, type: str, starts: Ids, ends: Ids, *, id_space: str | tuple[str, str] = ""
    ) -> int:
        """Remove all relationships of a type between pairs of nodes; how many there were."""
        with self._changing() as changes:
            return changes.remove_edges(type, *_ends(changes, starts, ends, id_space))

    @contextmanager
    def _changing(self) -> Iterator[Changes]:
        """The changes so far; what is added to them in the block is dropped where it raises."""
        changes = self._open()
        before = changes.delta
        try:
            yield changes
        except BaseException:
            changes.delta = before
            raise

    def _open(self) -> Changes:
        if self._changes is None:
            raise ClosedError(
                "The transaction is not open.", "Use it inside: with db.transaction() as tx."
            )
        if self._thread != threading.get_ident():
            raise ClosedError(
                "A transaction is used by the thread that began it.", "Begin one in this thread."
            )
        return self._changes


def _is_table(given: Ids | ArrowStream, *others: object) -> TypeGuard[ArrowStream]:
    """Whether a table stands for ids, and for the arguments behind them."""
    if not hasattr(given, "__arrow_c_stream__"):
        return False
    if any(other is not None for other in others):
        raise TypeProblem("a table holds ends and properties itself; give nothing behind it.")
    return True


def _table(given: ArrowStream, *, edges: bool) -> tuple[list[Column], dict[str, Column]]:
    """Columns of ids, and properties, of a table."""
    from gdb.storage.importer.csv_graph import frame_columns

    try:
        ids, columns = frame_columns(given, given.__class__.__name__, edges=edges)
    except ImportFailed as error:
        raise ChangeRefused(error.message.rstrip("."), error.cure) from error
    return ids, {_name(key): columns[key] for key in sorted(columns)}


def _plain(ids: Column) -> Ids:
    if ids.kind == "int64":
        return ids.values.astype(np.int64, copy=False)
    return [str(value) for value in ids.to_list()]


def _ends(
    changes: Changes, starts: Ids, ends: Ids, id_space: str | tuple[str, str]
) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32]]:
    """The vids of both ends of relationships."""
    if len(starts) != len(ends):
        raise ChangeRefused(f"there are {len(starts)} starts and {len(ends)} ends")
    first, second = (id_space, id_space) if isinstance(id_space, str) else id_space
    return changes.find(_wanted(starts), first), changes.find(_wanted(ends), second)


def _names(labels: str | Sequence[str]) -> tuple[str, ...]:
    return tuple(_name(label) for label in ((labels,) if isinstance(labels, str) else labels))


def _name(text: str) -> str:
    if not isinstance(text, str) or not text:
        raise TypeProblem(f"a label, type or property is named by a text, not {text!r}.")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise TypeProblem(f"the name {text!r} is not valid Unicode.") from None
    return text


def _wanted(ids: Ids) -> npt.NDArray[np.int64] | Sequence[int | str]:
    if isinstance(ids, np.ndarray):
        if ids.ndim != 1 or ids.dtype.kind not in "iu":
            raise TypeProblem("ids are an array of integers with one dimension, or a list.")
        return ids.astype(np.int64, copy=False)
    if isinstance(ids, (str, bytes)) or not isinstance(ids, Sequence):
        raise TypeProblem(f"ids are a list or an array, not {ids.__class__.__name__}.")
    return ids


def _ids(ids: Ids) -> Column:
    """New ids as a column without nulls."""
    from gdb.storage.model import Column

    wanted = _wanted(ids)
    if isinstance(wanted, np.ndarray):
        return Column("int64", wanted)
    kinds = {type(value) for value in wanted}
    if not kinds <= {int} and not kinds <= {str}:
        raise TypeProblem("ids are all integers, or all strings.")
    return _column("id", wanted, len(wanted), "string" if kinds == {str} else "int64")


def _columns(properties: Properties, count: int) -> dict[str, Column]:
    return {
        _name(key): _column(key, values, count)
        for key, values in sorted((properties or {}).items())
    }


def _column(key: str, values: Values, count: int, kind: str = "") -> Column:
    from gdb.storage.kinds import EXACT
    from gdb.storage.model import KINDS, Column

    if isinstance(values, (str, bytes)) or not isinstance(values, (Sequence, np.ndarray)):
        raise TypeProblem(
            f"the values of {key!r} are a list or an array, not {values.__class__.__name__}."
        )
    if len(values) != count:
        raise ChangeRefused(f"the property {key!r} has {len(values)} values for {count} rows")
    given = values.tolist() if isinstance(values, np.ndarray) else list(values)
    plain = cast("list[PropertyValue]", given)  # from_list refuses what is none
    wanted = next((k for k in KINDS if k == kind), None)
    kinds = set(map(type, plain))
    if {int, float} <= kinds and any(type(v) is int and abs(v) > EXACT for v in plain):
        raise ChangeRefused(
            f"the property {key!r} has integers that are no floats, beside floats",
            "Give all of them one type.",
        )
    try:
        return Column.from_list(plain, wanted)
    except (ImportFailed, UnicodeEncodeError) as error:
        raise ChangeRefused(f"the property {key!r}: {error}") from None
