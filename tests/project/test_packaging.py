"""What an installation puts on a machine: `gdb` and nothing else, each file once, from the sdist as from the tree.

Everything is built in a copy, without a network and without an isolated build environment, so that no `build/` is left
in the working tree (setuptools would put its old files into the next wheel).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

pytest.importorskip("setuptools", minversion="77")

BUILD = "import sys; from setuptools import build_meta; print(getattr(build_meta, sys.argv[1])(sys.argv[2]))"
LEFT_OUT = shutil.ignore_patterns(
    ".git", ".venv*", "*.egg-info", "build", "dist", "__pycache__", ".*_cache", "*.gdb"
)


def build(source: Path, kind: str, target: Path) -> Path:
    """Build a `wheel` or an `sdist` of a source tree into a folder."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", BUILD, f"build_{kind}", str(target)],
        cwd=source,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return target / done.stdout.splitlines()[-1]


@pytest.fixture(scope="module")
def sdist(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sdist")
    source = folder / "source"
    shutil.copytree(repository, source, symlinks=True, ignore=LEFT_OUT)
    return build(source, "sdist", folder)


@pytest.fixture(scope="module")
def wheel(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    shutil.copytree(repository, source, symlinks=True, ignore=LEFT_OUT)
    return build(source, "wheel", folder)


def names(wheel: Path) -> list[str]:
    with zipfile.ZipFile(wheel) as archive:
        return sorted(archive.namelist())


def test_the_wheel_installs_nothing_at_top_level_but_gdb(wheel: Path) -> None:
    tops = {name.partition("/")[0] for name in names(wheel)}
    version = wheel.name.split("-")[1]
    assert tops == {"gdb", f"gdb_embedded-{version}.dist-info"}


def test_the_wheel_holds_every_file_of_the_rooms_once(wheel: Path, repository: Path) -> None:
    wanted = set()
    for room in ("gdb", "storage", "executor", "repl"):
        for pattern in ("*.py", "*.cu", "*.cuh", "py.typed"):
            for path in (repository / room).rglob(pattern):
                inside = path.relative_to(repository).as_posix()
                if not inside.startswith(("gdb/storage/", "gdb/executor/", "gdb/repl/")):
                    wanted.add(inside if room == "gdb" else f"gdb/{inside}")
    found = [name for name in names(wheel) if name.startswith("gdb/")]
    assert len(found) == len(set(found))
    assert set(found) == wanted
    assert {"gdb/py.typed", "gdb/storage/__init__.py"} <= wanted


def test_the_wheel_names_its_command_licence_and_extras(wheel: Path, repository: Path) -> None:
    project = tomllib.loads((repository / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    with zipfile.ZipFile(wheel) as archive:
        texts = {
            n.partition("/")[2]: archive.read(n).decode()
            for n in names(wheel)
            if ".dist-info/" in n
        }
    assert "gdbsh = gdb.repl.main:main" in texts["entry_points.txt"]
    assert "Apache License" in texts["licenses/LICENSE"]
    for extra in ("arrow", "cuda12", "cuda13", "dask", "test"):
        assert f"Provides-Extra: {extra}" in texts["METADATA"]
    assert f"Version: {project['version']}\n" in texts["METADATA"]


def test_the_sdist_builds_the_same_wheel(sdist: Path, wheel: Path, tmp_path: Path) -> None:
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path, filter="data")
    (source,) = tmp_path.iterdir()
    assert names(build(source, "wheel", tmp_path)) == names(wheel)


def test_the_installed_wheel_is_what_gets_imported(wheel: Path, tmp_path: Path) -> None:
    """Installed into an empty folder and imported from there, with no working tree in sight."""
    target = tmp_path / "site"
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
    subprocess.run([*install, "--target", str(target), str(wheel)], check=True, cwd=tmp_path)
    program = (
        "import gdb, gdb.storage, gdb.executor.cpu, gdb.repl\n"
        "print(gdb.__file__, gdb.storage.__file__, gdb.__version__)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(target)},
        capture_output=True,
        text=True,
        check=True,
    )
    package, storage, version = done.stdout.split()
    assert Path(package) == target / "gdb" / "__init__.py"
    assert Path(storage) == target / "gdb" / "storage" / "__init__.py"
    assert version == wheel.name.split("-")[1]
