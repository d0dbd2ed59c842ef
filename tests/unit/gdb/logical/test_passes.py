"""The passes over a query: what each makes of it, and that no answer changes by one, over columns and over rows."""

from __future__ import annotations

import random

import pytest

import gdb
from gdb import Database, errors
from gdb.language.clauses import Match
from gdb.language.parser import parse
from gdb.language.printer import printed
from gdb.logical import planning, rewrites
from gdb.query_graph import DIFFERENT_EDGES
from gdb.run import columns_or_rows
from tests.support.chain_queries import Expressions, Queries, graph_queries, normal
from tests.support.effort import share

SEEDS, QUERIES = share(3), 25
REWRITES, PASSES = rewrites.REWRITES, planning.PASSES
VALUES: dict[str, object] = {"ints": [1, 2, 5], "strs": ["a", "b"]}

MERGED = {
    "MATCH (a)-->(b) WITH a, b MATCH (b)-->(c) RETURN count(*)": "MATCH (a)-->(b) MATCH (b)-->(c) RETURN count(*)",
    "MATCH (a)-->(b) WITH a MATCH (a)-->(c) RETURN a, c": "MATCH (a)-->(b) MATCH (a)-->(c) RETURN a, c",
    "MATCH (a)-->(b) WITH * MATCH (b)-->(c) RETURN *": "MATCH (a)-->(b) MATCH (b)-->(c) RETURN *",
    "MATCH (a) WITH a WHERE a.x > 1 MATCH (a)-->(b) RETURN b": "MATCH (a) MATCH (a)-->(b) WHERE a.x > 1 RETURN b",
    "MATCH (a) WHERE a.y WITH a WHERE a.x RETURN a.z": "MATCH (a) WHERE a.y AND a.x RETURN a.z",
    "UNWIND [1] AS x MATCH (a) WITH a RETURN a.x": "UNWIND [1] AS x MATCH (a) RETURN a.x",
}
JOINED = {
    "MATCH (a)-->() WITH a, count(*) AS n RETURN n, a": "MATCH (a)-->() RETURN count(*) AS n, a AS a",
    "MATCH (a) WITH a.x AS x ORDER BY x LIMIT 3 RETURN x": "MATCH (a) RETURN a.x AS x ORDER BY x LIMIT 3",
    "MATCH (a) WITH DISTINCT a.x AS x RETURN x ORDER BY x": "MATCH (a) RETURN DISTINCT a.x AS x ORDER BY x",
    "MATCH (a) WITH a.x AS x WITH x AS y RETURN y AS z": "MATCH (a) RETURN a.x AS z",
    "MATCH (a) WITH a.x AS x, a AS b RETURN x AS y": "MATCH (a) RETURN a.x AS y",
}
LEFT = [
    "MATCH (a)-->(b) WITH a MATCH (a)-->(b) RETURN a, b",  # another b
    "MATCH (a)-->(b) WITH a MATCH (a)-->(c) RETURN *",
    "MATCH (a)-->(b) WITH a AS b MATCH (b)-->(c) RETURN c",
    "MATCH (a)-->(b) WITH a LIMIT 3 MATCH (a)-->(c) RETURN c",
    "MATCH (a)-->(b) WITH DISTINCT a MATCH (a)-->(c) RETURN c",
    "MATCH (a) OPTIONAL MATCH (a)-->(b) WITH a, b WHERE b.x > 1 MATCH (b)-->(c) RETURN c",
    "MATCH (a)-->(b) WITH a UNWIND [1] AS b RETURN a, b",
    "MATCH (a)-->(b) WITH a CALL { MATCH (b) RETURN b } RETURN a, b",
    "MATCH (a)-->(b) WITH a, b, count(*) AS n RETURN a, n",  # b is a key
    "MATCH (a) WITH a, 1 / a.x AS y RETURN a",  # y may fail
    "MATCH (a) WITH a.x AS x LIMIT 3 RETURN x ORDER BY x",
    "MATCH (a) WITH a.x AS x ORDER BY x LIMIT 3 RETURN x AS y",
    "MATCH (a) WITH a, a.x AS x ORDER BY x RETURN a",
    "MATCH (a) WITH a.x AS x WHERE x > 1 RETURN x",
    "MATCH (a) WITH a.x AS x RETURN x + 1 AS y",
    "MATCH (a) WITH a.x + 1 AS x RETURN x AS y, x AS z",  # it would be computed twice
    "MATCH (a) WITH a, rand() AS r RETURN r AS y, r AS z",
    "MATCH (a) WITH a WHERE rand() < 0.5 MATCH (a)-->(b) RETURN b",
    "MATCH (a) WHERE rand() < 0.5 MATCH (a)-->(b) RETURN b",
]


