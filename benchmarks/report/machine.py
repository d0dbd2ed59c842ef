"""The machine that a measurement ran on, and the versions of what took part."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import re
import statistics
import timeit
from dataclasses import dataclass
from functools import cache
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine.

    Parameters
    ----------
    processor : its model name.
    cores : that this process may run on.
    memory_gib : GiB of memory.
    gpu : the model of its first GPU, None without one that answers.
    system : of `platform.system()`.
    loop_us : microseconds of 1,000 turns of an empty Python loop, None where it was not measured: the speed of a
        shared machine changes within minutes.
    """

    processor: str
    cores: int
    memory_gib: int
    gpu: str | None
    system: str
    loop_us: int | None

    def sentence(self) -> str:
        """All of it in one line."""
        parts = [
            self.processor,
            f"{self.cores} cores",
            f"{self.memory_gib} GiB",
            self.gpu,
            self.system,
        ]
        if self.loop_us is not None:
            parts.append(f"1000 turns of an empty Python loop take {self.loop_us} us")
        return ", ".join(part for part in parts if part)

    def short(self) -> str:
        """The GPU and the cores, as a row of the summary has room for."""
        return f"{self.gpu}, {self.cores} cores" if self.gpu else f"{self.cores} cores"


def this_machine() -> Machine:
    """The machine of this process."""
    affinity = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    gigabytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return Machine(
        _processor(),
        affinity or 1,
        round(gigabytes),
        _gpu(),
        platform.system(),
        round(_turns() * 1e6),
    )


@cache
def _turns() -> float:
    """Seconds of a thousand turns of an empty loop, the median of some hundred; measured once in a process."""
    return (
        statistics.median(timeit.repeat("for _ in range(1000): pass", number=10, repeat=300)) / 10
    )


def _processor() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return platform.machine()
    found = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    return found.group(1).strip() if found else platform.machine()


def _gpu() -> str | None:
    try:
        import cupy
    except ImportError:
        return None
    try:
        return str(cupy.cuda.runtime.getDeviceProperties(0)["name"].decode())
    except cupy.cuda.runtime.CUDARuntimeError:
        return None


def versions(*distributions: str) -> dict[str, str]:
    """Python's version and those of the named distributions, as far as they are installed."""
    found = {"Python": platform.python_version()}
    for name in distributions:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found
