"""Cuts what was typed or piped into statements: at `;` outside strings, quoted names and comments.

A statement is a query, or a dot-command: a dot in first place, or a colon as in Neo4j's shell, up to
the end of its line; `help`, `exit`, `quit`, `begin`, `commit` and `rollback` alone on a line are commands as well. Only
quotes and comments are looked at here; what a query means is for gdb.language, which also reports
an unclosed string.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from gdb.errors import GdbError, PlacedError
from gdb.records import dataclass

# The same quotes and comments as gdb.language.tokens; an unclosed one takes the rest of the text.
_PIECE = re.compile(
    r"""'(?:[^'\\]|\\.)*'?|"(?:[^"\\]|\\.)*"?|`[^`]*`?|//[^\r\n]*|/\*.*?(?:\*/|\Z)|;""", re.DOTALL
)
# A whole statement in one match. Nothing of it is tried again in another way (*+), so that a `;` in quotes or a comment
# ends none; what is not closed does not match.
_WHOLE = re.compile(
    r"""[^'"`/;]*(?:(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`[^`]*`|//[^\r\n]*|/\*.*?\*/|/(?![/*]))[^'"`/;]*)*+;""",
    re.DOTALL,
)
_BLANK = re.compile(r"(?:\s|//[^\r\n]*|/\*.*?\*/)*", re.DOTALL)
# A `;` in quotes is part of a command's argument: .load a.csv --delimiter ';'
_COMMAND = re.compile(r"""[.:](?:'[^'\r\n]*'|"[^"\r\n]*"|[^;\r\n])*""")
# What people try first. No query is one of these words.
_WORD = re.compile(r"(?:help|exit|quit|begin|commit|rollback)[ \t]*(?=[;\r\n]|\Z)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Statement:
    """text : without the `;` and the blanks around it. line : 1-based, where it begins."""

    text: str
    line: int

    @property
    def is_command(self) -> bool:
        """Whether it is a command of the shell: it begins with `.` or `:`, or is one word, as `help` or `commit`."""
        return self.text.startswith((".", ":")) or _WORD.fullmatch(self.text) is not None


def split(text: str) -> tuple[list[Statement], str]:
    """The closed statements of a text, and what is left behind the last `;`.

    Blanks and comments count as nothing.

    Examples
    --------
    >>> statements, rest = split("RETURN ';' AS a; .timer on\\nRETURN 2")
    >>> [statement.text for statement in statements], rest
    (["RETURN ';' AS a", '.timer on'], 'RETURN 2')
    """
    statements, begin = _cut(text)
    return statements, text[begin:].strip()


def _cut(text: str, line: int = 1) -> tuple[list[Statement], int]:
    """The closed statements of a text, and where the next one begins. line : where the text begins."""
    statements: list[Statement] = []
    counted, begin = 0, _after_blank(text, 0)
    while begin < len(text):
        end, closed = _end(text, begin)
        if not closed:
            break
        line += text.count("\n", counted, begin)
        counted = begin
        if body := text[begin:end].strip():
            statements.append(Statement(body, line))
        past = end + 1 if text[end : end + 1] == ";" else end
        begin = _after_blank(text, past)
    return statements, begin


def streamed(lines: Iterable[str]) -> Iterator[Statement]:
    """As `all_of` of the text that some lines are, each statement soon after the line that closes it. A byte order mark
    at the begin is none of the text."""
    waiting: list[str] = []
    # line where what waits begins; its characters, and how many were cut in vain
    first, size, in_vain = (1, 0, 0)
    for number, line in enumerate(lines):
        text = line if number else line.removeprefix("\ufeff")
        waiting.append(text)
        size += len(text)
        if size < 2 * in_vain or not (";" in text or (size == len(text) and _begins(text))):
            continue
        whole = "".join(waiting)
        statements, begin = _cut(whole, first)
        yield from statements
        first += whole.count("\n", 0, begin)
        waiting, size = [whole[begin:]] if begin < len(whole) else [], len(whole) - begin
        in_vain = 0 if statements else size
    for one in all_of("".join(waiting)):
        yield Statement(one.text, first + one.line - 1)


def _begins(text: str) -> bool:
    """Whether a text begins with a command, which its line ends."""
    begin = text.lstrip()
    return (_COMMAND.match(begin) or _WORD.match(begin)) is not None


def all_of(text: str) -> list[Statement]:
    """As `split`, and what is left at the end is a statement too."""
    statements, rest = split(text)
    if rest:
        line = 1 + text.count("\n", 0, text.rindex(rest))
        statements.append(Statement(rest, line))
    return statements


def is_complete(text: str) -> bool:
    """Whether Enter should run the text: all is closed, a dot-command, or nothing."""
    return not split(text)[1]


def where(statement: Statement, error: GdbError, source: str) -> str:
    """The line of a statement, and that of its error where it is another one."""
    where = f"in the statement at line {statement.line}"
    if isinstance(error, PlacedError) and error.line is not None and error.line > 1:
        where += f", the error at line {statement.line + error.line - 1}"
    return f"{where} of {source}" if source else where


def _after_blank(text: str, begin: int) -> int:
    found = _BLANK.match(text, begin)
    return begin if found is None else found.end()


def _end(text: str, begin: int) -> tuple[int, bool]:
    """Where the statement that begins here ends, and whether anything closes it."""
    command = _COMMAND.match(text, begin) or _WORD.match(text, begin)
    if command:
        return command.end(), True
    whole = _WHOLE.match(text, begin)
    if whole:
        return whole.end() - 1, True
    for piece in _PIECE.finditer(text, begin):
        if piece.group() == ";":
            return piece.start(), True
    return len(text), False
