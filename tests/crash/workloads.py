"""What is cut into crash images: programs that open a store and do one thing after another to it.

A new kind of commit (a delta, a compaction) becomes part of the enumeration as a `Step` of a workload in `WORKLOADS`.
"""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from unittest.mock import patch

import numpy as np

from gdb.storage.columns.model import U32, Column, EdgeTable, VertexTable
from gdb.storage.columns.python_columns import column_of
from gdb.storage.copies.backup import backup
from gdb.storage.copies.exporter import export
from gdb.storage.disk.steps import Steps
from gdb.storage.format import journal, segment_writer
from gdb.storage.graph.snapshot import Snapshot
from gdb.storage.write import commit as committing
from gdb.storage.write import edge_runs
from gdb.storage.write.commit import commit as commit_changes
from gdb.storage.write.compaction import compact
from gdb.storage.write.store import Store
from gdb.storage.write.transaction import Changes
from tests.crash.disk import SECTOR, Image, Operation
from tests.crash.recorder import Killed, Recorder, keep_all, restore
from tests.oracles.dict_graph import Key, Naive
from tests.support.graph_tables import GraphTables, read_tables, write_graph
from tests.support.loading import load

# folders in the root; that of the store is made with its parent
STORE, COPY, EXPORT = "new/store", "copy", "export"
_PACK_BYTES = 700  # several segment files in each commit, most of more than one sector
_JOURNAL_BYTES = 10 * SECTOR  # some records, and then a manifest again


@dataclass(frozen=True)
class Content:
    """All that a store holds, without order."""

    vertices: dict[Key, tuple[tuple[str, ...], object]]
    edges: Counter[tuple[object, ...]]


def content_of(tables: GraphTables) -> Content:
    """The content of tables."""
    naive = Naive(tables)
    return Content(dict(naive.vertices), naive.edge_bag())


def content(snapshot: Snapshot) -> Content:
    """The content of a snapshot; what raises CorruptStore raises it."""
    return content_of(read_tables(snapshot))


def graph(number: int, vertices: int = 12) -> GraphTables:
    """A small graph with its number in every part of it."""
    rng = np.random.default_rng(number)
    names = [f"{number}-{k}" for k in range(vertices)]
    ends = rng.integers(0, vertices, (4, 3 * vertices))
    weight = {"w": Column("int64", np.arange(3 * vertices) * 1000 + number)}
    return GraphTables(
        (VertexTable(("V",), "", names, {"of": Column("int64", np.full(vertices, number))}),),
        (EdgeTable("D", True, ends[0], ends[1], weight), EdgeTable("U", False, ends[2], ends[3])),
    )


FURTHER = GraphTables(  # what recovery commits, to show that the store takes it
    (VertexTable(("F",), "", ["one", "two"]),),
    (EdgeTable("NEXT", True, np.array([0]), np.array([1])),),
)
EMPTY = content_of(GraphTables())


