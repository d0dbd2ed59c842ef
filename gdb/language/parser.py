"""From text to tree: one MATCH with its WHERE, and RETURN (docs/LANGUAGE.md).

Recursive descent over the tokens: this module reads clauses, `patterns` the patterns, `expressions` what can be
computed. What the standard has and gdb has not is recognised and refused by name.
"""

from __future__ import annotations

from gdb import limits
from gdb.errors import LimitExceeded
from gdb.language.clauses import Match, Query, Return, ReturnItem, SortItem
from gdb.language.cursor import Cursor
from gdb.language.expressions import OPERATOR_WORDS, ExpressionReader
from gdb.language.patterns import PatternReader
from gdb.language.suggest import closest
from gdb.language.syntax import Expression, Literal, Parameter
from gdb.language.tokens import Kind, Token
from gdb.query_graph import (
    DIFFERENT_EDGES,
    DIFFERENT_NODES,
    INDUCED,
    REPEATABLE_ELEMENTS,
    SUBGRAPHS,
    MatchMode,
)

_MODES: dict[str, MatchMode] = {
    "DIFFERENT EDGES": DIFFERENT_EDGES,
    "DIFFERENT EDGE": DIFFERENT_EDGES,
    "DIFFERENT RELATIONSHIPS": DIFFERENT_EDGES,
    "DIFFERENT RELATIONSHIP": DIFFERENT_EDGES,
    "DIFFERENT NODES": DIFFERENT_NODES,
    "DIFFERENT NODE": DIFFERENT_NODES,
    "REPEATABLE ELEMENTS": REPEATABLE_ELEMENTS,
    "REPEATABLE ELEMENT": REPEATABLE_ELEMENTS,
    "INDUCED SUBGRAPHS": INDUCED,
    "INDUCED": INDUCED,
    "SUBGRAPHS": SUBGRAPHS,
}
_MODE_WORDS = (
    *("DIFFERENT EDGES", "DIFFERENT RELATIONSHIPS", "DIFFERENT NODES"),
    *("REPEATABLE ELEMENTS", "SUBGRAPHS", "INDUCED"),
)

_CHANGES = "gdb reads graphs; bring data in with Database.load()."
_ONE_MATCH = "Write all patterns in one MATCH, separated by commas."
_REFUSED = {
    "OPTIONAL": ("OPTIONAL MATCH is", _ONE_MATCH),
    "WITH": ("WITH is", "Say it in one MATCH ... RETURN, or in two queries."),
    "UNWIND": ("UNWIND is", "Use IN with a list, or call the query once for each value."),
    "UNION": ("UNION is", "Run two queries."),
    "CALL": ("CALL is", "See db.schema() and db.stats() for what the graph holds."),
    "USE": ("USE is", "Open the other store with gdb.connect()."),
    "SHOW": ("SHOW is", "See db.schema() and db.stats()."),
    "FILTER": ("FILTER is", "Write WHERE after the last pattern."),
    "LET": ("LET is", "Write the expression where it is used."),
    **{
        word: (f"{word} is", _CHANGES)
        for word in ("CREATE", "INSERT", "MERGE", "SET", "DELETE", "DETACH", "REMOVE", "FOREACH")
    },
    **{word: (f"{word} is", _CHANGES) for word in ("LOAD", "DROP", "ALTER")},
}


