"""The relational tail of one pattern, from the operators behind its MATCH: one SELECT over the embeddings.

The operators are compiled as those of a chain (`gdb.physical.columns`), over a relation whose columns are gathered from
the embeddings on demand. What needs another pattern, or values of the store that the rows have lost, is no
tail; the query then runs operator by operator.

Beside the SELECT a tail has instructions for the executors, so that they make no more than is needed: the number of
embeddings, one of each value, the number for each value, the first rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gdb.errors import NotSupported
from gdb.executor.relational.relational_tail import (
    NUMBER,
    ColumnRef,
    First,
    Output,
    Tail,
    only_vertex,
)
from gdb.language.aggregation import is_count
from gdb.language.hidden_names import is_hidden
from gdb.language.mentioned_names import mentioned
from gdb.language.syntax import Call, ElementReference, Expression, Property, Variable
from gdb.logical.needed_properties import Demand, demands_around
from gdb.logical.operators import (
    Aggregate,
    Distinct,
    Filter,
    Limit,
    Names,
    Operator,
    Operators,
    Project,
    Sort,
)
from gdb.records import dataclass, replace

if TYPE_CHECKING:
    from gdb.base.sql import SqlText
    from gdb.functions.types import Type
    from gdb.language.scope import Scope
    from gdb.physical.columns.relation import Builder, Relation
    from gdb.physical.columns.steps import Chain

COVERED = (Project, Aggregate, Distinct, Sort, Limit, Filter)
"""The operators that a tail may consist of."""


def demand_of(operators: Operators, names: Names) -> Demand:
    """What operators behind a pattern use of its embeddings. names : of the answer."""
    return demands_around(operators, names)[0]


@dataclass(slots=True)
class TailCompiler:
    """Makes the relational part of a query.

    scope : the elements of the pattern. operators : behind its MATCH, all `COVERED`. names : of the answer.
    conditions : resolved conditions that are left for the embeddings. demand : of the embeddings, see `demand_of`.
    """

    scope: Scope
    operators: Operators
    names: Names
    conditions: Sequence[Expression]
    demand: Demand

    def tail(self) -> Tail:
        """The tail. Raises NameProblem, TypeProblem, NotSupported, with the place: it is none."""
        return self.without_select() or self.select()

    def without_select(self) -> Tail | None:
        """The tail, where it takes no SQL. Raises as `tail`."""
        if self._counts_rows():  # no SQL of it is ever run, and none has to be translated
            return Tail((), "", outputs=(Output(self.names[0]),), count_only=True)
        return self._columns_alone()

    def select(self) -> Tail:
        """The tail that is a SELECT. Loads what writes SQL. Raises as `tail`."""
        builder, sql, made = self._compiled(None)
        refs = tuple(builder.taken.values())
        once = self._once(refs)
        found_direct = self._direct(builder, once)
        direct = None if found_direct is None else found_direct[0]
        found = Tail(
            refs,
            sql,
            builder.parameters.values,
            made,
            self._counts_values(once),
            self._row_limit(once, direct),
            once,
            direct,
            self._tally(builder),
            by_part=self._by_part(),
            first=self._first(once),
        )
        kinds = self._kinds(refs, once)
        if kinds and isinstance(next(iter(self._others()), None), Distinct):
            return replace(found, kinds=True)
        if not self._weighs(refs, once, kinds):
            return found
        return replace(found, numbered=lambda: self._compiled(NUMBER)[1], kinds=kinds)

    def _columns_alone(self) -> Tail | None:
        """The tail whose columns are the answer: no SELECT is ever run, so that none is written."""
        from gdb.physical.columns.relation import Builder, outputs  # here: only SQL needs it

        builder = Builder(self.scope, None)
        found = self._direct(builder, None)
        if found is None:
            return None
        direct, types = found
        refs = tuple(builder.taken.values())
        return Tail(
            refs,
            "",
            outputs=outputs(self.names, types),
            row_limit=self._row_limit(None, direct),
            direct=direct,
            by_part=self._by_part(),
        )

    # ---- SQL -------------------------------------------------------------------------------------

    def _compiled(self, weight: str | None) -> tuple[Builder, SqlText, tuple[Output, ...]]:
        """The SELECT. weight : the column with the number of embeddings that each row represents."""
        # here and below: a number alone takes no SQL, and its first answer need not wait for what writes it
        from gdb.base.sql import SqlText
        from gdb.functions.types import TypeName
        from gdb.physical.columns.chain_compilation import answer, over
        from gdb.physical.columns.looked_columns import settle_embeddings
        from gdb.physical.columns.relation import Builder, outputs

        builder = Builder(self.scope, None)
        begin = self._begin(builder, weight).only(self.demand.live)
        relation = over(builder, self.operators, self.names, begin)
        if builder.steps:
            raise NotSupported("the operators after its rows take more than one SELECT.")
        relation = settle_embeddings(builder, relation, Demand(frozenset(self.names)))
        query, types = answer(relation, self.names)
        if any(type_.item in (TypeName.NODE, TypeName.RELATIONSHIP) for type_ in types):
            raise NotSupported("a list of nodes is not covered over columns.")
        return builder, SqlText(query), outputs(self.names, types)

    def by_operator(
        self, pattern: Operator, weight: str | None
    ) -> tuple[Chain, tuple[ColumnRef, ...]]:
        """The tail as a chain over `embeddings` in which each operator makes a table, so that it can be measured
        (PROFILE), and the columns of `embeddings`.

        pattern : the operator for which the rows of the pattern are recorded. weight : the column with the number of
            embeddings that each row represents. It has a `tail`, which has raised nothing.

        Raises
        ------
        NotSupported : it is one SELECT only.
        """
        from gdb.base.sql import written  # here: only SQL needs it
        from gdb.physical.columns.chain_compilation import answer, over, owned
        from gdb.physical.columns.relation import Builder, outputs
        from gdb.physical.columns.steps import Chain, Made, Ownership

        builder = Builder(self.scope, None)
        builder.ownership = Ownership(apart=True)
        begin = self._begin(builder, weight).only(self.demand.live)
        begin = owned(builder, begin, pattern, self.demand)
        relation = over(builder, self.operators, self.names, begin)
        if not all(isinstance(step, Made) for step in builder.steps):
            raise NotSupported("the operators after its rows need more than their columns.")
        query, types = answer(relation, self.names)
        sql, made = written(query), outputs(self.names, types)
        used = builder.parameters.used(sql)
        chain = Chain(tuple(builder.steps), sql, used, made, ownership=builder.ownership)
        return chain, tuple(builder.taken.values())

    def _begin(self, builder: Builder, weight: str | None = None) -> Relation:
        """The embeddings."""
        from gdb.physical.columns.relation import Relation, embedded  # here: only SQL needs it

        elements = embedded(self.scope, self.conditions)
        names = {name: held for name, held in elements.items() if not is_hidden(name)}
        hidden = () if weight is None else (weight,)
        found = Relation("embeddings", names, hidden, weight=weight)
        if not self.conditions:
            return found
        from gdb.base.sql import everything
        from gdb.language.translator import Translator
        from gdb.physical.columns.looked_columns import RelationColumns

        # a condition may be one on an element without a name, as (:%) is
        columns = RelationColumns(builder, elements)
        translator = Translator(self.scope, columns, builder.parameters)
        tests = [translator.condition(condition) for condition in self.conditions]
        return replace(found, source=everything("embeddings", where=tests))

    def _column(self, builder: Builder, expression: Expression) -> tuple[str, Type] | None:
        """The column of the embeddings that an expression is, unchanged, and its type; None where it is none."""
        # here: only SQL needs it
        from gdb.functions.types import NODE, NULL, RELATIONSHIP, STRING, Type, TypeName
        from gdb.language.element_columns import STORE_KIND

        subject: Expression = expression
        match expression:
            case Property(subject=of) | Call(arguments=(of,), distinct=False, star=False):
                subject = of
        element = self._element(subject)
        if element is None:
            return None
        match expression:
            case Property(key=key):
                type_ = self.scope.column_type(element, key)
                if type_ == NULL:
                    return None
                return builder.take(element, "property", key.text, STORE_KIND[type_]), type_
            case Call(function=function, place=place):
                match function.text.lower(), element.kind:
                    case "id", of_kind:
                        type_ = self.scope.id_type(element, place)
                        kind = STORE_KIND[type_] if of_kind == "vertex" else None
                        return builder.take(element, "id", kind=kind), type_
                    case "labels", "vertex":
                        return builder.take(element, "labels"), Type(TypeName.LIST, TypeName.STRING)
                    case "type", "edge":
                        return builder.take(element, "type"), STRING
                return None
        type_ = NODE if element.kind == "vertex" else RELATIONSHIP
        return builder.take(element, "element"), type_

    # ---- instructions for the executor -----------------------------------------------------------

    def _others(self) -> list[Operator]:
        """The operators that are no Project."""
        return [one for one in self.operators if not isinstance(one, Project)]

    def _behind(self) -> list[Expression] | None:
        """What each name of the answer is of the rows behind the last Aggregate, or of the embeddings; None where that
        is no single expression."""
        place = self.operators[-1].place
        found: list[Expression] = [Variable(name, place) for name in self.names]
        for operator in reversed(self.operators):
            if isinstance(operator, Aggregate):
                break
            if isinstance(operator, Project):
                columns = {column.name: column for column in operator.columns}
                for k, one in enumerate(found):
                    if isinstance(one, Variable):
                        found[k] = columns[one.name].expression
                    # a name that is no column is the expression's own, as of a comprehension
                    elif not all(columns[n].passes_on for n in mentioned(one) if n in columns):
                        return None
        return found

    def _number_alone(self) -> Call | None:
        """The only aggregate, where it is the answer, and nothing cuts or sorts its row."""
        match self._others():
            case [Aggregate(keys=(), calls=(gathered,), rest=()), *others]:
                for other in others:
                    if not isinstance(other, (Limit, Sort)):  # of one row
                        return None
                    if isinstance(other, Limit) and self._leaves_none(other):
                        return None
            case _:
                return None
        match self._behind():
            case [Variable(name=name)] if name == gathered.name and not self.conditions:
                aggregates = isinstance(self.operators[0], Aggregate)
                return gathered.call if aggregates else None
            case _:
                return None

    def _counts_rows(self) -> bool:
        """Whether the number of embeddings is the answer."""
        call = self._number_alone()
        return call is not None and self._is_number(call)

    def _counts_values(self, once: int | None) -> bool:
        """Whether the number of distinct values is the answer."""
        call = None if once is None else self._number_alone()
        return call is not None and is_count(call) and self._tells_apart(call.arguments[0])

    def _is_number(self, call: Call) -> bool:
        """Whether an aggregate of the embeddings is how many there are: no node or relationship of them is null."""
        if not is_count(call) or call.distinct:
            return False
        return call.star or self._element(call.arguments[0]) is not None

    def _element(self, expression: Expression) -> ElementReference | None:
        return self.scope.names.get(expression.name) if isinstance(expression, Variable) else None

    def _once(self, refs: Sequence[ColumnRef]) -> int | None:
        """The query vertex whose distinct values are enough: nothing else is needed, and the answer does not depend on
        how often a value occurs."""
        of = {(ref.element, ref.index) for ref in refs}
        if len(of) != 1 or not self.demand.once:
            return None
        element, index = of.pop()
        return index if element == "vertex" else None

    def _direct(
        self, builder: Builder, once: int | None
    ) -> tuple[tuple[int, ...], list[Type]] | None:
        """The column of each output and its type, where the columns are the answer."""
        others, expressions = self._others(), self._behind()
        if expressions is None or self.conditions:
            return None
        limits = [one for one in others if isinstance(one, Limit)]
        if len(limits) > 1 or any(self._cuts(one)[0] for one in limits):
            return None
        unique = any(isinstance(one, Distinct) for one in others)
        if unique and (once is None or not any(map(self._tells_apart, expressions))):
            return None
        if not all(isinstance(one, (Limit, Distinct)) for one in others):
            return None
        found: list[tuple[str, Type]] = []
        for expression in expressions:
            column = self._column(builder, expression)
            if column is None:
                return None
            found.append(column)
        names = [ref.name for ref in builder.taken.values()]
        return tuple(names.index(name) for name, _ in found), [type_ for _, type_ in found]

    def _tally(self, builder: Builder) -> tuple[bool, ...] | None:
        """For each output whether it is the number of embeddings, where all others are the one key, a whole
        number."""
        first, expressions = self.operators[0], self._behind()
        if not isinstance(first, Aggregate) or self._others() != [first] or expressions is None:
            return None
        if self.conditions or len(first.keys) != 1 or first.rest or len(builder.taken) != 1:
            return None
        (key,) = first.keys
        calls = {gathered.name for gathered in first.calls}
        numbers = all(self._is_number(gathered.call) for gathered in first.calls)
        picked = [one.name for one in expressions if isinstance(one, Variable)]
        if not calls or not numbers or len(picked) < len(expressions) or not {*picked} & calls:
            return None
        column = self._column(builder, key.expression)
        if column is None or len(builder.taken) != 1:
            return None
        from gdb.functions.types import TypeName  # here: only SQL needs it

        if column[1].kind not in (TypeName.INTEGER, TypeName.NODE, TypeName.RELATIONSHIP):
            return None
        return tuple(name in calls for name in picked)

    def _row_limit(self, once: int | None, direct: tuple[int, ...] | None) -> int | None:
        """How many embeddings suffice."""
        for operator in () if self.conditions else self.operators:
            match operator:
                case Limit():
                    skip, most = self._cuts(operator)
                    return None if most is None else most + skip
                case Distinct() if once is None or direct is None:
                    return None
                case Project() | Distinct():
                    continue
                case _:
                    return None
        return None

    def _first(self, once: int | None) -> First | None:
        """The first embeddings by a column of them, where these are all that the answer needs."""
        match self._others():
            case [Sort(keys=(key, *_)), Limit() as limit] if once is None and not self.conditions:
                skip, most = self._cuts(limit)
            case _:
                return None
        expression = key.expression
        before = self.operators[: self.operators.index(self._others()[0])]  # Projects alone
        for operator in reversed(before):
            if isinstance(operator, Project) and isinstance(expression, Variable):
                columns = {column.name: column.expression for column in operator.columns}
                expression = columns[expression.name]
            elif isinstance(operator, Project) and not all(
                column.passes_on
                for column in operator.columns
                if column.name in mentioned(expression)
            ):
                return None
        from gdb.executor.relational.top_rows import (  # here: few queries are cut in order
            KINDS,
            MOST,
        )
        from gdb.physical.columns.relation import Builder

        builder, count = Builder(self.scope, None), 0 if most is None else skip + most
        if self._column(builder, expression) is None or not 0 < count <= MOST:
            return None
        (column,) = builder.taken.values()
        nulls_first = key.descending if key.nulls_first is None else key.nulls_first
        return First(column, key.descending, nulls_first, count) if column.kind in KINDS else None

    def _by_part(self) -> bool:
        """Whether the rows of the answer are those of any parts of the embeddings."""
        others = self._others()
        limits = [one for one in others if isinstance(one, Limit)]
        if not all(isinstance(one, (Limit, Filter)) for one in others):
            return False
        if not limits:
            return True
        return others == limits[:1] and not self.conditions and not self._cuts(limits[0])[0]

    def _kinds(self, refs: Sequence[ColumnRef], once: int | None) -> bool:
        """Whether nothing but labels and types is needed of the embeddings."""
        return bool(refs) and once is None and all(ref.what in ("labels", "type") for ref in refs)

    def _weighs(self, refs: Sequence[ColumnRef], once: int | None, kinds: bool) -> bool:
        """Whether of the embeddings with one value of a query vertex, or of the same `kinds`, only their number is
        needed."""
        if (
            not (kinds or only_vertex(refs) is not None)
            or once is not None
            or not self.demand.numbers
        ):
            return False
        first = next(iter(self._others()), None)
        return isinstance(first, Aggregate) and all(self._is_number(g.call) for g in first.calls)

    def _tells_apart(self, expression: Expression) -> bool:
        """Whether two vertices never have the same value of this."""
        if self._element(expression) is not None:
            return True
        match expression:
            case Call(function=function, arguments=(Variable() as of,), distinct=False):
                element = self._element(of)
                if function.text.lower() != "id" or element is None:
                    return False
                groups = self.scope.groups(element.index)
                return len({self.scope.snapshot.groups[group].id_space for group in groups}) <= 1
        return False

    def _cuts(self, limit: Limit) -> tuple[int, int | None]:
        """The numbers of SKIP and LIMIT."""
        from gdb.physical.columns.relation import Builder, cuts  # here: only SQL needs it

        return cuts(Builder(self.scope, None), limit)

    def _leaves_none(self, limit: Limit) -> bool:
        """Whether SKIP and LIMIT leave nothing of one row."""
        skip, most = self._cuts(limit)
        return skip > 0 or most == 0
