"""A file of a store that is cut short while the store is open: the next query says so, instead of a signal."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import gdb
from gdb.storage import segment

_CUT = """
import os, sys
import gdb
from gdb.errors import CorruptStore
path, what = sys.argv[1:]
db = gdb.connect(path)
text = "MATCH (a)-[r]->(b) RETURN sum(a.x), sum(r.w), count(b)"
db.execute(text).fetchall()
held = db.snapshot()
held.execute(text).fetchall()
tx = db.transaction().__enter__()
(name,) = [name for name in os.listdir(path) if name.startswith("seg-")]
os.truncate(os.path.join(path, name), 100)
uses = {
    "query": lambda: db.execute(text),
    "stream": lambda: list(db.stream("MATCH (a)-[r]->(b) RETURN a.x, r.w")),
    "snapshot": lambda: held.execute(text),
    "transaction": lambda: tx.execute("MATCH (a) RETURN sum(a.x)"),
    "explain": lambda: db.explain(text),
    "check": lambda: db.check(),
    "change": lambda: tx.add_nodes("N", [1 << 40], {"x": [1]}),
    "compact": lambda: (tx.rollback(), db.execute("CREATE (:N)"), db.compact()),
}
try:
    uses[what]()
except CorruptStore as error:
    assert name in str(error) and "100 bytes instead of" in str(error), error
    print("told")
"""


@pytest.mark.parametrize(
    "what",
    ["query", "stream", "snapshot", "transaction", "explain", "check", "change", "compact"],
)
def test_a_file_that_was_cut_short_is_told_before_it_is_read(what: str, tmp_path: Path) -> None:
    with gdb.connect(path := tmp_path / "s") as db:
        with db.transaction() as tx:
            tx.add_nodes("N", np.arange(50_000), {"x": np.arange(50_000)})
            ends = np.arange(50_000)
            tx.add_relationships("R", ends, ends[::-1].copy(), {"w": ends})
        db.compact()
    arguments = [sys.executable, "-c", _CUT, str(path), what]
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stdout) == (0, "told\n"), done.stderr[-2000:]


def test_of_many_files_some_are_looked_at_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    class File:
        looks = 0

        def look(self) -> None:
            self.looks += 1

    monkeypatch.setattr(segment, "MOST_LOOKS", 3)
    segments = segment.Segments(None, (), None)  # type: ignore[arg-type]
    files = [File() for _ in range(7)]
    segments._opened = dict(enumerate(files))  # type: ignore[arg-type]
    for _ in range(7):
        segments.look()
    assert [file.looks for file in files] == [3] * 7
