"""`import_root`: files outside of it are refused by every way to name them."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx as nx
import pytest

import gdb
from gdb.errors import ImportFailed, NotAStore


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A folder with a file in it, and a file of the same text outside."""
    (tmp_path / "in" / "deep").mkdir(parents=True)
    for name in ("in/a.csv", "in/deep/a.csv", "secret.csv", "in2.csv"):
        (tmp_path / name).write_text("id\n1\n")
    return tmp_path / "in"


NAMES: dict[str, Callable[[Path], Path | str]] = {
    "absolute": lambda root: root.parent / "secret.csv",
    "dots": lambda root: root / ".." / "secret.csv",
    "dots within a folder": lambda root: root / "deep" / ".." / ".." / "secret.csv",
    "relative": lambda root: os.path.relpath(root.parent / "secret.csv"),
    "a prefix of the name": lambda root: f"{root}2.csv",
    "link": lambda root: linked(root / "link.csv", root.parent / "secret.csv"),
    "link of a folder": lambda root: linked(root / "up", root.parent) / "secret.csv",
    "link to a link": lambda root: linked(
        root / "two.csv", linked(root / "one.csv", root.parent / "secret.csv")
    ),
    "absent": lambda root: root.parent / "absent.csv",
}


def linked(path: Path, target: Path) -> Path:
    path.symlink_to(target)
    return path


@pytest.mark.parametrize("way", ["source", "nodes", "edges", "label", "type"])
@pytest.mark.parametrize("name", NAMES)
def test_outside(root: Path, name: str, way: str) -> None:
    path = NAMES[name](root)
    ways: dict[str, dict[str, Any]] = {
        "label": {"nodes": {"A": [root / "a.csv", path]}},
        "type": {"edges": {"T": (path, "A", "A")}},
    }
    given = ways.get(way, {way: path})
    with gdb.connect(import_root=root) as db:
        with pytest.raises(ImportFailed, match="lies outside of the import root") as caught:
            db.load(**given)
        assert caught.value.file == str(path)
        assert "import_root=" in caught.value.cure
        assert db.stats().vertices == 0


@pytest.mark.parametrize("name", ["a.csv", "deep/a.csv", "deep/../a.csv", "../in/a.csv"])
def test_inside(root: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    linked(root.parent / "root", root)  # the root itself may be named by a link
    linked(root / "deep" / "b.csv", root / "a.csv")
    monkeypatch.chdir(root)
    with gdb.connect(import_root=root.parent / "root") as db:
        assert db.load(nodes=name).vertices == 1
        assert db.load(nodes=root / "deep" / "b.csv", id_space="b").vertices == 1
        assert db.load(nx.Graph([(1, 2)]), id_space="c").vertices == 2


def test_no_loop_of_links(root: Path) -> None:
    linked(root / "x", root / "y")
    linked(root / "y", root / "x")
    with gdb.connect(import_root=root) as db:
        for path in (root / "x", "a\0b"):
            with pytest.raises(ImportFailed, match="cannot be opened"):
                db.load(path)


def test_an_export_that_names_files_outside(root: Path) -> None:
    with gdb.connect() as db:
        db.load(nodes={"A": root / "a.csv"})
        db.export(root / "export")
    told = root / "export" / "gdb-export.json"
    with gdb.connect(import_root=root) as db:
        assert db.load(root / "export").vertices == 1
    (node_file,) = (root / "export").glob("*.csv")
    node_file.rename(root.parent / node_file.name)
    linked(node_file, root.parent / node_file.name)
    with gdb.connect() as db:
        assert db.load(root / "export").vertices == 1
    with gdb.connect(import_root=root) as db:
        with pytest.raises(ImportFailed, match="lies outside"):
            db.load(root / "export")
        told.rename(root.parent / told.name)
        linked(told, root.parent / told.name)
        with pytest.raises(ImportFailed, match="lies outside") as caught:
            db.load(root / "export")
        assert caught.value.file == str(told)


def test_a_root_that_is_no_folder(root: Path) -> None:
    for path in (root / "absent", root / "a.csv"):
        with pytest.raises(NotAStore, match="import_root"):
            gdb.connect(import_root=path)
