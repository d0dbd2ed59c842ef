"""Scalar expressions: precedence climbing with the levels of openCypher 9 (OR lowest, then XOR, AND, NOT, comparison,
string and list tests, + -, * / %, ^, unary minus, property and label).

sqlglot's own expression parser is not used: it reads `a + b ^ 2` as `(a + b) ^ 2`, takes a chain `a < b < c` for
`(a < b) < c`, and forgets where an operator stood.
"""

from __future__ import annotations

from enum import IntEnum
from typing import get_args

from gdb import limits
from gdb.errors import LimitExceeded
from gdb.language.atoms import AtomReader
from gdb.language.labels import label_terms
from gdb.language.report import located
from gdb.language.syntax import (
    Arithmetic,
    ArithmeticOperator,
    Comparator,
    Comparison,
    Connected,
    Connective,
    Expression,
    HasLabels,
    In,
    Index,
    IsNull,
    Negative,
    Not,
    Property,
    Slice,
    StringOperator,
    StringTest,
    Variable,
)
from gdb.language.tokens import Kind, Token

OPERATOR_WORDS = (
    *(*Connective, "NOT", "IN", "IS NULL", "IS NOT NULL"),
    *(operator for operator in StringOperator if operator is not StringOperator.MATCHES),
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


class ExpressionReader(AtomReader):
    """Reads expressions at a cursor."""

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
            if token.text == "=~":
                return Level.TEST
            if token.text == "!=":
                raise self.cursor.error(
                    token.place, "the language has no operator !=.", "Write <> instead."
                )
            return _ARITHMETIC.get(token.text)
        if token.word in ("OR", "XOR", "AND"):
            return Level[token.word]
        if token.word in ("IN", "IS", "STARTS", "ENDS", "CONTAINS") or self._is_not_in():
            return Level.TEST
        return None

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
        if cursor.accept_sign("=~"):
            return StringTest(
                StringOperator.MATCHES, left, self.read(Level.ADD), cursor.since(start)
            )
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
                return self._postfix(self.number(cursor.take(), start, -1), start)
            return Negative(self.read(Level.UNARY), cursor.since(start))
        if cursor.accept_sign("+"):
            return self.read(Level.UNARY)
        return self.operand()

    def operand(self) -> Expression:
        """What stands between operators, with .key, [index] and :Label behind it."""
        start = self.cursor.peek()
        return self._postfix(self.atom(), start)

    def _postfix(self, subject: Expression, start: Token) -> Expression:
        cursor = self.cursor
        while True:
            token = cursor.peek()
            if cursor.accept_sign("."):
                key = cursor.name("the name of a property after '.'")
                subject = Property(subject, key, cursor.since(start))
            elif token.is_sign(":"):
                bars = cursor.brackets.around[cursor.at] not in self.awaiting
                labels = label_terms(cursor, bars)
                subject = HasLabels(subject, labels, cursor.since(start))
            elif cursor.accept_sign("["):
                subject = self._index(subject, start)
            elif token.is_sign("{") and isinstance(subject, Variable):
                subject = self.map_projection(subject, start)
            else:
                return subject

    def _index(self, subject: Expression, start: Token) -> Expression:
        cursor = self.cursor
        first = None if cursor.is_sign("..") else self.read()
        if cursor.accept_sign(".."):
            stop = None if cursor.is_sign("]") else self.read()
            cursor.expect_sign("]", "to close the slice")
            return Slice(subject, first, stop, cursor.since(start))
        cursor.expect_sign("]", "or '..' after the index")
        assert first is not None
        return Index(subject, first, cursor.since(start))
