"""What a value of the language may be, while a query runs row by row (openCypher's dynamic types).

A value is None (null), bool, int (64 bits), float, str, a list, a map (dict with str keys), a temporal value
(`gdb.values.temporal`), or an element (`gdb.values.elements`). bool is never taken for a number.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias, Union

if TYPE_CHECKING:
    from gdb.values.elements import NodeValue, PathValue, RelationshipValue
    from gdb.values.temporal import Temporal

Value: TypeAlias = Union[
    bool,
    int,
    float,
    str,
    "list[Value]",
    "dict[str, Value]",
    "Temporal",
    "NodeValue",
    "RelationshipValue",
    "PathValue",
    None,
]
Row: TypeAlias = dict[str, Value]
"""The variables of a row, by name."""
