"""The types of values in the language, while a query runs row by row (openCypher's dynamic types).

A value is None (null), bool, int (64 bits), float, str, a list, a map (dict with str keys), a temporal value
(`gdb.base.values.temporal`), or an element (`gdb.base.values.elements`). bool is never taken for a number.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias, Union

if TYPE_CHECKING:
    from gdb.base.values.elements import NodeValue, PathValue, RelationshipValue
    from gdb.base.values.temporal import Temporal

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
