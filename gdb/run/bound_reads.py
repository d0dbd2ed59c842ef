"""Look-ups of a bound statement in one snapshot: the vertices that values decide on, and the values of its rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from gdb.executor.plan.embeddings import NO_COLUMNS
from gdb.language import syntax
from gdb.language.pushdown import allowed_vertices
from gdb.language.syntax import Comparator
from gdb.records import dataclass
from gdb.run.statements import are_near

if TYPE_CHECKING:
    from gdb.executor.nest.prepare import Prepared
    from gdb.executor.plan.embeddings import Wanted
    from gdb.executor.relational.relational_tail import Tail, Value
    from gdb.language.pushdown import ElementConditions
    from gdb.language.scope import Scope
    from gdb.physical.rows.row_tail import RowTails
    from gdb.storage.columns.model import Kind, PropertyValue
    from gdb.storage.graph.adjacency import U32
    from gdb.storage.graph.single_look_ups import HolderLookUp, IdLookUp, ValueLookUp
    from gdb.storage.graph.snapshot import Snapshot

Row: TypeAlias = "tuple[PropertyValue, ...]"
Groups: TypeAlias = "Sequence[tuple[tuple[str, ...], str, Mapping[str, Kind]]]"
Probe: TypeAlias = "tuple[IdLookUp | None, HolderLookUp | None, str]"
"""What finds the vertices whose id, or a property, is the value of a parameter, and its name; (None, None, "") where
the conditions are others."""


@dataclass(slots=True, eq=False)
class Candidates:
    """Those of one query vertex, which depend on values.

    names : of the parameters in its conditions. planned : how many the plan was made for; low, end : between which
        vids.
    """

    vertex: int
    element: syntax.ElementReference
    conditions: ElementConditions
    names: frozenset[str]
    planned: int
    low: int
    end: int


@dataclass(slots=True, eq=False)
class Reads:
    """What a bound statement looks up in one snapshot.

    scope : its pattern beside the snapshot. probes : one for each of its candidates. columns : for each output what
        reads its values one by one, and the query vertex that has them; None where they are gathered.
    tails : the operators behind few embeddings, None where the columns are the answer.
    latest : the values of the last run, and the stage with their candidates; None where some are floats, whose
        equality does not say that they are the same.
    """

    snapshot: Snapshot
    scope: Scope
    probes: Sequence[Probe]
    columns: Sequence[tuple[ValueLookUp, int]] | None
    tails: RowTails | None = None
    latest: tuple[Mapping[str, Value], Prepared] | None = None

    def probed(self, probe: Probe, values: Mapping[str, Value]) -> list[int] | None:
        """The vertices that a probe finds, ascending; None where it does not decide."""
        by_id, by_value, name = probe
        wanted = values.get(name)
        if by_id is not None:
            assert isinstance(wanted, int)  # see `BoundStatement.kinds`
            vid = by_id.find(wanted)
            return [vid] if vid >= 0 else []
        if by_value is not None:
            assert isinstance(wanted, (int, str))
            return by_value.find(wanted)
        return None

    def vids(
        self, one: Candidates, probe: Probe, values: Mapping[str, Value]
    ) -> list[int] | U32 | None:
        """The candidates of a query vertex for some values; None where the plan may not do for them."""
        found = self.probed(probe, values)
        if found is not None:
            return found if not found or one.low <= found[0] <= found[-1] < one.end else None
        again = one.conditions.with_values(one.names)
        vids = allowed_vertices(self.scope, one.element, again, {**self.scope.parameters, **values})
        if not are_near(len(vids), one.planned):
            return None
        return vids if not len(vids) or one.low <= vids[0] <= vids[-1] < one.end else None

    def rows(self, vids: Sequence[Sequence[int]], number: int) -> list[Row]:
        """So many rows, read one by one. vids : of each query vertex that is wanted."""
        assert self.columns is not None
        rows = []
        for place in range(number):  # of one row, loops take half as long as comprehensions
            row = []
            for look_up, vertex in self.columns:
                row.append(look_up.value(vids[vertex][place]))
            rows.append(tuple(row))
        return rows


def groups_of(snapshot: Snapshot) -> Groups:
    """What a query depends on of the vertex groups: labels, id spaces, and properties with their kinds."""
    return [(one.labels, one.id_space, one.keys) for one in snapshot.groups]


def probe_of(one: Candidates, kinds: Mapping[str, type], scope: Scope) -> Probe:
    """What finds the candidates of a vertex whose only condition is that its id, or a property, is a parameter."""
    conditions, nothing = one.conditions, (None, None, "")
    if (
        conditions.on_edges
        or len(conditions.on_id) + len(conditions.on_properties) != 1
        or not are_near(1, one.planned)
    ):
        return nothing
    groups = scope.groups(one.vertex)
    for _, terms in conditions.on_id:
        if isinstance(terms, tuple) and len(terms) == 1:
            (term,) = terms
            if isinstance(term, syntax.Parameter) and kinds[term.name] is int:
                return scope.snapshot.id_look_up(groups), None, term.name
        return nothing
    match conditions.on_properties[0]:
        case syntax.Comparison(
            operator=Comparator.EQUAL,
            left=syntax.Property(subject=syntax.ElementReference(), key=key),
            right=syntax.Parameter(name=name),
        ) if len(groups) == 1:
            found = scope.snapshot.holder_look_up(groups[0], key.text)
            if found is not None and kinds[name] is found.type:
                return None, found, name
    return nothing


def columns_of(scope: Scope, tail: Tail, wanted: Wanted) -> list[tuple[ValueLookUp, int]] | None:
    """What reads each output's values one by one; None where some are gathered, or the answer is a number."""
    if wanted is NO_COLUMNS:
        return None
    found: list[tuple[ValueLookUp, int]] = []
    assert tail.direct is not None
    for number in tail.direct:
        ref = tail.columns[number]
        if ref.element != "vertex" or ref.what not in ("property", "id"):
            return None
        groups = scope.groups(ref.index)
        if len(groups) != 1:
            return None
        key = ref.key if ref.what == "property" else None
        look_up = scope.snapshot.value_look_up(groups[0], key)
        if look_up is None or ref.kind not in (None, look_up.kind):
            return None
        found.append((look_up, wanted.vertices.index(ref.index)))
    return found
