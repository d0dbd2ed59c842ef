"""The programs of the documentation: fenced blocks marked `python` or `sh`, and the output that a `text` block behind
one shows (`...` matches anything, as in doctest).

What a page takes for granted precedes it in a comment, `<!-- python`, which readers do not see.

A section of a recipe page, from `## ` to the next, is a program that needs nothing of the others; any other page is one
program. `run` runs one in the working folder.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import os
import re
import subprocess
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import gdb

REPOSITORY = Path(__file__).resolve().parents[2]
BLOCK = re.compile(
    r"^(?:```(python|sh)\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?|<!-- python\n(.*?)^-->\n)",
    re.MULTILINE | re.DOTALL,
)
_CHECKER = doctest.OutputChecker()
_LOOSE = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
# A spawned process imports the program from its file, a forked one must not be one of pytest, and IPython puts a module
# of its own in the place of the main one.
_OWN_PROCESS = ("multiprocessing", "ProcessPoolExecutor", "InteractiveShell")


@dataclass(frozen=True)
class Block:
    """kind : "python" or "sh". shown : the output that follows it; None where none does."""

    kind: str
    code: str
    shown: str | None


@dataclass(frozen=True)
class Sample:
    """A program of a page."""

    page: str
    title: str
    blocks: tuple[Block, ...]

    def __str__(self) -> str:
        return f"{self.page}: {self.title}" if self.title else self.page


def blocks(text: str) -> tuple[Block, ...]:
    found = BLOCK.finditer(text)
    return tuple(Block(one[1] or "python", one[2] or one[4], one[3]) for one in found)


def samples(pages: list[Path], by_section: bool) -> Iterator[Sample]:
    """The programs of pages; sections without one are left out."""
    for path in pages:
        text = path.read_text(encoding="utf-8")
        parts = re.split(r"^## (.*)\n", text, flags=re.MULTILINE) if by_section else ["", "", text]
        for title, part in zip(parts[1::2], parts[2::2], strict=True):
            found = blocks(part)
            if found:
                yield Sample(str(path.relative_to(REPOSITORY)), title, found)


def run(sample: Sample, folder: Path) -> None:
    """Run a program; AssertionError where the output differs from what is shown."""
    whole = "\n".join(block.code for block in sample.blocks if block.kind == "python")
    if any(word in whole for word in _OWN_PROCESS):
        (folder / "program.py").write_text(whole, encoding="utf-8")
        _check("".join(block.shown or "" for block in sample.blocks), _command("python program.py"))
        return
    names: dict[str, object] = {"__name__": "__main__"}
    for block in sample.blocks:
        if block.kind == "sh":
            printed = "".join(_command(line) for line in block.code.splitlines() if line)
        else:
            printed = _executed(block.code, sample, names)
        if block.shown is not None:
            _check(block.shown, printed)


def _executed(code: str, sample: Sample, names: dict[str, object]) -> str:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), warnings.catch_warnings():
        warnings.simplefilter("error", gdb.QueryWarning)
        exec(compile(code, str(sample), "exec", dont_inherit=True), names)
    return printed.getvalue()


def _command(line: str) -> str:
    """A line of a shell in the working folder, in which `python` and `gdbsh` are those of this process."""
    tools = f'python() {{ "{sys.executable}" "$@"; }}; gdbsh() {{ python -m gdb "$@"; }}; '
    environment = os.environ | {"PYTHONPATH": str(REPOSITORY)}
    done = subprocess.run(
        ["bash", "-c", tools + line], capture_output=True, text=True, env=environment, timeout=120
    )
    assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
    return done.stdout


def _check(shown: str, printed: str) -> None:
    assert _CHECKER.check_output(shown, printed, _LOOSE), f"shown:\n{shown}\nprinted:\n{printed}"
