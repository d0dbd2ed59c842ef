"""The commands `gdbsh load` and `.load`: one list of options, which are those of `Database.load`."""

from __future__ import annotations

import argparse
import csv
import re
import shlex
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from gdb.errors import GdbError, LinesSkipped
from gdb.language.suggest import did_you_mean
from gdb.records import dataclass
from gdb.storage.importer.load_options import Option, load_options

from .wording import flag_of, reworded

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
        """Raise GdbError instead of ending the process."""
        _, unknown, words = message.partition("unrecognized arguments: ")
        meant = did_you_mean(words.split()[0], option_names()) if unknown and words else ""
        cure = meant or "`.load --help` shows what it takes."
        raise GdbError(f"{self.prog}: {message}.", cure)


def words_of(text: str) -> list[str]:
    """The words of a line, split as a POSIX shell does: names with blanks need quotes.

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


def option_names() -> dict[str, tuple[str, ...]]:
    """All options with what each can be, () for anything, for completion."""
    choices = {flag_of(name): tuple(one.choices or ()) for name, one in load_options().items()}
    names = re.findall(r"--[\w-]+", Parser().format_usage())
    return {name: choices.get(name, ()) for name in names}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the files and options of an import to a parser."""
    parser.add_argument(
        "files",
        metavar="FILE",
        nargs="*",
        help="edge lists, tables, graphs (GraphML, GEXF, GML, JSON, .graph, .mtx) or exports",
    )
    for name, kind in (("--nodes", "LABEL"), ("--edges", "TYPE[:START:END]")):
        parser.add_argument(
            name,
            metavar=f"[{kind}=]FILE",
            action="append",
            help="CSV or Parquet file with a neo4j-admin header, or HEADER,PART,... of one table, or a "
            "pattern such as 'part*.csv'; may be repeated",
        )
    groups = {head: parser.add_argument_group(head) for head in (_HOLD, _WRITTEN)}
    for name, (head, metavar, text) in _SHOWN.items():
        _add(groups[head], load_options()[name], metavar, text)


_HOLD, _WRITTEN = "what the files hold", "how they are written"
_SHOWN: Mapping[str, tuple[str, str | tuple[str, str] | None, str]] = {
    "type": (_HOLD, None, "relationship type, where the files name none"),
    "label": (_HOLD, None, "node label, where the files name none"),
    "directed": (_HOLD, None, "relationships go both ways"),
    "id_space": (_HOLD, "SPACE", "of nodes, where the files name none"),
    "ends": (_HOLD, ("START", "END"), "id spaces of the relationships' ends"),
    "missing_ends": (_HOLD, None, "nodes that no file holds"),
    "multi_edges": (_HOLD, None, "default: keep"),
    "self_loops": (_HOLD, None, "default: keep"),
    "format": (_WRITTEN, None, "default: as it looks"),
    "columns": (_WRITTEN, "A,B,...", "header fields of a CSV without header"),
    "delimiter": (_WRITTEN, "CHAR", "of a CSV; tab is a word for it"),
    "header": (_WRITTEN, None, "whether a CSV has a header, if not as it looks"),
    "on_duplicate": (_WRITTEN, None, "at a node whose id is there already (error)"),
    "on_error": (_WRITTEN, None, "at a bad line (raise)"),
    "max_errors": (_WRITTEN, "N", "most lines to skip (1000)"),
    "rejects_file": (_WRITTEN, "FILE", "a new CSV file for the skipped lines"),
    "max_unpacked": (_WRITTEN, "SIZE", "that any file may unpack to (16MiB)"),
    "memory": (_WRITTEN, "SIZE", "that the import may take (half of what there is)"),
    "packed": (_WRITTEN, None, ""),
}
"""Of each option the group in the help, what its value is called, and the help."""


def _add(
    group: argparse._ActionsContainer,
    option: Option,
    metavar: str | tuple[str, str] | None,
    text: str,
) -> None:
    """Add one option as the shell spells it."""
    flag = flag_of(option.name)
    if option.name == "packed":
        add_packed(group)
    elif option.name == "directed":
        group.add_argument(flag, dest="directed", action="store_false", help=text)
    elif bool in option.kinds:
        group.add_argument(flag, action=argparse.BooleanOptionalAction, help=text)
    elif option.choices:
        group.add_argument(flag, choices=option.choices, default=option.default, help=text)
    elif isinstance(metavar, tuple):
        group.add_argument(flag, nargs=len(metavar), metavar=metavar, help=text)
    else:
        read = _READ.get(option.name, str)
        group.add_argument(flag, metavar=metavar, type=read, default=option.default, help=text)


