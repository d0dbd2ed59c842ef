"""Conditions that compare a node with a value of the row are answered by look-ups, and give what listing gives."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from datetime import date
from typing import Any

import pytest

import gdb
from gdb.physical.columns import chain_run, semi_joins
from gdb.physical.rows import component, component_matching, row_look_ups
from gdb.run import columns_or_rows
from gdb.storage.graph import value_index
from tests.support.effort import share

VALUES = [0, 1, 2, 3, 1.0, 2.5, -0.0, float("nan"), True, False, "1", "a", "é", "", None, 1 << 53]
VALUES += [float(1 << 53), (1 << 53) + 1, -5, date(2020, 1, 1), [1], {"k": 1}]


def graph(seed: int, db: gdb.Database) -> None:
    """Nodes of several labels and id spaces, with keys of all kinds, in base and delta; some are gone."""
    draw = random.Random(seed)
    ints, strings = list(range(0, 24, 2)), ["a", "b", "é", "zz", "1"]
    with db.transaction() as tx:
        tx.add_nodes("P", ints, {"id": ints, "n": [k % 3 for k in ints], "s": ["a", "é"] * 6})
        floats = [None if k % 5 == 0 else k / 2 for k in ints]
        tx.add_nodes("Q", ints, {"id": floats, "n": [k % 2 == 0 for k in ints]}, id_space="other")
        tx.add_nodes(["P", "S"], strings, {"id": strings, "n": strings}, id_space="names")
        tx.add_nodes("D", [1, 2], {"id": [date(2020, 1, 1), None]}, id_space="days")
        tx.add_relationships("R", draw.choices(ints, k=15), draw.choices(ints, k=15))
        ends = draw.choices(ints, k=6), draw.choices(ints, k=6)
        tx.add_relationships("U", *ends, directed=False)
        tx.add_relationships("R", ["a", "b"], ["a", "zz"], id_space="names")
    db.compact()
    if draw.random() < 0.7:
        db.execute("UNWIND [2, 3, 1.5, 'x'] AS v CREATE (:P {id: v, n: 1}), (:Q {id: 1, n: true})")
        db.execute("MATCH (n:P) WHERE id(n) = 4 SET n.id = 3, n.s = 'b'")
        db.execute("MATCH (n:P) WHERE id(n) = 6 SET n.id = null")
        db.execute("MATCH (n) WHERE n.id = 8 DETACH DELETE n")
        db.execute("MATCH (n:P) WHERE id(n) = 10 SET n:Q")
        db.execute("MATCH (a:P {n: 2}), (b:Q {n: true}) CREATE (a)-[:R]->(b)")


def keys(draw: random.Random) -> list[dict[str, object]]:
    some = draw.sample(VALUES, 6)
    return [
        {"a": draw.choice(some), "b": draw.choice(VALUES), "l": draw.choices(VALUES, k=3)}
        for _ in range(draw.randint(1, 7))
    ]


TEXTS = [
    "MATCH (n {id: r.a}) RETURN k, id(n), labels(n)",
    "MATCH (n:P {id: r.a}) RETURN k, id(n), labels(n)",
    "MATCH (n:P|Q {n: r.a, id: r.b}) RETURN k, id(n), labels(n)",
    "MATCH (n:P) WHERE r.a = n.n AND n.s = 'a' RETURN k, id(n)",
    "MATCH (n) WHERE id(n) = r.a RETURN k, id(n), labels(n)",
    "MATCH (n) WHERE n.id IN r.l RETURN k, id(n), labels(n)",
    "MATCH (n:P) WHERE id(n) IN r.l AND n.n = r.a RETURN k, id(n)",
    "MATCH (n:P {id: r.a}), (m:Q {id: r.b}) RETURN k, id(n), id(m)",
    "MATCH (n {id: r.a})-[e:R]->(m) RETURN k, id(n), id(m), e",
    "MATCH (n {id: r.a})-[e]-(m {n: r.b}) RETURN k, id(n), id(m), e",
    "MATCH (n:P {n: r.a})-[e]->(m)-[f]-(o) RETURN k, id(n), id(m), id(o), e, f",
    "MATCH (n {id: r.a})-[e:R|U]-(n) RETURN k, id(n), e",
    "MATCH (n {id: r.a})-[e*1..2]->(m {id: r.b}) RETURN k, id(n), id(m)",
    "OPTIONAL MATCH (n:P {id: r.a}) RETURN k, id(n)",
    "OPTIONAL MATCH (n:P {id: r.a})-->(m:P {n: r.b}) RETURN k, id(n), id(m)",
    "MATCH (m:P {id: 2}) MATCH (n:P) WHERE n.n = m.n RETURN k, id(n)",
    "MATCH (m:P {id: r.a}) WITH k, m MATCH (m:S) RETURN k, id(m)",
    "MATCH (m:P), (n) WHERE m.id = n.id RETURN k, id(n), id(m)",
    "RETURN k, EXISTS { (n:P {id: r.a}) }, COUNT { (n {n: r.a})-->(m) }",
    "WITH k, [(n:P {n: r.a})-->(m) | id(m)] AS l UNWIND l AS one RETURN k, one",
    "MATCH DIFFERENT NODES (n {n: r.a})--(m) RETURN k, id(n), id(m)",
    "MATCH SUBGRAPHS (n {n: r.a})--(m) RETURN k, r.a, r.b",
    "MATCH (n {id: r.a}) WHERE n.n = r.b OR n.id > 2 RETURN k, id(n)",
    "MATCH (n:P {id: r.a}) RETURN k, id(n) LIMIT 1000",
    "MATCH (n:P {id: toInteger(r.a)}) RETURN k, id(n)",
    "WITH k, r, 2 AS two MATCH (n:P {id: two}) RETURN k, id(n)",
]


def answer(db: gdb.Database, text: str, rows: list[dict[str, object]]) -> object:
    """The rows as a bag, or the error."""
    whole = f"UNWIND range(0, size($rows) - 1) AS k WITH k, $rows[k] AS r {text}"
    try:
        found = db.execute(whole, {"rows": rows}).fetchall()
    except gdb.GdbError as error:
        return type(error), str(error)
    return Counter(map(repr, found))


@pytest.mark.parametrize("seed", range(share(6)))
@pytest.mark.parametrize("indexed", [False, True])
def test_as_by_listing(seed: int, indexed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(value_index, "_PASSES", 0 if indexed else 1 << 30)
    monkeypatch.setattr(value_index, "FEW", 4 if indexed else 1)
    draw, sought, refused = random.Random(seed), 0, 0
    with gdb.connect() as db:
        graph(seed, db)
        for text in TEXTS:
            rows = keys(draw)
            with monkeypatch.context() as patch:
                patch.setattr(component_matching, "seek", lambda *_: None)
                expected = answer(db, text, rows)
            refused += isinstance(expected, tuple)

            def seen(*given: object, seek: Callable[..., object] = row_look_ups.seek) -> object:
                nonlocal sought
                found = seek(*given)
                sought += found is not None
                return found

            monkeypatch.setattr(component_matching, "seek", seen)
            assert answer(db, text, rows) == expected, (text, rows)
    assert sought > 12 > 6 > refused, (sought, refused)


@pytest.mark.parametrize(
    ("condition", "expected"),
    [("n.id = 5.0", [5]), ("n.id = '5'", []), ("n.id = null", []), ("n.id IN [1, 1.0, null]", [1])],
)
def test_equality_is_that_of_the_language(condition: str, expected: list[int]) -> None:
    with gdb.connect() as db:
        with db.transaction() as tx:
            tx.add_nodes("P", range(9), {"id": range(9)})
        text = f"UNWIND [0] AS r MATCH (n:P) WHERE {condition} AND r = 0 RETURN n.id"
        assert [row[0] for row in db.execute(text).fetchall()] == expected


def test_own_changes_are_found() -> None:
    with gdb.connect() as db:
        db.execute("CREATE (:P {id: 1}), (:P {id: 2})")
        text = (
            "MATCH (n:P {id: 1}) SET n.id = 7 CREATE (:P {id: 1, new: true}) "
            "WITH 1 AS one UNWIND [1, 2, 7] AS k MATCH (n:P {id: k}) RETURN k, n.new ORDER BY k"
        )
        assert db.execute(text).fetchall() == [(1, True), (2, None), (7, None)]


def test_no_label_is_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is sought by a value of the row goes to neither executor nor objects of other nodes."""
    with gdb.connect() as db:
        with db.transaction() as tx:
            tx.add_nodes("P", range(100), {"id": range(100), "n": [f"n{k}" for k in range(100)]})
        monkeypatch.setattr(component_matching, "ComponentRun", None)
        loaded: list[int] = []
        load = component.Table

        def table(vertices: dict[str, list[int]], *rest: object) -> object:
            loaded.extend(len(vids) for vids in vertices.values())
            return load(vertices, *rest)  # type: ignore[arg-type]

        monkeypatch.setattr(component_matching, "Table", table)
        rows = [{"id": k, "n": f"n{k}"} for k in (3, 5, 5, 1000)]
        for key in ("id", "n"):
            text = f"UNWIND $rows AS r MATCH (n:P {{{key}: r.{key}}}) RETURN id(n)"
            found = db.execute(text, {"rows": rows}).fetchall()
            assert sorted(found) == [(3,), (5,), (5,)]
        assert loaded == [3, 3]
        db.execute("MERGE (n:P {id: 3}) SET n.x = 1")
        db.execute("UNWIND $rows AS r MERGE (n:P {id: r.id, n: r.n})", {"rows": rows})
        assert loaded[2:] == [2]  # one row goes by its compiled pattern
        assert db.execute("MATCH (n:P) RETURN count(*)").scalar() == 101


