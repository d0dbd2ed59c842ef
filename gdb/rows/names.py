"""Which names the rows have behind a clause, known before there are rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from gdb.language.clauses import (
    CallProcedure,
    CallSubquery,
    Clause,
    Create,
    Finish,
    LoadCsv,
    Match,
    Merge,
    Query,
    Return,
    Unwind,
    With,
)
from gdb.language.hidden import is_hidden
from gdb.language.repeated import group_names
from gdb.language.syntax import NodePattern, PathPattern, RelationshipPattern
from gdb.rows.calling import yielded
from gdb.rows.projecting import Projection

if TYPE_CHECKING:
    from gdb.rows.context import Context

Names = tuple[str, ...]


def names_after(
    context: Context, clause: Clause, names: Names, alone: CallProcedure | None
) -> Names:
    """The names behind a clause, in the order in which they came. alone : the CALL that is the whole query."""
    match clause:
        case Match(patterns=patterns):
            nodes = [part for pattern in patterns for part in pattern.nodes]
            between = [part for pattern in patterns for part in pattern.relationships]
            paths = [pattern.name.text for pattern in patterns if pattern.name is not None]
            groups = [name.text for one in between if one.repeated for name, _ in group_names(one)]
            return _joined(names, [*_variables([*nodes, *between]), *groups, *paths])
        case Create(patterns=patterns):
            return _joined(names, [name for pattern in patterns for name in _named(pattern)])
        case Merge(pattern=pattern):
            return _joined(names, _named(pattern))
        case Unwind(variable=variable):
            return (*(name for name in names if name != variable.text), variable.text)
        case LoadCsv(variable=variable):
            return (*names, variable.text)
        case With(projection=projection) | (Return() as projection):
            return Projection(context, projection, names).names
        case Finish():
            return ()
        case CallSubquery(query=query):
            return _joined(names, returned(context, query, seen(clause, names)))
        case CallProcedure():
            procedure = context.procedures[clause.name.text]
            return (*names, *yielded(clause, procedure, clause is alone))
        case _:
            return names


def seen(clause: CallSubquery, names: Names) -> Names:
    """The names that a subquery sees of those around it."""
    imports = clause.imports
    if imports is None or [name.text for name in imports] == ["*"]:
        return names
    return tuple(name.text for name in imports)


def returned(context: Context, query: Query, names: Names) -> Names:
    """The names that a subquery brings; none where it does not end with RETURN."""
    if not isinstance(query.parts[0][-1], Return):
        return ()
    for clause in query.parts[0]:
        names = names_after(context, clause, names, None)
    return names


def _named(pattern: PathPattern) -> list[str]:
    """What the user named in a pattern: nodes, relationships, the path."""
    named = _variables([*pattern.nodes, *pattern.relationships])
    return named if pattern.name is None else [*named, pattern.name.text]


def _variables(parts: Iterable[NodePattern | RelationshipPattern]) -> list[str]:
    return [part.variable.text for part in parts if part.variable is not None]


def _joined(names: Sequence[str], more: Iterable[str]) -> Names:
    """The names with others; hidden ones end with their clause."""
    return tuple(dict.fromkeys((*names, *(name for name in more if not is_hidden(name)))))
