"""The interactive front: prompt_toolkit's line editor with history, completion and highlighting.

The only module that imports prompt_toolkit, and `main` loads it only when a person types. The colours are found by
hand, by one regular expression: the lexer for Cypher of Pygments knows neither the keywords beyond openCypher nor
labels, and completion needs the list of keywords anyway.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.lexers import Lexer
from prompt_toolkit.styles import Style

from gdb.base import private_folder
from gdb.base.private_folder import NotPrivate
from gdb.errors import GdbError

from . import commands, saved_queries
from .complete import KEYWORDS, Names, complete
from .folders import history_file
from .loading import option_names
from .session import Session
from .statements import all_of, is_complete

if TYPE_CHECKING:
    from gdb.api.schema import Schema

PROMPT, INSIDE, MORE = "gdb> ", "gdb (transaction)> ", "...> "
_STYLE = Style.from_dict(
    {
        "keyword": "ansiblue bold",
        "string": "ansigreen",
        "number": "ansimagenta",
        "comment": "ansibrightblack",
        "name": "ansicyan",
        "prompt": "bold",
    }
)


def run(session: Session, greeting: str) -> None:
    """Read and run statements until Ctrl-D or `.exit`.

    Errors and Ctrl-C end a statement, never the shell.
    """
    session.say(greeting)
    completer = _Completer(lambda: _names(session))
    prompt: PromptSession[str] = PromptSession(
        history=_history(),
        multiline=True,
        prompt_continuation=lambda width, number, wrapped: MORE if not wrapped else "",
        key_bindings=_keys(),
        lexer=_Highlighter(),
        completer=completer,
        style=_STYLE,
    )
    while not session.leaving:
        completer.forget()
        try:
            text = prompt.prompt(
                [("class:prompt", PROMPT if session.transaction is None else INSIDE)]
            )
        except KeyboardInterrupt:
            continue
        except EOFError:
            break
        perform_all(session, text)


def perform_all(session: Session, text: str) -> None:
    """Run the statements of what was entered, up to the first that fails."""
    try:
        for statement in all_of(text):
            commands.perform(session, statement)
            if session.leaving:
                break
    except BrokenPipeError:  # the reader of the output has gone
        raise
    except (GdbError, OSError) as error:  # OSError: the disk of `.output` is full
        session.fail(error)
    except KeyboardInterrupt:  # while rows were printed
        session.say("\n(the rest was cancelled)")


# ---- history -------------------------------------------------------------------------------------


def _history() -> History:
    """The history in its file; only in memory where that cannot be written, or others could have put a link there."""
    try:
        path = history_file()
        with private_folder.open_private(str(path.parent.parent), path.parent.name) as (folder, _):
            private_folder.own_file(folder, path.name)
    except NotPrivate as error:
        logging.getLogger("gdb").warning("The history of statements is not kept: %s", error)
        return InMemoryHistory()
    except (OSError, RuntimeError):  # RuntimeError: there is no home
        return InMemoryHistory()
    return FileHistory(str(path))


# ---- keys ----------------------------------------------------------------------------------------


def _keys() -> KeyBindings:
    keys = KeyBindings()

    @keys.add("enter")
    def _(event: KeyPressEvent) -> None:
        """Run what is complete, else begin another line (Escape Enter runs it as it is)."""
        buffer = event.current_buffer
        if buffer.complete_state and buffer.complete_state.current_completion:
            buffer.complete_state = None  # Enter takes the chosen completion
        elif is_complete(buffer.text):
            buffer.validate_and_handle()
        else:
            buffer.insert_text("\n")

    return keys


# ---- completion ----------------------------------------------------------------------------------


def _names(session: Session) -> Names:
    known = {name: held.choices for name, held in commands.names().items()}
    known[".run"] = tuple(name for name, _ in saved_queries.list_queries())
    known[".param"] = tuple(session.parameters)
    takes = (name for name, held in commands.names().items() if held.takes_files)
    files = {name: option_names() if name == ".load" else {} for name in takes}
    try:
        schema, procedures = session.db.schema(), session.db.procedures()
    except GdbError:  # the next query reports it; completion stays silent
        return Names(commands=known, files=files, listed=_listed)
    called = tuple(text.partition("(")[0] for text in procedures)
    return Names(
        *(schema.labels, schema.types, schema.keys, _keys_of(schema)),
        *(called, known, files, _listed),
    )


def _keys_of(schema: Schema) -> dict[str, tuple[str, ...]]:
    """The property keys of each label and of each type."""
    found: dict[str, dict[str, None]] = {}
    for kind in schema.nodes:
        for label in kind.labels:
            found.setdefault(label, {}).update(dict.fromkeys(kind.properties))
    for held in schema.relationships:
        found.setdefault(held.type, {}).update(dict.fromkeys(held.properties))
    return {name: tuple(keys) for name, keys in found.items()}


def _listed(beginning: str) -> list[str]:
    """The files and folders whose path begins so, as it was begun; hidden ones where the name begins with a dot."""
    folder, slash, start = beginning.rpartition("/")
    try:
        held = sorted(Path(folder + slash or ".").expanduser().iterdir())
    except (OSError, ValueError, RuntimeError):  # it is no folder, or ~ of an unknown user
        return []
    return [
        f"{folder}{slash}{path.name}{'/' if path.is_dir() else ''}"
        for path in held
        if path.name.startswith(start) and (start or not path.name.startswith("."))
    ]


class _Completer(Completer):
    """`complete` with the names of the graph, which are read once for each prompt."""

    def __init__(self, names: Callable[[], Names]) -> None:
        self._ask = names
        self._names: Names | None = None

    def forget(self) -> None:
        """Have the names read again: another process may have loaded more."""
        self._names = None

    def get_completions(
        self, document: Document, complete_event: CompleteEvent
    ) -> Iterable[Completion]:
        self._names = self._names or self._ask()
        for found in complete(document.text_before_cursor, self._names):
            yield Completion(found.text, -found.length, display_meta=found.kind)


# ---- highlighting --------------------------------------------------------------------------------

_TOKEN = re.compile(
    r"""(?P<comment>//[^\r\n]*|/\*.*?(?:\*/|\Z))"""
    r"""|(?P<string>'(?:[^'\\]|\\.)*'?|"(?:[^"\\]|\\.)*"?)|(?P<quoted>`[^`]*`?)"""
    r"""|(?P<name>(?<=:)[^\W\d]\w*)|(?P<word>[^\W\d]\w*)|(?P<number>\d[\d.]*)""",
    re.DOTALL,
)
_KEYWORDS = frozenset(word for keyword in KEYWORDS for word in keyword.split())


def styled(text: str) -> list[tuple[str, str]]:
    """The text in pieces, each with its style class; together they are the text."""
    pieces: list[tuple[str, str]] = []
    end = 0
    for found in _TOKEN.finditer(text):
        pieces.append(("", text[end : found.start()]))
        kind = found.lastgroup or ""
        if kind == "word":
            kind = "keyword" if found.group().upper() in _KEYWORDS else ""
        kind = "name" if kind == "quoted" else kind
        pieces.append((f"class:{kind}" if kind else "", found.group()))
        end = found.end()
    pieces.append(("", text[end:]))
    return [piece for piece in pieces if piece[1]]


class _Highlighter(Lexer):
    def lex_document(self, document: Document) -> Callable[[int], StyleAndTextTuples]:
        rows: list[StyleAndTextTuples] = [[]]
        for style, text in styled(document.text):
            head, *others = text.split("\n")
            rows[-1].append((style, head))
            rows.extend([(style, other)] for other in others)
        return lambda number: rows[number] if number < len(rows) else []
