"""Files that are written in a thread, while what comes next is made."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest

from gdb.errors import StoreError
from gdb.storage.columns.model import EdgeTable, VertexTable
from gdb.storage.disk.files import PosixFiles
from gdb.storage.format import segment_writer
from gdb.storage.format.sections import Section, SectionKind
from gdb.storage.format.segment_checksum import open_segment
from gdb.storage.format.segment_writer import SegmentWriter
from gdb.storage.write.store import Store
from tests.support.graph_tables import GraphTables, write_graph


def section(value: int) -> Section:
    return Section(SectionKind.NEIGHBOURS, np.full(100, value, np.uint32))


def test_places_name_the_files_that_come_to_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(segment_writer, "PACK_BYTES", 900)
    files = PosixFiles(tmp_path / "s", create=True)
    writer = SegmentWriter(files, 1)
    places = [writer.place([section(k)]) for k in range(7)]
    writer.finish()
    assert [place.file for place in places] == [0, 0, 1, 1, 2, 2, 3]
    assert [record.name for record in writer.records] == writer.created
    for k, place in enumerate(places):
        file = open_segment(files, writer.records[place.file])
        assert set(file.u32(place.section, SectionKind.NEIGHBOURS).tolist()) == {k}


def test_what_fails_in_the_thread_stops_the_commit_and_nothing_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(segment_writer, "PACK_BYTES", 100)
    store = Store.open(tmp_path / "s", create=True)
    names = set(store.files.names())
    real, threads = PosixFiles.create, list[str]()

    def create(self: PosixFiles, name: str) -> object:
        threads.append(threading.current_thread().name)
        if len(threads) == 3:
            raise StoreError("The disk is on fire.", "Put it out.")
        return real(self, name)

    monkeypatch.setattr(PosixFiles, "create", create)
    ids = np.arange(50)
    edges = EdgeTable("T", True, ids, ids[::-1].copy())
    with pytest.raises(StoreError, match="on fire"):
        write_graph(store, GraphTables((VertexTable(("A",), "", ids),), (edges,)))
    assert threading.current_thread().name not in threads
    assert {name for name in store.files.names() if name.startswith("seg-")} == set()
    assert names <= set(store.files.names())
    assert store.snapshot().version == 0
