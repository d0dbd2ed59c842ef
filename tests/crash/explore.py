"""Cut a recorded run after every operation, build the images, recover from each, and judge what is found.

From every image: the store opens, holds the version that was acknowledged last or a later one, with exactly its
content; its files pass the full check; it takes a further commit, which leaves no stray. Before the store was
acknowledged there may be none, and then one can be made there. A backup is whole or is not there.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from tempfile import mkdtemp

from gdb.errors import NotAStore
from gdb.storage.disk import file_names
from gdb.storage.graph.snapshot import Snapshot
from gdb.storage.write.store import Store
from tests.crash.disk import Acknowledged, Disk, Image, Operation, Order, Synced, Written
from tests.crash.faults import in_memory
from tests.crash.recorder import no_waiting, restore
from tests.crash.workloads import (
    COPY,
    EMPTY,
    FURTHER,
    STORE,
    Content,
    Expected,
    Tape,
    content,
    content_of,
    files_of,
)
from tests.support.graph_tables import write_graph

BOTH = (Order.PREFIX, Order.SUBSET)
_FURTHER = content_of(FURTHER)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was found in an image. versions : of each folder that holds a store. fault : "" where all is well."""

    versions: dict[str, int]
    fault: str


@dataclass(frozen=True, slots=True)
class Failure:
    """An image from which recovery fails. cut : the operations before the power cut."""

    cut: int
    last: Operation
    order: Order
    fault: str
    image: Image


@dataclass(slots=True)
class Tally:
    """What an exploration did. sample : images that it judged well, drawn evenly."""

    cuts: int
    images: int = 0
    failures: list[Failure] = field(default_factory=list)
    sample: list[Image] = field(default_factory=list)


def explore(
    tape: Tape,
    budget: int,
    rng: Random,
    *,
    orders: Sequence[Order] = BOTH,
    after_writes: bool = True,
    first_only: bool = False,
    sample: int = 0,
) -> Tally:
    """Judge different images of a tape, about `budget` of them, spread evenly over the cuts.

    Parameters
    ----------
    orders : in which orders changes of a folder may reach the disk.
    after_writes : cut also after each write; else only where a name changed or something was synced.
    first_only : stop at the first failure.
    sample : how many images to keep.
    """
    disk, acknowledged = Disk(), dict[str, int]()
    verdicts: dict[bytes, Verdict] = {}
    cuts = {
        cut
        for cut, operation in enumerate(tape.operations, 1)
        if cut >= tape.began and (after_writes or not isinstance(operation, Written))
    }
    tally, cuts_left = Tally(len(cuts)), len(cuts)
    for cut, operation in enumerate(tape.operations, 1):
        disk.apply(operation)
        if isinstance(operation, Acknowledged):
            acknowledged[operation.store] = operation.version
        if cut not in cuts:
            continue
        quota = max(1, -(-(budget - tally.images) // cuts_left))
        cuts_left -= 1
        for order in orders:
            stop = tally.images + max(1, quota // len(orders))
            for image in disk.images(order, 3 * quota, rng):  # some are known from the last cut
                key = image.key()
                if key not in verdicts:
                    if tally.images == stop:
                        break
                    verdicts[key] = judge(image, tape.expected)
                    tally.images += 1
                    _draw(tally, image, verdicts[key], sample, rng)
                fault = verdicts[key].fault or _missing(verdicts[key], acknowledged)
                if fault:
                    tally.failures.append(Failure(cut, operation, order, fault, image))
                    if first_only:
                        return tally
    return tally


def _draw(tally: Tally, image: Image, verdict: Verdict, size: int, rng: Random) -> None:
    """Keep `size` of all images that pass, each as likely as the other (reservoir sampling)."""
    if verdict.fault:
        return
    if len(tally.sample) < size:
        tally.sample.append(image)
    elif (at := rng.randrange(tally.images)) < size:
        tally.sample[at] = image


def _missing(verdict: Verdict, acknowledged: dict[str, int]) -> str:
    for folder, version in acknowledged.items():
        found = verdict.versions.get(folder, -1)
        if found < version:
            return f"{folder}: version {version} was acknowledged, " + (
                f"{found} is found" if found >= 0 else "there is no store"
            )
    return ""


def judge(image: Image, expected: Expected) -> Verdict:
    """Recover from an image with the door that users have, in a real folder."""
    root, versions = Path(mkdtemp(prefix="image-", dir=in_memory())), dict[str, int]()
    try:
        with no_waiting():
            restore(image, root)
            for folder in (STORE, COPY):
                if (root / folder).exists():
                    versions[folder] = _version(root / folder, expected.versions)
            for folder, (version, files) in expected.exports.items():
                if (root / folder).exists():
                    assert files_of(root / folder) == files, "an export is not whole"
                    versions[folder] = version
            if versions.get(STORE, -1) < 0:
                versions.pop(STORE, None)
                _new(root / STORE)
        return Verdict(versions, "")
    except Exception as error:  # whatever it is, a user would meet it
        return Verdict(versions, f"{type(error).__name__}: {error}")
    finally:
        shutil.rmtree(root)


def _version(folder: Path, expected: dict[int, Content]) -> int:
    """The version that a store holds, -1 where the folder is none yet; raises where that is not right."""
    try:
        store = Store.open(folder, create=False)
    except NotAStore:
        if folder.name != COPY:
            return -1
        raise
    try:
        version = _checked(store.snapshot(), expected)
        _takes_a_commit(store)  # the old snapshot is closed, so its files must go
        return version
    finally:
        store.close()


def _checked(snapshot: Snapshot, expected: dict[int, Content]) -> int:
    snapshot.check()
    wanted = expected[snapshot.version]
    assert content(snapshot) == wanted, f"version {snapshot.version} has another content"
    return snapshot.version


def _takes_a_commit(store: Store) -> None:
    before = store.snapshot().version
    after = write_graph(store, FURTHER)
    assert after.version == before + 1, "the further commit has another version"
    assert content(after) == _FURTHER, "the further commit has another content"
    kept = {record.name for record in after.manifest.files}
    left = file_names.strays(store.files.names(), kept)
    assert not left, f"the further commit left {left}"


def _new(folder: Path) -> None:
    store = Store.open(folder, create=True)
    try:
        assert store.snapshot().version == 0, "a new store has a version"
        assert content(store.snapshot()) == EMPTY, "a new store is not empty"
        _takes_a_commit(store)
    finally:
        store.close()


def sites(tape: Tape) -> list[str]:
    """Where the recorded program called fsync, in order, each once."""
    found = (op.site for op in tape.operations[tape.began :] if isinstance(op, Synced))
    return list(dict.fromkeys(found))
