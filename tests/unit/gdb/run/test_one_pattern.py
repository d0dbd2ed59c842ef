"""Queries that are one pattern and those that run clause by clause mean the same: random ones, run both ways."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator

import pytest

import gdb
from gdb import Database
from gdb.run.query_cache import QueryCache
from tests.support.effort import share

ARROWS = ("-[{}]->", "<-[{}]-", "-[{}]-")
BY_OPERATORS = "operator by operator"


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """Twelve nodes of two labels and both, R with parallel edges and loops, S simple, U undirected."""
    rng = random.Random(7)
    folder = tmp_path_factory.mktemp("pattern")
    nodes = "".join(
        f"{k},{rng.choice(['A', 'B', 'A;B'])},{rng.choice(['', 0, 1, 2])},{rng.choice(['', -0.5, 0, 7.25])},"
        f"{rng.choice(['', '2020-01-01', '2021-05-05'])}\n"
        for k in range(12)
    )
    (folder / "nodes.csv").write_text(":ID,:LABEL,x:int,y:float,d:date\n" + nodes)
    parallel = [(rng.randrange(12), rng.randrange(12), "R") for _ in range(24)]
    parallel += [parallel[k] for k in (0, 1, 2)] + [(4, 4, "R")]
    simple = [(s, t, "S") for s in range(12) for t in range(12) if s != t and rng.random() < 0.15]
    lines = "".join(f"{s},{t},{name},{s * t % 5}\n" for s, t, name in parallel + simple)
    (folder / "edges.csv").write_text(":START_ID,:END_ID,:TYPE,w:int\n" + lines)
    pairs = "".join(f"{s},{t}\n" for s in range(12) for t in range(s) if rng.random() < 0.25)
    (folder / "pairs.csv").write_text(":START_ID,:END_ID\n" + pairs)
    with gdb.connect() as made:
        made.load(nodes=folder / "nodes.csv", edges=folder / "edges.csv")
        made.load(edges={"U": folder / "pairs.csv"}, directed=False)
        yield made


def arrow(rng: random.Random, name: str = "") -> str:
    types = rng.choice(["", ":R", ":S", ":S", ":U", ":U", ":R|U", ":S|U"])
    return rng.choice(ARROWS).format(name + types)


def match(rng: random.Random, names: list[str], named: list[str], number: int) -> str:
    """One MATCH; it adds to the names of nodes and of relationships."""
    paths = []
    for k in range(rng.choice([1, 1, 2])):
        nodes = []
        for _ in range(rng.choice([2, 2, 3])):
            known = rng.choice(names) if names and rng.random() < 0.6 else ""
            if not known and len(names) < 4:
                known = "abcd"[len(names)]
                names.append(known)
            nodes.append(f"({known or rng.choice(names)}{rng.choice(['', '', '', ':A', ':B'])})")
        edges = [rng.choice(["", f"r{number}{k}{i}"]) for i in range(len(nodes) - 1)]
        named += [edge for edge in edges if edge]
        steps = [arrow(rng, e) + node for e, node in zip(edges, nodes[1:], strict=True)]
        paths.append(nodes[0] + "".join(steps))
    return f"MATCH {', '.join(paths)}"


def comparison(rng: random.Random, a: str, b: str) -> str:
    """Of two properties of nodes, or of relationships."""
    sign = rng.choice(["<", "<=", ">", ">=", "=", "<>"])
    key = "w" if a.startswith("r") else rng.choice("xyd")
    if key in "yd" or rng.random() < 0.5:
        return f"{a}.{key} {sign} {b}.{key}"
    return rng.choice(
        [
            f"{a}.{key} - {b}.{key} {sign} 1",
            f"{a}.{key} + 1 {sign} {b}.{key} - 1",
            f"-1 {sign} {b}.{key} - {a}.{key}",
            f"-{a}.{key} {sign} -{b}.{key}",
        ]
    )


def condition(rng: random.Random, names: list[str], edges: list[str]) -> str:
    a, b = rng.choice(names), rng.choice(names)
    if rng.random() < 0.3:
        pairs = [names, edges] if edges else [names]
        one = rng.choice(pairs)
        return comparison(rng, rng.choice(one), rng.choice(one))
    pattern = f"({a}){arrow(rng)}({b})"
    other = f"({a}){arrow(rng)}({rng.choice(['', ':A', ':B'])})"
    return rng.choice(
        [
            *(f"{a} <> {b}", f"NOT {a} = {b}", f"id({a}) <> id({b})"),
            *(f"NOT {pattern}", f"NOT {pattern}", f"NOT EXISTS {{ {pattern} }}"),
            *(pattern, f"EXISTS {{ {pattern} }}"),
            *(other, f"NOT {other}", f"NOT EXISTS {{ (y){arrow(rng)}({a}) }}"),
            f"{a}.x > 0",
        ]
    )


def question(seed: int) -> tuple[str, list[str]]:
    """A query without RETURN, and the names in it."""
    rng = random.Random(seed)
    names: list[str] = []
    named: list[str] = []
    clauses = []
    for number in range(rng.choice([1, 1, 2, 2, 3])):
        clauses.append(match(rng, names, named, number))
        some = [condition(rng, names, named) for _ in range(rng.choice([0, 1, 1, 2]))]
        clauses += [f"WHERE {' AND '.join(some)}"] if some else []
    return " ".join(clauses), names


def rows(db: Database, text: str) -> Counter[tuple[object, ...]]:
    return Counter(tuple(row) for row in db.execute(text, device="cpu"))


@pytest.mark.parametrize("seed", range(share(80)))
def test_both_ways_answer_alike(db: Database, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    text, names = question(seed)
    listing = f"{text} RETURN {', '.join(f'id({name}) AS {name}' for name in names)}"
    counting = f"{text} RETURN count(*)"
    assert BY_OPERATORS not in db.explain(counting, device="cpu")
    found, number = rows(db, listing), db.execute(counting, device="cpu").scalar()
    with monkeypatch.context() as patch:
        patch.setattr(QueryCache, "one_pattern", lambda *_: None)
        db.execute("CREATE (z) DELETE z")  # forget the statements
        want = rows(db, listing)
    assert found == want
    assert number == want.total()


def test_relationships_differ_within_a_match_only(db: Database) -> None:
    once = db.execute("MATCH (a)-[:S]->(b), (c)-[:S]->(d) RETURN count(*)", device="cpu").scalar()
    twice = db.execute("MATCH (a)-[:S]->(b) MATCH (c)-[:S]->(d) RETURN count(*)", device="cpu")
    edges = db.execute("MATCH ()-[:S]->() RETURN count(*)", device="cpu").scalar()
    assert (once, twice.scalar()) == (edges * (edges - 1), edges * edges)


@pytest.mark.parametrize(
    "text",
    [
        "MATCH (a)-[r]->(b) MATCH (c)-[r]->(d) RETURN count(*)",
        "MATCH (a)-->(b) MATCH DIFFERENT NODES (b)-->(c) RETURN count(*)",
        "MATCH (a)-->(b) WHERE NOT (a)-->()-->(b) RETURN count(*)",
        "MATCH (a)-->(b) WHERE a.x = 1 OR NOT (a)-->(b) RETURN count(*)",
    ],
)
def test_others_run_clause_by_clause(db: Database, text: str) -> None:
    assert BY_OPERATORS in db.explain(text, device="cpu")
    db.execute(text, device="cpu").scalar()


@pytest.mark.parametrize("test", ["", "NOT ", "NOT NOT "])
def test_a_kept_statement_keeps_what_it_asks_of_edges(db: Database, test: str) -> None:
    """Other values of a parameter, whose condition is next to one on the edges of the same node."""
    text = (
        f"MATCH (a)-[:U]-(b) WHERE a.x >= $x AND {test}(a)-[:S]->(:B) AND a.y < b.y RETURN count(*)"
    )
    plain = f"MATCH (a)-[:U]-(b) WHERE {test}(a)-[:S]->(:B) AND a.y < b.y RETURN a.x, id(a), id(b)"
    every = [row[0] for row in db.execute(plain, device="cpu")]
    for x in (0, 2, 1, 0):
        found = db.execute(text, {"x": x}, device="cpu").scalar()
        assert found == sum(isinstance(value, int) and value >= x for value in every)


def test_a_node_alone_may_be_asked_for_its_edges(db: Database) -> None:
    counts = [
        db.execute(f"MATCH (a) WHERE {test}(a)-[:S]->() RETURN count(*)", device="cpu").scalar()
        for test in ("", "NOT ")
    ]
    sources = db.execute("MATCH (a)-[:S]->() RETURN count(DISTINCT id(a))", device="cpu").scalar()
    assert counts == [sources, 12 - sources]
