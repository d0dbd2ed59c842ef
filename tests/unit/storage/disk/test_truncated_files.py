"""A file of a store that is cut short while the store is open: the next query says so, instead of a signal."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import gdb
from gdb.storage.format import segments

_CUT = """
import os, shutil, sys
import gdb
from gdb.errors import CorruptStore
text = "MATCH (a)-[r]->(b) RETURN sum(a.x), sum(r.w), count(b)"
uses = {
    "query": lambda db, held, tx: db.execute(text),
    "stream": lambda db, held, tx: list(db.stream("MATCH (a)-[r]->(b) RETURN a.x, r.w")),
    "snapshot": lambda db, held, tx: held.execute(text),
    "transaction": lambda db, held, tx: tx.execute("MATCH (a) RETURN sum(a.x)"),
    "explain": lambda db, held, tx: db.explain(text),
    "check": lambda db, held, tx: db.check(),
    "change": lambda db, held, tx: tx.add_nodes("N", [1 << 40], {"x": [1]}),
    "compact": lambda db, held, tx: (tx.rollback(), db.execute("CREATE (:N)"), db.compact()),
}
for what, use in uses.items():
    path = f"{sys.argv[1]} {what}"
    shutil.copytree(sys.argv[1], path)
    db = gdb.connect(path)
    db.execute(text).fetchall()
    held = db.snapshot()
    held.execute(text).fetchall()
    tx = db.transaction().__enter__()
    (name,) = [name for name in os.listdir(path) if name.startswith("seg-")]
    os.truncate(os.path.join(path, name), 100)
    print(what, end=": ", flush=True)
    try:
        use(db, held, tx)
    except CorruptStore as error:
        assert name in str(error) and "100 bytes instead of" in str(error), error
        print("raised", flush=True)
"""
USES = ("query", "stream", "snapshot", "transaction", "explain", "check", "change", "compact")


def test_a_file_that_was_cut_short_is_told_before_it_is_read(tmp_path: Path) -> None:
    """Each use of a store of its own; all in one process, which no signal ends."""
    with gdb.connect(path := tmp_path / "s") as db:
        with db.transaction() as tx:
            tx.add_nodes("N", np.arange(50_000), {"x": np.arange(50_000)})
            ends = np.arange(50_000)
            tx.add_relationships("R", ends, ends[::-1].copy(), {"w": ends})
        db.compact()
    arguments = [sys.executable, "-c", _CUT, str(path)]
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]
    assert done.stdout.splitlines() == [f"{use}: raised" for use in USES]


_CUT_MEANWHILE = """
import os, sys
import gdb
from gdb.errors import CorruptStore
path, what = sys.argv[1:]
(name,) = [name for name in os.listdir(path) if name.startswith("seg-")]
cut = lambda: os.truncate(os.path.join(path, name), 100)
options = dict(device="cpu", timeout=60)
if what.endswith("budget"):
    options["memory"] = "1MiB"
walk = "MATCH " + "".join(f"(v{k})-[]-" for k in range(4)) + "(v4), (v0)-[]-(v4)"
with gdb.connect(path) as db, db.snapshot() as held:
    try:
        if what.startswith("count"):
            from gdb.storage.graph.snapshot import Snapshot

            def adjacency(*given, read=Snapshot.adjacency):
                cut()
                return read(*given)

            Snapshot.adjacency = adjacency
            db.execute(walk + " RETURN count(*)", **options)
        elif what == "operators":
            from gdb.executor.relational.relational import Session

            def begin(*given, make=Session.__init__):
                cut()
                make(*given)

            Session.__init__ = begin
            db.execute("UNWIND range(1, 1000) AS k MATCH (a:N) WHERE a.x % 7 = k RETURN count(a)")
        else:
            with db.stream("MATCH (a)-[r]-(b)-[s]-(c) RETURN a.x, r.w, c.x", **options) as rows:
                given = iter(rows)
                next(given)
                cut()
                for a, r, c in given:
                    assert 0 < a <= 200_000 and 0 < r <= 200_000 and 0 < c <= 200_000, (a, r, c)
    except CorruptStore as error:
        assert name in str(error), error
        print("told")
    try:
        held.execute("MATCH (a)-[]->(b) RETURN count(*)")
    except CorruptStore:
        print("again")
"""


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store to be copied."""
    with gdb.connect(path := tmp_path_factory.mktemp("large") / "s") as db:
        with db.transaction() as tx:
            ids = np.arange(1, 200_001)
            tx.add_nodes("N", ids, {"x": ids})
            ends = np.random.default_rng(1).permutation(ids)
            tx.add_relationships("R", ids, ends, {"w": ids})
            tx.add_relationships("R", ids, np.roll(ids, 1), {"w": ids})
        db.compact()
    return path


@pytest.mark.skipif(sys.platform != "linux", reason="the signal is handled on Linux")
@pytest.mark.parametrize("what", ["count", "count budget", "stream", "stream budget", "operators"])
def test_a_file_that_is_cut_short_during_a_query_is_told(
    what: str, large: Path, tmp_path: Path
) -> None:
    """Nothing hangs, no row is wrong, and the process lives; also under Python's own handler of the signal."""
    path = shutil.copytree(large, tmp_path / "s")
    arguments = [sys.executable, "-X", "faulthandler", "-c", _CUT_MEANWHILE, str(path), what]
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stdout) == (0, "told\nagain\n"), done.stderr[-2000:]


def test_of_many_files_some_are_looked_at_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    class File:
        looks = 0

        def look(self) -> None:
            self.looks += 1

    monkeypatch.setattr(segments, "MOST_LOOKS", 3)
    several = segments.Segments(None, (), None)  # type: ignore[arg-type]
    files = [File() for _ in range(7)]
    several._opened = dict(enumerate(files))  # type: ignore[arg-type]
    for _ in range(7):
        several.look()
    assert [file.looks for file in files] == [3] * 7
