"""MERGE over rows: what each finds of a pattern, or makes where there is none."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, TypeVar

from gdb.base.allowance import paced
from gdb.base.values.comparison import equal, group_key
from gdb.base.values.elements import NodeValue, RelationshipValue
from gdb.errors import SyntaxProblem
from gdb.language.clauses import Merge, SetProperty
from gdb.language.hidden_names import HIDDEN
from gdb.language.report import problem
from gdb.language.syntax import (
    Expression,
    Name,
    NodePattern,
    PathPattern,
    Property,
    RelationshipPattern,
    Variable,
)
from gdb.physical.rows.creating import Maker
from gdb.physical.rows.element_changes import assignments
from gdb.physical.rows.merge_independence import is_independent, reread
from gdb.physical.rows.pattern import Pattern, pattern_of
from gdb.physical.rows.row_matching import extend_rows
from gdb.records import replace

if TYPE_CHECKING:
    from gdb.base.values.kinds import Row, Value
    from gdb.physical.rows.element_changes import Assignment
    from gdb.physical.rows.run_context import RowContext


_ELEMENTS = NodeValue, RelationshipValue


class Merging:
    """A MERGE, for one list of rows after the other. known : the names that rows have."""

    def __init__(self, context: RowContext, clause: Merge, known: Sequence[str]) -> None:
        self.context, self.clause, self.known = context, clause, frozenset(known)
        self.maker: Maker | None = None  # made for the first row that nothing is found for
        self.keys = self._keys()
        self.hidden = [f"{HIDDEN}m{k}" for k in range(len(self.keys))]
        self.bound = self._bound()
        self.names = self.known.union(self.hidden)
        self.own: Sequence[str] | None = None
        self.reread = self._reread()
        self.on_match = assignments(context, clause.on_match)
        self.on_create = assignments(context, clause.on_create)
        compiled = context.evaluator.compiled
        self.values = [compiled(expression) for _, expression in self.keys]

    @property
    def pattern(self) -> Pattern:
        """The pattern in which properties are compared with hidden variables."""
        return self.context.kept.pattern(self.clause, self._pattern)

    def run(self, rows: Sequence[Row]) -> list[Row]:
        """The rows with what MERGE found for each, or made where there was none.

        Rows of one key find the same; so one of each is matched, all at once. Where what one row does could make
        another row's key match, each row is matched by itself."""
        if len(rows) > 1 and self.independent and self._apart(rows):
            return self._merged(rows)
        made: list[Row] = []
        for row in rows:
            self.context.pulse()
            made += self._one(row)
        return made

    def _one(self, row: Row) -> list[Row]:
        """As `_merged`, of one row."""
        pattern, (prepared,) = self._prepared((row,))
        self.refuse_null((prepared,))
        program = pattern.program(self.names)
        matches = None if program is None else program.run(self.context, prepared)
        if matches is None:
            matches = [
                match for _, match in extend_rows(self.context, pattern, (prepared,), self.names)
            ]
        own = self._own(pattern)
        if matches:
            made = [{**row, **{name: match[name] for name in own}} for match in matches]
        else:
            made = [self._made(row, own)]
        _assign(made, self.on_match if matches else self.on_create)
        return made

    def _own(self, pattern: Pattern) -> Sequence[str]:
        """The names of the pattern that rows do not have."""
        if self.own is None:
            self.own = [name for name in pattern.names if name not in self.known]
        return self.own

    def _made(self, row: Row, own: Sequence[str]) -> Row:
        """The row with what is made for it."""
        new = dict(row) if own else row
        if self.maker is None:
            self.maker = Maker(self.context, self.clause.pattern)
        self.maker.make(new)
        return new

    def _merged(self, rows: Sequence[Row]) -> list[Row]:
        pattern, prepared = self._prepared(rows)
        self.refuse_null(prepared)
        names = self.names
        firsts: dict[object, int] = {}
        of = [firsts.setdefault(key, k) for k, key in enumerate(self._keys_of(prepared))]
        distinct = list(firsts.values())
        matches = extend_rows(self.context, pattern, [prepared[k] for k in distinct], names)
        own = self._own(pattern)
        found: dict[int, list[Row]] = {}
        for number, match in matches:
            found.setdefault(distinct[number], []).append({name: match[name] for name in own})
        made: list[Row] = []
        created: dict[int, Row] = {}
        for first, row in zip(of, rows, strict=True):
            several = found.get(first)
            if several is not None:
                merged = [{**row, **match} for match in several]
                applied = self.on_match
            elif first in created:
                merged, applied = [{**row, **created[first]}], self.on_match
            else:
                new = self._made(row, own)
                created[first] = {name: new[name] for name in own}
                merged, applied = [new], self.on_create
            _assign(merged, applied)
            made += merged
        return made

    # ---- keys ------------------------------------------------------------------------------------

    def _keys(self) -> list[tuple[Name, Expression]]:
        return [pair for part in self.clause.pattern.parts for pair in part.properties]

    def _prepared(self, rows: Sequence[Row]) -> tuple[Pattern, Sequence[Row]]:
        """The pattern in which properties are compared with hidden variables, and the rows with these."""
        pattern = self.pattern
        if not self.keys:
            return pattern, rows
        prepared = [dict(row) for row in rows]
        for name, value in zip(self.hidden, self.values, strict=True):
            for row in prepared:
                row[name] = value(row)
        return pattern, prepared

    def _pattern(self) -> Pattern:
        return pattern_of(self.context.text, [self.keyed], None, self.context.mode)

    @property
    def keyed(self) -> PathPattern:
        """The pattern with hidden variables as the values of its properties."""
        number = iter(range(len(self.keys)))

        def hidden(key: Name, value: Expression) -> tuple[Name, Expression]:
            return key, Variable(self.hidden[next(number)], value.place)

        pattern = self.clause.pattern
        nodes = tuple(_with(node, hidden) for node in pattern.nodes)
        relationships = tuple(_with(one, hidden) for one in pattern.relationships)
        return replace(pattern, nodes=nodes, relationships=relationships)

    def _keys_of(self, prepared: Sequence[Row]) -> Iterable[object]:
        """The key of each row: rows with equal keys find the same. A NaN has one of its own: it equals nothing."""
        bound = [name for name in self.bound if not prepared or name in prepared[0]]
        columns: list[list[object]] = [
            [_key(row[name]) for row in prepared] for name in self.hidden
        ]
        columns += [[id(row[name]) for row in prepared] for name in bound]
        return zip(*columns, strict=True) if columns else [()] * len(prepared)

    def _bound(self) -> list[str]:
        """The names in the pattern that the rows have."""
        named = [part.variable for part in self.clause.pattern.parts]
        return [name.text for name in named if name is not None and name.text in self.known]

    @property
    def independent(self) -> bool:
        """Whether what is made or set for one row never matches another row's key, unless both are equal; in rows in
        which no name of `reread` is an element."""
        changed = (*self.clause.on_create, *self.clause.on_match)
        keys = {key.text for key, _ in self.keys}
        return (
            all(
                isinstance(item, SetProperty)
                and isinstance(item.target, Property)
                and item.target.key.text not in keys
                for item in changed
            )
            and self.reread is not None
            and is_independent(self.clause.pattern, self.bound, self._undirected, self.context.mode)
        )

    @property
    def _undirected(self) -> set[str]:
        """The types of relationships that have no direction in the store."""
        return {t.name for t in self.context.graph.snapshot.edge_types if not t.directed}

    def _reread(self) -> frozenset[str] | None:
        """The names whose properties both the keys read and the clause sets; None where that is not known."""
        changed = (*self.clause.on_create, *self.clause.on_match)
        targets = [item.target for item in changed if isinstance(item, SetProperty)]
        keys = {target.key.text for target in targets if isinstance(target, Property)}
        return reread((value for _, value in self.keys), keys)

    def _apart(self, rows: Sequence[Row]) -> bool:
        """Whether no row's key reads what another row may set."""
        names = self.reread or ()
        return not any(isinstance(row[name], _ELEMENTS) for name in names for row in rows)

    def refuse_null(self, rows: Sequence[Row]) -> None:
        """Raise for a key or a node that is null. rows : with the hidden variables."""
        for name, (key, value) in zip(self.hidden, self.keys, strict=True):
            if None in [row[name] for row in rows]:
                raise problem(
                    *(SyntaxProblem, self.context.text, value.place),
                    f"MERGE cannot look for a null {key.text}: null equals nothing.",
                    "Filter such rows out before, with WHERE ... IS NOT NULL.",
                    detail="MergeReadOwnWrites",
                )
        for name in self.bound:
            if None in [row[name] for row in rows]:
                raise problem(
                    *(SyntaxProblem, self.context.text, self.clause.place),
                    f"'{name}' is null, and MERGE has no node to begin at.",
                )


def _assign(rows: Sequence[Row], items: Sequence[Assignment]) -> None:
    """Do the items of a SET for each row: all of them for one, then for the next."""
    for row in paced(rows, len(rows)) if items else ():
        for apply in items:
            apply(row)


def _key(value: Value) -> object:
    """What equal values share; of what does not equal itself, an object of its own."""
    if isinstance(value, (float, list, dict)) and equal(value, value) is not True:
        return object()
    return group_key(value)


_Part = TypeVar("_Part", NodePattern, RelationshipPattern)


def _with(part: _Part, hidden: Callable[[Name, Expression], tuple[Name, Expression]]) -> _Part:
    """The part with other values of its properties."""
    return replace(part, properties=tuple(hidden(key, value) for key, value in part.properties))
