"""The process that uses forged stores: it may crash or hang, and its parent (`tests.hostile.campaign`) sees.

Usage: worker.py FOLDER [blind], and then numbers on standard input, each the seed of a store. For each it prints
"NUMBER begins WHAT" and, when it lives, "NUMBER OUTCOME BYTES TEXT": bytes of memory that it took beside twice the
store's.
"""

from __future__ import annotations

import os
import random
import resource
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

import gdb
from gdb.errors import GdbError, InternalError
from gdb.storage.format import segment
from gdb.storage.write import store
from tests.hostile import forge, guarded

# of addresses, and threads reserve many: nonsense must not be believed when memory is allocated
SPACE = (8 << 30) + (os.cpu_count() or 1) * (256 << 20)
SECONDS = 20.0  # of the processors, for one store
QUERIES = (
    "MATCH (n) RETURN count(*)",
    "MATCH (a)-[:KNOWS]->(b)-[:KNOWS]->(c), (a)-[:KNOWS]->(c) RETURN count(*)",
    "MATCH (a:Person)-[*1..2]->(b) RETURN id(b) LIMIT 2000",
    "MATCH (n:Person) WHERE id(n) = 31 RETURN n",
    "MATCH (n) RETURN n LIMIT 3000",
    "MATCH (a)-[r:KNOWS]->(b) RETURN r.since, count(*), sum(r.w)",
    "MATCH (n:Person) RETURN n.name, n.age ORDER BY n.age, n.name LIMIT 10",
    "MATCH (n) WHERE toLower(n.name) CONTAINS 'a' OR n.note STARTS WITH 'n' RETURN toUpper(n.name)",
    "MATCH (a)-[r]-(b) RETURN r, a.free, b.words LIMIT 3000",
    "MATCH (n:Place) WHERE id(n) = 'plässe 3' RETURN n.size",
)


class Lost(Exception):
    """What was committed cannot be read."""


def use(folder: Path, rng: random.Random) -> str:
    """Query, check, and sometimes write: "answered", or "refused" where something raised an error that is clear."""
    found = "answered"

    def clear(work: Callable[[], object]) -> bool:
        nonlocal found
        try:
            work()
        except InternalError:
            raise
        except GdbError:
            found = "refused"
            return False
        return True

    def queries() -> None:
        with gdb.connect(folder, read_only=True) as db:
            for query in QUERIES:
                clear(lambda query=query: db.execute(query).fetchall())  # type: ignore[misc]
            clear(db.check)
            clear(db.schema)

    if clear(queries) and rng.random() < 0.25:
        _write(folder, clear, rng)
    return found


def _write(folder: Path, clear: Callable[[Callable[[], object]], bool], rng: random.Random) -> None:
    written, tag = 0, f"mark{rng.getrandbits(32):x}"

    def add(db: gdb.Database) -> None:
        nonlocal written
        with db.transaction() as tx:
            tx.add_nodes("Marked", [tag, tag + "x"], {"k": [1, 2]}, id_space=tag)
            tx.add_relationships("MARKED", [tag], [tag + "x"], id_space=tag)
        written += 2

    def change(db: gdb.Database) -> None:
        db.execute("MATCH (n:Person) SET n.age = 5")
        db.execute("MATCH (n:Person)-[r]->() WHERE n.age = 5 WITH r LIMIT 3 DELETE r")

    def work() -> None:
        with gdb.connect(folder) as db:
            for some in rng.sample((add, change, lambda db: db.compact()), rng.choice((1, 2, 3))):
                clear(lambda some=some: some(db))  # type: ignore[misc]

    clear(work)
    if written:
        try:
            with gdb.connect(folder, read_only=True) as db:
                if db.execute("MATCH (n:Marked) RETURN count(*)").scalar() != written:
                    raise Lost("nodes that were committed are not there")
        except GdbError as error:
            raise Lost(f"after a commit: {error}") from error


def _status(name: str) -> int:
    text = Path("/proc/self/status").read_text(encoding="ascii")
    return int(text.partition(f"{name}:")[2].split()[0]) << 10


def measured(folder: Path, rng: random.Random) -> tuple[str, int]:
    """As `use`, and the memory that it took beside twice the store's bytes."""
    size = sum(path.stat().st_size for path in folder.iterdir())
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the peak begins anew
    before = _status("VmRSS")
    return use(folder, rng), max(_status("VmHWM") - before - 2 * size, 0)


def main(root: Path, *, blind: bool) -> None:
    """blind : nothing that is read from a file is compared before it is used."""
    if blind:
        vars(segment)["invariants_hold"] = lambda *_: None
    vars(store)["PATIENCE"] = ()  # no process writes meanwhile
    resource.setrlimit(resource.RLIMIT_AS, (SPACE, SPACE))
    signal.signal(signal.SIGPROF, signal.SIG_DFL)  # ends the process
    guarded.install()
    for kind in (forge.KINDS[0], forge.PACKED_DELTA):  # machine code is made, and threads
        measured(root / kind, random.Random(0))
    for line in sys.stdin:
        seed = int(line)
        rng = random.Random(seed)
        kind, fellow = rng.choice(forge.KINDS), rng.choice(forge.KINDS)
        work = root / "forged"
        what = forge.forge(root / kind, root / fellow, work, rng)
        print(
            seed,
            "begins",
            f"{kind}: {what}".encode("ascii", "backslashreplace").decode(),
            flush=True,
        )
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        taken, text = 0, ""
        try:
            outcome, taken = measured(work, rng)
        except Exception as error:
            at = traceback.extract_tb((error.__cause__ or error).__traceback__)[-1]
            outcome = {InternalError: "internal", Lost: "lost"}.get(type(error), "foreign")
            text = f"{type(error).__name__}: {error} ({Path(at.filename).name}:{at.lineno})"
        signal.setitimer(signal.ITIMER_PROF, 0)
        text = " ".join(text.encode("ascii", "backslashreplace").decode().split())
        print(seed, outcome, taken, text, flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), blind="blind" in sys.argv[2:])
