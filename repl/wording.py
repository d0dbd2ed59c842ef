"""Errors in the words of the shell: what the library tells to write in Python, as options and commands."""

from __future__ import annotations

import re
from collections.abc import Callable

from gdb.errors import GdbError


def _option(found: re.Match[str]) -> str:
    value = f" {found[2]}" if found[2] else ""
    return f"--{found[1].replace('_', '-')}{value}"


_WORDS: tuple[tuple[str, str | Callable[[re.Match[str]], str]], ...] = (
    (r'Pass parameters=\{"(\w+)": \.\.\.\}', r"Give it a value: `.param \1 VALUE` or --param \1=VALUE"),
    (r"\bpass header=False and columns=", "give --no-header and --columns"),
    (r"\bcolumns=\[\.\.\.\]", "--columns A,B,... (and --no-header)"),
    (r"\b(on_error|multi_edges|self_loops|missing_ends)=['\"](\w+)['\"]", _option),
    (r"\b(id_space|delimiter|header|format|columns|nodes|type)=()(?![\w'\"=])", _option),
)  # fmt: skip


def in_words(error: Exception) -> str:
    """The text of an error, its cure in the words of the shell."""
    text = str(error)
    if isinstance(error, GdbError) and error.cure:
        return text.replace(error.cure, reworded(error.cure))
    return text


def reworded(text: str) -> str:
    """A text with options and commands where it names arguments of Python.

    Examples
    --------
    >>> reworded("Pass delimiter=, or load it as nodes=.")
    'Pass --delimiter, or load it as --nodes.'
    """
    for python, shell in _WORDS:
        text = re.sub(python, shell, text)
    return text
