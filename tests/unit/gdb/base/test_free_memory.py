"""What memory groups and the machine leave for the pages of files, from texts as the system gives them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from gdb.base.machine import free_memory


@pytest.fixture
def system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files of a system; it has none yet."""
    monkeypatch.setattr(free_memory, "_ROOT", tmp_path / "groups")
    monkeypatch.setattr(free_memory, "_OWN", tmp_path / "own")
    monkeypatch.setattr(free_memory, "_MACHINE", tmp_path / "meminfo")
    return tmp_path


def write(folder: Path, **files: object) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(f"{text}\n")


def test_a_system_that_does_not_say(system: Path) -> None:
    assert free_memory.cache_room() == sys.maxsize


def test_the_machine(system: Path) -> None:
    write(system, meminfo="MemTotal: 9000 kB\nMemFree: 10 kB\nMemAvailable:    2000 kB")
    assert free_memory.cache_room() == 2000 * 1024


def test_the_narrowest_of_the_groups_around(system: Path) -> None:
    write(system, meminfo="MemAvailable: 2000 kB", own="0::/outer/inner")
    stat = "anon 300\ninactive_file 100\nactive_file 50"
    outer = system / "groups" / "outer"
    write(outer, memory__max=1000, memory__current=900, memory__stat=stat)
    write(outer / "inner", memory__max="max", memory__current=10, memory__stat=stat)
    assert free_memory.cache_room() == 1000 - 900 + 150
    write(outer / "inner", memory__max=200, memory__current=190, memory__stat=stat)
    assert free_memory.cache_room() == 200 - 190 + 150


def test_groups_of_the_first_version(system: Path) -> None:
    write(system, own="7:cpu,cpuacct:/a\n4:memory:/b\n0::/")
    stat = "inactive_file 1\ntotal_inactive_file 30\ntotal_active_file 20"
    files = {"memory__limit_in_bytes": 500, "memory__usage_in_bytes": 480, "memory__stat": stat}
    write(system / "groups" / "memory" / "b", **files)
    assert free_memory.cache_room() == 70
    write(system / "groups" / "memory" / "b", memory__usage_in_bytes=900)
    assert free_memory.cache_room() == 0
