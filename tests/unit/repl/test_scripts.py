"""Options, parameters, files, transactions and saved queries, through the command itself."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from gdb.repl.main import main

MADE = "CREATE (:P {name: 'Ada', born: date('1815-12-10')});"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


@pytest.fixture
def store(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    path = str(tmp_path / "new.gdb")
    assert main(["create", path]) == 0
    capsys.readouterr()
    return path


def said(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> tuple[str, str]:
    """What goes to standard output and to standard error."""
    assert main(words) == code
    held = capsys.readouterr()
    return held.out, held.err


# ---- modes ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mode", "shown"),
    [
        ("box", "┌───┬─────┐\n│ a │ b   │\n├───┼─────┤\n│ 1 │ x|y │\n└───┴─────┘\n"),
        ("markdown", "|   a | b    |\n| --: | ---- |\n|   1 | x\\|y |\n"),
        ("line", "a = 1\nb = x|y\n"),
        (
            "html",
            "<table>\n<tr><th>a</th><th>b</th></tr>\n<tr><td>1</td><td>x|y</td></tr>\n</table>\n",
        ),
        ("insert", "CREATE (:Row {a: 1, b: 'x|y'});\n"),
    ],
)
def test_modes(capsys: pytest.CaptureFixture[str], mode: str, shown: str) -> None:
    assert said(capsys, "--mode", mode, "-c", "RETURN 1 AS a, 'x|y' AS b") == (shown, "")
    assert said(capsys, "-c", f".mode {mode}; RETURN 1 AS a, 'x|y' AS b") == (shown, "")


def test_html_is_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    shown, _ = said(capsys, "--mode", "html", "-c", "RETURN '<script>' AS `<b>`")
    assert "<script>" not in shown
    assert "<th>&lt;b&gt;</th>" in shown


def test_what_insert_writes_makes_the_same_again(
    capsys: pytest.CaptureFixture[str], store: str
) -> None:
    values = (
        "date('2020-01-31') AS d, localdatetime('2020-01-31T10:00:00') AS l, duration('P1Y2DT3S') AS u,"
        " datetime('2020-01-31T10:00:00Z') AS z, time('10:00:00+01:00') AS t, localtime('10:00:00') AS c,"
        " 'it\\'s' AS s, [1, 2] AS i, 0.5 AS `f g`, null AS n"
    )
    written, _ = said(capsys, "--mode", "insert", "-c", f"RETURN {values}")
    asked = "MATCH (r:Row) RETURN " + ", ".join(
        f"r.{k} AS {k}" for k in [*"dluztcsi", "`f g`", "n"]
    )
    again, _ = said(capsys, store, "--mode", "insert", "-c", f"{written}{asked}")
    assert again == written


def test_insert_writes_nodes_but_no_relationship(capsys: pytest.CaptureFixture[str]) -> None:
    shown, _ = said(capsys, "--mode", "insert", "-c", f"{MADE} MATCH (p) RETURN p")
    assert shown == "CREATE (:P {born: date('1815-12-10'), name: 'Ada'});\n"
    _, err = said(capsys, "--mode", "insert", "-c", "CREATE (:A)-[r:R]->(:B) RETURN r", code=1)
    assert "mode json" in err


@pytest.mark.parametrize(
    ("value", "said_of"),
    [
        ("{a: 1}", "a map"),
        ("[1, null]", "a list that holds null"),
        ("[[1], [2]]", "a list that holds a list"),
        ("[{a: 1}]", "a list that holds a map"),
        ("[n]", "a list that holds a node"),
        ("{n: n}", "a map"),
    ],
)
def test_insert_refuses_what_no_property_can_be(
    capsys: pytest.CaptureFixture[str], value: str, said_of: str
) -> None:
    shown, err = said(capsys, "--mode", "insert", "-c", f"CREATE (n:A) RETURN {value} AS x", code=1)
    assert f"column 'x' has {said_of}, which no property can be." in err
    assert "CREATE" not in shown


def test_width_cuts_tables(capsys: pytest.CaptureFixture[str]) -> None:
    for mode in ("table", "box"):
        shown, _ = said(capsys, "--width", "20", "--mode", mode, "-c", f"RETURN '{'x' * 50}' AS a")
        assert max(map(len, shown.splitlines())) == 20
        assert "…" in shown


@pytest.mark.parametrize(
    "words", [["--mode", "xml"], ["--rows", "0"], ["--width", "wide"], ["--param", "x"]]
)
def test_a_wrong_option_is_told(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as raised:
        main(words)
    assert raised.value.code == 2
    assert words[1] in capsys.readouterr().err


@pytest.mark.parametrize("text", [".mode xml", ".rows 0", ".rows -1", ".width x", ".pager maybe"])
def test_a_wrong_setting_is_told(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    _, err = said(capsys, "-c", text, code=1)
    assert "Write one of: " in err


def test_quiet_and_echo(capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, "--quiet", "-c", "CREATE (:A)") == ("", "")
    assert said(capsys, "--quiet", "--echo", "-c", "CREATE (:A)") == ("CREATE (:A);\n", "")


def test_a_setting_says_its_value(capsys: pytest.CaptureFixture[str]) -> None:
    shown, _ = said(capsys, "-c", ".quiet; .rows; .rows all; .rows; .width; .mode")
    assert shown == "quiet off\nrows 40\nrows all\nwidth auto\nmode table\n"


def test_a_plan_is_no_table(capsys: pytest.CaptureFixture[str]) -> None:
    shown, _ = said(capsys, "--width", "20", "-c", "EXPLAIN MATCH (a)-->(b) RETURN a, b")
    assert "----" not in shown
    assert "…" not in shown
    assert "matching order: " in shown


# ---- parameters ----------------------------------------------------------------------------------


def test_parameters(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--mode", "line", "--param", "x=[1, 'a;b']", "--param", "d=date('2020-01-31')"]
    shown, _ = said(capsys, *words, "-c", "RETURN $x AS x, $d AS d")
    assert shown == "x = [1, 'a;b']\nd = 2020-01-31\n"
    shown, _ = said(capsys, *words, "-c", ".param y {k: 1}; .param x; .param; RETURN $y.k AS k")
    assert shown == "$d = date('2020-01-31')\n$y = {k: 1}\nk = 1\n"
    assert said(capsys, "--mode", "line", "-c", ".param z = 5; RETURN $z AS z")[0] == "z = 5\n"


@pytest.mark.parametrize(
    "text", [".param x 1 +", ".param x (", ".param x nothing", ".param 1x 1", ".param gone"]
)
def test_a_bad_parameter_is_told(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    _, err = said(capsys, "-c", text, code=1)
    assert "Write it" in err or "Give it a value" in err


# ---- files ---------------------------------------------------------------------------------------


def test_f_and_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    inner, outer = tmp_path / "in ner.cypher", tmp_path / "outer.cypher"
    inner.write_text(f"{MADE}\nMATCH (p:P) RETURN p.name AS name;\n", encoding="utf-8")
    outer.write_text(f".read '{inner}'\n.mode csv\n", encoding="utf-8")
    words = ["-c", ".mode json", "-f", str(outer), "-c", "MATCH (p) RETURN count(*) AS n"]
    assert said(capsys, *words) == ('[{"name": "Ada"}]\nn\n1\n', "")


def test_an_error_in_a_file_tells_its_place_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    inner, outer = tmp_path / "inner", tmp_path / "outer"
    inner.write_text("RETURN 1;\nRETRUN 2;\n", encoding="utf-8")
    outer.write_text(f".read {inner}\nRETURN 3;\n", encoding="utf-8")
    out, err = said(capsys, "-f", str(outer), "-c", "RETURN 4", code=1)
    assert out.split()[-1] == "1"
    assert err.count("error: ") == 1
    assert f"line 2 of {inner}" in err
    assert f"line 1 of {outer}" in err


def test_files_that_cannot_be_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "odd").write_bytes(b"RETURN '\xff';")
    (tmp_path / "own").write_text(f".read {tmp_path / 'own'}", encoding="utf-8")
    for name, why in (
        ("none", "cannot be read"),
        ("odd", "cannot be read"),
        ("own", "reads itself"),
    ):
        _, err = said(capsys, "-f", str(tmp_path / name), code=1)
        assert why in err
    for text in (".read", ".once", ".once a b", ".read 'a"):
        assert "takes one file" in said(capsys, "-c", text, code=1)[1]


def test_output_and_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    all_of, one = tmp_path / "all.txt", tmp_path / "one.txt"
    text = (
        f".mode csv; .once {one}; RETURN 1 AS a; RETURN 2 AS b; .output {all_of}; RETURN 3 AS c;"
        " RETURN 4 AS d; .output; RETURN 5 AS e"
    )
    assert said(capsys, "-c", text)[0] == "b\n2\ne\n5\n"
    assert one.read_text(encoding="utf-8") == "a\n1\n"
    assert all_of.read_text(encoding="utf-8") == "c\n3\nd\n4\n"
    _, err = said(capsys, "-c", f".output {tmp_path / 'no' / 'x'}", code=1)
    assert "cannot be written" in err


def test_once_within_output(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What follows goes on in the file of `.output`."""
    all_of, one, two = (tmp_path / name for name in ("all.txt", "one.txt", "two.txt"))
    text = (
        f".mode csv; .output {all_of}; RETURN 1 AS a; .once {one}; RETURN 2 AS b; RETURN 3 AS c;"
        f" .once {one}; .once {two}; RETURN x; RETURN 4 AS d; .output; RETURN 5 AS e"
    )
    found, _ = said(capsys, "-c", text.split(" RETURN x;")[0])
    assert found == ""
    assert all_of.read_text(encoding="utf-8") == "a\n1\nc\n3\n"
    assert one.read_text(encoding="utf-8") == ""
    found, _ = said(capsys, "-c", text.replace(" RETURN x;", " RETURN 7 AS x;"))
    assert found == "e\n5\n"
    assert two.read_text(encoding="utf-8") == "x\n7\n"
    assert all_of.read_text(encoding="utf-8") == "a\n1\nc\n3\nd\n4\n"


