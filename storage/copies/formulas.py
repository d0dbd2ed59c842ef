"""Texts in CSV that spreadsheets would run as formulas, and an apostrophe before them, which has them shown as texts.

Source: OWASP, CSV Injection (https://owasp.org/www-community/attacks/CSV_Injection).
"""

from __future__ import annotations

from gdb.base.sql import call, chosen, exp, pasted, value_of

# also the full-width ones
_BEGINS = ("=", "+", "-", "@", "\t", "\r", "\uff1d", "\uff0b", "\uff0d", "\uff20")


def guarded(text: str) -> str:
    """
    Examples
    --------
    >>> guarded("=1+1"), guarded("a=1"), guarded("")
    ("'=1+1", 'a=1', '')
    """
    return "'" + text if text.startswith(_BEGINS) else text


def guarded_sql(text: exp.Expr) -> exp.Expr:
    """`guarded` of a text in SQL."""
    first = call("left", text, value_of(1))
    is_one = exp.In(this=first, expressions=[value_of(begin) for begin in _BEGINS])
    return chosen((is_one, pasted(value_of("'"), text)), default=text)
