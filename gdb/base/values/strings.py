"""The functions of strings. Characters are Unicode code points, counted from 0."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from sys import getsizeof
from typing import TYPE_CHECKING

from gdb.base.allowance import here, paced
from gdb.base.values.arguments import natural, string
from gdb.base.values.naming import refusal
from gdb.base.values.problems import ValueProblem
from gdb.limits import check_value

if TYPE_CHECKING:
    from gdb.base.values.kinds import Value


_LARGE = 1024  # characters
_POINTER = 8  # bytes of an item in a list
_PART = 66  # bytes of a short string in a list


def of_string(name: str, compute: Callable[[str], Value]) -> Callable[[Value], Value]:
    """A function of a string as one of a value."""
    return lambda value: compute(string(name, value))


def left(text: Value, length: Value) -> Value:
    """left(): the first characters of a text."""
    return string("left", text)[: natural("left", length)]


def right(text: Value, length: Value) -> Value:
    """right(): the last characters of a text."""
    characters, count = string("right", text), natural("right", length)
    return characters[max(0, len(characters) - count) :]


def substring(text: Value, start: Value, length: Value = None) -> Value:
    """substring(): from a character on, counted from 0; to the end where no length is given."""
    characters, first = string("substring", text), natural("substring", start)
    if length is None:
        return characters[first:]
    return characters[first : first + natural("substring", length)]


def replace(text: Value, search: Value, by: Value) -> Value:
    """replace(): each occurrence of one text by another. Raises OutOfBudget where that would be too long."""
    characters, old, new = (string("replace", one) for one in (text, search, by))
    if len(new) > len(old) and len(characters) * (len(new) + 1) > _LARGE:
        size = len(characters) + characters.count(old) * (len(new) - len(old))
        here().make_value(size * max(map(_width, (characters, new))), "replace()")
    return characters.replace(old, new)


def _width(text: str) -> int:
    """Bytes of a character of a text."""
    if text.isascii():
        return 1
    return getsizeof(text) // len(text) if len(text) > 99 else 4


def split(text: Value, delimiter: Value) -> Value:
    """The parts between the delimiters; an empty delimiter parts all characters. Several may be given in a list."""
    listed = delimiter if isinstance(delimiter, list) else [delimiter]
    delimiters = [string("split", one) for one in listed]
    parts = [string("split", text)]
    for one in delimiters:
        count = sum(part.count(one) + 1 for part in parts)
        here().make(_PART * count + sum(map(len, parts)), "split()")
        check_value(_POINTER * count, "split()")
        parts = [
            piece for part in parts for piece in (part.split(one) if one else list(part) or [""])
        ]
    return list(parts)


def trim(name: str, trimmed: Callable[[str, str | None], str]) -> Callable[..., Value]:
    """trim and its like: white space, or the characters given."""

    def apply(text: Value, characters: Value = None) -> Value:
        return trimmed(string(name, text), None if characters is None else string(name, characters))

    return apply


MOST_MARKS = 1000
_FORMS = ("NFC", "NFD", "NFKC", "NFKD")


def normalize(text: Value, form: Value = "NFC") -> Value:
    """normalize(): a text in one of the four Unicode forms."""
    characters, normal_form = string("normalize", text), string("normalize", form).upper()
    match normal_form:
        case "NFC" | "NFD" | "NFKC" | "NFKD":
            _check_marks(characters)
            return unicodedata.normalize(normal_form, characters)
        case _:
            raise ValueProblem(
                "argument", f"normalize() has no form '{form}'.", f"It has {', '.join(_FORMS)}."
            )


def _check_marks(text: str) -> None:
    """Refuse what takes the square of its length: Python puts combining characters that follow one another in order by
    insertion (Unicode Standard Annex 15 has a limit of 30 for streams)."""
    if text.isascii() or len(text) <= MOST_MARKS:
        return
    run = 0
    for character in paced(text, len(text)):
        run = run + 1 if unicodedata.combining(character) else 0
        if run > MOST_MARKS:
            raise ValueProblem(
                "argument",
                f"normalize() takes up to {MOST_MARKS:,} combining characters one behind the other.",
                "Replace them, or normalize parts of the text.",
            )


def part(name: str, test: Callable[[str, str], bool]) -> Callable[..., Value]:
    """contains() and its like."""

    def apply(text: Value, within: Value) -> Value:
        if not isinstance(text, str) or not isinstance(within, str):
            raise refusal(f"{name}()", "two strings", within if isinstance(text, str) else text)
        return test(text, within)

    return apply
