"""Expressions that have one value for a whole run, as `localdatetime() - duration({days: 7})` or `$limits.low`: what
mentions no row, and is calculated. They become parameters of the query, so that every clause and every way of running
has their values before it begins.

Literals, parameters and lists of these are left as they are, and so is what is random and what matches a pattern.
"""

from __future__ import annotations

from collections.abc import Mapping

from gdb.functions.library import AGGREGATES, FUNCTIONS, varies
from gdb.language import syntax
from gdb.language.clauses import Query
from gdb.language.hidden_names import COMPUTED
from gdb.language.shapes import replace_parts
from gdb.language.syntax import Expression, Parameter, walk
from gdb.records import replace

MARK = "\n//computed"
"""What the text of a query with such parameters ends with: a comment, behind which no error shows."""

_MADE = (
    syntax.Arithmetic,
    syntax.Call,
    syntax.Index,
    syntax.ListLiteral,
    syntax.Negative,
    syntax.Property,
    syntax.Slice,
)
"""The expressions that may be calculated."""
_OF = (*_MADE, syntax.Literal, syntax.MapLiteral, syntax.Parameter)
"""What they may consist of."""
_CALCULATED = syntax.Call, syntax.Index, syntax.Property, syntax.Slice


def with_computed(query: Query) -> tuple[Query, Mapping[str, Expression]] | None:
    """The query with parameters instead of what is calculated once, and what each of these is; None where it has no
    such part. Its text has another end."""
    found: dict[str, Expression] = {}

    def parameter(part: object) -> object | None:
        if not isinstance(part, _MADE) or not _is_computed(part):
            return None
        start, end = part.place.start, part.place.end
        name = f"{COMPUTED}{query.text[start:end]}"
        if found.setdefault(name, part) != part:  # of one text, but not of one kind
            return None
        return Parameter(name, part.place)

    made = replace_parts(query.parts, parameter)
    if not found:
        return None
    return replace(query, parts=made, text=query.text + MARK), found


def _is_computed(expression: Expression) -> bool:
    parts = []
    for part in walk(expression):
        if not isinstance(part, _OF):
            return False
        parts.append(part)
    calculated = any(isinstance(part, _CALCULATED) for part in parts) or any(
        isinstance(part, syntax.Arithmetic)
        and any(isinstance(one, syntax.Parameter) for one in walk(part))
        for part in parts
    )
    # last: to look a function up imports all of them
    return calculated and not any(isinstance(p, syntax.Call) and _is_another(p) for p in parts)


def _is_another(call: syntax.Call) -> bool:
    """Whether a call is no function of its arguments and of the present, or makes a long list."""
    name = call.function.text.lower()
    if call.star or call.distinct or name == "range" or name.endswith(".realtime"):
        return True
    return name in AGGREGATES or name not in FUNCTIONS or varies(name)
