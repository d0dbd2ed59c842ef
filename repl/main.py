"""The command `gdbsh`: a shell on a store, and create, load, check, compact, backup, export and demo beside it."""

from __future__ import annotations

import argparse
import io
import os
import shlex
import shutil
import sys
from collections.abc import Callable, Sequence
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gdb
from gdb.answer.summary import counted
from gdb.errors import Cancelled, FolderTaken, GdbError, NotAStore
from gdb.language.suggest import did_you_mean
from gdb.run.options import folder
from gdb.run.store_urls import is_url

from .settings import SETTINGS, Setting
from .wording import in_words

if TYPE_CHECKING:
    from .session import Session

_GUARD = "in CSV, an apostrophe before texts that spreadsheets would take for formulas"
FAILED, USAGE, INTERRUPTED = 1, 2, 130  # exit codes; 0 is success
CHARACTERS = 100_000_000
"""Of a statement: who types it, or runs a script, may read what they like."""

_EPILOG = """\
other uses:
  gdbsh create STORE         make an empty store
  gdbsh load STORE FILE...   import edge lists, tables or exports (gdbsh load --help)
  gdbsh check STORE          compare every invariant of a store
  gdbsh compact STORE        write it anew with what transactions changed
  gdbsh backup STORE FOLDER  copy a store, also while another process writes to it
  gdbsh export STORE FOLDER  write the graph as CSV or Parquet files
  gdbsh demo                 a tour on the code of the Python library

A store that has one of these names is opened as ./load. Statements are read from
standard input when it is no terminal.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and give its exit code: 0, 1 an error, 2 a wrong use, 130 Ctrl-C."""
    words = list(sys.argv[1:] if argv is None else argv)
    _open_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a character that the terminal lacks is no error
            stream.reconfigure(errors="backslashreplace")
    use = _USES.get(words[0]) if words else None
    try:
        code = use(words[1:]) if use else _shell(words)
        sys.stdout.flush()
        return code
    except BrokenPipeError:  # as in `| head`: the reader has enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (KeyboardInterrupt, Cancelled) as error:
        late = isinstance(error, Cancelled) and error.committed
        print(f"cancelled: {error}" if late else "cancelled", file=sys.stderr)
        return INTERRUPTED
    except (GdbError, OSError) as error:
        print(f"error: {in_words(error)}", file=sys.stderr)
        return FAILED


