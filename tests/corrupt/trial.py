"""The process that opens damaged stores: it may crash or hang, and its parent (`tests.corrupt.table`) sees.

Usage: trial.py BASE STALE WORK SEED, and then the numbers of damages on standard input. For each it
prints "NUMBER begins" and, when it lives, "NUMBER OUTCOME TEXT".
"""

from __future__ import annotations

import os
import resource
import sys
import traceback
from pathlib import Path

import gdb
from gdb.errors import (
    CorruptStore,
    InternalError,
    NotAStore,
    QueryError,
    StoreError,
    StoreVersionError,
)
from gdb.storage.write import store
from tests.corrupt import damages, sealed, stores

MEMORY = 8 << 30  # nonsense must not be believed when memory is allocated
BY_QUERIES = 50  # one of so many that no checksum fits is tried by queries too
CLEAR = (CorruptStore, StoreVersionError, NotAStore)


def outcome(folder: Path, right: list[list[str]], *, special: bool) -> tuple[str, str]:
    """What becomes of a damaged store: "at use" (a query refused), "by check" (only `check` did), "harmless",
    "wrong" or "foreign" (an error that is not ours, or is not clear); and the error.

    special : no file at all is where one should be, so that the operating system may be quoted.
    """
    clear = (StoreError,) if special else CLEAR
    refused, differs = "", ""
    try:
        with gdb.connect(folder, read_only=True) as db:
            for query, wanted in zip(stores.QUERIES, right, strict=True):
                try:
                    if stores.rows_of(db, query) != wanted:
                        differs = differs or query
                except clear as error:
                    refused = refused or str(error)
                    if not isinstance(error, CorruptStore):
                        raise
                except QueryError:
                    differs = (
                        differs or query
                    )  # a column of another kind; no answer, but no cause either
    except clear as error:
        refused = refused or str(error)
    checked = _checked(folder, clear)
    if differs and not checked:
        return "wrong", differs
    if refused:
        return "at use", refused
    return ("by check", f"{checked} [{differs or 'right'}]") if checked else ("harmless", "")


def outcome_of_bytes(folder: Path, held: list[object]) -> tuple[str, str]:
    """As `outcome`, where the checksums do not fit: the files are read without queries."""
    try:
        return ("harmless", "") if stores.contents(folder) == held else ("wrong", "contents")
    except CLEAR as error:
        return "at use", str(error)


def outcome_of_end(folder: Path, states: list[list[object]]) -> tuple[str, str]:
    """As `outcome_of_bytes`, where the store may be as it was earlier. states : earlier ones, and last what it was."""
    found = stores.contents(folder)
    if found not in states:
        return "wrong", "contents"
    return ("harmless" if found == states[-1] else "older"), ""


def earlier_states(base: Path, work: Path) -> list[list[object]]:
    """What the store held before each record of its journal, and what it holds."""
    found = []
    for end in damages.ends_of_records(base):
        sealed.restore(base, work)
        os.truncate(work / "MANIFEST", end)
        found.append(stores.contents(work))
    return found


def _checked(folder: Path, clear: tuple[type[Exception], ...]) -> str:
    """What `check` says of the store."""
    try:
        with gdb.connect(folder, read_only=True) as db:
            db.check()
    except clear as error:
        return str(error)
    return ""


def main(base: Path, stale: Path, work: Path, seed: int) -> None:
    vars(store)["PATIENCE"] = ()  # no process writes meanwhile
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    tried = damages.all_damages(base, stale, seed)
    with gdb.connect(base, read_only=True) as db:
        right = stores.answers(db)
    held = stores.contents(base)
    states = earlier_states(base, work)
    for line in sys.stdin:
        number = int(line)
        damage = tried[number]
        sealed.restore(base, work)
        print(number, "begins", flush=True)
        damage.apply(work)
        try:
            # Bytes that the checksums refuse are not worth all the queries, but for a sample.
            if damage.kind == damages.END_LOST:
                found, text = outcome_of_end(work, states)
            elif damage.unsealed and number % BY_QUERIES:
                found, text = outcome_of_bytes(work, held)
            else:
                found, text = outcome(work, right, special="in its place" in damage.kind)
        except InternalError as error:
            found, text = "foreign", f"{type(error).__name__}: {error}"
        except Exception as error:
            at = traceback.extract_tb(error.__traceback__)[-1]
            text = f"{type(error).__name__}: {error} ({Path(at.filename).name}:{at.lineno})"
            found = "foreign"
        print(number, found.replace(" ", "_"), " ".join(text.split()), flush=True)


if __name__ == "__main__":
    base, work, right = map(Path, sys.argv[1:4])
    main(base, work, right, int(sys.argv[4]))
