"""A kernel that an earlier process has compiled is used from the beginning, where looking for it is worth it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest

from gdb.executor.gpu import compiler, special
from gdb.executor.gpu.stage import Stage


@pytest.mark.parametrize("kept", [False, True])
@pytest.mark.parametrize(
    ("spent", "moved", "looks"),
    [(0.0, special.LARGE + 1, True), (0.0, special.LARGE, False), (1e-9, 1 << 40, False)],
)
def test_a_kept_kernel_is_worth_it_at_once(
    spent: float, moved: int, looks: bool, kept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(special, "source_of", lambda stage: "source")
    monkeypatch.setattr(compiler, "is_kept", lambda source, ordinal: kept)
    stage = SimpleNamespace(
        tables=SimpleNamespace(branches=False, loops=3),
        prepared=SimpleNamespace(spent={2: spent} if spent else {}),
        moved_bytes=moved,
        ordinal=2,
    )
    assert special.is_worth(cast(Stage, stage)) == (looks and kept)
    stage.prepared.spent[2] = 1.0  # it was busy for long enough
    assert special.is_worth(cast(Stage, stage))
