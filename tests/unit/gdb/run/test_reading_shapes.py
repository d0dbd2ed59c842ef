"""Texts that read and differ only in their literals are understood once, and mean what they mean."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from random import Random

import pytest

import gdb
from gdb.errors import GdbError
from gdb.language import parser, shapes
from gdb.language.parser import parse
from gdb.run import query_cache
from tests.support.effort import share
from tests.support.texts_run import ran, shape_of


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("MATCH (a:P {id: 1}) RETURN a.x", "MATCH (a:P {id: $0 }) RETURN a.x"),
        ("MATCH (a) WHERE a.x = 'b' return a.x + 1, 'c'", None),  # a quote behind RETURN
        ("MATCH (a) WHERE a.x = 'b' RETURN a.x + 1", "MATCH (a) WHERE a.x = $0  RETURN a.x + 1"),
        ("MATCH (a) WHERE a.x IN [1, 2] RETURN a LIMIT 3", "MATCH (a) WHERE a.x IN [$0 , $1 ] RETURN a LIMIT 3"),
        ("MATCH (a) WHERE a.name = 'RETURN' RETURN a", None),
        ("MATCH (a {returned: true}) RETURN a", None),  # the first RETURN is in a name
        (
            "MATCH (a) WHERE EXISTS { MATCH (a)-->(b {x: 1}) RETURN 1 AS one } RETURN a",
            "MATCH (a) WHERE EXISTS { MATCH (a)-->(b {x: $0 }) RETURN 1 AS one } RETURN a",
        ),
        ("UNWIND [1, 2] AS x RETURN x", "UNWIND [$0 , $1 ] AS x RETURN x"),
        ("MATCH (a {id: 1}) WITH a, 2 AS y RETURN y", "MATCH (a {id: $0 }) WITH a, $1  AS y RETURN y"),
        ("MATCH (a {id: 1})-[*1..2]->(b) RETURN b", "MATCH (a {id: $0 })-[*1..2]->(b) RETURN b"),
        ("MATCH (a {id: 1})-->{1,3}(b) RETURN b", None),
        ("MATCH (a) RETURN a.x = 1", None),
        ("MATCH (a {id: 1}) SET a.x = 2 RETURN a", None),  # it writes
        ("EXPLAIN MATCH (a {id: 1}) RETURN a", None),
        ("MATCH (a {id: $x}) WHERE a.y = 1 RETURN a", None),
        ("MATCH (a {id: 1}) RETURN a UNION MATCH (a {id: 2}) RETURN a", None),
        ("CALL db.labels() YIELD label WHERE label = 'A' RETURN label", None),
    ],
)  # fmt: skip
def test_the_shape_of_a_text(text: str, shape: str | None) -> None:
    try:
        assert shape_of(text) == shape
    except gdb.errors.SyntaxProblem:
        assert shape is None


@pytest.fixture
def db() -> Iterator[gdb.Database]:
    with gdb.connect() as db:
        db.execute(
            "UNWIND range(0, 19) AS i CREATE (:P {x: i, f: i / 2.0, s: toString(i), b: i % 2 = 0})"
        )
        db.execute("MATCH (a:P), (b:P) WHERE (a.x * 7 + b.x) % 5 = 0 CREATE (a)-[:R {w: a.x}]->(b)")
        yield db


def test_they_are_understood_once(db: gdb.Database, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [f"MATCH (a:P) WHERE a.x = {k} RETURN a.s" for k in range(12)]
    seen = ran(db, texts, monkeypatch)
    assert seen[0] == texts[0]
    assert set(seen[1:]) == {"MATCH (a:P) WHERE a.x = $0  RETURN a.s"}
    assert len(seen) < 6  # then they are bound
    assert [db.execute(text).scalar() for text in texts] == [str(k) for k in range(12)]


def test_the_same_text_is_kept_itself(db: gdb.Database, monkeypatch: pytest.MonkeyPatch) -> None:
    ran(db, [f"MATCH (a:P) WHERE a.x = {k} RETURN a.s" for k in range(8)], monkeypatch)
    own = "MATCH (a:P) WHERE a.x = 11 RETURN a.s"
    assert own in ran(db, [own] * 6, monkeypatch)
    assert ran(db, [own] * 6, monkeypatch) in ([own], [])
    assert ran(db, [own] * 3, monkeypatch) == []


def test_a_shape_that_is_never_bound_is_given_up(
    db: gdb.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [
        f"MATCH (a:P) WHERE a.x = {k} WITH a.b AS b, count(*) AS c RETURN sum(c)" for k in range(30)
    ]
    for statements in (db._statements, db._statements.cache):
        monkeypatch.setattr(statements, "is_to_be_bound", lambda *given: False)
    seen = ran(db, texts, monkeypatch)
    assert len(seen) == len(texts)  # none was bound
    assert seen[-1] == texts[-1]
    assert 0 < sum("$0" in text for text in seen) <= query_cache.MOST_UNBOUND + 1


def test_with_options_they_run_as_they_are_written(
    db: gdb.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [f"MATCH (a:P) WHERE a.x = {k} RETURN a.s" for k in range(12)]
    ran(db, texts[:6], monkeypatch)
    assert ran(db, texts[6:], monkeypatch, timeout=60) == texts[6:]


def test_a_kept_shape_that_reads_is_none_that_writes(db: gdb.Database) -> None:
    for k in range(6):
        db.execute(f"MATCH (a:P) WHERE a.x = {k} RETURN a.s")
    assert any(db._statements.cache._shapes.values())
    assert not db._statements.cache.has_shape("MATCH (a:P) WHERE a.x = 7 RETURN a.s")


def test_a_warning_shows_the_text(db: gdb.Database) -> None:
    for k in range(8):
        text = f"MATCH (a:P {{x: {k * 1000}}})-->(b:Nix) RETURN b"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            (warning,) = db.execute(text).warnings
        column = text.index(":Nix") + 2  # of the name, from 1
        assert f"line 1, column {column}:" in warning


def test_a_shape_with_a_warning_is_given_up(
    db: gdb.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [f"MATCH (a:P {{x: {k}}})-->(b:Nix) RETURN b" for k in range(12)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ran(db, texts[:6], monkeypatch)
        assert ran(db, texts[6:], monkeypatch) == texts[6:]  # each once


def test_an_error_shows_the_text(db: gdb.Database) -> None:
    texts = [f"MATCH (a:P) WHERE a.x = {k} RETURN 6 / (a.x - 10)" for k in range(11)]
    for text in texts[:10]:
        db.execute(text)
    for _ in range(2):
        with pytest.raises(GdbError, match="divided by zero") as raised:
            db.execute(texts[10])
        assert texts[10] in str(raised.value)


def test_what_has_no_shape_is_looked_at_once(
    db: gdb.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []

    def noted(text: str, *given: object) -> object:
        seen.append(text)
        return parse(text)

    monkeypatch.setattr(parser, "parse", noted)
    texts = [f"MATCH (a:P {{x: {k}}})-->{{1,2}}(b) RETURN b" for k in range(6)]
    ran(db, texts, monkeypatch)
    shape = "MATCH (a:P {x: $0 })-->{1,$1 }(b) RETURN b"
    assert sorted(seen) == sorted([*texts, shape])


PARTS = {
    "test": ("a.x = {i}", "a.f = {f}", "a.s = '{s}'", "a.b = {b}", "a.x IN [{i}, {i}]", "a.x <= {i}", "a.x = {m}",
             "id(a) = {i}", "a.s = {i}", "a.x = '{s}'", "a.x + 1 = {i}", "a.f >= {m}"),
    "behind": ("", "-->(b)", "-[r {{w: {i}}}]->(b)", "-->(b {{x: {i}}})", "-[:R*1..2]->(b)",
               "<--(b)-->(c {{s: '{s}'}})"),
    "rest": ("RETURN a.x, a.s", "RETURN count(*)", "RETURN DISTINCT a.b", "RETURN a.x AS y ORDER BY y LIMIT 3",
             "WITH a, count(*) AS n RETURN a.x, n + 1", "RETURN a.x = 3, 1 + 2", "RETURN max(a.f), min(a.s)",
             "WITH a.x AS x WHERE x = {i} RETURN x * 2", "RETURN 1 / a.x"),
}  # fmt: skip


def filled(template: str, draw: Random) -> str:
    return template.format(
        i=draw.randint(-1, 21),
        m=-draw.randint(0, 3),
        f=draw.choice(["0.5", "1.0", "-2.5", "3.0"]),
        s=draw.choice(["1", "12", "x", "it\\'s", "é", ""]),
        b=draw.choice(["true", "false"]),
    )


def answer(db: gdb.Database, text: str) -> object:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = db.execute(text)
        except GdbError as error:
            return type(error), str(error)
        rows = result.fetchall()
        return result.columns, sorted(map(repr, rows)), list(result.warnings)


@pytest.mark.parametrize("seed", range(share(4)))
def test_answers_are_those_of_the_text(
    seed: int, db: gdb.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw, by_shape = Random(seed), 0
    for _ in range(12):
        behind, test, rest = (draw.choice(PARTS[part]) for part in ("behind", "test", "rest"))
        template = f"MATCH (a:P){behind} WHERE {test} {rest}"
        for number in range(9):
            if number == 6 and draw.random() < 0.5:
                db.execute(f"CREATE (:P {{x: {draw.randint(0, 20)}, s: 'x', f: 0.5, b: true}})")
            if number == 7 and draw.random() < 0.2:
                db.execute("MATCH (a:P {x: 3}) SET a.x = 'text'")  # the property has another kind
            text = filled(template, draw)
            found = answer(db, text)
            by_shape += any(
                made and shapes.reads(made) for made in db._statements.cache._shapes.values()
            )
            with monkeypatch.context() as context:
                context.setattr(shapes, "LONGEST", 0)
                written = answer_elsewhere(db, text)
            assert found == written, text
    assert by_shape


def answer_elsewhere(db: gdb.Database, text: str) -> object:
    """The answer to a text when nothing is kept of it."""
    with db.snapshot() as held:
        held._statements.clear()
        return answer(held, text)  # type: ignore[arg-type]
