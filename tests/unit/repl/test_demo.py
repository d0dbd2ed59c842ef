"""The demo on a library of a few files, where every answer is known."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Literal

import pytest

import gdb
from gdb.repl import codegraph, demo
from tests.oracles.dict_graph import Naive, agree
from tests.support.graph_tables import read_tables

LIBRARY = {
    # one and two import each other; three, four and five are a circle; all of it imports sys
    "one": "import two, sys\nclass C:\n    def m(self): return two.helper()\n",
    "two": "import one, sys\ndef helper(): inner(); return last()\ndef inner(): last()\n"
    "def last(): ...\n",
    "three": "import four, sys\n",
    "four": "import five, sys\n",
    "five": "import three, sys\n"
    "class Top: ...\nclass Left(Top): ...\nclass Right(Top): ...\n"
    "class Bottom(Left, Right): ...\n",
}


@pytest.fixture
def shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """What the demo prints; the store is kept as code.gdb."""
    library = tmp_path / "library"
    library.mkdir()
    for name, source in LIBRARY.items():
        (library / f"{name}.py").write_text(source, encoding="utf-8")
    monkeypatch.setattr(codegraph, "standard_library", lambda: library)
    out = io.StringIO()
    demo.run(str(tmp_path / "code.gdb"), out)
    return out.getvalue()


def answer(shown: str, title: str) -> list[list[str]]:
    """The rows of the table under a title; cells of this library hold no blanks."""
    block = shown[shown.index(f"--- {title}") :].partition("\n(")[0].splitlines()
    start = next(n for n, line in enumerate(block) if line and not line.strip("- "))
    return [line.split() for line in block[start + 1 :]]


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("Which modules import each other", [["one", "two"]]),
        ("... and answered", [["1"]]),
        ("A method that calls", [["one", "C", "m", "two", "helper"]]),
        (
            "The modules that most modules import",
            [["sys", "5"], *([name, "1"] for name in ("five", "four", "one", "three", "two"))],
        ),
    ],
)
def test_the_answers_are_right(shown: str, title: str, expected: list[list[str]]) -> None:
    assert answer(shown, title) == expected


def test_a_circle_of_imports_is_found_once(shown: str) -> None:
    (circle,) = answer(shown, "Import cycles")
    assert set(circle) == {"three", "four", "five"}


def test_a_diamond_is_found_once_whichever_side_is_left(shown: str) -> None:
    ((bottom, left, right, top),) = answer(shown, "Diamond inheritance")
    assert (bottom, {left, right}, top) == ("five.Bottom", {"Left", "Right"}, "Top")


def test_the_demo_counts_what_it_imported(shown: str) -> None:
    assert "6 modules, 5 classes, 4 functions and 27 relationships" in shown
    assert "imported 15 nodes and 27 relationships" in shown


def test_a_compiled_module_has_no_lines(shown: str, tmp_path: Path) -> None:
    with gdb.connect(tmp_path / "code.gdb", read_only=True) as db:
        query = "MATCH (m:Module) WHERE m.lines IS NULL RETURN m.name"
        assert db.execute(query).fetchall() == [("sys",)]


def test_the_store_is_kept_where_it_was_asked_for(shown: str, tmp_path: Path) -> None:
    assert f"gdbsh {tmp_path / 'code.gdb'}" in shown
    with gdb.connect(tmp_path / "code.gdb", read_only=True) as db:
        assert db.stats().edges == 27


def test_a_store_that_holds_something_is_refused(shown: str, tmp_path: Path) -> None:
    with pytest.raises(gdb.GdbError, match="not empty"):
        demo.run(str(tmp_path / "code.gdb"), io.StringIO())


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_an_export_of_the_demo_comes_back_equal(
    shown: str, tmp_path: Path, format: Literal["csv", "parquet"]
) -> None:
    with gdb.connect(tmp_path / "code.gdb", read_only=True) as db, gdb.connect() as other:
        db.export(tmp_path / "out", format)
        other.load(tmp_path / "out")
        assert other.schema() == db.schema()
        agree(Naive(read_tables(db._store.snapshot())), other._store.snapshot())
        for _, query in demo.QUESTIONS:
            assert other.execute(query).fetchall() == db.execute(query).fetchall()
