"""What `gdbsh load` and `.load` take and do: one list of options, which are those of `Database.load`."""

from __future__ import annotations

import argparse
import csv
import re
import shlex
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from gdb.errors import GdbError, LinesSkipped
from gdb.records import dataclass

if TYPE_CHECKING:
    from gdb.api.database import Database
    from gdb.storage.importer import LoadReport

_CHARACTERS = {"tab": "\t", "\\t": "\t", "space": " "}  # what is hard to type in a shell


class Parser(argparse.ArgumentParser):
    """For `.load`: what is wrong is an error of the statement, and no end of the program."""

    def __init__(self) -> None:
        super().__init__(
            ".load",
            description="Import files into the store: all of them or, on any error, nothing.",
            allow_abbrev=False,
            add_help=False,
        )
        add_options(self)
        self.add_argument("-h", "--help", action="store_true", help="show this")

    def error(self, message: str) -> NoReturn:
        raise GdbError(f"{self.prog}: {message}.", "`.load --help` shows what it takes.")


def words_of(text: str) -> list[str]:
    """The words of a line, split as a POSIX shell does: names with blanks stand in quotes.

    Raises
    ------
    GdbError : a quote is not closed.
    """
    try:
        return shlex.split(text)
    except ValueError as error:
        raise GdbError(
            f"{str(error)[:1].lower()}{str(error)[1:]} in {text}.", "Close the quote."
        ) from None


def option_names() -> tuple[str, ...]:
    """All options, for completion."""
    return tuple(dict.fromkeys(re.findall(r"--[\w-]+", Parser().format_usage())))


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the files and options of an import to a parser."""
    parser.add_argument(
        "files", metavar="FILE", nargs="*", help="edge lists, tables, .graph files or exports"
    )
    for name, kind in (("--nodes", "LABEL"), ("--edges", "TYPE[:START:END]")):
        parser.add_argument(
            name,
            metavar=f"[{kind}=]FILE",
            action="append",
            help="CSV or Parquet file with a neo4j-admin header, or HEADER,PART,... of one table, or a "
            "pattern such as 'part*.csv'; may be repeated",
        )
    _add_content(parser)
    _add_written(parser)


def _add_content(parser: argparse.ArgumentParser) -> None:
    graph = parser.add_argument_group("what the files hold")
    graph.add_argument("--type", help="relationship type, where the files name none")
    graph.add_argument("--label", help="node label, where the files name none")
    graph.add_argument("--undirected", action="store_true", help="relationships go both ways")
    graph.add_argument("--id-space", metavar="SPACE", help="of nodes, where the files name none")
    graph.add_argument(
        "--ends", nargs=2, metavar=("START", "END"), help="id spaces of the relationships' ends"
    )
    graph.add_argument(
        "--missing-ends", choices=["create", "refuse"], help="nodes that no file holds"
    )
    for name in ("--multi-edges", "--self-loops"):
        graph.add_argument(name, choices=["keep", "drop"], default="keep", help="default: keep")


def _add_written(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("how they are written")
    group.add_argument(
        "--format",
        choices=["auto", "snap", "csv", "parquet", "graph", "mtx"],
        default="auto",
        help="default: as it looks",
    )
    group.add_argument(
        "--columns", metavar="A,B,...", type=_columns, help="header fields of a CSV without header"
    )
    group.add_argument(
        "--delimiter", metavar="CHAR", type=_character, help="of a CSV; tab is a word for it"
    )
    group.add_argument(
        "--header",
        action=argparse.BooleanOptionalAction,
        help="whether a CSV has a header, if not as it looks",
    )
    group.add_argument(
        "--on-duplicate",
        choices=["error", "skip", "update"],
        default="error",
        help="at a node whose id is there already (error)",
    )
    group.add_argument(
        "--on-error", choices=["raise", "skip"], default="raise", help="at a bad line (raise)"
    )
    group.add_argument(
        "--max-errors", metavar="N", type=int, default=1000, help="most lines to skip (1000)"
    )
    group.add_argument(
        "--rejects-file", metavar="FILE", type=_path, help="a new CSV file for the skipped lines"
    )
    group.add_argument(
        "--max-unpacked",
        metavar="SIZE",
        default="16MiB",
        help="that any file may unpack to (16MiB)",
    )
    group.add_argument(
        "--memory", metavar="SIZE", help="that the import may take (half of what there is)"
    )
    add_packed(group)


def add_packed(group: argparse._ActionsContainer) -> None:
    """Add what `gdbsh load` and `gdbsh compact` are told of the form of the store."""
    group.add_argument(
        "--packed",
        action=argparse.BooleanOptionalAction,
        help="keep the store in fewer bytes, or not; it stays so (default: as it is)",
    )


def _columns(text: str) -> list[str]:
    return next(csv.reader([text]), [])


def _character(text: str) -> str:
    return _CHARACTERS.get(text, text)


@dataclass(frozen=True, slots=True)
class Given:
    """What was asked for: the options, and the files by label and type where they have one."""

    options: argparse.Namespace
    nodes: list[Path] | dict[str, list[Path]] | None
    edges: list[Path] | dict[str, list[Path]] | None


def parse(parser: argparse.ArgumentParser, words: Sequence[str]) -> Given:
    """What the words ask for; what is wrong with them is told by `parser.error`."""
    options = parser.parse_intermixed_args(words)  # files may stand before and behind options
    asks_for_help = getattr(options, "help", False)
    if not (options.files or options.nodes or options.edges or asks_for_help):
        parser.error("give a FILE, or --nodes and --edges")
    return Given(options, _named(parser, options.nodes), _named(parser, options.edges))


def _named(
    parser: argparse.ArgumentParser, given: Sequence[str] | None
) -> list[Path] | dict[str, list[Path]] | None:
    """Files as they are, or by name where they are written NAME=FILE."""
    if given is None:
        return None
    files: dict[str, list[Path]] = {}
    plain: list[Path] = []
    for word in given:
        name, sign, file = word.partition("=")
        if sign and name and not _path(word).exists():
            files.setdefault(name, []).append(_path(file))
        else:
            plain.append(_path(word))
    if files and plain:
        parser.error(f"write NAME=FILE for all of them or for none: {plain[0]} has no name")
    return files or plain


def load(db: Database, given: Given) -> LoadReport:
    """Import what was asked for.

    Raises
    ------
    GdbError : what `Database.load` raises; nothing was stored.
    """
    options = given.options
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LinesSkipped)  # the report says so as well
        return db.load(
            [_path(file) for file in options.files] or None,
            nodes=given.nodes,
            edges=given.edges,
            format=options.format,
            type=options.type,
            label=options.label,
            directed=not options.undirected,
            columns=options.columns,
            delimiter=options.delimiter,
            header=options.header,
            id_space=options.id_space,
            ends=tuple(options.ends) if options.ends else None,
            missing_ends=options.missing_ends,
            multi_edges=options.multi_edges,
            self_loops=options.self_loops,
            on_duplicate=options.on_duplicate,
            on_error=options.on_error,
            max_errors=options.max_errors,
            rejects_file=options.rejects_file,
            max_unpacked=options.max_unpacked,
            memory=options.memory,
            packed=options.packed,
        )


def _path(word: str) -> Path:
    """`~` means home also where no shell has replaced it, as in --nodes Person=~/people.csv."""
    try:
        return Path(",".join(str(Path(one).expanduser()) for one in word.split(",")))
    except RuntimeError:  # there is no such user; the file will not be found under this name
        return Path(word)
