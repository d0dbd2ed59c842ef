"""Queries that want all memory and all time, each under a budget: an answer or a clear error, soon, in little memory.

python -m tests.hostile.queries --number 1000: prints a table of the kinds of queries, and every one that failed. The
program's limits are those of the issue: 256 MB and 2 s as limits, 512 MB more than at the start and 3 s taken.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import gdb
from gdb import Database
from gdb.errors import GdbError, InternalError
from gdb.run import columns_or_rows
from tests.hostile.query_kinds import FILES, KINDS

NODES = 3000
MEMORY, TIMEOUT = 256 << 20, 2.0
MOST_SECONDS, MOST_BYTES = 3.0, 512 << 20
WAYS = ("chosen", "rows", "matched")
"""As the library chooses; over rows; behind a MATCH over the graph, so that columns are chosen where they can be."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a query. outcome : "answer", or the name of the error. bytes : more than before it began."""

    kind: str
    way: str
    text: str
    outcome: str
    seconds: float
    bytes: int
    fault: str = ""


def graph() -> Database:
    """3,000 nodes, 6,000 relationships; and files to read."""
    db = gdb.connect()
    db.execute(f"UNWIND range(1, {NODES}) AS i CREATE (:N {{i: i, name: 'name ' + i}})")
    for end in (f"(a.i * 7) % {NODES} + 1", f"(a.i * 13 + 5) % {NODES} + 1"):
        db.execute(f"MATCH (a:N), (b:N) WHERE b.i = {end} CREATE (a)-[:R {{w: a.i}}]->(b)")
    return db


# ---- running them ----------------------------------------------------------------------------------


def resident() -> int:
    """Bytes that the process has in memory at most since `forget`."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.partition("VmHWM:")[2].split()[0]) << 10


def forget() -> None:
    """Let `resident` begin anew."""
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def prefixed(text: str) -> str:
    """The query behind a MATCH over the graph."""
    return (
        text
        if text.startswith("MATCH")
        else f"MATCH (n0:N) WHERE n0.i <= 2 WITH count(n0) AS n0 {text}"
    )


def outcomes(
    db: Database, folder: Path, seeds: range, timeout: float = TIMEOUT, memory: int = MEMORY
) -> Iterator[Outcome]:
    """What became of each query."""
    for name, content in FILES.items():
        (folder / name).write_text(content, encoding="utf-8")
    names = [*KINDS]
    for seed in seeds:
        chance = random.Random(seed)
        kind = names[seed % len(names)]
        way = WAYS[seed // len(names) % len(WAYS)]
        text = KINDS[kind](chance)
        if way == "matched" and " UNION " not in text:
            text = prefixed(text)
        yield _run(db, kind, way, text, f"{folder}/", timeout, memory)


def _run(
    db: Database, kind: str, way: str, text: str, folder: str, timeout: float, memory: int
) -> Outcome:
    columns_or_rows.WAY = "rows" if way == "rows" else None
    forget()
    begun, at, fault = resident(), time.monotonic(), ""
    try:
        db.execute(text, {"folder": folder}, timeout=timeout, memory=memory)
        outcome = "answer"
    except InternalError as error:
        outcome, fault = "InternalError", str(error)[:200]
    except GdbError as error:
        outcome = type(error).__name__
        if outcome == "QueryTimeout" and f"of {timeout:g} s" not in str(error):
            fault = f"another timeout: {error}"
        if not error.cure and outcome in ("OutOfBudget", "LimitExceeded", "QueryTimeout"):
            fault = f"no cure: {error}"
    except Exception as error:
        outcome, fault = type(error).__name__, str(error)[:200]
    finally:
        columns_or_rows.WAY = None
    seconds, size = time.monotonic() - at, resident() - begun
    return Outcome(kind, way, text, outcome, seconds, size, fault)


def judged(found: Outcome, seconds: float = MOST_SECONDS, size: int = MOST_BYTES) -> str:
    """What is wrong with an outcome; empty where nothing is."""
    wrong = [found.fault] if found.fault else []
    if found.seconds > seconds:
        wrong.append(f"{found.seconds:.1f} s")
    if found.bytes > size:
        wrong.append(f"{found.bytes >> 20:,} MB")
    return ", ".join(wrong)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--number", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0, help="the seed of the first one")
    given = parser.parse_args()
    seen: dict[str, list[Outcome]] = {}
    failed = 0
    with graph() as db, tempfile.TemporaryDirectory() as folder:
        for found in outcomes(db, Path(folder), range(given.first, given.first + given.number)):
            seen.setdefault(found.kind, []).append(found)
            if wrong := judged(found):
                failed += 1
                print(f"{found.kind} ({found.way}): {wrong}\n    {found.text[:300]}", flush=True)
    print(f"{'kind':<12}{'number':>7}{'seconds':>9}{'MB':>6}  outcomes")
    for kind, several in seen.items():
        counts = Counter(one.outcome for one in several)
        told = ", ".join(f"{name} {n}" for name, n in counts.most_common())
        slowest, largest = max(o.seconds for o in several), max(o.bytes for o in several) >> 20
        print(f"{kind:<12}{len(several):>7}{slowest:>9.2f}{largest:>6}  {told}")
    print(f"{given.number} queries, {failed} failed")
    raise SystemExit(failed > 0)


if __name__ == "__main__":
    main()
