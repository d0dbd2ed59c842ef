"""Reads tests/queries/*.txt and shows trees and bound queries as text, to compare with the expected text.

A case is a query (lines that begin with "> ") and the lines that are expected below it, up to the next blank line.
`UPDATE_QUERIES=1 pytest tests/unit/gdb/language/test_language_cases.py` writes what comes out; read the difference.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar, cast

import numpy as np
import numpy.typing as npt

from gdb import query_graph
from gdb.errors import NotSupported
from gdb.executor.relational.relational_tail import Value
from gdb.language import refusals
from gdb.language.canonical import canonical, labels_text
from gdb.language.clauses import Match, Query, Return, hoist_conditions
from gdb.language.printer import printed
from gdb.language.syntax import Expression, Name, PathPattern
from gdb.physical.binder import BoundQuery
from gdb.storage.columns.model import I64
from gdb.storage.columns.python_columns import column_of
from gdb.storage.format.direction import Direction
from gdb.storage.graph import value_index
from gdb.storage.graph.adjacency import Adjacency
from gdb.storage.graph.snapshot import Snapshot
from gdb.storage.graph.value_index import Wanted
from gdb.storage.graph.vid_ranges import Extent
from tests.support.small_graph import SmallGraph
from tests.support.small_snapshot import SmallSnapshot

QUERIES = Path(__file__).parents[1] / "queries"
PARAMETERS: dict[str, Value] = {
    "n": 2,
    "name": "a",
    "ages": [10, 1.5, None],
    "mixed": [1, "a", None],
    "none": None,
    "minus": -1,
}


@dataclass(frozen=True)
class Case:
    file: str
    line: int
    query: str
    expected: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


def read(file: str) -> list[Case]:
    """The cases of a file; lines with # are comments."""
    cases: list[Case] = []
    query: list[str] = []
    expected: list[str] = []
    start = 0
    text = (QUERIES / file).read_text(encoding="utf-8")
    for number, line in enumerate([*text.splitlines(), ""], 1):
        if line.startswith("> ") or line == ">":
            start = start if query else number
            query.append(line[2:])
        elif line.strip() and not line.startswith("#"):
            expected.append(line)
        elif not line.strip() and query:
            cases.append(Case(file, start, "\n".join(query), "\n".join(expected)))
            query, expected = [], []
    return cases


def check(case: Case, show: Callable[[str], str]) -> None:
    """Compare, or write the file anew."""
    found = show(case.query)
    if os.environ.get("UPDATE_QUERIES"):
        path = QUERIES / case.file
        question = "".join(f"> {line}\n" if line else ">\n" for line in case.query.split("\n"))
        text = path.read_text(encoding="utf-8")
        block = re.compile(re.escape(f"{question}{case.expected}".rstrip()) + r"(?=\n\n|\s*\Z)")
        assert block.search(text)
        path.write_text(
            block.sub(lambda _: f"{question}{found}".rstrip(), text, count=1), encoding="utf-8"
        )
        return
    assert found == case.expected


_MODES = {
    query_graph.DIFFERENT_EDGES: "different edges",
    query_graph.DIFFERENT_NODES: "different nodes",
    query_graph.REPEATABLE_ELEMENTS: "repeatable elements",
    query_graph.SUBGRAPHS: "subgraphs",
    query_graph.INDUCED: "induced",
}


# ---- trees ---------------------------------------------------------------------------------------


class _Named(dict[str, str]):
    def __missing__(self, name: str) -> str:
        return f"parameter {name}"


def expression(tree: Expression) -> str:
    """A tree as text with its parentheses; parameters by name."""
    return re.sub(r"'parameter (\w+)'", r"$\1", canonical(tree, _Named()))


def tree(query: Query) -> str:
    """A parsed query, one line for each part; printed, where it is not one MATCH and RETURN that the binder knows."""
    *first, returning = query.parts[0]
    matches = [
        hoist_conditions(one) for one in first if isinstance(one, Match) and not one.optional
    ]
    plain = len(query.parts) == 1 and matches and len(matches) == len(first)
    if not plain or not isinstance(returning, Return) or _refused(query.text, matches, returning):
        return printed(query)
    lines = ["explain"] if query.explain else ["profile"] if query.profile else []
    for number, match in enumerate(matches):
        lines += ["match"] if number else []
        if match.mode is not None:
            lines.append(f"mode {_MODES[match.mode]}")
        lines += [_path(path) for path in match.patterns]
        if match.where is not None:
            lines.append(f"where {expression(match.where)}")
    star = ["*"] if returning.everything else []
    items = [f"{expression(i.expression)} as {i.name!r}" for i in returning.items]
    lines.append(f"return {'distinct ' * returning.distinct}{', '.join(star + items)}")
    for item in returning.order:
        lines.append(f"order {expression(item.expression)}{' desc' * item.descending}")
    for name, count in (("skip", returning.skip), ("limit", returning.limit)):
        if count is not None:
            lines.append(f"{name} {expression(count)}")
    return "\n".join(lines)


def _refused(text: str, matches: list[Match], returning: Return) -> bool:
    try:
        refusals.check(text, matches)
        for expression in [x.expression for x in returning.items] + [
            x.expression for x in returning.order
        ]:
            refusals.check_expression(text, expression)
    except NotSupported:
        return True
    return False


