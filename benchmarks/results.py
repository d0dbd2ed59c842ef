"""Where measurements go: tables on the terminal, and one section for each subject in RESULTS.md.

A section says on what it was measured (date, machine, versions) and is replaced whole when it is measured again.
"""

from __future__ import annotations

import datetime
import importlib.metadata
import os
import platform
import re
import statistics
import timeit
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

RESULTS = Path(__file__).resolve().parent / "RESULTS.md"
_TITLE = "# Results\n\nWritten by the programs in this folder (`make bench`); each section says where and when.\n"


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table, its columns padded so that it reads well on a terminal too; numbers stand to the right."""
    cells = [[str(cell) for cell in row] for row in rows]
    numeric = [bool(cells) and all(_is_number(row[k]) for row in cells) for k in range(len(header))]
    widths = [
        max(3, len(name), *(len(row[k]) for row in cells), 0) for k, name in enumerate(header)
    ]

    def line(row: Sequence[str]) -> str:
        padded = (
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(row, widths, numeric, strict=True)
        )
        return f"| {' | '.join(padded)} |"

    rule = (
        f"{'-' * (width - 1)}:" if right else "-" * width
        for width, right in zip(widths, numeric, strict=True)
    )
    return "\n".join([line(header), f"| {' | '.join(rule)} |", *map(line, cells)])


def _is_number(text: str) -> bool:
    return re.fullmatch(r"[-+]?[\d,]+(\.\d+)?( ?%)?|-|", text) is not None


def machine() -> str:
    """The machine in one line: processor, cores, memory, GPU if there is one, system; and how quick it is when this
    is first asked, because on a shared one that changes within minutes."""
    gigabytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    speed = f"1000 turns of an empty Python loop take {_turns() * 1e6:.0f} us"
    parts = [
        _processor(),
        f"{cores} cores",
        f"{gigabytes:.0f} GiB",
        _gpu(),
        platform.system(),
        speed,
    ]
    return ", ".join(part for part in parts if part)


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


def _gpu() -> str:
    try:
        import cupy
    except ImportError:
        return ""
    try:
        return str(cupy.cuda.runtime.getDeviceProperties(0)["name"].decode())
    except cupy.cuda.runtime.CUDARuntimeError:
        return ""


def versions(*distributions: str) -> str:
    """Python's version and those of the named distributions, as far as they are installed."""
    parts = [f"Python {platform.python_version()}"]
    for name in distributions:
        try:
            parts.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            continue
    return ", ".join(parts)


def save(title: str, body: str, *distributions: str) -> None:
    """Write or replace the section `title` of RESULTS.md, and its summary.

    Parameters
    ----------
    title : the section's heading, which is also what finds it again.
    body : Markdown below the line that tells date, machine and versions.
    distributions : whose versions matter to these numbers, beside Python's.
    """
    today = datetime.datetime.now(tz=datetime.UTC).date().isoformat()
    where = f"{today}; {machine()}; {versions('gdb-embedded', *distributions)}."
    section = f"## {title}\n\n{where}\n\n{body.strip()}\n"
    text = RESULTS.read_text(encoding="utf-8") if RESULTS.exists() else _TITLE
    parts = re.split(r"^(?=## )", text, flags=re.MULTILINE)
    kept = [part.strip() + "\n" for part in parts]
    for k, part in enumerate(kept):
        if part.partition("\n")[0] == f"## {title}":
            kept[k] = section
            break
    else:
        kept.append(section)
    from summary import with_summary  # it reads tables, and so imports this module

    RESULTS.write_text(with_summary("\n".join(kept)), encoding="utf-8")
