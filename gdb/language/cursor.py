"""A place in the tokens of a query: looking ahead, taking, and saying what was expected instead."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from gdb.base.once import cached_property
from gdb.errors import NotSupported, SyntaxProblem
from gdb.language.report import problem
from gdb.language.suggest import closest
from gdb.language.syntax import Name, Place
from gdb.language.tokens import Token, TokenKind, tokenize

_BETWEEN_PULSES = 4096
_FLOATS = ("INF", "INFINITY", "NAN")

T = TypeVar("T")


class Brackets:
    """Which brackets belong together, by the numbers of their tokens.

    closing : of an opening bracket the one that closes it, if one does.
    around : of a `:` or `|` the innermost bracket around it, -1 for none.
    with_comma : the opening brackets that have a `,` in them, outside of inner brackets. with_bar : those that have a
        `|` so, and where.
    """

    def __init__(self, tokens: Sequence[Token]) -> None:
        self.closing: dict[int, int] = {}
        self.around: dict[int, int] = {}
        self.with_comma: set[int] = set()
        self.with_bar: dict[int, list[int]] = {}
        opened = [-1]
        for number, token in enumerate(tokens):
            match token.sign:
                case "":
                    pass
                case "(" | "[" | "{":
                    opened.append(number)
                case ")" | "]" | "}" if len(opened) > 1:
                    self.closing[opened.pop()] = number
                case ",":
                    self.with_comma.add(opened[-1])
                case "|":
                    self.with_bar.setdefault(opened[-1], []).append(number)
                    self.around[number] = opened[-1]
                case ":":
                    self.around[number] = opened[-1]


class TokenCursor:
    """The tokens of one query and how far they are read.

    pulse : called now and then while a long text is read; what it raises ends the reading. start : the first character
    to read.
    """

    def __init__(
        self, text: str, pulse: Callable[[], object] | None = None, start: int = 0
    ) -> None:
        self.text = text
        cut = tokenize(text, start)
        self.tokens, self.starts, self.ends = cut.tokens, cut.starts, cut.ends
        self.at = 0  # never behind END
        self.floats_named: set[str] = set()  # names like Inf that are used as names, so no floats
        self.pulse = pulse
        self.next_pulse = _BETWEEN_PULSES if pulse is not None else len(self.tokens)

    @cached_property
    def brackets(self) -> Brackets:
        """Made when the first parenthesis or list that may be something else needs it."""
        return Brackets(self.tokens)

    def beat(self) -> None:
        """To be called when `at` is beyond `next_pulse`."""
        if self.pulse is not None:
            self.pulse()
            self.next_pulse = self.at + _BETWEEN_PULSES

    def peek(self, ahead: int = 0) -> Token:
        """The token `ahead` of the next one; END at and after the end."""
        try:
            return self.tokens[self.at + ahead]
        except IndexError:
            return self.tokens[-1]

    def take(self) -> Token:
        """The next token, which is then read."""
        token = self.tokens[self.at]
        if token.kind is not TokenKind.END:
            self.at += 1
        return token

    # ---- places ----------------------------------------------------------------------------------

    def place(self, number: int) -> Place:
        """Of the token of this number."""
        return Place(self.starts[number], self.ends[number])

    @property
    def here(self) -> Place:
        """Of the next token."""
        return Place(self.starts[self.at], self.ends[self.at])

    @property
    def last(self) -> Place:
        """Of the last token read."""
        return self.place(max(self.at - 1, 0))

    def since(self, start: int) -> Place:
        """From token number `start` to the last one read."""
        return Place(self.starts[start], self.ends[max(self.at - 1, 0)])

    # ---- words and signs -------------------------------------------------------------------------

    def is_sign(self, *signs: str, ahead: int = 0) -> bool:
        """Whether one of the signs is here, or so many tokens ahead."""
        return self.peek(ahead).sign in signs

    def accept_sign(self, *signs: str) -> bool:
        """Read a sign if it is one of these."""
        if self.tokens[self.at].sign not in signs:
            return False
        self.at += 1
        return True

    def is_word(self, *words: str, ahead: int = 0) -> bool:
        """Whether the next tokens are one of these words (`"ORDER BY"` is two)."""
        first = self.peek(ahead).word
        if not first:
            return False
        for word in words:
            if word == first:
                return True
            if word.startswith(first) and word[len(first) : len(first) + 1] == " ":
                parts = word.split()
                if all(self.peek(ahead + k).word == part for k, part in enumerate(parts)):
                    return True
        return False

    def separated(self, read: Callable[[], T]) -> tuple[T, ...]:
        """What `read` reads, once or more, with commas between."""
        found = [read()]
        while self.accept_sign(","):
            found.append(read())
        return tuple(found)

    def accept_word(self, word: str) -> bool:
        """Read a word (or several, `"ORDER BY"`) if it comes next."""
        first = self.tokens[self.at].word
        if first == word:
            self.at += 1
            return True
        if not first or not word.startswith(first) or not self.is_word(word):
            return False
        self.at += word.count(" ") + 1
        return True

    def expect_sign(self, sign: str, where: str, cure: str = "") -> None:
        """Pass a sign. Raises SyntaxProblem where it is not there; where : what it belongs to, for the error."""
        if self.tokens[self.at].sign != sign:
            if not cure and sign in (")", "]", "}"):
                cure = f"Write {sign} before it."
            raise self.unexpected(f"'{sign}' {where}", cure=cure)
        self.at += 1

    def name(self, what: str) -> Name:
        """A name of the user's."""
        token = self.tokens[self.at]
        if token.kind is not TokenKind.NAME and token.kind is not TokenKind.QUOTED:
            cure = "Put a name with odd characters in `backquotes`."
            raise self.unexpected(what, cure=cure if token.kind is TokenKind.STRING else "")
        place = Place(self.starts[self.at], self.ends[self.at])
        self.at += 1
        if token.word in _FLOATS:
            self.floats_named.add(token.text)
        return Name(token.text, place)

    # ---- errors ----------------------------------------------------------------------------------

    def unexpected(self, expected: str, words: Sequence[str] = (), cure: str = "") -> SyntaxProblem:
        """The error that the next token is not what is expected; `words` are keywords that it may be meant to be."""
        token = self.peek()
        near = closest(token.text, words) if token.kind is TokenKind.NAME else None
        if near:
            cure = f"Did you mean {near}?"
        return self.error(self.here, f"expected {expected}, found {shown(token)}.", cure)

    def error(self, place: Place, message: str, cure: str = "") -> SyntaxProblem:
        """An error at a place in the text."""
        return problem(SyntaxProblem, self.text, place, message, cure)

    def not_supported(self, place: Place, what: str, instead: str) -> NotSupported:
        """The error that the standard has this and gdb has not."""
        return problem(NotSupported, self.text, place, f"{what} not supported yet.", instead)


def shown(token: Token) -> str:
    """A token in an error message."""
    if token.kind is TokenKind.END:
        return "the end of the query"
    if token.kind is TokenKind.STRING:
        return "a string"
    text = token.text if len(token.text) <= 30 else token.text[:27] + "..."
    return f"'{text}'"
