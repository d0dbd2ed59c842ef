"""Run random queries and judge the outcome: a result, or an error of gdb whose place lies in the text.

    make fuzz-language                       100,000 of them
    python -m tests.fuzz.language --number 1000 --seed 7

An InternalError, any other exception, a query that runs longer than its timeout, and a query that is not read back from
its printed text are failures; each is shown with its number, and the exit code is 1. `--seed S --first N --number 1`
runs it again. So is a reading query whose rows differ by the way that it goes, or when it is bound, the third time, or
on a `--device` that is named; where chance or a free choice is in it, none are compared. One way may have an error that
another has not, whose rows do not get as far.
"""

from __future__ import annotations

import argparse
import faulthandler
import re
import sys
import time
import traceback
import warnings
from collections import Counter
from dataclasses import dataclass, field
from random import Random

import gdb
from gdb.errors import (
    CountOverflow,
    GdbError,
    InternalError,
    LimitExceeded,
    OutOfBudget,
    PlacedError,
    QueryTimeout,
    QueryWarning,
)
from gdb.language.parser import parse
from gdb.language.printer import printed
from tests.fuzz.breaking import broken
from tests.fuzz.people import GRAPH, PAIR, PARAMETERS
from tests.fuzz.queries import Maker
from tests.support.on_device import DEVICES, Device, on
from tests.support.ways import WAYS, Way, forced

