"""Vertices of a pattern that the rows name by a value (`gdb.physical.rows.row_look_ups`), over columns: a semi-join.

The candidates of the vertex are those that hold one of the values; the condition is tested where the rows are joined.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from gdb.base.sql import aliased, is_there, select
from gdb.errors import QueryError
from gdb.functions.types import TypeName
from gdb.physical.columns.expression_translation import ChainTranslator
from gdb.physical.columns.looked_columns import RelationColumns, looked_up
from gdb.physical.columns.relation import Builder, Relation
from gdb.physical.columns.steps import Sought
from gdb.physical.rows.row_look_ups import Equality, equality
from gdb.records import replace
from gdb.storage.graph.value_index import Wanted

if TYPE_CHECKING:
    from gdb.executor.relational.relational import Session
    from gdb.language.syntax import ElementReference
    from gdb.physical.rows.pattern import Condition
    from gdb.storage.graph.adjacency import I64
    from gdb.storage.graph.snapshot import Snapshot

_PLAIN = (TypeName.INTEGER, TypeName.FLOAT, TypeName.STRING, TypeName.BOOLEAN)
PART = 8
"""Values are looked up where they are fewer than this part of the vertices that there are: else these are listed."""


def add_semi_joins(
    builder: Builder,
    relation: Relation,
    fresh: Mapping[str, ElementReference],
    conditions: Sequence[Condition],
) -> tuple[Relation, dict[str, Sought]]:
    """The relation, as a table where anything is sought, and the new vertices that it names by a value, one value each:
    by the id where one does."""
    if relation.source is None:
        return relation, {}
    vertices = [name for name, element in fresh.items() if element.kind == "vertex"]
    reach = {*relation.names, *fresh}
    found: dict[str, tuple[Equality, Sought]] = {}
    for condition in conditions:
        one = equality(condition, vertices)
        names = frozenset() if one is None else one.mentions & reach
        if one is None or one.within or not names or not names <= set(relation.names):
            continue
        groups = builder.scope.groups(fresh[one.vertex].index)
        snapshot = builder.scope.snapshot
        key = one.key is None or all(snapshot.is_id(group, one.key) for group in groups)
        if one.vertex in found and not key:
            continue
        found[one.vertex] = one, Sought("", one.key, groups)
    made: dict[str, Sought] = {}
    for name, (one, search) in found.items():
        relation = builder.as_table(relation)
        values = _values(builder, relation, one)
        if values is not None:
            made[name] = replace(search, table=values)
    return relation, made


def _values(builder: Builder, relation: Relation, one: Equality) -> str | None:
    """The table of the values of the rows, in its column v; None where they are not for look-ups."""
    columns = RelationColumns(builder, relation.names)
    try:
        typed = ChainTranslator(builder, columns).typed(one.value)
    except QueryError:
        return None
    if typed.type.kind not in _PLAIN:
        return None
    _, source = looked_up(builder, relation, columns)
    there = [is_there(typed.sql)]
    query = select([aliased(typed.sql, "v")], source, where=there, distinct=True)
    return builder.table("s", query, "values that are looked up")


def holders(session: Session, snapshot: Snapshot, search: Sought) -> I64 | None:
    """The vids that hold one of the values, ascending; None where it is better not to look them up."""
    vertices = sum(snapshot.groups[group].count for group in search.groups)
    if PART * session.count(search.table) > vertices:
        return None
    wanted = Wanted(session.values(search.table, "v"))
    found = snapshot.holders(search.groups, search.key, wanted)
    return None if found is None else np.unique(found[1]).astype(np.int64)
