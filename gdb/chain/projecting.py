"""WITH and RETURN of a chain: items, grouping, DISTINCT, ORDER BY, SKIP and LIMIT.

As in `gdb.rows.projecting`, aggregates become hidden names, and so do the keys that rows are grouped by; what is left
of an item is computed from the grouped rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gdb.chain.asking import Asked, asks
from gdb.chain.columns import RelationColumns, looked_up
from gdb.chain.relation import Builder, Held, Relation, selected
from gdb.chain.translate import ChainTranslator
from gdb.functions.types import SCALARS, Kind, Typed, written
from gdb.language.aggregation import is_aggregate
from gdb.language.clauses import Return, ReturnItem, SortItem
from gdb.language.hidden import HIDDEN, is_hidden
from gdb.language.rebuild import rebuilt
from gdb.language.syntax import (
    Call,
    Element,
    Expression,
    Literal,
    Name,
    Parameter,
    Variable,
    walk,
)


def projected(
    builder: Builder, relation: Relation, clause: Return, where: Expression | None
) -> Relation:
    """The rows of WITH or RETURN.

    Raises
    ------
    QueryError : it is not for columns.
    """
    return _Projection(builder, relation, clause).run(where)


class _Projection:
    def __init__(self, builder: Builder, relation: Relation, clause: Return) -> None:
        self.builder, self.relation, self.clause = builder, relation, clause
        self.items = self._items()
        self.order = list(clause.order)
        every = [*(i.expression for i in self.items), *(i.expression for i in self.order)]
        self.aggregates = any(is_aggregate(part) for e in every for part in walk(e))
        self.skip, self.limit = self._number(clause.skip), self._number(clause.limit)

    def _items(self) -> list[ReturnItem]:
        place, items = self.clause.place, list(self.clause.items)
        if self.clause.everything:
            names = [name for name in self.relation.names if not is_hidden(name)]
            items = [ReturnItem(Variable(n, place), Name(n, place), n) for n in names] + items
        return items

    def _number(self, given: Expression | None) -> int | None:
        """The value of SKIP or LIMIT."""
        if given is None:
            return None
        value: object = None
        if isinstance(given, Literal):
            value = given.value
        elif isinstance(given, Parameter):
            value = self.builder.scope.parameter(given.name, given.place)
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise self.builder.refuse(given.place, "this SKIP or LIMIT is")
        return value

    # ---- steps -----------------------------------------------------------------------------------

    def run(self, where: Expression | None) -> Relation:
        distinct = self.clause.distinct
        early = where is not None and not self._after(where)
        if early and (distinct or self.aggregates or self.skip or self.limit is not None):
            assert where is not None
            raise self.builder.refuse(where.place, "WHERE of names from before this WITH is")
        if not (distinct or self.aggregates or self.order or self.relation.order):
            self._cut_first()
        self._answer()
        if self.aggregates or distinct:
            self._group()
        if self.skip or self.limit is not None:
            self.relation = self.builder.expanded(self.relation)
        if self.aggregates and distinct and self.order:
            place = self.clause.place
            raise self.builder.refuse(place, "DISTINCT of aggregates, sorted, is")
        found = self._plain(where if early else None)
        if self.aggregates and distinct:
            columns = ", ".join(found.columns)
            source = f"SELECT DISTINCT {columns} FROM {found.from_}"
            found = replace(found, source=source, table=False)
            self.builder.all_needed()
        found = self._cut(found)
        if self.skip or self.limit is not None or self.sorts:
            self.builder.all_needed()
        if where is not None and not early:
            found = Asked(self.builder, found).filtered([where])
            names = {n: held for n, held in found.names.items() if not is_hidden(n)}
            found = replace(found, names=names)
        return found

    def _after(self, where: Expression) -> bool:
        """Whether a condition has nothing but new names."""
        from gdb.language.mentions import mentioned

        new = {item.name for item in self.items}
        return not (mentioned(where) & set(self.relation.names)) - new

    def _cut_first(self) -> None:
        """LIMIT of rows in no order: any, and no more of them are matched, or projected, than it takes."""
        if self.limit is None:
            return
        relation, limit = self.builder.expanded(self.relation), self.limit
        cut = f" LIMIT {limit}" + (f" OFFSET {self.skip}" if self.skip else "")
        names = {n: replace(held, origin=None) for n, held in relation.names.items()}
        sql = selected(relation.columns, relation.from_) + cut
        relation = replace(relation, source=sql, table=False, names=names)
        self.relation = self.builder.limited(relation, limit)
        self.skip = self.limit = None

    def _answer(self) -> None:
        """Patterns in items become names."""
        expressions = [i.expression for i in self.items] + [i.expression for i in self.order]
        if not any(map(asks, expressions)):
            return
        asked = Asked(self.builder, self.relation)
        answered = asked.answered(expressions)
        self.relation = asked.relation
        count = len(self.items)
        self._replace(answered[:count], answered[count:])

    def _replace(self, items: Sequence[Expression], order: Sequence[Expression]) -> None:
        self.items = [replace(i, expression=e) for i, e in zip(self.items, items, strict=True)]
        self.order = [replace(i, expression=e) for i, e in zip(self.order, order, strict=True)]

    def _group(self) -> None:
        """The relation becomes that of the groups, and items and order what is computed from them."""
        self._sort_by_items()
        keys: dict[Expression, str] = {}
        aggregates: dict[Expression, str] = {}
        for item in self.items:
            if not any(map(is_aggregate, walk(item.expression))):
                if isinstance(item.expression, Variable):
                    keys.setdefault(item.expression, item.expression.name)
                else:
                    keys.setdefault(item.expression, f"{HIDDEN}{self.builder.fresh('k')}")

        def hidden(part: Expression) -> Expression | None:
            if is_aggregate(part):
                name = aggregates.setdefault(part, f"{HIDDEN}{self.builder.fresh('a')}")
                return Variable(name, part.place)
            known = keys.get(part)
            return None if known is None else Variable(known, part.place)

        items = [rebuilt(item.expression, hidden) for item in self.items]
        order = [rebuilt(item.expression, hidden) for item in self.order]
        self.relation = self._grouped(keys, aggregates)
        self.builder.all_needed()
        self._replace(items, order)

    def _sort_by_items(self) -> None:
        """The columns that ORDER BY names are what stands behind them."""
        columns = {item.name: item.expression for item in self.items}

        def named(part: Expression) -> Expression | None:
            return columns.get(part.name) if isinstance(part, Variable) else None

        self.order = [replace(i, expression=rebuilt(i.expression, named)) for i in self.order]

    def _grouped(self, keys: dict[Expression, str], aggregates: dict[Expression, str]) -> Relation:
        builder, relation = self.builder, self.relation
        columns = RelationColumns(builder, relation.names)
        translator = ChainTranslator(builder, columns)
        names: dict[str, Held] = {}
        written_: list[str] = []
        for key, name in keys.items():
            held, sql = self._held(translator, key, translator.typed(key))
            names[name] = held
            written_.append(f"{sql} AS {held.column}")
        count = len(written_)
        calls = [call for call in aggregates if isinstance(call, Call)]
        if relation.weight is not None and not all(map(translator.weighs, calls)):
            relation = builder.expanded(relation)
        for call, name in zip(calls, aggregates.values(), strict=True):
            typed = translator.aggregated(call, relation.order, relation.weight)
            column = builder.fresh("a")
            names[name] = Held(column, typed.type)
            written_.append(f"{written(typed.sql)} AS {column}")
        if not count:  # aggregates of null alone leave none, and there is one row all the same
            written_.append(f"count(*) AS {builder.fresh('a')}")
        relation, source = looked_up(builder, relation, columns)
        if translator.before:
            source = f"(SELECT *, {', '.join(translator.before)} FROM {source})"
        sql = f"SELECT {', '.join(written_)} FROM {source}"
        if count:
            sql += f" GROUP BY {', '.join(str(k + 1) for k in range(count))}"
        return Relation(sql, names)

    def _held(
        self, translator: ChainTranslator, expression: Expression, typed: Typed
    ) -> tuple[Held, str]:
        """What a name for an expression stands for, and its SQL."""
        column = self.builder.fresh("e")
        if typed.kind in (Kind.NODE, Kind.RELATIONSHIP):
            known = translator.names[expression.name] if isinstance(expression, Variable) else None
            if known is None or known.element is None:
                raise self.builder.refuse(expression.place, f"{typed.kind} of this kind is")
            return Held(column, typed.type, known.element, known.origin), written(typed.sql)
        return Held(column, typed.type), written(typed.sql)

    def _plain(self, where: Expression | None) -> Relation:
        """The items of each row, and s columns that ORDER BY sorts by."""
        builder, relation = self.builder, self.relation
        if not (self.aggregates or self.clause.distinct):
            self._sort_by_items()
            if where is not None:
                columns = {item.name: item.expression for item in self.items}
                where = rebuilt(
                    where,
                    lambda p: columns.get(p.name) if isinstance(p, Variable) else None,
                )
                if asks(where):
                    raise builder.refuse(where.place, "such a WHERE behind WITH is")
        asked = RelationColumns(builder, relation.names)
        translator = ChainTranslator(builder, asked)
        names: dict[str, Held] = {}
        columns_: list[str] = []
        for item in self.items:
            typed = translator.typed(item.expression)
            held, sql = self._held(translator, item.expression, typed)
            names[item.name] = held
            columns_.append(f"{sql} AS {held.column}")
        self.sorts = [self._sort(translator, item) for item in self.order]
        keys = [builder.fresh("s") for _ in self.sorts]
        columns_ += [f"{sql} AS {key}" for sql, key in zip(self.sorts, keys, strict=True)]
        self.sorts = keys
        tests = [] if where is None else [translator.tested(where)]
        relation, source = looked_up(builder, relation, asked)
        origins = {h.element: h.origin for h in relation.names.values() if h.element is not None}
        names = {
            n: h if h.element is None else replace(h, origin=origins.get(h.element))
            for n, h in names.items()
        }
        sql = selected([*columns_, *relation.hidden], source, tests)
        return Relation(
            sql, names, hidden=relation.hidden, order=relation.order, weight=relation.weight
        )

    def _sort(self, translator: ChainTranslator, item: SortItem) -> str:
        typed = translator.typed(item.expression)
        if typed.kind is Kind.NODE:
            element = rebuilt(item.expression, translator._resolved)
            assert isinstance(element, Element)
            groups = self.builder.scope.groups(element.index)
            stored = self.builder.context.graph.snapshot.groups
            if len({stored[group].id_space for group in groups}) > 1:
                raise self.builder.refuse(item.expression.place, "an order of such nodes is")
            typed = translator.columns.identity(element, item.expression.place)
        if not (typed.kind in SCALARS or typed.is_null):
            raise self.builder.refuse(item.expression.place, f"an order of {typed.kind} is")
        return written(typed.sql)

    def _cut(self, relation: Relation) -> Relation:
        """The rows in their order, numbered, without those that SKIP and LIMIT leave out."""
        cut = "" if self.limit is None else f" LIMIT {self.limit}"
        cut += f" OFFSET {self.skip}" if self.skip else ""
        if not self.sorts and not cut:
            return relation
        keys = [
            f"{key} {'DESC' if item.descending else 'ASC'} NULLS {'FIRST' if first else 'LAST'}"
            for key, item in zip(self.sorts, self.order, strict=True)
            for first in [item.descending if item.nulls_first is None else item.nulls_first]
        ]
        by = keys or ([relation.order] if relation.order else [])
        sorted_ = f" ORDER BY {', '.join(by)}" if by else ""
        names = {n: replace(h, origin=None) if cut else h for n, h in relation.names.items()}
        if not keys:
            sql = f"{selected(relation.columns, relation.from_)}{sorted_}{cut}"
            return replace(relation, source=sql, table=False, names=names)
        number = self.builder.fresh("n")
        rest = tuple(name for name in relation.hidden if name != relation.order)
        columns = [*(h.column for h in relation.names.values()), *rest]
        source = relation.from_
        if cut:  # the order of a subquery is not promised, only which rows it has
            source = f"({selected([*columns, *self.sorts], source)}{sorted_}{cut})"
        sql = selected([*columns, f"row_number() OVER ({sorted_.strip()}) AS {number}"], source)
        hidden = (*rest, number)
        return replace(relation, source=sql, table=False, names=names, hidden=hidden, order=number)
