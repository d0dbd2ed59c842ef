"""A power cut after any operation: every image that may be left gives the last acknowledged version, exactly.

A small sample of `python -m tests.crash.enumerate`, and the proof that it sees: each fsync left out, one at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from random import Random

import pytest

from gdb.storage.disk import file_names
from gdb.storage.disk.files import MANIFEST, Files
from gdb.storage.disk.growing_file import Growing
from gdb.storage.format import manifest
from gdb.storage.format.manifest import Manifest
from gdb.storage.graph.snapshot import Snapshot
from gdb.storage.write.store import Store
from tests.crash.disk import SECTOR, Acknowledged, Created, Order, Removed, Renamed, Written
from tests.crash.explore import BOTH, Failure, explore, sites
from tests.crash.recorder import keep_all
from tests.crash.workloads import (
    WORKLOADS,
    Content,
    Tape,
    Workload,
    commit,
    content_of,
    graph,
    record,
    record_killed,
    record_recovery,
)
from tests.support.effort import PROFILE, share

ONE_COMMIT = Workload("one commit", (commit(1),))
TWO_COMMITS = Workload("two commits", (commit(1), commit(2)))
A_JOURNAL = next(workload for workload in WORKLOADS if workload.name == "a journal")
BY_NAME = {workload.name: workload for workload in (*WORKLOADS, ONE_COMMIT)}


@pytest.fixture(name="root")
def _root(tmp_path: Path) -> Callable[[], Path]:
    """Gives a new empty folder at each call."""
    made = iter(range(10_000))

    def new() -> Path:
        folder = tmp_path / f"root {next(made)}"
        folder.mkdir()
        return folder

    return new


Root = Callable[[], Path]


def say(failures: list[Failure]) -> list[str]:
    """Failures to read, without the bytes of their images."""
    return [f"{f.cut} {f.last!r:.90} {f.order.value}: {f.fault}" for f in failures]


def test_an_import_in_little_memory_has_scratch_files(root: Root) -> None:
    tape = record(BY_NAME["an import in little memory"], root())
    made = [x.name for x in tape.operations if isinstance(x, Created)]
    assert sum(name.startswith("scratch-") for name in made) > 3


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda workload: workload.name)
def test_every_image_recovers(workload: Workload, root: Root) -> None:
    tape = record(workload, root())
    tally = explore(tape, share(45, least=31), Random(1))
    assert not say(tally.failures)
    assert tally.images > 30


def test_what_is_expected_is_what_was_written(root: Root) -> None:
    versions = record(WORKLOADS[0], root()).expected.versions
    wanted: dict[int, Content] = {n: content_of(graph(n)) for n in (1, 2, 3)}
    assert {n: versions[n] for n in wanted} == wanted
    assert wanted[1] != wanted[2] != wanted[3]


def test_a_second_power_cut_while_recovering(root: Root) -> None:
    tape = record(WORKLOADS[0], root())
    sample = explore(tape, 60, Random(2), after_writes=False, sample=6).sample
    assert len(sample) == 6
    removed = 0
    for number, image in enumerate(sample):
        again = record_recovery(image, root(), tape.expected)
        assert not say(any_subset(again, share(30), number))
        removed += any(isinstance(op, Removed) for op in again.operations[again.began :])
    assert removed > 3  # the sweep of strays is among what was cut


def any_subset(tape: Tape, budget: int, seed: int) -> list[Failure]:
    """Failures, in the order that allows more, cut where something else than a write happened."""
    return explore(tape, budget, Random(seed), orders=(Order.SUBSET,), after_writes=False).failures


def killed_tapes(
    root: Root,
    lost: Callable[[str], bool] = keep_all,
    some: slice = slice(None),
    workload: Workload = ONE_COMMIT,
) -> list[tuple[int, Tape]]:
    """The making of a store and a commit, killed after each operation but writes, and continued by another
    process; with the number of the last operation. some : of these operations."""
    tape = record(workload, root())
    found = []
    done = [op for op in tape.operations[tape.began :] if not isinstance(op, Acknowledged)]
    for after, operation in list(enumerate(done))[some]:
        if not isinstance(operation, Written):
            killed = record_killed(workload, root(), after, tape.expected, lost)
            if killed is not None:  # the run is shorter by what was left out
                found.append((after, killed))
    return found


def test_a_power_cut_after_another_process_was_killed(root: Root) -> None:
    # What the killed one did not sync is there, and not certain, for the one that goes on.
    each = 3 if PROFILE == "ci" else 1
    tapes = killed_tapes(root, some=slice(None, None, each))
    assert len(tapes) > 15 // each
    for after, tape in tapes:
        assert not say(any_subset(tape, share(20, least=8), after))


def test_a_power_cut_after_a_process_was_killed_that_replaced_a_base(root: Root) -> None:
    # the one that goes on sweeps when it opens the store
    tapes = killed_tapes(root, some=slice(-8, None), workload=TWO_COMMITS)
    assert len(tapes) > 4
    for after, tape in tapes:
        assert not say(any_subset(tape, share(20, least=8), after))


def test_a_power_cut_after_a_process_was_killed_that_wrote_a_journal(root: Root) -> None:
    tape = record(A_JOURNAL, root())
    last, found = len(tape.operations) - tape.began, 0
    each = 3 if PROFILE == "ci" else 1
    for after in range(last - 45, last, 2 * each):
        killed = record_killed(A_JOURNAL, root(), after, tape.expected)
        if killed is not None:
            assert not say(any_subset(killed, share(12), after))
            found += 1
    assert found > 7 // each


# ---- the rows with one step left out: this suite can see ------------------------------------------


@dataclass(frozen=True, slots=True)
class Fsync:
    """An fsync, by the beginning of what `recorder` calls its site.

    workload : in which it is missed; "killed": when another process goes on; "killed later": and there was a commit.
    orders : in which order of a folder's changes.
    """

    site: str
    workload: str
    orders: tuple[Order, ...] = BOTH


MISSED = (
    Fsync("segment_writer._write_file: protects the segment's bytes", "one commit"),
    Fsync("manifest.commit: protects the manifest's bytes", "one commit"),
    # A file system that keeps the order of a folder's changes has the segments' names before the
    # manifest's; POSIX does not promise it.
    Fsync("manifest.commit: protects the names of the segments", "one commit", (Order.SUBSET,)),
    Fsync("manifest.commit: protects the switch itself", "one commit"),
    Fsync("store._appended: protects the record", "a journal"),
    Fsync("files.__init__: protects the new folder's own name", "one commit"),
    Fsync("store._make_certain: protects the way to the folder", "killed"),
    Fsync("store._make_certain: protects the manifest's name", "killed", (Order.SUBSET,)),
    Fsync("sweep._remove: protects the manifest's name", "killed later", (Order.SUBSET,)),
    Fsync("new_folder.new_folder: protects the bytes", "an export"),
    Fsync("new_folder.new_folder: protects the names in it", "an export"),
    Fsync("new_folder.new_folder: protects the new name", "a backup"),
)
# `new_folder` syncs every file once more. This one detects a failing disk.
SPARE = "backup._copy: protects the segment's bytes"


def starts_with(*beginnings: str) -> Callable[[str], bool]:
    """Which fsync to leave out."""
    return lambda site: site.startswith(beginnings)


def left_out(
    workload: str, lost: Callable[[str], bool], root: Root, orders: Iterable[Order] = Order
) -> list[Order]:
    """The orders in which leaving that fsync out is seen."""
    budget = {"killed": 20, "killed later": 40}.get(workload, 60)
    if workload == "killed":  # while the store is made
        tapes = [tape for _, tape in killed_tapes(root, lost, slice(13))]
    elif workload == "killed later":  # around the switch to another base
        tapes = [tape for _, tape in killed_tapes(root, lost, slice(-8, None), TWO_COMMITS)]
    else:
        tapes = [record(BY_NAME[workload], root(), lost)]
    return [order for order in orders if any(missed(tape, order, budget) for tape in tapes)]


def missed(tape: Tape, order: Order, budget: int) -> bool:
    """Whether an image fails."""
    tally = explore(tape, budget, Random(3), orders=(order,), after_writes=False, first_only=True)
    return bool(tally.failures)


@pytest.mark.parametrize("fsync", MISSED, ids=lambda fsync: fsync.site)
def test_an_fsync_left_out_is_seen(fsync: Fsync, root: Root) -> None:
    seen = left_out(fsync.workload, starts_with(fsync.site), root)
    assert set(seen) == set(fsync.orders)


def test_a_spare_fsync_is_missed_only_with_its_twin(root: Root) -> None:
    twin = "new_folder.new_folder: protects the bytes"
    for lost in (SPARE,), (twin,), (SPARE, twin):
        seen = left_out("a backup", starts_with(*lost), root, [Order.SUBSET])
        assert bool(seen) == (len(lost) == 2)


def test_every_fsync_has_its_row(root: Root) -> None:
    found = {site for workload in WORKLOADS for site in sites(record(workload, root()))}
    rows = [*(fsync.site for fsync in MISSED), SPARE]
    assert {site: [r for r in rows if site.startswith(r)] for site in found} == {
        site: [next(r for r in rows if site.startswith(r))] for site in found
    }
    assert all(any(site.startswith(row) for site in found) for row in rows)


def test_a_sweep_before_the_switch_is_certain_would_be_seen(
    root: Root, monkeypatch: pytest.MonkeyPatch
) -> None:
    def commit_and_sweep(files: Files, new: Manifest, *, new_names: bool = True) -> bytes:
        name = f"manifest-{new.version:08d}-00000000.tmp"
        out = files.create(name)
        out.write(raw := manifest.encode(new))
        out.fsync()
        out.close()
        files.fsync_dir()
        files.rename(name, MANIFEST)
        for stray in file_names.strays(files.names(), {file.name for file in new.files}):
            files.unlink(stray)
        files.fsync_dir()
        return raw

    monkeypatch.setattr(manifest, "commit", commit_and_sweep)
    tape = record(WORKLOADS[0], root())
    monkeypatch.undo()
    assert missed(tape, Order.SUBSET, 100)


def test_going_on_where_another_writer_stopped_would_be_seen(
    root: Root, monkeypatch: pytest.MonkeyPatch
) -> None:
    # what a killed one wrote last and did not sync may be lost, and then what follows it as well
    opened = Store._opened

    def and_own(store: Store, file: Growing) -> Snapshot:
        found = opened(store, file)
        store._own = True
        return found

    tape = record(A_JOURNAL, root())
    last = len(tape.operations) - tape.began
    after = list(islice((n for n in range(last, 0, -1) if _written_last(root, tape, n)), 2))
    faults = {True: "", False: ""}
    for lenient in faults:
        with monkeypatch.context() as patched:
            if lenient:
                patched.setattr(Store, "_opened", and_own)
            tapes = [record_killed(A_JOURNAL, root(), n, tape.expected, small=True) for n in after]
        # cut before what the second process writes first is synced
        first = [Tape(t.operations[: t.began + 4], t.began, t.expected) for t in tapes if t]
        tallies = [explore(found, share(60, least=30), Random(1)) for found in first]
        faults[lenient] = "".join(say([f for tally in tallies for f in tally.failures]))
    assert "has a record" in faults[True]
    assert not faults[False]


def _written_last(root: Root, tape: Tape, after: int) -> bool:
    """Whether the process that is killed after so many operations has just written a record."""
    killed = record_killed(A_JOURNAL, root(), after, tape.expected)
    match None if killed is None else killed.operations[killed.began - 1]:
        case Written(_, offset, data):
            return offset > 0 and offset % SECTOR == len(data) % SECTOR == 0 and any(data)
    return False


def test_a_version_that_is_lost_or_wrong_would_be_seen(root: Root) -> None:
    tape = record(WORKLOADS[0], root())
    told = [op for op in tape.operations if isinstance(op, Acknowledged)]
    assert [op.version for op in told] == [0, 1, 2, 3]
    # acknowledged too early: before the last commit's switch
    switches = [k for k, op in enumerate(tape.operations) if isinstance(op, Renamed)]
    early = switches[-1]
    operations = [*tape.operations[:early], told[-1], *tape.operations[early:]]
    assert missed(Tape(operations, tape.began, tape.expected), Order.PREFIX, 60)
    # the content of another version
    versions = tape.expected.versions
    versions[2], versions[3] = versions[3], versions[2]
    faults = {f.fault for f in explore(tape, 60, Random(4), after_writes=False).failures}
    assert any("another content" in fault for fault in faults)
