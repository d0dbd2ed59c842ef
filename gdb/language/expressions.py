"""Scalar expressions: precedence climbing with the levels of openCypher 9 (OR lowest, then XOR, AND, NOT, comparison,
string and list tests, + -, * / %, ^, unary minus, property and label).

sqlglot's own expression parser is not used: it reads `a + b ^ 2` as `(a + b) ^ 2`, takes a chain `a < b < c` for
`(a < b) < c`, and forgets where an operator stood.
"""

from __future__ import annotations

import math
from enum import IntEnum
from typing import get_args

from gdb import limits
from gdb.errors import LimitExceeded
from gdb.language.cursor import Cursor
from gdb.language.labels import label_terms
from gdb.language.report import located
from gdb.language.syntax import (
    Arithmetic,
    ArithmeticOperator,
    Call,
    Comparator,
    Comparison,
    Connected,
    Connective,
    Expression,
    HasLabels,
    In,
    IsNull,
    ListLiteral,
    Literal,
    Negative,
    Not,
    Parameter,
    Place,
    Property,
    StringOperator,
    StringTest,
    Variable,
)
from gdb.language.tokens import Kind, Token

OPERATOR_WORDS = (*Connective, "NOT", "IN", "IS NULL", "IS NOT NULL", *StringOperator)

_QUANTIFIERS = ("ANY", "ALL", "NONE", "SINGLE", "REDUCE")
_LOOSE_WORDS = {"TRUE": True, "FALSE": False, "NULL": None}
# A word that cannot begin an expression, so that `WHERE RETURN a` is told at RETURN.
_CLAUSES = (
    "MATCH",
    "WHERE",
    "RETURN",
    "ORDER BY",
    "SKIP",
    "LIMIT",
    "WITH",
    "AND",
    "OR",
    "XOR",
    "AS",
)


class Level(IntEnum):
    """How tightly an operator binds."""

    OR = 0
    XOR = 1
    AND = 2
    NOT = 3
    COMPARISON = 4
    TEST = 5
    ADD = 6
    MULTIPLY = 7
    POWER = 8
    UNARY = 9


_ARITHMETIC = {
    "+": Level.ADD,
    "-": Level.ADD,
    "*": Level.MULTIPLY,
    "/": Level.MULTIPLY,
    "%": Level.MULTIPLY,
    "^": Level.POWER,
}
_OPERATORS: dict[str, ArithmeticOperator] = {sign: sign for sign in get_args(ArithmeticOperator)}


