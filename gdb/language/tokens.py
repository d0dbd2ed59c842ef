"""Words, numbers, strings and signs of a query, cut by one regular expression.

Not by sqlglot's tokenizer, which would have to be corrected in too many places: there `--` begins a comment and would
drop `-->(b)`; `{# #}` is a comment and would drop a property map; `n'x'` is one string; `1..3` comes as `1.` `.` `3`;
some 400 words are keywords. No word is a keyword here: the parser knows where a word means something.

A text may be megabytes long, so nothing here is done for each token in Python: pieces that are written alike share
one `Token`, and places are computed where they are needed (`cursor.Cursor.place`).
"""

from __future__ import annotations

import math
import re
from enum import StrEnum
from itertools import accumulate, chain, compress

from gdb import limits
from gdb.errors import LimitExceeded, SyntaxProblem
from gdb.language.escapes import ESCAPE, escaped, unescaped
from gdb.language.long_constants import Constant, long_constants
from gdb.language.report import problem
from gdb.language.syntax import Place
from gdb.records import dataclass


class TokenKind(StrEnum):
    """The kinds of tokens; their texts are in error messages."""

    NAME = "name"
    QUOTED = "quoted name"
    STRING = "string"
    INTEGER = "integer"
    FLOAT = "float"
    SIGN = "sign"
    CONSTANT = "list"
    END = "end of the query"


# not frozen: a query has many, and a frozen one takes four times as long to make
@dataclass(slots=True, eq=False)
class Token:
    """What a piece of text is, wherever it occurs.

    text : the value of a string or a quoted name; else as written.
    word : a name in upper case, to compare with keywords; "" of anything else.
    sign : the text of a sign; "" of anything else.
    number : the value of a number, where it is certain to be one of the language; None of anything else.
    constant : the values of a long list of constants (`gdb.language.long_constants`).
    """

    kind: TokenKind
    text: str
    word: str = ""
    sign: str = ""
    number: int | float | None = None
    constant: list[Constant] | None = None

    def is_sign(self, *signs: str) -> bool:
        """Whether it is one of these signs."""
        return self.sign in signs


@dataclass(frozen=True, slots=True)
class Tokens:
    """The tokens of a text, and for each where it begins and ends; the last one is END."""

    tokens: list[Token]
    starts: list[int]
    ends: list[int]

    def put(self, token: Token, start: int, end: int) -> None:
        """Append one."""
        self.tokens.append(token)
        self.starts.append(start)
        self.ends.append(end)


