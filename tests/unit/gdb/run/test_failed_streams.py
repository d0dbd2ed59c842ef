"""Streams whose queries fail while they are read: nothing of them stays."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest

import gdb
from gdb.run.stream import Stream

LONG = "MATCH (a:A), (b:A) RETURN a.i, b.i"


@pytest.fixture
def db(tmp_path: Path) -> gdb.Database:
    with gdb.connect(tmp_path / "s.gdb") as db:
        db.execute("UNWIND range(0, 3000) AS i CREATE (:A {i: i})")
        db.compact()
    return gdb.connect(tmp_path / "s.gdb")


def streams() -> int:
    gc.collect()
    return sum(isinstance(one, Stream) for one in gc.get_objects())


@pytest.mark.parametrize("how", ["timeout", "interrupt", "close"])
def test_a_stream_that_failed_is_let_go(db: gdb.Database, how: str) -> None:
    before = streams()

    def read() -> None:
        stream = db.stream(LONG, timeout=0.05 if how == "timeout" else None)
        rows = iter(stream)
        next(rows)
        if how != "timeout":
            getattr(db, how)()
        with pytest.raises((gdb.QueryTimeout, gdb.Cancelled)):
            for _ in rows:
                pass
        with pytest.raises(gdb.ClosedError, match="has failed"):
            list(stream)

    with db:
        read()
        assert streams() == before