CREATED = {
    "CREATE (a) CREATE (b {x: 1}) CREATE (a)-[:T]->(b)": "CREATE (a), (b {x: 1}), (a)-[:T]->(b)",
    "CREATE (a) CREATE (b {x: a.x}) RETURN b": "CREATE (a), (b {x: a.x}) RETURN b",
    "CREATE (a) CREATE (b) SET b.x = 1 CREATE (c) CREATE (d)": "CREATE (a), (b) SET b.x = 1 CREATE (c) CREATE (d)",
}
LEFT += [
    "CREATE (a) CREATE (b {x: COUNT { MATCH (c) }})",  # sees a
    "MATCH (a) CREATE (b) CREATE (c)",  # several rows
    "CREATE (a {x: [(b)-->(c) | c.x]}) CREATE (d)",
]


@pytest.mark.parametrize("text", [*MERGED, *JOINED, *CREATED, *LEFT])
def test_what_passes_make_of_a_query(text: str) -> None:
    wanted = {**MERGED, **JOINED, **CREATED}.get(text, text)
    assert printed(rewrites.improved(parse(text), DIFFERENT_EDGES)) == printed(parse(wanted))


@pytest.mark.parametrize("text", [*MERGED, *JOINED, *CREATED])
def test_a_pass_that_is_switched_off_does_nothing(text: str) -> None:
    off = "merge_matches" if text in MERGED else "join_projections"
    off = "merge_creates" if text in CREATED else off
    assert off in planning.NAMES
    assert printed(rewrites.improved(parse(text), DIFFERENT_EDGES, {off})) == printed(parse(text))


IN_A_ROW = {
    "MATCH (a)-->(b) MATCH (b)-->(c) MATCH (c)-->(a) RETURN 1": 3,
    "MATCH (a)-->(b) MATCH (c) RETURN 1": 1,  # nothing in common
    "MATCH (a)-->(b) MATCH (b), (c) RETURN 1": 1,
    "MATCH (a)-->(b) MATCH (b)-[*1..2]->(c) RETURN 1": 1,
    "MATCH (a)-[*1..2]->(b) MATCH (b)-->(c) RETURN 1": 1,
    "MATCH (a)-[r]->(b) MATCH (a)-[r]->(b) RETURN 1": 1,
    "MATCH (a)-->(b) OPTIONAL MATCH (b)-->(c) RETURN 1": 1,
    "OPTIONAL MATCH (a)-->(b) MATCH (b)-->(c) RETURN 1": 1,
    "MATCH (a)-->(b) MATCH DIFFERENT NODES (b)-->(c) RETURN 1": 1,
    "MATCH REPEATABLE ELEMENTS (a)-->(b) MATCH REPEATABLE ELEMENTS (b)-->(c) RETURN 1": 2,
    "UNWIND [1] AS x MATCH (a) RETURN 1": 0,
}


@pytest.mark.parametrize("text", IN_A_ROW)
def test_which_matches_are_one_pattern(text: str) -> None:
    before, merged = parse(text), rewrites.improved(parse(text), DIFFERENT_EDGES)
    assert len(merged.parts[0]) == len(before.parts[0]) - max(IN_A_ROW[text] - 1, 0)
    first = merged.parts[0][0]
    assert not isinstance(first, Match) or len({*first.of} or {0}) == IN_A_ROW[text]


