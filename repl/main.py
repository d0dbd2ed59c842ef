"""The command `gdbsh`: a shell on a store, and create, load, check, compact, backup, export and demo beside it."""

from __future__ import annotations

import argparse
import io
import os
import shlex
import shutil
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import gdb
from gdb.errors import Cancelled, FolderTaken, GdbError, NotAStore, PlacedError
from gdb.language.suggest import did_you_mean
from gdb.repl.format import Format

if TYPE_CHECKING:
    from gdb.repl.session import Session
    from gdb.repl.statements import Statement

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
        print(f"error: {error}", file=sys.stderr)
        return FAILED


# ---- gdbsh STORE ---------------------------------------------------------------------------------


def _shell(words: Sequence[str]) -> int:
    parser = _parser("gdbsh", "Ask a graph database Cypher questions.", _EPILOG)
    parser.add_argument(
        "store",
        metavar="STORE",
        nargs="?",
        help="folder of the store; without one, a graph in memory that is gone in the end",
    )
    parser.add_argument(
        "-c", dest="commands", metavar="TEXT", action="append", help="run this and leave"
    )
    parser.add_argument("--format", choices=[*map(str, Format)], help="default: table")
    parser.add_argument("--guard-formulas", action="store_true", help=_GUARD)
    parser.add_argument(
        "--limit",
        metavar="NAME=NUMBER",
        action="append",
        default=[],
        type=_limit,
        help="a limit on queries, as in MAX_ROWS=1000; may be repeated (docs/LANGUAGE.md, Limits)",
    )
    parser.add_argument("--read-only", action="store_true", help="never write to the store")
    _add_import_root(parser)
    parser.add_argument("--version", action="version", version=f"gdbsh {gdb.__version__}")
    given, others = parser.parse_known_args(words)
    if others:
        near = did_you_mean(given.store or "", _USES, "gdbsh ")
        parser.error(f"there is too much: {' '.join(others)}. {near}".strip())

    from gdb.repl.session import Session
    from gdb.repl.statements import all_of, streamed

    store = given.store
    if store and _is_free(Path(store)):  # a mistyped name shall not make a store
        quoted = shlex.quote(store)
        raise NotAStore(
            f"there is no store {store}.",
            f"Make one: `gdbsh create {quoted}`, or of files `gdbsh load {quoted} FILE...`.",
        )
    with gdb.connect(
        store,
        read_only=given.read_only,
        create=False,
        import_root=given.import_root,
        limits={"MAX_QUERY_CHARACTERS": CHARACTERS, **dict(given.limit)},
    ) as db:
        session = Session(
            db,
            sys.stdout,
            sys.stderr,
            Format(given.format or Format.TABLE),
            given.guard_formulas,
        )
        if given.commands is not None:
            return _run(session, [held for text in given.commands for held in all_of(text)])
        if not sys.stdin.isatty():
            return _run(session, streamed(sys.stdin))
        from gdb.repl import shell

        session.interactive = True
        shell.run(
            session,
            f"gdb {gdb.__version__}: {store or 'in memory'}, {_sizes(db)}.\nA query ends with a semicolon;"
            " .help lists the commands, Ctrl-D leaves.",
        )
        return 0


def _sizes(db: gdb.Database) -> str:
    stats = db.stats()
    counts = (stats.vertices, "node"), (stats.edges, "relationship")
    return " and ".join(f"{n:,} {what}{'s' * (n != 1)}" for n, what in counts)


def _limit(text: str) -> tuple[str, float]:
    """A limit by its name, in either case."""
    name, _, number = text.partition("=")
    try:
        return name.strip().upper().replace("-", "_"), float(number.replace("_", ""))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=NUMBER") from None


def _run(session: Session, statements: Iterable[Statement]) -> int:
    """Run statements up to the first that fails."""
    from gdb.repl.commands import perform

    waiting = iter(statements)
    for number, statement in enumerate(waiting):
        try:
            perform(session, statement)
        except GdbError as error:
            if not isinstance(error, Cancelled):
                session.fail(error)
            if number or next(waiting, None) is not None:
                session.err.write(f"({_where(statement, error)}; stopped there)\n")
            if isinstance(error, Cancelled):
                raise
            return FAILED
        if session.leaving:
            break
    return 0


def _where(statement: Statement, error: GdbError) -> str:
    """The line of a statement, and that of its error where it is another one."""
    where = f"in the statement at line {statement.line}"
    if isinstance(error, PlacedError) and error.line is not None and error.line > 1:
        where += f", the error at line {statement.line + error.line - 1}"
    return where


# ---- gdbsh create, load, check, compact, backup, export, demo --------------------------------------------------------