# A quote or a comment that is not closed takes the rest of the text. A number takes what follows it too closely.
_PIECE = re.compile(
    r"""
    (?:\s|//[^\r\n]*|/\*.*?\*/)+
    |'[^'\\]*(?:\\.[^'\\]*)*'
    |"[^"\\]*(?:\\.[^"\\]*)*"
    |`[^`]*(?:``[^`]*)*`
    |[^\W\d]\w*
    |(?<=\$)[0-9]+\w*
    |(?:[0-9][0-9_]*(?:\.[0-9][0-9_]*)?|(?<!\.)\.[0-9][0-9_]*)(?:[eE][+-]?[0-9]+)?\w*(?:\.(?!\.))?
    |['"`].*
    |/\*.*
    |<=|>=|<>|!=|=~|\+=|\.\.|\|\||&&|::|.
    """,
    re.DOTALL | re.VERBOSE,
)
_SIGNS = (*"()[]{},.:;|&!+-*/%^=<>$", "<=", ">=", "<>", "!=", "=~", "+=", "..", "||", "&&", "::")
_FLOAT = re.compile(
    r"(?:[0-9]+(?:_[0-9]+)*)?\.[0-9]+(?:_[0-9]+)*(?:[eE][+-]?[0-9]+)?|[0-9]+(?:_[0-9]+)*[eE][+-]?[0-9]+"
)
_INTEGER = re.compile(r"0[xX][0-9a-fA-F]+|0[oO][0-7]+|0|[1-9][0-9]*(?:_[0-9]+)*")
_NAME_BEGINS = re.compile(r"[^\W\d]")
_BLANK = re.compile(r"\s|//|/\*.*\*/", re.DOTALL)
_CLOSED = re.compile(
    r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`(?:[^`]|``)*`|//[^\r\n]*|/\*.*?\*/|(?P<open>['"`]|/\*)""",
    re.DOTALL,
)
_OTHER_QUOTES = dict.fromkeys("\u2018\u2019\u201a\u201b\u2032", "'") | dict.fromkeys(
    "\u201c\u201d\u201e\u201f\u2033", '"'
)
_DASHES = "\u2010\u2011\u2012\u2013\u2014\u2015\u2212"
_END = Token(TokenKind.END, "")
_WRONG = Token(TokenKind.END, "?")
_COMMON: dict[str, Token | None] = {sign: Token(TokenKind.SIGN, sign, "", sign) for sign in _SIGNS}
_COMMON |= {" ": None, "\n": None}


class _Known(dict[str, "Token | None"]):
    """The tokens of one text, by how they are written; None of blanks and comments."""

    def __missing__(self, piece: str) -> Token | None:
        found = self[piece] = _token(piece)
        return found


def check_text(text: str) -> None:
    """Raises LimitExceeded where the text is longer than gdb.limits.MAX_QUERY_CHARACTERS, SyntaxProblem where it is no
    valid Unicode."""
    most = limits.size("MAX_QUERY_CHARACTERS")
    if len(text) > most:
        raise LimitExceeded(
            f"the query has {len(text)} characters, more than the limit of {most}.",
            limits.cure("Pass long lists as $parameters", "MAX_QUERY_CHARACTERS"),
        )
    if not text.isascii():
        check_unicode(text)


def check_unicode(text: str) -> None:
    """Raises SyntaxProblem where a text holds half of a surrogate pair, which no store and no file can hold."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        place = Place(error.start, error.start + 1)
        message = "the query is not valid Unicode: it holds a lone surrogate."
        shown = text.encode(errors="backslashreplace").decode()  # an error can be printed
        raise problem(SyntaxProblem, shown, place, message, "Repair the text.") from None


def tokenize(text: str, start: int = 0) -> Tokens:
    """The tokens of a query from a character on; the last one is END, just behind the last character that means
    something.

    Raises
    ------
    LimitExceeded : the text is longer than gdb.limits.MAX_QUERY_CHARACTERS.
    SyntaxProblem : an unclosed string, quoted name or comment; a character or number that the language does not have.
    """
    check_text(text)
    tokens, at, known = Tokens([], [], []), start, _Known(_COMMON)
    for one in long_constants(text, start):
        whole = Token(TokenKind.CONSTANT, "", constant=one.values)
        if one.chained is None:
            _cut(text, at, one.begin, known, tokens)
        else:
            negated, first = one.chained
            _cut(text, at, first, known, tokens)
            if negated:
                tokens.put(Token(TokenKind.NAME, "NOT", "NOT"), first, first)
            _cut(text, first, one.begin, known, tokens)
            tokens.put(Token(TokenKind.NAME, "IN", "IN"), one.begin, one.begin)
        tokens.put(whole, one.begin, one.end)
        at = one.end
    _cut(text, at, len(text), known, tokens)
    if _WRONG in tokens.tokens:
        _refuse(text, tokens.starts[tokens.tokens.index(_WRONG)])
    end = tokens.ends[-1] if tokens.ends else start
    tokens.put(_END, end, end)
    return tokens


def _cut(text: str, start: int, end: int, known: _Known, tokens: Tokens) -> None:
    """Append the tokens of a part of a text."""
    pieces = _PIECE.findall(text, start, end)
    found = list(map(known.__getitem__, pieces))
    ends = list(accumulate(map(len, pieces), initial=start))[1:]
    tokens.tokens.extend(compress(found, found))  # type: ignore[arg-type]  # without None
    tokens.starts.extend(compress(chain((start,), ends), found))
    tokens.ends.extend(compress(ends, found))


