"""Long lists of constants in a text, and long chains of comparisons with constants, each read as one token.

A program that writes its data into the text makes megabytes of it:

    UNWIND [{id: 1, name: 'Anna'}, {id: 2, name: 'Ben'}, ...] AS r MERGE (:Person {id: r.id})
    MATCH (n) WHERE n.id = 1 OR n.id = 2 OR ... RETURN n

A tree with a node for each part takes seconds: to make, and again in each check and pass. So a list without anything
but constants becomes one token, and that a parameter whose value is in the text (`Query.constants`); it is rewritten as
JSON, which Python's own reader reads. A chain `a.k = 1 OR a.k = 2 ...` is `a.k IN [1, 2, ...]`, and `a.k <> 1 AND a.k
<> 2 ...` is `NOT a.k IN [1, 2, ...]`: the same for null and for values of other types.

What is not certain to mean the same is left to the parser: nothing here raises, and nothing is refused here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import TypeAlias, cast

from gdb.language.escapes import unescaped
from gdb.records import dataclass

Constant: TypeAlias = "int | float | bool | str | list[Constant] | dict[str, Constant] | None"

LEAST = 10_000
"""Characters of a list or chain from which on it is read so."""
_DEEPEST = 16
_NEAR = 100  # characters before a list or chain that are looked at
_WORDS = frozenset(("true", "false", "null"))
_QUOTED = re.compile(
    r"""
    '[^'\\]*(?:\\.[^'\\]*)*'
    |"[^"\\]*(?:\\.[^"\\]*)*"
    |`[^`]*`
    |//[^\r\n]*|/\*.*?\*/
    |['"`].*|/\*.*
    """,
    re.DOTALL | re.VERBOSE,
)
_MASKS = {"'": "\x01", '"': "\x01", "`": "\x02", "/": " "}
_OPEN = "\x03"  # the mask of what is not closed
_BRACKET = re.compile(r"[\[\]]")
# what a list may follow: behind other things a bracket is an index, or a relationship's
_BEFORE_LIST = re.compile(
    r"(?:[=(,:+<>]|\b(?i:IN|UNWIND|RETURN|WITH|WHERE|AND|OR|XOR|NOT|THEN|ELSE|WHEN|BY|DISTINCT))\s*\Z"
)
_NO_CONSTANT = re.compile(r"[$(|/+\x02]|\d{19}|\d[eE][+-]?\d{3}")
_PIECE = re.compile(
    r"""
    '[^'\\]*(?:\\.[^'\\]*)*'
    |"[^"\\]*(?:\\.[^"\\]*)*"
    |(?<![\w.])[^\W\d]\w*(?:\s*:)?
    |//[^\r\n]*|/\*.*?\*/
    """,
    re.DOTALL | re.VERBOSE,
)
_VALUE = r"(?:-?\d+(?:\.\d+)?|\x01+)"
_PROPERTY = r"(?P<property>(?<![\w.])[^\W\d]\w*+\s*\.\s*[^\W\d]\w*+)"


def _chain(sign: str, word: str) -> re.Pattern[str]:
    term = rf"\s*{sign}\s*{_VALUE}"
    return re.compile(
        rf"{_PROPERTY}(?P<rest>{term}(?:\s+(?i:{word})\s+(?P=property){term}){{8,}}+)"
    )


_CHAINS = ((_chain("=", "OR"), "OR", False), (_chain("<>", "AND"), "AND", True))
_BEFORE = re.compile(r"(?:\(|\b(\w+))\s*\Z")
_BEHIND = re.compile(r"\s*(?:\Z|[);}]|(\w+)\b)")
_CLAUSES = frozenset(
    ("RETURN", "WITH", "MATCH", "OPTIONAL", "UNWIND", "SET", "REMOVE", "DELETE", "DETACH", "CREATE")
)
_AROUND = {
    "OR": (frozenset(("WHERE", "OR")), frozenset(("OR", *_CLAUSES))),
    "AND": (
        frozenset(("WHERE", "OR", "XOR", "AND")),
        frozenset(("OR", "XOR", "AND", *_CLAUSES)),
    ),
}


@dataclass(frozen=True, slots=True)
class LongConstant:
    """A part of a text that is a list of constants, or the rest of a chain behind its first property.

    chained : of a chain, whether it is negated, and where its first property begins; None of a list.
    """

    begin: int
    end: int
    values: list[Constant]
    chained: tuple[bool, int] | None = None


def long_constants(text: str, start: int) -> list[LongConstant]:
    """The long constants of a text from a character on, in their order; none lies in another."""
    if len(text) - start < LEAST:
        return []
    masked = " " * start + _QUOTED.sub(_mask, text[start:])
    if _OPEN in masked or "\x01" in text:
        return []  # "\x01" would seem to be a string
    found = [*_lists(text, masked)]
    if len(masked) - sum(one.end - one.begin for one in found) > LEAST:
        found += _chained(text, masked)
    found.sort(key=lambda one: one.begin)
    return [
        one for k, one in enumerate(found) if not k or one.begin >= max(x.end for x in found[:k])
    ]


def _mask(match: re.Match[str]) -> str:
    """As many characters of one kind: for a string, a quoted name, a comment."""
    written = match[0]
    first = written[0]
    ends = "*/" if written[1:2] == "*" else "" if first == "/" else first
    closed = len(written) > 3 if ends == "*/" else len(written) > 1
    return (_MASKS[first] if closed and written.endswith(ends) else _OPEN) * len(written)


# ---- lists ---------------------------------------------------------------------------------------


def _lists(text: str, masked: str) -> Iterator[LongConstant]:
    depth = begin = deepest = 0
    for bracket in _BRACKET.finditer(masked):
        if bracket[0] == "[":
            begin, deepest = (begin, deepest) if depth else (bracket.start(), 0)
            depth += 1
            deepest = max(deepest, depth)
        elif depth:
            depth -= 1
            end = bracket.end()
            if depth or end - begin < LEAST or deepest > _DEEPEST:
                continue
            if _NO_CONSTANT.search(masked, begin, end):
                continue
            if _BEFORE_LIST.search(masked, max(begin - _NEAR, 0), begin):
                values = _read(text[begin:end], masked.count(":", begin, end))
                if values is not None:
                    yield LongConstant(begin, end, values)


class _NoConstant(Exception):
    """Something in a list is no constant."""


class _Rewritten(dict[str, str]):
    """The pieces of a list as JSON has them."""

    def __missing__(self, piece: str) -> str:
        if piece[0] == "'" and "\\" not in piece and '"' not in piece:  # most often
            return f'"{piece[1:-1]}"'
        if piece[0] in "'\"":
            value = unescaped(piece)
            if value is None:
                raise _NoConstant
            return json.dumps(value) if '"' in value or "\\" in value else f'"{value}"'
        if piece[0] == "/":
            return " "
        if piece[-1] == ":":
            found = f'"{piece[:-1].rstrip()}":'
        elif (found := piece.lower()) not in _WORDS:
            raise _NoConstant
        self[piece] = found
        return found


def _read(written: str, keys: int) -> list[Constant] | None:
    """The values of a list; None where it is not certain to be one of constants. keys : how many its maps have."""
    known = _Rewritten()
    try:
        text = _PIECE.sub(lambda piece: known[piece[0]], written)
        values = cast("list[Constant]", json.loads(text, strict=False))
        flat = sum([len(one) for one in values if isinstance(one, dict)])
        # else a key occurs twice
        return values if flat == keys or _keys(values, 0) == keys else None
    except (ValueError, RecursionError, _NoConstant):
        return None


def _keys(value: Constant, depth: int) -> int:
    """How many keys the maps in a value have."""
    if depth > _DEEPEST:
        raise _NoConstant
    if not isinstance(value, (list, dict)):
        return 0
    own, parts = 0, value
    if isinstance(value, dict):
        own, parts = len(value), [*value.values()]
    classes = set(map(type, parts))
    if not classes & {list, dict}:
        return own
    return own + sum([_keys(part, depth + 1) for part in parts])


# ---- chains --------------------------------------------------------------------------------------


def _chained(text: str, masked: str) -> Iterator[LongConstant]:
    for pattern, word, negated in _CHAINS:
        before, behind = _AROUND[word]
        for chain in pattern.finditer(masked):
            if chain.end() - chain.start() < LEAST:
                continue
            first = _BEFORE.search(masked, max(chain.start() - _NEAR, 0), chain.start())
            last = _BEHIND.match(masked, chain.end())
            if not _allowed(first, before) or not _allowed(last, behind):
                continue
            begin, end = chain.span("rest")
            sign = "<>" if negated else "="
            value = re.compile(rf"{sign}\s*({_VALUE})")
            parts = [
                text[a:b] for a, b in (one.span(1) for one in value.finditer(masked, begin, end))
            ]
            values = _read(f"[{','.join(parts)}]", 0)
            if values is not None and not _NO_CONSTANT.search(masked, begin, end):
                yield LongConstant(begin, end, values, (negated, chain.start()))


def _allowed(found: re.Match[str] | None, words: frozenset[str]) -> bool:
    """Whether what is before or behind a chain leaves it whole."""
    return found is not None and (found[1] is None or found[1].upper() in words)
