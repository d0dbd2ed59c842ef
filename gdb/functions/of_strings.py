"""The functions of strings. Characters are Unicode code points, counted from 0."""

from __future__ import annotations

from collections.abc import Callable

from gdb.base.sql import call, exp, negated, operand
from gdb.base.values import strings
from gdb.functions.function import Guarded, Made, ToSql, function
from gdb.functions.sql_pieces import all_of, compared, null_where, number, string
from gdb.functions.types import BOOLEAN, INTEGER, STRING, Type, Typed, TypeName


def _ascii(value: exp.Expr) -> exp.Expr:
    """Whether a text has nothing but ASCII: as many bytes as characters."""
    return compared(exp.EQ, call("strlen", value), call("length", value))


def _of_ascii(name: str) -> ToSql:
    """Beyond ASCII Unicode's special cases differ: ß, İ, ﬁ."""

    def make(value: Typed) -> Made:
        if value.kind is not TypeName.STRING:
            return None
        return Guarded(_ascii(value.sql), Typed(call(name, value.sql), STRING))

    return make


def _trimmed(name: str) -> ToSql:
    def make(value: Typed, characters: Typed | None = None) -> Made:
        if value.kind is not TypeName.STRING or characters is not None:
            return None
        # white space to Python is in ASCII also U+001C to U+001F, and more beyond
        odd = call("regexp_matches", value.sql.copy(), string(r"[\x1c-\x1f]"))
        white = [string(" "), *(call("chr", number(code)) for code in range(9, 14))]
        every = white[0]
        for one in white[1:]:
            every = exp.DPipe(this=every, expression=one)
        made = Typed(call(name, value.sql, exp.Paren(this=every)), STRING)
        return Guarded(all_of(_ascii(value.sql), negated(odd)), made)

    return make


def _natural(*values: exp.Expr) -> exp.Expr:
    return all_of(*(compared(exp.GTE, value, number(0)) for value in values))


# as large as a position of DuckDB may be; a string is no longer than that
_LONGEST = 1 << 31


def _small(*values: exp.Expr) -> exp.Expr:
    return all_of(*(compared(exp.LT, value, number(_LONGEST)) for value in values))


def _left(text: Typed, length: Typed) -> Made:
    if (text.kind, length.kind) != (TypeName.STRING, TypeName.INTEGER):
        return None
    cut = Typed(call("substring", text.sql, number(1), length.sql), STRING)
    return Guarded(all_of(_natural(length.sql), _small(length.sql)), cut)


def _right(text: Typed, length: Typed) -> Made:
    if (text.kind, length.kind) != (TypeName.STRING, TypeName.INTEGER):
        return None
    size = call("length", text.sql.copy())
    begin = exp.Sub(this=size, expression=call("least", length.sql.copy(), size.copy()))
    after = exp.Add(this=operand(begin), expression=number(1))
    cut = null_where([text.sql, length.sql], call("substring", text.sql.copy(), after))
    return Guarded(_natural(length.sql), Typed(cut, STRING))


def _substring(text: Typed, start: Typed, length: Typed | None = None) -> Made:
    bounds = [start] if length is None else [start, length]
    if text.kind is not TypeName.STRING or any(one.kind is not TypeName.INTEGER for one in bounds):
        return None
    sizes = [one.sql for one in bounds]
    begin = exp.Add(this=operand(start.sql.copy()), expression=number(1))
    lengths = [] if length is None else [length.sql.copy()]
    cut = null_where([text.sql, *sizes], call("substring", text.sql.copy(), begin, *lengths))
    return Guarded(all_of(_natural(*sizes), _small(*sizes)), Typed(cut, STRING))


def _replace(text: Typed, search: Typed, by: Typed) -> Made:
    if {text.kind, search.kind, by.kind} != {TypeName.STRING}:
        return None
    guard = compared(exp.NEQ, search.sql, string(""))
    made = Typed(call("replace", text.sql, search.sql, by.sql), STRING)
    return Guarded(guard, made)


