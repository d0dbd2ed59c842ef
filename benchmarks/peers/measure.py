"""Run jobs, each in a process of its own, under limits of time and memory, and keep what they say."""

from __future__ import annotations

import json
import os
import select
import signal
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Literal, TypeAlias

from benchmarks.peers.worker import Job

Outcome = Literal["measured", "unsupported", "stopped", "failed"]
_REPOSITORY = Path(__file__).resolve().parents[2]
_LOOK = 0.25  # seconds between two looks at a process's memory
Lines: TypeAlias = list[dict[str, object]]


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds for one run, seconds for loading or opening, bytes of resident memory."""

    run: float
    load: float
    memory: int


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a query."""

    seconds: float
    count: int
    groups: dict[str, int]
    points: int
    p50: float
    p99: float


@dataclass(frozen=True, slots=True)
class Measured:
    """What came of a job.

    Parameters
    ----------
    runs : the runs that ended; the first one also compiles and reads from disk.
    opened : seconds of opening, or of loading.
    resident : bytes of resident memory when the graph was open, before the first run.
    peak : bytes of resident memory at most, in the whole process.
    query_peak : the same, from the first run on.
    note : why it was stopped or how it failed.
    """

    outcome: Outcome
    runs: tuple[Run, ...] = ()
    opened: float = 0.0
    resident: int = 0
    peak: int = 0
    query_peak: int = 0
    note: str = ""

    @property
    def later(self) -> tuple[Run, ...]:
        """The runs that count: all but the first, unless that is the only one."""
        return self.runs[1:] or self.runs

    @property
    def seconds(self) -> float:
        """The median of the runs that count."""
        return statistics.median(run.seconds for run in self.later)

    @property
    def p50(self) -> float:
        return statistics.median(run.p50 for run in self.later)

    @property
    def p99(self) -> float:
        return statistics.median(run.p99 for run in self.later)

    @property
    def above(self) -> int:
        """Bytes that the runs took above those of the open graph."""
        return max(0, self.query_peak - self.resident)


@dataclass(slots=True)
class _Watch:
    """A process and the line that it is at: the limit of the step that runs is its deadline."""

    process: subprocess.Popen[bytes]
    limits: Limits
    deadline: float
    rest: bytes = b""
    stopped: str = ""
    lines: Lines = field(default_factory=list)


def run(job: Job, python: Path, limits: Limits) -> Measured:
    """Do a job with a Python, and stop it when it exceeds a limit."""
    command = [str(python), "-m", "benchmarks.peers.worker", job.text()]
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            command,
            cwd=_REPOSITORY,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            start_new_session=True,
        )
        watch = _Watch(process, limits, time.monotonic() + limits.load)
        try:
            _follow(watch)
        finally:
            _end(process)
        return _measured(watch, errors)


def _follow(watch: _Watch) -> None:
    """Read the lines until the process closes its output or exceeds a limit."""
    assert watch.process.stdout is not None
    output = watch.process.stdout.fileno()
    while True:
        left = watch.deadline - time.monotonic()
        if left <= 0:
            watch.stopped = f"over {_step_limit(watch):g} s"
            return
        if _resident(watch.process.pid) > watch.limits.memory:
            watch.stopped = f"over {watch.limits.memory / 2**30:.1f} GiB"
            return
        if not select.select([output], [], [], min(left, _LOOK))[0]:
            continue
        text = os.read(output, 1 << 16)
        if not text:
            return
        for line in _lines(watch, text):
            watch.lines.append(line)
            watch.deadline = time.monotonic() + watch.limits.run


def _lines(watch: _Watch, text: bytes) -> Iterator[dict[str, object]]:
    *whole, watch.rest = (watch.rest + text).split(b"\n")
    for line in whole:
        yield json.loads(line)


def _step_limit(watch: _Watch) -> float:
    return watch.limits.run if watch.lines else watch.limits.load


def _resident(process: int) -> int:
    """Bytes of resident memory of a process; 0 where the system does not report it."""
    try:
        pages = Path(f"/proc/{process}/statm").read_text(encoding="utf-8").split()[1]
    except (OSError, IndexError):
        return 0
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the process and what it started: they are a session of their own."""
    if process.poll() is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    if process.stdout is not None:
        process.stdout.close()


def _measured(watch: _Watch, errors: IO[bytes]) -> Measured:
    runs = tuple(_run(line) for line in watch.lines if "seconds" in line)
    first = watch.lines[0] if watch.lines else {}
    peaks = [_number(line, "peak") for line in watch.lines]
    outcome: Outcome = "measured"
    note = watch.stopped
    for line in watch.lines:
        note = str(line.get("error", note))
    if any("unsupported" in line for line in watch.lines):
        outcome = "unsupported"
    elif any("error" in line for line in watch.lines):
        outcome = "failed"
    elif not runs and "loaded" not in first:
        outcome = "stopped" if watch.stopped else "failed"
        note = note or _last_words(watch.process, errors)
    return Measured(
        outcome,
        runs,
        opened=float(str(first.get("opened", first.get("loaded", 0.0)))),
        resident=_number(first, "resident"),
        peak=max(peaks, default=0),
        query_peak=max(peaks[1:], default=0),
        note=note,
    )


def _run(line: dict[str, object]) -> Run:
    groups = line["groups"]
    return Run(
        seconds=float(str(line["seconds"])),
        count=_number(line, "count"),
        groups={str(k): int(v) for k, v in groups.items()} if isinstance(groups, dict) else {},
        points=_number(line, "points"),
        p50=float(str(line["p50"])),
        p99=float(str(line["p99"])),
    )


def _number(line: dict[str, object], name: str) -> int:
    return int(str(line.get(name, 0)))


def _last_words(process: subprocess.Popen[bytes], errors: IO[bytes]) -> str:
    """How a process ended that said nothing of it."""
    errors.seek(0)
    lines = errors.read().decode(errors="replace").strip().splitlines()
    return f"it ended with {process.returncode}: {lines[-1][:200] if lines else 'no message'}"
