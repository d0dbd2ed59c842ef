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
    WRITING,
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
_CLAUSES = (Match, Unwind, Create, Merge, Set, Remove, Delete)
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


def split_literals(text: str) -> tuple[Key, list[Constant]] | None:
    """The parts between the literals of a text, and their values; None of a text that has no shape."""
    if len(text) > LONGEST or "RETURN" in text.upper():  # most of what gives rows goes no further
        return None
    pieces = LITERAL.split(text)
    written = pieces[1::2]
    if not 0 < len(written) <= _MOST:
        return None
    values = list(map(constant, written))
    kinds = tuple(map(type, values))
    if _NONE in kinds:
        return None
    return (tuple(pieces[::2]), kinds), values  # type: ignore[return-value]  # without None


def split_reading(text: str) -> tuple[Key, list[Constant]] | None:
    """As `split_literals`, of a text that gives rows."""
    cut = text.upper().find("RETURN")
    found = split_literals(text[:cut]) if cut > 0 and len(text) <= LONGEST else None
    if found is None:
        return None
    (pieces, kinds), values = found
    return ((*pieces[:-1], pieces[-1] + text[cut:]), kinds), values


def reading_shape(
    text: str, key: Key, values: list[Constant], parse: Callable[[str], Query]
) -> str | None:
    """As `shape`, of a statement that reads and returns. key, values : as `split_reading` gives them."""
    return _shape(text, key, values, parse) if _reads(parse(text)) else None


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
    return _shape(text, key, values, parse) if _writes(parse(text)) else None


def _shape(
    text: str, key: Key, values: list[Constant], parse: Callable[[str], Query]
) -> str | None:
    pieces, _ = key
    if any(map(_OTHERWISE.search, pieces)):
        return None
    query = parse(text)
    slots = (f"${k} " for k in range(len(values)))
    made = "".join(chain.from_iterable(zip_longest(pieces, slots, fillvalue="")))
    return made if _with_values(parse(made), named_parameters(values)) == query else None


def _writes(query: Query) -> bool:
    """Whether it writes and gives nothing back."""
    if query.explain or query.profile or len(query.parts) != 1:
        return False
    (clauses,) = query.parts
    return isinstance(clauses[-1], WRITING) and all(isinstance(one, _CLAUSES) for one in clauses)


def _reads(query: Query) -> bool:
    """Whether it matches and returns, and nothing else."""
    if query.explain or query.profile or len(query.parts) != 1:
        return False
    *clauses, last = query.parts[0]
    return isinstance(last, Return) and all(
        isinstance(one, (Match, Unwind, With)) for one in clauses
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
