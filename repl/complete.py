"""Completion of statements and commands: a pure function of the text before the cursor and the graph's names."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Mapping

from gdb.answer.entities import quoted
from gdb.records import dataclass, field

from .statements import split

KEYWORDS = (
    *("MATCH", "WHERE", "RETURN", "DISTINCT", "AS", "ORDER BY", "ASC", "DESC", "SKIP", "LIMIT"),
    *("OPTIONAL MATCH", "UNWIND", "WITH", "UNION", "UNION ALL", "CALL", "YIELD", "OFFSET"),
    *(
        "LOAD CSV",
        "WITH HEADERS",
        "FROM",
        "FIELDTERMINATOR",
        "COPY",
        "OPTIONS",
        "NULLS FIRST",
        "NULLS LAST",
    ),
    *("CREATE", "INSERT", "MERGE", "ON CREATE SET", "ON MATCH SET", "SET", "REMOVE", "DELETE"),
    *("LET", "FILTER", "FINISH", "NEXT", "IS NORMALIZED"),
    *("DETACH DELETE", "FOREACH", "CASE", "WHEN", "THEN", "ELSE", "END", "EXISTS", "COLLECT"),
    *("ANY SHORTEST", "ALL SHORTEST", "SHORTEST", "WALK", "TRAIL", "ACYCLIC"),
    *("AND", "OR", "XOR", "NOT", "IN", "IS NULL", "IS NOT NULL", "TRUE", "FALSE", "NULL"),
    *(
        "STARTS WITH",
        "ENDS WITH",
        "CONTAINS",
        "EXPLAIN",
        "PROFILE",
        "DIFFERENT NODES",
        "DIFFERENT EDGES",
    ),
    *("REPEATABLE ELEMENTS", "SUBGRAPHS", "INDUCED"),
)


@dataclass(frozen=True, slots=True)
class Names:
    """The names a graph has, and the dot-commands with what each can take.

    keys_of : the property keys of each label and of each type.
    files : the dot-commands that take files, with their options, and what each of these can be, () for anything.
    listed : the files and folders whose path begins so; a folder ends in a slash.
    """

    labels: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    keys_of: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    procedures: tuple[str, ...] = ()
    commands: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    files: Mapping[str, Mapping[str, tuple[str, ...]]] = field(default_factory=dict)
    listed: Callable[[str], Iterable[str]] = lambda beginning: ()


@dataclass(frozen=True, slots=True)
class Candidate:
    """text : the completed text. kind : for the menu.

    length : how many characters before the cursor it replaces.
    """

    text: str
    length: int
    kind: str


_QUOTED = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|//[^\r\n]*\n|/\*.*?\*/""", re.DOTALL)
_OPEN = re.compile(r"""['"]|//|/\*""")
_CLOSED = re.compile(r"""'[^']*'|"[^"]*"|\\.""")
_ARGUMENT = re.compile(r"""(?:'.*|".*|[^\s'"]*)\Z""")
_WORD = re.compile(r"`?\w*\Z")
_VARIABLE = re.compile(r"[(\[,]\s*([^\W\d]\w*)\s*(?=[:)\]{])|\bAS\s+([^\W\d]\w*)", re.IGNORECASE)
_CALLED = re.compile(r"\bCALL\s+((?:\w+\.)*)\Z", re.IGNORECASE)


def complete(text: str, names: Names) -> list[Candidate]:
    """What the word before the cursor could become; nothing inside a string or comment.

    Examples
    --------
    >>> [found.text for found in complete("MATCH (a:Per", Names(labels=("Person", "City")))]
    ['Person']
    """
    _, statement = split(text)
    if text.lstrip().startswith(".") and "\n" not in text.strip():
        return _of_commands(text.lstrip(), names)
    if text[-1:].isspace():
        statement += " "  # split() takes it away, but the word before has ended
    statement = _QUOTED.sub(" 0 ", statement)
    if _OPEN.search(statement):
        return []
    word = _word(statement)
    return _matching(word, *_expected(statement[: len(statement) - len(word)], word, names))


