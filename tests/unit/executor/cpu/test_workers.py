"""What a worker reads of NumPy's arrays."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from gdb.executor.cpu.workers import _address


def arrays(folder: Path) -> dict[str, np.ndarray]:
    own = np.arange(1000, dtype=np.int64)
    path = folder / "mapped"
    own.tofile(path)
    return {
        "own": own,
        "empty": np.zeros(0, np.uint8),
        "part": own[10:20:3],
        "two dimensions": own.reshape(10, 100)[3:],
        "of a buffer": np.frombuffer(bytes(64), np.uint32)[1:],
        "of a file": np.memmap(path, np.int64, "r")[7:],
        "read-only": np.broadcast_to(own[5:6], (4, 1)),
    }


def test_an_address_is_that_of_numpy(tmp_path: Path) -> None:
    found = arrays(tmp_path)
    assert {kind: _address(one) for kind, one in found.items()} == {
        kind: one.ctypes.data for kind, one in found.items()
    }
