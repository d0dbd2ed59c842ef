"""Queries in cells of a notebook: `%load_ext gdb`, then `%%cypher`.

    %gdb social.gdb
    %%cypher -o friends
    MATCH (a:Person)-[r:KNOWS]->(b) WHERE a.born > $year RETURN a, r, b

`%gdb` opens a store (a graph in memory without a name) and is its Database. `%%cypher` runs its cell in it, or in the
Database of a variable that is named, as in `%%cypher db`. `$year` is the variable `year` of the notebook. The cell
shows the Result; `-o friends` puts it in a variable instead. `%cypher MATCH ...` is the same in one line.
"""

from __future__ import annotations

import functools
import shlex
from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, TypeVar

from gdb.errors import ArgumentProblem, GdbError, NameProblem

if TYPE_CHECKING:
    from gdb.answer.result import Result
    from gdb.api.queries import Queries

P = ParamSpec("P")
T = TypeVar("T")
_USAGE = "Write `%%cypher [DATABASE] [-o NAME]` above the query, DATABASE being a variable."


class Shell(Protocol):
    """The part of IPython's InteractiveShell that is needed."""

    user_ns: dict[str, Any]

    def register_magic_function(
        self, func: Callable[..., object], magic_kind: str, magic_name: str
    ) -> None:
        """As IPython's. magic_kind : "line", "cell" or "line_cell"."""
        ...


def load(shell: Shell) -> None:
    """Register the magics with a shell of IPython."""
    magics = Magics(shell)
    cypher = _without_frames(magics.cypher)
    # `$name` is a parameter, whose value must never become text of the query: IPython leaves it alone.
    cypher._ipython_magic_no_var_expand = True  # type: ignore[attr-defined]
    shell.register_magic_function(_without_frames(magics.gdb), "line", "gdb")
    shell.register_magic_function(cypher, "line_cell", "cypher")


def _without_frames(magic: Callable[P, T]) -> Callable[P, T]:
    """The magic; a mistake in its cell is shown without a traceback, which has no line of the user's."""

    @functools.wraps(magic)
    def called(*args: P.args, **kwargs: P.kwargs) -> T:
        from gdb.api.boundary import keeps_frames  # here: only errors come here

        try:
            return magic(*args, **kwargs)
        except GdbError as error:
            if not keeps_frames(error):  # IPython calls `_render_traceback_`
                text = f"{type(error).__name__}: {error}"
                error._render_traceback_ = text.splitlines  # type: ignore[attr-defined]
            raise

    return called


class Magics:
    """The magics of one shell."""

    def __init__(self, shell: Shell) -> None:
        self._shell = shell
        self._database: Queries | None = None

    def gdb(self, line: str) -> Queries:
        """%gdb [STORE]: open a store, or a graph in memory, for the cells that follow."""
        from gdb.api.database import connect

        cure = 'Write `%gdb social.gdb`, or `%gdb "Bob\'s.gdb"`.'
        words = _words(line, cure)
        if len(words) > 1:
            raise ArgumentProblem(f"{line!r} is not one store.", cure)
        self._database = connect(*words)
        return self._database

    def cypher(self, line: str, cell: str | None = None) -> Result | None:
        """%%cypher [DATABASE] [-o NAME]: run the cell; `%cypher QUERY` runs the line."""
        if cell is None:
            return self._run(self._open(None), line)
        database, name = _arguments(line)
        result = self._run(self._open(database), cell)
        if name is None:
            return result
        self._shell.user_ns[name] = result
        return None

    def _run(self, database: Queries, text: str) -> Result:
        known = self._shell.user_ns
        parameters = {name: known[name] for name in _parameters(text) if name in known}
        try:
            return database.execute(text, parameters)
        except NameProblem as error:
            if error.detail == "MissingParameter":
                _have_variable_set(error)
            raise

    def _open(self, name: str | None) -> Queries:
        """The Database of a variable; without a name that of `%gdb`, or the only one that any variable is.

        Raises
        ------
        NameProblem : there is none, or several.
        """
        from gdb.api.queries import Queries

        if name is not None:
            found = self._shell.user_ns.get(name)
            if isinstance(found, Queries):
                return found
            raise NameProblem(
                f"the variable {name} is no Database.", "Make one: db = gdb.connect(...)."
            )
        if self._database is not None:
            return self._database
        held = {id(one): one for one in self._shell.user_ns.values() if isinstance(one, Queries)}
        if len(held) == 1:
            return held.popitem()[1]
        what = "no variable is a Database" if not held else "several variables are Databases"
        raise NameProblem(f"{what}.", "Open one by `%gdb social.gdb`, or name it: `%%cypher db`.")


def _parameters(text: str) -> list[str]:
    """The names of the parameters of a query; of a text that is none, which its run refuses, nothing."""
    # here: before the first cell nothing of the language is loaded
    from gdb.language.tokens import TokenKind, tokenize

    try:
        tokens = tokenize(text).tokens
    except GdbError:
        return []
    names = (TokenKind.NAME, TokenKind.QUOTED)
    return [two.text for one, two in pairwise(tokens) if one.is_sign("$") and two.kind in names]


def _have_variable_set(error: NameProblem) -> None:
    """Name in an error about a parameter without a value the cure that a notebook has."""
    name = error.message.partition("the parameter $")[2].partition(" has no value")[0]
    cure = f"Set the variable of the notebook: {name} = ..."
    text = str(error)
    error.args = (text.replace(error.cure, cure, 1) if error.cure else f"{text} {cure}",)
    error.cure = cure


def _words(line: str, cure: str) -> list[str]:
    """The words of the line of a magic, those with blanks in quotes. Raises ArgumentProblem."""
    try:
        return shlex.split(line)
    except ValueError:
        raise ArgumentProblem(f"a quote in {line!r} is not closed.", cure) from None


def _arguments(line: str) -> tuple[str | None, str | None]:
    """The Database and the variable for the Result that a line names."""
    words, database, name = _words(line, _USAGE), None, None
    while words:
        word = words.pop(0)
        if word in ("-o", "--out") and words and words[0].isidentifier() and name is None:
            name = words.pop(0)
        elif word.isidentifier() and database is None:
            database = word
        else:
            raise ArgumentProblem(f"%%cypher does not take {word!r}.", _USAGE)
    return database, name
