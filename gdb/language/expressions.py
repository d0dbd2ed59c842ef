"""Scalar expressions: precedence climbing with the levels of openCypher 9 (OR lowest, then XOR, AND, NOT, comparison,
string and list tests, + -, * / %, ^, unary minus, property and label).

sqlglot's own expression parser is not used: it reads `a + b ^ 2` as `(a + b) ^ 2`, takes a chain `a < b < c` for
`(a < b) < c`, and forgets the place of an operator.
"""

from __future__ import annotations

import math
from enum import IntEnum
from typing import get_args

from gdb import limits
from gdb.errors import LimitExceeded, SyntaxProblem
from gdb.language import dialects, syntax
from gdb.language.atoms import AtomReader
from gdb.language.labels import label_expression
from gdb.language.report import located_message
from gdb.language.syntax import ArithmeticOperator, Comparator, Connective, Expression, Place
from gdb.language.tokens import TokenKind
from gdb.language.type_names import value_type
from gdb.language.value_types import IsNormalized, IsTyped, NormalForm

OPERATOR_WORDS = (
    *(*Connective, "NOT", "IN", "IS NULL", "IS NOT NULL", "IS TYPED", "IS NORMALIZED"),
    *(
        operator
        for operator in syntax.StringOperator
        if operator is not syntax.StringOperator.MATCHES
    ),
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


_SIGNS = {
    **dict.fromkeys(("=", "<>", "<", "<=", ">", ">="), Level.COMPARISON),
    "=~": Level.TEST,
    "||": Level.ADD,
    "::": Level.TEST,
    "+": Level.ADD,
    "-": Level.ADD,
    "*": Level.MULTIPLY,
    "/": Level.MULTIPLY,
    "%": Level.MULTIPLY,
    "^": Level.POWER,
}
_WORDS = {
    "OR": Level.OR,
    "XOR": Level.XOR,
    "AND": Level.AND,
    **dict.fromkeys(("NOT", "IN", "IS", "STARTS", "ENDS", "CONTAINS"), Level.TEST),
}
_FORMS: dict[str, NormalForm] = {form: form for form in get_args(NormalForm)}
_CONSTANT = (TokenKind.INTEGER, TokenKind.FLOAT, TokenKind.STRING)
_CLOSING = (",", "]", "}", ")")
_OPERATORS: dict[str, ArithmeticOperator] = {sign: sign for sign in get_args(ArithmeticOperator)}


class ExpressionReader(AtomReader):
    """Reads expressions at a cursor."""

    def read(self, level: Level = Level.OR) -> Expression:
        """One expression whose operators bind at least as tightly as `level`."""
        cursor = self.cursor
        start = cursor.at
        if start > cursor.next_pulse:
            cursor.beat()
        token = cursor.tokens[start]
        if token.kind in _CONSTANT and cursor.tokens[start + 1].sign in _CLOSING:
            return self.atom()  # as in a long list
        self.depth += 1
        if self.depth > self.deepest:
            raise self._too_deep()
        left = self._prefix()
        while (found := self._infix_level()) is not None and found >= level:
            left = self._infix(found, left, start)
        self.depth -= 1
        return left

    def _too_deep(self) -> LimitExceeded:
        message = f"an expression is nested more than {self.deepest} deep."
        return LimitExceeded(
            located_message(self.cursor.text, self.cursor.here, message),
            limits.cure("Leave out parentheses, split the condition with AND", "MAX_DEPTH"),
        )

    # ---- operators between operands --------------------------------------------------------------

    def _infix_level(self) -> Level | None:
        token = self.cursor.tokens[self.cursor.at]
        if (token.sign or token.word) in dialects.OPERATORS:
            raise self._no_operator(token.sign or token.word, self.cursor.here)
        if token.sign:
            return _SIGNS.get(token.sign)
        if token.word == "NOT" and not self._is_not_in():
            return None
        return _WORDS.get(token.word)

    def _no_operator(self, written: str, place: Place) -> SyntaxProblem:
        message = f"the language has no operator {written}."
        return self.cursor.error(place, message, dialects.OPERATORS[written])

    def _is_not_in(self) -> bool:
        """`a NOT IN b`, `a NOT LIKE b`, as SQL has it."""
        return self.cursor.is_word("NOT IN", "NOT LIKE", "NOT ILIKE", "NOT BETWEEN")

    def _infix(self, level: Level, left: Expression, start: int) -> Expression:
        match level:
            case Level.OR | Level.XOR | Level.AND:
                return self._connected(level, left, start)
            case Level.COMPARISON:
                return self._comparisons(left, start)
            case Level.TEST:
                return self._test(left, start)
            case _:
                return self._arithmetic(level, left, start)

    def _connected(self, level: Level, left: Expression, start: int) -> Expression:
        connective = Connective[level.name]
        operands = [left]
        while self.cursor.accept_word(connective):
            operands.append(self.read(Level(level + 1)))
        return syntax.Connected(connective, tuple(operands), self.cursor.since(start))

    def _comparisons(self, left: Expression, start: int) -> Expression:
        """One comparison, or a chain of them: a < b < c is a < b AND b < c."""
        found: list[Expression] = []
        begin = start
        while self._infix_level() is Level.COMPARISON:
            sign = self.cursor.take()
            if sign.text == "=" and self.cursor.is_sign("="):
                raise self._no_operator("==", self.cursor.last.to(self.cursor.here))
            following = self.cursor.at
            right = self.read(Level.TEST)
            place = self.cursor.since(begin)
            found.append(syntax.Comparison(Comparator(sign.text), left, right, place))
            left, begin = right, following
        if len(found) == 1:
            return found[0]
        return syntax.Connected(Connective.AND, tuple(found), self.cursor.since(start))

    def _test(self, left: Expression, start: int) -> Expression:
        cursor = self.cursor
        if self._is_not_in():
            cursor.take()
            if cursor.peek().word in dialects.OPERATORS:
                raise self._no_operator(cursor.peek().word, cursor.here)
            place = cursor.last.to(cursor.here)
            raise cursor.error(place, "NOT goes before the whole test.", "Write NOT a IN b.")
        if cursor.accept_word("IN"):
            if cursor.is_sign("(") and cursor.at in cursor.brackets.with_comma:
                message = "the list after IN is in parentheses."
                raise cursor.error(cursor.here, message, "Write it in brackets: IN [1, 2].")
            right = self.read(Level.ADD)
            return syntax.In(left, right, cursor.since(start))
        if cursor.accept_word("IS"):
            return self._is(left, start)
        if cursor.accept_sign("::"):
            return self._typed(left, False, start)
        if cursor.accept_sign("=~"):
            return syntax.StringTest(
                syntax.StringOperator.MATCHES, left, self.read(Level.ADD), cursor.since(start)
            )
        for operator in syntax.StringOperator:
            if cursor.accept_word(operator):
                right = self.read(Level.ADD)
                return syntax.StringTest(operator, left, right, cursor.since(start))
        cursor.take()
        raise cursor.unexpected("WITH", ["WITH"], "Write STARTS WITH or ENDS WITH.")

    def _is(self, left: Expression, start: int) -> Expression:
        """Behind IS: [NOT] NULL, [NOT] :: type, [NOT] NORMALIZED."""
        cursor = self.cursor
        negated = cursor.accept_word("NOT")
        if cursor.accept_word("NULL"):
            return syntax.IsNull(left, negated, cursor.since(start))
        if cursor.accept_sign("::") or cursor.accept_word("TYPED"):
            return self._typed(left, negated, start)
        form = _FORMS.get(cursor.peek().word)
        if form is not None and cursor.is_word("NORMALIZED", ahead=1):
            cursor.take()
        if cursor.accept_word("NORMALIZED"):
            return IsNormalized(left, form or "NFC", negated, cursor.since(start))
        words = ["NULL", "NOT NULL", "TYPED", "NORMALIZED"]
        cure = "A label is tested by a:Label, a type by IS :: INTEGER."
        raise cursor.unexpected("NULL, NOT NULL, :: or NORMALIZED after IS", words, cure)

    def _typed(self, left: Expression, negated: bool, start: int) -> IsTyped:
        type_ = value_type(self.cursor, self.separates)
        return IsTyped(left, type_, negated, self.cursor.since(start))

    def test_of(self, left: Expression) -> Expression | None:
        """The comparison or test that follows an operand `left`, as in `CASE x WHEN > 3`; None where none follows."""
        start = self.cursor.at
        match self._infix_level():
            case Level.COMPARISON:
                return self._comparisons(left, start)
            case Level.TEST:
                return self._test(left, start)
        return None

    def _arithmetic(self, level: Level, left: Expression, start: int) -> Expression:
        rest: list[tuple[ArithmeticOperator, Expression]] = []
        while self._infix_level() is level:
            operator = _OPERATORS[self.cursor.take().text]
            rest.append((operator, self.read(Level(level + 1))))
        return syntax.Arithmetic(left, tuple(rest), self.cursor.since(start))

    # ---- operands --------------------------------------------------------------------------------

    def _prefix(self) -> Expression:
        cursor, start = self.cursor, self.cursor.at
        token = cursor.tokens[start]
        if token.word == "NOT":
            cursor.take()
            return syntax.Not(self.read(Level.NOT), cursor.since(start))
        if token.sign == "-":
            cursor.take()
            if cursor.tokens[cursor.at].kind in (TokenKind.INTEGER, TokenKind.FLOAT):
                return self._postfix(self.number(start, -1), start)
            if cursor.tokens[cursor.at].word in ("INF", "INFINITY"):
                found = self.atom()
                if isinstance(found, syntax.Literal):
                    found = syntax.Literal(-math.inf, cursor.since(start))
                    return self._postfix(found, start)
                cursor.at = start + 1
            return syntax.Negative(self.read(Level.UNARY), cursor.since(start))
        if token.sign == "+":
            cursor.take()
            return self.read(Level.UNARY)
        return self._postfix(self.atom(), start)

    def operand(self) -> Expression:
        """An operand between operators, with .key, [index] and :Label behind it."""
        start = self.cursor.at
        return self._postfix(self.atom(), start)

    def _postfix(self, subject: Expression, start: int) -> Expression:
        cursor = self.cursor
        while True:
            match cursor.tokens[cursor.at].sign:
                case ".":
                    cursor.take()
                    key = cursor.name("the name of a property after '.'")
                    subject = syntax.Property(subject, key, cursor.since(start))
                case ":":
                    found = label_expression(self)
                    subject = found.whole(subject, cursor.since(start))
                case "[":
                    cursor.take()
                    subject = self._index(subject, start)
                case "{" if isinstance(subject, syntax.Variable):
                    subject = self.map_projection(subject, start)
                case _:
                    return subject

    def _index(self, subject: Expression, start: int) -> Expression:
        cursor = self.cursor
        first = None if cursor.is_sign("..") else self.read()
        if cursor.accept_sign(".."):
            stop = None if cursor.is_sign("]") else self.read()
            cursor.expect_sign("]", "to close the slice")
            return syntax.Slice(subject, first, stop, cursor.since(start))
        cursor.expect_sign("]", "or '..' after the index")
        assert first is not None
        return syntax.Index(subject, first, cursor.since(start))
