"""The escapes in strings."""

from __future__ import annotations

import re

# a pair of surrogates, as JSON and Java write a character beyond 16 bits, is one escape
_PAIR = r"u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
ESCAPE = re.compile(rf"\\({_PAIR}|u[0-9a-fA-F]{{4}}|U[0-9a-fA-F]{{8}}|.)", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"} | {c: c for c in "\\'\"`/"}


def unescaped(piece: str) -> str | None:
    """The value of a string in its quotes; None where it has an escape that there is not."""
    if "\\" not in piece:
        return piece[1:-1]
    if any(escaped(found) is None for found in ESCAPE.finditer(piece, 1, len(piece) - 1)):
        return None
    return ESCAPE.sub(lambda found: escaped(found) or "", piece[1:-1])


def escaped(match: re.Match[str]) -> str | None:
    """What an escape means; None where there is no such."""
    code = match[1]
    if code in _ESCAPES:
        return _ESCAPES[code]
    if "\\u" in code:
        high, low = int(code[1:5], 16), int(code[7:], 16)
        return chr(0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00))
    if code[0] in "uU" and len(code) > 1 and _character(int(code[1:], 16)):
        return chr(int(code[1:], 16))
    return None


def _character(code: int) -> bool:
    """Whether a code point is a character that UTF-8 can hold."""
    return code < 0xD800 or 0xDFFF < code <= 0x10FFFF
