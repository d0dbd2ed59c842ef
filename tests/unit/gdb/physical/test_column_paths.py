"""Relationships of variable length over columns give what they give over rows: random graphs, patterns and tails."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

import gdb
from gdb import Database, errors
from gdb.executor.cpu import walkers
from gdb.executor.relational import relational
from gdb.physical import counting
from gdb.run import columns_or_rows
from tests.support.chain_queries import Queries, graph_queries
from tests.support.counting_queries import Counts
from tests.support.effort import share
from tests.support.ways import WAYS, Way, forced
from tests.unit.gdb.physical.test_column_chains import Ways

SEEDS, QUERIES = share(10), 40
LENGTHS = ("*1..2", "*1..2", "*1..3", "*0..2", "*0..1", "*2..2", "*2..3", "*0..0", "*3..2")
TAILS = (
    *("RETURN count(*)", "RETURN a.k, count(*)", "RETURN b.k, count(*) AS n", "RETURN a.k, b.k"),
    *("RETURN a.k, b.k, count(*)", "RETURN DISTINCT a.k", "RETURN DISTINCT b", "RETURN count(b)"),
    *("RETURN DISTINCT a.k, b.k", "RETURN a.k, count(DISTINCT b)", "RETURN count(DISTINCT a)"),
    "RETURN a.k, count(*), max(b.k), collect(DISTINCT b.k)",
    "RETURN labels(b), count(*), count(DISTINCT a.i)",
    "WITH b, count(*) AS n WHERE n > 1 RETURN b.k, n",
    "WITH DISTINCT a, b MATCH (b)-[q]->(c) RETURN a.k, c.k, q",
    "WITH a, b MATCH (b)-[*1..2]->(c) RETURN a.k, c.k, count(*)",
    "RETURN a.k + b.k AS s, sum(b.k), count(*)",
    "RETURN a.s, b.s ORDER BY a.s, b.s",
    "RETURN DISTINCT b.k AS k ORDER BY k LIMIT 2",
)
MEASURES = (
    *("RETURN a.k, b.k, {}", "RETURN {}, count(*)", "RETURN a.k, min({}), count(*)"),
    *("WITH a, {} AS n WHERE n > 1 RETURN a.k, n", "RETURN DISTINCT {}", "RETURN sum({})"),
)


def query(draw: random.Random) -> str:
    """A query with a path of variable length, `a` and `b` at its ends."""
    if draw.random() < 0.15:
        return _asked(draw)
    before = draw.choice(["", "", "", "MATCH (a:A) ", "MATCH (a)-[q]->(b) ", "MATCH (a), (b:B) "])
    if before and draw.random() < 0.5:
        before += "WITH a, b " if "b" in before else "WITH a "
    optional = "OPTIONAL " if draw.random() < 0.2 else ""
    r, p = draw.choice([("", ""), ("", ""), ("r", ""), ("", "p"), ("r", "p")])
    mode = draw.choice(["", "", "", "", "TRAIL", "ACYCLIC", "ANY SHORTEST", "ALL SHORTEST"])
    nodes = [f"(a{_labels(draw)})", f"(b{_labels(draw)})"]
    if mode not in ("ANY SHORTEST", "ALL SHORTEST") and draw.random() < 0.1:
        mode = "WALK"
    lengths = (*LENGTHS, "*", "*0..") if "SHORTEST" in mode else LENGTHS
    path = nodes[0] + _long(draw, r, lengths) + nodes[1]
    measures = [f"size({r})"] * bool(r) + [f"length({p})"] * bool(p)
    chance = draw.random()
    if "SHORTEST" not in mode and chance < 0.3:
        hop = draw.choice(["-[:K]->", "-[h:L]->", "<-[:K]-", "-[:L]-"])
        path = f"(c){hop}{path}" if chance < 0.2 else f"{path}{hop}(c)"
    if p:
        path = f"{p} = {mode} {path}"
    else:
        path = f"{mode} {path}"
    if chance > 0.9:
        path = f"(c)-[:L]->(a), {path}"
    where = draw.choice(["", "", "", " WHERE a.i < b.i", " WHERE b.i > 0", " WHERE a.b OR b.b"])
    tail = draw.choice(TAILS)
    if measures and draw.random() < 0.7:
        tail = draw.choice(MEASURES).format(draw.choice(measures))
    return f"{before}{optional}MATCH {path}{where} {tail}"


def _labels(draw: random.Random) -> str:
    return draw.choice(["", "", ":A", ":B", ":A|B", " {i: 1}"])


def _long(draw: random.Random, name: str, lengths: tuple[str, ...] = LENGTHS) -> str:
    types = draw.choice(["", ":K", ":K", ":L", ":K|L"])
    held = draw.choice(["", "", "", " {w: 1}"])
    inner = f"[{name}{types}{draw.choice(lengths)}{held}]"
    return draw.choice([f"-{inner}->", f"<-{inner}-", f"-{inner}-"])


def _asked(draw: random.Random) -> str:
    """A path inside an expression."""
    end = draw.choice(["()", "(:B)", "(b)", "(c {i: 1})"])
    first = "MATCH (a), (b:A)" if end == "(b)" else "MATCH (a)"
    inner = f"(a){_long(draw, '', ('*1..2', '*0..1', '*2..2', '*1..3'))}{end}"
    return draw.choice(
        [
            f"{first} WHERE EXISTS {{ {inner} }} RETURN a.k",
            f"{first} WHERE NOT {inner} RETURN a.k, count(*)",
            f"{first} RETURN a.k, COUNT {{ {inner} }} AS n",
            f"{first} RETURN a.k, EXISTS {{ MATCH {inner} MATCH (a)-->(x) RETURN x }} AS n",
        ]
    )


@pytest.mark.parametrize("seed", range(SEEDS))
def test_random_paths(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    tally: Counter[str] = Counter()
    if seed % 2:  # tables of any size are copied
        monkeypatch.setattr(relational, "_IN_PLACE", -1)
    with gdb.connect() as db:
        for text, values in graph_queries(random.Random(seed)):
            db.execute(text, values)
        ways = Ways(db, monkeypatch)
        for number in range(QUERIES):
            text = query(random.Random(f"paths {seed} {number}"))
            tally[ways.both(text, "ORDER" in text)] += 1
    assert tally["columns"] >= 0.6 * QUERIES, tally


@pytest.fixture
def ways(monkeypatch: pytest.MonkeyPatch) -> Iterator[Ways]:
    with gdb.connect() as db:
        db.execute(
            "CREATE (a:P {name: 'a'}), (b:P:Q {name: 'b'}), (c:P {name: 'c'}), (t:T {name: 't'}),"
            " (a)-[:K {w: 1}]->(b), (b)-[:K {w: 2}]->(c), (c)-[:K {w: 1}]->(a), (a)-[:L]->(t)"
        )
        yield Ways(db, monkeypatch)


COVERED = [
    "MATCH (a:P)-[:K*1..3]->(b) RETURN a.name, b.name",
    "MATCH (a:P {name: 'a'})-[*]->(b) RETURN DISTINCT b.name",
    "MATCH (a:P)-[r:K*1..2 {w: 1}]->(b) RETURN a.name, b.name, size(r) AS n",
    "MATCH p = (a:P)-[:K*1..2]->(b)-[:L]->(t) RETURN a.name, length(p)",
    "MATCH (a)-[:K]->(b)-[:K*1..2]->(c) RETURN a.name, c.name, count(*)",
    "MATCH (a)-[:L]->(t), (a)-[:K*1..2]->(b)-[:K]->(c) RETURN b.name, c.name",
    "MATCH (a)-[:K*1..2]->(b)-[:L*0..1]->(c) RETURN a.name, c.name, count(*)",
    "MATCH (a)-[:K*]->(a) RETURN a.name, count(*)",
    "MATCH (a:P), (b:Q) MATCH p = shortestPath((a)-[:K*]-(b)) RETURN a.name, length(p)",
    "MATCH p = allShortestPaths((a:P)-[*]-(b:P)) WHERE a <> b RETURN count(*)",
    "MATCH (a:P) WHERE EXISTS { (a)-[:K*2]->(:Q) } RETURN a.name",
    "MATCH (a:P) WHERE NOT (a)-[:K*1..2]->(:T) RETURN a.name",
    "MATCH (a:P) OPTIONAL MATCH p = (a)-[:L*1..2]->(t) RETURN a.name, t.name, length(p)",
    "MATCH p = (a:P)-[:K]->(b) RETURN a.name, length(p)",
    "MATCH (a:P)-[r:K*1..3]->(b) WHERE all(x IN r WHERE x.w = 1) RETURN a.name, b.name",
    "MATCH p = (a:P)-[:K*0..3]->(b) WHERE none(x IN relationships(p) WHERE x.w > 1) RETURN b.name",
    "MATCH (a:P)-[r*1..3]-(b) WHERE all(x IN r WHERE x.w < 2) AND b.name <> 'a' RETURN b.name, size(r)",
    "MATCH (a:P) WITH a MATCH p = WALK (a)-[:K*4]->(b) RETURN a.name, b.name, count(*)",
]


@pytest.mark.parametrize("text", COVERED)
def test_covered(ways: Ways, text: str) -> None:
    assert ways.both(text) == "columns"


REFUSED = {
    "MATCH p = (a:P)-[:K*1..2]->(b) RETURN nodes(p)": "a name for a whole path, but for its length",
    "MATCH (a:P)-[r:K*1..2]->(b) RETURN r": "a list of relationships, but for its size",
    "MATCH (a)-[:K*1..2]->(b)-[:K*1..2]->(c) RETURN c.name": "must differ from others",
    "MATCH (a)-[:K]->(b), (c)-[:K*1..2]->(d) RETURN d.name": "must differ from others",
    "MATCH ANY SHORTEST (a)-[r:K]->(b) RETURN size([r.w]) AS n, r.w": "the relationship of a shortest path",
    "MATCH (a:P)-[r*1..3]->(b) WHERE any(x IN r WHERE x.w = 1) RETURN b.name": "",
    "MATCH (a:P)-[r*1..2]->(b) WHERE all(x IN r WHERE x.w IN [y IN [1] | y]) RETURN b.name": "",
    "MATCH ACYCLIC (a)-[:K*1..2]->(b)-[:L]->(c) RETURN c.name": "ACYCLIC, except of one",
    "MATCH (a:P) WITH a, a.x AS x MATCH (a)-[:K*1..2 {w: x}]->(b) RETURN b.name": "such a condition",
}


@pytest.mark.parametrize("text", REFUSED)
def test_refused_with_the_reason(ways: Ways, text: str) -> None:
    assert ways.both(text) == "rows"
    assert REFUSED[text] in ways.db.explain(text).splitlines()[0]


def test_explain_says_what_is_kept(ways: Ways) -> None:
    ways.patch.setattr(columns_or_rows, "WAY", "columns")
    path = "MATCH (a:P)-[:K*1..3]->(b)"
    for text, line in {
        f"{path} RETURN a.name, b.name": "walk a to b: every path",
        f"{path} RETURN a.name, count(*)": "walk a to b: paths are counted, not listed",
        f"{path} RETURN DISTINCT b.name": "walk a to b: only where paths end",
        "MATCH p = ANY SHORTEST (a:P)-[:K*]->(b) RETURN length(p)": "walk a to b: shortest paths",
    }.items():
        assert line in map(str.strip, ways.db.explain(text).splitlines())


ORDERS = {
    "p = shortestPath((a {name: 'a'})-[:T*]->(b {name: 'b'})); (a)-[r:T*1..1]->(b)": [(2,)],
    "p = shortestPath((a {name: 'a'})-[:T*]->(b {name: 'b'})); (a)-[r:T]->(b)": [(2,)],
    "p = shortestPath((a {name: 'a'})-[:T*]->(b {name: 'b'})); (a)-[:T*2..2]->(b)": [(1,)],
    "p = allShortestPaths((a {name: 'a'})-[:T*]->(b {name: 'b'})); (a)-[:T]->(c)-[:T]->(b)": [(1,)],
    "p = shortestPath((a {name: 'a'})-[:T*]->(b {name: 'b'})); q = shortestPath((a)-[:T*]->(b))": [],
}


@pytest.mark.parametrize("text", ORDERS)
def test_a_shortest_path_shares_no_relationship_in_either_order(ways: Ways, text: str) -> None:
    """It is the shortest of those that the rest of the pattern leaves; two of them are each looked for alone."""
    ways.db.execute("MATCH (n) DETACH DELETE n")
    ways.db.execute(
        "CREATE (a {name: 'a'})-[:T]->(b {name: 'b'}), (a)-[:T]->({name: 'c'})-[:T]->(b)"
    )
    parts = text.split("; ")
    for patterns in (parts, parts[::-1]):
        for run in (ways.rows, ways.columns):
            found = run(f"MATCH {', '.join(patterns)} RETURN length(p)").fetchall()
            assert found == ORDERS[text], patterns


def test_a_condition_of_every_step_is_one_of_the_walk(ways: Ways) -> None:
    """Of a graph with 10^12 trails; only three have just the wanted relationships."""
    ways.db.execute("UNWIND range(1, 40) AS k CREATE (:N {k: k})")
    ways.db.execute(
        "MATCH (a:N), (b:N) CREATE (a)-[:E {w: CASE WHEN b.k = a.k + 1 THEN 1 END}]->(b)"
    )
    path = "MATCH p = (a:N {k: 37})-[r:E*1..12]->(b)"
    for where in ("all(x IN r WHERE x.w = 1)", "none(y IN relationships(p) WHERE y.w <> 1)"):
        text = f"{path} WHERE {where} RETURN [n IN nodes(p) | n.k] AS ks"
        found = ways.rows(text).fetchall()
        assert sorted(found) == [([37, 38],), ([37, 38, 39],), ([37, 38, 39, 40],)]


def test_distinct_ends_are_searched_and_not_listed(
    ways: Ways, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a graph with 10^12 trails: too many to list."""
    ways.db.execute("UNWIND range(1, 40) AS k CREATE (:N {k: k})")
    ways.db.execute("MATCH (a:N), (b:N) CREATE (a)-[:E]->(b)")
    for name in ("measure_paths", "tally_ends", "list_paths", "count_paths"):
        monkeypatch.delattr(walkers, name)
    n = "MATCH (a:N {k: 1})-[:E*1..12]->(b)"
    assert ways.columns(f"{n} RETURN count(DISTINCT b)").scalar() == 40
    assert len(ways.columns(f"{n} RETURN DISTINCT b.k").fetchall()) == 40
    text = "MATCH (a:N) WHERE EXISTS { (a)-[:E*1..12]->(:N {k: 7}) } RETURN count(*)"
    assert ways.columns(text).scalar() == 40
    text = f"{n} WITH b MATCH (b)-[:E*1..12]->(c) RETURN count(DISTINCT c)"
    assert ways.columns(text).scalar() == 40
    assert ways.ran == 4