def parse(text: str) -> Query:
    """Read a query.

    Raises
    ------
    SyntaxProblem : it is none; the error shows the place and what would be right.
    NotSupported : the standard has it, gdb has not.
    LimitExceeded : it is longer or deeper than `gdb.limits` allows.

    Examples
    --------
    >>> parse("MATCH (a:Person)-->(b) RETURN count(*) AS n").simple.returning.items[0].name
    'n'
    """
    try:
        return _Parser(text).query()
    except RecursionError:
        raise LimitExceeded(
            "the query is nested too deeply.", "Leave out parentheses, or split it."
        ) from None


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.cursor = Cursor(text)
        self.expressions = ExpressionReader(self.cursor)

    def query(self) -> Query:
        cursor = self.cursor
        explain = cursor.accept_word("EXPLAIN") is not None
        profile = cursor.accept_word("PROFILE") is not None
        if (explain and profile) or (profile and cursor.is_word("EXPLAIN")):
            raise cursor.error(
                cursor.peek().place,
                "EXPLAIN and PROFILE stand together.",
                "Write one of them: PROFILE shows the plan as well.",
            )
        if cursor.peek().kind is Kind.END:
            raise cursor.error(
                cursor.peek().place, "the query is empty.", "Write MATCH ... RETURN ..."
            )
        if not cursor.accept_word("MATCH"):
            self._refuse_clause()
            if cursor.is_word("RETURN"):
                raise cursor.not_supported(
                    cursor.peek().place, "RETURN without MATCH is", "Begin with MATCH."
                )
            raise cursor.unexpected("MATCH", ("MATCH", "EXPLAIN", "PROFILE", *_REFUSED))
        match = self._match()
        returning = self._return()
        ended = cursor.accept_sign(";") is not None
        if cursor.peek().kind is not Kind.END:
            if ended:
                raise cursor.unexpected("nothing after ';'", cure="Run one query at a time.")
            self._refuse_clause()
            cure = "Columns are separated by commas; AS names one."
            raise cursor.unexpected("the end of the query", self._words_after(returning), cure)
        return Query(self.text, ((match, returning),), (), explain, profile)

    def _refuse_clause(self) -> None:
        token = self.cursor.peek()
        if token.word in _REFUSED:
            what, instead = _REFUSED[token.word]
            raise self.cursor.not_supported(token.place, what, instead)
        if token.word == "MATCH":
            raise self.cursor.not_supported(token.place, "a second MATCH is", _ONE_MATCH)

    # ---- MATCH -----------------------------------------------------------------------------------

    def _match(self) -> Match:
        mode = self._mode()
        patterns = PatternReader(self.cursor, self.expressions).read()
        where = self.expressions.read() if self.cursor.accept_word("WHERE") else None
        return Match(mode, patterns, where)

    def _mode(self) -> MatchMode | None:
        cursor, first = self.cursor, self.cursor.peek()
        for words, mode in _MODES.items():
            if cursor.accept_word(words):
                bindings = cursor.is_word("BINDINGS", "BINDING") and not cursor.is_sign(
                    "=", ahead=1
                )
                if bindings:
                    cursor.take()
                return mode
        if first.kind is Kind.NAME and not cursor.is_sign("=", ahead=1):
            self._refuse_misspelt_mode(first, cursor.peek(1))
        return None

    def _refuse_misspelt_mode(self, first: Token, second: Token) -> None:
        """A word before the first node that is nearly a mode."""
        tries = [(first.text, first.place)]
        if second.kind is Kind.NAME:
            tries.insert(0, (f"{first.text} {second.text}", first.place.to(second.place)))
        for written, place in tries:
            near = closest(written, _MODE_WORDS)
            if near:
                message = f"there is no match mode '{written}'."
                raise self.cursor.error(place, message, f"Did you mean {near}?")

    # ---- RETURN ----------------------------------------------------------------------------------

    def _return(self) -> Return:
        cursor = self.cursor
        start = cursor.peek()
        if not cursor.accept_word("RETURN"):
            self._refuse_clause()
            where = cursor.tokens[cursor.at - 1].is_sign(")")
            clauses = ("RETURN", "WHERE") if where else ("RETURN", *OPERATOR_WORDS)
            cure = "A query ends with RETURN: what to give back, as in RETURN count(*)."
            end = cursor.peek().kind is Kind.END
            expected = "RETURN" if not where else "WHERE, RETURN or a relationship"
            raise cursor.unexpected(expected, clauses, cure=cure if end else "")
        distinct = cursor.accept_word("DISTINCT") is not None
        star, items = self._items()
        order = self._order()
        skip = self._count("SKIP") if cursor.is_word("SKIP", "OFFSET") else None
        limit = self._count("LIMIT") if cursor.is_word("LIMIT") else None
        return Return(cursor.since(start), distinct, star, items, order, skip, limit)

    def _items(self) -> tuple[bool, tuple[ReturnItem, ...]]:
        cursor = self.cursor
        star = cursor.accept_sign("*")
        items: list[ReturnItem] = []
        if not star or cursor.accept_sign(","):
            items.append(self._item())
            while cursor.accept_sign(","):
                items.append(self._item())
        if len(items) > limits.MAX_RETURN_ITEMS:
            raise LimitExceeded(
                f"the query returns more than {limits.MAX_RETURN_ITEMS} columns.",
                "Return fewer, or raise gdb.limits.MAX_RETURN_ITEMS.",
            )
        return star is not None, tuple(items)

    def _item(self) -> ReturnItem:
        cursor = self.cursor
        start = cursor.peek()
        expression = self.expressions.read()
        place = cursor.since(start)
        alias = cursor.name("the name of a column after AS") if cursor.accept_word("AS") else None
        return ReturnItem(expression, alias, self.text[place.start : place.end])

    def _order(self) -> tuple[SortItem, ...]:
        cursor = self.cursor
        if not cursor.accept_word("ORDER BY"):
            if cursor.is_word("ORDER"):
                cursor.take()
                raise cursor.unexpected("BY after ORDER", ["BY"])
            return ()
        found = [self._sort_item()]
        while cursor.accept_sign(","):
            found.append(self._sort_item())
        return tuple(found)

    def _sort_item(self) -> SortItem:
        expression: Expression = self.expressions.read()
        for word in ("DESC", "DESCENDING"):
            if self.cursor.accept_word(word):
                return SortItem(expression, descending=True)
        for word in ("ASC", "ASCENDING"):
            if self.cursor.accept_word(word):
                break
        return SortItem(expression)

    def _count(self, clause: str) -> Literal | Parameter:
        """The number of SKIP or LIMIT."""
        cursor = self.cursor
        cursor.take()
        start = cursor.peek()
        found = self.expressions.read()
        place = cursor.since(start)
        if isinstance(found, Parameter):
            return found
        whole = isinstance(found, Literal) and type(found.value) is int and found.value >= 0
        if not whole or not isinstance(found, Literal):
            raise cursor.error(
                place,
                f"{clause} takes a whole number, 0 or more, or a $parameter.",
                f"Write {clause} 10.",
            )
        return found

    def _words_after(self, returning: Return) -> tuple[str, ...]:
        """Keywords that may be meant by a word behind a complete query."""
        if returning.limit:
            return ()
        words: tuple[str, ...] = ("LIMIT",)
        if not returning.skip:
            words += ("SKIP",)
            if returning.order:
                words += ("ASC", "DESC")
            else:
                words += ("ORDER BY", "ORDER", "AS")
        return words + OPERATOR_WORDS
