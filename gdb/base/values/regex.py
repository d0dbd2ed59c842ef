r"""Regular expressions of =~, which the language takes from Java, on RE2, an automaton: linear in the text.

A pattern is translated: what the two spell or mean differently is written out, so that no flag of RE2 is needed
(`.`, \s, \h, \R, \uXXXX, \p{Alpha}, (?x), (?i), which without u knows only ASCII). Groups capture nothing, since only
whether the whole text fits is wanted. What no automaton can do is refused by name: look-around, backreferences, atomic
groups, possessive quantifiers. docs/LANGUAGE.md lists the differences that are left.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from gdb.base.allowance import here
from gdb.base.values.problems import ValueProblem
from gdb.base.values.regex_syntax import Refused, translate_pattern

if TYPE_CHECKING:
    import re2

LONGEST = 20_000
"""Characters of a pattern."""
MEMORY = 4 << 20
"""Bytes that the automaton of one pattern may take."""
MOST_WORK = 2_000_000_000
"""Bytes of a text times instructions of a pattern. RE2 takes up to 15 ns for each where its fast automaton has no room,
and cannot be stopped: this bounds how long it runs on after a query has given up."""
_IN_PLACE = 4_000_000  # of the same: 0.06 s at most
_KEPT = 32  # patterns


class Regex:
    """A regular expression. Threads may share it."""

    __slots__ = ("_machine", "_size")

    def __init__(self, machine: re2._Regexp) -> None:
        self._machine = machine
        self._size = max(1, machine.programsize)

    def fits(self, text: str) -> bool:
        """Whether the whole text is as the expression says.

        A long text is compared on a helper thread, while this one looks at the query's clock; once the query is to
        stop, the helper still ends by itself.

        Raises
        ------
        ValueProblem : "argument", the text is too long for so large a pattern.
        Cancelled, QueryTimeout.
        """
        if len(text) * self._size < _IN_PLACE // 4:  # a character has up to four bytes
            return self._fits(text.encode("utf-8", "surrogatepass"))
        coded = text.encode("utf-8", "surrogatepass")
        work = len(coded) * self._size
        if work > MOST_WORK:
            raise ValueProblem(
                "argument",
                f"a text of {len(coded):,} bytes is too long for this regular expression, which takes up to "
                f"{MOST_WORK // self._size:,}.",
                "Use a simpler expression, CONTAINS or STARTS WITH, or compare a part: left(text, 1000).",
            )
        if work < _IN_PLACE:
            return self._fits(coded)
        return here().beside(lambda: self._fits(coded))

    def _fits(self, coded: bytes) -> bool:
        return self._machine.fullmatch(coded) is not None


@lru_cache(maxsize=_KEPT)
def compile_regex(pattern: str) -> Regex:
    """The expression.

    Raises
    ------
    ValueProblem : "argument", it is no regular expression, or one that only an engine with backtracking has.

    Examples
    --------
    >>> compile_regex("(?i)ab.*").fits("ABC"), compile_regex(r"\\p{Lu}+").fits("ÄB")
    (True, True)
    """
    import re2  # here: most queries have no regular expression

    shown = pattern if len(pattern) <= 60 else f"{pattern[:57]}..."
    if len(pattern) > LONGEST:
        raise ValueProblem(
            "argument",
            f"a regular expression of {len(pattern):,} characters is too long: {LONGEST:,} are possible.",
            "Compare with IN, CONTAINS or STARTS WITH.",
        )
    options = re2.Options()
    options.log_errors = False
    options.max_mem = MEMORY
    try:
        found = re2.compile(translate_pattern(pattern), options)
    except Refused as refused:
        raise ValueProblem(
            "argument", f"the regular expression '{shown}' {refused.what}.", refused.cure
        ) from None
    except re2.error as error:
        reason = error.args[0]
        message = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
        raise ValueProblem(
            "argument", f"'{shown}' is no regular expression: {_cut(message)}.", _cure(message)
        ) from None
    finally:
        re2.purge()  # it keeps 128 of its own, whose memory nothing bounds
    return Regex(found)


def _cut(message: str) -> str:
    return message if len(message) <= 120 else f"{message[:117]}..."


def _cure(message: str) -> str:
    if "too large" in message or "repetition size" in message:
        return "A repetition counts up to 1000, nested ones together: write + or *."
    return r"Write \\ before a special character that is meant literally, as in '\\('."
