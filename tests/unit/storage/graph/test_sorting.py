"""Sorts of keys on several threads."""

from __future__ import annotations

import numpy as np
import pytest

from gdb.storage.graph import sorting


@pytest.mark.parametrize("threads", [1, 2, 3, 7])
@pytest.mark.parametrize("most", [1, 3, 1 << 40, (1 << 64) - 1])
def test_keys_ascend_whatever_they_are(
    threads: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sorting, "LEAST_SHARED", 1000)
    monkeypatch.setattr(sorting, "cores", lambda: threads)
    keys = np.random.default_rng(threads).integers(0, most, 8191, np.uint64, endpoint=True)
    expected = np.sort(keys)
    np.testing.assert_array_equal(sorting.ascending(keys), expected)


def test_few_keys_are_sorted_in_place() -> None:
    keys = np.array([3, 1, 2], np.uint64)
    assert sorting.ascending(keys) is keys
    assert keys.tolist() == [1, 2, 3]
    assert sorting.ascending(keys[:0]).tolist() == []
