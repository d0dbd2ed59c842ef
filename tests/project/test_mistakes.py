"""tests/queries/mistakes.txt: mistakes of newcomers are reported with their place, cause and cure."""

from __future__ import annotations

import re
import shlex
import shutil
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

import gdb
from gdb.errors import GdbError, QueryError
from gdb.repl import main

FILE = Path(__file__).resolve().parents[1] / "queries" / "mistakes.txt"
_BLOCK = re.compile(r"^(cypher|python|gdbsh)> (.*)\n((?:.+\n?)*)", re.MULTILINE)


class Mistake(NamedTuple):
    where: str
    written: str
    told: str


MISTAKES = [Mistake(*found) for found in _BLOCK.findall(FILE.read_text(encoding="utf-8"))]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that each mistake gets a copy of."""
    folder = tmp_path_factory.mktemp("mistakes")
    (folder / "people.csv").write_text("id,name,age\n1,Ada,36\n2,Bob,41\n")
    (folder / "knows.csv").write_text("source,target\n1,2\n2,3\n")
    (folder / "semicolons.csv").write_text("id;name;age\n1;Ada;36\n")
    with gdb.connect(folder / "social.gdb") as db:
        db.execute(
            "CREATE (:Person {name: 'Ada', age: 36})-[:KNOWS {since: 2001}]->"
            "(:Person {name: 'Bob', age: 41}), (:City {name: 'Izmir'})"
        )
    return folder


@pytest.fixture
def folder(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    copy = tmp_path / "here"
    shutil.copytree(made, copy)
    monkeypatch.chdir(copy)
    return copy


@pytest.fixture
def db(folder: Path) -> Iterator[gdb.Database]:
    shutil.copytree(folder / "social.gdb", folder / "copy.gdb")
    with gdb.connect(folder / "copy.gdb") as db:
        yield db


def of(where: str) -> pytest.MarkDecorator:
    found = [mistake for mistake in MISTAKES if mistake.where == where]
    return pytest.mark.parametrize("mistake", found, ids=lambda mistake: mistake.written[:60])


def fits(told: str, shown: str) -> bool:
    parts = [re.escape(part) for part in told.strip().split("...")]
    return re.fullmatch(".*".join(parts), shown.strip(), re.DOTALL) is not None


def first_line(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".partition("\n")[0]


@of("cypher")
def test_a_query(mistake: Mistake, db: gdb.Database) -> None:
    if mistake.told.startswith("warning: "):
        with pytest.warns(gdb.QueryWarning):
            found = db.execute(mistake.written).warnings
        assert [f"warning: {text}" for text in found] == [mistake.told.strip()]
        return
    with pytest.raises(GdbError) as raised:
        db.execute(mistake.written)
    assert fits(mistake.told, first_line(raised.value))
    assert raised.value.line == 1
    assert raised.value.column
    assert raised.value.hint
    assert "^" in str(raised.value)  # the place is underlined


@of("python")
def test_a_call(mistake: Mistake, db: gdb.Database) -> None:
    with pytest.raises((GdbError, AttributeError)) as raised:
        eval(mistake.written, {"gdb": gdb, "db": db})
    assert fits(mistake.told, first_line(raised.value))
    if isinstance(raised.value, QueryError) and "line 1" in mistake.told:
        assert raised.value.column


@of("gdbsh")
def test_a_command(mistake: Mistake, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            code = main.main(shlex.split(mistake.written))
        except SystemExit as ended:  # of argparse
            code = ended.code  # type: ignore[assignment]
    assert code in (main.FAILED, main.USAGE)
    shown = capsys.readouterr().err
    assert fits(mistake.told, shown if "..." in mistake.told else shown.partition("\n")[0])
    assert not re.search(r"\b\w+=(\"|\.\.\.|$)|parameters=|Traceback", shown)  # words of Python


def test_there_are_enough_of_each() -> None:
    counts = [
        len([one for one in MISTAKES if one.where == where])
        for where in ("cypher", "python", "gdbsh")
    ]
    assert min(counts) >= 10
    assert sum(counts) >= 60
    assert len({one.written for one in MISTAKES}) == len(MISTAKES)
