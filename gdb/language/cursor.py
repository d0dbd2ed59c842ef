"""A place in the tokens of a query: looking ahead, taking, and saying what was expected instead."""

from __future__ import annotations

from collections.abc import Sequence

from gdb.errors import NotSupported, SyntaxProblem
from gdb.language.report import problem
from gdb.language.suggest import closest
from gdb.language.syntax import Name, Place
from gdb.language.tokens import Kind, Token, tokenize


class Brackets:
    """Which brackets belong together, by the numbers of their tokens.

    closing : of an opening bracket the one that closes it, if one does.
    around : of each token the bracket that it stands in, -1 for none.
    with_comma, with_bar : the opening brackets that have a `,` or a `|` in them, outside of inner brackets.
    """

    def __init__(self, tokens: Sequence[Token]) -> None:
        self.closing: dict[int, int] = {}
        self.around: list[int] = []
        self.with_comma: set[int] = set()
        self.with_bar: set[int] = set()
        opened = [-1]
        for number, token in enumerate(tokens):
            self.around.append(opened[-1])
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
                    self.with_bar.add(opened[-1])


class Cursor:
    """The tokens of one query and how far they are read."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = tokenize(text)
        self.brackets = Brackets(self.tokens)
        self.at = 0  # never behind END

    def peek(self, ahead: int = 0) -> Token:
        """The token `ahead` of the next one; END for ever at the end."""
        try:
            return self.tokens[self.at + ahead]
        except IndexError:
            return self.tokens[-1]

    def take(self) -> Token:
        """The next token, which is then read."""
        token = self.tokens[self.at]
        if token.kind is not Kind.END:
            self.at += 1
        return token

    def since(self, start: Token) -> Place:
        """From a token to the last one read."""
        return start.place.to(self.tokens[max(self.at - 1, 0)].place)

    def is_sign(self, *signs: str, ahead: int = 0) -> bool:
        return self.peek(ahead).sign in signs

    def accept_sign(self, *signs: str) -> Token | None:
        return self.take() if self.tokens[self.at].sign in signs else None

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

    def accept_word(self, word: str) -> Token | None:
        """Read a word (or several, `"ORDER BY"`) if it comes next; its first token."""
        if not self.tokens[self.at].word or not self.is_word(word):
            return None
        first = self.peek()
        self.at += word.count(" ") + 1
        return first

    def expect_sign(self, sign: str, where: str, cure: str = "") -> Token:
        found = self.accept_sign(sign)
        if found is None:
            raise self.unexpected(f"'{sign}' {where}", cure=cure)
        return found

    def name(self, what: str) -> Name:
        """A name of the user's."""
        token = self.peek()
        if token.kind not in (Kind.NAME, Kind.QUOTED):
            cure = "Put a name with odd characters in `backquotes`."
            raise self.unexpected(what, cure=cure if token.kind is Kind.STRING else "")
        self.take()
        return Name(token.text, token.place)

    def unexpected(self, expected: str, words: Sequence[str] = (), cure: str = "") -> SyntaxProblem:
        """The error that the next token is not what is expected; `words` are keywords that it may be meant to be."""
        token = self.peek()
        near = closest(token.text, words) if token.kind is Kind.NAME else None
        if near:
            cure = f"Did you mean {near}?"
        return self.error(token.place, f"expected {expected}, found {shown(token)}.", cure)

    def error(self, place: Place, message: str, cure: str = "") -> SyntaxProblem:
        return problem(SyntaxProblem, self.text, place, message, cure)

    def not_supported(self, place: Place, what: str, instead: str) -> NotSupported:
        """The error that the standard has this and gdb has not."""
        return problem(NotSupported, self.text, place, f"{what} not supported yet.", instead)


def shown(token: Token) -> str:
    """A token in an error message."""
    if token.kind is Kind.END:
        return "the end of the query"
    if token.kind is Kind.STRING:
        return "a string"
    text = token.text if len(token.text) <= 30 else token.text[:27] + "..."
    return f"'{text}'"