def test_many_paths_are_counted_and_not_listed(ways: Ways) -> None:
    """10^11 of them, in a moment."""
    ways.db.execute("UNWIND range(1, 60) AS k CREATE (:N {k: k})")
    ways.db.execute("MATCH (a:N), (b:N) WHERE a.k <> b.k CREATE (a)-[:E]->(b)")
    text = "MATCH REPEATABLE ELEMENTS (a:N)-[:E*4]->(b) RETURN count(*)"
    assert (
        ways.columns(
            text,
        ).scalar()
        == 60 * 59**4
    )
    text = "MATCH (a:N)-[:E*3]->(b) RETURN count(*)"
    # all walks but those that use an edge twice, which is one there and back and there again
    assert ways.columns(text).scalar() == 60 * 59**3 - 60 * 59
    assert ways.ran == 2


def test_a_walk_is_stopped(ways: Ways) -> None:
    ways.patch.setattr(columns_or_rows, "WAY", "columns")
    ways.db.execute("UNWIND range(1, 40) AS k CREATE (:N {k: k})")
    ways.db.execute("MATCH (a:N), (b:N) CREATE (a)-[:E]->(b)")
    for text in (
        "MATCH (a:N)-[:E*1..30]->(b) RETURN b.k, count(*)",
        "MATCH p = (a:N)-[:E*1..30]->(b:P) RETURN nodes(p)",
    ):
        with pytest.raises(errors.QueryTimeout):
            ways.db.execute(text, timeout=0.3)
    with pytest.raises(errors.OutOfBudget):
        ways.db.execute("MATCH (a:N)-[r:E*1..30]->(b) RETURN size(r)", memory="20MB")


