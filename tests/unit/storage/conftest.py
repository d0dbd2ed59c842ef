"""What tests of damaged stores share."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(params=["plain", "packed"])
def packed(request: pytest.FixtureRequest) -> bool:
    """Whether a store's neighbours are packed."""
    return bool(request.param == "packed")


@pytest.fixture
def file(store: Path) -> Path:
    """The file with the relationships of the module's `store`."""
    return max(store.glob("seg-*"), key=lambda found: found.stat().st_size)