def _token(piece: str) -> Token | None:
    """What a piece is; _WRONG where the language has no such thing."""
    first = piece[0]
    if first in "123456789" and len(piece) < 19 and piece.isdecimal():
        return Token(TokenKind.INTEGER, piece, "", "", int(piece))
    if first in "'\"":
        value = unescaped(piece) if len(piece) > 1 and piece[-1] == first else None
        return _WRONG if value is None else Token(TokenKind.STRING, value)
    if first in "0123456789.":
        return _number(piece)
    if first == "`":
        name = piece[1:-1].replace("``", "`")
        return Token(TokenKind.QUOTED, name) if name and piece[-1] == "`" else _WRONG
    if first.isalpha() or _NAME_BEGINS.match(piece):
        return Token(TokenKind.NAME, piece, piece.upper())
    return None if _BLANK.match(piece) else _WRONG


def _number(piece: str) -> Token:
    if _INTEGER.fullmatch(piece):
        return Token(TokenKind.INTEGER, piece)
    if _FLOAT.fullmatch(piece):
        value = float(piece)
        return Token(TokenKind.FLOAT, piece, "", "", None if math.isinf(value) else value)
    return _WRONG


# ---- errors --------------------------------------------------------------------------------------


def _refuse(text: str, start: int) -> None:
    """Raise the error of what begins here, which is no token."""
    _check_closed(text)
    found = _PIECE.match(text, start)
    assert found is not None
    place, piece = Place(*found.span()), found[0]
    if piece[0] in "'\"":
        _check_escapes(text, place)
    if piece[0] == "`":
        cure = "Write the name between the backquotes."
        raise problem(SyntaxProblem, text, place, "a quoted name is empty.", cure)
    if piece[0] in "0123456789.":
        raise _no_number(text, place)
    raise _unexpected(text, place)


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


_INSTEAD = {
    "#": "Comments begin with //",
    "?": "Write parameters as $name.",
    "\\": "Commands of gdbsh begin with a dot: .help lists them.",
}


def _unexpected(text: str, place: Place) -> SyntaxProblem:
    shown = text[place.start : place.end]
    cure = _INSTEAD.get(shown[0], "")
    if shown[0] in _OTHER_QUOTES:
        cure = f"This is a quotation mark of printed text: write {_OTHER_QUOTES[shown[0]]}"
    if shown[0] in _DASHES:
        cure = "This is a dash of printed text: write -"
    if not shown.isprintable():
        shown = f"U+{ord(shown[0]):04X}"
    return problem(
        SyntaxProblem, text, place, f"the language has no character {shown[:20]!r} here.", cure
    )


def _no_number(text: str, place: Place) -> SyntaxProblem:
    """The error of a number with something behind it, or zeros before it."""
    written = text[place.start : place.end]
    shown = written[:40]
    if written.isdecimal():
        message = f"the number {shown!r} begins with 0."
        cure = "Leave the zeros out; an octal number is written 0o17."
    elif written.endswith("."):
        message, cure = f"{shown!r} is not a number.", "Write 1, 1.0 or 1e3."
    else:
        message = f"{shown!r} is neither a number nor a name."
        cure = "Names begin with a letter; put other names in `backquotes`."
    return problem(SyntaxProblem, text, place, message, cure)


def _check_escapes(text: str, place: Place) -> None:
    for found in ESCAPE.finditer(text, place.start + 1, place.end - 1):
        if escaped(found) is None:
            raise problem(
                SyntaxProblem,
                text,
                Place(*found.span()),
                f"a string has no escape {found[0]!r}.",
                r"Use \n, \t, \r, \b, \f, \', \", \\, \uXXXX or \UXXXXXXXX; a backslash itself is \\",
            )