class ExpressionReader:
    """Reads expressions at a cursor."""

    def __init__(self, cursor: Cursor) -> None:
        self.cursor = cursor
        self.depth = 0

    def read(self, level: Level = Level.OR) -> Expression:
        """One expression whose operators bind at least as tightly as `level`."""
        self.depth += 1
        if self.depth > limits.MAX_DEPTH:
            message = f"an expression is nested more than {limits.MAX_DEPTH} deep."
            raise LimitExceeded(
                located(self.cursor.text, self.cursor.peek().place, message),
                "Leave out parentheses, split the condition with AND, or raise gdb.limits.MAX_DEPTH.",
            )
        start = self.cursor.peek()
        left = self._prefix()
        while (found := self._infix_level()) is not None and found >= level:
            left = self._infix(found, left, start)
        self.depth -= 1
        return left

    # ---- operators between operands --------------------------------------------------------------

    def _infix_level(self) -> Level | None:
        token = self.cursor.peek()
        if token.kind is Kind.SIGN:
            if token.text in ("=", "<>", "<", "<=", ">", ">="):
                return Level.COMPARISON
            self._refuse_sign(token)
            return _ARITHMETIC.get(token.text)
        if token.word in ("OR", "XOR", "AND"):
            return Level[token.word]
        if token.word in ("IN", "IS", "STARTS", "ENDS", "CONTAINS") or self._is_not_in():
            return Level.TEST
        return None

    def _refuse_sign(self, token: Token) -> None:
        if token.text == "!=":
            raise self.cursor.error(
                token.place, "the language has no operator !=.", "Write <> instead."
            )
        if token.text == "=~":
            raise self.cursor.not_supported(
                token.place, "regular expressions are", "Use STARTS WITH, ENDS WITH or CONTAINS."
            )
        if token.text == "[":
            raise self.cursor.not_supported(
                token.place, "taking items or slices of a list is", "Use IN to look into a list."
            )

    def _is_not_in(self) -> bool:
        """`a NOT IN b`, as SQL has it."""
        return self.cursor.is_word("NOT IN")

    def _infix(self, level: Level, left: Expression, start: Token) -> Expression:
        match level:
            case Level.OR | Level.XOR | Level.AND:
                return self._connected(level, left, start)
            case Level.COMPARISON:
                return self._comparisons(left, start)
            case Level.TEST:
                return self._test(left, start)
            case _:
                return self._arithmetic(level, left, start)

    def _connected(self, level: Level, left: Expression, start: Token) -> Expression:
        connective = Connective[level.name]
        operands = [left]
        while self.cursor.accept_word(connective):
            operands.append(self.read(Level(level + 1)))
        return Connected(connective, tuple(operands), self.cursor.since(start))

    def _comparisons(self, left: Expression, start: Token) -> Expression:
        """One comparison, or a chain of them: a < b < c is a < b AND b < c."""
        found: list[Expression] = []
        begin = start
        while self._infix_level() is Level.COMPARISON:
            sign = self.cursor.take()
            if sign.text == "=" and self.cursor.is_sign("="):
                raise self.cursor.error(
                    sign.place.to(self.cursor.peek().place),
                    "the language has no operator ==.",
                    "Write = instead.",
                )
            following = self.cursor.peek()
            right = self.read(Level.TEST)
            place = self.cursor.since(begin)
            found.append(Comparison(Comparator(sign.text), left, right, place))
            left, begin = right, following
        if len(found) == 1:
            return found[0]
        return Connected(Connective.AND, tuple(found), self.cursor.since(start))

    def _test(self, left: Expression, start: Token) -> Expression:
        cursor = self.cursor
        if self._is_not_in():
            place = cursor.take().place.to(cursor.peek().place)
            raise cursor.error(place, "NOT stands before the whole test.", "Write NOT a IN b.")
        if cursor.accept_word("IN"):
            right = self.read(Level.ADD)
            return In(left, right, cursor.since(start))
        if cursor.accept_word("IS"):
            negated = cursor.accept_word("NOT") is not None
            if not cursor.accept_word("NULL"):
                raise cursor.unexpected("NULL or NOT NULL after IS", ["NULL", "NOT NULL"])
            return IsNull(left, negated, cursor.since(start))
        for operator in StringOperator:
            if cursor.accept_word(operator):
                right = self.read(Level.ADD)
                return StringTest(operator, left, right, cursor.since(start))
        cursor.take()
        raise cursor.unexpected("WITH", ["WITH"], "Write STARTS WITH or ENDS WITH.")

    def _arithmetic(self, level: Level, left: Expression, start: Token) -> Expression:
        rest: list[tuple[ArithmeticOperator, Expression]] = []
        while self._infix_level() is level:
            operator = _OPERATORS[self.cursor.take().text]
            rest.append((operator, self.read(Level(level + 1))))
        return Arithmetic(left, tuple(rest), self.cursor.since(start))

    # ---- operands --------------------------------------------------------------------------------

    def _prefix(self) -> Expression:
        cursor, start = self.cursor, self.cursor.peek()
        if start.word == "NOT":
            cursor.take()
            return Not(self.read(Level.NOT), cursor.since(start))
        if cursor.accept_sign("-"):
            if cursor.peek().kind in (Kind.INTEGER, Kind.FLOAT):
                return self._postfix(self._number(cursor.take(), start, -1), start)
            return Negative(self.read(Level.UNARY), cursor.since(start))
        if cursor.accept_sign("+"):
            return self.read(Level.UNARY)
        return self._postfix(self._atom(start), start)

    def _postfix(self, subject: Expression, start: Token) -> Expression:
        cursor = self.cursor
        while True:
            if cursor.accept_sign("."):
                key = cursor.name("the name of a property after '.'")
                subject = Property(subject, key, cursor.since(start))
            elif cursor.is_sign(":") and isinstance(subject, Variable):
                labels = label_terms(cursor)
                return HasLabels(subject, labels, cursor.since(start))
            else:
                return subject

    def _atom(self, start: Token) -> Expression:
        cursor = self.cursor
        match start.kind:
            case Kind.STRING:
                cursor.take()
                return Literal(start.text, start.place)
            case Kind.INTEGER | Kind.FLOAT:
                return self._number(cursor.take(), start, 1)
            case Kind.NAME | Kind.QUOTED:
                return self._named(start)
            case Kind.SIGN:
                return self._sign(start)
            case _:
                raise cursor.unexpected("an expression")

    def _number(self, token: Token, start: Token, sign: int) -> Literal:
        place = start.place.to(token.place)
        cure = "Use a float such as 1e20, or a string."
        if token.kind is Kind.FLOAT:
            number = float(token.text)
            if math.isinf(number):
                raise self.cursor.error(place, "this number is too large for a float.")
            return Literal(sign * number, place)
        value = sign * int(token.text) if len(token.text.lstrip("0")) < 20 else 2**64
        if not -(2**63) <= value < 2**63:
            raise self.cursor.error(place, "this number does not fit 64 bits.", cure)
        return Literal(value, place)

    def _sign(self, start: Token) -> Expression:
        cursor = self.cursor
        if cursor.accept_sign("("):
            return self._parenthesised(start)
        if cursor.accept_sign("["):
            return self._list(start)
        if cursor.accept_sign("$"):
            if cursor.peek().kind is Kind.INTEGER:
                raise cursor.error(
                    cursor.since(start).to(cursor.peek().place),
                    "parameters have names, not numbers.",
                    "Write $name, and pass {'name': value}.",
                )
            return Parameter(
                cursor.name("the name of a parameter after '$'").text, cursor.since(start)
            )
        if start.text == "{":
            raise cursor.not_supported(
                start.place, "maps as values are", "Return the values as columns."
            )
        if start.text == "." and cursor.peek(1).kind is Kind.INTEGER:
            place = start.place.to(cursor.peek(1).place)
            raise cursor.error(
                place, "a number begins with a digit.", f"Write 0.{cursor.peek(1).text}"
            )
        if start.text == "*":
            raise cursor.unexpected("an expression", cure="* stands alone, or in count(*).")
        raise cursor.unexpected("an expression")

    def _parenthesised(self, start: Token) -> Expression:
        cursor = self.cursor
        if cursor.is_sign(")", ":"):
            raise self._pattern_in_expression(start.place)
        inner = self.read()
        if cursor.is_sign("{"):
            raise self._pattern_in_expression(cursor.since(start))
        cursor.expect_sign(")", "to close the parenthesis")
        if isinstance(inner, (Variable, HasLabels)) and self._relationship_follows():
            raise self._pattern_in_expression(cursor.since(start))
        return inner

    def _relationship_follows(self) -> bool:
        ahead = 1 if self.cursor.is_sign("<") else 0
        first, second = self.cursor.peek(ahead), self.cursor.peek(ahead + 1)
        if not first.is_sign("-") or (ahead and self.cursor.peek().place.end != first.place.start):
            return False
        return second.is_sign("[") or (
            second.is_sign("-") and second.place.start == first.place.end
        )

    def _pattern_in_expression(self, place: Place) -> Exception:
        return self.cursor.not_supported(
            place, "a pattern inside an expression is", "Write it in MATCH, separated by a comma."
        )

    def _list(self, start: Token) -> Expression:
        cursor = self.cursor
        if cursor.peek().kind in (Kind.NAME, Kind.QUOTED) and cursor.is_word("IN", ahead=1):
            raise cursor.not_supported(
                start.place, "a list comprehension is", "Pass the list as a $parameter."
            )
        items: list[Expression] = []
        if not cursor.is_sign("]"):
            items.append(self.read())
            while cursor.accept_sign(","):
                items.append(self.read())
        if cursor.is_sign("|") or cursor.is_word("WHERE"):
            raise cursor.not_supported(
                start.place, "a comprehension is", "Pass the list as a $parameter."
            )
        cursor.expect_sign("]", "or ',' in a list")
        return ListLiteral(tuple(items), cursor.since(start))

    def _named(self, start: Token) -> Expression:
        cursor = self.cursor
        self._refuse_subquery(start)
        if cursor.is_sign("(", ahead=1):
            return self._call()
        if start.word in _LOOSE_WORDS:
            cursor.take()
            return Literal(_LOOSE_WORDS[start.word], start.place)
        if cursor.is_word(*_CLAUSES) and not cursor.is_sign(".", ahead=1):
            raise cursor.unexpected("an expression")
        cursor.take()
        return Variable(start.text, start.place)

    def _refuse_subquery(self, start: Token) -> None:
        following = self.cursor.peek(1)
        if start.word in ("EXISTS", "COUNT", "COLLECT") and following.is_sign("{"):
            raise self.cursor.not_supported(
                start.place,
                f"{start.word} {{ }} is",
                "Write its pattern in MATCH, with RETURN DISTINCT or count(DISTINCT ...).",
            )
        if start.word == "EXISTS" and following.is_sign("("):
            raise self.cursor.not_supported(
                start.place,
                "exists() is",
                "For a property write IS NOT NULL; write a pattern in MATCH.",
            )
        if start.word == "CASE" and following.kind is not Kind.END and not following.is_sign("."):
            raise self.cursor.not_supported(
                start.place, "CASE is", "Return the parts as columns, or use coalesce()."
            )
        if start.word in _QUANTIFIERS and following.is_sign("("):
            raise self.cursor.not_supported(
                start.place, f"{start.text}() is", "Use IN to look into a list."
            )

    def _call(self) -> Expression:
        cursor = self.cursor
        start = cursor.peek()
        function = cursor.name("a function")
        cursor.expect_sign("(", "of a function")
        if cursor.accept_sign("*"):
            cursor.expect_sign(")", f"after {function.text}(*")
            return Call(function, (), cursor.since(start), star=True)
        distinct = cursor.accept_word("DISTINCT") is not None
        arguments: list[Expression] = []
        if distinct or not cursor.is_sign(")"):
            arguments.append(self.read())
            while cursor.accept_sign(","):
                arguments.append(self.read())
        cursor.expect_sign(")", f"or ',' in {function.text}()")
        return Call(function, tuple(arguments), cursor.since(start), distinct)