def _create(words: Sequence[str]) -> int:
    parser = _parser("gdbsh create", "Make an empty store; gdbsh STORE opens it.")
    parser.add_argument("store", metavar="STORE", help="a new folder, or an empty one")
    given = parser.parse_args(words)
    path, opens = Path(given.store), f"gdbsh {shlex.quote(given.store)}"
    if not _is_free(path):
        raise FolderTaken(
            f"there is something at {path} already.", f"If that is a store, `{opens}` opens it."
        )
    with gdb.connect(path):
        print(f"{path}: an empty store; `{opens}` opens it")
    return 0


def _is_free(path: Path) -> bool:
    """Whether a store can be made there: nothing is, or an empty folder."""
    return not path.exists() or (path.is_dir() and not any(path.iterdir()))


def _load(words: Sequence[str]) -> int:
    from gdb.repl import loading

    parser = _parser("gdbsh load", "Import files into a store, which is made where there is none.")
    parser.add_argument("store", metavar="STORE", help="folder of the store")
    loading.add_options(parser)
    _add_import_root(parser)
    given = loading.parse(parser, words)
    store = Path(given.options.store)
    existed, made = store.exists(), _is_free(store)
    with gdb.connect(store, import_root=given.options.import_root) as db:
        try:
            print(loading.load(db, given))
            return 0
        except (GdbError, OSError, KeyboardInterrupt) as error:
            made = made and not db.execute("MATCH (n) RETURN count(*)").scalar()
            failed = error
    if made:
        _unmake(store, keep=existed)
    raise failed


def _unmake(store: Path, *, keep: bool) -> None:
    """Remove a store that was made for a load that failed; keep : its folder, which was there before."""
    shutil.rmtree(store)
    if keep:
        store.mkdir()


def _check(words: Sequence[str]) -> int:
    from gdb.repl import checking

    parser = _parser(
        "gdbsh check",
        "Read every file of a store and compare every invariant; exit code 1 where one does not hold.",
    )
    parser.add_argument("store", metavar="STORE", help="folder of the store")
    given = parser.parse_args(words)
    report = checking.check(Path(given.store))
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    print("\n".join(checking.lines(report, width)))
    return FAILED if report.faults else 0


def _compact(words: Sequence[str]) -> int:
    from gdb.repl import loading

    parser = _parser(
        "gdbsh compact", "Write a store anew with all that was changed since it was written whole."
    )
    parser.add_argument("store", metavar="STORE", help="folder of the store")
    parser.add_argument("--memory", metavar="SIZE", help="that it may take (half of what there is)")
    loading.add_packed(parser)
    given = parser.parse_args(words)
    with gdb.connect(given.store, create=False) as db:
        before, stats = db.stats().changes, db.compact(given.memory, given.packed)
    print(f"{given.store}: {before:,} changes written into {stats.bytes:,} bytes")
    return 0


def _backup(words: Sequence[str]) -> int:
    parser = _parser("gdbsh backup", "Copy a store to a new folder, verified, all or nothing.")
    parser.add_argument("store", metavar="STORE", help="folder of the store")
    parser.add_argument("folder", metavar="FOLDER", help="the copy; must not exist, or be empty")
    given = parser.parse_args(words)
    with gdb.connect(given.store, read_only=True) as db:
        stats = db.backup(given.folder)
    print(f"{given.folder}: version {stats.version}, {stats.files:,} files ({stats.bytes:,} bytes)")
    return 0


def _export(words: Sequence[str]) -> int:
    parser = _parser(
        "gdbsh export",
        "Write the graph into a new folder, all of it or nothing; gdbsh load STORE FOLDER reads it.",
    )
    parser.add_argument("store", metavar="STORE", help="folder of the store")
    parser.add_argument("folder", metavar="FOLDER", help="must not exist, or be empty")
    parser.add_argument("--format", choices=["csv", "parquet"], default="csv", help="default: csv")
    parser.add_argument("--guard-formulas", action="store_true", help=_GUARD)
    given = parser.parse_args(words)
    with gdb.connect(given.store, read_only=True) as db:
        stats = db.export(given.folder, given.format, guard_formulas=given.guard_formulas)
    print(f"{given.folder}: {stats.vertices:,} nodes and {stats.edges:,} relationships")
    return 0


def _demo(words: Sequence[str]) -> int:
    parser = _parser("gdbsh demo", "A tour on the code graph of the Python library.")
    parser.add_argument("--store", metavar="PATH", type=Path, help="keep the graph there")
    given = parser.parse_args(words)
    from gdb.repl import demo

    demo.run(given.store, sys.stdout)
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


def _parser(name: str, description: str, epilog: str | None = None) -> argparse.ArgumentParser:
    return argparse.ArgumentParser(
        name,
        description=description,
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )


if __name__ == "__main__":
    sys.exit(main())
