"""What tests of damaged stores share."""

from __future__ import annotations

from pathlib import Path

import pytest

from gdb.storage.disk import checksum


@pytest.fixture(params=["plain", "packed"])
def packed(request: pytest.FixtureRequest) -> bool:
    """Whether a store's neighbours are packed."""
    return bool(request.param == "packed")


@pytest.fixture(params=["BLAKE2b", "BLAKE3"])
def checksums(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The checksum that every new file has, as the large ones or as the others."""
    if request.param == "BLAKE3":
        monkeypatch.setattr(checksum, "LARGE", 0)
    return str(request.param)


@pytest.fixture
def file(store: Path) -> Path:
    """The file with the relationships of the module's `store`."""
    return max(store.glob("seg-*"), key=lambda found: found.stat().st_size)
