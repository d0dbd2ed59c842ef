"""What the tests of pins share: stores of several files, their folders, and readers in processes of their own."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from gdb.storage.columns.model import VertexTable
from gdb.storage.columns.python_columns import column_of
from gdb.storage.graph.snapshot import Snapshot
from gdb.storage.write import commit
from gdb.storage.write.store import Store
from gdb.storage.write.transaction import Changes
from tests.support.graph_tables import GraphTables

REPOSITORY = Path(__file__).resolve().parents[2]


def graph(count: int) -> GraphTables:
    """Two groups and an index: with small files, four of them."""
    tables = (VertexTable(("A",), "", np.arange(count)), VertexTable(("B",), "b", ["x", "y"]))
    return GraphTables(tables)


def found(folder: Path) -> set[str]:
    """The files that may be swept."""
    return {p.name for p in folder.iterdir() if p.suffix in {".gdb", ".tmp"}}


def named(snapshot: Snapshot) -> set[str]:
    return {record.name for record in snapshot.manifest.files}


def held(snapshot: Snapshot) -> list[int | str]:
    """The ids of all vertices; files are read for it that were not before."""
    return sorted(snapshot.user_ids(np.arange(snapshot.vertex_count, dtype=np.uint32)), key=str)


def add(store: Store, number: int) -> None:
    """A small commit."""
    with store.writer():
        changes = Changes(store.snapshot())
        changes.add_vertices(("N",), "n", column_of([number]), {})
        commit.commit(store, changes)


class Reader:
    """Another process with a Database `d`, which runs what is sent to it."""

    def __init__(self, folder: Path, *command: str, read_only: bool = True) -> None:
        program = (
            "import sys, gdb\n"
            f"d = gdb.connect({str(folder)!r}, read_only={read_only})\n"
            "print('ready', flush=True)\n"
            "for line in sys.stdin:\n"
            "    exec(line)\n"
            "    print('done', flush=True)\n"
        )
        self.process = subprocess.Popen(
            [*command, sys.executable, "-c", program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=REPOSITORY,
        )
        assert self._line() == "ready"

    def tell(self, what: str) -> str:
        """What it prints."""
        assert self.process.stdin is not None
        self.process.stdin.write(what + "\n")
        self.process.stdin.flush()
        said = []
        while (line := self._line()) != "done":
            assert line, "the reader died"
            said.append(line)
        return "\n".join(said)

    def _line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def end(self, how: int = signal.SIGTERM) -> None:
        self.process.send_signal(how)
        self.process.communicate()


@contextmanager
def reader(folder: Path, *command: str, read_only: bool = True) -> Iterator[Reader]:
    """A reader that does not outlive the block."""
    one = Reader(folder, *command, read_only=read_only)
    try:
        yield one
    finally:
        if one.process.returncode is None:
            one.end()


COUNT = "print(d.execute('MATCH (n) RETURN count(n)').scalar())"
ROWS = "print(len(d.execute('MATCH (n) WHERE n.i >= 0 RETURN n, n.i').fetchall()))"
