"""From text to tree: the clauses of a query in their order, and UNION (docs/LANGUAGE.md).

Recursive descent over the tokens, one class that grows from room to room: `atoms` (operands), `expressions`
(operators), `patterns`, `reading` and `writing` (clauses), and here the whole. What the standard has and gdb has not
is recognised and refused by name.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TypeAlias

from gdb.errors import LimitExceeded, SyntaxProblem
from gdb.language import clauses, dialects
from gdb.language.clauses import WRITING, Clause, Query
from gdb.language.copy_syntax import CopyStatement
from gdb.language.cursor import TokenCursor
from gdb.language.expressions import OPERATOR_WORDS
from gdb.language.patterns import PATH_WORDS
from gdb.language.syntax import Place, SubqueryKind
from gdb.language.tokens import TokenKind, check_text

_SHORT = 1_000
"""Characters up to which no text begins with so many patterns that a table of them is worth it."""
_LONG = 100_000
"""Characters from which on a text is a long one."""
_DELETE_FROM = "Write MATCH (n:Label) DELETE n, or DETACH DELETE n with its relationships."
_ENDS_WITH_RETURN = "A query ends with RETURN: what to give back, as in RETURN count(*)."


def parse(text: str, pulse: Callable[[], object] | None = None, *, tables: bool = True) -> Query:
    """Read a query.

    pulse : called now and then while a long text is read; what it raises ends the reading. tables : whether a long text
    may begin with a table of patterns (`gdb.language.bulk`).

    Raises
    ------
    SyntaxProblem : it is none; the error shows the place and what would be right.
    NotSupported : the standard has it, gdb has not.
    LimitExceeded : it is longer or deeper than `gdb.limits` allows.

    Examples
    --------
    >>> parse("MATCH (a:Person)-->(b) RETURN count(*) AS n").parts[0][1].items[0].name
    'n'
    """
    try:
        with _collector_resting(len(text) > _LONG):
            begun = _begun(text, pulse) if tables and len(text) > _SHORT else None
            start = 0 if begun is None else begun.place.end
            return _Parser(TokenCursor(text, pulse, start), begun).query()
    except RecursionError:
        raise LimitExceeded(
            "the query is nested too deeply.", "Leave out parentheses, or split it."
        ) from None


def _begun(text: str, pulse: Callable[[], object] | None) -> clauses.BulkCreate | None:
    """What a long text begins with, where that is a graph of literals."""
    from gdb.language.bulk import bulk  # here: only long texts of literals need it

    check_text(text)
    return bulk(text, partial(parse, tables=False), pulse)


@contextmanager
def _collector_resting(rests: bool) -> Iterator[None]:
    """Without the collector of cycles, which a tree has none of: it would look through a growing tree again and again,
    and take as long as the reading."""
    rests = rests and gc.isenabled()
    if rests:
        gc.disable()
    try:
        yield
    finally:
        if rests:
            gc.enable()


class _Parser(CopyStatement):
    """begun : what the query begins with and the cursor is behind of."""

    def __init__(self, cursor: TokenCursor, begun: clauses.BulkCreate | None = None) -> None:
        super().__init__(cursor)
        self.begun = begun
        self.nexts: list[Place] = []  # of the words NEXT

    def query(self) -> Query:
        cursor = self.cursor
        explain = cursor.accept_word("EXPLAIN")
        profile = cursor.accept_word("PROFILE")
        if (explain and profile) or (profile and cursor.is_word("EXPLAIN")):
            raise cursor.error(
                cursor.here,
                "EXPLAIN and PROFILE are combined.",
                "Write one of them: PROFILE shows the plan as well.",
            )
        if (explain or profile) and cursor.is_word("EXPLAIN", "PROFILE"):
            word = "EXPLAIN" if explain else "PROFILE"
            raise cursor.error(cursor.here, f"{word} is there twice.", "Write it once.")
        if cursor.peek().kind is TokenKind.END and self.begun is None:
            raise cursor.error(cursor.here, "the query is empty.", "Write MATCH ... RETURN ...")
        copying: clauses.Copy | clauses.CopyTo | None = None
        start = cursor.at
        parts: tuple[tuple[Clause, ...], ...] = ()
        all_: tuple[bool, ...] = ()
        if cursor.accept_word("COPY"):
            copying = self._copy_to(start) if self._copies_a_query() else self.copy(start)
            if profile or (explain and isinstance(copying, clauses.Copy)):
                message = "COPY has no plan." if explain else "COPY is not profiled."
                raise cursor.error(cursor.place(start), message, "Leave out EXPLAIN and PROFILE.")
        else:
            parts, all_ = self._parts()
        ended = cursor.accept_sign(";")
        if cursor.peek().kind is not TokenKind.END:
            if ended:
                raise cursor.unexpected("nothing after ';'", cure="Run one query at a time.")
            if copying is not None:
                words = ["OPTIONS", *OPERATOR_WORDS]
                raise cursor.unexpected(
                    "a comma, OPTIONS or the end", words, "COPY is a query of its own."
                )
            raise self._unexpected(parts[-1])
        constants = self.constants
        return Query(cursor.text, parts, all_, explain, profile, copying, constants)

    # ---- COPY ... TO -----------------------------------------------------------------------------

    def _copies_a_query(self) -> bool:
        """Whether a query is in the parentheses that come next, not a node."""
        cursor = self.cursor
        begins = cursor.is_sign("(") and cursor.peek(1).word in _FIRST_WORDS
        return begins and not cursor.is_sign(")", ":", ahead=2)

    def _copy_to(self, start: int) -> clauses.CopyTo:
        cursor = self.cursor
        cursor.expect_sign("(", "before the query")
        first = cursor.here.start
        parts, all_ = self._parts()
        last = cursor.last.end
        cursor.expect_sign(")", "behind the query")
        for clause in (clause for part in parts for clause in part):
            if isinstance(clause, WRITING):
                message, cure = "COPY ... TO takes a query that reads.", "Write the changes before."
                raise cursor.error(clause.place, message, cure)
        if not cursor.accept_word("TO"):
            cure = "Write COPY (MATCH ... RETURN ...) TO 'folder'."
            raise cursor.unexpected("TO", ["TO"], cure)
        target = self.read()
        options = self.read() if cursor.accept_word("OPTIONS") else None
        text = _blank(cursor.text[:first]) + cursor.text[first:last]
        return clauses.CopyTo(Query(text, parts, all_), target, options, cursor.since(start))

    # ---- UNION -----------------------------------------------------------------------------------

    def _parts(
        self, must_return: bool = True
    ) -> tuple[tuple[tuple[Clause, ...], ...], tuple[bool, ...]]:
        """The sides of UNION, and for each UNION whether it is UNION ALL."""
        cursor, before = self.cursor, len(self.nexts)
        parts = [self._clauses(must_return)]
        all_: list[bool] = []
        while cursor.accept_word("UNION"):
            union = cursor.last
            all_.append(cursor.accept_word("ALL"))
            if not all_[-1]:
                cursor.accept_word("DISTINCT")
            if all_[-1] != all_[0]:
                raise cursor.error(
                    union, "UNION and UNION ALL are mixed in one query.", "Use one of them."
                )
            parts.append(self._clauses(must_return))
        if len(parts) > 1 and len(self.nexts) > before:
            what = "NEXT beside UNION is"
            raise cursor.not_supported(self.nexts[-1], what, "Put the UNION into CALL { ... }.")
        return tuple(parts), tuple(all_)

    def _clauses(self, must_return: bool) -> tuple[Clause, ...]:
        found: list[Clause] = list(self._rest_of_begun())
        while (clause := self._clause()) is not None:
            if isinstance(clause, clauses.Return) and self.cursor.accept_word("NEXT"):
                clause = self.carried(clause)
                self.nexts.append(self.cursor.last)
            found.append(clause)
            if isinstance(clause, (clauses.Return, clauses.Finish)):
                break
        last = found[-1] if found else None
        if not _may_end(last) and (must_return or not isinstance(last, clauses.Match)):
            raise self._unexpected(found)
        return tuple(found)

    def _rest_of_begun(self) -> Iterator[Clause]:
        """What the query begins with, and the patterns behind it that are no part of its table."""
        if self.begun is not None:
            yield self.begun
            self.begun = None
            if self.cursor.accept_sign(","):
                yield self.create(self.cursor.at)

    # ---- clauses ---------------------------------------------------------------------------------

    def _clause(self) -> Clause | None:
        """The next clause; None where none begins."""
        cursor, start = self.cursor, self.cursor.at
        if start > cursor.next_pulse:
            cursor.beat()
        word = cursor.tokens[start].word
        for words, read in _BY_FIRST_WORD.get(word, ()):
            if cursor.accept_word(words):
                return read(self, start)
        return None

    def writing_clause(self) -> Clause:
        clause = self._clause() if self.cursor.is_word(*_WRITERS) else None
        if clause is None:
            words = [word for word in _WRITERS if word != "INSERT"]
            reads = self.cursor.peek().word in _FIRST_WORDS
            cure = "Write UNWIND list AS x, and the clauses that read behind it." if reads else ""
            raise self.cursor.unexpected(
                "a clause that writes, or ')'", () if reads else words, cure
            )
        return clause

    # ---- queries in braces -----------------------------------------------------------------------

    def inner_query(self) -> Query:
        query = Query(self.cursor.text, *self._parts())
        self._end_of_braces(query)
        return query

    def subquery(self, kind: SubqueryKind) -> Query:
        cursor = self.cursor
        bare = cursor.is_sign("(") or cursor.is_sign("=", ahead=1) or cursor.is_word(*PATH_WORDS)
        if bare and kind != "COLLECT":
            query = Query(cursor.text, ((self.bare_match(),),))
        else:
            query = Query(cursor.text, *self._parts(must_return=kind == "COLLECT"))
        self._end_of_braces(query)
        return query

    def _end_of_braces(self, query: Query) -> None:
        if not self.cursor.is_sign("}"):
            raise self._unexpected(query.parts[-1])

    # ---- errors ----------------------------------------------------------------------------------

    def _unexpected(self, before: list[Clause] | tuple[Clause, ...]) -> SyntaxProblem:
        """What is wrong at the cursor, behind the clauses before it."""
        cursor, token = self.cursor, self.cursor.peek()
        last = before[-1] if before else None
        if token.word in dialects.CLAUSES:
            raise cursor.not_supported(cursor.here, *dialects.CLAUSES[token.word])
        if token.sign == ":" and last is None:
            what = f":{cursor.peek(1).text}, a command of another shell, is"
            raise cursor.not_supported(cursor.here, what, "Commands of gdbsh begin with a dot.")
        if last is None:
            return cursor.unexpected("a clause such as MATCH", _STARTS)
        if isinstance(last, clauses.Finish):
            return cursor.unexpected("the end of the query", cure="Nothing follows FINISH.")
        if isinstance(last, clauses.Delete) and cursor.tokens[cursor.at - 1].word == "FROM":
            raise cursor.not_supported(cursor.last, "DELETE FROM is", _DELETE_FROM)
        if isinstance(last, clauses.Return):
            if cursor.tokens[cursor.at - 1].word == "TOP" and token.kind is TokenKind.INTEGER:
                raise cursor.not_supported(
                    cursor.last, "TOP is", f"End it with LIMIT {token.text}."
                )
            if token.word in {word.split()[0] for word in CLAUSE_WORDS}:
                return cursor.error(
                    cursor.here, "RETURN ends a query.", "Write WITH where the query goes on."
                )
            cure = "Columns are separated by commas; AS names one."
            if cursor.tokens[cursor.at - 1].word == "DISTINCT":
                cure = "DISTINCT is written once, after RETURN: it applies to whole rows."
                return cursor.unexpected("the end of the query", cure=cure)
            return cursor.unexpected("the end of the query", _words_after(last), cure)
        cure = _ENDS_WITH_RETURN if token.kind is TokenKind.END else ""
        if token.word in ("ORDER", "LIMIT", "SKIP", "OFFSET"):
            cure = f"{token.word} goes after RETURN or WITH and their columns."
        if token.sign == ";":
            cure = "A semicolon ends the query: leave it out here."
        if isinstance(last, clauses.Match) and cursor.tokens[cursor.at - 1].is_sign(")"):
            words = ("RETURN", "WHERE", *CLAUSE_WORDS)
            return cursor.unexpected("WHERE, RETURN or a relationship", words, cure)
        words = CLAUSE_WORDS + OPERATOR_WORDS
        if isinstance(last, clauses.With):
            words += _words_after(last.projection)
        return cursor.unexpected("RETURN or another clause", words, cure)


def _blank(text: str) -> str:
    """As many lines and characters, so that what is behind them keeps its place."""
    return "".join(c if c in "\r\n" else " " for c in text)


def _may_end(clause: Clause | None) -> bool:
    return isinstance(
        clause,
        (clauses.Return, clauses.Finish, clauses.CallSubquery, clauses.CallProcedure, *WRITING),
    )


def _words_after(returning: clauses.Return) -> tuple[str, ...]:
    """Keywords that may be meant by a word behind a complete RETURN."""
    if returning.limit:
        return ("UNION",)
    words: tuple[str, ...] = ("LIMIT",)
    if not returning.skip:
        words += ("SKIP",)
        if returning.order:
            words += ("ASC", "DESC")
        else:
            words += ("ORDER BY", "ORDER", "AS")
    return words + OPERATOR_WORDS + ("UNION",)


# ---- the clauses ---------------------------------------------------------------------------------

Read: TypeAlias = Callable[[_Parser, int], Clause]
"""Reads a clause from behind its words; the number is that of the token that it begins with."""
_READERS: dict[str, Read] = {
    "MATCH": partial(_Parser.match, optional=False),
    "OPTIONAL MATCH": partial(_Parser.match, optional=True),
    "UNWIND": _Parser.unwind,
    "WITH": _Parser.with_,
    "RETURN": _Parser.returned,
    "CALL": partial(_Parser.call_clause, optional=False),
    "OPTIONAL CALL": partial(_Parser.call_clause, optional=True),
    "LOAD CSV": _Parser.load_csv,
    "LET": _Parser.let,
    "FILTER": _Parser.filter,
    "FINISH": lambda parser, _: clauses.Finish(parser.cursor.last),
}
_WRITERS: dict[str, Read] = {
    "CREATE": _Parser.create,
    "INSERT": _Parser.create,
    "MERGE": _Parser.merge,
    "SET": _Parser.set_,
    "REMOVE": _Parser.remove,
    "DELETE": partial(_Parser.delete, detach=False),
    "DETACH DELETE": partial(_Parser.delete, detach=True),
    "FOREACH": _Parser.foreach,
}
CLAUSE_WORDS: tuple[str, ...] = (*_READERS, *_WRITERS)
_FIRST_WORDS = frozenset(word.split()[0] for word in CLAUSE_WORDS)
_STARTS = ("EXPLAIN", "PROFILE", "COPY", *CLAUSE_WORDS)
_BY_FIRST_WORD = {
    first: tuple(
        (words, read)
        for words, read in (*_READERS.items(), *_WRITERS.items())
        if words.split()[0] == first
    )
    for first in _FIRST_WORDS
}
