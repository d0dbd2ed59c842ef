"""Many cases, one after the other: how each of these suites is run, by hand or as a sample in the test suite."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import gdb
from tests.support.on_device import DEVICES, Device, on
from tests.support.ways import WAYS, forced

DEVICE: Device = "cpu"  # where queries are run; `--device` says


@dataclass(frozen=True, slots=True)
class Failure:
    """A query whose answer is wrong, with all that is needed to see it again."""

    seed: int
    query: str
    graph: object
    expected: object
    found: object

    def __str__(self) -> str:
        return (
            f"seed {self.seed}: {self.query}\n  {self.graph}\n"
            f"  expected {_short(self.expected)}\n  found    {_short(self.found)}"
        )


Suite = Callable[[int], Iterator[Failure | None]]
"""The cases of a seed: None for each that is right."""


def run(suite: Suite, seeds: Iterable[int], most: int) -> tuple[int, list[Failure]]:
    """How many cases were tried, and those that failed; at most `most`, of as many seeds as that takes."""
    tried, failures = 0, []
    for seed in seeds:
        for outcome in suite(seed):
            tried += 1
            if outcome is not None:
                failures.append(outcome)
            if tried == most:
                return tried, failures
    return tried, failures


def ask(db: gdb.Database, text: str) -> list[tuple[object, ...]]:
    """The rows of a query with tuples for lists; of one that fails, its error."""
    try:
        with on(DEVICE) as device:
            rows = db.execute(text, device=device).fetchall()
    except Exception as error:  # of gdb or of Python: both are to be seen
        return [("error", repr(error))]
    return [tuple(map(_plain, row)) for row in rows]


def _plain(value: object) -> object:
    return tuple(map(_plain, value)) if isinstance(value, list) else value


def main(suites: dict[str, tuple[Suite, int]]) -> None:
    """Run suites, each for its number of cases, from the command line."""
    global DEVICE
    parser = argparse.ArgumentParser()
    parser.add_argument(
        "suites", nargs="*", help=f"of {', '.join(suites)}; all where none is named"
    )
    parser.add_argument("--cases", type=int, help="of each suite")
    parser.add_argument("--seed", type=int, default=0, help="to begin with")
    parser.add_argument("--way", choices=WAYS, default="chosen", help="that all queries go")
    parser.add_argument(
        "--device",
        choices=DEVICES,
        default="cpu",
        help="where (writes: the CPU; statements name none)",
    )
    parser.add_argument("--show", type=int, default=5, help="how many failures to print")
    given = parser.parse_args()
    DEVICE = given.device
    failed = 0
    for name in given.suites or suites:
        suite, usual = suites[name]
        begin = time.monotonic()
        seeds = range(given.seed, given.seed + sys.maxsize // 2)
        with forced(given.way):
            tried, failures = run(suite, seeds, given.cases or usual)
        for failure in failures[: given.show]:
            print(failure)
        seconds = time.monotonic() - begin
        print(f"{name}: {tried:,} cases, {len(failures)} failures, {seconds:.0f} s", flush=True)
        failed += len(failures)
    raise SystemExit(1 if failed else 0)


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) < 500 else f"{text[:500]}..."
