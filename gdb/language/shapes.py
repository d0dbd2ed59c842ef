"""The shape of a statement: its text without the values of its literals.

A dump of a graph has thousands of statements that differ in nothing else. With a parameter in the place of each literal
they are one text, which is understood once:

    CREATE (:Person {id: 1, name: 'Anna'})     CREATE (:Person {id: $0 , name: $1 })
    CREATE (:Person {id: 2, name: 'Ben'})      the same

What a literal means depends on its place: the numbers of `*1..3` and `{1,3}` are none. So a shape is used only
where its tree, with the literals put back, is the tree of the statement. Of a statement that reads the literals behind
its first RETURN stay, since a column is named by what is written:

    MATCH (a:Person {id: 1}) RETURN a.age + 1     MATCH (a:Person {id: $0 }) RETURN a.age + 1
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from itertools import chain, zip_longest
from typing import TypeAlias, TypeVar

from gdb.language.clauses import (
    Create,
    Delete,
    Match,
    Merge,
    Query,
    Remove,
    Return,
    Set,
    Unwind,
    With,
)
from gdb.language.escapes import unescaped
from gdb.language.syntax import Literal, Parameter
from gdb.records import replace

Constant: TypeAlias = int | float | bool | str
Key: TypeAlias = tuple[tuple[str, ...], tuple[type[Constant], ...]]
"""The parts between the literals of a text, and their kinds."""
T = TypeVar("T")

LONGEST = 10_000
"""Characters of a statement that is looked at."""
_MOST = 64  # literals of it
_NAMES = tuple(map(str, range(_MOST)))
_NONE = type(None)
_WRITES = (Create, Merge, Set, Remove, Delete)
# A number that is certain to be a literal by itself, but perhaps no value. Strings are values everywhere. The
# class of first characters is what `re` looks for before it tries the rest.
LITERAL = re.compile(
    r"""
    ( ['"tf0-9-]
      (?: (?<=') [^'\\]*(?:\\.[^'\\]*)*'
      | (?<=") [^"\\]*(?:\\.[^"\\]*)*"
      | (?: (?<=[:=,\[(].) | (?<=[:=,\[(][ ].) )
        (?: (?: (?<=0) | (?<=[1-9])[0-9]{0,17} | (?<=-)(?:0|[1-9][0-9]{0,17}) ) (?:\.[0-9]{1,15})?
        | (?<=t)rue | (?<=f)alse )
        (?= [\s,}\])] | \Z )
      )
    )
    """,
    re.DOTALL | re.VERBOSE,
)
# A comment, a quoted name or a string that never ends: there a quote is none. Or a parameter of the user's own.
_OTHERWISE = re.compile(r"//|/\*|['\"`$]")


def reads(text: str) -> bool:
    """Whether a text may give rows. As the parts of a key keep its first RETURN, all texts of a shape do, or none."""
    return "RETURN" in text.upper()


def split_literals(text: str) -> tuple[Key, list[Constant]] | None:
    """The parts between the literals of a text, up to its first RETURN, and their values; None of a text that has no
    shape."""
    if len(text) > LONGEST:
        return None
    end = len(text.upper().partition("RETURN")[0])
    pieces = LITERAL.split(text[:end])
    written = pieces[1::2]
    if not 0 < len(written) <= _MOST:
        return None
    pieces[-1] += text[end:]
    values = list(map(constant, written))
    kinds = tuple(map(type, values))
    if _NONE in kinds:
        return None
    return (tuple(pieces[::2]), kinds), values  # type: ignore[return-value]  # without None


def constant(written: str) -> Constant | None:
    """The value of a literal; None of a string with an escape that there is not."""
    first = written[0]
    if first in "'\"":
        return unescaped(written) if "\\" in written else written[1:-1]
    if first in "tf":
        return written == "true"
    return float(written) if "." in written else int(written)


def named_parameters(values: list[Constant]) -> dict[str, Constant]:
    """The values as parameters of the shape."""
    return dict(zip(_NAMES, values, strict=False))


def shape(text: str, key: Key, values: list[Constant], parse: Callable[[str], Query]) -> str | None:
    """The text with parameters that means what this text means, whatever its literals; None where there is none.

    text : without an error. key, values : as `split_literals` gives them.
    """
    pieces, _ = key
    query = parse(text)
    if not _is_simple(query, reading=reads(text)) or any(map(_OTHERWISE.search, pieces)):
        return None
    slots = (f"${k} " for k in range(len(values)))
    made = "".join(chain.from_iterable(zip_longest(pieces, slots, fillvalue="")))
    return made if _with_values(parse(made), named_parameters(values)) == query else None


def _is_simple(query: Query, *, reading: bool) -> bool:
    """Whether it matches and returns, and nothing else; or, not `reading`, writes and gives nothing back."""
    if query.explain or query.profile or len(query.parts) != 1:
        return False
    *clauses, last = query.parts[0]
    before = (Match, Unwind, With) if reading else (Match, Unwind, *_WRITES)
    return isinstance(last, Return if reading else _WRITES) and all(
        isinstance(one, before) for one in clauses
    )


def _with_values(tree: T, values: Mapping[str, Constant]) -> T:
    """The tree with literals in the places of parameters."""

    def literal(part: object) -> object | None:
        return Literal(values[part.name], part.place) if isinstance(part, Parameter) else None

    return replace_parts(tree, literal)


def replace_parts(tree: T, replacement: Callable[[object], object | None]) -> T:
    """The tree with other parts wherever `replacement` has one for a part."""
    made = replacement(tree)
    if made is None and isinstance(tree, tuple):
        made = tuple([replace_parts(part, replacement) for part in tree])
    elif made is None and hasattr(type(tree), "__declared__"):
        parts = {name: getattr(tree, name) for name in type(tree).__slots__}  # type: ignore[attr-defined]
        others = {name: replace_parts(part, replacement) for name, part in parts.items()}
        changed = {name: part for name, part in others.items() if part is not parts[name]}
        made = replace(tree, **changed) if changed else tree  # type: ignore[type-var]
    return tree if made is None else made  # type: ignore[return-value]