LISTS: list[list[object]] = [[0, 2, 3, 3, 99, None], [1.0, 2.5, -0.0, 4.0], ["a", "é", "x"]]
LISTS += [[True, False], [1 << 53], [float(1 << 53)]]
OVER_COLUMNS = [
    "UNWIND $v AS v MATCH (n:P {n: v}) RETURN v, id(n)",
    "UNWIND $v AS v MATCH (n:P) WHERE id(n) = v AND n.n < 2 RETURN v, id(n)",
    "UNWIND $v AS v MATCH (n:P {n: v})-[e]->(m) RETURN v, id(n), id(m), e",
    "UNWIND $v AS v OPTIONAL MATCH (n:P {n: v})-[e:R]->(m:P) RETURN v, id(n), id(m)",
    "UNWIND $v AS v MATCH (n:P)-[e:R]->(m:P {n: v}) RETURN v, count(*)",
    "UNWIND $v AS v MATCH (n:P {n: v}) WITH v, n LIMIT 1000 MATCH (m:P {n: n.n}) RETURN id(m), v",
    "MATCH (n:P {n: 1}) WITH n, n.n + 1 AS k MATCH (m:P), (o:P) WHERE m.n = k AND o.n = n.n "
    "RETURN id(n), id(m), id(o)",
    "UNWIND $v AS v MATCH (n:P {n: v}), (m:P {s: 'a'}) WHERE m.n = n.n RETURN v, id(n), id(m)",
    "UNWIND $v AS v MATCH (n:P {n: v})-[:R*1..2]->(m) RETURN v, id(n), id(m)",
]


