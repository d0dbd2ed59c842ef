"""`.load` and the options that it shares with `gdbsh load`."""

from __future__ import annotations

import gzip
import inspect
import io
import re
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

import gdb
from gdb.errors import GdbError, ReadOnlyError
from gdb.repl import loading
from gdb.repl.commands import perform
from gdb.repl.session import Session
from gdb.repl.statements import Statement


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Session]:
    monkeypatch.chdir(tmp_path)
    with gdb.connect() as db:
        yield Session(db, io.StringIO(), io.StringIO())


def said(session: Session, text: str) -> str:
    perform(session, Statement(text, 1))
    assert isinstance(session.out, io.StringIO)
    return session.out.getvalue()


def found(session: Session, query: str) -> Sequence[tuple[object, ...]]:
    return session.db.execute(query).fetchall()


EDGES = "MATCH (a)-[r]->(b) RETURN id(a) AS a, type(r) AS t, id(b) AS b ORDER BY a, b"


def write(name: str, text: str) -> None:
    Path(name).write_text(text, encoding="utf-8")


def test_load_adds_to_the_open_store_and_reports(session: Session) -> None:
    write("edges.txt", "1 2\n2 3\n")
    assert "added 3 nodes and 2 relationships" in said(session, ".load edges.txt --type TO")
    assert found(session, EDGES) == [(1, "TO", 2), (2, "TO", 3)]


def test_a_name_with_blanks_stands_in_quotes(session: Session) -> None:
    write("my edges.txt", "1 2\n")
    said(session, ".load --type TO 'my edges.txt'")
    assert found(session, EDGES) == [(1, "TO", 2)]


def test_a_tilde_is_the_home(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    write("edges.csv", ":START_ID,:END_ID\n1,2\n")
    said(session, ".load --edges TO=~/edges.csv")
    assert found(session, EDGES) == [(1, "TO", 2)]


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("1;2\n", "--delimiter ';' --columns :START_ID,:END_ID"),
        ("1\t2\n", "--delimiter tab --columns :START_ID,:END_ID --no-header"),
        ("9,9\n1,2\n", "--columns :START_ID,:END_ID --header"),
        (":END_ID,:START_ID\n2,1\n", "--format csv"),
        ("1,2\nx\n", "--columns :START_ID,:END_ID --on-error skip"),
        ("1,2\n1,1\n1,2\n", "--columns :START_ID,:END_ID --self-loops drop --multi-edges drop"),
    ],
)
def test_options_say_how_a_file_is_written(session: Session, text: str, options: str) -> None:
    write("edges.csv", text)
    said(session, f".load --edges edges.csv --type TO {options}")
    assert [(int(str(a)), t, int(str(b))) for a, t, b in found(session, EDGES)] == [(1, "TO", 2)]


def test_ends_name_the_id_spaces(session: Session) -> None:
    write("people.csv", ":ID,name\n1,Ada\n")
    write("cities.csv", ":ID,name\n1,Paris\n")
    write("lives.csv", ":START_ID,:END_ID\n1,1\n")
    files = "--nodes Person=people.csv --nodes City=cities.csv --edges LIVES_IN=lives.csv"
    said(session, f".load {files} --ends Person City")
    query = "MATCH (a:Person)-[:LIVES_IN]->(b:City) RETURN a.name, b.name"
    assert found(session, query) == [("Ada", "Paris")]


def test_one_id_space_for_all_files(session: Session) -> None:
    write("people.csv", ":ID,name\n1,Ada\n")
    said(session, ".load --nodes people.csv --label Person --id-space humans")
    ((node,),) = found(session, "MATCH (a:Person) RETURN a")
    assert isinstance(node, gdb.Node)
    assert node.id_space == "humans"


def test_missing_ends_can_be_refused(session: Session) -> None:
    write("edges.csv", ":START_ID,:END_ID\n1,2\n")
    with pytest.raises(GdbError):
        said(session, ".load --edges edges.csv --missing-ends refuse")
    assert session.db.stats().vertices == 0


@pytest.mark.parametrize(
    ("argument", "told"),
    [
        ("", "give a FILE"),
        ("nothing.csv", "nothing.csv: does not exist"),
        ("'nothing.csv", "no closing quotation"),
        ("edges.txt --tpye TO", "unrecognized arguments: --tpye"),
        ("edges.txt --on-error never", "invalid choice: 'never'"),
        ("edges.txt --max-errors many", "invalid int"),
        ("--nodes A=a.csv --nodes b.csv", "b.csv has no name"),
    ],
)
def test_what_is_wrong_is_an_error_of_the_statement(
    session: Session, argument: str, told: str
) -> None:
    write("edges.txt", "1 2\n")
    with pytest.raises(GdbError, match=re.escape(told)):
        said(session, f".load {argument}".strip())
    assert session.db.stats().vertices == 0


def test_a_store_that_is_only_read_is_not_loaded_into(tmp_path: Path) -> None:
    with gdb.connect(tmp_path / "g.gdb"):
        pass
    (tmp_path / "edges.txt").write_text("1 2\n", encoding="utf-8")
    with gdb.connect(tmp_path / "g.gdb", read_only=True) as db:
        session = Session(db, io.StringIO(), io.StringIO())
        with pytest.raises(ReadOnlyError):
            said(session, f".load {tmp_path / 'edges.txt'}")


def test_the_help_lists_every_option(session: Session) -> None:
    shown = said(session, ".load --help")
    assert all(name in shown for name in loading.option_names())


def test_every_parameter_of_load_has_its_option() -> None:
    expected = {
        f"--{'undirected' if name == 'directed' else name.replace('_', '-')}"
        for name in inspect.signature(gdb.Database.load).parameters
        if name not in ("self", "source", "cancel", "progress")
    }
    assert expected | {"--no-header", "--no-packed"} == set(loading.option_names())


def test_every_option_is_documented(repository: Path) -> None:
    text = (repository / "docs" / "SHELL.md").read_text(encoding="utf-8")
    assert [name for name in loading.option_names() if f"`{name}" not in text] == []


def test_skipped_lines_go_to_a_file_and_are_told_once(session: Session, tmp_path: Path) -> None:
    write("edges.txt", "1 2\nx\n")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        text = said(session, ".load edges.txt --format snap --on-error skip --rejects-file bad.csv")
    assert "1 of 2 lines (50.0 %) were skipped" in text
    assert Path("bad.csv").read_text(encoding="utf-8").splitlines()[1].startswith("edges.txt,2,,")


def test_the_limit_of_compressed_files(session: Session) -> None:
    Path("edges.txt.gz").write_bytes(gzip.compress(b"1 2\n" + b"\n" * (6 << 20)))
    with pytest.raises(GdbError, match="unpacks to more than"):
        said(session, ".load edges.txt.gz --max-unpacked 1MB")
    assert "added 2 nodes" in said(session, ".load edges.txt.gz --max-unpacked 1GB")
