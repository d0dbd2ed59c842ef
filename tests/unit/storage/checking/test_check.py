"""A check of a store that is right finds nothing; what it finds of others is in `tests.corrupt`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import gdb
from gdb.errors import CorruptStore, InternalError
from gdb.storage.checking import cross_checks
from gdb.storage.disk.files import Files
from gdb.storage.format import segment, segment_checksum


def _deleted(db: gdb.Database) -> None:
    db.execute("CREATE (:A)-[:Y {since: 1}]->(:B)")
    db.execute("MATCH ()-[r:Y]->() DELETE r")


def _detached(db: gdb.Database) -> None:
    db.execute("CREATE (:A)-[:Y]->(:B)")
    db.execute("MATCH (n) DETACH DELETE n")


def _none(db: gdb.Database, directed: bool = True) -> None:
    with db.transaction() as tx:
        tx.add_relationships("Y", [], [], directed=directed)


def _undirected(db: gdb.Database) -> None:
    with db.transaction() as tx:
        tx.add_nodes("A", [1, 2])
        tx.add_relationships("Y", [1, 1], [2, 1], {"w": [1, None]}, directed=False)
    with db.transaction() as tx:
        tx.remove_relationships("Y", [1, 1], [2, 1])


def _beside_others(db: gdb.Database) -> None:
    with db.transaction() as tx:
        tx.add_nodes("A", [1, 2])
        tx.add_relationships("X", [1], [2])
    db.compact()
    _deleted(db)


def _in_one_transaction(db: gdb.Database) -> None:
    with db.transaction() as tx:
        tx.add_nodes("A", [1, 2])
        tx.add_relationships("Y", [1], [2])
        tx.remove_nodes([1], detach=True)


@pytest.mark.parametrize(
    "change",
    [
        _deleted,
        _detached,
        _none,
        lambda db: _none(db, directed=False),
        _undirected,
        _beside_others,
        _in_one_transaction,
    ],
    ids=["delete", "detach", "no pairs", "no pairs, undirected", "undirected", "beside", "at once"],
)
def test_a_new_type_that_has_no_relationships_left_is_no_damage(
    change: Callable[[gdb.Database], None], tmp_path: Path
) -> None:
    with gdb.connect(tmp_path / "s") as db:
        change(db)
        db.check()
    with gdb.connect(tmp_path / "s") as db:
        db.check()
        db.compact()
        db.check()


def test_a_fault_of_the_check_itself_is_no_damage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cross_checks, "_flags", lambda *_: int("no number"))
    with gdb.connect(tmp_path / "s") as db:
        _beside_others(db)
        with pytest.raises(InternalError):
            db.check()


def test_what_a_process_wrote_is_verified_by_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It knows the bytes that it wrote; a check, and who opens the store, do not."""
    compared: list[str] = []
    verify = segment_checksum.verify

    def seen(files: Files, record: segment.FileRecord, content: np.ndarray) -> None:
        compared.append(record.name)
        verify(files, record, content)

    monkeypatch.setattr(segment_checksum, "verify", seen)
    store = tmp_path / "store"
    with gdb.connect(store) as db:
        ends = [*range(5_000)]
        with db.transaction() as tx:
            tx.add_nodes("A", ends)
            tx.add_relationships("Y", ends, ends[1:] + ends[:1])
        db.compact()
        count = "MATCH (:A)-[:Y]->(:A)-[:Y]->(:A) RETURN count(*)"
        assert db.execute(count).scalar() == 5_000
        assert not compared
        db.check()
        assert compared
        compared.clear()
        with gdb.connect(store, read_only=True) as other:
            assert other.execute(count).scalar() == 5_000
        assert compared
        (file,) = {*compared}
        raw = bytearray((store / file).read_bytes())
        raw[-8] ^= 1
        (store / file).write_bytes(raw)
        with pytest.raises(CorruptStore, match="committed"):
            db.check()
        with (
            pytest.raises(CorruptStore, match="committed"),
            gdb.connect(store, read_only=True) as other,
        ):
            other.execute(count)
