"""Ids that are integers beyond 64 bits make all ids texts, and that is said."""

from __future__ import annotations

from pathlib import Path

import gdb


def test_long_ids(tmp_path: Path) -> None:
    (tmp_path / "n.csv").write_text("id,v\n1,a\n9223372036854775808,b\n")
    (tmp_path / "t.csv").write_text("id,v\n1,a\nx,b\n")
    (tmp_path / "e.csv").write_text("source,target\n1,9223372036854775808\n")
    with gdb.connect() as db:
        (warning,) = db.load(nodes={"P": tmp_path / "n.csv"}).warnings
        assert "'id' holds integers beyond 64 bits; all ids of it are texts" in warning
        assert sorted(db.execute("MATCH (n) RETURN id(n)").fetchall()) == [
            ("1",),
            ("9223372036854775808",),
        ]
    with gdb.connect() as db:
        assert db.load(nodes={"P": tmp_path / "t.csv"}).warnings == []
    with gdb.connect() as db:
        (warning,) = db.load(edges={"R": tmp_path / "e.csv"}).warnings
        assert "'END_ID' holds integers beyond 64 bits" in warning