# ---- the same answers ----------------------------------------------------------------------------


class Passed(Queries):
    """Queries of MATCH in a row, most behind a WITH that only passes names on."""

    def text(self) -> str:
        chance = self.chance
        clauses = [self._match()]
        for _ in range(chance.randrange(1, 4)):
            if chance.random() < 0.6:
                clauses.append(self._passing())
            clauses.append(self._match(optional=chance.random() < 0.15))
        if chance.random() < 0.5:
            clauses.append(self._grouped())
            clauses.append(f"RETURN {', '.join(self._kept())}")
        else:
            clauses.append(self._return())
        return " ".join(clauses)

    def _match(self, optional: bool = False) -> str:
        """One path, from a node that is known already: no product that takes long over rows."""
        known, more = self._of("node"), dict[str, str]()
        path = f"({self.chance.choice(known)})" if known else self._node(more)
        for _ in range(self.chance.choice([1, 1, 2])):
            path += self._relationship(more) + self._node(more)
        self.names.update(more)
        where = ""
        if self.chance.random() < 0.5 and self.names:
            tested = Expressions(self.chance, self.names, patterns=True).of("bool")
            where = f" WHERE {tested}"
        return f"{'OPTIONAL ' if optional else ''}MATCH {path}{where}"

    def _passing(self) -> str:
        kept = list(self.names) if self.chance.random() < 0.5 else self._kept()
        if not kept:
            return "WITH *"
        self.names = {name: self.names[name] for name in kept}
        where = ""
        if self.chance.random() < 0.4:
            tested = Expressions(self.chance, self.names, patterns=True).of("bool")
            where = f" WHERE {tested}"
        return f"WITH {', '.join(kept)}{where}"


@pytest.fixture(params=["columns", "rows"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Queries of several clauses go this way."""
    if request.param == "rows":
        monkeypatch.setattr(columns_or_rows, "WAY", "rows")
    else:
        monkeypatch.setattr(columns_or_rows, "WAY", "columns")
    return str(request.param)


LONG = 2
"""Seconds after which a query has too many rows for this test."""


def answer(
    db: Database, text: str, sorted_: bool, timeout: float | None = None
) -> list[str] | type[Exception] | None:
    """The rows, or what error there was; None where it takes too long."""
    try:
        result = db.execute(text, VALUES, timeout=timeout)
    except errors.QueryTimeout:
        return None
    except errors.QueryError as error:
        return type(error)
    return normal(result.fetchall(), sorted_, "collect" in text)


@pytest.mark.parametrize("seed", range(SEEDS))
def test_a_pass_changes_no_answer(seed: int, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    changed = 0
    with gdb.connect() as db:
        for text, values in graph_queries(random.Random(seed)):
            db.execute(text, values)
        for number in range(QUERIES):
            query = Passed(random.Random(1000 * seed + number))
            text = query.text()
            monkeypatch.setattr(rewrites, "REWRITES", ())
            monkeypatch.setattr(planning, "PASSES", ())
            wanted = answer(db, text, query.sorted, LONG)
            if wanted is None:
                continue
            for of_tree, of_operators in (
                (REWRITES[:1], ()),
                (REWRITES, PASSES),
                *(((), PASSES[:k]) for k in range(1, len(PASSES) + 1)),
            ):
                monkeypatch.setattr(rewrites, "REWRITES", of_tree)
                monkeypatch.setattr(planning, "PASSES", of_operators)
                db._statements.clear()
                db._statements.cache._forget()
                assert answer(db, text, query.sorted) == wanted, text
            monkeypatch.setattr(rewrites, "REWRITES", REWRITES)
            changed += rewrites.improved(parse(text), DIFFERENT_EDGES) != parse(text)
    assert changed > QUERIES // 4
