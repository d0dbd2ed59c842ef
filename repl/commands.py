"""Statements are run here: queries, scripts of -c and -f, and the dot-commands, whose decorator registers a handler
with its help.

`.help`, completion and a test read the registry.
"""

from __future__ import annotations

import io
import os
import re
import shlex
import warnings
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TextIO, TypeAlias

from gdb.answer.drawing.drawing import checked_path
from gdb.answer.table import table
from gdb.errors import ArgumentProblem, Cancelled, CorruptStore, GdbError, NameProblem, QueryWarning
from gdb.language.suggest import did_you_mean
from gdb.records import dataclass

from . import saved_queries
from .format import pasted
from .session import Session
from .settings import SETTINGS, Setting
from .statements import Statement, all_of, streamed, where

_PLACE = re.compile(r"^line \d+, column \d+: ")
_FOUND = re.compile(r", found (?:'[^']*'|the end of the query)")
_CLOSES = "it closes a parenthesis that it does not open"

Handler: TypeAlias = Callable[[Session, str], None]


@dataclass(frozen=True, slots=True)
class Command:
    """A dot-command.

    argument : how its argument is shown in the help, "" for none.
    choices : what the argument can be, where that is a fixed set.
    takes_files : the argument is names of files, and options.
    aliases : other names for it.
    """

    name: str
    handler: Handler
    help: str
    argument: str = ""
    choices: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    takes_files: bool = False


ELSEWHERE = {
    "tables": ".schema",
    "databases": ".stats",
    "d": ".schema",
    "dt": ".schema",
    "import": ".load FILE",
    "open": "gdbsh STORE",
    "dump": "gdbsh export STORE FOLDER",
    "backup": "gdbsh backup STORE FOLDER",
    "use": "gdbsh STORE",
    "q": ".quit",
    "params": ".param",
    "source": ".read FILE",
    "tee": ".output FILE",
    "headers": ".mode",
    "format": ".mode",
}
"""Commands of other shells, and what does the same here."""

COMMANDS: dict[str, Command] = {}  # by name, in the order of the help


def command(
    name: str,
    help: str,
    *,
    argument: str = "",
    choices: tuple[str, ...] = (),
    aliases: tuple[str, ...] = (),
    takes_files: bool = False,
) -> Callable[[Handler], Handler]:
    """Register the decorated function as a dot-command."""

    def register(handler: Handler) -> Handler:
        COMMANDS[name] = Command(name, handler, help, argument, choices, aliases, takes_files)
        return handler

    return register


def names() -> dict[str, Command]:
    """All names, aliases too."""
    return {name: held for held in COMMANDS.values() for name in (held.name, *held.aliases)}


def perform(session: Session, statement: Statement) -> None:
    """Run a statement: a dot-command or a query.

    Raises
    ------
    NameProblem : there is no such command, or its argument is none that it takes.
    GdbError : what the command or query raises.
    """
    if session.echo:
        session.say(statement.text if statement.is_command else f"{statement.text};")
    if not statement.is_command:
        session.query(statement.text)
        return
    typed, _, argument = statement.text.partition(" ")
    known, word = names(), f".{typed.lstrip('.:').lower()}"
    found = known.get(word)
    if found is None:
        same = ELSEWHERE.get(word.lstrip("."))
        cure = f"Write `{same}`." if same else did_you_mean(word, known)
        cure = cure or "`.help` lists the commands."
        raise NameProblem(f"there is no command {typed}.", cure)
    argument = argument.strip()
    if found.choices and argument and argument not in found.choices:
        cure = f"Write one of: {', '.join(found.choices)}."
        raise NameProblem(f"{word} does not take {argument!r}.", cure)
    if argument and not found.argument:
        raise NameProblem(f"{word} takes no argument.", f"Write just `{word}`.")
    found.handler(session, argument)


# ---- scripts -------------------------------------------------------------------------------------


def run(session: Session, statements: Iterable[Statement], source: str = "") -> None:
    """Run statements up to the first that fails, whose line is printed, or up to `.exit`.

    Raises
    ------
    GdbError : what the statement that fails raises; it is printed, but for Cancelled.
    """
    waiting = iter(statements)
    for number, statement in enumerate(waiting):
        try:
            perform(session, statement)
        except GdbError as error:
            if session.interactive or not isinstance(error, Cancelled):  # main reports it otherwise
                session.fail(error)
            if source or number or next(waiting, None) is not None:
                session.err.write(f"({where(statement, error, source)}; stopped there)\n")
            raise
        if session.leaving:
            break