def test_undirected_types_of_an_import(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    """A type without direction is found by each arrow; beside one with a direction ends are counted, not searched."""
    with gdb.connect() as db:
        _imported(db)
        ways = Ways(db, monkeypatch)
        for types in (":U", ":K", ":U|K", ""):
            for arrow in ("-[{}*1..3]->", "<-[{}*1..2]-", "-[{}*]-"):
                path = f"MATCH (a){arrow.format(types)}(b)"
                for tail in ("RETURN count(*)", "RETURN DISTINCT b", "RETURN DISTINCT a, b"):
                    assert ways.both(f"{path} {tail}") == "columns"


def _imported(db: Database) -> None:
    import pandas

    ends = pandas.DataFrame({"source": [1, 2, 3, 1], "target": [2, 3, 1, 4]})
    db.load(edges=ends, type="U", directed=False, missing_ends="create")
    db.execute("MATCH (a), (b) WHERE id(a) = 4 AND id(b) IN [1, 3] CREATE (a)-[:K]->(b)")


@pytest.mark.parametrize("seed", range(SEEDS))
def test_random_counts_and_limits_beside_paths(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Paths in queries that count what cannot be listed, or that go on for several clauses, whatever is counted."""
    tally: Counter[str] = Counter()
    given: dict[str, Any] = {"ints": [1, 2, 5], "strs": ["a", "é"]}
    with gdb.connect() as db:
        for text, values in graph_queries(random.Random(seed)):
            db.execute(text, values)
        ways = Ways(db, monkeypatch)
        for number in range(QUERIES // 2):
            worth = 0.0 if number % 2 else float("inf")
            monkeypatch.setattr(counting, "WORTH_COUNTING", worth)
            counts = Counts(random.Random(f"counts {seed} {number}"), walks=True)
            tally[ways.both(counts.text(), **given)] += 1
            several = Queries(random.Random(f"clauses {seed} {number}"), walks=True)
            tally[ways.both(several.text(), several.sorted, **given)] += 1
    assert tally["columns"] >= 0.5 * QUERIES, tally


COUNTED = {
    "MATCH (x)-[:L]->(a)-[:K*1..2]->(b) RETURN count(*)": "match x, a: counted for each a",
    "MATCH (x)-[:L]->(a)-[:K*1..2]->(b) RETURN count(b)": "match x, a: counted for each a",
    "MATCH (x)-[:K]->(a)-[:K*1..2]->(b) RETURN count(*)": "match x, a: listed",
    "MATCH (x)-[:L]->(a)-[:K*1..2]->(b) RETURN x.name, count(*)": "match x, a: listed",
    "MATCH (a)-[:K*1..2]->(b) WITH b MATCH (b)-[:L]->(c) RETURN count(*)": "match b, c: counted",
}


@pytest.mark.parametrize("text", COUNTED)
def test_a_part_beside_paths_is_counted_where_that_is_enough(ways: Ways, text: str) -> None:
    """Not where its relationships must differ from those of the paths."""
    assert ways.both(text) == "columns"
    lines = [line.strip() for line in ways.db.explain(text).splitlines()]
    assert any(line.startswith(COUNTED[text]) for line in lines), lines


def test_ends_that_are_only_counted_are_not_told(
    ways: Ways, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("measure_paths", "tally_ends", "list_paths"):
        monkeypatch.delattr(walkers, name)
    path = "MATCH (a:P) OPTIONAL MATCH (a)-[:L*1..2]->(b)"
    found = ways.columns(f"{path} RETURN a.name, count(b) AS n, count(*) AS m").fetchall()
    assert sorted(found) == [("a", 1, 1), ("b", 0, 1), ("c", 0, 1)]
    assert ways.ran == 1


@pytest.mark.parametrize(
    "text",
    [
        "MATCH (b)-[:K*0..1]->() RETURN count(*)",
        "MATCH (b)-[:K*0..1]->(c) RETURN count(DISTINCT c)",
        "MATCH (b)-[:K*0..2]->(c) RETURN b.name, c.name",
        "MATCH (b)-[*0..2]-(b) RETURN count(*)",
        "MATCH p = shortestPath((b)-[:K*0..2]->(c)) RETURN b.name, c.name, length(p)",
    ],
)
def test_no_path_begins_at_a_deleted_node(text: str) -> None:
    with gdb.connect() as db:
        db.execute("CREATE (:K {name: 'a'})-[:K]->(:K {name: 'b'})-[:K]->(:L {name: 'c'})")
        db.execute("CREATE (:K {name: 'd'}), (:L {name: 'e'})")
        db.execute("MATCH (n) WHERE n.name IN ['b', 'd'] DETACH DELETE n")
        answers = list[object]()
        for way in WAYS:
            with forced(way):
                answers.append(sorted(db.execute(text).fetchall(), key=repr))
        assert all(answer == answers[-1] for answer in answers), answers


@pytest.mark.parametrize("way", ["columns", "rows"])
@pytest.mark.parametrize("length", ["*", "*0..", "*..3", "*1..2"])
@pytest.mark.parametrize("arrow", ["-[:K{}]-", "-[:K{}]->"])
@pytest.mark.parametrize("kind", ["shortestPath", "allShortestPaths"])
def test_lengths_of_shortest_paths_from_one_node(
    kind: str, arrow: str, length: str, way: Way
) -> None:
    """One search finds all of them, where no path itself is needed."""
    draw = random.Random(3)
    with gdb.connect() as db, forced(way):
        db.execute(
            "CREATE (:S {i: 3}) WITH 1 AS one UNWIND [0, 1, 2] + range(4, 29) AS i CREATE (:P {i: i})"
        )
        db.execute("MATCH (s:S), (b {i: 0}), (c {i: 1}) CREATE (s)-[:K]->(b)-[:K]->(c)")
        for _ in range(45):
            ends = {"a": draw.randrange(30), "b": draw.randrange(30)}
            db.execute("MATCH (a {i: $a}), (b {i: $b}) CREATE (a)-[:K]->(b)", ends)
        match = f"MATCH p = {kind}((a:S){arrow.format(length)}(b:P))"
        found = sorted(map(tuple, db.execute(f"{match} RETURN DISTINCT b.i, length(p)")))
        listed = db.execute(f"{match} RETURN DISTINCT b.i AS i, size(nodes(p)) - 1 AS length")
        assert found == sorted(map(tuple, listed))
        (count,) = db.execute(f"{match} WHERE length(p) > 1 RETURN count(*)").fetchall()[0]
        (each,) = db.execute(f"{match} WHERE size(nodes(p)) > 2 RETURN count(*)").fetchall()[0]
        assert count == each > 0
