"""The clauses that read and shape rows: MATCH, UNWIND, WITH, RETURN, CALL, LOAD CSV."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

from gdb import limits, query_graph
from gdb.errors import LimitExceeded
from gdb.language import clauses
from gdb.language.clauses import Query
from gdb.language.expressions import OPERATOR_WORDS
from gdb.language.mentioned_names import asks
from gdb.language.patterns import PATH_WORDS, PatternReader
from gdb.language.suggest import closest
from gdb.language.syntax import Expression, Literal, Name, Variable, own_variables, walk
from gdb.language.tokens import Token, TokenKind
from gdb.query_graph import MatchMode

MODES: dict[str, MatchMode] = {
    "DIFFERENT EDGES": query_graph.DIFFERENT_EDGES,
    "DIFFERENT EDGE": query_graph.DIFFERENT_EDGES,
    "DIFFERENT RELATIONSHIPS": query_graph.DIFFERENT_EDGES,
    "DIFFERENT RELATIONSHIP": query_graph.DIFFERENT_EDGES,
    "DIFFERENT NODES": query_graph.DIFFERENT_NODES,
    "DIFFERENT NODE": query_graph.DIFFERENT_NODES,
    "REPEATABLE ELEMENTS": query_graph.REPEATABLE_ELEMENTS,
    "REPEATABLE ELEMENT": query_graph.REPEATABLE_ELEMENTS,
    "INDUCED SUBGRAPHS": query_graph.INDUCED,
    "INDUCED": query_graph.INDUCED,
    "SUBGRAPHS": query_graph.SUBGRAPHS,
}
_MODE_WORDS = (
    *("DIFFERENT EDGES", "DIFFERENT RELATIONSHIPS", "DIFFERENT NODES"),
    *("REPEATABLE ELEMENTS", "SUBGRAPHS", "INDUCED"),
)


class ReadingClauses(PatternReader):
    """Reads the clauses that change nothing, each from behind its first words."""

    @abstractmethod
    def inner_query(self) -> Query:
        """The query between braces, the opening one read."""

    # ---- MATCH -----------------------------------------------------------------------------------

    def match(self, start: int, optional: bool) -> clauses.Match:
        """MATCH, behind its word. start : the token that the clause begins with; and so in the others."""
        mode = self._mode()
        patterns = self.patterns()
        where = self.where()
        return clauses.Match(mode, patterns, where, optional, self.cursor.since(start))

    def bare_match(self) -> clauses.Match:
        """The pattern of EXISTS { (a)-->(b) WHERE ... }, which is a MATCH without the word."""
        return self.match(self.cursor.at, optional=False)

    def where(self) -> Expression | None:
        """The condition of a WHERE, None where there is none."""
        return self.read() if self.cursor.accept_word("WHERE") else None

    def _mode(self) -> MatchMode | None:
        cursor, first = self.cursor, self.cursor.peek()
        if cursor.is_sign("=", ahead=1):
            return None
        for words, mode in MODES.items():
            if cursor.accept_word(words):
                bindings = cursor.is_word("BINDINGS", "BINDING") and not cursor.is_sign(
                    "=", ahead=1
                )
                if bindings:
                    cursor.take()
                return mode
        if first.kind is TokenKind.NAME and first.word not in PATH_WORDS:
            self._refuse_misspelt_mode(first, cursor.peek(1))
        return None

    def _refuse_misspelt_mode(self, first: Token, second: Token) -> None:
        """A word before the first node that is nearly a mode."""
        here = self.cursor.here
        tries = [(first.text, here)]
        if second.kind is TokenKind.NAME:
            both = here.to(self.cursor.place(self.cursor.at + 1))
            tries.insert(0, (f"{first.text} {second.text}", both))
        for written, place in tries:
            near = closest(written, _MODE_WORDS)
            if near:
                message = f"there is no match mode '{written}'."
                raise self.cursor.error(place, message, f"Did you mean {near}?")

    # ---- UNWIND, LOAD CSV ------------------------------------------------------------------------

    def unwind(self, start: int) -> clauses.Unwind:
        """UNWIND."""
        of = self.read()
        return clauses.Unwind(of, self._alias("UNWIND list"), self.cursor.since(start))

    def load_csv(self, start: int) -> clauses.LoadCsv:
        """LOAD CSV."""
        cursor = self.cursor
        headers = cursor.accept_word("WITH HEADERS")
        if not cursor.accept_word("FROM"):
            raise cursor.unexpected("FROM", ["FROM", "WITH HEADERS"])
        source = self.read()
        variable = self._alias("LOAD CSV FROM file")
        terminator = ","
        if cursor.accept_word("FIELDTERMINATOR"):
            token = cursor.take()
            if token.kind is not TokenKind.STRING or len(token.text) != 1:
                raise cursor.error(
                    cursor.last, "FIELDTERMINATOR takes one character.", "Write ';' or '\\t'."
                )
            terminator = token.text
        return clauses.LoadCsv(headers, source, variable, terminator, cursor.since(start))

    def _alias(self, what: str) -> Name:
        if not self.cursor.accept_word("AS"):
            raise self.cursor.unexpected("AS", ["AS", *OPERATOR_WORDS], f"Write {what} AS name.")
        return self.cursor.name("a name after AS")

    # ---- WITH, RETURN ----------------------------------------------------------------------------

    def with_(self, start: int) -> clauses.With:
        """WITH and its WHERE."""
        carried = self.carried(self.returned(start))
        return clauses.With(carried.projection, self.where(), self.cursor.since(start))

    def let(self, start: int) -> clauses.With:
        """LET name = expression, ...: WITH *, expression AS name, ..."""
        cursor, found = self.cursor, list[clauses.ReturnItem]()
        while not found or cursor.accept_sign(","):
            name = cursor.name("a name")
            cursor.expect_sign("=", "behind the name", "Write LET name = expression.")
            begin = cursor.at
            expression = self.read()
            place = cursor.since(begin)
            found.append(clauses.ReturnItem(expression, name, cursor.text[place.start : place.end]))
        _check_number(found, "LET")
        place = cursor.since(start)
        return clauses.With(clauses.Return(place, False, True, tuple(found)), None, place)

    def filter(self, start: int) -> clauses.With:
        """FILTER [WHERE] condition: WITH * WHERE condition."""
        self.cursor.accept_word("WHERE")
        condition = self.read()
        place = self.cursor.since(start)
        return clauses.With(clauses.Return(place, False, True, ()), condition, place)

    def carried(self, projection: clauses.Return) -> clauses.With:
        """What a projection computes for the clauses behind it."""
        for item in projection.items:
            if item.alias is None and not isinstance(item.expression, Variable):
                raise self.cursor.error(
                    item.expression.place,
                    "what WITH computes needs a name.",
                    "Write AS and a name behind it.",
                )
        return clauses.With(projection, None, projection.place)

    def returned(self, start: int) -> clauses.Return:
        """[DISTINCT] items ORDER BY ... SKIP ... LIMIT ..."""
        cursor = self.cursor
        distinct = cursor.accept_word("DISTINCT")
        star, items = self._items(cursor.tokens[start].text.upper())
        order = self._order()
        skip = self._count("SKIP") if cursor.is_word("SKIP", "OFFSET") else None
        limit = self._count("LIMIT") if cursor.is_word("LIMIT") else None
        return clauses.Return(cursor.since(start), distinct, star, items, order, skip, limit)

    def _items(self, clause: str) -> tuple[bool, tuple[clauses.ReturnItem, ...]]:
        """clause : the word that they follow."""
        cursor = self.cursor
        star = cursor.accept_sign("*")
        more = not star or cursor.accept_sign(",")
        items = cursor.separated(self._item) if more else ()
        _check_number(items, clause)
        return star, items

    def _item(self) -> clauses.ReturnItem:
        cursor = self.cursor
        start = cursor.at
        expression = self.read()
        place = cursor.since(start)
        alias = cursor.name("the name of a column after AS") if cursor.accept_word("AS") else None
        return clauses.ReturnItem(expression, alias, cursor.text[place.start : place.end])

    def _order(self) -> tuple[clauses.SortItem, ...]:
        cursor = self.cursor
        if not cursor.accept_word("ORDER BY"):
            if cursor.is_word("ORDER"):
                cursor.take()
                raise cursor.unexpected("BY after ORDER", ["BY"])
            return ()
        return cursor.separated(self._sort_item)

    def _sort_item(self) -> clauses.SortItem:
        cursor, expression = self.cursor, self.read()
        descending = cursor.is_word("DESC", "DESCENDING")
        if descending or cursor.is_word("ASC", "ASCENDING"):
            cursor.take()
        nulls_first = None
        if cursor.accept_word("NULLS"):
            nulls_first = cursor.accept_word("FIRST")
            if not nulls_first and not cursor.accept_word("LAST"):
                raise cursor.unexpected("FIRST or LAST after NULLS", ["FIRST", "LAST"])
        return clauses.SortItem(expression, descending, nulls_first)

    def _count(self, clause: str) -> Expression:
        """The number of SKIP or LIMIT, which may not depend on a row."""
        cursor = self.cursor
        cursor.take()
        start = cursor.at
        found = self.read()
        whole = isinstance(found, Literal) and type(found.value) is int and found.value >= 0
        if (isinstance(found, Literal) and not whole) or _reads_a_row(found):
            raise cursor.error(
                cursor.since(start),
                f"{clause} takes a whole number, 0 or more, or a $parameter.",
                f"Write {clause} 10.",
            )
        return found

    # ---- CALL ------------------------------------------------------------------------------------

    def call_clause(
        self, start: int, optional: bool
    ) -> clauses.CallSubquery | clauses.CallProcedure:
        """CALL of a subquery or of a procedure."""
        cursor = self.cursor
        if cursor.is_sign("{", "("):
            return self._call_subquery(start, optional)
        if optional:
            raise cursor.not_supported(
                cursor.place(start), "OPTIONAL CALL of a procedure is", "Leave OPTIONAL out."
            )
        name = self.dotted_name("the name of a procedure")
        arguments: tuple[Expression, ...] | None = None
        if cursor.accept_sign("("):
            arguments = self.several(")")
            cursor.expect_sign(")", f"or ',' in {name.text}()")
        yields, everything, where = None, False, None
        if cursor.accept_word("YIELD"):
            everything = cursor.accept_sign("*")
            yields = None if everything else self._yields()
            where = self.where()
        return clauses.CallProcedure(
            name, arguments, yields, cursor.since(start), everything, where
        )

    def _call_subquery(self, start: int, optional: bool) -> clauses.CallSubquery:
        cursor = self.cursor
        imports = self._imports() if cursor.is_sign("(") else None
        cursor.expect_sign("{", "of the subquery", "Write CALL (a) { MATCH ... RETURN ... }.")
        query = self.inner_query()
        cursor.expect_sign("}", "to close the subquery")
        if cursor.is_word("IN TRANSACTIONS", "IN CONCURRENT"):
            raise cursor.not_supported(
                cursor.here, "CALL IN TRANSACTIONS is", "Run several statements."
            )
        return clauses.CallSubquery(query, imports, cursor.since(start), optional)

    def _imports(self) -> tuple[Name, ...]:
        cursor = self.cursor
        cursor.take()
        found: tuple[Name, ...] = ()
        if cursor.accept_sign("*"):
            found = (Name("*", cursor.last),)
        elif not cursor.is_sign(")"):
            found = cursor.separated(lambda: cursor.name("the name of a variable"))
        cursor.expect_sign(")", "or ',' between the variables of CALL")
        return found

    def _yields(self) -> tuple[tuple[Name, Name], ...]:
        """The items behind YIELD, or the sign - for none."""
        cursor = self.cursor
        if cursor.accept_sign("-"):
            return ()
        return cursor.separated(self._yielded)

    def _yielded(self) -> tuple[Name, Name]:
        cursor, item = self.cursor, self.cursor.name("what to yield")
        return item, cursor.name("a name after AS") if cursor.accept_word("AS") else item


def _reads_a_row(expression: Expression) -> bool:
    """Whether it mentions a pattern, or a variable that it does not make itself."""
    named = {part.name for part in walk(expression) if isinstance(part, Variable)}
    return asks(expression) or not named <= own_variables(expression)


def _check_number(items: Sequence[clauses.ReturnItem], clause: str) -> None:
    """Refuse more items of a clause than MAX_RETURN_ITEMS."""
    most = limits.size("MAX_RETURN_ITEMS")
    if len(items) > most:
        raise LimitExceeded(
            f"{clause} has more than {most:,} items.",
            limits.cure("Write fewer", "MAX_RETURN_ITEMS"),
        )
