"""Texts of a drawing: cut, escaped for XML, and how wide they are about.

No font is read: a drawing must be the same everywhere. The widths are those of a wide sans-serif font (DejaVu Sans),
so that they are too large rather than too small.
"""

from __future__ import annotations

import unicodedata
from html import escape

from gdb.answer.table import places

_LONGEST, _LONGEST_TITLE = 22, 1000  # characters of a caption, of a title
_WIDE, _NARROW = frozenset("ABCDEGHKMNOPQRSTUVWXYZmw_%@…"), frozenset("ijlfrtI.,:;'|!()[] ")
_NO_TEXT = ("Cc", "Cs", "Cn", "Co", "Zl", "Zp")


def short(text: str) -> str:
    """A caption as it is shown, not escaped."""
    return _cut(_plain(text), _LONGEST)


def caption(text: str) -> str:
    """A caption for XML."""
    return escape(short(text))


def title(text: str) -> str:
    """What is shown where an element is pointed at, for XML."""
    return escape(_cut(_plain(text), _LONGEST_TITLE))


def width(text: str, size: float) -> float:
    """Pixels that a line of text takes about, in a font of `size` pixels."""
    return size * sum(map(_em, text))


def _em(character: str) -> float:
    if character in _NARROW:
        return 0.4
    return 0.78 if character in _WIDE else 0.65 * places(character)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _plain(text: str) -> str:
    """The text with a blank for each character that XML does not have, or that is no line's."""
    if text.isprintable():
        return text
    return "".join(" " if unicodedata.category(one) in _NO_TEXT else one for one in text)
