"""Queries of several clauses, made at random from templates, against a naive loop over rows.

OPTIONAL MATCH, EXISTS, COUNT, patterns as conditions, pattern comprehensions, CALL, WITH, UNWIND, UNION.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from tests.fuzz.cases import Failure, ask
from tests.fuzz.graphs import Graph, database, random_graph
from tests.fuzz.patterns import Chain, Pattern, random_conditions, random_link, random_node
from tests.fuzz.patterns import random_pattern as free_pattern
from tests.oracles.pattern_matching import Bound, Embedding, TooMany, compared, embeddings, value

QUERIES = 25
MOST_ROWS = 300
NODES = ("a", "b", "c", "d")
Test = Callable[[Embedding], bool | None]


@dataclass(frozen=True, slots=True)
class Predicate:
    """A condition as text, and what it is for a row."""

    text: str
    of: Test


@dataclass(frozen=True, slots=True)
class State:
    """The query so far, its rows, and the names that they have."""

    text: str
    rows: list[Embedding]
    names: tuple[str, ...]

    def then(self, text: str, rows: list[Embedding], names: Sequence[str]) -> State:
        if len(rows) > MOST_ROWS:
            raise TooMany
        return State(f"{self.text} {text}".strip(), rows, tuple(names))

    @property
    def nodes(self) -> list[str]:
        return [name for name in self.names if name in NODES]


def suite(seed: int) -> Iterator[Failure | None]:
    """A graph, and some queries."""
    draw = random.Random(f"clauses {seed}")
    graph = random_graph(draw, 4, 6)
    with database(graph) as db:
        for _ in range(QUERIES):
            try:
                text, expected = _Maker(draw, graph).query()
            except TooMany:
                continue
            found = sorted((_sorted_lists(row) for row in ask(db, text)), key=repr)
            expected.sort(key=repr)
            yield Failure(seed, text, graph, expected, found) if found != expected else None


class _Maker:
    """Makes one query and its rows."""

    def __init__(self, draw: random.Random, graph: Graph) -> None:
        self.draw, self.graph, self.number = draw, graph, 0

    def query(self) -> tuple[str, list[tuple[object, ...]]]:
        width = self.draw.randint(1, 3)
        text, rows = self.single(width)
        every = self.draw.random() < 0.5
        while self.draw.random() < 0.2:
            more, others = self.single(width)
            text, rows = f"{text} UNION{' ALL' if every else ''} {more}", rows + others
            if not every:
                rows = _distinct(rows)
        return text, rows

    def single(self, width: int) -> tuple[str, list[tuple[object, ...]]]:
        """Some clauses and RETURN of so many columns."""
        state = State("", [{}], ())
        state = self.match(state) if self.draw.random() < 0.8 else self.optional(state)
        clauses = [self.match, self.optional, self.optional, self.call, self.with_, self.unwind]
        for _ in range(self.draw.randint(0, 3)):
            state = self.draw.choice(clauses)(state)
        columns = [self.column(state) for _ in range(width)]
        shown = ", ".join(f"{text} AS column{k}" for k, (text, _) in enumerate(columns))
        rows = [tuple(of(row) for _, of in columns) for row in state.rows]
        if self.draw.random() < 0.15:
            return f"{state.text} RETURN DISTINCT {shown}", _distinct(rows)
        return f"{state.text} RETURN {shown}", rows

    # ---- clauses ---------------------------------------------------------------------------------

    def match(self, state: State) -> State:
        pattern, names = self.pattern(state), state.names
        test = self.predicate(state, pattern) if self.draw.random() < 0.4 else None
        rows = [one for row in state.rows for one in self.extended(pattern, test, row)]
        fresh = [name for name in _visible(pattern) if name not in names]
        text = f"MATCH {_with_test(pattern, test)}"
        return state.then(text, [_kept(r, [*names, *fresh]) for r in rows], [*names, *fresh])

    def optional(self, state: State) -> State:
        pattern, names = self.pattern(state), state.names
        test = self.predicate(state, pattern) if self.draw.random() < 0.4 else None
        fresh = [name for name in _visible(pattern) if name not in names]
        rows: list[Embedding] = []
        for row in state.rows:
            found = self.extended(pattern, test, row)
            rows += found or [{**row, **dict.fromkeys(fresh)}]
        text = f"OPTIONAL MATCH {_with_test(pattern, test)}"
        return state.then(text, [_kept(r, [*names, *fresh]) for r in rows], [*names, *fresh])

    def call(self, state: State) -> State:
        """A subquery that sees some names, or none; of one MATCH or of a UNION of two."""
        seen = [name for name in state.names if self.draw.random() < 0.6]
        old = bool(seen) and self.draw.random() < 0.3
        sides = [self.inner(seen, old)]
        if self.draw.random() < 0.25:
            sides.append(self.inner(seen, old))
        alias = self.fresh("n")
        every = self.draw.random() < 0.5
        optional = self.draw.random() < 0.2
        joint = " UNION ALL " if every else " UNION "
        before = f"WITH {', '.join(seen)} " if old else ""
        head = "" if old else f" ({', '.join(seen)})"
        body = joint.join(f"{before}{text} AS {alias}" for text, _ in sides)
        rows: list[Embedding] = []
        for row in state.rows:
            values = [one for _, of in sides for one in of(row)]
            if len(sides) > 1 and not every:
                values = list(dict.fromkeys(values))
            rows += [{**row, alias: one} for one in values or ([None] if optional else [])]
        word = "OPTIONAL CALL" if optional else "CALL"
        return state.then(f"{word}{head} {{ {body} }}", rows, [*state.names, alias])

    def inner(
        self, seen: Sequence[str], old: bool
    ) -> tuple[str, Callable[[Embedding], list[Bound]]]:
        """MATCH and RETURN of one column, often with WITH and MATCH between them, and its values for a row.

        old : a WITH in front takes the names that it sees, so that a later WITH drops them.
        """
        pattern = self.pattern(State("", [], tuple(seen)))
        text, names = f"MATCH {pattern}", tuple(dict.fromkeys((*_visible(pattern), *seen)))
        steps: list[Callable[[list[Embedding], Embedding], list[Embedding]]] = []
        while len(steps) < 2 and self.draw.random() < 0.4:
            shown, names, step = self.inner_with(names, () if old else seen)
            text, steps = f"{text} {shown}", [*steps, step]
        if steps and self.draw.random() < 0.6:
            second = self.pattern(State("", [], names))
            text, names = f"{text} MATCH {second}", (*_visible(second), *names)
            steps.append(lambda rows, _: [e for r in rows for e in self.extended(second, None, r)])
        nodes = [name for name in names if name in NODES]
        name = self.draw.choice(nodes) if nodes and self.draw.random() < 0.6 else None
        returned = f"id({name})" if name else "count(*)"

        def values(row: Embedding) -> list[Bound]:
            found = self.extended(pattern, None, _kept(row, seen))
            for step in steps:
                found = step(found, row)
                if len(found) > MOST_ROWS:
                    raise TooMany
            return [one[name] for one in found] if name else [len(found)]

        return f"{text} RETURN {returned}", values

    def inner_with(
        self, names: Sequence[str], stay: Sequence[str]
    ) -> tuple[str, tuple[str, ...], Callable[[list[Embedding], Embedding], list[Embedding]]]:
        """A WITH, the names behind it, and its rows. stay : the names that it does not drop."""
        kept = [name for name in names if self.draw.random() < 0.4]
        alias, kind = self.fresh("n"), self.draw.choice(["", "DISTINCT ", "count(*)"])
        shown = [*kept, f"count(*) AS {alias}" if kind == "count(*)" else f"1 AS {alias}"]
        around = [name for name in stay if name not in kept]

        def rows(before: list[Embedding], row: Embedding) -> list[Embedding]:
            groups: dict[tuple[Bound, ...], int] = {} if kept or kind != "count(*)" else {(): 0}
            every = [tuple(one[name] for name in kept) for one in before]
            for one in every:
                groups[one] = groups.get(one, 0) + 1
            several = every if not kind else [*groups]
            return [
                {
                    **dict(zip(kept, one, strict=True)),
                    alias: groups[one] if kind == "count(*)" else 1,
                    **_kept(row, around),
                }
                for one in several
            ]

        text = f"WITH {'DISTINCT ' if kind == 'DISTINCT ' else ''}{', '.join(shown)}"
        return text, (*kept, alias, *around), rows

    def with_(self, state: State) -> State:
        kind, names = self.draw.random(), state.names
        if not names:
            return state
        if kind < 0.5:
            test = self.predicate(state, None)
            rows = [row for row in state.rows if test.of(row) is True]
            return state.then(f"WITH * WHERE {test.text}", rows, names)
        kept = [name for name in names if self.draw.random() < 0.6] or [names[0]]
        groups: dict[tuple[Bound, ...], list[Embedding]] = {}
        for row in state.rows:
            groups.setdefault(tuple(row[name] for name in kept), []).append(row)
        if kind < 0.7:
            rows = [_kept(several[0], kept) for several in groups.values()]
            return state.then(f"WITH DISTINCT {', '.join(kept)}", rows, kept)
        alias, of = self.fresh("n"), self.draw.choice([*names, "*"])
        rows = [
            {**_kept(several[0], kept), alias: sum(of == "*" or r[of] is not None for r in several)}
            for several in groups.values()
        ]
        return state.then(f"WITH {', '.join(kept)}, count({of}) AS {alias}", rows, [*kept, alias])

    def unwind(self, state: State) -> State:
        alias = self.fresh("n")
        values = [self.draw.choice([0, 1, None]) for _ in range(self.draw.randint(0, 2))]
        shown = ", ".join("null" if one is None else str(one) for one in values)
        rows: list[Embedding] = [{**row, alias: one} for row in state.rows for one in values]
        return state.then(f"UNWIND [{shown}] AS {alias}", rows, [*state.names, alias])

    # ---- columns and conditions ------------------------------------------------------------------

    def column(self, state: State) -> tuple[str, Callable[[Embedding], object]]:
        kind = self.draw.random()
        if kind < 0.2:
            pattern = self.pattern(state, most=2)
            return f"COUNT {{ {pattern} }}", lambda row: len(self.extended(pattern, None, row))
        if kind < 0.4:
            return self.comprehension(state)
        if kind < 0.5:
            test = self.exists(state, 0)  # a bare pattern is no value
            return test.text, test.of
        if kind < 0.65:
            return self.subquery(state)
        if not state.names:
            return "1", lambda row: 1
        name = self.draw.choice(state.names)
        text = f"id({name})" if name in NODES else f"{name}.k" if name.startswith("r") else name
        return text, lambda row: row[name]

    def subquery(self, state: State) -> tuple[str, Callable[[Embedding], object]]:
        text, values = self.inner(state.names, old=False)
        match self.draw.choice(["EXISTS", "COUNT", "COLLECT"]):
            case "EXISTS":
                return f"EXISTS {{ {text} AS one }}", lambda row: bool(values(row))
            case "COUNT":
                return f"COUNT {{ {text} AS one }}", lambda row: len(values(row))
            case _:
                return (
                    f"COLLECT {{ {text} AS one }}",
                    lambda row: tuple(sorted(values(row), key=repr)),
                )

    def comprehension(self, state: State) -> tuple[str, Callable[[Embedding], object]]:
        chain = self.chain(state, self.draw.choice([1, 1, 2]))
        conditions = random_conditions(self.draw, Pattern((chain,)))
        pattern = Pattern((chain,), conditions)
        nodes = [node.name for node in chain.nodes if not node.name.startswith("_")]
        name = self.draw.choice(nodes) if nodes else None
        where = " AND ".join(map(str, conditions))
        inside = f"{chain}{' WHERE ' + where if where else ''} | {f'id({name})' if name else '1'}"

        def values(row: Embedding) -> object:
            found = self.extended(pattern, None, row)
            return tuple(sorted((one[name] if name else 1 for one in found), key=repr))

        return f"[{inside}]", values

    def predicate(self, state: State, pattern: Pattern | None, depth: int = 0) -> Predicate:
        """A condition on what the rows have, and what a pattern names."""
        visible = [] if pattern is None else _visible(pattern)
        scope = State("", [], tuple(dict.fromkeys((*state.names, *visible))))
        kind = self.draw.random()
        if kind < 0.15 and depth < 2:
            inner = self.predicate(scope, None, depth + 1)
            return Predicate(f"NOT ({inner.text})", lambda row: _not(inner.of(row)))
        if kind < 0.3 and depth < 2:
            return self.both(scope, depth)
        if kind < 0.5 and scope.nodes:
            return self.pattern_test(scope)
        if kind < 0.6:
            inside, bound = self.pattern(scope, most=2), self.draw.randint(0, 2)
            operator = self.draw.choice(["=", "<", ">="])
            return Predicate(
                f"COUNT {{ {inside} }} {operator} {bound}",
                lambda row: compared(len(self.extended(inside, None, row)), operator, bound),
            )
        if kind < 0.7 and scope.nodes:
            one = Chain((random_node(self.draw, scope.nodes, scope.nodes[0]),), ())
            found = random_conditions(self.draw, Pattern((one,)))
            if found:
                return Predicate(f"({found[0]})", lambda row: value(found[0], self.graph, row))
        return self.exists(scope, depth)

    def both(self, scope: State, depth: int) -> Predicate:
        left = self.predicate(scope, None, depth + 1)
        right = self.predicate(scope, None, depth + 1)
        if self.draw.random() < 0.5:
            return Predicate(
                f"({left.text} OR {right.text})",
                lambda row: _not(_and(_not(left.of(row)), _not(right.of(row)))),
            )
        return Predicate(
            f"({left.text} AND {right.text})", lambda row: _and(left.of(row), right.of(row))
        )

    def exists(self, scope: State, depth: int) -> Predicate:
        pattern = self.pattern(scope, most=2)
        kind = self.draw.random()
        test = self.predicate(scope, pattern, depth + 1) if kind < 0.3 and depth < 2 else None
        if kind < 0.85:
            words = self.draw.choice(["", "MATCH "])
            end = self.draw.choice(["", " RETURN 1 AS one"]) if words else ""
            return Predicate(
                f"EXISTS {{ {words}{_with_test(pattern, test)}{end} }}",
                lambda row: bool(self.extended(pattern, test, row)),
            )
        inner = State("", [], tuple(dict.fromkeys((*scope.names, *_visible(pattern)))))
        second = self.pattern(inner, most=1)
        kept = inner.names
        return Predicate(
            f"EXISTS {{ MATCH {pattern} MATCH {second} }}",
            lambda row: any(
                self.extended(second, None, _kept(one, kept))
                for one in self.extended(pattern, None, row)
            ),
        )

    def pattern_test(self, scope: State) -> Predicate:
        """A pattern as a condition: its names are there already."""
        chain = self.chain(scope, self.draw.choice([1, 1, 2]))
        bound = scope.nodes
        nodes = [
            node if node.name in bound else replace(node, name=f"_{k}")
            for k, node in enumerate(chain.nodes)
        ]
        nodes[0] = replace(nodes[0], name=self.draw.choice(bound))
        links = [replace(link, name=f"_e{k}") for k, link in enumerate(chain.links)]
        whole = Pattern((Chain(tuple(nodes), tuple(links)),))
        return Predicate(str(whole), lambda row: bool(self.extended(whole, None, row)))

    # ---- patterns --------------------------------------------------------------------------------

    def pattern(self, state: State, most: int = 3) -> Pattern:
        links = self.draw.randint(0, most) if most < 3 else self.draw.choice([0, 1, 1, 2, 2])
        return free_pattern(self.draw, links, NODES, self.fresh("t"))

    def chain(self, state: State, links: int) -> Chain:
        tag = self.fresh("t")
        nodes = [random_node(self.draw, NODES, f"_{tag}v{k}") for k in range(links + 1)]
        own = [random_link(self.draw, f"_{tag}e{k}", f"_{tag}e{k}") for k in range(links)]
        return Chain(tuple(nodes), tuple(own))

    def extended(self, pattern: Pattern, test: Predicate | None, row: Embedding) -> list[Embedding]:
        found = embeddings(self.graph, pattern, "", row, 4000)
        if len(found) > MOST_ROWS:
            raise TooMany
        return [one for one in found if test is None or test.of(one) is True]

    def fresh(self, letter: str) -> str:
        self.number += 1
        return f"{letter}{self.number}"


def _visible(pattern: Pattern) -> list[str]:
    every = [*pattern.nodes, *(link.name for link in pattern.links)]
    return [name for name in every if not name.startswith("_")]


def _with_test(pattern: Pattern, test: Predicate | None) -> str:
    if test is None:
        return str(pattern)
    return f"{pattern} {'AND' if pattern.conditions else 'WHERE'} {test.text}"


def _kept(row: Embedding, names: Sequence[str]) -> Embedding:
    return {name: row[name] for name in names}


def _not(one: bool | None) -> bool | None:
    return None if one is None else not one


def _and(one: bool | None, other: bool | None) -> bool | None:
    if False in (one, other):
        return False
    return None if None in (one, other) else True


def _sorted_lists(row: tuple[object, ...]) -> tuple[object, ...]:
    """Lists come from patterns here, in no order."""
    return tuple(tuple(sorted(item, key=repr)) if isinstance(item, tuple) else item for item in row)


def _distinct(rows: list[tuple[object, ...]]) -> list[tuple[object, ...]]:
    """Each row once; false is not 0, as it is in Python."""
    return [*{repr(row): row for row in rows}.values()]
