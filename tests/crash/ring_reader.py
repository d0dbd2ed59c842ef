"""A process that reads a ring (`tests.crash.ring`) while another writes it.

Usage: ring_reader.py FOLDER SIZE [BROKEN]. Prints "ready" after the first query and "enough" once it has seen enough to
judge by, reads until its standard input ends, and prints a `Report` as JSON. Each query of an open database sees the
newest commit; now and then the database is opened anew as well.
"""

from __future__ import annotations

import json
import select
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from itertools import count
from pathlib import Path
from typing import cast
from unittest.mock import patch

import gdb
from gdb.storage.disk.files import PosixFiles
from gdb.storage.disk.growing_file import Bound, Growing
from gdb.storage.format.manifest import TypeRecord
from gdb.storage.format.segments import Segments
from gdb.storage.graph import snapshot
from gdb.storage.graph.delta import TypeDelta
from gdb.storage.graph.partitions import Partitions
from tests.crash.ring import TWO_STEPS, VERSION, WHOLE, Row, Witness

LOOKS = 25  # before the database is opened anew
MOST = 5  # faults that are reported
ENOUGH_LOOKS, ENOUGH_VERSIONS = 30, 10  # before what a reader says means anything


@dataclass(slots=True)
class Report:
    """What a reader saw. versions : different ones; violations : how many; the first ones are in `faults`."""

    looks: int = 0
    versions: int = 0
    first: int = -1
    last: int = -1
    opened: int = 0
    violations: int = 0
    faults: list[str] = field(default_factory=list)


Look = Callable[[gdb.Database], list[Row]]


def whole(db: gdb.Database) -> list[Row]:
    """The ring of one snapshot."""
    return cast(list[Row], db.execute(WHOLE, threads=1).fetchall())


# ---- readings with one step left out: the witness must see them ------------------------------------


def two_queries() -> Look:
    """The version by one query, the cycle by another after the next commit: two snapshots as one."""

    def look(db: gdb.Database) -> list[Row]:
        version = db.execute(VERSION).scalar()
        while not _ended() and db.execute(VERSION).scalar() == version:
            time.sleep(0.001)
        return [cast(Row, (version, *row[1:])) for row in whole(db)]

    return look


def old_manifest() -> Look:
    """Every third time the manifest of three versions before is read again: the files of an older one may be gone, and
    a reader that misses files reads once more."""
    read_again, kept, turns = PosixFiles.read_again, list[Growing](), count()

    def again(files: PosixFiles, name: str, bound: Bound, *, end: int | None = None) -> Growing:
        content = bytearray(read_again(files, name, bound, end=end).content)
        if not kept or kept[-1].content != content:
            kept.append(Growing(content))
        return kept[-4:][0] if next(turns) % 3 == 2 else kept[-1]

    patch.object(PosixFiles, "read_again", again).start()
    return whole


def old_relationships() -> Look:
    """The relationships of the snapshot before, where it has the same base, beside the nodes of this one."""

    def partitions(
        records: tuple[TypeRecord, ...],
        deltas: Mapping[str, TypeDelta],
        segments: Segments,
        count: int,
        before: Partitions | None,
    ) -> Partitions:
        if before is not None and tuple(before._records.values()) == records:
            deltas = before._deltas
        return Partitions(records, deltas, segments, count, before)

    patch.object(snapshot, "Partitions", partitions).start()
    return whole


BROKEN = {one.__name__: one for one in (two_queries, old_manifest, old_relationships)}


def _ended() -> bool:
    """Whether the parent has closed our standard input, or is no more."""
    return bool(select.select([sys.stdin], [], [], 0)[0])


def read(folder: Path, size: int, look: Look) -> Report:
    """Look again and again until the standard input ends."""
    report, witness = Report(), Witness(size)
    with gdb.connect(folder, read_only=True) as db:
        db.execute(VERSION).scalar()
    print("ready", flush=True)
    enough = False
    while not report.looks or not _ended():
        report.opened += 1
        try:
            with gdb.connect(folder, read_only=True) as db:
                for _ in range(LOOKS):
                    faults = witness.judge(look(db))
                    if (found := db.execute(TWO_STEPS, threads=1).scalar()) != size:
                        faults.append(f"{found} paths of two steps")
                    _tell(report, faults)
                    if not enough and _enough(report, witness):
                        enough = True
                        print("enough", flush=True)
                    if _ended():
                        break
        except Exception as error:  # whatever a reader meets beside a writer is wrong
            _tell(report, [f"{type(error).__name__}: {error}"])
    report.versions, report.first, report.last = witness.versions, witness.first, witness.last
    return report


def _enough(report: Report, witness: Witness) -> bool:
    return report.looks >= ENOUGH_LOOKS and witness.versions >= ENOUGH_VERSIONS


def _tell(report: Report, faults: list[str]) -> None:
    report.looks += 1
    report.violations += len(faults)
    report.faults += faults[: MOST - len(report.faults)]


def main(folder: Path, size: int, broken: str = "") -> None:
    look = BROKEN[broken]() if broken else whole
    print(json.dumps(asdict(read(folder, size, look))), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:])
