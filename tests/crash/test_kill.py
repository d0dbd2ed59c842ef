"""SIGKILL while a graph is written over a store: the store opens, and is the old one or the new one.

Kills land at random moments, and, so that none of them is luck, once at each door that a commit
goes through: before every create, rename, unlink and sync of the folder.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import cast

import pytest

from gdb.errors import StoreError
from gdb.storage.disk import file_names
from gdb.storage.disk.files import MANIFEST, Files, PosixFiles
from gdb.storage.format import manifest
from gdb.storage.write.store import Store
from tests.crash.writer import SEGMENT_EDGES, generation, generation_of
from tests.support.effort import share
from tests.support.graph_tables import write_graph

REPOSITORY = Path(__file__).resolve().parents[2]


def _begin(folder: Path, first: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.crash.writer", str(folder), str(first)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=REPOSITORY,
    )


def _stray_count(folder: Path, store: Store) -> int:
    kept = {record.name for record in store.snapshot().manifest.files}
    return len(file_names.strays([p.name for p in folder.iterdir()], kept))


def test_killed_at_random_moments(tmp_path: Path) -> None:
    folder, rng = tmp_path / "s", random.Random(20)
    store = Store.open(folder, create=True)
    write_graph(store, generation(0))
    store.close()
    holds, interrupted = 0, 0
    tried = share(12, least=6)
    for _ in range(tried):
        process = _begin(folder, holds + 1)
        assert process.stdout is not None
        said = [process.stdout.readline()]  # it has begun to write
        time.sleep(rng.random() * 0.15)
        process.kill()
        said += process.communicate()[0].split()
        acknowledged = [int(line[:-1]) for line in said if line.endswith("+")]
        begun = [int(line) for line in said if line.strip().isdigit()]
        store = Store.open(folder, create=False)
        found = generation_of(store.snapshot())
        assert found in {max(acknowledged, default=holds), begun[-1]}
        interrupted += bool(_stray_count(folder, store)) or found != begun[-1]
        holds = found
        store.close()
    assert interrupted > tried // 4  # else the kills came too late to mean anything
    store = Store.open(folder, create=False)
    write_graph(store, generation(99))
    assert _stray_count(folder, store) == 0  # what the killed ones left is gone


class KilledFiles:
    """A door that lets `steps` changes of the disk through, then kills the process."""

    def __init__(self, files: PosixFiles, steps: int) -> None:
        self._files, self._steps = files, steps

    def __getattr__(self, name: str) -> object:
        real = getattr(self._files, name)
        if name in {"create", "rename", "unlink", "fsync_dir"}:
            if self._steps == 0:
                os.kill(os.getpid(), 9)
            self._steps -= 1
        return real


def _write_and_die(folder: Path, steps: int) -> int:
    """Write generation 1 in a forked child that dies after `steps`; its exit status."""
    child = os.fork()
    if not child:
        try:
            files = cast(Files, KilledFiles(PosixFiles(folder), steps))
            store = Store.open(folder, create=False, files=files)
            write_graph(store, generation(1), segment_edges=SEGMENT_EDGES)
            os._exit(0)
        except BaseException:
            os._exit(1)
    return os.waitpid(child, 0)[1]


def _states(tmp_path: Path) -> list[int | None]:
    """The generation found after a kill at each step of a commit; None = the store does not open."""
    seen: list[int | None] = []
    for steps in range(50):
        folder = tmp_path / str(steps)
        write_graph(Store.open(folder, create=True), generation(0))
        status = _write_and_die(folder, steps)
        assert status in (0, 9)
        try:
            store = Store.open(folder, create=False)
            seen.append(generation_of(store.snapshot()))
            store.close()
        except StoreError:
            seen.append(None)
        if not status:
            return seen
    raise AssertionError("the commit has more steps than were tried")


def test_killed_at_every_step_of_a_commit(tmp_path: Path) -> None:
    seen = _states(tmp_path)
    switch = seen.index(1)
    assert switch > 3
    assert seen == [0] * switch + [1] * (len(seen) - switch)  # old until the switch, then new


def test_a_manifest_written_in_place_would_be_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The row with one step left out, the rename: this test can see.
    def in_place(files: Files, new: manifest.Manifest, *, new_names: bool) -> bytes:
        files.unlink(MANIFEST)
        out = files.create(MANIFEST)
        out.write(raw := manifest.encode(new))
        out.close()
        return raw

    commit = manifest.commit
    monkeypatch.setattr(
        manifest,
        "commit",
        lambda files, new, **names: (in_place if new.version == 2 else commit)(files, new, **names),
    )
    assert None in _states(tmp_path)