# ---- transactions --------------------------------------------------------------------------------


def test_a_transaction_is_kept_or_dropped(capsys: pytest.CaptureFixture[str], store: str) -> None:
    count = "MATCH (a) RETURN count(*) AS n"
    text = f"BEGIN; CREATE (:A); CREATE (:A); {count}; ROLLBACK; {count}; begin; CREATE (:A); :commit; {count}"
    assert said(capsys, store, "--quiet", "--mode", "csv", "-c", text) == (
        "n\n2\nn\n0\nn\n1\n",
        "",
    )
    assert said(capsys, store, "--mode", "csv", "-c", count)[0] == "n\n1\n"


def test_an_open_transaction_is_rolled_back(capsys: pytest.CaptureFixture[str], store: str) -> None:
    _, err = said(capsys, store, "-c", "BEGIN; CREATE (:A)", code=1)
    assert "rolled back" in err
    _, err = said(capsys, store, "-c", "BEGIN; CREATE (:A); RETRUN 1; COMMIT", code=1)
    assert "rolled back" in err
    assert (
        said(capsys, store, "--mode", "csv", "-c", "MATCH (a) RETURN count(*) AS n")[0] == "n\n0\n"
    )


@pytest.mark.parametrize("text", ["COMMIT", "ROLLBACK", "BEGIN; BEGIN", "BEGIN; COMMIT; COMMIT"])
def test_a_transaction_that_is_not_there(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    _, err = said(capsys, "-c", text, code=1)
    assert "transaction" in err


# ---- saved queries -------------------------------------------------------------------------------


def test_saved_queries(capsys: pytest.CaptureFixture[str]) -> None:
    shown, _ = said(capsys, "--mode", "csv", "-c", "RETURN 'a;b' AS x; .save first-one; .queries")
    assert shown.endswith("first-one: RETURN 'a;b' AS x;\n")
    assert said(capsys, "--mode", "csv", "-c", ".run first-one")[0] == "x\na;b\n"
    _, err = said(capsys, "-c", ".run first-on", code=1)
    assert "Did you mean first-one?" in err
    assert "no name" in said(capsys, "-c", "RETURN 1; .save ../x", code=1)[1]
    assert "no query to save" in said(capsys, "-c", ".save x", code=1)[1]


def test_edit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", "sed -i s/1/7/")
    assert said(capsys, "--mode", "csv", "-c", "RETURN 1 AS x; .edit")[0] == "x\n1\nx\n7\n"
    monkeypatch.setenv("EDITOR", str(tmp_path / "none"))
    assert "failed" in said(capsys, "-c", "RETURN 1 AS x; .edit", code=1)[1]
    monkeypatch.setenv("EDITOR", "false")
    assert "failed" in said(capsys, "-c", "RETURN 1 AS x; .edit", code=1)[1]
    monkeypatch.delenv("EDITOR")
    assert "needs a terminal" in said(capsys, "-c", "RETURN 1 AS x; .edit", code=1)[1]


# ---- the schema ----------------------------------------------------------------------------------


def test_schema_tells_what_a_type_joins(capsys: pytest.CaptureFixture[str]) -> None:
    text = "CREATE (a:A)-[:R]->(:B), (a)-[:R]->(:B), (a)-[:R]->(); .schema"
    shown = said(capsys, "-c", text)[0].splitlines()
    assert [line.split() for line in shown[-2:]] == [
        ["(:A)-[:R]->()", "1"],
        ["(:A)-[:R]->(:B)", "2"],
    ]


# ---- errors --------------------------------------------------------------------------------------


def test_errors_name_options_and_not_arguments_of_python(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bare, twice = tmp_path / "bare.csv", tmp_path / "twice.csv"
    bare.write_text("1,2\n3,4\n", encoding="utf-8")
    twice.write_text(":ID,n\n1,2\n1,3\n", encoding="utf-8")
    store = str(tmp_path / "s.gdb")
    for words, option in (
        (["load", store, "--edges", f"R={bare}"], "--columns A,B,... (and --no-header)"),
        (["load", store, "--nodes", f"P={twice}"], "--id-space"),
        (["load", store, "--nodes", f"P={twice}"], "--on-duplicate skip or --on-duplicate update"),
        (["load", store, str(bare), "--rejects-file", "bad.csv"], "--on-error skip"),
        (["load", store, "--nodes", f"P={twice}", "--memory", "x"], "--memory x is not a size"),
        (["-c", f".load --edges R={bare}"], "--columns"),
        (
            ["--limit", "MAX_SECONDS=0.000001", "-c", "UNWIND range(1, 9999) AS x RETURN sum(x)"],
            "--limit MAX_SECONDS=NUMBER",
        ),
        (["-c", "RETURN $x"], "`.param x VALUE` or --param x=VALUE"),
    ):
        _, err = said(capsys, *words, code=1)
        assert option in err
        assert "=[" not in err
        assert "id_space=" not in err
        assert "parameters=" not in err
        assert "on_duplicate=" not in err
        assert "timeout=" not in err


def test_what_the_user_wrote_is_not_reworded(capsys: pytest.CaptureFixture[str]) -> None:
    _, err = said(capsys, "-c", "RETURN 'columns=[...]' AS type=", code=1)
    assert "RETURN 'columns=[...]' AS type=" in err


def test_a_drawing_sees_parameters_and_the_transaction(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "BEGIN; CREATE (:P {id: 7}); MATCH (p:P {id: $x}) RETURN p"
    shown, _ = said(capsys, "--param", "x=7", "-c", f"{text}; .draw {tmp_path / 'a.svg'}; COMMIT")
    assert "1 node" in shown.splitlines()[-1]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("-c", ".rows abc"), ".rows does not take 'abc'"),
        (("-c", ".load x.csv --on-eror skip"), "Did you mean --on-error?"),
        (("-c", ".param x foo"), "foo is no value: there is no variable 'foo'"),
        (("-c", ".param x 1+"), "1+ is no value: expected an expression, but the text ends there."),
        (("-c", ".param x date('x'"), "to close the parenthesis, but the text ends there."),
        (("-c", ".param x 1)"), "1) is no value: it closes a parenthesis that it does not open."),
        (("-c", ".draw 'a b.svg'"), "there is no answer to draw"),
        (("--limit", "FOO=1", "-c", "RETURN 1"), "there is no limit 'FOO'"),
        (("--limit", "MAX_ROW=1", "-c", "RETURN 1"), "MAX_ROWS"),
        (("--memory", "5", "-c", "RETURN 1"), "Give --memory 1MiB or more."),
    ],
)
def test_what_is_wrong_is_in_the_words_of_the_shell(
    words: tuple[str, ...], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert told in said(capsys, *words, code=1)[1]


def test_input_that_is_no_text(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    given = io.TextIOWrapper(io.BytesIO(b"RETURN 1 AS x;\n\xff\xfe"), errors="surrogateescape")
    monkeypatch.setattr("sys.stdin", given)
    assert "no UTF-8 text" in said(capsys, code=1)[1]


def test_draw_takes_a_name_in_quotes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said(capsys, "-c", f"CREATE (a:A); MATCH (a) RETURN a; .draw '{tmp_path}/my a.svg'")
    assert (tmp_path / "my a.svg").exists()


@pytest.mark.parametrize("way", ["-f", ".read", "load", "stdin"])
def test_a_carriage_return_in_a_text_stays(
    way: str,
    store: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    script = tmp_path / "c.cypher"
    script.write_bytes(b"// one\r\nCREATE (:A {s: 'x\r\ny\rz'});\r\n")
    match way:
        case "-f":
            said(capsys, store, "-f", str(script))
        case ".read":
            said(capsys, store, "-c", f".read {script}")
        case "load":
            said(capsys, "load", store, str(script))
        case _:
            monkeypatch.setattr("sys.stdin", io.TextIOWrapper(script.open("rb"), newline="\n"))
            said(capsys, store)
    shown, _ = said(capsys, store, "--mode", "json", "-c", "MATCH (n) RETURN n.s AS s")
    assert shown == '[{"s": "x\\r\\ny\\rz"}]\n'
