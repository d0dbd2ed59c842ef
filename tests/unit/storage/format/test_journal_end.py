"""What is behind the last record of a journal: zeros, or the begin of a record that was torn."""

from __future__ import annotations

import struct
from pathlib import Path

from gdb.storage.checking.check import check_folder
from gdb.storage.disk.checksum import DIGEST_BYTES
from gdb.storage.disk.steps import Steps
from tests.support.journaled_stores import SECTOR, base, change, ended


def test_a_check_compares_the_zeros_behind_the_last_record(tmp_path: Path) -> None:
    folder = tmp_path / "s"
    store = base(folder)
    for number in range(10):
        change(store, number)
    store.close()
    path = folder / "MANIFEST"
    raw, end = path.read_bytes(), ended(folder)
    assert not raw[end:].strip(b"\0")
    assert len(raw) >= end + SECTOR
    for at in (end, end + 5, end + 100, end + SECTOR - DIGEST_BYTES - 1):
        changed = bytearray(raw)
        changed[at] = 0x40
        path.write_bytes(changed)
        faults = check_folder(folder, Steps("check")).faults
        assert [fault.invariant for fault in faults] == ["journal end"], at
    number = struct.unpack_from("<I", raw, end - SECTOR)[0] + 1
    for left in (b"", struct.pack("<I", number)[:1], struct.pack("<I", number) + b"a record"):
        torn = bytearray(raw)
        torn[end : end + len(left)] = left
        path.write_bytes(torn)
        assert not check_folder(folder, Steps("check")).faults, left
