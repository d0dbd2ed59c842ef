"""The dot-commands: a decorator registers a handler with its help.

`.help`, completion and a test read the registry.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TypeAlias

from gdb.answer.drawing.drawing import checked_path
from gdb.errors import ArgumentProblem, CorruptStore, NameProblem, QueryWarning
from gdb.language.suggest import did_you_mean
from gdb.records import dataclass
from gdb.repl.format import Format
from gdb.repl.session import Session
from gdb.repl.statements import Statement

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
    if not statement.is_command:
        session.query(statement.text)
        return
    typed, _, argument = statement.text.partition(" ")
    known, word = names(), f".{typed.lstrip('.:').lower()}"
    found = known.get(word)
    if found is None:
        cure = did_you_mean(word, known) or "`.help` lists the commands."
        raise NameProblem(f"there is no command {typed}.", cure)
    argument = argument.strip()
    if found.choices and argument and argument not in found.choices:
        cure = f"Write one of: {', '.join(found.choices)}."
        raise NameProblem(f"{word} does not take {argument!r}.", cure)
    if argument and not found.argument:
        raise NameProblem(f"{word} takes no argument.", f"Write just `{word}`.")
    found.handler(session, argument)


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


@command(".schema", "Show node labels, relationship types and their properties.")
def _schema(session: Session, argument: str) -> None:
    session.say(str(session.db.schema()))


@command(".stats", "Show the size of the store and of each of its partitions.")
def _stats(session: Session, argument: str) -> None:
    from gdb.answer.table import table

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
        session.say("\n".join(["", *table(head, rows, session.width())]))


@command(".check", "Read every file of the store and compare every invariant.")
def _check(session: Session, argument: str) -> None:
    from gdb.repl import checking

    try:
        report = session.db.check()
    except CorruptStore as error:
        session.say("\n".join(checking.faults(error.faults)))
        raise
    session.say("\n".join(checking.lines(report, session.width())))


@command(
    ".load",
    "Import files into the store; .load --help lists the options.",
    argument="FILE... [options]",
    takes_files=True,
)
def _load(session: Session, argument: str) -> None:
    from gdb.repl import loading

    parser = loading.Parser()
    given = loading.parse(parser, loading.words_of(argument))
    if given.options.help:
        session.say(parser.format_help().rstrip())
    else:
        session.say(str(loading.load(session.db, given)))


@command(
    ".draw",
    "Draw the nodes and relationships of the last answer, into an .svg or .html file.",
    argument="FILE",
)
def _draw(session: Session, argument: str) -> None:
    if not argument:
        raise ArgumentProblem("there is no file.", "Write it: `.draw answer.svg`.")
    checked_path(argument)
    if not session.last:
        raise ArgumentProblem(
            "there is no answer to draw.",
            "Run a query first that reads: MATCH (a)-[r]->(b) RETURN a, r, b;",
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", QueryWarning)  # they were printed with the answer
        session.say(f"{argument}: {session.db.execute(session.last).draw(argument)}")


@command(".timer", "Tell how long each query took.", argument="on|off", choices=("on", "off"))
def _timer(session: Session, argument: str) -> None:
    if argument:
        session.timer = argument == "on"
    else:
        session.say(f"timer {'on' if session.timer else 'off'}")


@command(
    ".mode",
    "Choose how answers look.",
    argument="|".join(Format),
    choices=tuple(map(str, Format)),
)
def _mode(session: Session, argument: str) -> None:
    if argument:
        session.format = Format(argument)
    else:
        session.say(f"mode {session.format}")


@command(".exit", "Leave the shell (as Ctrl-D does).", aliases=(".quit",))
def _exit(session: Session, argument: str) -> None:
    session.leaving = True
