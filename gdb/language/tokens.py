"""Words, numbers, strings and signs of a query, cut by one regular expression.

Not by sqlglot's tokenizer, which would have to be corrected in too many places: there `--` begins a comment and would
drop `-->(b)`; `{# #}` is a comment and would drop a property map; `n'x'` is one string; `1..3` comes as `1.` `.` `3`;
some 400 words are keywords. No word is a keyword here: the parser knows where a word means something.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

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


# not frozen: a query has many, and a frozen one takes four times as long to make
@dataclass(slots=True)
class Token:
    """text : the value of a string or a quoted name; else as written.
    word : a name in upper case, to compare with keywords; "" of anything else.
    sign : the text of a sign; "" of anything else.
    """

    kind: Kind
    text: str
    place: Place
    word: str = ""
    sign: str = ""

    def is_sign(self, *signs: str) -> bool:
        return self.sign in signs


_TOKEN = re.compile(
    r"""
    (?P<skipped>(?:\s|//[^\r\n]*|/\*.*?\*/)+)
    |(?P<string>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")
    |(?P<quoted>`(?:[^`]|``)*`)
    |(?P<name>[^\W\d]\w*)
    |(?P<float>[0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+|(?<!\.)\.[0-9]+(?:[eE][+-]?[0-9]+)?)
    |(?P<integer>0[xX][0-9a-fA-F]+|0[oO][0-7]+|[0-9]+)
    |(?P<sign><=|>=|<>|!=|=~|\+=|\.\.|[()\[\]{},.:;|&!+\-*/%^=<>$])
    """,
    re.DOTALL | re.VERBOSE,
)
_NAME_BEGINS = re.compile(r"\w+")
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
    tokens: list[Token] = []
    at = end = 0
    while at < len(text):
        if text[at] == " ":
            at += 1
            continue
        found = _TOKEN.match(text, at)
        if found is None:
            raise _unexpected(text, Place(at, at + 1))
        at = found.end()
        if found.lastgroup != "skipped":
            tokens.append(_token(text, found))
            end = at
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


def _unexpected(text: str, place: Place) -> SyntaxProblem:
    shown = text[place.start : place.end]
    cure = {"#": "Comments begin with //", "?": "Write parameters as $name."}.get(shown[0], "")
    if not shown.isprintable():
        shown = f"U+{ord(shown[0]):04X}"
    return problem(
        SyntaxProblem, text, place, f"the language has no character {shown[:20]!r} here.", cure
    )


def _token(text: str, found: re.Match[str]) -> Token:
    place, written = Place(*found.span()), found[0]
    match found.lastgroup:
        case "sign":
            return Token(Kind.SIGN, written, place, "", written)
        case "name":
            return Token(Kind.NAME, written, place, written.upper())
        case "string":
            return Token(Kind.STRING, _unescaped(text, place), place)
        case "quoted":
            return Token(Kind.QUOTED, _quoted(text, place), place)
        case kind:
            _check_number(text, place)
            return Token(Kind.FLOAT if kind == "float" else Kind.INTEGER, written, place)


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


def _check_number(text: str, place: Place) -> None:
    """What stands behind a number, and the zeros before it."""
    written = text[place.start : place.end]
    follows = _NAME_BEGINS.match(text, place.end)
    if follows:
        whole = Place(place.start, follows.end())
        raise problem(
            SyntaxProblem,
            text,
            whole,
            f"{text[whole.start : whole.end][:40]!r} is neither a number nor a name.",
            "Names begin with a letter; put other names in `backquotes`.",
        )
    named = text.startswith("$", place.start - 1)  # a parameter, of which $0.x is a property
    if text.startswith(".", place.end) and not (named or text.startswith("..", place.end)):
        whole = Place(place.start, place.end + 1)
        shown = text[whole.start : whole.end][:40]
        raise problem(
            SyntaxProblem, text, whole, f"{shown!r} is not a number.", "Write 1, 1.0 or 1e3."
        )
    if len(written) > 1 and written.isdecimal() and written[0] == "0":
        raise problem(
            SyntaxProblem,
            text,
            place,
            f"the number {written[:40]!r} begins with 0.",
            "Leave the zeros out; an octal number is written 0o17.",
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