def add_packed(group: argparse._ActionsContainer) -> None:
    """Add the options of `gdbsh load` and `gdbsh compact` for the form of the store."""
    group.add_argument(
        "--packed",
        action=argparse.BooleanOptionalAction,
        help="keep the store in fewer bytes, or not; it stays so (default: as it is)",
    )


def _columns(text: str) -> list[str]:
    return next(csv.reader([text]), [])


def _character(text: str) -> str:
    return _CHARACTERS.get(text, text)


_READ: Mapping[str, Callable[[str], object]] = {
    "columns": _columns,
    "delimiter": _character,
    "max_errors": int,
    "rejects_file": lambda text: _path(text),
}
"""How the text of an option is read, where it is not taken as it is."""


@dataclass(frozen=True, slots=True)
class Given:
    """The parsed command line: the options, and the files by label and type where they have one."""

    options: argparse.Namespace
    nodes: list[Path] | dict[str, list[Path]] | None
    edges: list[Path] | dict[str, list[Path]] | None


def parse(parser: argparse.ArgumentParser, words: Sequence[str]) -> Given:
    """The parsed words; `parser.error` reports what is wrong with them."""
    options = parser.parse_intermixed_args(words)  # files may come before and after options
    asks_for_help = getattr(options, "help", False)
    if not (options.files or options.nodes or options.edges or asks_for_help):
        parser.error("give a FILE, or --nodes and --edges")
    return Given(options, _named(parser, options.nodes), _named(parser, options.edges))


def _named(
    parser: argparse.ArgumentParser, arguments: Sequence[str] | None
) -> list[Path] | dict[str, list[Path]] | None:
    """Files as they are, or by name where they are written NAME=FILE."""
    if arguments is None:
        return None
    files: dict[str, list[Path]] = {}
    plain: list[Path] = []
    for word in arguments:
        name, sign, file = word.partition("=")
        if sign and name and not _path(word).exists():
            files.setdefault(name, []).append(_path(file))
        else:
            plain.append(_path(word))
    if files and plain:
        parser.error(f"write NAME=FILE for all of them or for none: {plain[0]} has no name")
    return files or plain


def scripts_of(
    parser: argparse.ArgumentParser, arguments: Given, root: str | None = None
) -> list[Path]:
    """The files, where they are scripts of Cypher; none where they are not. `parser.error` reports a mixture of
    scripts and data.

    root : the folder that files must lie in; then none is taken for a script, and the import refuses it.
    """
    from .cypher_files import is_cypher

    options = arguments.options
    if (
        root is not None
        or options.format != "auto"
        or options.header is not None
        or options.columns is not None
    ):
        return []
    files = [_path(file) for file in options.files]
    scripts = [file for file in files if is_cypher(file)]
    if scripts and (len(scripts) < len(files) or options.nodes or options.edges):
        parser.error(f"load scripts by themselves: {scripts[0]} holds statements of Cypher")
    return scripts


def load_files(db: Database, arguments: Given, scripts: Sequence[Path]) -> str:
    """Import the given files, or run `scripts_of` them; what that did. Raises GdbError; then nothing was stored."""
    if scripts:
        from . import cypher_files

        return cypher_files.load(db, scripts)
    return reworded(str(load(db, arguments)))


def load(db: Database, arguments: Given) -> LoadReport:
    """Import the given files.

    Raises
    ------
    GdbError : what `Database.load` raises; nothing was stored.
    """
    options = arguments.options
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LinesSkipped)  # the report says so as well
        return db.load(
            [_path(file) for file in options.files] or None,
            nodes=arguments.nodes,
            edges=arguments.edges,
            **{name: getattr(options, name) for name in load_options()},
        )


def _path(word: str) -> Path:
    """`~` means home also where no shell has replaced it, as in --nodes Person=~/people.csv."""
    try:
        return Path(",".join(str(Path(one).expanduser()) for one in word.split(",")))
    except RuntimeError:  # there is no such user; the file will not be found under this name
        return Path(word)