def _open_closed_streams() -> None:
    """Open the null device in place of standard streams that the caller has closed, as `>&-` does: Python has None for
    them, and a file of the store could get their number, which what prints in C would then write to."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode))


# ---- gdbsh STORE ---------------------------------------------------------------------------------


def _shell(words: Sequence[str]) -> int:
    parser = _parser("gdbsh", "Run Cypher queries on a graph database.", _EPILOG, "")
    parser.add_argument(
        "store",
        metavar="STORE",
        nargs="?",
        help="folder of the store, or a URL; without one, a graph in memory that is gone in the end",
    )
    _add_statements(parser)
    _add_settings(parser)
    parser.add_argument(
        "--limit",
        metavar="NAME=NUMBER",
        action="append",
        default=[],
        type=_limit,
        help="a limit on queries, as in MAX_ROWS=1000; may be repeated (docs/LANGUAGE.md, Limits)",
    )
    parser.add_argument("--read-only", action="store_true", help="never write to the store")
    parser.add_argument(
        "--gpu-memory",
        metavar="SIZE",
        help="of each GPU that a query may hold, as in 2GB (a share of what is free)",
    )
    parser.add_argument(
        "--memory", metavar="SIZE", help="that a query may hold, as in 512MB (no bound)"
    )
    _add_import_root(parser)
    parser.add_argument("--version", action="version", version=f"gdbsh {gdb.__version__}")
    arguments, others = parser.parse_known_args(words)
    if others:
        meant = _meant(parser, arguments.store or "", others)
        parser.error(f"there is too much: {' '.join(others)}. {meant}".strip())

    from .session import Session

    store, url = arguments.store, is_url(arguments.store)
    if store and not url and _is_free(folder(store)):  # a mistyped name shall not make a store
        if "(" in store:
            raise NotAStore(f"there is no store {store}.", "A query goes after -c.")
        quoted = shlex.quote(store)
        raise NotAStore(
            f"there is no store {store}.",
            f"Make one: `gdbsh create {quoted}`, or of files `gdbsh load {quoted} FILE...`.",
        )
    if store and Path(store).is_file():
        quoted = shlex.quote(store)
        raise NotAStore(
            f"{store} is a file, and a store is a folder.",
            f"Load a file of data or Cypher into a store: `gdbsh load NEW.gdb {quoted}`; "
            f"run statements in one that is there: `gdbsh STORE -f {quoted}`.",
        )
    with gdb.connect(
        store,
        read_only=arguments.read_only or url,
        create=False,
        import_root=arguments.import_root,
        limits={"MAX_QUERY_CHARACTERS": CHARACTERS, **dict(arguments.limit)},
        memory=arguments.memory,
        gpu_memory=arguments.gpu_memory,
    ) as db:
        session = Session(db, sys.stdout, sys.stderr, import_root=arguments.import_root)
        try:
            code = _use(session, arguments)
        finally:
            left_open = session.close()
        return code or (FAILED if left_open and not session.interactive else 0)


def _use(session: Session, arguments: argparse.Namespace) -> int:
    """Run what the options say, or what a person types."""
    from . import commands, folders
    from .statements import streamed

    people = arguments.sources is None and sys.stdin.isatty()
    session.interactive = people
    if people and not arguments.no_rc:
        start = folders.start_file()
        if start is not None:
            _run(session, lambda: commands.read(session, str(start)))
    for name, text in arguments.settings:
        SETTINGS[name].set(session, text)
    for name, text in arguments.params:
        commands.give(session, name, text)
    if arguments.sources is not None:
        return _run(session, lambda: _run_sources(session, arguments.sources))
    if not people:
        return _run(
            session, lambda: commands.run(session, streamed(commands.piped_lines(sys.stdin)))
        )
    from . import shell

    shell.run(
        session,
        f"gdb {gdb.__version__}: {arguments.store or 'in memory'}, {_sizes(session.db)}.\n"
        "A query ends with a semicolon; .help lists the commands, Ctrl-D leaves.",
    )
    return 0


def _run_sources(session: Session, sources: Sequence[tuple[str, str]]) -> None:
    """Run texts of -c, which count as one, and files of -f, in their order."""
    from . import commands
    from .statements import all_of

    for is_file, group in groupby(sources, lambda source: source[0] == "-f"):
        held = [text for _, text in group]
        if is_file:
            for path in held:
                if not session.leaving:
                    commands.read(session, path)
        elif not session.leaving:
            commands.run(session, [one for text in held for one in all_of(text)])


def _run(session: Session, work: Callable[[], None]) -> int:
    """Do some work; an error is printed and becomes the exit code."""
    try:
        work()
    except Cancelled:
        raise
    except GdbError as error:
        session.fail(error)
        return FAILED
    return 0


def _sizes(db: gdb.Database) -> str:
    stats = db.stats()
    counts = (stats.vertices, "node"), (stats.edges, "relationship")
    return " and ".join(counted(n, what) for n, what in counts)


def _limit(text: str) -> tuple[str, float]:
    """A limit by its name, in either case."""
    name, _, number = text.partition("=")
    try:
        return name.strip().upper().replace("-", "_"), float(number.replace("_", ""))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=NUMBER") from None


class _Append(argparse.Action):
    """Keeps values with the option that gave them, in the order of the command line."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: object,
        option_string: str | None = None,
    ) -> None:
        value = self.const if self.nargs == 0 else values
        named = str(self.metavar).lower() if self.dest == "settings" else option_string
        setattr(namespace, self.dest, [*(getattr(namespace, self.dest) or []), (named, value)])


def _add_statements(parser: argparse.ArgumentParser) -> None:
    adding = partial(parser.add_argument, dest="sources", action=_Append)
    adding("-c", metavar="TEXT", help="run this and leave; may be repeated")
    adding("-f", metavar="FILE", help="run the statements of this file and leave; may be repeated")
    parser.add_argument(
        "--param",
        dest="params",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        type=_parameter,
        help="value of $NAME in queries, as Cypher writes it; may be repeated",
    )
    parser.add_argument("--no-rc", action="store_true", help="do not read the start-up file")


def _add_settings(parser: argparse.ArgumentParser) -> None:
    """An option for each of the shell's settings; those that are on or off take no value."""
    for setting in SETTINGS.values():
        flags = [f"--{setting.name}", *(["--format"] if setting.name == "mode" else [])]
        switch = setting.values == ("on", "off")
        how: dict[str, Any] = {"nargs": 0, "const": "on"} if switch else {"type": _checked(setting)}
        parser.add_argument(
            *flags, dest="settings", action=_Append, default=[], metavar=setting.name.upper(),
            help=setting.help + ("" if switch else f" {setting.usage}"), **how
        )  # fmt: skip


def _checked(setting: Setting) -> Callable[[str], str]:
    def check(text: str) -> str:
        try:
            setting.read(text)
        except (ValueError, KeyError):
            words = setting.usage.replace("|", ", ")
            raise argparse.ArgumentTypeError(f"{text!r} is none of: {words}") from None
        return text

    return check


