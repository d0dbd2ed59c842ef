"""The report of a store check as text: a table of the invariants by name, and the faults."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gdb.answer.summary import counted
from gdb.answer.table import table
from gdb.errors import Fault
from gdb.run.interrupt import Cancel, run_beside
from gdb.run.progress import terminal_progress
from gdb.run.store_urls import remote_files

if TYPE_CHECKING:
    from gdb.storage.checking.check import Outcome, Report

_HEAD = ("invariant", "of", "compared", "outcome")


def check(store: str) -> Report:
    """Check the store in a folder, also one that cannot be opened, or at a URL; Ctrl-C stops it.

    Raises
    ------
    NotAStore, StoreError : it cannot be read. Cancelled : it was stopped.
    """
    import gdb.storage.checking.check as checks
    from gdb.storage.disk.steps import Steps

    cancel, files = Cancel(), remote_files(store, True, None)
    with terminal_progress(sys.stderr) as progress:
        steps = Steps("check", progress, cancel)
        if files is not None:
            return run_beside(lambda: checks.check(files, steps), cancel)
        return run_beside(lambda: checks.check_folder(Path(store), steps), cancel)


def lines(report: Report, width: int | None) -> Iterator[str]:
    """The table of the invariants, the faults, the files that mean nothing, and one sentence of all."""
    rows = [(one.name, one.things, one.checked, _outcome(one)) for one in report.invariants]
    yield from table(_HEAD, rows, width)
    yield ""
    yield from faults(report.faults)
    if report.strays:
        yield f"note: {counted(len(report.strays), 'file')} of no commit, which mean nothing unless another process"
        yield "writes now; the next commit that is alone deletes them:"
        yield from (f"  {name}" for name in report.strays)
    size = f"{counted(report.files, 'file')} ({report.bytes:,} bytes)"
    if report.faults:
        yield f"{report.where}: {counted(len(report.faults), 'fault')} in {size}"
    else:
        yield f"{report.where}: all {len(report.invariants)} invariants hold in {size}"


def faults(report_faults: Sequence[Fault]) -> Iterator[str]:
    """One line for each fault."""
    for fault in report_faults:
        of = f"{fault.invariant}: " if fault.invariant else ""
        yield f"fault: {of}{fault.file} {fault.what}"


def _outcome(one: Outcome) -> str:
    skipped = f"{one.skipped:,} could not be read" if one.skipped else ""
    found = counted(one.faults, "fault") if one.faults else "ok" if one.checked else ""
    return ", ".join(filter(None, (found, skipped))) or "there are none"
