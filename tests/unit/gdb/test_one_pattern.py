"""Queries that are one pattern and those that run clause by clause mean the same: random ones, asked both ways."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator

import pytest

import gdb
from gdb import Database
from gdb.language.clauses import Query

ARROWS = ("-[{}]->", "<-[{}]-", "-[{}]-")
CLAUSE_BY_CLAUSE = "clause by clause"


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """Twelve nodes of two labels and both, R with parallel edges and loops, S simple, U undirected."""
    rng = random.Random(7)
    folder = tmp_path_factory.mktemp("pattern")
    nodes = "".join(f"{k},{rng.choice(['A', 'B', 'A;B'])},{k % 4}\n" for k in range(12))
    (folder / "nodes.csv").write_text(":ID,:LABEL,x:int\n" + nodes)
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


def match(rng: random.Random, names: list[str], number: int) -> str:
    """One MATCH; it adds to the names of nodes."""
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
        steps = [arrow(rng, e) + node for e, node in zip(edges, nodes[1:], strict=True)]
        paths.append(nodes[0] + "".join(steps))
    return f"MATCH {', '.join(paths)}"


def condition(rng: random.Random, names: list[str]) -> str:
    a, b = rng.choice(names), rng.choice(names)
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
    clauses = []
    for number in range(rng.choice([1, 1, 2, 2, 3])):
        clauses.append(match(rng, names, number))
        some = [condition(rng, names) for _ in range(rng.choice([0, 1, 1, 2]))]
        clauses += [f"WHERE {' AND '.join(some)}"] if some else []
    return " ".join(clauses), names


def rows(db: Database, text: str) -> Counter[tuple[object, ...]]:
    return Counter(tuple(row) for row in db.execute(text, device="cpu"))


@pytest.mark.parametrize("seed", range(60))
def test_both_ways_answer_alike(db: Database, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    text, names = question(seed)
    listing = f"{text} RETURN {', '.join(f'id({name}) AS {name}' for name in names)}"
    counting = f"{text} RETURN count(*)"
    assert CLAUSE_BY_CLAUSE not in db.explain(counting, device="cpu")
    found, number = rows(db, listing), db.execute(counting, device="cpu").scalar()
    with monkeypatch.context() as patch:
        patch.setattr(Query, "simple", property(lambda _: None))
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
    assert CLAUSE_BY_CLAUSE in db.explain(text, device="cpu")
    db.execute(text, device="cpu").scalar()
