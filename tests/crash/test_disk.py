"""The model of a disk: what may be there after a power cut, by small examples that can be checked by hand."""

from __future__ import annotations

import os
from pathlib import Path
from random import Random

import pytest

from tests.crash.disk import (
    ROOT,
    SECTOR,
    Created,
    Disk,
    Image,
    Operation,
    Order,
    Removed,
    Renamed,
    Synced,
    Written,
)
from tests.crash.recorder import Killed, Recorder, restore


def after(*operations: Operation) -> Disk:
    disk = Disk()
    for operation in operations:
        disk.apply(operation)
    return disk


def found(disk: Disk, order: Order = Order.SUBSET) -> set[Image]:
    return set(disk.images(order, 10_000, Random(1)))


def names(disk: Disk, order: Order) -> set[str]:
    return {" ".join(path for path, _ in image.files) for image in found(disk, order)}


def contents(disk: Disk) -> set[bytes]:
    return {content for image in found(disk) for _, content in image.files}


A, B = Created(ROOT, "a", 1), Created(ROOT, "b", 2)
FOLDER = Synced(ROOT, "test")


def test_names_arrive_as_a_prefix_or_as_any_subset() -> None:
    disk = after(A, B)
    assert names(disk, Order.PREFIX) == {"", "a", "a b"}
    assert names(disk, Order.SUBSET) == {"", "a", "b", "a b"}


def test_synced_names_are_certain() -> None:
    assert names(after(A, FOLDER, B), Order.SUBSET) == {"a", "a b"}
    assert names(after(A, FOLDER, Removed(ROOT, "a", 1)), Order.SUBSET) == {"", "a"}


def test_a_file_that_is_synced_has_no_certain_name() -> None:
    assert names(after(A, Written(1, 0, b"x"), Synced(1, "test")), Order.PREFIX) == {"", "a"}


def test_a_rename_is_one_change_and_needs_no_old_name() -> None:
    renamed = Renamed(ROOT, "a", "m", 1)
    assert names(after(A, FOLDER, renamed), Order.SUBSET) == {"a", "m"}
    assert names(after(A, renamed), Order.PREFIX) == {"", "a", "m"}
    images = found(
        after(A, B, FOLDER, Written(1, 0, b"x"), Synced(1, ""), Renamed(ROOT, "a", "b", 1))
    )
    assert {image.files for image in images} == {
        (("a", b"x"), ("b", b"")),
        (("b", b"x"),),
    }


def test_a_small_write_is_absent_whole_or_zeros() -> None:
    assert contents(after(A, FOLDER, Written(1, 0, b"xyz"))) == {b"", b"xyz", b"\0\0\0"}


def test_a_large_write_is_torn_at_sectors_in_any_subset() -> None:
    x = b"x" * SECTOR
    zeros = bytes(SECTOR)
    seen = contents(after(A, FOLDER, Written(1, 0, x + x)))
    assert seen == {b"", x, zeros, x + x, x + zeros, zeros + x, zeros + zeros}


def test_a_sector_may_be_as_it_was_between_two_writes() -> None:
    seen = contents(after(A, FOLDER, Written(1, 0, b"x"), Written(1, 1, b"y")))
    assert seen == {b"", b"\0", b"x", b"\0\0", b"x\0", b"xy"}


def test_synced_bytes_are_certain() -> None:
    seen = contents(after(A, FOLDER, Written(1, 0, b"x"), Synced(1, "test"), Written(1, 1, b"y")))
    assert seen == {b"x", b"x\0", b"xy"}


def test_what_is_in_a_folder_goes_with_its_name() -> None:
    disk = after(Created(ROOT, "d", 1, True), Created(1, "f", 2), Synced(1, "test"))
    assert found(disk) == {Image((), ()), Image(("d",), (("d/f", b""),))}


def test_a_sample_has_both_ends_and_its_size() -> None:
    many = [Created(ROOT, f"{n:02}", n + 1) for n in range(20)]
    for order in Order:
        images = list(after(*many).images(order, 15, Random(1)))
        sizes = [len(image.files) for image in images]
        assert sizes[:2] == [20, 0]
        assert len(set(images)) == len(images) == 15


def test_the_recorder_sees_what_happens_in_its_folder_only(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "old").mkdir(parents=True)
    (root / "old" / "f").write_bytes(b"x")
    recorder = Recorder(root)
    with recorder.installed(seed=0):
        (root / "new").mkdir()
        for path in (root / "new" / "f", tmp_path / "elsewhere"):
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT)
            os.write(descriptor, b"abc")
            os.fsync(descriptor)
            os.close(descriptor)
        os.rename(root / "new" / "f", root / "new" / "g")
        os.unlink(root / "old" / "f")
    seen = recorder.operations[recorder.began :]
    assert [type(op) for op in seen] == [Created, Created, Written, Synced, Renamed, Removed]
    disk = after(*recorder.operations)
    (copy := tmp_path / "copy").mkdir()
    restore(disk.now(), copy)
    assert [(path, path.read_bytes()) for path in copy.rglob("*") if path.is_file()] == [
        (copy / "new" / "g", b"abc")
    ]
    assert sorted(path.name for path in copy.iterdir()) == ["new", "old"]


def test_a_killed_process_does_nothing_more(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path)
    with recorder.installed(seed=0):
        recorder.kill_after(1)
        (tmp_path / "a").mkdir()
        for path in (tmp_path / "b", tmp_path / "a" / "c"):
            with pytest.raises(Killed):
                path.mkdir()
        with pytest.raises(Killed):
            os.rmdir(tmp_path / "a")
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
