"""Texts of XML that are values of a declared type."""

from __future__ import annotations

import json
import re

from ...columns.model import INT64, Item
from ..number_lines import is_beyond_floats

_INTEGER = re.compile(r"[+-]?[0-9]+")
_FLOAT = re.compile(
    r"[+-]?(([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|nan|inf(inity)?)", re.IGNORECASE
)
_BOOLEANS = {"true": True, "1": True, "false": False, "0": False}
_INTEGERS = ("int", "integer", "long", "short", "byte")
_FLOATS = ("float", "double")


class UnreadableText(Exception):
    """A text, or an element, cannot be understood. reason : what is wrong; cure : what to do."""

    def __init__(self, reason: str, cure: str) -> None:
        super().__init__(reason)
        self.reason, self.cure = reason, cure


def value_of(text: str, type: str) -> Item | None:
    """The value of a text; None of an empty one that is no string. Unknown types are strings.

    Raises
    ------
    Unreadable : it is no value of the type.

    Examples
    --------
    >>> value_of(" 7 ", "long"), value_of("INF", "double"), value_of("1", "boolean"), value_of(" x", "string")
    (7, inf, True, ' x')
    """
    if type not in (*_INTEGERS, *_FLOATS, "boolean"):
        return text
    word = text.strip()
    if not word:
        return None
    if type in _INTEGERS and _INTEGER.fullmatch(word) and int(word) in INT64:
        return int(word)
    if type in _FLOATS and _FLOAT.fullmatch(word) and not is_beyond_floats(word):
        return float(word)
    if type == "boolean" and word.lower() in _BOOLEANS:
        return _BOOLEANS[word.lower()]
    raise UnreadableText(f"{word[:60]!r}, which is no {type}", "Mend it, or declare it as string.")


def json_items(text: str) -> list[str] | None:
    """The items of a list in JSON, as texts; None where it is none."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, list):
        return None
    return [item if isinstance(item, str) else json.dumps(item) for item in found]


def labels_of(text: str) -> list[str]:
    """The labels that a text names: ":Person:Actor", "Person;Actor" or one alone.

    Examples
    --------
    >>> labels_of(":Person:Actor"), labels_of("Person; Actor"), labels_of("")
    (['Person', 'Actor'], ['Person', 'Actor'], [])
    """
    parts = text.split(":") if text.startswith(":") else re.split(r"::|;", text)
    return [part.strip() for part in parts if part.strip()]
