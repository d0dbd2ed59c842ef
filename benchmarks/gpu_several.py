"""Count heavy patterns on one GPU and on several.

    python benchmarks/gpu_several.py [--devices 0,1] [--pattern q9 q12 q19] [--limit 20] [--runs 3] [--save]

On wiki-Vote, from `../shared/peers` (`--published`) as `gpu.py`. Milliseconds, medians of warm runs: kernels by the
GPU's clock (of several GPUs the one that takes longest), and whole, through `db.execute`. The exit code is 1 if counts
differ, 2 if there is nothing to measure on, or only one GPU.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path

import gdb
import graphs
import results
from decomposition import PUBLISHED, read_subjects
from gdb.executor.gpu import special
from gpu import COMPILING, WARM_UP, WARM_UPS, loaded, unready
from peers.report import figures

GRAPH = "wiki-Vote"


def measure(
    db: gdb.Database, query: str, device: str, limit: float, runs: int
) -> tuple[int, float, float]:
    """Count, milliseconds in kernels, milliseconds as a whole."""

    def once() -> tuple[int, float, float]:
        begin = time.perf_counter()
        result = db.execute(query, device=device, timeout=limit)
        count = int(str(result.scalar()))
        whole = (time.perf_counter() - begin) * 1e3
        return count, result.summary.kernel_seconds * 1e3, whole

    begin = time.perf_counter()
    for _ in range(1 + WARM_UPS):  # after the first, a query may get its own kernel
        once()
    while time.perf_counter() - begin < WARM_UP:
        once()
    special.settle(COMPILING)
    found = [once() for _ in range(runs)]
    counts, kernels, wholes = zip(*found, strict=True)
    if len(set(counts)) > 1:
        raise SystemExit(f"{query}: counts {sorted(set(counts))}")
    return counts[0], statistics.median(kernels), statistics.median(wholes)


def main(line: list[str] | None = None) -> int:
    """Load, count on one and on several, print."""
    parser = graphs.command_line(__doc__)
    add = parser.add_argument
    add("--published", type=Path, default=PUBLISHED, help="(default: ../shared/peers)")
    add("--devices", default="0,1", help="(default: 0,1)")
    add("--pattern", nargs="+", default=["q9", "q12", "q19"])
    add("--limit", type=float, default=20.0, help="seconds for each query (default: 20)")
    add("--runs", type=int, default=3, help="(default: 3)")
    arguments = parser.parse_args(line)
    if unready(arguments):
        return 2
    import cupy

    there = int(cupy.cuda.runtime.getDeviceCount())
    if there < len(arguments.devices.split(",")):
        print(f"there is only {there} of the GPUs {arguments.devices}", file=sys.stderr)
        return 2
    rows, wrong = [], False
    devices = (f"cuda:{arguments.devices.split(',')[0]}", f"cuda:{arguments.devices}")
    with tempfile.TemporaryDirectory(prefix="gdb-gpu-") as temporary:
        folder = arguments.folder or Path(temporary)
        store = loaded(GRAPH, folder, arguments.data, arguments.published)
        with gdb.connect(store, read_only=True) as db:
            for subject in read_subjects(arguments.published, GRAPH, arguments.pattern):
                query = subject.pattern.cypher("isomorphisms")
                one, all_of = (
                    measure(db, query, device, arguments.limit, arguments.runs)
                    for device in devices
                )
                right = one[0] == all_of[0] and subject.count in (None, one[0])
                wrong = wrong or not right
                times = (*(figures(x) for x in (one[1], all_of[1], one[1] / all_of[1])),)
                whole = (*(figures(x) for x in (one[2], all_of[2], one[2] / all_of[2])),)
                rows.append(
                    (
                        subject.pattern.name,
                        f"{one[0]:,}",
                        *times,
                        *whole,
                        "equal" if right else "differs",
                    )
                )
                print(*rows[-1], flush=True)
    several = len(arguments.devices.split(","))
    header = (
        *("pattern", "count", "kernels, 1 GPU", f"kernels, {several} GPUs", "times quicker"),
        *("whole, 1 GPU", f"whole, {several} GPUs", "times quicker", "verdict"),
    )
    body = f"{GRAPH}, milliseconds.\n\n{results.table(header, rows)}"
    print(f"\n{body}")
    if arguments.save and not wrong:
        results.save(f"GPU: {several} GPUs", body, "numpy", "cupy-cuda12x", "cupy-cuda13x")
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
