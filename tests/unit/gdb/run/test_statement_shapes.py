"""Statements that differ only in their literals are understood once, and mean what they mean."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from random import Random

import pytest

import gdb
from gdb.errors import Cancelled, GdbError
from gdb.language import shapes
from gdb.run import pipeline
from tests.support.effort import share
from tests.support.texts_run import ran, shape_of


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        (
            "CREATE (:P {id: 1, name: 'it''s', born: 1.5, on: true})",
            None,  # two strings side by side are no value
        ),
        (
            "CREATE (:P {id: -1, name: 'it\\'s', born: 1.5, on: true})",
            "CREATE (:P {id: $0 , name: $1 , born: $2 , on: $3 })",
        ),
        (
            'MATCH (a:P {id: 1}) WHERE a.x = "//" SET a.x = 2, a.l = [1,2]',
            "MATCH (a:P {id: $0 }) WHERE a.x = $1  SET a.x = $2 , a.l = [$3 ,$4 ]",
        ),
        ("CREATE (:P {id: 1}) RETURN 2 AS x", None),
        ("MATCH (a:P {id: 1}) SET a.returned = 2", None),  # RETURN may give rows
        ("MATCH (a:P {id: 1}) SET a.x = 'RETURN'", None),
        ("MATCH (a {id: 1})-[*2..3]->(b) DELETE b", "MATCH (a {id: $0 })-[*2..3]->(b) DELETE b"),
        ("MATCH (a {id: 1})-->{1,3}(b) DELETE b", None),
        ("CREATE (:P {id: 1}) // it's", None),
        ("CREATE (:P {id: 1, `it's`: 'x'})", None),
        ("CREATE (:P {id: 1, x: $x})", None),
        ("PROFILE CREATE (:P {id: 1})", None),
        ("CREATE (:P {id: 1 + 2})", "CREATE (:P {id: $0  + 2})"),
        ("CREATE (:P {id: 1_000, f: 1e3, h: 0x10})", None),
        ("UNWIND [1, 2] AS x MERGE (:P {id: x})", "UNWIND [$0 , $1 ] AS x MERGE (:P {id: x})"),
    ],
)
def test_the_shape_of_a_statement(text: str, shape: str | None) -> None:
    try:
        assert shape_of(text) == shape
    except gdb.errors.SyntaxProblem:
        assert shape is None


def test_kinds_are_part_of_the_key() -> None:
    texts = ["CREATE ({x: 1})", "CREATE ({x: 1.0})", "CREATE ({x: '1'})", "CREATE ({x: true})"]
    keys = {found[0] for text in texts if (found := shapes.split_literals(text)) is not None}
    assert len(keys) == len(texts)


@pytest.fixture
def db() -> Iterator[gdb.Database]:
    with gdb.connect() as db:
        yield db


def test_the_second_of_a_shape_is_the_first_that_is_run_as_one(
    db: gdb.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [f"CREATE (:P {{id: {k}, name: 'n{k}'}})" for k in range(12)]
    one = "CREATE (:P {id: $0 , name: $1 })"
    assert ran(db, texts, monkeypatch) == [texts[0], *[one] * 11]
    assert db.execute("MATCH (p:P) RETURN p.id, p.name ORDER BY p.id").fetchall() == [
        (k, f"n{k}") for k in range(12)
    ]


def test_an_error_shows_the_place_in_the_text_as_it_is_written(db: gdb.Database) -> None:
    for k in range(3):
        db.execute(f"CREATE (:P {{id: {k}, x: 10}})")
    for k in range(2):
        db.execute(f"MATCH (p:P {{id: {k}}}) SET p.x = 1 / (p.x - {k})")
    with pytest.raises(GdbError) as raised:
        db.execute("MATCH (p:P {id: 2}) SET p.x = 1 / (p.x - 10)")
    text = str(raised.value)
    assert "1 / (p.x - 10)" in text
    assert "$" not in text
    assert db.execute("MATCH (p:P {id: 2}) RETURN p.x").scalar() == 10


def test_a_warning_shows_the_text_and_the_shape_is_used_when_it_is_gone(
    db: gdb.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [f"MATCH (a:P {{id: {k}}}) SET a.x = {k}" for k in range(6)]
    for text in texts:
        with pytest.warns(gdb.errors.QueryWarning, match=f"column {text.index(':P') + 2}:"):
            assert ran(db, [text], monkeypatch) == [text]
    db.execute("CREATE (:P {id: 1, x: 0})")
    one = "MATCH (a:P {id: $0 }) SET a.x = $1 "
    assert ran(db, texts, monkeypatch) == [texts[0], *[one] * 5]


def test_a_text_with_a_warning_has_no_shape(
    db: gdb.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    db.execute("CREATE (:P {id: 1, x: 0})")
    for k in range(4):
        text = f"MATCH (a:P {{id: {1000 * k}}}) WHERE a.x = null SET a.x = {k}"
        with pytest.warns(gdb.errors.QueryWarning, match=f"column {text.index('a.x') + 1}:"):
            assert ran(db, [text], monkeypatch) == [text]


def test_a_shape_with_an_error_runs_as_it_is_written(
    db: gdb.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    for k in range(4):
        text = f"CREATE (:P {{id: {k}, x: y}})"
        with pytest.raises(gdb.errors.NameProblem, match=f"column {text.index('y') + 1}:"):
            ran(db, [text], monkeypatch)


def test_what_fails_in_a_transaction_leaves_nothing_and_the_rest_is_committed(
    db: gdb.Database,
) -> None:
    with db.transaction() as tx:
        for k in (1, 2, 4, 5):
            tx.execute(f"UNWIND [{k}, {k}] AS x CREATE (:P {{x: x, y: 12 / {k}}})")
        with pytest.raises(GdbError):
            tx.execute("UNWIND [7, 0] AS x CREATE (:P {x: x, y: 12 / 0})")
        with pytest.raises(GdbError):
            tx.execute("UNWIND [0, 0] AS x CREATE (:P {x: x, y: 12 / 0})")
    assert db.execute("MATCH (p:P) RETURN count(*), sum(p.x)").fetchall() == [(8, 24)]


def test_the_limit_of_characters_holds_for_the_text_as_it_is_written(db: gdb.Database) -> None:
    with gdb.connect(limits={"MAX_QUERY_CHARACTERS": 40}) as short:
        for k in range(3):
            short.execute(f"CREATE (:P {{name: '{k}'}})")
        with pytest.raises(gdb.errors.LimitExceeded):
            short.execute(f"CREATE (:P {{name: '{'x' * 40}'}})")


# ---- streams -------------------------------------------------------------------------------------


def _thrice(db: gdb.Database) -> None:
    for k in range(3):
        db.execute(f"CREATE (:P {{id: {k}}})")


def test_a_stream_of_a_known_shape_runs_on_the_thread_of_its_reader(
    db: gdb.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer, threads = pipeline._answer, []

    def noted(*given: object) -> object:
        threads.append(threading.current_thread())
        return answer(*given)  # type: ignore[arg-type]

    _thrice(db)
    monkeypatch.setattr(pipeline, "_answer", noted)
    with db.stream("CREATE (:P {id: 3})") as rows:
        assert list(rows) == []
        assert rows.summary is not None
        assert rows.summary.effects is not None
        assert rows.summary.effects.nodes_created == 1
    with db.stream("CREATE (:Q {id: 3})") as rows:
        assert list(rows) == []
    assert [one is threading.main_thread() for one in threads] == [True, False]
    assert db.execute("MATCH (p:P) RETURN count(*)").scalar() == 4


def test_ctrl_c_in_such_a_stream_leaves_nothing(
    db: gdb.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = pipeline._answer

    def pressed(*given: object) -> object:
        os.kill(os.getpid(), signal.SIGINT)
        return answer(*given)  # type: ignore[arg-type]

    _thrice(db)
    monkeypatch.setattr(pipeline, "_answer", pressed)
    with pytest.raises(Cancelled) as raised:
        db.stream("CREATE (:P {id: 3})")
    assert not raised.value.committed
    monkeypatch.setattr(pipeline, "_answer", answer)
    assert db.execute("MATCH (p:P) RETURN count(*)").scalar() == 3
    with db.stream("CREATE (:P {id: 3})") as rows:
        assert list(rows) == []


def test_such_a_stream_raises_the_error_with_its_place(db: gdb.Database) -> None:
    for k in range(1, 4):
        db.execute(f"CREATE (:P {{x: 6 / {k}}})")
    with pytest.raises(GdbError, match="divided by zero") as raised:
        db.stream("CREATE (:P {x: 6 / 0})")
    assert "6 / 0" in str(raised.value)


# ---- the same as without -------------------------------------------------------------------------

_TEMPLATES = [
    "CREATE (:P {{id: {}, x: {}}})",
    "CREATE (:P {{id: {}, x: -{}}})-[:T {{y: {}}}]->(:Q {{x: [{}, {}]}})",
    "MATCH (a:P {{id: {}}}), (b:P {{id: {}}}) CREATE (a)-[:T {{y: {}}}]->(b)",
    "MATCH (a:P) WHERE a.x = {} AND a.id > {} SET a.x = {}",
    "MATCH (a:P) WHERE a.x IN [{}, {}] SET a.y = a.id + {}",
    "MATCH (a:P) WHERE a.x STARTS WITH {} SET a.y = {}",
    "MATCH (a:P)-[*1..2]->(b) WHERE a.id < {} SET b.z = {}",
    "MATCH (a:P)-[:T]->{{1,2}}(b {{x: {}}}) SET b.z = 7 / {}",
    "MERGE (a:P {{id: {}}}) ON CREATE SET a.x = {} ON MATCH SET a.x = {}",
    "MATCH (a:P {{id: {}}}) DETACH DELETE a",
    "MATCH (a:P {{id: {}}}) REMOVE a.x SET a:R, a += {{w: {}}}",
    "UNWIND [{}, {}] AS v CREATE (:U {{x: v, y: toString({})}})",
    "MATCH (a:P) SET a.x = CASE WHEN a.id = {} THEN {} ELSE a.x END",
    "CREATE (:P {{id: {}, d: date({})}})",
    "CREATE (:P {{id: {}}} WHERE {})",
    "FOREACH (v IN [{}, {}] | CREATE (:F {{x: v}}))",
    "MATCH (a:P {{id: {}}}) WHERE EXISTS {{ (a)-->(b) WHERE b.x = {} }} SET a.seen = {}",
]
_LITERALS = ["0", "1", "2", "3", "7", "1.5", "-1", "'a'", '"b"', "'it\\'s'", "'2020-01-01'", "true"]
_LITERALS += ["'\\q'", "null", "01", "1e3", "999999999999999999", "9223372036854775808"]


def _texts(chance: Random) -> list[str]:
    found = []
    for template in chance.sample(_TEMPLATES, 5) * 4:
        common = _LITERALS[: 5 if chance.random() < 0.7 else None]
        found.append(template.format(*(chance.choice(common) for _ in range(5))))
    return found


def _outcomes(texts: list[str]) -> list[str]:
    """What each statement does or raises, and the graph in the end."""
    found = []
    with gdb.connect() as db:
        db.execute("UNWIND range(0, 5) AS k CREATE (:P {id: k, x: k % 3})-[:T]->(:Q {x: k})")
        for text in texts:
            try:
                found.append(str(db.execute(text).summary.effects))
            except GdbError as error:
                found.append(f"{type(error).__name__} {error}")
        found += sorted(map(str, db.execute("MATCH (n) RETURN labels(n), properties(n)")))
        ends = "MATCH (a)-[r]->(b) RETURN a.id, a.x, type(r), properties(r), b.id, b.x"
        return found + sorted(map(str, db.execute(ends)))


@pytest.mark.parametrize("seed", range(share(40)))
def test_with_and_without_shapes(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = _texts(Random(seed))
    with_shapes = _outcomes(texts)
    monkeypatch.setattr(shapes, "LONGEST", 0)
    assert with_shapes == _outcomes(texts)