@pytest.mark.parametrize("seed", range(2))
def test_over_columns_as_over_rows(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns_or_rows, "WAY", "columns")
    monkeypatch.setattr(semi_joins, "PART", 0)
    looked: list[object] = []
    holders = semi_joins.holders

    def noted(*given: object) -> object:
        looked.append(holders(*given))  # type: ignore[arg-type]
        return looked[-1]

    monkeypatch.setattr(chain_run, "holders", noted)
    columns, draw = 0, random.Random(seed)
    with gdb.connect() as db:
        with db.transaction() as tx:
            several: dict[str, list[Any]] = {
                "n": draw.choices([0, 1, 2, 3, None], k=9),
                "s": ["a", "é", None] * 3,
            }
            tx.add_nodes("P", range(9), several)
            tx.add_relationships("R", draw.choices(range(9), k=15), draw.choices(range(9), k=15))
        db.compact()
        db.execute("MATCH (n:P) WHERE id(n) < 2 SET n.n = 1 - n.n CREATE (:P {n: 2})-[:R]->(n)")
        for text in OVER_COLUMNS:
            for values in LISTS:
                with monkeypatch.context() as patch:
                    patch.setattr(columns_or_rows, "WAY", "rows")
                    expected = Counter(map(repr, db.execute(text, {"v": values}).fetchall()))
                found = db.execute(text, {"v": values})
                columns += found.summary.evaluator == "duckdb"
                assert Counter(map(repr, found.fetchall())) == expected, (text, values)
    assert columns > 20
    assert len(looked) > 20
    assert all(one is not None for one in looked)


def test_explain_says_what_is_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns_or_rows, "WAY", "columns")
    with gdb.connect() as db:
        db.execute("UNWIND range(1, 9) AS k CREATE (:P {id: k})")
        text = "MATCH (m:P {id: 2}) WITH m.id + 1 AS k MATCH (n:P {id: k}) RETURN n"
        assert "match n: listed, looked up n by id" in db.explain(text)


@pytest.mark.parametrize("value", ["NaN", "[NaN]", "{a: NaN}"])
def test_merge_finds_no_nan_even_its_own(value: str) -> None:
    with gdb.connect() as db:
        for made in (2, 4):
            if value.startswith("{"):
                db.execute(f"UNWIND [{value}, {value}] AS i MERGE (a:A {{k: i.a}})")
            else:
                db.execute(f"UNWIND [{value}, {value}] AS i MERGE (a:A {{k: i}})")
            assert db.execute("MATCH (a:A) RETURN count(*)").scalar() == made
        db.execute("UNWIND [1.0, 0.0 / 0.0, 1, -0.0, 0.0] AS i MERGE (:B {k: i})")
        assert db.execute("MATCH (a:B) RETURN count(*)").scalar() == 3
