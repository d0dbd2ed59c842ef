"""A file below an import root that becomes a link before any of its openings: what is outside is never read."""

from __future__ import annotations

import gzip
import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

import gdb
from gdb.errors import GdbError, InternalError
from gdb.physical.rows import csv as load_csv
from gdb.storage.disk import import_root, opening

SECRET = 4711


def parquet(path: Path, number: int) -> None:
    with gdb.connect() as db:
        db.execute(f"CREATE (:A {{k: {number}}})")
        db.export(path.with_suffix(".folder"), format="parquet")
    (written,) = path.with_suffix(".folder").glob("*.parquet")
    written.rename(path)
    shutil.rmtree(path.with_suffix(".folder"))


WRITERS: dict[str, Callable[[Path, int], object]] = {
    "csv": lambda path, number: path.write_text(f"id:ID,k:long,t\n{number},{number},x\n"),
    "integers": lambda path, number: path.write_text(f":START_ID,:END_ID\n{number},{number}\n"),
    "gz": lambda path, number: path.write_bytes(gzip.compress(f"id,k\n{number},x\n".encode())),
    "snap": lambda path, number: path.write_text(f"# a\n{number} {number}\n"),
    "mtx": lambda path, number: path.write_text(
        f"%%MatrixMarket matrix coordinate integer general\n2 2 1\n1 1 {number}\n"
    ),
    "graph": lambda path, number: path.write_text(f"t 2 1\nv 0 {number} 1\nv 1 1 1\ne 0 1\n"),
    "parquet": parquet,
}


class Swap:
    """Puts a link to another file in the place of one, or of its folder, before an opening."""

    def __init__(self, path: Path, target: Path, before: int) -> None:
        self.path, self.target, self.left = path, target, before
        self.lock = threading.Lock()  # files that DuckDB reads are opened in several threads

    def __call__(self, root: Path, path: Path) -> int:
        with self.lock:
            if self.left == 0:
                shutil.rmtree(self.path) if self.path.is_dir() else self.path.unlink()
                self.path.symlink_to(self.target)
            self.left -= 1
        return opened_below(root, path)


opened_below = opening.opened_below


@pytest.mark.parametrize("folder", [False, True])
@pytest.mark.parametrize("kind", WRITERS)
def test_a_link_that_comes_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, folder: bool
) -> None:
    outside, root = tmp_path / "outside", tmp_path / "root"
    outside.mkdir()
    WRITERS[kind](outside / f"f.{kind}", SECRET)
    WRITERS[kind](good := tmp_path / f"f.{kind}", 1)
    for before in range(40):
        shutil.rmtree(root, ignore_errors=True)
        (root / "in").mkdir(parents=True)
        file = Path(shutil.copy(good, root / "in"))
        swap = Swap(*((file.parent, outside) if folder else (file, outside / file.name)), before)
        monkeypatch.setattr(import_root, "opened_below", swap)
        told = "loaded"
        with gdb.connect(import_root=root) as db:
            try:
                table = kind in ("csv", "gz", "parquet")
                db.load(nodes=file) if table else db.load(file)
            except InternalError:
                raise
            except GdbError as error:
                told = str(error)
            nodes = db.execute("MATCH (a) RETURN id(a), labels(a), properties(a)").fetchall()
            edges = db.execute("MATCH ()-[r]->() RETURN properties(r)").fetchall()
            assert str(SECRET) not in f"{told} {nodes} {edges}"
        if swap.left >= 0:
            assert told == "loaded"
            assert before > 1  # it was tried
            return
    pytest.fail("it is opened more often than was tried")


def test_load_csv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "outside").write_text(str(SECRET))
    (tmp_path / "root").mkdir()
    (file := tmp_path / "root" / "f.csv").write_text("1")
    with gdb.connect(import_root=tmp_path / "root") as db:
        query = "LOAD CSV FROM 'f.csv' AS row RETURN row"
        assert db.execute(query).fetchall() == [(["1"],)]
        swap = Swap(file, tmp_path / "outside", 0)
        monkeypatch.setattr(load_csv, "opened_below", swap)
        with pytest.raises(gdb.errors.ArgumentProblem, match="symbolic links"):
            db.execute(query).fetchall()
