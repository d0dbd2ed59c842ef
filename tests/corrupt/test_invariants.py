"""Every invariant of a check is broken once, and named; all faults are found, and the document lists them all."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import gdb
from gdb.errors import CorruptStore
from gdb.storage.check import Report, check_folder, invariants
from gdb.storage.steps import Steps
from tests.corrupt import broken, stores
from tests.corrupt.broken import Broken

CASES = broken.cases()


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of all stores, by name."""
    folder = tmp_path_factory.mktemp("stores")
    for name in stores.STORES:
        stores.write(folder / name, name=name)
    return folder


def check(folder: Path) -> Report:
    return check_folder(folder, Steps("check"))


def test_every_invariant_has_a_store_that_breaks_it() -> None:
    assert sorted(one.name for one in CASES) == sorted(one.name for one in invariants())


@pytest.mark.parametrize("name", stores.STORES)
def test_they_hold_in_what_was_written(name: str, written: Path) -> None:
    report = check(written / name)
    assert report.faults == ()
    none = {one.name for one in report.invariants if not one.checked}
    assert none <= {"journal", "delta lengths", "dead vids", "patched rows", "ranks", "added edges", "one kind",
                    "new ids"}  # fmt: skip
    assert not any(one.skipped or one.faults for one in report.invariants)


@pytest.mark.parametrize("case", CASES, ids=[one.name for one in CASES])
def test_a_store_that_breaks_it_is_named(case: Broken, written: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(written / case.store, tmp_path / "s"))
    case.apply(folder)
    report = check(folder)
    assert case.name in {fault.invariant for fault in report.faults}
    outcome = next(one for one in report.invariants if one.name == case.name)
    assert outcome.faults >= 1
    assert outcome.checked >= outcome.faults
    with pytest.raises(CorruptStore) as caught, gdb.connect(folder, read_only=True) as db:
        db.check()
    if case.name != "journal":  # a record that does not fit is refused by its text alone
        assert caught.value.faults
