"""The registry of dot-commands is complete and documented."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import pytest

import gdb
from gdb.api.database import Database
from gdb.errors import CorruptStore, Fault, GdbError, NameProblem
from gdb.repl.commands import COMMANDS, names, perform
from gdb.repl.format import Format
from gdb.repl.session import Session
from gdb.repl.statements import Statement


@pytest.fixture
def session() -> Iterator[Session]:
    with gdb.connect() as db:
        yield Session(db, io.StringIO(), io.StringIO())


def said(session: Session, text: str) -> str:
    perform(session, Statement(text, 1))
    assert isinstance(session.out, io.StringIO)
    return session.out.getvalue()


@pytest.mark.parametrize("name", sorted(names()))
def test_every_command_is_documented(name: str, repository: Path) -> None:
    found = names()[name]
    assert found.help.endswith(".")
    text = (repository / "docs" / "SHELL.md").read_text(encoding="utf-8")
    for choice in found.choices:
        assert f"`{name} {choice}`" in text
    assert f"`{name}" in text


def test_help_lists_every_command(session: Session) -> None:
    shown = said(session, ".help")
    assert all(held.help in shown for held in COMMANDS.values())


def test_check(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "invariants hold in 1 file" in said(session, ".check")
    fault = Fault("texts", "seg-x", "holds strings that are not UTF-8")

    def damaged(_: Database) -> None:
        raise CorruptStore("it is damaged.", "", (fault,))

    monkeypatch.setattr(Database, "check", damaged)
    with pytest.raises(CorruptStore):
        said(session, ".check")
    assert isinstance(session.out, io.StringIO)
    assert "fault: texts: seg-x holds strings" in session.out.getvalue()


def test_schema_and_stats_of_an_empty_graph(session: Session) -> None:
    assert "empty" in said(session, ".schema")
    assert "0 nodes" in said(session, ".stats")


def test_mode_and_timer(session: Session) -> None:
    said(session, ".mode json")
    assert session.format is Format.JSON
    assert said(session, "MATCH (a) RETURN count(*) AS n") == '[{"n": 0}]\n'
    said(session, ".timer on")
    said(session, "MATCH (a) RETURN count(*) AS n")
    assert isinstance(session.err, io.StringIO)
    assert "time: " in session.err.getvalue()


@pytest.mark.parametrize("name", [".exit", ".quit", "exit", "QUIT", ":exit", ".EXIT"])
def test_leaving(session: Session, name: str) -> None:
    said(session, name)
    assert session.leaving


@pytest.mark.parametrize(
    ("text", "cure"),
    [
        (".shcema", ".schema"),
        (":param x", ".param x 1"),
        (":shcema", ".schema"),
        (".zzzzz", ".help"),
        (".mode xml", "csv"),
        (".exit now", ".exit"),
    ],
)
def test_wrong_commands_say_what_is_right(session: Session, text: str, cure: str) -> None:
    with pytest.raises(NameProblem) as raised:
        said(session, text)
    assert cure in raised.value.cure


def test_the_last_answer_is_drawn(session: Session, tmp_path: Path) -> None:
    session.db.execute("CREATE (:P {name: 'Ada'})-[:R]->(:P {name: 'Bob'})")
    said(session, "MATCH (a)-[r]->(b) RETURN a, r, b")
    assert "2 nodes and 1 relationship" in said(session, f".draw {tmp_path / 'a.svg'}")
    assert "Ada" in (tmp_path / "a.svg").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("query", "draw", "cure"),
    [
        (None, ".draw a.svg", "Run a query first"),
        ("CREATE (:P)", ".draw a.svg", "Run a query first"),
        ("RETURN 1", ".draw", ".draw answer.svg"),
        ("RETURN 1", ".draw a.png", ".svg or .html"),
        ("RETURN 1", ".draw a.svg", "Return them"),
    ],
)
def test_what_cannot_be_drawn_says_why(
    session: Session, query: str | None, draw: str, cure: str
) -> None:
    if query is not None:
        said(session, query)
    with pytest.raises(GdbError) as raised:
        said(session, draw)
    assert cure in raised.value.cure
    assert session.db.execute("MATCH (n) RETURN count(*)").scalar(int) <= 1


def test_warnings_go_to_err(session: Session, tmp_path: Path) -> None:
    (tmp_path / "edges.txt").write_text("1 2\n", encoding="utf-8")
    session.db.load(tmp_path / "edges.txt", type="TO")
    said(session, "MATCH (a) WHERE a.x = 1 RETURN count(*)")
    assert isinstance(session.err, io.StringIO)
    assert "warning: " in session.err.getvalue()
