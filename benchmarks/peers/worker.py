"""One process of the comparison.

`python -m benchmarks.peers.worker JOB` loads a store or runs one query, and prints JSON lines.

What an engine prints goes to stderr. The lines are `opened`, then `seconds` and the answer of each run; or `loaded`; or
`error`, or `unsupported`.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TextIO

from benchmarks.peers.data import GraphFiles, opened
from benchmarks.peers.engine import Engine, Settings, engine_of
from benchmarks.peers.workload import queries


@dataclass(frozen=True, slots=True)
class Job:
    """What a process does: load the store if `query` is empty, else run the query.

    Parameters
    ----------
    repeats : runs after the first.
    enough : seconds of running after which no further run begins.
    """

    engine: str
    graph: str
    store: str
    query: str
    settings: Settings
    repeats: int = 3
    enough: float = 60.0

    def text(self) -> str:
        """As the command line carries it."""
        return json.dumps(asdict(self))


def job_of(text: str) -> Job:
    """The job that `Job.text` wrote."""
    fields = json.loads(text)
    settings = Settings(**fields.pop("settings"))
    return Job(settings=settings, **fields)


def memory() -> tuple[int, int]:
    """Bytes of resident memory, now and at most; the peak is this program's, not its parent's."""
    try:
        lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    except OSError:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        return peak, peak
    sizes = {line.split(":")[0]: line.split()[1] for line in lines if line.startswith("Vm")}
    return int(sizes["VmRSS"]) * 1024, int(sizes["VmHWM"]) * 1024


def forget_peak() -> None:
    """Let the peak of resident memory begin again, where the system can."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")


def load(engine: Engine, job: Job, graph: GraphFiles, out: TextIO) -> None:
    """Load the graph into the store."""
    start = time.perf_counter()
    engine.load(graph, Path(job.store))
    say(out, loaded=time.perf_counter() - start, peak=memory()[1])


def query(engine: Engine, job: Job, graph: GraphFiles, out: TextIO) -> None:
    """Open the graph, run the query once and then again."""
    wanted = queries(graph.name)[job.query]
    start = time.perf_counter()
    session = engine.open(graph, Path(job.store), wanted, job.settings)
    seconds = time.perf_counter() - start
    now, peak = memory()
    say(out, opened=seconds, resident=now, peak=peak)
    forget_peak()
    began = time.perf_counter()
    for _ in range(job.repeats + 1):
        start = time.perf_counter()
        answer = session.answer(wanted)
        seconds = time.perf_counter() - start
        if answer is None:
            say(out, unsupported=True)
            return
        say(out, seconds=seconds, peak=memory()[1], **asdict(answer))
        if time.perf_counter() - began > job.enough:
            return


def say(out: TextIO, **fields: object) -> None:
    """Print one line at once."""
    out.write(json.dumps(fields) + "\n")
    out.flush()


def main() -> int:
    """Do the job that the command line names."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    job = job_of(sys.argv[1])
    try:
        engine = engine_of(job.engine)
        work = query if job.query else load
        work(engine, job, opened(Path(job.graph)), out)
    except Exception as error:  # an engine's failure is a result
        say(out, error=f"{type(error).__name__}: {error}"[:300])
        return 1
    out.close()
    os._exit(0)  # an engine's destructors are not measured, and some fail


if __name__ == "__main__":
    sys.exit(main())
