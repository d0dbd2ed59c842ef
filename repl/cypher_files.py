"""Scripts of Cypher that `gdbsh load` takes: all their statements in one transaction."""

from __future__ import annotations

import io
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from gdb.api.database import Database
from gdb.errors import ArgumentProblem, GdbError, ImportFailed
from gdb.storage.importer.detect import CYPHER, head, open_input, other_kind

from .statements import streamed, where


def is_cypher(path: Path) -> bool:
    """Whether a file looks like statements of Cypher."""
    if not path.is_file():
        return False
    try:
        first = next((line for line in head(path) if line.strip()), "")
    except ImportFailed:  # reading it as data raises the error
        return False
    found = other_kind(first)
    return found is not None and found[0] == CYPHER


def load(db: Database, paths: Sequence[Path]) -> str:
    """Run the statements of all files in one transaction; what they did.

    Raises
    ------
    GdbError : what the failing statement raises; the message names its line, and nothing was stored.
    """
    begun, nodes, relationships, lines = time.monotonic(), 0, 0, list[str]()
    with db.importing(), db.transaction() as changes:
        for path in paths:
            count = 0
            for statement in streamed(_lines(path)):
                count += 1
                try:
                    if statement.text.startswith("."):
                        raise ArgumentProblem("a script that is loaded holds statements alone.")
                    summary = changes.execute(statement.text).summary
                except GdbError as error:
                    place = where(statement, error, str(path))
                    sys.stderr.write(f"({place}; nothing was stored)\n")
                    raise
                if summary is not None and summary.effects is not None:
                    nodes += summary.effects.nodes_created
                    relationships += summary.effects.relationships_created
            lines.append(f"{path}: {count:,} statements (Cypher)")
    seconds = time.monotonic() - begun
    lines.append(f"added {nodes:,} nodes and {relationships:,} relationships in {seconds:.1f} s")
    return "\n".join(lines)


def _lines(path: Path) -> Iterator[str]:
    try:
        with open_input(path) as stream:
            yield from io.TextIOWrapper(stream, encoding="utf-8-sig", newline="\n")
    except UnicodeDecodeError as error:
        raise ImportFailed(
            f"cannot be read ({error})", "Name a UTF-8 text file.", file=str(path)
        ) from None
