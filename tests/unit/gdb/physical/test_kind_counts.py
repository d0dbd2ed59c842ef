"""Counts of relationships by types and label sets: the answers of rows, and no embedding is listed."""

from __future__ import annotations

import random
from collections.abc import Iterator
from unittest.mock import Mock

import pytest

import gdb
from gdb import Database, errors
from gdb.executor.work.scheduler import Watch
from gdb.physical import kind_counts
from tests.support.ways import WAYS, forced

LABELS = (("A",), ("B",), ("A", "B"), ("C",), ())
COUNTED = [
    "MATCH ()-[r]->() RETURN type(r), count(*)",
    "MATCH ()-[r]-() RETURN type(r) AS t, count(r) AS n ORDER BY n DESC, t",
    "MATCH (a)-[r]->(b) RETURN labels(a), type(r), labels(b), count(*)",
    "MATCH (a)-[r]-(b) RETURN labels(a), type(r), labels(b), count(*)",
    "MATCH (a:A)<-[r:K|L]-(b) RETURN labels(b) AS l, count(*) AS n, count(r) AS m",
    "MATCH (a:A|C)-[r:K]->(b:B) RETURN labels(a), labels(b), count(*)",
    "MATCH (a)-[r:M]->(b) RETURN labels(a), labels(b), count(*)",
    "MATCH (a)-[r]->(b) RETURN DISTINCT labels(a), type(r), labels(b)",
    "MATCH (a)-[r]->(b) WITH type(r) AS t, size(labels(a)) AS n, count(*) AS m WHERE m > 3 RETURN t, n, m",
    "MATCH (a)-[r]->(b) WHERE 'A' IN labels(a) OR type(r) = 'K' RETURN type(r), labels(b), count(*)",
    "MATCH REPEATABLE ELEMENTS (a)-[r]->(b) RETURN type(r), labels(b)[0], count(*)",
    "MATCH (a:None)-[r]->() RETURN type(r), count(*)",
]
LISTED = [
    "MATCH (a)-[r]->(a) RETURN type(r), count(*)",
    "MATCH (a)-[r]->(b) WHERE a.i > 3 RETURN type(r), count(*)",
    "MATCH (a)-[r {w: 1}]->(b) RETURN type(r), labels(b), count(*)",
    "MATCH (a)-[r]->(b) WHERE a <> b RETURN type(r), count(*)",
    "MATCH DIFFERENT NODES (a)-[r]->(b) RETURN type(r), count(*)",
    "MATCH (a)-[r]->(b)-[s]->(c) RETURN type(r), type(s), count(*)",
    "MATCH (a)-[r]->(b) RETURN type(r), count(DISTINCT a)",
    "MATCH (a)-[r]->(b) RETURN type(r), max(a.i)",
]


@pytest.fixture(params=range(3))
def db(request: pytest.FixtureRequest) -> Iterator[Database]:
    """Loops, parallel relationships, deleted nodes and relationships, and types that join A to C alone, and back."""
    draw = random.Random(request.param)
    with gdb.connect() as made:
        for i in range(24):
            labels = "".join(f":{one}" for one in draw.choice(LABELS))
            made.execute(f"CREATE ({labels} {{i: $i}})", {"i": i})
        for kind in ("K", "L"):
            ends = [[draw.randrange(24), draw.randrange(24)] for _ in range(40)]
            made.execute(
                f"UNWIND $ends AS e MATCH (a {{i: e[0]}}), (b {{i: e[1]}}) CREATE (a)-[:{kind} {{w: e[0] % 3}}]->(b)",
                {"ends": [*ends, *ends[:9], [5, 5]]},
            )
        made.execute("MATCH (a:A), (c:C) WHERE a.i % 2 = 0 CREATE (a)-[:M]->(c)-[:N]->(a)")
        made.execute("MATCH (a) WHERE a.i IN [3, 4, 17] DETACH DELETE a")
        made.execute("MATCH (a {i: 7})-[r]-() DELETE r")
        yield made


def answers(db: Database, text: str) -> dict[str, list[str]]:
    found = dict[str, list[str]]()
    for way in WAYS:
        with forced(way):
            found[way] = sorted(map(repr, db.execute(text)))
    return found


@pytest.mark.parametrize("text", [*COUNTED, *LISTED])
def test_the_answer_is_that_of_rows(
    db: Database, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    used = Mock(wraps=kind_counts.counts_by_kind)
    monkeypatch.setattr(kind_counts, "counts_by_kind", used)
    found = answers(db, text)
    assert all(one == found["rows"] for one in found.values()), found
    assert used.called is (text in COUNTED)


@pytest.mark.parametrize("text", COUNTED[:4])
def test_own_changes_are_counted(db: Database, text: str) -> None:
    with db.transaction() as tx:
        tx.execute("MATCH (a {i: 1}), (b {i: 2}) CREATE (a)-[:K]->(b), (b)-[:New]->(:New:A)")
        tx.execute("MATCH (a {i: 9}) DETACH DELETE a")
        found = sorted(map(repr, tx.execute(text)))
        with forced("rows"):
            assert found == sorted(map(repr, tx.execute(text)))


@pytest.mark.parametrize("text", COUNTED)
def test_profile_has_the_rows(db: Database, text: str) -> None:
    expected = len(db.execute(text))
    lines = [str(row[0]) for row in db.execute(f"PROFILE {text}")]
    assert lines[-3].endswith(f"rows: {expected}"), lines


@pytest.mark.parametrize("size", [1, 5])
def test_pieces(db: Database, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of some rows, and of one that is longer, is counted once."""
    whole = [sorted(map(repr, db.execute(text))) for text in COUNTED]
    monkeypatch.setattr(kind_counts, "PIECE", size)
    assert [sorted(map(repr, db.execute(text))) for text in COUNTED] == whole


def test_it_ends_where_it_is_cancelled(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    text = COUNTED[2]
    cancelled = Mock(side_effect=errors.Cancelled("now"))
    monkeypatch.setattr(Watch, "going", cancelled)
    with pytest.raises(errors.Cancelled):
        db.execute(text)
    assert cancelled.call_count == 1
