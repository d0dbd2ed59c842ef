"""What Ctrl-C is pressed in: queries, streams, imports, commits and compactions, each with what it changes."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import gdb
from gdb.api.database import Database

NODES, EDGES = 20_000, 150_000
ADDED = 400  # nodes of a commit
LARGE = 30_000  # of a large one
TAIL = "MATCH (a)-->(b)-->(c) WHERE id(a) < 3000 RETURN id(a) AS x, count(*), sum(id(c)) ORDER BY x LIMIT 9"
CHAIN = "MATCH (a)-->(b) WITH b, count(*) AS k WHERE k > 6 MATCH (b)-->(c)-->(d) RETURN sum(k), count(*)"
ROWS = "UNWIND range(1, 20000) AS i WITH i, toString(i) AS t ORDER BY t RETURN collect(size(t))"


@dataclass(frozen=True)
class Work:
    """One kind of work. run : does it, once. nodes, edges : that it adds to the graph, all or none."""

    name: str
    run: Callable[[Database], object]
    nodes: int = 0
    edges: int = 0


def graph(path: Path | None) -> Database:
    """A random graph, in memory or in a folder."""
    db = gdb.connect(path)
    ends = np.random.default_rng(7).integers(0, NODES, (2, EDGES))
    with db.transaction() as tx:
        tx.add_nodes("N", np.arange(NODES))
        tx.add_relationships("E", ends[0], ends[1])
    db.compact()
    return db


def _streamed(text: str) -> Callable[[Database], object]:
    def run(db: Database) -> object:
        with db.stream(text) as rows:
            return sum(1 for _ in rows)

    return run


def _asked(text: str) -> Callable[[Database], object]:
    return lambda db: db.execute(text)


def _added(count: int) -> Callable[[Database], None]:
    def run(db: Database) -> None:
        first = db.execute("MATCH (n:P) RETURN count(*)").scalar()
        tx = db.transaction()
        try:
            with tx:
                tx.add_nodes("P", np.arange(first, first + count), id_space="p")
        except KeyboardInterrupt:
            if (
                db._store.writes_here
            ):  # Python struck between the block and the first step of __exit__
                tx.rollback()
            raise

    return run


def _compacted(db: Database) -> None:
    db.compact(packed=not db._store.snapshot().manifest.packed)


def works(folder: Path) -> list[Work]:
    """All kinds of work. folder : for files that are imported."""
    file = folder / "edges.txt"
    ends = np.random.default_rng(8).integers(NODES, NODES + 5000, (20_000, 2))
    np.savetxt(file, ends, fmt="%d")
    text = "UNWIND range(1, $n) AS i CREATE (:Y {i: i})"

    def loaded(db: Database) -> None:
        db.load(file, type="L", missing_ends="create")

    def copied(db: Database) -> None:
        out = folder / "copy.gdb"
        shutil.rmtree(out, ignore_errors=True)
        db.backup(out)

    return [
        Work("count", _asked("MATCH (a)-->(b)-->(c)-->(d) RETURN count(*)")),
        Work("triangles", _asked("MATCH (a)-->(b)-->(c)-->(a) RETURN count(*)")),
        Work("rows", _asked("MATCH (a)-->(b)-->(c) RETURN id(a), id(c)")),
        Work("relational tail", _asked(TAIL)),
        Work("chain", _asked(CHAIN)),
        Work("evaluator", _asked(ROWS)),
        Work("stream", _streamed("MATCH (a)-->(b)-->(c) RETURN id(a), id(c)")),
        Work("stream of a whole answer", _streamed(TAIL)),
        Work("commit", lambda db: db.execute(text, {"n": ADDED}), ADDED),
        Work("streamed commit", _streamed(text.replace("$n", str(ADDED))), ADDED),
        Work("transaction", _added(ADDED), ADDED),
        Work("large transaction", _added(LARGE), LARGE),
        Work("import", loaded, -1, len(ends)),
        Work("compaction", _compacted),
        Work("backup", copied),
    ]
