"""Queries that are kept under a name, each a file of its own, and the editor of the user."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from gdb.base import waiting
from gdb.errors import ArgumentProblem, NameProblem
from gdb.language.suggest import did_you_mean

from .folders import queries_folder

_NAME = re.compile(r"\w[\w-]*")


def save(name: str, text: str) -> Path:
    """Keep a query; one of the same name is replaced.

    Raises
    ------
    NameProblem : the name is none. ArgumentProblem : the file cannot be written.
    """
    path = _path(name)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text};\n", encoding="utf-8")
    except OSError as error:
        raise ArgumentProblem(
            f"{path} cannot be written: {error.strerror}.",
            "Set XDG_DATA_HOME to a folder of yours.",
        ) from None
    return path


def list_queries() -> Iterator[tuple[str, str]]:
    """The names and the texts."""
    for path in sorted(queries_folder().glob("*.cypher")):
        yield path.stem, path.read_text(encoding="utf-8")


def file_of(name: str) -> Path:
    """The file of a query.

    Raises
    ------
    NameProblem : there is none of this name.
    """
    path = _path(name)
    if not path.is_file():
        near = did_you_mean(name, [known for known, _ in list_queries()])
        raise NameProblem(f"there is no saved query {name}.", near or "`.queries` lists them.")
    return path


def _path(name: str) -> Path:
    if not _NAME.fullmatch(name):
        raise NameProblem(f"{name!r} is no name of a query.", "Take letters, digits, _ and -.")
    return queries_folder() / f"{name}.cypher"


def edit_text(text: str) -> str:
    """What is left of a text in a file when the editor of the user is left.

    Raises
    ------
    ArgumentProblem : there is no editor, or it failed; nothing is to be run then.
    """
    named = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    if not named and not sys.stdin.isatty():
        raise ArgumentProblem(
            "an editor needs a terminal, and this is none.",
            "Set EDITOR to a program that needs none, or run `gdbsh` at a terminal.",
        )
    editor = named or "vi"
    with tempfile.TemporaryDirectory() as made:
        path = Path(made) / "query.cypher"
        path.write_text(f"{text};\n" if text else "", encoding="utf-8")
        cure = "Set EDITOR to a program that ends when the file is written."
        try:
            code = waiting.wait_for_program(
                subprocess.Popen([*shlex.split(editor), str(path)], text=True)
            )
        except OSError as error:
            raise ArgumentProblem(f"the editor {editor} failed: {error}.", cure) from None
        if code:
            raise ArgumentProblem(f"the editor {editor} failed with exit code {code}.", cure)
        return path.read_text(encoding="utf-8")