def _split(text: Typed, by: Typed) -> Made:
    if {text.kind, by.kind} != {TypeName.STRING}:
        return None
    guard = compared(exp.NEQ, by.sql, string(""))
    parts = null_where([text.sql, by.sql], call("string_split", text.sql.copy(), by.sql.copy()))
    return Guarded(guard, Typed(parts, Type(TypeName.LIST, TypeName.STRING)))


def _length(value: Typed) -> Made:
    return Typed(call("length", value.sql), INTEGER) if value.kind is TypeName.STRING else None


def _part(name: str) -> ToSql:
    def make(text: Typed, part: Typed) -> Made:
        if {text.kind, part.kind} != {TypeName.STRING}:
            return None
        return Typed(call(name, text.sql, part.sql), BOOLEAN)

    return make


_CASES: tuple[tuple[str, str, Callable[[str], str], str], ...] = (
    ("toUpper", "upper", str.upper, "in upper case"),
    ("upper", "upper", str.upper, "in upper case"),
    ("toLower", "lower", str.lower, "in lower case"),
    ("lower", "lower", str.lower, "in lower case"),
)
_ENDS = (
    ("trim", "trim", str.strip, "without white space, or these characters, at both ends"),
    ("btrim", "trim", str.strip, "without white space, or these characters, at both ends"),
    ("ltrim", "ltrim", str.lstrip, "without white space, or these characters, at its start"),
    ("rtrim", "rtrim", str.rstrip, "without white space, or these characters, at its end"),
)
ROWS = (
    function(
        "left(text :: STRING, length :: INTEGER) :: STRING",
        strings.left,
        "its first characters",
        _left,
    ),
    function(
        "right(text :: STRING, length :: INTEGER) :: STRING",
        strings.right,
        "its last characters",
        _right,
    ),
    function(
        "substring(text :: STRING, start :: INTEGER, length? :: INTEGER) :: STRING",
        strings.substring,
        "its characters from a position, from 0, to the end or of a length",
        _substring,
    ),
    function(
        "replace(text :: STRING, search :: STRING, by :: STRING) :: STRING",
        strings.replace,
        "with every occurrence of one text replaced",
        _replace,
    ),
    function(
        "split(text :: STRING, delimiter :: STRING | LIST) :: LIST<STRING>",
        strings.split,
        "its parts between the delimiters; all characters where it is empty",
        _split,
    ),
    function(
        "normalize(text :: STRING, form? :: STRING) :: STRING",
        strings.normalize,
        "in a normal form of Unicode: NFC, NFD, NFKC or NFKD",
    ),
    *(
        function(
            f"{name}(text :: STRING, characters? :: STRING) :: STRING",
            *(strings.trim(name, python), doc, _trimmed(sql)),
        )
        for name, sql, python, doc in _ENDS
    ),
    *(
        function(
            f"{name}(text :: STRING) :: STRING",
            *(strings.of_string(name, python), doc, _of_ascii(sql)),
        )
        for name, sql, python, doc in _CASES
    ),
    *(
        function(
            f"{name}(text :: STRING) :: INTEGER",
            *(strings.of_string(name, len), "the number of its characters", _length),
        )
        for name in ("char_length", "character_length")
    ),
    function(
        "contains(text :: STRING, part :: STRING) :: BOOLEAN",
        strings.part("contains", lambda text, part: part in text),
        "as CONTAINS",
        _part("contains"),
    ),
    function(
        "startsWith(text :: STRING, part :: STRING) :: BOOLEAN",
        strings.part("startsWith", str.startswith),
        "as STARTS WITH",
        _part("starts_with"),
    ),
    function(
        "endsWith(text :: STRING, part :: STRING) :: BOOLEAN",
        strings.part("endsWith", str.endswith),
        "as ENDS WITH",
        _part("suffix"),
    ),
)
"""One row a function."""
