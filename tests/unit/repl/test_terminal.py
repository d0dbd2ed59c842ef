"""The shell at a terminal, as a person meets it: what is typed, and what is seen."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from gdb.repl.main import main

_WAIT = 30.0  # seconds at most for something to be seen
_CONTROL = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]|\x1b[=>]|\r")


class Terminal:
    """A shell that runs at a terminal of its own."""

    def __init__(self, repository: Path, state: Path, *words: str) -> None:
        self.process, self.side = pty.fork()
        if not self.process:
            os.chdir(repository)
            os.environ.update(TERM="xterm", XDG_STATE_HOME=str(state), PYTHONUNBUFFERED="1")
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
def terminal(repository: Path, tmp_path: Path, store: str) -> Iterator[Terminal]:
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
    terminal.ask("\x03", "cancelled")
    terminal.ask("RETURN 'still here' AS it;\r", "(1 row)")
    assert terminal.leave("\x04") == 0
