"""Words, numbers, strings and signs of a query: sqlglot's tokenizer with Cypher's settings, its traps closed.

Traps of the stock tokenizer (each has a test): `--` begins a comment and would drop `-->(b)`; `{# #}` is a comment
everywhere and would drop a property map; `n'x'` is one string; some 400 words are keywords; `1..3` comes as `1.` `.`
`3`. So keywords are our own (none: the parser knows where a word means something), everything that the tokenizer
leaves out must be a blank or a comment of ours, and numbers and strings are read from the text again.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from sqlglot import Token as SqlglotToken
from sqlglot import Tokenizer, TokenType
from sqlglot.errors import TokenError

from gdb import limits
from gdb.errors import LimitExceeded, SyntaxProblem
from gdb.language.report import problem
from gdb.language.syntax import Place


class Kind(StrEnum):
    NAME = "name"
    QUOTED = "quoted name"
    STRING = "string"
    INTEGER = "integer"
    FLOAT = "float"
    SIGN = "sign"
    END = "end of the query"


@dataclass(frozen=True, slots=True)
class Token:
    """text : the value of a string or a quoted name; else as written."""

    kind: Kind
    text: str
    place: Place

    @property
    def word(self) -> str:
        """A name in upper case, to compare with keywords; "" of anything else."""
        return self.text.upper() if self.kind is Kind.NAME else ""

    def is_sign(self, *signs: str) -> bool:
        return self.kind is Kind.SIGN and self.text in signs


class CypherTokenizer(Tokenizer):
    """Not for use alone: see `tokenize`."""

    QUOTES = ["'", '"']  # noqa: RUF012  (sqlglot reads plain lists)
    IDENTIFIERS = ["`"]  # noqa: RUF012
    STRING_ESCAPES = ["\\"]  # noqa: RUF012
    COMMENTS = ["//", ("/*", "*/")]  # noqa: RUF012
    NESTED_COMMENTS = False
    COMMANDS = set()  # noqa: RUF012
    VAR_SINGLE_TOKENS = set()  # noqa: RUF012
    SINGLE_TOKENS = {**Tokenizer.SINGLE_TOKENS, "$": TokenType.PARAMETER}  # noqa: RUF012
    KEYWORDS = {  # noqa: RUF012
        "<=": TokenType.LTE,
        ">=": TokenType.GTE,
        "<>": TokenType.NEQ,
        "!=": TokenType.NEQ,
        "=~": TokenType.RLIKE,
    }


_SKIPPED = re.compile(r"(?:\s|//[^\r\n]*|/\*.*?\*/)*", re.DOTALL)
_NAME = re.compile(r"[^\W\d]\w*")
_INTEGER = re.compile(r"\d+")
_FLOAT = re.compile(r"\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+")
_SIGNS = frozenset("()[]{},.:;|&!+-*/%^=<>$") | {"<=", ">=", "<>", "!=", "=~"}
_CLOSED = re.compile(
    r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`(?:[^`]|``)*`|//[^\r\n]*|/\*.*?\*/|(?P<open>['"`]|/\*)""",
    re.DOTALL,
)
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"} | {c: c for c in "\\'\"`/"}


def tokenize(text: str) -> list[Token]:
    """The tokens of a query; the last one is END, just behind the last character that means something.

    Raises
    ------
    LimitExceeded : the text is longer than limits.MAX_QUERY_CHARACTERS.
    SyntaxProblem : an unclosed string, quoted name or comment; a character or number that the language does not have.
    """
    if len(text) > limits.MAX_QUERY_CHARACTERS:
        raise LimitExceeded(
            f"the query has {len(text)} characters, more than the limit of {limits.MAX_QUERY_CHARACTERS}.",
            "Pass long lists as $parameters, or raise gdb.limits.MAX_QUERY_CHARACTERS.",
        )
    _check_closed(text)
    try:
        raw = CypherTokenizer().tokenize(text)
    except TokenError as error:  # nothing known does this: strings and comments are closed by now
        raise SyntaxProblem(
            "the text of the query cannot be cut into words.", "Check its quotes."
        ) from error
    tokens: list[Token] = []
    end = 0
    for token in raw:
        _check_skipped(text, end, token.start)
        tokens.extend(_split_range(_token(text, token)))
        end = token.end + 1
    _check_skipped(text, end, len(text))
    tokens.append(Token(Kind.END, "", Place(end, end)))
    return tokens


