"""UNION and DISTINCT of a chain."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gdb.base.sql import aliased, call, exp, select, united, value_of
from gdb.functions.types import NULL, Type
from gdb.physical.columns.relation import Builder, Held, Relation, select_columns
from gdb.records import replace

if TYPE_CHECKING:
    from gdb.base.sql import Part
    from gdb.logical.operators import Distinct, Plan


def union_of(
    builder: Builder, plan: Plan, found: Sequence[Relation]
) -> tuple[Relation, list[Type]]:
    """The rows of the sides of UNION, and the types of their columns, o0, o1, ... in the order of the names. Where rows
    of a side have an order, those of one side come after those of the side before it, each side's in their order;
    what is repeated is then still there, also where UNION leaves it out.

    Raises
    ------
    NotSupported : a column has several types.
    """
    names, place = plan.names, plan.sides[1][0].place
    types: list[Type] = []
    for name in names:
        several = {side.names[name].type for side in found} - {NULL}
        if len(several) > 1:
            raise builder.refuse(place, f"UNION of several types of '{name}' is")
        types.append(several.pop() if several else NULL)
    longest = max(len(side.order) for side in found)
    order = tuple(builder.fresh("n") for _ in range(longest + 1)) if longest else ()
    per = found[0].per
    sides = []
    for number, side in enumerate(found):
        columns: list[Part] = [
            aliased(exp.Null() if held.type == NULL else held.column, f"o{k}")
            for k, held in enumerate(side.names[name] for name in names)
        ]
        if order:
            rest = [value_of(0) for _ in range(longest - len(side.order))]
            values: list[Part] = [value_of(number), *side.order, *rest]
            columns += map(aliased, values, order)
        columns += [] if per is None else [per.column]
        sides.append(select(columns, side.from_))
    sql = sides[0]
    for every, other in zip(plan.all, sides[1:], strict=True):
        sql = united(sql, other, every=every or bool(order))
    columns_of = {name: Held(f"o{k}", types[k]) for k, name in enumerate(names)}
    return Relation(sql, columns_of, order, order, per=per), types


def first_rows(builder: Builder, relation: Relation) -> dict[str, exp.Expr]:
    """Of groups of rows in one order: a new column, and its SQL, by which the groups are in that of their first rows;
    nothing where the rows have none."""
    return {builder.fresh("n"): call("min", column) for column in relation.order}


def distinct(builder: Builder, relation: Relation, operator: Distinct) -> Relation:
    """The rows without their repetitions, the first of equal ones where they have an order."""
    if {*relation.names} != {*operator.names}:
        raise builder.refuse(operator.place, "an order by more than the columns of DISTINCT is")
    for held in relation.names.values():
        builder.check_measured(held, operator.place)
    names = relation.names
    if not builder.alone:  # it is looked up again of what is left
        names = {name: replace(held, stored={}) for name, held in names.items()}
    columns = [c for held in names.values() for c in (held.column, *held.stored.values())]
    if not columns:
        raise builder.refuse(operator.place, "DISTINCT of nothing is")
    per = relation.per
    columns += [] if per is None else [per.column]
    builder.all_needed()
    if not relation.order:
        sql = select_columns(columns, relation.from_, distinct=True)
        return Relation(sql, names, per=per)
    relation = builder.in_one_order(relation)
    order = first_rows(builder, relation)
    columns = list(dict.fromkeys(columns))
    made: list[Part] = [*columns]
    made += [aliased(sql, column) for column, sql in order.items()]
    groups = [value_of(k + 1) for k in range(len(columns))]
    sql = select(made, relation.from_, group=groups)
    return Relation(sql, names, tuple(order), tuple(order), per=per)
