"""The memory that the system would give this process for the pages of files that it reads."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_ROOT = Path("/sys/fs/cgroup")
_OWN = Path("/proc/self/cgroup")
_MACHINE = Path("/proc/meminfo")
_CACHE = ("inactive_file", "active_file")


def cache_room() -> int:
    """Bytes of files that can stay in memory: what is free, and what has files already, of the machine and of each
    memory group (cgroup) that this process is in; `sys.maxsize` where the system does not say."""
    return min((sys.maxsize, *_machine(), *_groups()))


def _machine() -> Iterator[int]:
    with suppress(OSError, ValueError, IndexError):
        for line in _MACHINE.read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                yield int(line.split()[1]) * 1024


def _groups() -> Iterator[int]:
    with suppress(OSError, ValueError):
        for line in _OWN.read_text(encoding="ascii").splitlines():
            _, controllers, path = line.split(":", 2)
            if "memory" in controllers.split(","):
                names = "memory.limit_in_bytes", "memory.usage_in_bytes", "total_"
                yield from _group(_ROOT / "memory", path, names)
            elif not controllers:
                yield from _group(_ROOT, path, ("memory.max", "memory.current", ""))


def _group(root: Path, path: str, names: tuple[str, str, str]) -> Iterator[int]:
    """Of a group and those around it. In a container its own may be the root that is seen."""
    limit, usage, prefix = names
    own = Path(path.lstrip("/"))
    for folder in (root / own, *(root / one for one in own.parents)):
        with suppress(OSError, ValueError):
            most = (folder / limit).read_text(encoding="ascii").strip()
            if most == "max":
                continue
            used = int((folder / usage).read_text(encoding="ascii"))
            stat = (folder / "memory.stat").read_text(encoding="ascii")
            figures = dict(line.split() for line in stat.splitlines())
            files = sum(int(figures[prefix + name]) for name in _CACHE)
            yield max(int(most) - used + files, 0)