def _parameter(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not value.strip():
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    return name.strip().removeprefix("$"), value.strip()


# ---- gdbsh create, load, check, compact, backup, export, demo --------------------------------------------------------


def _create(words: Sequence[str]) -> int:
    what = "a new folder, or an empty one"
    parser = _parser("gdbsh create", "Make an empty store; gdbsh STORE opens it.", store=what)
    arguments = parser.parse_args(words)
    path, opens = Path(arguments.store), f"gdbsh {shlex.quote(arguments.store)}"
    if not _is_free(path):
        raise FolderTaken(
            f"there is something at {path} already.", f"If that is a store, `{opens}` opens it."
        )
    with gdb.connect(arguments.store):
        print(f"{path}: an empty store; `{opens}` opens it")
    return 0


def _meant(parser: argparse.ArgumentParser, store: str, others: Sequence[str]) -> str:
    """What was probably meant by arguments that are too many."""
    first = others[0]
    if first.startswith("-"):
        options = [option for action in parser._actions for option in action.option_strings]
        return did_you_mean(first.partition("=")[0], options)
    if " " in first:
        return f"A query goes after -c: gdbsh {shlex.quote(store)} -c {shlex.quote(first)}."
    return did_you_mean(store, _USES, "gdbsh ")


def _is_free(path: Path) -> bool:
    """Whether a store can be made there: nothing is, or an empty folder."""
    return not path.exists() or (path.is_dir() and not any(path.iterdir()))


def _load(words: Sequence[str]) -> int:
    from . import loading

    parser = _parser("gdbsh load", "Import files into a store, which is made where there is none.")
    loading.add_options(parser)
    _add_import_root(parser)
    files = [word for word in words if Path(word).is_file()]
    if words and files == list(words):  # `gdbsh load a.csv`: no store is named
        named = " ".join(map(shlex.quote, words))
        parser.error(f"{words[0]} is a file; name the store first: gdbsh load NEW.gdb {named}")
    arguments = loading.parse(parser, words)
    limits = {"MAX_QUERY_CHARACTERS": CHARACTERS}
    root = arguments.options.import_root
    scripts = loading.scripts_of(parser, arguments, root)
    with gdb.connect(arguments.options.store, import_root=root, limits=limits) as db:
        print(loading.load_files(db, arguments, scripts))
    return 0


def _check(words: Sequence[str]) -> int:
    from . import checking

    parser = _parser(
        "gdbsh check",
        "Read every file of a store and compare every invariant; exit code 1 where one does not hold.",
    )
    arguments = parser.parse_args(words)
    report = checking.check(arguments.store)
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    print("\n".join(checking.lines(report, width)))
    return FAILED if report.faults else 0


def _compact(words: Sequence[str]) -> int:
    from . import loading

    parser = _parser(
        "gdbsh compact", "Write a store anew with all that was changed since it was written whole."
    )
    parser.add_argument("--memory", metavar="SIZE", help="that it may take (half of what there is)")
    loading.add_packed(parser)
    arguments = parser.parse_args(words)
    with gdb.connect(arguments.store, create=False) as db:
        before, stats = db.stats().changes, db.compact(arguments.memory, arguments.packed)
    print(f"{arguments.store}: {before:,} changes written into {stats.bytes:,} bytes")
    return 0


def _backup(words: Sequence[str]) -> int:
    parser = _parser("gdbsh backup", "Copy a store to a new folder, verified, all or nothing.")
    parser.add_argument("folder", metavar="FOLDER", help="the copy; must not exist, or be empty")
    arguments = parser.parse_args(words)
    with gdb.connect(arguments.store, read_only=True) as db:
        stats = db.backup(arguments.folder)
    print(
        f"{arguments.folder}: version {stats.version}, {stats.files:,} files ({stats.bytes:,} bytes)"
    )
    return 0


def _export(words: Sequence[str]) -> int:
    parser = _parser(
        "gdbsh export",
        "Write the graph into a new folder, all of it or nothing; gdbsh load STORE FOLDER reads it.",
    )
    parser.add_argument("folder", metavar="FOLDER", help="must not exist, or be empty")
    parser.add_argument("--format", choices=["csv", "parquet"], default="csv", help="default: csv")
    parser.add_argument("--guard-formulas", action="store_true", help=_GUARD)
    arguments = parser.parse_args(words)
    with gdb.connect(arguments.store, read_only=True) as db:
        stats = db.export(
            arguments.folder, arguments.format, guard_formulas=arguments.guard_formulas
        )
    print(f"{arguments.folder}: {stats.vertices:,} nodes and {stats.edges:,} relationships")
    return 0


def _demo(words: Sequence[str]) -> int:
    parser = _parser("gdbsh demo", "A tour on the code graph of the Python library.", store="")
    parser.add_argument("--store", metavar="PATH", type=Path, help="keep the graph there")
    arguments = parser.parse_args(words)
    from . import demo

    demo.run(arguments.store, sys.stdout)
    return 0


_USES: dict[str, Callable[[Sequence[str]], int]] = {
    "create": _create,
    "load": _load,
    "check": _check,
    "compact": _compact,
    "backup": _backup,
    "export": _export,
    "demo": _demo,
}


def _add_import_root(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--import-root", metavar="DIR", help="files that are read must lie in this folder"
    )


def _parser(
    name: str, description: str, epilog: str | None = None, store: str = "folder of the store"
) -> argparse.ArgumentParser:
    """A parser of words; `store` is the help of its first argument, "" for none."""
    parser = argparse.ArgumentParser(
        name,
        description=description,
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    if store:
        parser.add_argument("store", metavar="STORE", help=store)
    return parser


if __name__ == "__main__":
    sys.exit(main())
