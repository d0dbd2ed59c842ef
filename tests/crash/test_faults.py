"""A call of a commit that fails or kills: a sample of what `python -m tests.crash.faults` tries one by one."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from gdb.storage.disk.files import MANIFEST, Files
from gdb.storage.format import manifest, segment_writer
from tests.crash import faults, writer
from tests.crash.faults import Outcome
from tests.support.effort import PROFILE


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder in memory, for small generations."""
    for name in ("VERTICES", "EDGES", "SEGMENT_EDGES"):
        monkeypatch.setattr(writer, name, getattr(writer, name))
    monkeypatch.setattr(segment_writer, "PACK_BYTES", segment_writer.PACK_BYTES)
    faults.make_small()
    with tempfile.TemporaryDirectory(dir=faults.in_memory()) as path:
        yield Path(path)


def bad(found: list[Outcome]) -> list[Outcome]:
    """Those that lost something, or were not clear; there must be any at all."""
    assert found
    return [outcome for outcome in found if outcome.bad]


@pytest.mark.parametrize("kind", faults.KINDS)
def test_a_call_that_fails_or_kills(folder: Path, kind: str) -> None:
    found = list(faults.patched(folder / "s", kind, step=29 if PROFILE == "ci" else 19))
    assert not bad(found)
    assert {outcome.found for outcome in found} == ({1} if kind == "short write" else {0, 1})


@pytest.mark.parametrize("kind", ["KILL", "EIO", "ENOSPC for good"])
def test_a_call_that_fails_or_kills_while_the_store_is_made(folder: Path, kind: str) -> None:
    assert not bad(list(faults.patched(folder / "s", kind, step=29, create=True)))


@pytest.mark.parametrize("kind", ["KILL", "ENOSPC", "EIO"])
@pytest.mark.parametrize("call", ["open", "write", "fsync", "rename"])
def test_a_call_that_the_kernel_fails(folder: Path, call: str, kind: str) -> None:
    if why := faults.why_no_strace():
        pytest.skip(why)
    found = list(faults.straced(folder / "s", kind, call, step=15 if PROFILE == "ci" else 9))
    assert not bad(found)


def test_a_lock_that_fails(folder: Path) -> None:
    # The last two calls are those of the sweep: the commit was made, and is reported.
    found = list(faults.patched(folder / "s", "EIO", call="flock"))
    assert not bad(found)
    assert [outcome.acknowledged for outcome in found][-2:] == [True, True]


def test_a_disk_that_is_full(folder: Path) -> None:
    if not faults.mounted(disk := folder / "tmpfs"):
        pytest.skip("no tmpfs may be mounted here; test_files_that_may_not_grow replaces it")
    try:
        found = list(faults.filled(disk, step=3))
    finally:
        subprocess.run(["umount", str(disk)], check=True)
    assert not bad(found)
    assert [outcome.found for outcome in found] == [0] * (len(found) - 1) + [1]


def test_files_that_may_not_grow(folder: Path) -> None:
    found = list(faults.limited(folder / "s", range(0, 6000, 750)))
    assert not bad(found)
    assert {outcome.found for outcome in found} == {0, 1}


def test_killed_at_random_moments(folder: Path) -> None:
    assert not bad(list(faults.at_random_moments(folder / "s", 10)))


def test_a_manifest_that_is_replaced_in_two_steps_would_be_seen(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The row with one step left out, the rename: these tests can see.
    commit = manifest.commit

    def in_place(files: Files, new: manifest.Manifest, *, new_names: bool) -> bytes:
        files.unlink(MANIFEST)
        out = files.create(MANIFEST)
        out.write(raw := manifest.encode(new))
        out.close()
        return raw

    monkeypatch.setattr(
        manifest,
        "commit",
        lambda files, new, **names: (in_place if new.version == 2 else commit)(files, new, **names),
    )
    assert any(outcome.lost for outcome in faults.patched(folder / "s", "KILL", start=120))


def test_an_error_that_is_not_translated_would_be_seen(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from contextlib import nullcontext

    from gdb.storage.disk import files

    monkeypatch.setattr(files, "translated", lambda *_: nullcontext())
    assert any(not outcome.clear for outcome in faults.patched(folder / "s", "ENOSPC", step=5))


def test_strace_is_found_or_the_reason_is_said() -> None:
    assert bool(faults.why_no_strace()) or shutil.which("strace") is not None
