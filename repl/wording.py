"""Errors in the words of the shell: cures that the library gives in Python become options and commands."""

from __future__ import annotations

import re

from gdb.errors import GdbError, ImportFailed
from gdb.storage.importer.load_options import respelt

_ARGUMENTS = ("nodes", "edges", "timeout", "gpu_memory", "import_root", "read_only")
"""Arguments of the library, beside the options of an import, that its errors name."""
_TEXTS = (
    (r'Give memory="(\w+)" or more', r"Give --memory \1 or more"),
    (r'Pass parameters=\{"(\w+)": \.\.\.\}', r"Give it a value: `.param \1 VALUE` or --param \1=VALUE"),
    (r"\bpass header=False and columns=", "give --no-header and columns="),
    (r"\bGive a path, or None for", "Give a path, or leave it out for"),
)  # fmt: skip
_FLAGS = {
    ("columns", "[...]"): "--columns A,B,... (and --no-header)",
    ("header", "False"): "--no-header",
    ("packed", "False"): "--no-packed",
    ("directed", "True"): "no --undirected",
}
_OF_A_QUERY = {
    "timeout": "--limit MAX_SECONDS=NUMBER when gdbsh is started",
    "memory": "--memory SIZE when gdbsh is started",
    "gpu_memory": "--gpu-memory SIZE when gdbsh is started",
}
"""Arguments of a query that the shell has otherwise, or not."""


def flag_of(name: str) -> str:
    """The option that an argument of the library is in the shell."""
    return "--undirected" if name == "directed" else f"--{name.replace('_', '-')}"


def _option(name: str, value: str) -> str:
    flag = _FLAGS.get((name, value))
    if flag is not None:
        return flag
    if value in ("True", "False"):
        return flag_of(name)
    words = re.sub(r"[\[\](),'\"]+", " ", value).split() if value[:1] in ("[", "(") else [value]
    return " ".join([flag_of(name), *filter(None, words)])


def _of_query(name: str, value: str) -> str:
    return _OF_A_QUERY.get(name) or _option(name, value)


def in_words(error: Exception) -> str:
    """The text of an error: its cure in the words of the shell, and the option that it begins with. The rest of what
    it says may be what the user wrote."""
    text = str(error)
    if not isinstance(error, GdbError):
        return text
    if error.cure:
        of_query = not isinstance(error, ImportFailed)
        text = text.replace(error.cure, reworded(error.cure, query=of_query))
    name, space, rest = text.partition(" ")
    return f"{respelt(name, _option, _ARGUMENTS)}{space}{rest}"


def reworded(text: str, *, query: bool = False) -> str:
    """A text with options and commands where it names arguments of Python.

    query : they are those of a query, not of an import.

    Examples
    --------
    >>> reworded('Pass delimiter=, or load it as nodes= with on_duplicate="skip".')
    'Pass --delimiter, or load it as --nodes with --on-duplicate skip.'
    """
    for python, shell in _TEXTS:
        text = re.sub(python, shell, text)
    return respelt(text, _of_query if query else _option, _ARGUMENTS)