def read(session: Session, path: str) -> None:
    """Run the statements of a file.

    Raises
    ------
    ArgumentProblem : it cannot be read, or is being read. GdbError : as `run`.
    """
    whole = os.path.realpath(path)
    if whole in session.reading:
        raise ArgumentProblem(f"{path} reads itself.", "Take the `.read` of it out of the file.")
    session.reading.append(whole)
    try:
        run(session, streamed(_lines(path)), path)
    finally:
        session.reading.pop()


def piped_lines(stream: TextIO) -> Iterator[str]:
    """The lines of standard input.

    Raises
    ------
    ArgumentProblem : they are no UTF-8 text.
    """
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(encoding="utf-8", errors="strict")
    try:
        yield from stream
    except UnicodeDecodeError as error:
        raise ArgumentProblem(
            f"the input is no UTF-8 text: {error.reason}.",
            "Convert it, as with `iconv -f latin1 -t utf-8`.",
        ) from None


def _lines(path: str) -> Iterator[str]:
    try:
        # a carriage return in a text is one: no line end is translated, as in standard input
        with Path(path).expanduser().open(encoding="utf-8", newline="\n") as file:
            yield from file
    except (OSError, RuntimeError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise ArgumentProblem(f"{path} cannot be read: {why}.", "Name a UTF-8 text file.") from None


# ---- the commands --------------------------------------------------------------------------------


@command(".help", "List the commands.")
def _help(session: Session, argument: str) -> None:
    shown = [
        (" ".join(filter(None, [", ".join((held.name, *held.aliases)), held.argument])), held.help)
        for held in COMMANDS.values()
    ]
    widest = max(len(usage) for usage, _ in shown)
    session.say("\n".join(f"{usage:<{widest}}  {help}" for usage, help in shown))
    session.say("Everything else is a query; it ends with a semicolon.")


@command(
    ".schema", "Show node labels, relationship types, their properties, and what the types join."
)
def _schema(session: Session, argument: str) -> None:
    schema = session.db.schema()
    joined = sorted(
        (_end(one.start), f"-[:{one.type}]-{'>' if one.directed else ''}", _end(one.end), one.count)
        for one in schema.joins()
    )
    session.say(str(schema))
    if joined:
        rows = [("".join(row[:3]), row[3]) for row in joined]
        session.say("\n".join(["", *table(("joins", "count"), rows, session.places())]))


def _end(kind: tuple[tuple[str, ...], str]) -> str:
    """The nodes at an end of a relationship, as a pattern."""
    return f"({''.join(f':{label}' for label in kind[0])})"


@command(".stats", "Show the size of the store and of each of its partitions.")
def _stats(session: Session, argument: str) -> None:
    stats = session.db.stats()
    session.say(
        f"version {stats.version}: {stats.vertices:,} nodes, {stats.edges:,} relationships,"
        f" {stats.bytes:,} bytes in {stats.files:,} files"
    )
    if stats.parts:
        head = ("type", "direction", "rows", "intervals", "edges", "bytes", "segments")
        rows = [
            (
                *(part.type, str(part.direction), part.rows, part.intervals),
                *(part.edges, part.bytes, part.segments),
            )
            for part in stats.parts
        ]
        session.say("\n".join(["", *table(head, rows, session.places())]))


@command(".check", "Read every file of the store and compare every invariant.")
def _check(session: Session, argument: str) -> None:
    from . import checking

    try:
        report = session.db.check()
    except CorruptStore as error:
        session.say("\n".join(checking.faults(error.faults)))
        raise
    session.say("\n".join(checking.lines(report, session.places())))


@command(
    ".load",
    "Import files into the store; .load --help lists the options.",
    argument="FILE... [options]",
    takes_files=True,
)
def _load(session: Session, argument: str) -> None:
    from . import loading

    parser = loading.Parser()
    arguments = loading.parse(parser, loading.words_of(argument))
    if arguments.options.help:
        session.say(parser.format_help().rstrip())
    else:
        if session.transaction is not None:
            raise ArgumentProblem(
                "files are loaded in a transaction of their own, and one is open.",
                "End it first: COMMIT or ROLLBACK.",
            )
        scripts = loading.scripts_of(parser, arguments, session.import_root)
        session.say(loading.load_files(session.db, arguments, scripts))


@command(
    ".draw",
    "Draw the nodes and relationships of the last answer, into an .svg or .html file.",
    argument="FILE",
    takes_files=True,
)
def _draw(session: Session, argument: str) -> None:
    if not argument:
        raise ArgumentProblem("there is no file.", "Write it: `.draw answer.svg`.")
    file = _one_file(argument, ".draw")
    checked_path(file)
    if not session.last:
        raise ArgumentProblem(
            "there is no answer to draw.",
            "Run a query first that reads: MATCH (a)-[r]->(b) RETURN a, r, b;",
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", QueryWarning)  # they were printed with the answer
        source = session.transaction or session.db
        answer = source.execute(session.last, session.parameters)
        session.say(f"{file}: {answer.draw(file)}")


# ---- the options ---------------------------------------------------------------------------------


def _register(setting: Setting) -> None:
    @command(f".{setting.name}", setting.help, argument=setting.usage, choices=setting.values)
    def _(session: Session, argument: str) -> None:
        if argument:
            setting.set(session, argument)
        else:
            session.say(setting.shown(session))


for _setting in SETTINGS.values():
    _register(_setting)


# ---- parameters ----------------------------------------------------------------------------------


@command(
    ".param",
    "Give $NAME a value; without VALUE forget it, without NAME list all.",
    argument="NAME VALUE",
)
def _param(session: Session, argument: str) -> None:
    name, _, value = argument.partition(" ")
    name = name.removeprefix("$")
    if not name:
        for known, held in session.parameters.items():
            session.say(f"${known} = {pasted(held)}")
    elif value.strip():
        give(session, name, value.strip().removeprefix("="))
    elif session.parameters.pop(name, _ABSENT) is _ABSENT:
        raise NameProblem(f"there is no parameter ${name}.", f"Give it a value: `.param {name} 1`.")


_ABSENT = object()


def give(session: Session, name: str, literal: str) -> None:
    """Give a parameter the value of a Cypher literal, or of an expression without variables, as date('2020-01-31').

    Raises
    ------
    ArgumentProblem : the text is none, or the name no name.
    """
    if not name.isidentifier():
        raise ArgumentProblem(f"{name!r} is no name of a parameter.", "Write it: `.param age 30`.")
    try:
        found = session.db.execute(f"RETURN ({literal}\n) AS value").fetchall()
    except GdbError as error:
        cure = "Write it as Cypher does: 30, 'text', [1, 2], {a: 1}, date('2020-01-31')."
        # its place is one in the query that was made of it
        reason = _PLACE.sub("", error.message)
        if error.line == literal.count("\n") + 2:  # behind the text, where the user wrote nothing
            reason = reason.replace("expected the end of the query, found ')'", _CLOSES)
            reason = _FOUND.sub(", but the text ends there", reason)
        raise ArgumentProblem(f"{literal} is no value: {reason}", cure) from None
    session.parameters[name] = found[0][0]


# ---- files ---------------------------------------------------------------------------------------


def _one_file(argument: str, word: str) -> str:
    """The one file that is named, in quotes or not."""
    try:
        files = shlex.split(argument)
    except ValueError:
        files = []
    if len(files) != 1:
        raise ArgumentProblem(f"{word} takes one file.", f"Write it: `{word} 'my file'`.")
    return files[0]


@command(".read", "Run the statements of a file.", argument="FILE", takes_files=True)
def _read(session: Session, argument: str) -> None:
    read(session, _one_file(argument, ".read"))


@command(
    ".output",
    "Write answers into a file, which is made anew; without FILE to the terminal again.",
    argument="FILE",
    takes_files=True,
)
def _output(session: Session, argument: str) -> None:
    session.send_to(_one_file(argument, ".output") if argument else None)


@command(".once", "Write the next answer into a file.", argument="FILE", takes_files=True)
def _once(session: Session, argument: str) -> None:
    session.send_next_to(_one_file(argument, ".once"))


# ---- saved queries -------------------------------------------------------------------------------


@command(".save", "Keep the last query under a name.", argument="NAME")
def _save(session: Session, argument: str) -> None:
    if not session.typed:
        raise ArgumentProblem("there is no query to save.", "Run one first.")
    session.say(f"saved as {saved_queries.save(argument, session.typed)}")


@command(".queries", "List the saved queries.")
def _queries(session: Session, argument: str) -> None:
    for name, text in saved_queries.list_queries():
        session.say(f"{name}: {' '.join(text.split())}")


@command(".run", "Run a saved query.", argument="NAME")
def _run(session: Session, argument: str) -> None:
    read(session, str(saved_queries.file_of(argument)))


@command(".edit", "Write a statement in $EDITOR, beginning with the last query, and run it.")
def _edit(session: Session, argument: str) -> None:
    run(session, all_of(saved_queries.edit_text(session.typed)))


# ---- transactions --------------------------------------------------------------------------------


@command(".begin", "Open a transaction: what follows is kept by COMMIT, all or nothing.")
def _begin(session: Session, argument: str) -> None:
    session.begin()


@command(".commit", "Keep what the transaction has changed.")
def _commit(session: Session, argument: str) -> None:
    session.commit()


@command(".rollback", "Drop what the transaction has changed.")
def _rollback(session: Session, argument: str) -> None:
    session.rollback()


@command(".exit", "Leave the shell (as Ctrl-D does).", aliases=(".quit",))
def _exit(session: Session, argument: str) -> None:
    session.leaving = True
