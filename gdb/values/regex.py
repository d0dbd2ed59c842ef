r"""Regular expressions of =~, which the language takes from Java, as expressions of Python's `re`.

Most of the two are the same. Translated are: \p{...} and \P{...} (Python has no classes of Unicode), \Q...\E, (?<name>,
\k<name>, \z, \Z, \h, \R and the flags d, u and U. As in Java \d, \w, \b and (?i) know only ASCII, unless u or U
is in front.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from functools import lru_cache

from gdb.values.problems import ValueProblem

_POSIX = {
    "Lower": "a-z",
    "Upper": "A-Z",
    "ASCII": r"\x00-\x7f",
    "Alpha": "A-Za-z",
    "Digit": "0-9",
    "Alnum": "A-Za-z0-9",
    "Punct": r"!-/:-@\[-`{-~",
    "Graph": "!-~",
    "Print": " -~",
    "Blank": r" \t",
    "Cntrl": r"\x00-\x1f\x7f",
    "XDigit": "0-9A-Fa-f",
    "Space": r" \t\n\x0b\f\r",
}
_CATEGORIES = {"IsAlphabetic": "L", "IsLetter": "L", "IsLowercase": "Ll", "IsUppercase": "Lu"}
_SIMPLE = {"z": r"\Z", "Z": r"(?=\n?\Z)", "R": r"(?:\r\n|[\n\x0b\f\r\x85\u2028\u2029])"}
_FLAGS = re.compile(r"\(\?([a-zA-Z]+)\)")
_ESCAPE = re.compile(
    r"\\(?:Q(?P<quoted>.*?)(?:\\E|$)|(?P<p>[pP])(?:\{(?P<long>\w+)\}|(?P<short>\w))|k<(?P<k>\w+)>|(?P<one>.))",
    re.DOTALL,
)


@lru_cache(maxsize=1000)
def compiled(pattern: str) -> re.Pattern[str]:
    """The expression, for `fullmatch`.

    Raises
    ------
    ValueProblem : "argument", it is no regular expression.

    Examples
    --------
    >>> bool(compiled("(?i)ab.*").fullmatch("ABC")), bool(compiled(r"\\p{Lu}+").fullmatch("ÄB"))
    (True, True)
    """
    flags, rest = _flags(pattern)
    try:
        return re.compile(_translated(rest), flags)
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueProblem(
            "argument",
            f"'{pattern}' is no regular expression: {error}.",
            r"Write \\ before a character that stands for itself, as in '\\('.",
        ) from None


def _flags(pattern: str) -> tuple[int, str]:
    """The flags of (?i) and so on in front, and the rest."""
    found = _FLAGS.match(pattern)
    if found is None:
        return re.ASCII, pattern
    letters = found[1]
    flags = 0 if "u" in letters.lower() else re.ASCII
    for letter in letters:
        match letter:
            case "i":
                flags |= re.IGNORECASE
            case "m":
                flags |= re.MULTILINE
            case "s":
                flags |= re.DOTALL
            case "x":
                flags |= re.VERBOSE
            case "d" | "u" | "U":
                pass  # d is how Python ends lines anyway
            case _:
                return re.ASCII, pattern  # let `re` say what it thinks of it
    return flags, pattern[found.end() :]


def _translated(pattern: str) -> str:
    """Escapes and groups in Python's spelling."""
    parts, at, in_set = [], 0, False
    while at < len(pattern):
        if found := _ESCAPE.match(pattern, at):
            parts.append(_escape(found, in_set))
            at = found.end()
            continue
        if pattern.startswith("(?<", at) and not in_set and pattern[at + 3 : at + 4] not in "=!":
            parts.append("(?P<")
            at += 3
            continue
        character = pattern[at]
        if in_set:
            in_set = character != "]" or parts[-1] in ("[", "[^")
            if character == "[" or pattern.startswith("&&", at):
                raise re.error("sets inside sets are not known")
            if character in "|~" or (character == "]" and in_set):
                character = f"\\{character}"  # || and ~~ may come to mean something in Python
        elif character == "[":
            in_set = True
            if pattern.startswith("[^", at):
                character = "[^"
        parts.append(character)
        at += len(pattern[at : at + 2]) if character == "[^" else 1
    return "".join(parts)


def _escape(found: re.Match[str], in_set: bool) -> str:
    if found["quoted"] is not None:
        return re.escape(found["quoted"])
    if found["k"]:
        return f"(?P={found['k']})"
    if found["p"]:
        ranges = _class(found["long"] or found["short"], found["p"] == "P")
        return ranges if in_set else f"[{ranges}]"
    if found["one"] == "h":
        return r" \t\xa0\u2000-\u200a" if in_set else r"[ \t\xa0\u2000-\u200a]"
    return found[0] if in_set else _SIMPLE.get(found["one"], found[0])


@lru_cache(maxsize=100)
def _class(name: str, negated: bool) -> str:
    r"""The ranges of \p{name}, or of what it leaves, to stand in a set."""
    if name in _POSIX and not negated:
        return _POSIX[name]
    if name in _POSIX:
        inside = re.compile(f"[{_POSIX[name]}]")
        return _ranges([inside.match(chr(code)) is None for code in range(sys.maxunicode + 1)])
    category = _CATEGORIES.get(name, name.removeprefix("Is"))
    categories = map(unicodedata.category, map(chr, range(sys.maxunicode + 1)))
    member = [of.startswith(category) != negated for of in categories]
    if len(category) > 2 or all(member) or not any(member):
        raise re.error(f"the class {name} is not known")
    return _ranges(member)


def _ranges(member: list[bool]) -> str:
    parts, start = [], None
    for code, inside in enumerate([*member, False]):
        if inside and start is None:
            start = code
        elif not inside and start is not None:
            parts.append(f"\\U{start:08x}-\\U{code - 1:08x}")
            start = None
    return "".join(parts)
