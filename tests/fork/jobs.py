"""What processes of a pool do: functions that a spawned process can import, too."""

from __future__ import annotations

import time
from pathlib import Path

import gdb
from gdb.errors import StoreLocked

TOTAL = "MATCH (a:Person) RETURN sum(a.age) AS total"
OLDEST = "MATCH (a:Person)-[:KNOWS]->(b) RETURN a.age, b.age ORDER BY b.age DESC, a.age LIMIT 2"
PAIRS = "MATCH (a:Person)-[:KNOWS]->(b) RETURN count(*)"
PEOPLE = 500

opened: gdb.Database | None = None  # by the parent, for forked workers


def filled(path: Path | None) -> gdb.Database:
    """A store of people, each of whom knows the next."""
    db = gdb.connect(path)
    with db.transaction() as tx:
        tx.add_nodes("Person", list(range(PEOPLE)), {"age": list(range(PEOPLE))})
        tx.add_relationships("KNOWS", list(range(PEOPLE - 1)), list(range(1, PEOPLE)))
    return db


def ask(db: gdb.Database) -> None:
    """Queries whose answers are known, with a relational part and without."""
    assert db.execute(TOTAL).scalar() == PEOPLE * (PEOPLE - 1) // 2
    assert db.execute(OLDEST, timeout=600).fetchall() == [(498, 499), (497, 498)]
    assert db.execute(PAIRS).scalar() == PEOPLE - 1
    with db.stream("MATCH (a:Person) RETURN a.age") as stream:
        assert sum(age for (age,) in stream) == PEOPLE * (PEOPLE - 1) // 2


def write(db: gdb.Database, label: str, ids: list[int], tries: int = 100_000) -> None:
    """Commit nodes one by one; where another process writes, try again."""
    for one in ids:
        for k in range(tries):
            try:
                with db.transaction() as tx:
                    tx.add_nodes(label, [one], id_space=label)
                break
            except StoreLocked:
                if k == tries - 1:
                    raise
                time.sleep(0.002)  # the machine is for who writes


def written(db: gdb.Database, label: str) -> int:
    found = db.execute(f"MATCH (a:{label}) RETURN count(*)").scalar()
    assert isinstance(found, int)
    return found


def work_on_opened(label: str) -> str:
    """A forked worker's job, on the Database of its parent."""
    assert opened is not None
    ask(opened)
    write(opened, label, [0, 1])
    return label


def work_on_path(path: str, label: str) -> str:
    """A worker's job, on a Database of its own."""
    with gdb.connect(path) as db:
        ask(db)
        write(db, label, [0, 1])
    return label
