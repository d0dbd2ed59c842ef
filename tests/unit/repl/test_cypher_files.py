"""`gdbsh load STORE script.cypher`: all statements, or none."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

import gdb
from gdb.repl.main import main

SCRIPT = """\
// people
CREATE (:Person {id: 1, name: 'Ada; or so'}), (:Person {id: 2});
MATCH (a:Person {id: 1}), (b:Person {id: 2})
  CREATE (a)-[:KNOWS {since: 1843}]->(b);
CREATE (:City)
"""


def count(store: Path) -> tuple[object, ...]:
    with gdb.connect(store, create=False) as db:
        return (db.stats().vertices, db.stats().edges)


@pytest.mark.parametrize("packed", [False, True])
def test_a_script_is_one_command(
    packed: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, store = tmp_path / "a.cypher", tmp_path / "s.gdb"
    file.write_bytes(gzip.compress(SCRIPT.encode()) if packed else SCRIPT.encode())
    assert main(["load", str(store), str(file)]) == 0
    told = capsys.readouterr().out
    assert "3 statements (Cypher)" in told
    assert "added 3 nodes and 1 relationships" in told
    assert count(store) == (3, 1)


def test_several_scripts_are_one_transaction(tmp_path: Path) -> None:
    first, second, store = tmp_path / "a", tmp_path / "b", tmp_path / "s.gdb"
    first.write_text("CREATE (:A);\n", encoding="utf-8")
    second.write_text("MATCH (a:A) CREATE (a)-[:T]->(:B);\n", encoding="utf-8")
    assert main(["load", str(store), str(first), str(second)]) == 0
    assert count(store) == (2, 1)


@pytest.mark.parametrize(
    ("last", "said"),
    [
        ("CREATE (:B;\n", "in the statement at line 6"),
        ("CREATE (:B);\n.stats\n", "holds statements alone"),
        ("COPY (:P) FROM 'x';\n", "cannot be part of a transaction"),
        ("CREATE (:B {x: $y});\n", "parameter"),
    ],
)
def test_one_that_fails_leaves_nothing(
    last: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, store = tmp_path / "a.cypher", tmp_path / "s.gdb"
    file.write_text(f"{SCRIPT.rstrip()};\n{last}", encoding="utf-8")
    assert main(["load", str(store), str(file)]) == 1
    err = capsys.readouterr().err
    assert said in err
    assert "nothing was stored" in err
    assert not store.exists()


def test_a_store_that_was_there_keeps_what_it_held(tmp_path: Path) -> None:
    file, store = tmp_path / "a.cypher", tmp_path / "s.gdb"
    file.write_text("CREATE (:A);\nCREATE (:B;\n", encoding="utf-8")
    with gdb.connect(store) as db:
        db.execute("CREATE (:C)")
    assert main(["load", str(store), str(file)]) == 1
    assert count(store) == (1, 0)


def test_scripts_and_data_do_not_go_together(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script, data = tmp_path / "a.cypher", tmp_path / "b.txt"
    script.write_text("CREATE (:A);\n", encoding="utf-8")
    data.write_text("1 2\n", encoding="utf-8")
    with pytest.raises(SystemExit):
        main(["load", str(tmp_path / "s.gdb"), str(script), str(data)])
    assert "load scripts by themselves" in capsys.readouterr().err
    assert not (tmp_path / "s.gdb").exists()


def test_under_an_import_root_it_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "a.cypher"
    script.write_text("CREATE (:A);\n", encoding="utf-8")
    words = ["load", str(tmp_path / "s.gdb"), str(script), "--import-root", str(tmp_path)]
    assert main(words) == 1
    assert "statements of Cypher" in capsys.readouterr().err


def test_load_in_the_shell(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "a.cypher"
    file.write_text(SCRIPT, encoding="utf-8")
    assert main(["-c", f".load '{file}'", "-c", "MATCH (a) RETURN count(*) AS n;"]) == 0
    told = capsys.readouterr().out
    assert "3 statements (Cypher)" in told
    assert "3" in told.splitlines()[-1]


def test_load_while_a_transaction_is_open(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "a.cypher"
    file.write_text(SCRIPT, encoding="utf-8")
    assert main(["-c", f"BEGIN;\n.load '{file}'"]) == 1
    assert "End it first: COMMIT or ROLLBACK" in capsys.readouterr().err


def test_a_script_where_the_store_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "a.cypher"
    file.write_text(SCRIPT, encoding="utf-8")
    with pytest.raises(SystemExit):
        main(["load", str(file)])
    assert f"gdbsh load NEW.gdb {file}" in capsys.readouterr().err
    assert main([str(file)]) == 1
    told = capsys.readouterr().err
    assert "is a file, and a store is a folder" in told
    assert f"gdbsh STORE -f {file}" in told
