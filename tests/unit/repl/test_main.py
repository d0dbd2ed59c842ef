"""The command as a user runs it: arguments, standard input, exit codes."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

import gdb
from gdb.repl import folders, shell
from gdb.repl.main import main


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shell")
    edges = folder / "edges.txt"
    edges.write_text("1 2\n2 3\n3 1\n", encoding="utf-8")
    with gdb.connect(folder / "triangle.gdb") as db:
        db.load(edges, type="TO")
    return folder / "triangle.gdb"


def gdbsh(
    repository: Path, *words: str | Path, given: str | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "gdb", *map(str, words)],
        cwd=repository,
        input=given,
        stdin=subprocess.DEVNULL if given is None else None,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
    )


def test_c_runs_statements(repository: Path, store: Path) -> None:
    text = (
        ".mode json; MATCH (a)-->(b) RETURN count(*) AS n; MATCH (a) RETURN id(a) AS i ORDER BY i"
    )
    ran = gdbsh(repository, store, "-c", text)
    assert (ran.returncode, ran.stderr) == (0, "")
    first, *others = ran.stdout.splitlines()
    assert json.loads(first) == [{"n": 3}]
    assert [row["i"] for row in json.loads("".join(others))] == [1, 2, 3]


def test_an_error_is_underlined_and_ends_the_run(repository: Path, store: Path) -> None:
    text = "MATCH (a) RETURN count(*);\nMATCH (a) RETRUN a; MATCH (a) RETURN 77"
    ran = gdbsh(repository, store, "-c", text)
    assert ran.returncode == 1
    assert "MATCH (a) RETRUN a\n            ^^^^^^" in ran.stderr
    assert "line 2" in ran.stderr
    assert "77" not in ran.stdout
    assert ran.stdout.split()[-1] == "3"


def test_statements_from_standard_input(repository: Path, store: Path) -> None:
    given = "MATCH (a)-->(b)-->(c)-->(a)\nRETURN count(*) AS n;\n.schema\n"
    ran = gdbsh(repository, store, "--format", "csv", given=given)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.startswith("n\n3\n")
    assert "-[:TO]->" in ran.stdout


def test_without_a_store_the_graph_is_in_memory(repository: Path) -> None:
    ran = gdbsh(repository, given="CREATE (:A)-[:R]->(:B);\nMATCH p=()-->() RETURN p;\n")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.splitlines()[-1] == "(0:A)-[:R]->(1:B)"


def test_prompt_toolkit_is_only_for_people(repository: Path, store: Path) -> None:
    code = (
        "import sys; from gdb.repl.main import main; main(sys.argv[1:]);"
        "sys.exit('prompt_toolkit' in sys.modules)"
    )
    words = [sys.executable, "-c", code, str(store), "-c", ".schema"]
    assert subprocess.run(words, cwd=repository, capture_output=True).returncode == 0


def test_a_reader_that_has_enough_ends_it_silently(repository: Path, store: Path) -> None:
    program = subprocess.Popen(
        [sys.executable, "-m", "gdb", str(store)],
        cwd=repository,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert program.stdin is not None
    assert program.stdout is not None
    assert program.stderr is not None
    program.stdin.write(b"MATCH (a)-->(b)-->(c) RETURN a;" * 3000)
    program.stdin.close()
    program.stdout.readline()
    program.stdout.close()
    assert program.wait(60) == 0
    assert program.stderr.read() == b""
    program.stderr.close()


def test_ctrl_c_ends_a_run_with_130(repository: Path, tmp_path: Path) -> None:
    edges = tmp_path / "edges.txt"
    edges.write_text(
        "".join(f"{a} {b}\n" for a in range(150) for b in range(150) if a != b), encoding="utf-8"
    )
    with gdb.connect(tmp_path / "dense.gdb") as db:
        db.load(edges, type="TO")
    pattern = "-->".join(f"(n{number})" for number in range(9)) + "-->(n0)"
    query = f"MATCH {pattern}, (n0)-->(n4), (n2)-->(n6) RETURN count(*)"
    program = subprocess.Popen(
        [sys.executable, "-m", "gdb", str(tmp_path / "dense.gdb"), "-c", query],
        cwd=repository,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    time.sleep(3)
    assert program.poll() is None, "the query should still be running"
    program.send_signal(signal.SIGINT)
    out, err = program.communicate(timeout=60)
    assert (program.returncode, out, err) == (130, "", "cancelled\n")


def test_a_missing_store_is_not_made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "none.gdb"
    assert main([str(path), "-c", ".schema"]) == 1
    told = capsys.readouterr().err
    assert f"gdbsh create {path}" in told
    assert f"gdbsh load {path}" in told
    assert not path.exists()
    (tmp_path / "empty").mkdir()
    assert main([str(tmp_path / "empty"), "-c", ".schema"]) == 1
    assert "gdbsh create" in capsys.readouterr().err


def test_a_graph_in_memory_has_no_name(capsys: pytest.CaptureFixture[str]) -> None:
    """As SQLite and DuckDB call one."""
    assert main([":memory:", "-c", "RETURN 1"]) == 1
    assert capsys.readouterr().err == (
        "error: ':memory:' is not the name of a folder. Give a path, or leave it out for a graph in memory.\n"
    )


def test_create_makes_an_empty_store(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "my new.gdb"
    assert main(["create", str(path)]) == 0
    assert f"gdbsh '{path}'" in capsys.readouterr().out
    assert main([str(path), "-c", "CREATE (:A)-[:R]->(:B); MATCH (a) RETURN count(*)"]) == 0
    assert capsys.readouterr().out.split()[-1] == "2"
    assert main(["create", str(path)]) == 1, "it is there"
    assert "gdbsh" in capsys.readouterr().err
    with gdb.connect(path) as db:
        assert db.stats().vertices == 2
    (tmp_path / "empty").mkdir()
    assert main(["create", str(tmp_path / "empty")]) == 0


def test_create_writes_over_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("mine", encoding="utf-8")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "file").write_text("mine", encoding="utf-8")
    for name in ("file", "folder"):
        assert main(["create", str(tmp_path / name)]) == 1
        assert "there is something" in capsys.readouterr().err
    assert [*(tmp_path / "folder").iterdir()] == [tmp_path / "folder" / "file"]


def test_a_mistyped_use_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["laod", str(tmp_path / "g.gdb"), "a.csv"])
    assert left.value.code == 2
    assert "Did you mean gdbsh load?" in capsys.readouterr().err


def test_import_root(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "in").mkdir()
    for name in ("in/a.csv", "out.csv"):
        (tmp_path / name).write_text("id\n1\n", encoding="utf-8")
    store, root = str(tmp_path / "g.gdb"), ["--import-root", str(tmp_path / "in")]
    inside, outside = str(tmp_path / "in" / "a.csv"), str(tmp_path / "out.csv")
    assert main(["load", store, "--nodes", f"A={inside}", *root]) == 0
    assert main(["load", store, "--nodes", f"B={outside}", *root]) == 1
    assert "outside of the import root" in capsys.readouterr().err
    for name, code in (("a.csv", 0), (inside, 0), (outside, 1)):
        assert main([store, *root, "-c", f"LOAD CSV FROM '{name}' AS line RETURN line"]) == code
    assert main([store, *root, "-c", f".load --nodes A={outside}"]) == 1
    assert main([store, "--import-root", str(tmp_path / "none")]) == 1


def test_a_read_only_store_says_how_to_write(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for text in ("CREATE (:A)", ".load a.csv"):
        assert main([str(store), "--read-only", "-c", text]) == 1
        told = capsys.readouterr().err
        assert f"the store {store} was opened read-only" in told
        assert "--read-only" in told


def test_a_locked_store_names_the_process(tmp_path: Path, repository: Path) -> None:
    store = tmp_path / "g.gdb"
    with gdb.connect(store) as db, db.transaction() as tx:
        tx.add_nodes("Locked", [999])
        ran = gdbsh(repository, store, "-c", "CREATE (:A)")
        assert ran.returncode == 1
        assert f"rocess {os.getpid()} is writing" in ran.stderr
        assert gdbsh(repository, store, "-c", "MATCH (a) RETURN count(*)").returncode == 0


def test_load_and_check(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    edges = tmp_path / "edges.txt"
    edges.write_text("1 2\n2 1\n3 3\n", encoding="utf-8")
    words = ["load", str(tmp_path / "g.gdb"), str(edges), "--type", "TO", "--undirected"]
    assert main([*words, "--multi-edges", "drop", "--self-loops", "drop"]) == 0
    assert "added 3 nodes and 1 relationships" in capsys.readouterr().out
    assert main(["check", str(tmp_path / "g.gdb")]) == 0
    said = capsys.readouterr().out
    assert [line.split() for line in said.splitlines() if line.startswith("checksums")] == [
        ["checksums", "files", "1", "ok"]
    ]
    assert "there are none" in said
    assert "invariants hold in 2 files" in said


def test_check_tells_all_faults_and_strays(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = tmp_path / "g.gdb"
    with gdb.connect(store) as db:
        db.execute("CREATE (:A {x: 1})-[:T]->(:B {y: 2})")
        db.compact()
    with gdb.connect(store) as db:
        db.execute("CREATE (:C)")
    (store / "scratch-0123456789abcdef.tmp").touch()
    assert main(["check", str(store)]) == 0
    said = capsys.readouterr().out
    assert "note: 1 file of no commit" in said
    assert "  scratch-0123456789abcdef.tmp" in said
    (segment,) = store.glob("seg-*")
    segment.write_bytes(segment.read_bytes()[:-1])
    assert main(["check", str(store)]) == 1  # also where no query could be answered
    said = capsys.readouterr().out
    assert f"fault: checksums: {segment.name} has " in said
    assert "could not be read" in said
    (store / "MANIFEST").write_bytes(b"gdb.man\n" * 9)
    assert main(["check", str(store)]) == 1
    assert "fault: manifest seal: MANIFEST does not hold" in capsys.readouterr().out
    assert main(["check", str(tmp_path / "none")]) == 1
    assert "does not exist" in capsys.readouterr().err


def test_load_named_csv_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    people, knows = tmp_path / "people.csv", tmp_path / "knows.csv"
    people.write_text(":ID,name\n1,Ada\n2,Bob\n", encoding="utf-8")
    knows.write_text(":START_ID,:END_ID\n1,2\n", encoding="utf-8")
    named = ["--nodes", f"Person={people}", "--edges", f"KNOWS={knows}"]
    assert main(["load", str(tmp_path / "g.gdb"), *named]) == 0
    query = "MATCH (a:Person)-[r:KNOWS]->(b) RETURN a, r"
    assert main([str(tmp_path / "g.gdb"), "--read-only", "-c", query]) == 0
    assert "(1:Person {name: 'Ada'})  (1)-[:KNOWS]->(2)" in capsys.readouterr().out


def test_load_takes_files_behind_options(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.txt").write_text("1 2\n", encoding="utf-8")
    (tmp_path / "b.txt").write_text("1 3\n", encoding="utf-8")
    words = [str(tmp_path / "g.gdb"), str(tmp_path / "a.txt"), "--type", "TO"]
    assert main(["load", *words, str(tmp_path / "b.txt")]) == 0
    assert "added 3 nodes and 2 relationships" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "give a FILE"),
        (["--edges", "A=a.csv", "--edges", "b.csv"], "b.csv has no name"),
        (["a.csv", "--multi-edges", "some"], "invalid choice"),
    ],
)
def test_a_wrong_use_of_load_makes_no_store(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], told: str
) -> None:
    with pytest.raises(SystemExit) as left:
        main(["load", str(tmp_path / "g.gdb"), *words])
    assert left.value.code == 2
    assert told in capsys.readouterr().err
    assert not (tmp_path / "g.gdb").exists()


def test_jsonl_on_the_command_line(repository: Path, store: Path) -> None:
    query = "MATCH (a)-[r]->(b) RETURN id(a) AS a, r ORDER BY a"
    ran = gdbsh(repository, store, "--format", "jsonl", "-c", query)
    rows = [json.loads(line) for line in ran.stdout.splitlines()]
    assert [row["a"] for row in rows] == [1, 2, 3]
    assert rows[0]["r"] == {"type": "TO", "start": 1, "end": 2, "properties": {}}


def test_the_history_is_private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    shell._history()
    file = folders.history_file()
    assert file.is_relative_to(tmp_path)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


def test_a_history_that_cannot_be_kept_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "state").write_text("a file", encoding="utf-8")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    shell._history()
    assert os.path.isfile(tmp_path / "state")


def test_highlighting_keeps_the_text() -> None:
    text = "MATCH (a:Person)-->(b) // note\nWHERE a.name = 'x\\'y' RETURN `q`, 1.5"
    pieces = shell.styled(text)
    assert "".join(piece for _, piece in pieces) == text
    assert ("class:keyword", "MATCH") in pieces
    assert ("class:name", "Person") in pieces
    assert ("class:string", "'x\\'y'") in pieces


def test_compact(store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own = tmp_path / "own.gdb"
    shutil.copytree(store, own)
    with gdb.connect(own) as db, db.transaction() as tx:
        tx.add_nodes("New", [77])
    assert main(["compact", str(own)]) == 0
    assert "1 changes" in capsys.readouterr().out
    with gdb.connect(own) as db:
        assert db.stats().changes == 0
        assert db.execute("MATCH (n:New) RETURN id(n)").scalar() == 77
    assert main(["compact", str(tmp_path / "none")]) == 1


def test_compact_and_load_pack(
    store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = tmp_path / "own.gdb"
    shutil.copytree(store, own)
    for words, packed in (
        ([], False),
        (["--packed", "--memory", "64MB"], True),
        ([], True),
        (["--no-packed"], False),
    ):
        assert main(["compact", str(own), *words]) == 0
        with gdb.connect(own) as db:
            assert db.stats().packed == packed
    assert main(["compact", str(own), "--memory", "much"]) == 1
    (edges := tmp_path / "edges.txt").write_text("1 2\n2 3\n")
    assert main(["load", str(tmp_path / "new.gdb"), str(edges), "--packed"]) == 0
    with gdb.connect(tmp_path / "new.gdb") as db:
        assert db.stats().packed
        assert db.execute("MATCH ()-->() RETURN count(*)").scalar() == 2


def test_backup(store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    copy = tmp_path / "copy.gdb"
    assert main(["backup", str(store), str(copy)]) == 0
    assert str(copy) in capsys.readouterr().out
    assert main(["check", str(copy)]) == 0
    assert main(["backup", str(store), str(copy)]) == 1
    assert "Name a new folder" in capsys.readouterr().err


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_export_and_load(
    store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], format: str
) -> None:
    out = tmp_path / "out"
    assert main(["export", str(store), str(out), "--format", format]) == 0
    assert capsys.readouterr().out == f"{out}: 3 nodes and 3 relationships\n"
    assert main(["load", str(tmp_path / "g.gdb"), str(out)]) == 0
    assert "added 3 nodes and 3 relationships" in capsys.readouterr().out


def test_an_error_in_a_script_tells_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    created = "".join(f"CREATE (:P {{id: {k}}});\n" for k in range(5))
    assert main(["-c", f"{created}MATCH (p:P)\nSET p.x =\n  1 / 0;\nRETURN 1;"]) == 1
    said = capsys.readouterr().err
    assert "line 3, column 3" in said
    assert "(in the statement at line 6, the error at line 8; stopped there)" in said
    graph = ",\n".join(f"(p{k}:P {{id: {k}}})" for k in range(50))
    assert main(["-c", f"RETURN 1;\nCREATE {graph},\n(p7:Q);"]) == 1
    assert (
        "(in the statement at line 2, the error at line 52; stopped there)"
        in capsys.readouterr().err
    )


@pytest.mark.skipif(os.name != "posix", reason="the shell that closes streams")
@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-"])
def test_a_standard_stream_that_is_closed(closed: str) -> None:
    command = (
        f"exec {shlex.quote(sys.executable)} -m gdb --no-rc --mode csv -c 'RETURN 1 AS x' {closed}"
    )
    found = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=60)
    assert (found.returncode, found.stderr) == (0, "")
    assert found.stdout == ("" if closed == ">&-" else "x\n1\n")
