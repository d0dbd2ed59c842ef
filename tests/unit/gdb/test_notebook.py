"""`%load_ext gdb`: queries in the cells of a notebook, with a stand-in for IPython's shell."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import gdb
from gdb.answer.result import Result


class Shell:
    """What the magics are registered with, as IPython's InteractiveShell has it."""

    def __init__(self) -> None:
        self.user_ns: dict[str, Any] = {}
        self.magics: dict[tuple[str, str], Callable[..., object]] = {}

    def register_magic_function(
        self, func: Callable[..., object], magic_kind: str = "line", magic_name: str | None = None
    ) -> None:
        assert magic_kind in ("line", "cell", "line_cell")
        assert magic_name is not None
        for kind in magic_kind.split("_"):
            self.magics[kind, magic_name] = func

    def cell(self, line: str, cell: str) -> Any:
        return self.magics["cell", "cypher"](line, cell)

    def line(self, name: str, line: str) -> Any:
        return self.magics["line", name](line)


@pytest.fixture
def shell() -> Shell:
    made = Shell()
    gdb.load_ipython_extension(made)
    return made


def test_a_cell_is_a_query_of_the_only_database(shell: Shell) -> None:
    shell.user_ns["db"] = shell.user_ns["_"] = gdb.connect()
    assert shell.cell("", "RETURN 1 AS x,\n 2 AS y").fetchall() == [(1, 2)]
    assert shell.line("cypher", "RETURN 3").scalar() == 3


def test_a_result_goes_into_a_variable(shell: Shell) -> None:
    shell.user_ns["db"] = gdb.connect()
    assert shell.cell("-o found", "RETURN 1") is None
    assert isinstance(shell.user_ns["found"], Result)
    assert shell.cell("db --out again", "RETURN 2") is None
    assert shell.user_ns["again"].scalar() == 2


def test_parameters_are_variables_of_the_notebook(shell: Shell) -> None:
    shell.user_ns |= {"db": gdb.connect(), "year": 1815, "unused": object()}
    assert shell.cell("", "RETURN $year + 1").scalar() == 1816
    with pytest.raises(gdb.NameProblem, match=r"\$month") as raised:
        shell.cell("", "RETURN $month")
    assert raised.value.cure == "Set the variable of the notebook: month = ..."
    assert "month = ...\n  RETURN $month\n" in str(raised.value)
    assert "Pass parameters" not in str(raised.value)


def test_only_parameters_of_the_query_are_variables(shell: Shell) -> None:
    """Not what a string, a comment or a quoted name holds."""
    shell.user_ns |= {"db": gdb.connect(), "df": object(), "year": 1815}
    query = "RETURN $`year` AS t, '$df' AS u, \"$df\" AS `$df` // costs $df\n/* $df */"
    assert shell.cell("", query).fetchall() == [(1815, "$df", "$df")]
    with pytest.raises(gdb.SyntaxProblem):
        shell.cell("", "RETURN 'x + $df")


@pytest.mark.parametrize(("magic", "line"), [("gdb", "Bob's.gdb"), ("gdb", '"x'), ("", '"x')])
def test_a_quote_that_is_not_closed(shell: Shell, magic: str, line: str) -> None:
    shell.user_ns["db"] = gdb.connect()
    with pytest.raises(gdb.ArgumentProblem, match="is not closed"):
        shell.line(magic, line) if magic else shell.cell(line, "RETURN 1")


def test_a_database_is_named_or_opened(shell: Shell, tmp_path: Path) -> None:
    shell.user_ns |= {"one": gdb.connect(), "two": gdb.connect(), "three": 3}
    shell.user_ns["two"].execute("CREATE (:P)")
    assert shell.cell("two", "MATCH (n) RETURN count(*)").scalar() == 1
    with pytest.raises(gdb.NameProblem, match="several variables are Databases"):
        shell.cell("", "RETURN 1")
    with pytest.raises(gdb.NameProblem, match="three is no Database"):
        shell.cell("three", "RETURN 1")
    opened = shell.line("gdb", f"'{tmp_path / 'a b.gdb'}'")
    assert opened.path == tmp_path / "a b.gdb"
    shell.cell("", "CREATE (:Q)")
    assert opened.execute("MATCH (n:Q) RETURN count(*)").scalar() == 1
    opened.close()


def test_no_database_is_told_with_the_cure(shell: Shell) -> None:
    with pytest.raises(gdb.NameProblem, match="%gdb"):
        shell.cell("", "RETURN 1")
    assert shell.line("gdb", "").path is None
    assert shell.cell("", "RETURN 1").scalar() == 1


@pytest.mark.parametrize("line", ["one two", "-o", "-o 1x", "--what", "-o a -o b"])
def test_other_arguments_are_refused(shell: Shell, line: str) -> None:
    with pytest.raises(gdb.ArgumentProblem):
        shell.cell(line, "RETURN 1")


# ---- with IPython ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def ipython() -> Any:
    shell = pytest.importorskip("IPython.core.interactiveshell").InteractiveShell.instance()
    shell.run_line_magic("load_ext", "gdb")
    return shell


def ran(ipython: Any, cell: str) -> Any:
    done = ipython.run_cell(cell)
    done.raise_error()
    return done.result


def test_ipython_takes_the_extension(ipython: Any) -> None:
    ipython.user_ns["db"] = gdb.connect()
    assert ran(ipython, "%%cypher db\nRETURN 5").scalar() == 5
    assert ran(ipython, "%%cypher db -o found\nRETURN 6") is None
    assert ran(ipython, "found.scalar()") == 6
    assert ran(ipython, "again = %gdb\nagain.execute('RETURN 7').scalar()") == 7


def test_parameters_of_a_line_are_values_and_no_text(ipython: Any) -> None:
    ran(ipython, "%gdb")
    ipython.user_ns["who"] = "Ada' RETURN 1 //"
    assert ran(ipython, "%cypher RETURN $who AS who").scalar() == "Ada' RETURN 1 //"
    assert ran(ipython, "%cypher RETURN {who: 1} AS held").scalar() == {"who": 1}
    assert ran(ipython, "%%cypher\nRETURN {who: $who} AS held").scalar() == {
        "who": "Ada' RETURN 1 //"
    }


def test_a_mistake_is_shown_without_frames(
    ipython: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ran(ipython, "%gdb")
    capsys.readouterr()
    ipython.run_cell("%%cypher\nMATCH (p)\nRETRUN p")
    shown = "".join(capsys.readouterr())
    assert shown.startswith("SyntaxProblem: line 2, column 1")
    assert "^^^^^^" in shown
    assert "Traceback" not in shown
    monkeypatch.setenv("GDB_TRACEBACK", "whole")
    ipython.run_cell("%cypher RETRUN 1")
    assert "Traceback" in "".join(capsys.readouterr())