def _path(path: PathPattern) -> str:
    parts = []
    for k, node in enumerate(path.nodes):
        if k:
            edge = path.relationships[k - 1]
            types = "|".join(name.text for name in edge.types)
            left, right = {
                Direction.OUT: ("-", "->"),
                Direction.IN: ("<-", "-"),
                Direction.ANY: ("-", "-"),
            }[edge.direction]
            inner = _inside(edge.variable, f":{types}" if types else "", edge.properties)
            parts.append(f" {left}[{inner}]{right} ")
        labels = f":{labels_text(node.labels)}" if node.labels else ""
        parts.append(f"({_inside(node.variable, labels, node.properties)})")
    return "".join(parts)


def _inside(
    variable: Name | None, labels: str, properties: tuple[tuple[Name, Expression], ...]
) -> str:
    pairs = ", ".join(f"{key.text}: {expression(value)}" for key, value in properties)
    return (variable.text if variable else "") + labels + (f" {{{pairs}}}" if pairs else "")


# ---- bound queries -------------------------------------------------------------------------------


class NamedSnapshot(SmallSnapshot):
    """The small snapshot with what the binder needs beyond predicates and tails; `age` is a float everywhere, for a
    column has one type."""

    groups = (
        replace(SmallSnapshot.groups[0], keys={"age": "float64", "name": "string"}),
        SmallSnapshot.groups[1],
    )
    columns: ClassVar = {
        **SmallSnapshot.columns,
        (0, "age"): column_of([10.0, None, 30.0, 40.0]),
    }
    labels = ("Admin", "Person")
    vertex_count = 6
    edge_count = 5

    def find_many(self, ids: list[int | str], id_space: str = "") -> I64:
        return np.array([self.ids.index(i) if i in self.ids else -1 for i in ids], np.int64)

    def holders(
        self, groups: Iterable[int], key: str, wanted: Wanted
    ) -> tuple[I64, npt.NDArray[np.uint32]]:
        places, vids = [np.zeros(0, np.int64)], [np.zeros(0, np.uint32)]
        for group in groups:
            column = self.vertex_column(group, key)
            if column is not None:
                at, rows = value_index.find_values(column, wanted, None)
                places.append(at)
                vids.append(Extent(self.groups[group].ranges).vids(rows))
        return np.concatenate(places), np.concatenate(vids)

    def adjacency(self, types: tuple[str, ...], direction: Direction) -> Adjacency:
        ends = [(("KNOWS", "LIKES")[k > 2], k, k + 1) for k in range(5)]
        return SmallGraph([()] * 6, ends).adjacency(types, direction)


def snapshot() -> Snapshot:
    return cast(Snapshot, NamedSnapshot())


def bound(query: BoundQuery) -> str:
    """A bound query, one line for each part."""
    lines: list[str] = []
    for k, vertex in enumerate(query.graph.vertices):
        labels = "&".join("|".join(term) for term in vertex.labels)
        allowed = "" if vertex.allowed is None else f"  allowed {vertex.allowed.tolist()}"
        predicate = f"  where {vertex.predicate}" if vertex.predicate else ""
        lines.append(f"v{k} {vertex.name or '_'}{':' * bool(labels)}{labels}{predicate}{allowed}")
    for k, edge in enumerate(query.graph.edges):
        types = f":{'|'.join(edge.types)}" if edge.types else ""
        allowed = "" if edge.allowed is None else f"  allowed {edge.allowed.tolist()}"
        predicate = f"  where {edge.predicate}" if edge.predicate else ""
        lines.append(
            f"e{k} v{edge.source} {edge.direction} v{edge.target} {edge.name or '_'}{types}"
            f"{'  wanted' * edge.wanted}{predicate}{allowed}{'  exists' * edge.exists}"
            f"{f'  in MATCH {edge.clause + 1}' if edge.clause else ''}"
        )
    for edge in query.graph.negated:
        types = f":{'|'.join(edge.types)}" if edge.types else ""
        lines.append(f"no edge v{edge.source} {edge.direction} v{edge.target}{types}")
    lines += [f"v{u} is not v{v}" for u, v in query.graph.apart]
    for one in query.graph.compared:
        left, right = "ve"[one.left_is_edge], "ve"[one.right_is_edge]
        lines.append(
            f"{'' if one.inside else 'not '}{one.least} <= {right}{one.right} - {left}{one.left} <= {one.most}"
            f"  {one.text}  {one.left_values.tolist()} {one.right_values.tolist()}"
        )
    lines += [f"keeps {text}" for text in query.graph.symmetric_under]
    tail = query.tail
    for ref in tail.columns:
        key = f" {ref.key}:{ref.kind}" if ref.key else ""
        lines.append(f"{ref.name} = {ref.what}{key} of {ref.element[0]}{ref.index}")
    direct = ", ".join(f"c{k}" for k in tail.direct or ())
    sql, parameters = tail.statement()
    lines.append("count" if tail.count_only else sql or f"the columns {direct}")
    lines += [f"${name} = {value!r}" for name, value in parameters.items()]
    lines += [f"{output.kind} {output.name!r}" for output in tail.outputs]
    if tail.row_limit is not None:
        lines.append(f"rows at most {tail.row_limit}")
    lines += [f"warning: {text}" for text in query.warnings]
    return "\n".join(lines)
