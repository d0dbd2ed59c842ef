"""docs/SHELL.md: what the table beside other shells says of gdbsh exists, or has a reason."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gdb.repl import main
from gdb.repl.commands import names

USES = ("create", "load", "check", "compact", "backup", "export", "demo")


def rows(repository: Path) -> list[list[str]]:
    text = (repository / "docs" / "SHELL.md").read_text(encoding="utf-8")
    table = text.partition("## Beside other shells")[2]
    lines = [line for line in table.splitlines() if line.startswith("| ")]
    return [re.split(r"(?<!\\) \| ", line.strip("| ")) for line in lines[1:]]


def test_each_row_is_yes_or_has_a_reason(repository: Path) -> None:
    found = rows(repository)
    assert len(found) > 35
    assert {len(row) for row in found} == {5}
    wrong = [row[0] for row in found if not re.match(r"yes\b|no: [\w`]", row[1])]
    assert not wrong
    assert sum(row[1].startswith("yes") for row in found) > 30


def test_what_it_names_exists(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main.main(["--help"])
    options = set(re.findall(r"-{1,2}[a-z][a-z-]*", capsys.readouterr().out))
    named = [code for row in rows(repository) for code in re.findall(r"`([^`]+)`", row[1])]
    commands = [code.split()[0] for code in named if re.match(r"\.[a-z]", code)]
    flags = [code for code in named if code.startswith("-")]
    assert len(commands) > 15
    assert set(commands) <= set(names())
    assert set(flags) <= options
    uses = [code.split()[1] for code in named if re.match(r"gdbsh [a-z]", code)]
    assert set(uses) <= set(USES)
