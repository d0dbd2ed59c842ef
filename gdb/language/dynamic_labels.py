"""Labels and types that a value names: n:$(expression)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gdb.records import dataclass, field

if TYPE_CHECKING:
    from gdb.language.syntax import Expression, Place


@dataclass(frozen=True, slots=True)
class HasNamed:
    """subject:$(names), or subject:$any(names): whether a node has all or any of the labels that a string or a list of
    strings names; of a relationship, whether each or any of them is its type."""

    subject: Expression
    names: Expression
    any: bool
    place: Place = field(compare=False)