TIMEOUT = 5.0  # seconds that a query may run
SLACK = 5.0  # more that it may take to stop, on a machine that does other things as well
WRITES = 20  # after so many changes the graph is made anew
BROKEN = 0.4  # part of the texts that are broken
_BY_CHANCE = r"rand|randomuuid|timestamp|datetime|localdatetime|localtime|time|date"
_FREE = r"limit|skip|offset|any|shortest|collect"  # which rows, paths, or what order
_OTHERS = r"create|set|merge|delete|remove|foreach|explain|profile"
_NOT_COMPARED = re.compile(rf"\b({_BY_CHANCE}|{_FREE}|{_OTHERS})\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Failure:
    """A query that ended as none may."""

    number: int
    text: str
    why: str

    def __str__(self) -> str:
        return f"--first {self.number}: {self.why}\n    {self.text!r}"


@dataclass
class Run:
    """Runs queries `first`, `first + 1`, ... of a seed. A query depends on its number alone, not on those before."""

    seed: int
    devices: tuple[Device, ...] = ()  # beside the CPU
    counts: Counter[str] = field(default_factory=Counter)
    failures: list[Failure] = field(default_factory=list)
    _db: gdb.Database | None = None
    _changed: int = 0

    def ask(self, first: int, number: int) -> None:
        """Run so many queries."""
        try:
            for n in range(first, first + number):
                text, whole = query(self.seed, n)
                self._one(n, text, whole)
        finally:
            self.close()

    def close(self) -> None:
        if self._db is not None:
            self._db.close()
            self._db = None

    def _one(self, number: int, text: str, whole: bool) -> None:
        kind = "valid" if whole else "broken"
        why = unlike(text)
        begun = time.monotonic()
        try:
            found = self._graph().execute(text, PARAMETERS, device="cpu", timeout=TIMEOUT)
            found.fetchall()
            self.counts[f"{kind}: answered"] += 1
            self._changed += found.summary.effects is not None
        except InternalError as error:
            why = f"{type(error).__name__}: {error}"
        except GdbError as error:
            self.counts[f"{kind}: {type(error).__name__}"] += 1
            why = why or misplaced(error, text)
            if isinstance(error, QueryTimeout):  # the graph may have grown
                whole = False
                self.close()
        except Exception:
            why = traceback.format_exc()
            self.close()
        seconds = time.monotonic() - begun
        if whole and not why and not _NOT_COMPARED.search(text):
            why = self._ways(text)
        if not why and seconds > TIMEOUT + SLACK:
            why = f"it took {seconds:.1f} s, and its timeout was {TIMEOUT:g} s"
        if why:
            self.counts["failures"] += 1
            self.failures.append(Failure(number, text, why))

    def _ways(self, text: str) -> str:
        """Which rows a query has one way and not another; empty where all have the same."""
        found: dict[str, Counter[str]] = {}
        # it has run once: then a statement is kept, and bound
        ways: list[tuple[Way, Device]] = [(way, "cpu") for way in (*WAYS, WAYS[0], WAYS[0])]
        ways += [(way, device) for device in self.devices for way in (WAYS[0], "operators")]
        for number, (way, place) in enumerate(ways, 2):
            try:
                with forced(way), on(place) as device:
                    rows = self._graph().execute(text, PARAMETERS, device=device, timeout=TIMEOUT)
                    found[f"{way} on {place}, run {number}"] = Counter(map(repr, rows.fetchall()))
            except InternalError as error:
                return f"{way} on {place}: {error}"
            except GdbError:
                continue
        self.counts["compared"] += len(found) > 1
        for one, its in found.items():
            for other, others in found.items():
                if its - others:
                    return f"{one} has {next(iter(its - others))}, {other} has not"
        return ""

    def _graph(self) -> gdb.Database:
        if self._changed >= WRITES:
            self.close()
        if self._db is None:
            self._db = gdb.connect()
            self._db.execute(GRAPH)
            self._db.register_procedure(
                PAIR, lambda first, second: [(first, second), (second, None)]
            )
            self._changed = 0
        return self._db


def query(seed: int, number: int) -> tuple[str, bool]:
    """A text, and whether it is as the grammar made it."""
    random = Random(f"{seed} {number}")
    text = Maker(random).query()
    if random.random() < BROKEN:
        return broken(text, random), False
    return text, True


def misplaced(error: GdbError, text: str) -> str:
    """What is wrong with the place of an error; empty where nothing is. It may lie just behind the end."""
    if isinstance(error, (LimitExceeded, QueryTimeout, OutOfBudget, CountOverflow)):
        return ""  # the whole query is too large
    if not isinstance(error, PlacedError) or error.line is None or error.column is None:
        return f"{type(error).__name__} has no place: {error}"
    lines = text.splitlines() or [""]
    here = f"{type(error).__name__} at line {error.line}, column {error.column}"
    if not 1 <= error.line <= len(lines):
        return f"{here}: there are {len(lines)} lines"
    if not 1 <= error.column <= len(lines[error.line - 1]) + 1:
        return f"{here}: that line has {len(lines[error.line - 1])} characters"
    return ""


def unlike(text: str) -> str:
    """How a query differs from what is read from its printed text; empty where it does not, or is no query."""
    try:
        read = parse(text)
    except GdbError:
        return ""
    except Exception:
        return traceback.format_exc()
    shown = printed(read)
    try:
        again = parse(shown)
    except Exception as error:
        return f"printed as {shown!r}, which is refused: {error}"
    return "" if again == read else f"printed as {shown!r}, which is read as something else"


def main(line: list[str] | None = None) -> int:
    """Run the queries, print the outcome. 1 where something failed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--number", type=int, default=1000, help="(default: 1000)")
    parser.add_argument("--seed", type=int, default=0, help="(default: 0)")
    parser.add_argument("--first", type=int, default=0, help="number of the first (default: 0)")
    parser.add_argument("--device", choices=DEVICES[1:], nargs="*", default=(), help="and the CPU")
    arguments = parser.parse_args(line)
    run, begun = Run(arguments.seed, tuple(arguments.device)), time.monotonic()
    last = arguments.first + arguments.number
    shown = 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", QueryWarning)  # of names that the graph has not
        for first in range(arguments.first, last, 1000):
            # a query that hangs is shown by where it hangs
            faulthandler.dump_traceback_later(600, exit=True)
            run.ask(first, min(1000, last - first))
            for failure in run.failures[shown:]:
                print(failure, flush=True)
            shown = len(run.failures)
    faulthandler.cancel_dump_traceback_later()
    seconds = time.monotonic() - begun
    for name, count in sorted(run.counts.items()):
        print(f"{count:8,} {name}")
    print(f"{arguments.number:,} queries of seed {arguments.seed} in {seconds:.0f} s")
    return int(bool(run.failures))


if __name__ == "__main__":
    sys.exit(main())
