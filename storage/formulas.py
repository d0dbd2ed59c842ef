"""Texts in CSV that spreadsheets would run as formulas, and an apostrophe before them, which has them shown as texts.

Source: OWASP, CSV Injection (https://owasp.org/www-community/attacks/CSV_Injection).
"""

from __future__ import annotations

_BEGINS = (
    "=",
    "+",
    "-",
    "@",
    "\t",
    "\r",
    "\uff1d",
    "\uff0b",
    "\uff0d",
    "\uff20",
)  # also the full-width ones


def guarded(text: str) -> str:
    """
    Examples
    --------
    >>> guarded("=1+1"), guarded("a=1"), guarded("")
    ("'=1+1", 'a=1', '')
    """
    return "'" + text if text.startswith(_BEGINS) else text


def guarded_sql(text: str) -> str:
    """`guarded` of a text in SQL."""
    begins = ", ".join(f"chr({ord(begin)})" for begin in _BEGINS)
    return f"CASE WHEN left({text}, 1) IN ({begins}) THEN chr(39) || {text} ELSE {text} END"
