"""A query reads the partitions of the types that it names, and no others, whatever it may hold and gives."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import gdb
from gdb.base import budget
from gdb.storage.disk import arrays
from gdb.storage.format import segment_checksum, segment_writer, segments
from gdb.storage.format.manifest import Manifest
from gdb.storage.format.segment import FileRecord
from gdb.storage.write.store import Store

NODES, LABELS, TYPES = 2_000, 4, 8
CHAIN = "(a:L0)-[:T2]->(b)-[:T5]->(c:L3)"
TRIANGLE = "(a)-[:T2]->(b)-[:T5]->(c)-[:T7]->(a)"
QUERIES = {
    f"MATCH {CHAIN} RETURN count(*)": {2, 5},
    f"MATCH {TRIANGLE} RETURN count(*)": {2, 5, 7},
    f"MATCH {CHAIN} RETURN id(a), id(c)": {2, 5},
    f"MATCH {CHAIN} RETURN a, c LIMIT 3": {2, 5},
    f"MATCH {TRIANGLE} RETURN a, b, c": {2, 5, 7},
    "MATCH DIFFERENT NODES (a)-[:T0]-(b)-[:T0]-(c)-[:T0]-(a) RETURN count(*)": {0},
    "MATCH DIFFERENT NODES (a)-[:T1]-(b)-[:T1]-(c)-[:T1]-(a) RETURN count(*)": {1},
    "MATCH (a:L1)-[:T0|T3*1..2]->(b) RETURN count(b)": {0, 3},
}
Manifested = tuple[Path, Manifest]


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Manifested:
    """Each partition in files of its own."""
    path, rng = tmp_path_factory.mktemp("typed") / "s", np.random.default_rng(1)
    with gdb.connect(path) as db, db.transaction() as tx:
        for label, ids in enumerate(np.split(np.arange(NODES), LABELS)):
            tx.add_nodes(f"L{label}", ids, {"x": ids})
        for number in range(TYPES):
            ends = rng.integers(0, NODES, (2, 12_000 // (number + 1)))
            tx.add_relationships(f"T{number}", ends[0], ends[1], {"w": ends[0]})
    with pytest.MonkeyPatch.context() as patch, gdb.connect(path) as db:
        patch.setattr(segment_writer, "PACK_BYTES", 1)
        db.compact()
    store = Store.open(path, create=False, read_only=True)
    manifest = store.snapshot().manifest
    store.close()
    return path, manifest


@pytest.fixture(autouse=True)
def small_budgets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budget, "LEAST", 1)
    monkeypatch.setattr(arrays, "LEAST_FILED", 1)


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files that are opened."""
    names, real = list[str](), segment_checksum.open_segment

    def noted(files: object, record: FileRecord, **given: bool) -> object:
        names.append(record.name)
        return real(files, record, **given)  # type: ignore[arg-type]

    monkeypatch.setattr(segments, "open_segment", noted)
    return names


def types_of(names: list[str], manifest: Manifest) -> set[int]:
    """The numbers of the types to which files belong, by their neighbours or their properties."""
    found = set[int]()
    for record in manifest.types:
        files = {segment.file for part in record.parts for segment in part.segments}
        if {manifest.files[number].name for number in files | {record.file}} & {*names}:
            found.add(int(record.name[1:]))
    return found


@pytest.mark.parametrize("memory", [None, 200_000, 24_000])
@pytest.mark.parametrize("text", QUERIES)
def test_only_the_partitions_of_its_types_are_read(
    text: str, memory: int | None, stored: Manifested, opened: list[str]
) -> None:
    path, manifest = stored
    with gdb.connect(path, read_only=True) as db:
        result = db.execute(text, device="cpu", memory=memory)
        rows, read = result.fetchall(), result.summary.bytes_read
    assert rows
    assert types_of(opened, manifest) == QUERIES[text]
    most = sum(
        part.bytes + 8 * part.rows + 8
        for record in manifest.types
        if int(record.name[1:]) in QUERIES[text]
        for part in record.parts
    )
    assert 0 < read <= 2 * most + 16 * NODES * LABELS  # and the ids and properties of nodes


def test_vertices_are_numbered_by_the_types_of_a_query(tmp_path: Path, opened: list[str]) -> None:
    """Where every node may be matched, nodes are numbered by degree: no other type is read for that either."""
    rng, tables, near = np.random.default_rng(2), dict[str, pa.Table](), dict[int, set[int]]()
    for number in range(3):
        low, high = np.sort(rng.integers(0, 300, (2, 3_000)), axis=0)
        keys = np.unique((low * 300 + high)[low < high])
        ends = {":START_ID": keys // 300, ":END_ID": keys % 300}
        tables[f"T{number}"] = pa.table(ends)
        if number == 1:
            for a, b in zip(*(one.tolist() for one in ends.values()), strict=True):
                near.setdefault(a, set()).add(b)
                near.setdefault(b, set()).add(a)
    with pytest.MonkeyPatch.context() as patch, gdb.connect(tmp_path / "s") as db:
        patch.setattr(segment_writer, "PACK_BYTES", 1)
        db.load(edges=tables, label="N", directed=False)
    opened.clear()
    text = "MATCH DIFFERENT NODES (a)-[:T1]-(b)-[:T1]-(c)-[:T1]-(a) RETURN count(*)"
    with gdb.connect(tmp_path / "s", read_only=True) as db:
        found = db.execute(text, device="cpu", memory=2_000).scalar()
        manifest = db._store.snapshot().manifest
    assert found == sum(len(near[a] & near[b]) for a in near for b in near[a])
    assert types_of(opened, manifest) == {1}
