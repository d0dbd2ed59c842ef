"""Backups beside a process that writes, and backups that are killed: whole, or not there."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import gdb
from gdb.errors import StoreError
from gdb.storage.copies.backup import backup
from gdb.storage.copies.export_contents import FORMATS
from gdb.storage.disk.files import MANIFEST, Files
from gdb.storage.disk.steps import Steps
from gdb.storage.format import manifest
from gdb.storage.format.manifest import Manifest
from gdb.storage.format.segment import FileRecord
from gdb.storage.write.store import Store
from tests.crash.writer import generation, generation_of
from tests.support.graph_tables import write_graph

REPOSITORY = Path(__file__).resolve().parents[2]


def test_backups_and_exports_while_another_process_writes(tmp_path: Path) -> None:
    folder = tmp_path / "s"
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.crash.writer", str(folder), "0"],
        stdout=subprocess.PIPE,
        text=True,
        cwd=REPOSITORY,
    )
    assert process.stdout is not None
    said: list[str] = []
    while "0+" not in said:  # the first generation is committed
        said.append(process.stdout.readline().strip())
    try:
        found: list[int] = []
        exported: list[int] = []
        with gdb.connect(folder, read_only=True) as db:
            for number in range(12):
                copy = tmp_path / str(number)
                stats = db.backup(copy)
                with gdb.connect(copy, create=False) as copied:
                    copied.check()
                    assert copied.stats() == stats
                    found.append(generation_of(copied._store.snapshot()))
                db.export(out := tmp_path / f"{number} exported", FORMATS[number % 2])
                with gdb.connect() as again:
                    again.load(out)
                    exported.append(generation_of(again._store.snapshot()))
            assert process.poll() is None
    finally:
        process.kill()
        process.communicate()
    assert found == sorted(found)
    assert exported == sorted(exported)
    assert len(set(found)) > 5  # else nothing was written meanwhile
    assert not [p for p in tmp_path.iterdir() if "partial" in p.name]


def _die_at(step: int) -> None:
    """From now on, kill this process at the step-th change of the disk."""
    left = [step]

    def mortal(name: str) -> None:
        real = getattr(os, name)

        def call(*arguments: object, **more: object) -> object:
            left[0] -= 1
            if left[0] < 0:
                os.kill(os.getpid(), 9)
            return real(*arguments, **more)

        setattr(os, name, call)

    for name in ("mkdir", "open", "write", "fsync", "rename"):
        mortal(name)


def _copied(tmp_path: Path, source: Store, step: int) -> bool:
    """Back up in a child that is killed at a step; whether it came to the end."""
    snapshot = source.snapshot()
    child = os.fork()
    if not child:
        try:
            _die_at(step)
            backup(snapshot, tmp_path / "b", Steps("backup"))
            os._exit(0)
        except BaseException:
            os._exit(1)
    status = os.waitpid(child, 0)[1]
    assert status in (0, 9)
    return not status


def _states(tmp_path: Path) -> list[tuple[bool, bool]]:
    """After a kill at each step: whether the folder is a whole store, and whether anything that is left
    is a store that is not whole."""
    source = Store.open(tmp_path / "s", create=True)
    write_graph(source, generation(1))
    seen: list[tuple[bool, bool]] = []
    for step in range(100):
        ended = _copied(tmp_path, source, step)
        left = [path for path in tmp_path.iterdir() if path.name != "s"]
        whole, half = False, False
        for path in left:
            try:
                store = Store.open(path, create=False)
            except StoreError:
                assert path.name != "b"
                continue
            try:
                whole |= generation_of(store.snapshot()) == 1 and path.name == "b"
            except StoreError:
                half = True
        seen.append((whole, half))
        for path in left:
            shutil.rmtree(path)
        if ended:
            return seen
    raise AssertionError("a backup has more steps than were tried")


def test_killed_at_every_step_of_a_backup(tmp_path: Path) -> None:
    seen = _states(tmp_path)
    switch = seen.index((True, False))
    assert switch > 10
    assert seen == [(False, False)] * switch + [(True, False)] * (len(seen) - switch)


def test_a_manifest_that_is_written_first_would_be_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The row with one step in the wrong place: this test can see.
    from gdb.storage.copies import backup as backups

    commit, copy = manifest.commit, backups._copy
    current: list[Manifest] = []

    def first(
        source: Files, record: FileRecord, target: Files, steps: Steps, before: int, total: int
    ) -> None:
        if MANIFEST not in target.names():
            commit(target, current[0])
        copy(source, record, target, steps, before, total)

    def keep(files: Files, new: Manifest, *, new_names: bool = True) -> bytes:
        current[:] = [new]
        return commit(files, new, new_names=new_names)

    monkeypatch.setattr(manifest, "commit", keep)
    monkeypatch.setattr(backups, "_copy", first)
    assert any(half for _, half in _states(tmp_path))