def _check_closed(text: str) -> None:
    for found in _CLOSED.finditer(text):
        sign = found["open"]
        if sign:
            what = {"`": "quoted name", "/*": "comment"}.get(sign, "string")
            close = "*/" if sign == "/*" else sign
            place = Place(found.start(), found.end())
            raise problem(
                SyntaxProblem, text, place, f"this {what} never ends.", f"Close it with {close}"
            )


def _check_skipped(text: str, start: int, end: int) -> None:
    """What lies between two tokens must be blank or a comment: sqlglot drops more than that."""
    if start >= end:
        return
    rest = _SKIPPED.match(text, start, end)
    at = rest.end() if rest else start
    if at < end:
        at += text.startswith("{#", at)  # a comment only to sqlglot
        raise _unexpected(text, Place(at, at + 1))


def _split_range(token: Token) -> tuple[Token, ...]:
    """The `1.` of `1..3` is a number and a dot."""
    if token.kind is not Kind.FLOAT or not token.text.endswith("."):
        return (token,)
    dot = token.place.end - 1
    number = Token(Kind.INTEGER, token.text[:-1], Place(token.place.start, dot))
    return number, Token(Kind.SIGN, ".", Place(dot, dot + 1))


def _unexpected(text: str, place: Place) -> SyntaxProblem:
    shown = text[place.start : place.end]
    cure = {"#": "Comments begin with //", "?": "Write parameters as $name."}.get(shown[0], "")
    if shown[0] not in "#?" and not shown[0].isprintable():
        shown = f"U+{ord(shown[0]):04X}"
    return problem(
        SyntaxProblem, text, place, f"the language has no character {shown[:20]!r} here.", cure
    )


def _token(text: str, token: SqlglotToken) -> Token:
    place = Place(token.start, token.end + 1)
    written = text[place.start : place.end]
    match token.token_type:
        case TokenType.STRING:
            return Token(Kind.STRING, _unescaped(text, place), place)
        case TokenType.IDENTIFIER:
            return Token(Kind.QUOTED, _quoted(text, place), place)
        case TokenType.NUMBER:
            return _number(text, place)
    if written in _SIGNS:
        return Token(Kind.SIGN, written, place)
    if _NAME.fullmatch(written):
        return Token(Kind.NAME, written, place)
    odd = re.match(r"[^\W\d]\w*", written)
    at = place.start + (odd.end() if odd else 0)
    raise _unexpected(text, Place(at, at + 1))


def _quoted(text: str, place: Place) -> str:
    name = text[place.start + 1 : place.end - 1].replace("``", "`")
    if not name:
        raise problem(
            SyntaxProblem,
            text,
            place,
            "a quoted name is empty.",
            "Write the name between the backquotes.",
        )
    return name


def _number(text: str, place: Place) -> Token:
    written = text[place.start : place.end]
    follows = _NAME.match(text, place.end)
    if follows and not written.endswith("."):
        whole = Place(place.start, follows.end())
        raise problem(
            SyntaxProblem,
            text,
            whole,
            f"{text[whole.start : whole.end][:40]!r} is neither a number nor a name.",
            "Names begin with a letter; put other names in `backquotes`.",
        )
    if _INTEGER.fullmatch(written):
        return Token(Kind.INTEGER, written, place)
    if _FLOAT.fullmatch(written) or (
        _INTEGER.fullmatch(written[:-1]) and text.startswith(".", place.end)
    ):
        return Token(Kind.FLOAT, written, place)
    raise problem(
        SyntaxProblem,
        text,
        place,
        f"{written[:40]!r} is not a number.",
        "Write 1, 1.0 or 1e3.",
    )


def _unescaped(text: str, place: Place) -> str:
    """The value of a string with its escapes read."""

    def value(found: re.Match[str]) -> str:
        code = found[1]
        at = place.start + 1 + found.start()
        if code in _ESCAPES:
            return _ESCAPES[code]
        if code[0] in "uU" and len(code) > 1 and _character(int(code[1:], 16)):
            return chr(int(code[1:], 16))
        raise problem(
            SyntaxProblem,
            text,
            Place(at, at + len(found[0])),
            f"a string has no escape {found[0]!r}.",
            r"Use \n, \t, \r, \b, \f, \', \", \\, \uXXXX or \UXXXXXXXX; a backslash itself is \\",
        )

    return _ESCAPE.sub(value, text[place.start + 1 : place.end - 1])


def _character(code: int) -> bool:
    """Whether a code point is a character that UTF-8 can hold."""
    return code < 0xD800 or 0xDFFF < code <= 0x10FFFF
