"""A commit that writes the graph anew by itself: it has a budget, can be stopped, and commits all the same."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import gdb
from gdb.api.database import Database
from gdb.errors import Cancelled, StoreError
from gdb.run import options
from gdb.storage.write import build, compaction
from tests.support.cancellations import Late, Press, ask, change, ctrl_c, interrupt, nodes, wrapped


@pytest.fixture(params=["disk", "memory"])
def grown(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Database]:
    """A graph that a hundred changes make too large for its delta."""
    monkeypatch.setattr(compaction, "MOST_CHANGES", 50)
    with gdb.connect(None if request.param == "memory" else tmp_path / "s.gdb") as db:
        yield db


@pytest.fixture
def rewrites(monkeypatch: pytest.MonkeyPatch) -> list[int | None]:
    """The budgets of the compactions that were begun."""
    found, real = list[int | None](), build.rewrite

    def rewrite(store: Any, view: Any, progress: Any, budget: int | None, *packed: Any) -> Any:
        found.extend([budget] * (not packed))  # compact() says how it packs
        return real(store, view, progress, budget, *packed)

    monkeypatch.setattr(compaction, "rewrite", rewrite)
    return found


def test_it_has_the_memory_of_an_import(grown: Database, rewrites: list[int | None]) -> None:
    ask(grown)
    change(grown, range(100))
    assert grown.stats().changes == 0
    assert rewrites == [options.import_memory(None)] * 2


def stopped(patch: pytest.MonkeyPatch, db: Database, press: Press) -> None:
    wrapped(compaction, "rewrite", True)(patch, db, press)


def test_one_that_is_stopped_commits_a_delta(
    grown: Database, rewrites: list[int | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    had = nodes(grown)
    presses: tuple[Callable[[pytest.MonkeyPatch], Press], ...] = (lambda _: interrupt, Late)
    for done, makes in enumerate(presses, 1):
        grown.compact()
        with monkeypatch.context() as patch:
            stopped(patch, grown, makes(patch))
            assert ask(grown) == 100
        assert (nodes(grown), grown.stats().changes) == (had + 100 * done, 100)
    grown.compact()
    with monkeypatch.context() as patch:
        stopped(patch, grown, ctrl_c)
        with pytest.raises(Cancelled, match="too late") as raised:
            ask(grown)
    assert raised.value.committed
    assert (nodes(grown), grown.stats().changes) == (had + 300, 100)
    grown.compact()
    with monkeypatch.context() as patch:
        stopped(patch, grown, ctrl_c)
        with pytest.raises(KeyboardInterrupt, match="committed"):
            change(grown, range(100))
    assert (nodes(grown), grown.stats().changes) == (had + 400, 100)
    grown.check()


def test_one_that_was_stopped_is_not_tried_at_once(
    grown: Database, rewrites: list[int | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        stopped(patch, grown, interrupt)
        ask(grown)
    assert len(rewrites) == 1
    small = grown.stats().changes
    while 2 * small > grown.stats().changes > 0:
        assert len(rewrites) == 1
        grown.execute("UNWIND range(1, 60) AS i CREATE (:N)")
    assert len(rewrites) == 2
    assert grown.stats().changes == 0 < small
    ask(grown)  # from now on as before
    assert len(rewrites) == 3


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
def test_a_full_disk_leaves_the_delta_and_a_broken_one_is_told(
    tmp_path: Path,
    rewrites: list[int | None],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    code: int,
) -> None:
    monkeypatch.setattr(compaction, "MOST_CHANGES", 50)
    path, fails, real = tmp_path / "s.gdb", list[bool](), os.write

    def write(fd: int, data: bytes) -> int:
        if fails:
            raise OSError(code, os.strerror(code))
        return real(fd, data)

    full = vars(compaction)["rewrite"]  # which notes its budget

    def rewrite(*given: Any) -> Any:
        fails.append(True)
        try:
            return full(*given)
        finally:
            fails.clear()

    with gdb.connect(path) as db:
        monkeypatch.setattr(os, "write", write)
        monkeypatch.setattr(compaction, "rewrite", rewrite)
        if code == errno.EIO:
            with pytest.raises(StoreError, match="Input/output error"):
                ask(db)
        else:
            assert ask(db) == 100
            assert "there is no room to write the graph anew" in caplog.text
        assert (nodes(db), db.stats().changes) == ((100, 100) if code == errno.ENOSPC else (0, 0))
        db.check()
    assert len(rewrites) == 1
    with gdb.connect(path) as db:
        db.check()


def test_memory_that_is_too_small_leaves_the_delta(
    grown: Database, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def rewrite(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(compaction, "rewrite", rewrite)
    assert ask(grown) == 100
    assert (nodes(grown), grown.stats().changes) == (100, 100)
    assert "no room to write the graph anew: the machine has no more memory" in caplog.text


def test_a_switch_that_was_made_is_not_made_again(
    grown: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = build.rewrite

    def rewrite(*given: Any) -> None:
        real(*given)
        raise StoreError("full.") from OSError(errno.ENOSPC, "full")

    version = grown.stats().version
    monkeypatch.setattr(compaction, "rewrite", rewrite)
    with pytest.raises(StoreError, match="full"):
        ask(grown)
    assert (nodes(grown), grown.stats().version) == (100, version + 1)
