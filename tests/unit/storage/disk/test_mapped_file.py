"""Pieces of mapped files as one array: the same pages, mapped once more."""

from __future__ import annotations

import ctypes
import mmap
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from gdb.base import usage
from gdb.storage.columns.model import EdgeTable, VertexTable
from gdb.storage.disk.lost_pages import mapped
from gdb.storage.disk.mapped_file import MappedFile, file_of, in_a_row
from gdb.storage.format.direction import Direction
from gdb.storage.graph.snapshot import Snapshot
from gdb.storage.write.store import Store
from tests.support.graph_tables import GraphTables, write_graph

PAGE = mmap.PAGESIZE
linux = pytest.mark.skipif(sys.platform != "linux", reason="pages are mapped twice on Linux")
Opened = Callable[[int], np.ndarray]


@pytest.fixture
def opened(tmp_path: Path) -> Opened:
    """Maps of new files of so many bytes, by chance."""

    def make(size: int) -> np.ndarray:
        path = tmp_path / os.urandom(8).hex()
        path.write_bytes(os.urandom(size))
        with path.open("rb") as file:
            return mapped(MappedFile(file.fileno(), size, str(path)))

    return make


@linux
def test_pieces_follow_one_another_without_a_copy(opened: Opened) -> None:
    a, b = opened(5 * PAGE), opened(3 * PAGE + 700)
    pieces = [a[PAGE : 3 * PAGE], b[: 2 * PAGE], a[:PAGE], b[3 * PAGE :]]
    found = in_a_row(pieces)
    assert found is not None
    assert found.tobytes() == b"".join(map(bytes, pieces))
    assert not found.flags.writeable
    file = file_of(a)
    assert file is not None
    # what is seen through one map is seen through the other
    with Path(file.path).open("r+b") as written:
        written.seek(PAGE)
        written.write(b"changed")
    assert bytes(found[:7]) == b"changed"


@linux
def test_the_pages_stay_after_the_files_maps_have_gone(opened: Opened) -> None:
    pieces = [opened(PAGE), opened(PAGE)]
    expected = b"".join(map(bytes, pieces))
    found = in_a_row(pieces)
    del pieces
    assert found is not None
    assert found.tobytes() == expected


def test_what_does_not_fill_pages_is_not_mapped(opened: Opened) -> None:
    whole, other = opened(4 * PAGE), opened(2 * PAGE)
    assert in_a_row([whole[:700], other]) is None
    assert in_a_row([whole, other[700:]]) is None
    assert in_a_row([whole, np.zeros(PAGE, np.uint8)]) is None
    assert in_a_row([whole[:0], other]) is None


@linux
def test_nothing_is_mapped_where_the_system_refuses(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = list[object]()

    def refused(*given: object) -> int:
        calls.append(given)
        return -1

    library = SimpleNamespace(mremap=refused)
    monkeypatch.setattr(ctypes, "CDLL", lambda _: library)
    assert in_a_row([opened(PAGE), opened(PAGE)]) is None
    assert len(calls) == 1


ENDS = np.random.default_rng(3).integers(0, 3_000, (2, 60_000))
GRAPH = GraphTables(
    (VertexTable((), "", np.arange(3_000)),), (EdgeTable("T", False, ENDS[0], ENDS[1]),)
)


def store(path: Path, segment_edges: int) -> None:
    """A store of one undirected type in several segments."""
    write_graph(Store.open(path, create=True), GRAPH, segment_edges=segment_edges)


def near(snapshot: Snapshot, memory: int | None) -> np.ndarray:
    """The neighbour lists, as a query with a budget is the first to read them."""
    with usage.Usage(memory):
        return snapshot.adjacency(("T",), Direction.ANY).neighbours


@pytest.mark.parametrize("segment_edges", [1 << 15, 30_000, 1 << 12])
def test_segments_are_one_array_at_any_budget(segment_edges: int, tmp_path: Path) -> None:
    """In a row of maps, and where they do not fill pages, or lie between small sections, in a copy."""
    store(tmp_path, segment_edges)
    found = list[np.ndarray]()
    for memory in (None, 1):
        opened = Store.open(tmp_path, create=False, read_only=True)
        snapshot = opened.snapshot()
        assert len(snapshot.manifest.types[0].parts[0].segments) > 2
        found.append(near(snapshot, memory))
        in_place = sys.platform == "linux" and memory == 1 and segment_edges == 1 << 15
        assert (not found[-1].flags.writeable) == in_place
        opened.close()
    assert (found[0] == found[1]).all()


_CUT = """
import os, sys
from pathlib import Path
import numpy as np
from gdb.errors import CorruptStore
from gdb.storage.write.store import Store
from tests.unit.storage.disk.test_mapped_file import near
path = Path(sys.argv[1])
opened = Store.open(path, create=False, read_only=True)
snapshot = opened.snapshot()
found = near(snapshot, 1)
assert not found.flags.writeable
(name,) = [name for name in os.listdir(path) if name.startswith("seg-")]
try:
    with snapshot.reading():
        os.truncate(path / name, os.path.getsize(path / name) - 200_000)
        assert found[:1000].any() and not found[-1000:].any()
        print("read")
except CorruptStore as error:
    assert name in str(error), error
    print("told")
"""


@linux
def test_a_file_that_is_cut_short_under_a_row_of_maps_is_told(tmp_path: Path) -> None:
    """The page that is lost is one of the second map, the file is known by the first."""
    store(tmp_path, 1 << 15)
    arguments = [sys.executable, "-c", _CUT, str(tmp_path)]
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stdout) == (0, "read\ntold\n"), done.stderr[-2000:]