def _expected(before: str, word: str, names: Names) -> tuple[Iterable[str], str]:
    """What may follow `before`, and its kind."""
    called = _CALLED.search(before)
    if called is not None:
        start = called[1].lower()
        found = [name for name in names.procedures if name.lower().startswith(start)]
        return [f"{name[len(start) :]}(" for name in found], "procedure"
    bracket = _innermost(before)
    tight = before.rstrip()
    if bracket != "{" and re.search(r":\s*(?:!?[\w`]+\s*[|&]\s*)*!?\Z", tight):
        if bracket == "[":
            return map(quoted, names.types), "type"
        return map(quoted, names.labels), "label"
    if re.search(r"[\w)`]\.\Z", before) or (bracket == "{" and tight.endswith(("{", ","))):
        return map(quoted, _keys(before, bracket, names)), "property"
    if not word or bracket == "{":
        return (), ""
    # here: it loads a third of all modules
    from gdb.functions.library import (
        names as functions,  # many modules: the shell starts without them
    )

    variables = {one or other for one, other in _VARIABLE.findall(before)}
    return [*sorted(variables), *KEYWORDS, *(name + "(" for name in functions())], ""


_NAMED = re.compile(r"[(\[]\s*([^\W\d]\w*)?\s*:\s*([\w`|&:! ]+)")
_OWNER = re.compile(r"([^\W\d]\w*)\.\Z")


def _keys(before: str, bracket: str, names: Names) -> Iterable[str]:
    """The property keys; first those that the labels or types of the element before the cursor have."""
    owner = _OWNER.search(before)
    named = [*_NAMED.finditer(before)]
    if owner is not None:
        kinds = [found[2] for found in named if found[1] == owner[1]]
    else:
        kinds = [found[2] for found in named[-1:] if bracket == "{"]
    words = {word.strip("` ") for kind in kinds for word in re.split("[|&:!]", kind)}
    own = dict.fromkeys(key for word in sorted(words) for key in names.keys_of.get(word, ()))
    return [*own, *(key for key in names.keys if key not in own)]


def _matching(word: str, found: Iterable[str], kind: str) -> list[Candidate]:
    start = word.strip("`").lower()
    return [
        Candidate(name, len(word), kind or _kind(name))
        for name in found
        if name.strip("`").lower().startswith(start) and name != word
    ]


def _kind(name: str) -> str:
    return "function" if name.endswith("(") else "keyword" if name in KEYWORDS else "variable"


def _of_commands(text: str, names: Names) -> list[Candidate]:
    name, blank, argument = text.partition(" ")
    if blank and name in names.files:
        return _of_files(argument, names.files[name], names.listed)
    known = names.commands.get(name, ()) if blank else names.commands
    word = argument.lstrip() if blank else name
    return [Candidate(held, len(word), "command") for held in known if held.startswith(word)]


def _of_files(
    argument: str,
    options: Mapping[str, tuple[str, ...]],
    listed: Callable[[str], Iterable[str]],
) -> list[Candidate]:
    """Options, what the one before can be, or files: also those behind the `=` of NAME=FILE, and behind an open
    quote."""
    closed = _CLOSED.sub(lambda quote: "\0" * len(quote.group()), argument)
    found = _ARGUMENT.search(closed)
    word = argument[found.start() :] if found else ""
    if word.startswith("-"):
        return [Candidate(held, len(word), "option") for held in options if held.startswith(word)]
    before = argument[: len(argument) - len(word)].split()
    choices = options.get(before[-1], ()) if before else ()
    if choices:
        return [Candidate(held, len(word), "option") for held in choices if held.startswith(word)]
    mark = word[0] if word[:1] in ("'", '"') else ""
    beginning = word[1:] if mark else word.rpartition("=")[2]
    length = len(mark + beginning)
    return [Candidate(_argument(path, mark), length, "file") for path in listed(beginning)]


def _argument(path: str, mark: str) -> str:
    """The path in the quotes that were begun or that it needs; a folder's stay open for more."""
    if "'" in path or '"' in path:
        return shlex.quote(path)
    if not mark and not re.search(r"[^\w./~@%+=:,-]", path):
        return path
    mark = mark or "'"
    return mark + path + ("" if path.endswith("/") else mark)


def _word(text: str) -> str:
    found = _WORD.search(text)
    return found.group() if found else ""


def _innermost(text: str) -> str:
    """The bracket that is open at the end of the text, "" for none."""
    opened: list[str] = []
    for character in text:
        if character in "([{":
            opened.append(character)
        elif character in ")]}" and opened:
            opened.pop()
    return opened[-1] if opened else ""
