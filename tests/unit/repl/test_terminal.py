"""The shell at a terminal, as a person meets it: what is typed, and what is seen."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import sys
import time
from pathlib import Path

import pytest

from gdb.repl.main import main

_WAIT = 30.0  # seconds at most for something to be seen
_FOLDERS = ("STATE", "CONFIG", "DATA")
_CONTROL = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]|\x1b[=>]|\r")


class Terminal:
    """A shell that runs at a terminal of its own."""

    def __init__(self, repository: Path, state: Path, *words: str) -> None:
        self.process, self.side = pty.fork()
        if not self.process:
            os.chdir(repository)
            os.environ.update(TERM="xterm", HOME=str(state.parent), PYTHONUNBUFFERED="1")
            os.environ.update({f"XDG_{name}_HOME": str(state) for name in _FOLDERS})
            os.execv(sys.executable, [sys.executable, "-m", "gdb", *words])
        self.seen = ""

    def until(self, wanted: str) -> str:
        """What is seen up to a text, once that comes."""
        end = time.monotonic() + _WAIT
        while wanted not in self.seen:
            assert time.monotonic() < end, f"no {wanted!r} in {self.seen!r}"
            if not select.select([self.side], [], [], 0.5)[0]:
                continue
            data = os.read(self.side, 1 << 16)
            if b"\x1b[6n" in data:  # where is the cursor?
                os.write(self.side, b"\x1b[1;1R")
            self.seen += _CONTROL.sub("", data.decode(errors="replace"))
        seen, _, self.seen = self.seen.partition(wanted)
        return seen + wanted

    def type(self, text: str, wanted: str) -> str:
        os.write(self.side, text.encode())
        return self.until(wanted)

    def ask(self, text: str, wanted: str) -> str:
        """Type a statement at the prompt; what is seen up to a text, and then the next prompt comes."""
        seen = self.type(text, wanted)
        self.until("gdb>")
        return seen

    def leave(self, text: str) -> int:
        """Type the last thing, at the prompt; the exit code."""
        os.write(self.side, text.encode())
        end = time.monotonic() + _WAIT
        try:
            while time.monotonic() < end:
                if select.select([self.side], [], [], 0.5)[0] and not os.read(self.side, 1 << 16):
                    break
            else:
                os.kill(self.process, signal.SIGKILL)
        except OSError:  # the other side is closed
            pass
        _, status = os.waitpid(self.process, 0)
        os.close(self.side)
        return os.waitstatus_to_exitcode(status)


@pytest.fixture
def store(tmp_path: Path) -> str:
    path = str(tmp_path / "new.gdb")
    assert main(["create", path]) == 0
    return path


@pytest.fixture
def terminal(repository: Path, tmp_path: Path, store: str) -> Terminal:
    return Terminal(repository, tmp_path / "state", store)


def test_a_first_session(terminal: Terminal) -> None:
    greeting = terminal.until("gdb>")
    assert "0 nodes and 0 relationships" in greeting
    assert ".help" in greeting
    terminal.ask("help\r", ".schema")
    terminal.ask("CREATE (:A {x: 1})-[:R]->(:B);\r", "Created 2 nodes and 1 relationship")
    terminal.type("MATCH (a:A)\r", "...>")
    terminal.ask("RETURN a.x AS found;\r", "(1 row)")
    assert "Did you mean RETURN?" in terminal.ask("MATCH (a) RETRUN a;\r", "^^^^^^")
    terminal.ask(".shcema\r", "Did you mean .schema?")
    assert terminal.leave("exit\r") == 0


def test_ctrl_c_clears_what_was_typed_and_stops_what_runs(terminal: Terminal) -> None:
    terminal.until("gdb>")
    terminal.type('MATCH (a) RETURN "\r', "...>")
    terminal.type("\x03", "gdb>")
    terminal.ask("UNWIND range(1, 100) AS x CREATE (:N);\r", "Created 100 nodes")
    terminal.ask("MATCH (a), (b) WHERE a <> b CREATE (a)-[:TO]->(b);\r", "Created 9,900")
    pattern = "-->".join(f"(n{number})" for number in range(9)) + "-->(n0)"
    slow = f"MATCH {pattern}, (n0)-->(n4), (n2)-->(n6) RETURN count(*);"
    terminal.type(f"RETURN 5 + 5 AS ten; {slow}\r", "(1 row)")
    terminal.until(" s; Ctrl-C stops the query")
    terminal.ask("\x03", "cancelled")
    terminal.ask("RETURN 'still here' AS it;\r", "(1 row)")
    assert terminal.leave("\x04") == 0


def test_long_answers_are_capped(terminal: Terminal) -> None:
    terminal.until("gdb>")
    seen = terminal.ask("UNWIND range(1001, 30000) AS x RETURN x;\r", "(29,000 rows; 28,960 more")
    assert "1040" in seen
    assert "1041" not in seen
    terminal.ask(".rows 3\r", "rows")
    terminal.ask("UNWIND range(1, 4) AS x RETURN x;\r", "(4 rows; 1 more") if False else None
    assert terminal.leave("\x04") == 0


def test_a_transaction_at_the_prompt(terminal: Terminal) -> None:
    terminal.until("gdb>")
    terminal.type("BEGIN;\r", "gdb (transaction)>")
    terminal.type("CREATE (:A);\r", "Created 1 node")
    terminal.until("gdb (transaction)>")
    terminal.type("RETRUN 1;\r", "error: ")
    terminal.until("gdb (transaction)>")
    terminal.type("RETURN (\x03", "gdb (transaction)>")  # Ctrl-C clears the line, and ends nothing
    terminal.type("MATCH (a:A) RETURN count(*) AS n;\r", "(1 row)")
    terminal.until("gdb (transaction)>")
    os.write(terminal.side, b"\x04")
    terminal.until("rolled back")
    assert terminal.leave("") == 0


def test_the_start_up_file(repository: Path, tmp_path: Path, store: str) -> None:
    (tmp_path / ".gdbshrc").write_text(".mode box\n.mode odd\n.rows 2\n", encoding="utf-8")
    terminal = Terminal(repository, tmp_path / "state", store, "--rows", "3")
    seen = terminal.until("gdb>")
    assert ".gdbshrc; stopped there" in seen
    terminal.ask("UNWIND range(1, 4) AS x RETURN x;\r", "(4 rows; 1 more")
    terminal.ask(".mode\r", "mode box")
    assert terminal.leave("\x04") == 0


def test_a_pager_shows_all(repository: Path, tmp_path: Path, store: str) -> None:
    os.environ["PAGER"] = "tail -n 1"
    try:
        terminal = Terminal(repository, tmp_path / "state", store, "--pager", "--rows", "3")
    finally:
        del os.environ["PAGER"]
    terminal.until("gdb>")
    seen = terminal.ask("UNWIND range(1001, 2077) AS x RETURN x;\r", "(1,077 rows)")
    assert "2077" in seen
    assert "1001\n" not in seen
    assert terminal.leave("\x04") == 0


def test_ctrl_c_in_a_script_and_in_a_transaction(terminal: Terminal, tmp_path: Path) -> None:
    slow = "UNWIND range(1, 3000) AS a UNWIND range(1, 3000) AS b UNWIND range(1, 3000) AS c RETURN count(a + b + c);"
    script = tmp_path / "slow.cypher"
    script.write_text(f"RETURN 5 + 5 AS ten;\n{slow}\nRETURN 77;\n", encoding="utf-8")
    terminal.until("gdb>")
    terminal.type(f".read {script}\r", "(1 row)")
    terminal.until(" s; Ctrl-C stops the query")
    seen = terminal.ask("\x03", "stopped there)")
    assert "cancelled" in seen
    terminal.type("BEGIN;\r", "gdb (transaction)>")
    terminal.type("CREATE (:A);\r", "Created 1 node")
    terminal.type(f"{slow}\r", " s; Ctrl-C stops the query")
    terminal.type("\x03", "cancelled")
    terminal.until("gdb (transaction)>")
    terminal.type("COMMIT;\r", "gdb>")
    terminal.ask("MATCH (a:A) RETURN 100 + count(*) AS n;\r", "101")
    assert terminal.leave("\x04") == 0
