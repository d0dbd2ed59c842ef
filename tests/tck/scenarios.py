"""The scenarios of the openCypher TCK, run on gdb, and the list of those that do not pass.

    make tck                                     prints a table, and what differs from the list
    make tck WAY=rows                            the same, forced to go one way (`tests.support.ways`)
    UPDATE_TCK=1 make tck                        writes the list anew; its reasons are kept

The TCK and its runner lie beside the repository (`../shared/tck`). A scenario's name is its folder and file, the number
there (of outlines each example counts) and its title. `known.txt` has a line for each that does not pass, under the
reason.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from tests.support.ways import WAYS, Way, forced

FOLDER = Path(__file__).parents[3] / "shared" / "tck"
KNOWN = Path(__file__).with_name("known.txt")
UNEXPLAINED = "nobody has said why"
_HEAD = """\
# The scenarios of the openCypher TCK that do not pass, each under the reason. UPDATE_TCK=1 make tck writes this anew
# and keeps the reasons.
"""
_REASONS = {
    "@ignore": "the TCK itself says that it is to be ignored",
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a scenario. why : empty where it passed."""

    folder: str
    name: str
    status: str
    why: str

    @property
    def passed(self) -> bool:
        return self.status == "pass"


def absent() -> str:
    """Why the TCK cannot be run; empty where it can."""
    if not FOLDER.is_dir():
        return "the TCK (../shared/tck) is not here"
    try:
        importlib.import_module("gherkin.parser")
    except ImportError:
        return "gherkin-official is not installed"
    return ""


def run(workers: int = 0, way: Way = "chosen", each: int = 1) -> list[Outcome]:
    """Run all, in file order. workers : processes; 0 for one on each core, 1 for this one. way : that queries go.
    each : of so many scenarios that follow one another, one.

    Every worker takes each `workers`-th scenario: the slow ones are neighbours in the files.
    """
    many = workers or len(os.sched_getaffinity(0))
    if many == 1:
        return [outcome for _, outcome in _run_some(0, each, way)]
    with ProcessPoolExecutor(many, get_context("spawn")) as pool:
        firsts = range(0, many * each, each)
        parts = pool.map(_run_some, firsts, [many * each] * many, [way] * many)
        found = sorted((pair for part in parts for pair in part), key=lambda pair: pair[0])
    return [outcome for _, outcome in found]


@cache
def _scenarios() -> list[dict[str, Any]]:
    """All of them; reading them takes seconds."""
    return list(importlib.import_module("run_tck").load(FOLDER / "features"))


def _run_some(first: int, step: int, way: Way) -> list[tuple[int, Outcome]]:
    """Every `step`-th scenario, with its place among all."""
    if str(FOLDER) not in sys.path:
        sys.path.insert(0, str(FOLDER))
    runner = importlib.import_module("run_tck")
    adapter = importlib.import_module("tests.tck.adapter")
    scenarios = _scenarios()
    found = []
    for place in range(first, len(scenarios), step):
        one = scenarios[place]
        with forced(way):
            ended = runner.run_one(adapter, FOLDER / "graphs", one, "type")
        name = f"{one['id']} {one['name']}"
        why = "" if ended["status"] == "pass" else str(ended["why"])
        found.append((place, Outcome(one["folder"], name, ended["status"], why)))
    return found


# ---- the list ------------------------------------------------------------------------------------


def known(path: Path = KNOWN) -> dict[str, str]:
    """The reason of each scenario that is listed."""
    found: dict[str, str] = {}
    reason = ""
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("== "):
            reason = line.removeprefix("== ")
        elif line and not line.startswith("#"):
            assert reason, f"{line!r} stands under no reason"
            assert line not in found, f"{line!r} occurs twice"
            found[line] = reason
    return found


def listed(outcomes: Iterable[Outcome], reasons: Mapping[str, str]) -> str:
    """The list for these outcomes; of scenarios that were listed before with their reasons."""
    by_reason: dict[str, list[str]] = {}
    for outcome in outcomes:
        if not outcome.passed:
            reason = reasons.get(outcome.name) or _REASONS.get(outcome.why) or UNEXPLAINED
            by_reason.setdefault(reason, []).append(outcome.name)
    parts = ["\n".join([f"== {reason}", *names]) for reason, names in by_reason.items()]
    return "\n".join([_HEAD, "\n\n".join(parts), ""])


def unlisted(outcomes: Iterable[Outcome], reasons: Mapping[str, str]) -> list[str]:
    """The scenarios that do not pass and are not listed, with what went wrong."""
    return [f"{o.name}: {o.why}"[:400] for o in outcomes if not o.passed and o.name not in reasons]


def passing(outcomes: Iterable[Outcome], reasons: Mapping[str, str]) -> list[str]:
    """The scenarios that are listed and pass, or are no longer there."""
    failing = {outcome.name for outcome in outcomes if not outcome.passed}
    return [name for name in reasons if name not in failing]


# ---- the command ---------------------------------------------------------------------------------


def table(outcomes: Iterable[Outcome]) -> Iterator[str]:
    """A line for each folder."""
    folders: dict[str, Counter[str]] = {}
    for outcome in outcomes:
        for name in (outcome.folder, "all"):
            folders.setdefault(name, Counter())[outcome.status] += 1
    every = folders.pop("all", Counter())
    heads = ("pass", "fail", "error", "skip")
    yield f"{'folder':42}{'all':>6}" + "".join(f"{head:>7}" for head in heads)
    for name, counts in [*sorted(folders.items()), ("all", every)]:
        yield f"{name:42}{counts.total():6}" + "".join(f"{counts[head]:7}" for head in heads)


def main() -> int:
    """Run, print, and write the list where UPDATE_TCK says so. 1 where the list is wrong, 2 where there is no TCK."""
    why = absent()
    if why:
        print(why, file=sys.stderr)
        return 2
    parser = argparse.ArgumentParser()
    parser.add_argument("--way", choices=WAYS, default="chosen", help="that all queries go")
    outcomes = run(way=parser.parse_args().way)
    print("\n".join(table(outcomes)))
    reasons = known() if KNOWN.exists() else {}
    if os.environ.get("UPDATE_TCK"):
        KNOWN.write_text(listed(outcomes, reasons), encoding="utf-8")
        return 0
    new, old = unlisted(outcomes, reasons), passing(outcomes, reasons)
    for line in new:
        print(f"fails and is not listed: {line}")
    for line in old:
        print(f"passes, so take it from the list: {line}")
    return int(bool(new or old))


if __name__ == "__main__":
    sys.exit(main())
