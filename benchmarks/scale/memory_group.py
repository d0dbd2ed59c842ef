"""A memory group of the system (cgroup) with a limit, for one process of a measurement: what it allocates, and the page
cache of the files that it is the first to read, together.

Version 1: a group below the one that this process is in. Version 2: one beside it, because a group with processes has
no groups below it. Where neither can be made (no rights, another system) there is none.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

_ROOT = Path("/sys/fs/cgroup")
_REMOVING = 2.0  # seconds until a process that ended has left its group


@dataclass(frozen=True, slots=True)
class MemoryGroup:
    """folder : of the group. limit, peak : names of the files with the most bytes that it may have, and has had."""

    folder: Path
    limit: str
    peak: str

    def join(self) -> None:
        """Move this process into the group; what it has already is not counted there."""
        (self.folder / "cgroup.procs").write_text(str(os.getpid()), encoding="ascii")

    def restrict(self, size: int) -> None:
        """Set its limit, bytes."""
        (self.folder / self.limit).write_text(str(size), encoding="ascii")

    def most(self) -> int:
        """Bytes that it had at most; 0 where the system does not count that."""
        with suppress(OSError):
            return int((self.folder / self.peak).read_text(encoding="ascii"))
        return 0


def at(folder: Path) -> MemoryGroup:
    """The group of a folder."""
    if (folder / "memory.limit_in_bytes").exists():
        return MemoryGroup(folder, "memory.limit_in_bytes", "memory.max_usage_in_bytes")
    return MemoryGroup(folder, "memory.max", "memory.peak")


@contextmanager
def group() -> Iterator[MemoryGroup | None]:
    """A new group, removed at the end of the block; None where there can be none."""
    made: Path | None = None
    for parent in _parents():
        folder = parent / f"gdb-{os.getpid()}-{time.monotonic_ns()}"
        with suppress(OSError):
            folder.mkdir()
            made = folder
            break
    if made is None:
        yield None
        return
    found = at(made)
    try:
        yield found if (made / found.limit).exists() else None
    finally:
        _remove(made)


def _remove(folder: Path) -> None:
    end = time.monotonic() + _REMOVING
    while True:
        try:
            folder.rmdir()
            return
        except OSError:
            if time.monotonic() > end:
                raise
        time.sleep(0.02)


def _parents() -> Iterator[Path]:
    """Folders in which a group could be made."""
    try:
        lines = Path("/proc/self/cgroup").read_text(encoding="ascii").splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        own = path.lstrip("/")
        if "memory" in controllers.split(","):
            yield _ROOT / "memory" / own
        elif not controllers and own:
            yield (_ROOT / own).parent
