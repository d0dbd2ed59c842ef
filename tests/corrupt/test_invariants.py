"""Every invariant of a check is broken once, and named; all faults are found, and the document lists them all."""

from __future__ import annotations

import os
import shutil
import threading
from pathlib import Path

import pytest

import gdb
from gdb.errors import Cancelled, CorruptStore, NotAStore
from gdb.storage.checking.check import Report, check_folder, invariants
from gdb.storage.disk.steps import Steps
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
    assert none <= {"journal", "journal end", "delta lengths", "dead vids", "patched rows", "ranks", "added edges",
                    "one kind", "new ids"}  # fmt: skip
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


def test_all_faults_are_found_and_the_first_is_the_message(written: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(written / stores.BASE, tmp_path / "s"))
    wanted = {"texts", "part bytes", "index vids", "zeros"}
    for case in CASES:
        if case.name in wanted:
            case.apply(folder)
    with gdb.connect(folder, read_only=True) as db, pytest.raises(CorruptStore) as caught:
        db.check()
    found = caught.value.faults
    assert {one.invariant for one in found} == wanted
    assert len(found) == len(wanted)  # each is reported once
    assert f"its file {found[0].file} {found[0].what}" in str(caught.value)
    assert "the first of 4 faults" in str(caught.value)
    assert all((folder / one.file).exists() for one in found)


def test_what_lies_in_a_damaged_file_is_left_out_and_that_is_told(
    written: Path, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(written / stores.BASE, tmp_path / "s"))
    next(one for one in CASES if one.name == "checksums").apply(folder)
    report = check(folder)
    assert [one.invariant for one in report.faults] == ["checksums"]
    outcomes = {one.name: one for one in report.invariants}
    assert outcomes["texts"].skipped >= 1
    assert outcomes["texts"].checked >= 1  # of the columns in other files
    assert outcomes["manifest seal"].skipped == 0


def test_damage_after_the_store_was_read_is_found(written: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(written / stores.BASE, tmp_path / "s"))
    with gdb.connect(folder, read_only=True) as db:
        for query in stores.QUERIES[:9]:
            db.execute(query).fetchall()
        assert db.check().faults == ()
        next(one for one in CASES if one.name == "checksums").apply(folder)
        with pytest.raises(CorruptStore, match="committed"):
            db.check()


def test_a_report_counts_files_and_names_strays(written: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(written / stores.JOURNAL, tmp_path / "s"))
    names = ["scratch-0123456789abcdef.tmp", "seg-00000009-0000-01234567.gdb"]
    for name in names:
        (folder / name).write_bytes(b"of a writer that was killed")
    (folder / "notes.txt").write_text("somebody else's")
    with gdb.connect(folder, read_only=True) as db:
        report = db.check()
        stats = db.stats()
    assert report.strays == tuple(names)
    assert (report.files, report.bytes) == (stats.files, stats.bytes)


def test_a_check_can_be_stopped_and_tells_how_far_it_is(written: Path) -> None:
    told: list[tuple[str, float]] = []
    check_folder(written / stores.BASE, Steps("check", lambda *at: told.append(at)))
    assert told[-1] == ("checking", 1.0)
    assert [done for _, done in told[1:]] == sorted(done for _, done in told[1:])
    cancel = threading.Event()
    cancel.set()
    with pytest.raises(Cancelled):
        check_folder(written / stores.BASE, Steps("check", None, cancel))


def test_what_is_no_store_is_no_fault(tmp_path: Path) -> None:
    with pytest.raises(NotAStore):
        check(tmp_path / "nothing")
    with pytest.raises(NotAStore):
        check(tmp_path)
    assert list(tmp_path.iterdir()) == []  # no lock file is made


def test_the_document_lists_every_invariant(repository: Path) -> None:
    document = repository / "docs" / "FORMAT.md"
    text = document.read_text(encoding="utf-8")
    begin, end = "<!-- invariants -->\n", "<!-- end -->"
    before, _, rest = text.partition(begin)
    listed, _, after = rest.partition(end)
    lines = ["| invariant | of | what holds | compared by |", "|---|---|---|---|"]
    for one in invariants():
        by = "readers too" if one.by_readers else "a check alone"
        lines.append(f"| {one.name} | {one.things} | {one.rule} | {by} |")
    wanted = "\n".join(["", *lines, "", ""])
    if os.environ.get("UPDATE_DOCS"):
        document.write_text(before + begin + wanted + end + after, encoding="utf-8")
        listed = wanted
    assert listed == wanted
