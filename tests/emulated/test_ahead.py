"""Copies that are made while a query is planned, without a GPU: the query finds them, counts them as moved, and does
without what went wrong."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import numpy as np
import pytest

import gdb
from gdb.executor.gpu import ahead, device, pinned
from tests.emulated.emulator import absence, emulated, upload

pytestmark = pytest.mark.skipif(absence() is not None, reason=str(absence()))
TRIANGLE = "MATCH (a)-[:R]-(b)-[:R]-(c)-[:R]-(a) RETURN count(*)"


@pytest.fixture
def copies(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The names of the threads in which arrays were copied, by an emulated device."""
    names = list[str]()

    def noted(array: np.ndarray) -> object:
        names.append(threading.current_thread().name)
        return upload(array)

    with emulated():
        monkeypatch.setattr(pinned, "upload", noted)
        monkeypatch.setattr(device, "require", lambda ordinal=0: None)
        monkeypatch.setattr(device, "absence", lambda: None)
        monkeypatch.setattr(device, "begin", lambda ordinal: None)
        monkeypatch.setattr(device, "total_bytes", lambda ordinal: 1 << 33)
        monkeypatch.setattr(ahead, "find_spec", lambda name: object())
        monkeypatch.setattr(ahead, "LEAST", 0)
        yield names


def triangles() -> gdb.Database:
    draw, db = np.random.default_rng(5), gdb.connect()
    pairs = {(min(p), max(p)) for p in draw.integers(0, 40, (300, 2)).tolist() if p[0] != p[1]}
    db.load(edges={"R": [{"source": a, "target": b} for a, b in sorted(pairs)]})
    return db


def ahead_ended() -> None:
    for thread in threading.enumerate():
        if thread.name == "gdb-ahead":
            thread.join(10)
            assert not thread.is_alive()


def test_a_query_finds_what_was_copied_ahead(
    copies: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """And has moved as much as one that copies all itself."""
    expected, moved = triangles().execute(TRIANGLE, device="cpu").scalar(), list[int]()
    for least, threads in ((0, 2), (1 << 40, 0)):
        monkeypatch.setattr(ahead, "LEAST", least)
        copies.clear()
        found = triangles().execute(TRIANGLE, device="cuda")
        ahead_ended()
        assert found.scalar() == expected
        assert copies.count("gdb-ahead") == threads
        moved.append(found.summary.moved_bytes)
    assert moved[0] == moved[1] > 0


@pytest.mark.parametrize("most", [0, 1 << 40], ids=["no room", "an error"])
def test_a_query_copies_what_was_not(
    copies: list[str], monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    def fails(array: np.ndarray) -> object:
        if threading.current_thread().name == "gdb-ahead":
            raise RuntimeError("the device is gone")
        return upload(array)

    monkeypatch.setattr(pinned, "upload", fails)
    monkeypatch.setattr(device, "free_bytes", lambda ordinal: most)
    expected = triangles().execute(TRIANGLE, device="cpu").scalar()
    assert triangles().execute(TRIANGLE, device="cuda").scalar() == expected
    ahead_ended()


@pytest.mark.parametrize("several", [0, 4])
@pytest.mark.parametrize("size", [0, 1, 4, 5, 9, 64, 333])
def test_what_comes_back_in_pieces_is_whole(
    size: int, several: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pinned, "LARGE", 1)
    monkeypatch.setattr(pinned, "BLOCK", 32)
    monkeypatch.setattr(pinned, "SEVERAL", several)
    numbers = np.arange(size, dtype=np.int64)
    with emulated():
        found = pinned.download(pinned.upload(numbers), np.int64)
    assert found.dtype == np.int64
    assert found.tolist() == numbers.tolist()