@dataclass(frozen=True, slots=True)
class Expected:
    """What may be found. versions : the content of each. exports : version and files of each export."""

    versions: dict[int, Content] = field(default_factory=lambda: {0: EMPTY})
    exports: dict[str, tuple[int, dict[str, bytes]]] = field(default_factory=dict)

    def and_then(self) -> Expected:
        """One to which versions can be added."""
        return Expected(dict(self.versions), self.exports)


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that a program does to a store, acknowledged when it returns.

    run : gets the store and the root of the disk.
    makes : the folder whose state is acknowledged by it: it then holds the store's newest version.
    """

    name: str
    run: Callable[[Store, Path], object]
    makes: str = STORE


@dataclass(frozen=True, slots=True)
class Workload:
    """A new store, and what is done to it."""

    name: str
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Tape:
    """A recorded run.

    operations : from an empty disk; a power cut may come after any of them from the number `began` on.
    expected : what may be found.
    """

    operations: list[Operation]
    began: int
    expected: Expected


def commit(number: int) -> Step:
    """Replace the content of the store by `graph(number)`."""
    return Step(f"commit {number}", lambda store, root: write_graph(store, graph(number)))


def _import(store: Store, root: Path, memory: int | None = None) -> None:
    # beside the disk, and left there: a killed process removes nothing
    people, knows = root.with_name("people.csv"), root.with_name("knows.csv")
    people.write_text("p:ID,name:string\n" + "".join(f"{n},name {n}\n" for n in range(30)))
    knows.write_text(
        ":START_ID,:END_ID,since:int\n" + "".join(f"{n},{n * 7 % 30},{n}\n" for n in range(30))
    )
    load(store, nodes={"Person": people}, edges={"KNOWS": knows}, id_space="people", memory=memory)


def _import_in_little(store: Store, root: Path) -> None:
    """Edges go through scratch files, several times."""
    with patch.object(edge_runs, "LEAST_BUCKET", 64), patch.object(edge_runs, "PIECE", 10):
        _import(store, root, 500)


def _back_up(store: Store, root: Path) -> None:
    backup(store.snapshot(), root / COPY, Steps("backup"))


def _export(store: Store, root: Path) -> None:
    export(store.snapshot(), root / EXPORT, "csv", Steps("export"))


def transact(number: int, *, inline: bool) -> Step:
    """Add, change and remove something of `graph(1)`, as a delta in the manifest or in a file of its own."""

    def run(store: Store, root: Path) -> None:
        most = committing.MOST_INLINE if inline else 0
        with patch.object(committing, "MOST_INLINE", most), store.writer():
            changes = Changes(store.snapshot())
            new = changes.add_vertices(("T",), "", column_of([f"t{number}"]), {})
            old = changes.find([f"1-{number}", f"1-{number + 1}"], "")
            ends = np.repeat(new, 2), old
            changes.add_edges("D", True, *ends, {"w": column_of([number, None])})
            changes.add_edges("U", False, *ends, {})
            changes.set_vertices(old, {"of": column_of([None, -number])})
            gone = changes.find([f"1-{number + 6}"], "")
            changes.remove_vertices(gone, detach=True)
            commit_changes(store, changes)

    return Step(f"transaction {number}", run)


def link(number: int) -> Step:
    """Add a vertex to `graph(1)` and an edge: what makes a small record."""
    return Step(f"link {number}", lambda store, root: _link(store, number))


def _link(store: Store, number: int) -> Snapshot:
    with store.writer():
        changes = Changes(store.snapshot())
        new = changes.add_vertices(("L",), "", column_of([f"l{number}"]), {})
        changes.add_edges("L", True, new, new, {"w": column_of([number])})
        return commit_changes(store, changes)


def alone(number: int) -> Step:
    """Add an edge of a type that is new to `graph(1)`."""

    def run(store: Store, root: Path) -> None:
        with store.writer():
            changes = Changes(store.snapshot())
            weight = {"w": column_of([number])}
            changes.add_edges(*_alone(number), *_ends(changes, number), weight)
            commit_changes(store, changes)

    return Step(f"alone {number}", run)


def gone(number: int) -> Step:
    """Take that edge away: the delta then has a type without any edge."""

    def run(store: Store, root: Path) -> None:
        with store.writer():
            changes = Changes(store.snapshot())
            name, _ = _alone(number)
            assert changes.remove_edges(name, *_ends(changes, number)) == 1
            commit_changes(store, changes)

    return Step(f"gone {number}", run)


def _alone(number: int) -> tuple[str, bool]:
    """The name of a type, and whether it is directed."""
    return f"alone {number}", bool(number % 2)


def _ends(changes: Changes, number: int) -> tuple[U32, U32]:
    return changes.find([f"1-{number}"], ""), changes.find([f"1-{number + 1}"], "")


WORKLOADS = (
    Workload("three commits", (commit(1), commit(2), commit(3))),
    Workload(
        "transactions",
        (
            *(commit(1), transact(1, inline=True), transact(2, inline=False)),
            transact(3, inline=True),
            Step("compaction", lambda store, root: compact(store)),
            *(transact(4, inline=False), transact(5, inline=False)),
        ),
    ),
    Workload(
        "a journal",
        (
            *(commit(1), transact(1, inline=True), link(1), link(2), transact(2, inline=True)),
            *(link(3), link(4), link(5), transact(3, inline=False), link(6), link(7)),
            *(transact(4, inline=True), link(8)),
        ),
    ),
    Workload("types that go", (commit(1), alone(1), gone(1), alone(2), gone(2), link(1))),
    Workload("an import", (commit(1), Step("import", _import))),
    Workload(
        "an import in little memory",
        (commit(1), Step("import", _import_in_little), commit(2)),
    ),
    Workload("a backup", (commit(1), Step("backup", _back_up, COPY), commit(2))),
    Workload("an export", (commit(1), Step("export", _export, EXPORT))),
)


def record(
    workload: Workload, root: Path, lost: Callable[[str], bool] = keep_all, seed: int = 0
) -> Tape:
    """Run a workload in an empty folder.

    Parameters
    ----------
    lost : which fsync is left out; see `Recorder`.
    seed : of the random part of file names.
    """
    (root := root / "disk").mkdir()
    recorder, expected = Recorder(root, lost), Expected()
    with recorder.installed(seed), _small_files():
        _run(workload, root, recorder, expected)
    return Tape(recorder.operations, recorder.began, expected)


def record_killed(
    workload: Workload,
    root: Path,
    after: int,
    expected: Expected,
    lost: Callable[[str], bool] = keep_all,
    *,
    small: bool | None = None,
) -> Tape | None:
    """Kill a workload after some operations; then let another process open the store and commit to it, and cut
    the power meanwhile. What the first process wrote and did not sync is not certain for the second.

    Parameters
    ----------
    expected : of the same workload, not killed.
    small : whether the other process begins with small commits; None: after every second operation it does.

    Returns
    -------
    None where the workload has no more operations than that.
    """
    (root := root / "disk").mkdir()
    recorder, known = Recorder(root, lost), expected.and_then()
    with recorder.installed(seed=after), _small_files():
        recorder.kill_after(after)
        try:
            _run(workload, root, recorder, Expected())
            return None
        except Killed:
            gc.collect()  # a dead process holds no locks
        recorder.revive()
        began = len(recorder.operations)
        _recover(root, recorder, known, small=after % 2 == 0 if small is None else small)
    return Tape(recorder.operations, began, known)


def record_recovery(image: Image, root: Path, expected: Expected) -> Tape:
    """Restore an image in an empty folder, open its store and commit to it; what the image holds is certain."""
    restore(image, root)
    recorder, known = Recorder(root), expected.and_then()
    began = len(recorder.operations)
    with recorder.installed(seed=len(image.files) + 1000), _small_files():
        if f"{STORE}/MANIFEST" in dict(image.files):
            store = Store.open(root / STORE, create=False)
            recorder.acknowledge(STORE, store.snapshot().version)
            store.close()
        _recover(root, recorder, known, small=image.key()[0] % 2 == 0)
    return Tape(recorder.operations, began, known)


def _run(workload: Workload, root: Path, recorder: Recorder, expected: Expected) -> None:
    store = Store.open(root / STORE, create=True)
    try:
        recorder.acknowledge(STORE, 0)
        for step in workload.steps:
            step.run(store, root)
            version, found = _state(store.snapshot())
            recorder.acknowledge(step.makes, version)
            expected.versions[version] = found
            if step.makes == EXPORT:
                expected.exports[EXPORT] = version, files_of(root / EXPORT)
    finally:
        store.close()


def _state(snapshot: Snapshot) -> tuple[int, Content]:
    """Not inline: a snapshot that a variable holds keeps its files from being swept."""
    return snapshot.version, content(snapshot)


def files_of(folder: Path) -> dict[str, bytes]:
    """The files of a flat folder."""
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def _recover(root: Path, recorder: Recorder, expected: Expected, *, small: bool) -> None:
    """Commit to what was found. small : first some small commits, two manifests and a record."""
    store = Store.open(root / STORE, create=True)
    for number in range(100, 103 if small else 100):
        version, found = _state(_link(store, number))
        recorder.acknowledge(STORE, version)
        expected.versions[version] = found
    snapshot = write_graph(store, FURTHER)
    recorder.acknowledge(STORE, snapshot.version)
    expected.versions[snapshot.version] = content_of(FURTHER)
    store.close()


@contextmanager
def _small_files() -> Iterator[None]:
    with (
        patch.object(segment_writer, "PACK_BYTES", _PACK_BYTES),
        patch.object(journal, "MOST_BYTES", _JOURNAL_BYTES),
    ):
        yield
