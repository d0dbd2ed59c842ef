"""Try every damage of a store, and print what became of it: `make corrupt`, or `python -m tests.corrupt.table`.

Damaged stores are opened by a process of their own (`tests.corrupt.trial`), so that a crash and a hang are
outcomes like others.
"""

from __future__ import annotations

import argparse
import os
import queue
import random
import subprocess
import sys
import tempfile
import threading
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.corrupt import damages, stores

REPOSITORY = Path(__file__).resolve().parents[2]
PATIENCE = 20.0  # seconds; an honest trial takes less than one
MOST = 500  # damages of a kind, where it has too many to try all
OUTCOMES = ("at use", "by check", "harmless", "older", "wrong", "foreign", "crashed", "hung")
BAD = OUTCOMES[4:]  # "older" is reported for the end of a journal only


@dataclass(frozen=True, slots=True)
class Tried:
    """What became of one damage."""

    kind: str
    what: str
    outcome: str
    text: str


class _Trial:
    """The process that opens stores, started again when it has died."""

    def __init__(self, arguments: list[str]) -> None:
        self._arguments = arguments
        self._process: subprocess.Popen[str] | None = None
        self._said: queue.Queue[str] = queue.Queue()

    def of(self, number: int) -> tuple[str, str]:
        """The outcome of one damage, and its error."""
        process = self._process or self._begin()
        assert process.stdin is not None
        print(number, file=process.stdin, flush=True)
        try:
            while True:
                line = self._said.get(timeout=PATIENCE)
                if not line:
                    return "crashed", f"exit status {self._end()}"
                _, what, *text = line.split(" ", 2)
                if what.strip() != "begins":
                    return what.strip().replace("_", " "), " ".join(text).strip()
        except queue.Empty:
            self._end()
            return "hung", f"more than {PATIENCE:.0f} seconds"

    def _begin(self) -> subprocess.Popen[str]:
        self._said = said = queue.Queue()
        self._process = process = subprocess.Popen(
            [sys.executable, "-m", "tests.corrupt.trial", *self._arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=REPOSITORY,
        )

        def listen() -> None:
            assert process.stdout is not None
            for line in process.stdout:
                said.put(line)
            said.put("")

        threading.Thread(target=listen, daemon=True).start()
        return process

    def _end(self) -> int:
        process, self._process = self._process, None
        if process is None:
            return 0
        process.kill()
        process.communicate()
        return process.returncode

    def close(self) -> None:
        self._end()


def try_all(
    folder: Path, seed: int, each: int | None, only: str = "", *, name: str = stores.BASE
) -> Iterator[Tried]:
    """Try the damages of a store made in `folder`; at most `each` of every kind, chosen by the seed; only those
    whose kind has `only` in it. name : of the store."""
    base, stale = folder / "base", folder / "stale"
    stores.write(stale, 2, name=name)
    stores.write(base, 1, name=name)
    tried = damages.all_damages(base, stale, seed)
    trial = _Trial([str(base), str(stale), str(folder / "work"), str(seed)])
    try:
        for number in _chosen(tried, seed, each):
            if only not in tried[number].kind:
                continue
            yield Tried(tried[number].kind, tried[number].what, *trial.of(number))
    finally:
        trial.close()


def _chosen(tried: list[damages.Damage], seed: int, each: int | None) -> list[int]:
    """The numbers of at most `each` damages of a kind; None: all bytes, and `MOST` of every other kind."""
    numbers: dict[str, list[int]] = defaultdict(list)
    for number, damage in enumerate(tried):
        numbers[damage.kind].append(number)
    rng = random.Random(seed)
    chosen: list[int] = []
    for found in numbers.values():
        most = each or (len(found) if tried[found[0]].exhaustive else MOST)
        chosen += sorted(rng.sample(found, min(most, len(found))))
    return chosen


def table(found: Iterable[Tried]) -> str:
    """One line for each kind of damage."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for one in found:
        counts[one.kind][one.outcome] += 1
    counts["all"] = sum(counts.values(), Counter[str]())
    heads = ("kind of damage", "tried", "detected at use", "by check()", "harmless", "as before a commit", "wrong",
             "foreign error", "crashed", "hung")  # fmt: skip
    lines = [f"| {' | '.join(heads)} |", "|---|" + "---:|" * (len(heads) - 1)]
    for kind, own in counts.items():
        cells = [own.total(), *(own[outcome] for outcome in OUTCOMES)]
        lines.append(f"| {kind} | {' | '.join(f'{n:,}' for n in cells)} |")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument(
        "--each",
        type=int,
        help=f"at most so many damages of a kind (default: all bytes, {MOST} of others)",
    )
    parser.add_argument("--store", choices=stores.STORES, help="only the damages of this one")
    parser.add_argument("--only", default="", help="only kinds with this in their name")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--verbose", action="store_true", help="print what became of each")
    given = parser.parse_args()
    bad = False
    for name in [given.store] if given.store else stores.STORES:
        found: list[Tried] = []
        with tempfile.TemporaryDirectory() as folder:
            tried = try_all(Path(folder), given.seed, given.each, given.only, name=name)
            for one in tried:
                found.append(one)
                if given.verbose or one.outcome in BAD:
                    print(f"{one.outcome}: {one.kind}: {one.what}: {one.text}", file=sys.stderr)
        print(f"A store with {name}:\n\n{table(found)}\n", flush=True)
        bad |= any(one.outcome in BAD for one in found)
    return int(bad)


if __name__ == "__main__":
    os.environ.setdefault("PYTHONFAULTHANDLER", "1")
    sys.exit(main())
