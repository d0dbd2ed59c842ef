"""Broken texts: queries with tokens taken away, doubled, exchanged or put in."""

from __future__ import annotations

import re
from random import Random

_TOKEN = re.compile(r"\s+|'[^']*'|\w+|.", re.DOTALL)
_WORDS = (
    *("MATCH", "WITH", "RETURN", "WHERE", "AS", "NOT", "AND", "CASE", "END", "CREATE", "UNION"),
    *("(", ")", "[", "]", "{", "}", "|", "..", "*", "-", "->", "<-", "'", '"', "`", "$", ":", "/*"),
    *("//", "\\", "\n", "0", "1e400", "99999999999999999999", "null", "é", "\ud7ff", "\U0001f600"),
    *("\x00", "\u2028", "count(*)", "EXISTS {", "shortestPath(", "ORDER BY", "LIMIT", "; RETURN 1"),
)


def broken(text: str, random: Random) -> str:
    """The text with one to three tokens taken away, doubled, exchanged or put in; or with some bytes at random."""
    if random.random() < 0.15:
        data = bytearray(text.encode())
        for _ in range(random.randint(1, 4)):
            data[random.randrange(len(data))] = random.randrange(256)
        return data.decode("utf-8", "replace")
    tokens = _TOKEN.findall(text)
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        at = random.randrange(len(tokens))
        match random.randrange(5):
            case 0 if len(tokens) > 1:
                del tokens[at]
            case 1:
                tokens.insert(at, tokens[at])
            case 2:
                other = random.randrange(len(tokens))
                tokens[at], tokens[other] = tokens[other], tokens[at]
            case 3:
                tokens[at] = random.choice(_WORDS)
            case _:
                tokens.insert(at, random.choice(_WORDS))
    return "".join(tokens)
