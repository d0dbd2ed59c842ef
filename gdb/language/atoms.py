"""Parsing of operands: literals, names, calls, lists, maps, CASE, comprehensions, subqueries."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, get_args

from gdb import limits
from gdb.errors import SyntaxProblem
from gdb.imports import deferred
from gdb.language import syntax
from gdb.language.clauses import Query
from gdb.language.cursor import TokenCursor
from gdb.language.hidden_names import LONG_CONSTANT
from gdb.language.no_expression import no_colon, no_expression
from gdb.language.pattern_syntax import PathPattern
from gdb.language.syntax import Comparator, Expression, Name, Place, Quantifier, SubqueryKind
from gdb.language.tokens import Token, TokenKind

if TYPE_CHECKING:
    from gdb.language import comprehensions
    from gdb.language.long_constants import Constant
else:
    comprehensions = deferred("gdb.language.comprehensions")  # few queries have one

QUANTIFIERS: dict[str, Quantifier] = {name.upper(): name for name in get_args(Quantifier)}
SUBQUERIES: dict[str, SubqueryKind] = {name: name for name in get_args(SubqueryKind)}
SHORTEST = ("SHORTESTPATH", "ALLSHORTESTPATHS")
LOOSE_WORDS = {"TRUE": True, "FALSE": False, "NULL": None}
FLOAT_WORDS = {"INF": math.inf, "INFINITY": math.inf, "NAN": math.nan}
_SIDES = {"BOTH": "btrim", "LEADING": "ltrim", "TRAILING": "rtrim"}
# A word that cannot begin an expression, so that `WHERE RETURN a` is an error at RETURN.
NO_VALUES = (
    *("MATCH", "WHERE", "RETURN", "ORDER BY", "SKIP", "LIMIT", "WITH", "UNION", "UNWIND"),
    *("AND", "OR", "XOR", "AS"),
)
_NO_VALUE_BEGINS = frozenset(word.split()[0] for word in NO_VALUES)
_NAMES = (TokenKind.NAME, TokenKind.QUOTED)


class AtomReader(ABC):
    """Reads operands at a cursor.

    awaiting : the opening brackets whose `|` is still to come, with the least number of a token that it may be.
    chosen : of comprehensions that were read before, by their opening brackets, which `|` was theirs.
    constants : long lists of constants, by the hidden names of parameters.
    """

    def __init__(self, cursor: TokenCursor) -> None:
        self.cursor = cursor
        self.depth, self.deepest = 0, limits.size("MAX_DEPTH")
        self.awaiting: dict[int, int] = {}
        self.chosen: dict[int, int] = {}
        self.constants: dict[str, list[Constant]] = {}

    def separates(self, number: int) -> bool:
        """Whether a token that is a `|` is that of a comprehension, reduce() or FOREACH, and no part of labels or
        types."""
        if not self.awaiting:
            return False
        first = self.awaiting.get(self.cursor.brackets.around[number])
        return first is not None and number >= first

    @abstractmethod
    def read(self) -> Expression:
        """One expression."""

    @abstractmethod
    def test_of(self, left: Expression) -> Expression | None:
        """The comparison or test that begins with an operator at the cursor; None where there is none."""

    @abstractmethod
    def path(self, inside_expression: bool = False) -> PathPattern:
        """One pattern."""

    @abstractmethod
    def subquery(self, kind: SubqueryKind) -> Query:
        """The query between the braces of EXISTS { }, the opening one read."""

    def atom(self) -> Expression:
        """Read one operand and leave the cursor behind it. SyntaxProblem where none begins here."""
        cursor = self.cursor
        token, start = cursor.tokens[cursor.at], cursor.at
        match token.kind:
            case TokenKind.STRING:
                cursor.at += 1
                return syntax.Literal(token.text, Place(cursor.starts[start], cursor.ends[start]))
            case TokenKind.INTEGER | TokenKind.FLOAT:
                return self.number(start, 1)
            case TokenKind.NAME | TokenKind.QUOTED:
                return self._named(token, start)
            case TokenKind.SIGN:
                return self._sign(token, start)
            case TokenKind.CONSTANT:
                return self._constant(token, start)
            case _:
                raise no_expression(cursor)

    def _constant(self, token: Token, start: int) -> syntax.Parameter:
        """A long list of constants, as the parameter that it becomes."""
        self.cursor.at += 1
        name = f"{LONG_CONSTANT}{len(self.constants)}"
        assert token.constant is not None
        self.constants[name] = token.constant
        return syntax.Parameter(name, self.cursor.since(start))

    def number(self, start: int, sign: int) -> syntax.Literal:
        """The number that comes next; start : the token of its sign, or itself."""
        cursor = self.cursor
        token = cursor.tokens[cursor.at]
        place = Place(cursor.starts[start], cursor.ends[cursor.at])
        cursor.at += 1
        if token.number is not None:
            return syntax.Literal(sign * token.number, place)
        cure = "Use a float such as 1e20, or a string."
        if token.kind is TokenKind.FLOAT:
            raise self.cursor.error(place, "this number is too large for a float.")
        value = sign * int(token.text, 0) if len(token.text) < 100 else 2**64
        if not -(2**63) <= value < 2**63:
            raise self.cursor.error(place, "this number does not fit 64 bits.", cure)
        return syntax.Literal(value, place)

    # ---- signs -----------------------------------------------------------------------------------

    def _sign(self, token: Token, start: int) -> Expression:
        cursor = self.cursor
        match token.sign:
            case "(":
                if self.pattern_begins():
                    return syntax.PatternTest(
                        self.path(inside_expression=True), cursor.since(start)
                    )
                cursor.take()
                inner = self.read()
                cursor.expect_sign(")", "to close the parenthesis")
                return inner
            case "[":
                return self._list(start)
            case "{":
                return syntax.MapLiteral(self.map_entries(), cursor.since(start))
            case "$":
                cursor.take()
                return syntax.Parameter(self._parameter_name(), cursor.since(start))
        raise no_expression(cursor)

    def _parameter_name(self) -> str:
        if self.cursor.peek().kind is TokenKind.INTEGER:
            return self.cursor.take().text
        return self.cursor.name("the name of a parameter after '$'").text

    def map_entries(self) -> tuple[tuple[Name, Expression], ...]:
        """{key: value, ...}"""
        cursor = self.cursor
        cursor.take()
        found: list[tuple[Name, Expression]] = []
        while not found or cursor.accept_sign(","):
            if not found and cursor.is_sign("}"):
                break
            key = cursor.name("the name of a property")
            if cursor.tokens[cursor.at].sign != ":":
                raise no_colon(cursor, key, first=not found)
            cursor.at += 1
            found.append((key, self.read()))
        cursor.expect_sign("}", "or ',' in a property map")
        if len(found) > 1 and len({key.text for key, _ in found}) < len(found):
            raise self._twice(found)
        return tuple(found)

    def _twice(self, entries: Sequence[tuple[Name, Expression]]) -> SyntaxProblem:
        seen: set[str] = set()
        for key, _ in entries:
            if key.text in seen:
                break
            seen.add(key.text)
        message = f"the key '{key.text}' occurs twice in this map."
        return self.cursor.error(key.place, message, "Leave one of them out.")

    # ---- patterns --------------------------------------------------------------------------------

    def pattern_begins(self) -> bool:
        """Whether the '(' at the cursor opens the first node of a pattern with a relationship, and no parenthesis."""
        cursor = self.cursor
        close = cursor.brackets.closing.get(cursor.at)
        if close is None or not cursor.is_sign("("):
            return False
        ahead = 2 if cursor.peek(1).kind in _NAMES else 1
        node = cursor.is_sign(")", ":", "{", "$", ahead=ahead)
        where = cursor.is_word("WHERE", ahead=ahead) or cursor.is_word("WHERE", ahead=1)
        return (node or where) and self.relationship_begins(close + 1)

    def relationship_begins(self, number: int) -> bool:
        """Whether token `number` begins a relationship between two nodes, and no minus: -[ ]-, --(, -->, <-[, <--."""
        tokens = self.cursor.tokens
        first, second, third = (tokens[min(number + k, len(tokens) - 1)] for k in range(3))
        if first.is_sign("<"):
            touch = second.is_sign("-") and self._touch(number)
            return touch and self._dashes(number + 1, to=True)
        return first.is_sign("-") and self._dashes(number, to=third.is_sign(">"))

    def _dashes(self, number: int, to: bool) -> bool:
        tokens, closing = self.cursor.tokens, self.cursor.brackets.closing
        second = tokens[number + 1]
        if second.is_sign("["):
            close = closing.get(number + 1)
            return close is not None and tokens[close + 1].is_sign("-")
        if not second.is_sign("-") or not self._touch(number):
            return False
        return to or tokens[number + 2].is_sign("(", "{")

    def _touch(self, number: int) -> bool:
        """Whether nothing is between a token and the next."""
        return self.cursor.ends[number] == self.cursor.starts[number + 1]

    # ---- lists -----------------------------------------------------------------------------------

    def _list(self, start: int) -> Expression:
        """A list, or a comprehension: that has no comma of its own."""
        cursor = self.cursor
        cursor.take()
        first = cursor.tokens[cursor.at]
        named = first.kind in _NAMES
        if (named or first.sign == "(") and start not in cursor.brackets.with_comma:
            if named and cursor.is_word("IN", ahead=1):
                return self._list_comprehension(start)
            path = (named and cursor.is_sign("=", ahead=1)) or self.pattern_begins()
            if start in cursor.brackets.with_bar and path:
                return self._pattern_comprehension(start)
        items = self.several("]")
        cursor.expect_sign("]", "or ',' in a list")
        return syntax.ListLiteral(items, cursor.since(start))

    def several(self, close: str) -> tuple[Expression, ...]:
        """Expressions between commas up to a closing bracket, which is not read."""
        if self.cursor.is_sign(close):
            return ()
        return self.cursor.separated(self.read)

    def _list_comprehension(self, start: int) -> Expression:
        cursor = self.cursor
        self.awaiting[start] = 0
        variable, of = self.variable_in()
        where, result = comprehensions.where_and_result(self, start, needed=False)
        return syntax.ListComprehension(variable, of, where, result, cursor.since(start))

    def _pattern_comprehension(self, start: int) -> Expression:
        cursor = self.cursor
        pattern = self.path(inside_expression=True)
        where, result = comprehensions.where_and_result(self, start, needed=True)
        assert result is not None
        return syntax.PatternComprehension(pattern, where, result, cursor.since(start))

    def variable_in(self) -> tuple[Name, Expression]:
        """variable IN list"""
        variable = self.cursor.name("a name for the items")
        if not self.cursor.accept_word("IN"):
            raise self.cursor.unexpected("IN", ["IN"])
        return variable, self.read()

    # ---- words -----------------------------------------------------------------------------------

    def _named(self, token: Token, start: int) -> Expression:
        cursor = self.cursor
        following = cursor.peek(1)
        word = token.word
        if word in SUBQUERIES and following.sign == "{":
            cursor.at += 2
            return self._subquery(start, SUBQUERIES[word])
        if word == "CASE" and _begins_value(following):
            cursor.take()
            return self._case(start)
        if following.sign in ("(", ".") and self._is_call():
            return self._called(token, start)
        if word in LOOSE_WORDS:
            cursor.take()
            return syntax.Literal(LOOSE_WORDS[word], cursor.place(start))
        if word in FLOAT_WORDS and token.text not in cursor.floats_named:
            cursor.take()
            return syntax.Literal(FLOAT_WORDS[word], cursor.place(start))
        if word in _NO_VALUE_BEGINS and cursor.is_word(*NO_VALUES) and following.sign != ".":
            raise no_expression(cursor)
        cursor.at += 1
        return syntax.Variable(token.text, Place(cursor.starts[start], cursor.ends[start]))

    def _subquery(self, start: int, kind: SubqueryKind) -> syntax.Subquery:
        query = self.subquery(kind)
        self.cursor.expect_sign("}", f"to close {kind} {{ }}")
        return syntax.Subquery(kind, query, self.cursor.since(start))

    def _case(self, start: int) -> syntax.Case:
        cursor = self.cursor
        subject = None if cursor.is_word("WHEN") else self.read()
        branches: list[tuple[Expression, Expression]] = []
        tests: list[bool] = []
        while cursor.accept_word("WHEN"):
            conditions = [self._when(subject)]
            while subject is not None and cursor.accept_sign(","):
                conditions.append(self._when(subject))
            if not cursor.accept_word("THEN"):
                raise cursor.unexpected("THEN", ["THEN"])
            value = self.read()
            branches += ((condition, value) for condition, _ in conditions)
            tests += [test for _, test in conditions]
        if not branches:
            raise cursor.unexpected("WHEN", ["WHEN"], "Write CASE WHEN condition THEN value END.")
        default = self.read() if cursor.accept_word("ELSE") else None
        if not cursor.accept_word("END"):
            raise cursor.unexpected("END of CASE", ["WHEN", "ELSE", "END"])
        place = cursor.since(start)
        if subject is None or not any(tests):
            return syntax.Case(subject, tuple(branches), default, place)
        self._check_repeatable(subject)
        searched = [
            (
                when if test else syntax.Comparison(Comparator.EQUAL, subject, when, when.place),
                value,
            )
            for test, (when, value) in zip(tests, branches, strict=True)
        ]
        return syntax.Case(None, tuple(searched), default, place)

    def _when(self, subject: Expression | None) -> tuple[Expression, bool]:
        """The operand of WHEN, and whether it is a test of the subject, `> 30` or IS NULL, and no value."""
        if subject is not None:
            test = self.test_of(subject)
            if test is not None:
                return test, True
        return self.read(), False

    def _check_repeatable(self, subject: Expression) -> None:
        """Refuse a subject that would be another value at each WHEN."""
        from gdb.language.random_values import random_calls  # here: few CASE have tests

        for part in random_calls(subject):
            message = "CASE with tests of a random value would draw it anew for each."
            raise self.cursor.error(part.place, message, "Compute it in a WITH before.")

    def map_projection(self, subject: syntax.Variable, start: int) -> syntax.MapProjection:
        """subject{.key, .*, name, key: value}"""
        cursor = self.cursor
        cursor.take()
        everything = False
        entries: list[tuple[Name, Expression]] = []
        while not cursor.is_sign("}"):
            if cursor.accept_sign("."):
                if cursor.accept_sign("*"):
                    everything = True
                else:
                    key = cursor.name("the name of a property after '.'")
                    entries.append(
                        (key, syntax.Property(subject, key, subject.place.to(key.place)))
                    )
            else:
                key = cursor.name("a name, .name or .* in a map projection")
                named = syntax.Variable(key.text, key.place)
                entries.append((key, self.read() if cursor.accept_sign(":") else named))
            if not cursor.accept_sign(","):
                break
        cursor.expect_sign("}", "or ',' in a map projection")
        return syntax.MapProjection(subject, everything, tuple(entries), cursor.since(start))

    # ---- calls -----------------------------------------------------------------------------------

    def _is_call(self) -> bool:
        """name( or room.name("""
        ahead = 1
        while self.cursor.is_sign(".", ahead=ahead) and self.cursor.peek(ahead + 1).kind in _NAMES:
            ahead += 2
        return self.cursor.is_sign("(", ahead=ahead)

    def dotted_name(self, what: str) -> Name:
        """name, or room.name"""
        found = self.cursor.name(what)
        while self.cursor.accept_sign("."):
            part = self.cursor.name(f"{what} after '.'")
            found = Name(f"{found.text}.{part.text}", found.place.to(part.place))
        return found

    def _called(self, token: Token, start: int) -> Expression:
        cursor, word = self.cursor, token.word
        opens, inner = cursor.is_sign("(", ahead=1), cursor.peek(2)
        named = opens and inner.kind in _NAMES
        if word in QUANTIFIERS and named and cursor.is_word("IN", ahead=3):
            return self._quantified(start, QUANTIFIERS[word])
        if word == "REDUCE" and named and cursor.is_sign("=", ahead=3):
            return self._reduce(start)
        if word == "REDUCE" and named and cursor.is_word("IN", ahead=3):
            message = "reduce() begins with a name for the result and its first value."
            cure = "Write reduce(total = 0, x IN list | total + x)."
            raise cursor.error(cursor.place(start + 2), message, cure)
        if word in SHORTEST and opens:
            raise cursor.not_supported(
                cursor.place(start),
                f"{token.text}() in an expression is",
                f"Write it in MATCH, as in MATCH p = {token.text}((a)-[*]-(b)).",
            )
        return self._call(word, start)

    def _quantified(self, start: int, quantifier: Quantifier) -> syntax.Quantified:
        cursor = self.cursor
        cursor.at += 2
        variable, of = self.variable_in()
        if not cursor.accept_word("WHERE"):
            raise cursor.unexpected("WHERE", ["WHERE"])
        where = self.read()
        cursor.expect_sign(")", f"to close {quantifier}()")
        return syntax.Quantified(quantifier, variable, of, where, cursor.since(start))

    def _reduce(self, start: int) -> syntax.Reduce:
        cursor = self.cursor
        cursor.take()
        opening = cursor.at
        cursor.take()
        total = cursor.name("a name for the result")
        cursor.take()
        self.awaiting[opening] = 0
        initial = self.read()
        cursor.expect_sign(",", "after the first value of reduce()")
        variable, of = self.variable_in()
        self.awaiting.pop(opening, None)
        cursor.expect_sign("|", "before the result of reduce()")
        result = self.read()
        cursor.expect_sign(")", "to close reduce()")
        return syntax.Reduce(total, initial, variable, of, result, cursor.since(start))

    def _call(self, word: str, start: int) -> Expression:
        cursor = self.cursor
        function = self.dotted_name("a function")
        cursor.expect_sign("(", "of a function")
        if cursor.accept_sign("*"):
            cursor.expect_sign(")", f"after {function.text}(*")
            return syntax.Call(function, (), cursor.since(start), star=True)
        if word == "TRIM" and (found := self._trimmed(function, start)) is not None:
            return found
        distinct = cursor.accept_word("DISTINCT")
        arguments = (self.read(),) if distinct and cursor.is_sign(")") else self.several(")")
        cursor.expect_sign(")", f"or ',' in {function.text}()")
        if word == "EXISTS" and len(arguments) == 1:
            only = arguments[0]
            if isinstance(only, syntax.PatternTest) and not distinct:
                return syntax.PatternTest(only.pattern, cursor.since(start))
        return syntax.Call(function, arguments, cursor.since(start), distinct)

    def _trimmed(self, function: Name, start: int) -> syntax.Call | None:
        """trim([LEADING | TRAILING | BOTH] [characters] FROM text), behind its parenthesis; None where it is the
        usual form."""
        cursor = self.cursor
        side = cursor.peek().word if cursor.is_word(*_SIDES) else ""
        if side and cursor.peek(1).sign in (",", ")", "."):  # a variable
            return None
        if not side and not self._has_from():
            return None
        if side:
            cursor.take()
        characters = () if cursor.is_word("FROM") else (self.read(),)
        if not cursor.accept_word("FROM"):
            raise cursor.unexpected("FROM", ["FROM"], "Write trim(BOTH 'x' FROM text).")
        text = self.read()
        cursor.expect_sign(")", f"to close {function.text}()")
        name = Name(_SIDES[side or "BOTH"], function.place)
        return syntax.Call(name, (text, *characters), cursor.since(start))

    def _has_from(self) -> bool:
        """Whether the parenthesis that was opened last contains FROM, outside of those inside it."""
        cursor, depth = self.cursor, 0
        for number in range(cursor.at, len(cursor.tokens)):
            token = cursor.tokens[number]
            if token.sign in ("(", "[", "{"):
                depth += 1
            elif token.sign in (")", "]", "}"):
                depth -= 1
            if depth < 0:
                return False
            if token.word == "FROM" and depth == 0 and number > cursor.at:
                return cursor.tokens[number - 1].sign not in (".", ",")
        return False


def _begins_value(token: Token) -> bool:
    if token.kind is TokenKind.SIGN:
        return token.text in ("(", "[", "{", "-", "+", "$")
    return token.kind is not TokenKind.END and token.word != "AS"
