"""Prepared statements: a text that comes again skips its first steps, and is never answered with what was."""

from __future__ import annotations

import gc
import itertools
import math
import shutil
import subprocess
import sys
import threading
import weakref
from collections.abc import Iterator
from pathlib import Path

import pytest

import gdb
from gdb import Database, errors
from gdb.run import statements

PEOPLE = """:ID,name,age:int,score:float,:LABEL
1,Ann,30,1.5,Person
2,Bob,40,,Person
3,Cid,30,2.5,Person;Admin
4,Dan,50,-0.5,Admin
5,Eve,,3.5,Person
"""
KNOWS = """:START_ID,:END_ID,:TYPE,since:int
1,2,KNOWS,2000
2,1,KNOWS,2001
1,3,KNOWS,2002
3,4,LIKES,2000
4,5,KNOWS,2003
5,1,LIKES,2001
2,3,KNOWS,2000
"""


@pytest.fixture(scope="module")
def people_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store to be copied."""
    folder = tmp_path_factory.mktemp("people")
    (folder / "people.csv").write_text(PEOPLE)
    (folder / "knows.csv").write_text(KNOWS)
    with gdb.connect(folder / "people.gdb") as db:
        db.load(nodes=folder / "people.csv", edges=folder / "knows.csv")
    return folder / "people.gdb"


@pytest.fixture
def people(tmp_path: Path, people_store: Path) -> Iterator[Database]:
    shutil.copytree(people_store, tmp_path / "people.gdb")
    with gdb.connect(tmp_path / "people.gdb") as db:
        yield db


QUESTIONS: list[tuple[str, list[object]]] = [
    ("MATCH (a)-->(b) WHERE id(a) = $p RETURN id(a), id(b)", [1, 2, 99, 5, 1]),
    ("MATCH (a)-->(b) WHERE id(a) IN $p RETURN id(a), id(b)", [[1], [2, 3], [], [4, 99], [1]]),
    ("MATCH (a:Admin)-->(b) WHERE id(a) = $p RETURN id(b)", [1, 3, 4, 1]),
    ("MATCH (a)--(b)--(c) WHERE id(a) = $p RETURN count(DISTINCT id(c))", [1, 2, 99, 4, 1]),
    ("MATCH (a)--(b)--(c) WHERE id(c) = $p RETURN count(*)", [1, 2, 99, 4, 1]),
    ("MATCH (a)-->(b) WHERE a.age > $p RETURN id(a), b.name", [0, 35, 100, 45, 0]),
    ("MATCH (a)-->(b) WHERE a.age > $p AND id(b) = 3 RETURN id(a), id(b)", [0, 35, 100, 0]),
    ("MATCH (a)-->(b) WHERE a.age > 20 AND id(b) = $p RETURN id(a), id(b)", [1, 3, 5, 1]),
    ("MATCH (a)-->(b) WHERE a.age IN $p RETURN id(a)", [[30], [40, 50], [None], [], [30]]),
    ("MATCH (a)-[r]->(b) WHERE r.since = $p RETURN id(a), id(b)", [2000, 2001, 9, 2000]),
    ("MATCH (a)-[r {since: $p}]->(b) RETURN count(*)", [2000, 2001, 9, 2000]),
    ("MATCH (a) RETURN a.age + $p, $p", [0, 1, -5, 0]),
    ("MATCH (a) RETURN id(a) ORDER BY id(a) LIMIT $p", [0, 1, 3, 0]),
    ("MATCH (a) RETURN id(a) ORDER BY id(a) SKIP $p", [0, 1, 3, 0]),
    ("MATCH (a) RETURN count(*) SKIP $p", [0, 1, 0]),
    ("MATCH (a) RETURN count(*) LIMIT $p", [1, 0, 1]),
    ("MATCH (a)-->(b) WHERE a.age + b.age > $p RETURN id(a), id(b)", [0, 75, 1000, 0]),
    ("MATCH SUBGRAPHS (a)--(b) WHERE a.age > $p RETURN count(*)", [0, 35, 100, 0]),
    ("MATCH SUBGRAPHS (a)--(b)--(c) WHERE a.age + c.age > $p RETURN count(*)", [0, 61, 100]),
    ("MATCH (a) WHERE a.score > $p RETURN id(a)", [0.0, -1.0, math.nan, 2.0, 0.0]),
    ("MATCH (a) RETURN DISTINCT a.age IN $p", [[30], [None], [], [30, None]]),
    ("MATCH (a) RETURN $p", [0.0, -0.0, 1.0, math.inf]),
    ("MATCH (a) WHERE a.name = $p RETURN id(a)", ["Ann", "Bob", "", "Ann"]),
    ("MATCH (a) RETURN $p", [1, 1.0, True, "1", None, [1], [1.0], [True]]),
]


def answer(db: Database, text: str, parameters: dict[str, object]) -> object:
    """Rows with their types, sorted; or the code of the error."""
    try:
        return sorted(map(repr, db.execute(text, parameters, device="cpu").fetchall()))
    except errors.GdbError as error:
        return error.code, str(error)


@pytest.mark.parametrize(("text", "values"), QUESTIONS, ids=[text for text, _ in QUESTIONS])
def test_other_values_give_the_answer_of_a_query_asked_for_the_first_time(
    people: Database, text: str, values: list[object]
) -> None:
    fresh = []
    for value in values:
        people._statements.clear()
        fresh.append(answer(people, text, {"p": value}))
    people._statements.clear()
    again = [answer(people, text, {"p": value}) for value in values]
    assert again == fresh
    assert len(set(map(str, fresh))) > 1  # the value matters, or this test sees nothing


@pytest.mark.parametrize("mode", ["DIFFERENT EDGES", "DIFFERENT NODES", "SUBGRAPHS", "INDUCED"])
@pytest.mark.parametrize(
    "pattern",
    [
        "(a {age: $p})--(b {age: $q})",
        "(a)--(b) WHERE id(a) = $p AND id(b) = $q",
        "(a)-[r {since: $p}]-(b)-[s {since: $q}]-(c)",
        "(a {age: $p})--(b)--(c {age: 30}) WHERE b.age > $q",
        "(a)--(b)--(c) WHERE a.age + $p > c.age + $q",
    ],
)
def test_values_that_make_vertices_alike_change_the_symmetry(
    people: Database, mode: str, pattern: str
) -> None:
    text = f"MATCH {mode} {pattern} RETURN count(*)"
    pairs = list(itertools.product((30, 40, 2000, 2001, 1, 3), repeat=2))
    fresh = []
    for p, q in pairs:
        people._statements.clear()
        fresh.append(answer(people, text, {"p": p, "q": q}))
    people._statements.clear()
    assert [answer(people, text, {"p": p, "q": q}) for p, q in pairs] == fresh


def test_a_second_time_nothing_is_understood_or_planned(people: Database) -> None:
    text = "MATCH (a)-->(b) WHERE a.age > 20 RETURN a.name"
    assert "plan" in people.execute(text, device="cpu").summary.seconds
    assert set(people.execute(text, device="cpu").summary.seconds) == {"run", "tail"}
    by_id = "MATCH (a)-->(b) WHERE id(a) = $x RETURN count(DISTINCT b)"
    people.execute(by_id, {"x": 1})
    assert set(people.execute(by_id, {"x": 2}).summary.seconds) == {"bind", "run"}


def test_kinds_of_parameters_are_told_apart(people: Database) -> None:
    text = "MATCH (a) WHERE a.age > $p RETURN count(*)"
    for _ in range(2):
        assert people.execute(text, {"p": 35}).scalar() == 2
        assert people.execute(text, {"p": 35.5}).scalar() == 2
        assert people.execute(text, {"p": None}).scalar() == 0
        assert people.execute(text, {"p": "x"}).scalar() == 0
        with pytest.raises(errors.NameProblem, match="has no value"):
            people.execute(text, {"q": 1})
        with pytest.raises(errors.TypeProblem):
            people.execute("MATCH (a) RETURN a.age + $p", {"p": True})
        with pytest.raises(errors.TypeProblem):
            people.execute("MATCH (a) RETURN a LIMIT $p", {"p": -1})
        people.execute("MATCH (a) RETURN a LIMIT $p", {"p": 1})
        people.execute("MATCH (a) RETURN a.age + $p", {"p": 1})


def test_what_was_loaded_since_is_found(people: Database, tmp_path: Path) -> None:
    text = "MATCH (a)-[:E]->(b) WHERE id(a) = $x RETURN count(DISTINCT id(b))"
    (tmp_path / "more.txt").write_text("1 2\n1 3\n")
    (tmp_path / "rest.txt").write_text("1 4\n1 5\n2 5\n")
    other = gdb.connect(people.path, read_only=True)
    for db in (people, other):
        assert db.execute(text, {"x": 1}).scalar() == 0
    for file, found in (("more.txt", 2), ("rest.txt", 4)):
        people.load(tmp_path / file, type="E")
        for db in (people, other):
            for _ in range(2):
                assert db.execute(text, {"x": 1}).scalar() == found
    other.close()


def test_a_statement_does_not_hold_what_a_load_replaced(people: Database, tmp_path: Path) -> None:
    people.execute("MATCH (a)-->(b) RETURN count(*)")
    before = weakref.ref(people._store.snapshot())
    (tmp_path / "more.txt").write_text("1 2\n")
    people.load(tmp_path / "more.txt", type="E")
    gc.collect()
    assert before() is None


def test_a_query_that_ends_late_does_not_bring_an_older_snapshot_back(
    people: Database, tmp_path: Path
) -> None:
    text = "MATCH (a)-[:E]->(b) RETURN count(*)"
    before = people._store.snapshot()
    people.execute(text)
    ((key, late),) = people._statements._kept.items()
    (tmp_path / "more.txt").write_text("1 2\n")
    people.load(tmp_path / "more.txt", type="E")
    assert people.execute(text).scalar() == 1
    people._statements.keep(key, before, late)
    assert "plan" not in people.execute(text).summary.seconds
    assert people.execute(text).scalar() == 1


def test_statements_are_bounded(people: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statements, "MOST", 3)
    for number in range(10):
        people.execute(f"MATCH (a) WHERE a.age > {number} RETURN count(*)")
        assert len(people._statements) <= 3
    assert len(people._statements) == 3
    monkeypatch.setattr(statements, "MOST_BYTES", 0)
    assert people.execute("MATCH (a)-->(b) RETURN count(*)").scalar() == 7
    assert len(people._statements) == 0


def test_the_longest_unused_goes_first(people: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statements, "MOST", 2)
    texts = [f"MATCH (a) WHERE a.age > {n} RETURN count(*)" for n in range(3)]
    for text in (texts[0], texts[1], texts[0], texts[2]):
        people.execute(text)
    assert "plan" not in people.execute(texts[0]).summary.seconds
    assert "plan" in people.execute(texts[1]).summary.seconds


def test_much_larger_candidate_sets_ask_for_a_new_plan(
    people: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(statements, "_SMALL", 1)
    monkeypatch.setattr(statements, "_DRIFT", 2)
    text = "MATCH (a)-->(b) WHERE a.age > $p RETURN count(*)"
    people.execute(text, {"p": 45})

    def plan() -> object:
        (kept,) = people._statements._kept.values()
        return kept.plan

    first = plan()
    people.execute(text, {"p": 46})
    assert plan() is first
    assert people.execute(text, {"p": 0}).scalar() == 6
    assert plan() is not first


def test_threads_with_other_values_do_not_meet(people: Database) -> None:
    text = "MATCH (a)-->(b) WHERE id(a) = $x AND b.age > $y RETURN count(DISTINCT id(b))"
    asked = list(itertools.product((1, 2, 3, 4, 5, 99), (0, 35)))
    expected = {}
    for x, y in asked:
        people._statements.clear()
        expected[x, y] = people.execute(text, {"x": x, "y": y}).scalar()
    wrong: list[object] = []

    def ask(shift: int) -> None:
        for k in range(60):
            x, y = asked[(k * (shift + 1) + shift) % len(asked)]
            found = people.execute(text, {"x": x, "y": y}, device="cpu").scalar()
            if found != expected[x, y]:
                wrong.append((x, y, found))

    threads = [threading.Thread(target=ask, args=(shift,)) for shift in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@pytest.mark.parametrize(
    ("query", "found", "nothing"),
    [
        ("MATCH (a)-[:R]->(b) WHERE b.x = $x RETURN id(a), id(b)", [(1, 2)], []),
        ("MATCH (a)-[r:R]->(b) WHERE b.x = $x RETURN id(b)", [(2,)], []),
        ("MATCH (a:A)-[:R]->(b:A) WHERE b.x = $x RETURN count(*)", [(1,)], [(0,)]),
        ("MATCH (a:A)-[:R]->(b)-[:R]->(c) WHERE b.x = $x AND c.x > $x RETURN id(a)", [(1,)], []),
    ],
)
def test_a_value_that_nothing_has_is_forgotten_with_it(
    query: str, found: list[tuple[int, ...]], nothing: list[tuple[int, ...]]
) -> None:
    """The plan is made when nothing matches, and kept: the next value has candidates where it had none."""
    with gdb.connect() as db:
        with db.transaction() as tx:
            tx.add_nodes("A", list(range(10)), {"x": list(range(10))})
            tx.add_relationships("R", [0, 1, 2], [1, 2, 3])
        for x, wanted in ((99, nothing), (2, found), (99, nothing), (2, found)):
            assert db.execute(query, {"x": x}).fetchall() == wanted


def test_what_writes_and_what_has_clauses_is_parsed_and_checked_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also in transactions, whose texts are the database's; a new text is read, and one that fails fails again."""
    from gdb.language import checks, parser

    seen: list[str] = []
    parse, check = parser.parse, checks.check
    monkeypatch.setattr(parser, "parse", lambda *given: seen.append("parse") or parse(*given))
    monkeypatch.setattr(checks, "check", lambda *given: seen.append("check") or check(*given))
    with gdb.connect() as db:
        for k in range(4):
            db.execute("MERGE (n:P {id: $k}) SET n.x = $k", {"k": k})
            with db.transaction() as tx:
                tx.execute("MERGE (n:P {id: $k}) SET n.x = $k", {"k": k + 1})
            text = "UNWIND $rows AS r MATCH (n:P {id: r.id}) RETURN n.x"
            assert db.execute(text, {"rows": [{"id": k}]}).scalar() == k
        assert seen == ["parse", "check"] * 2
        with pytest.raises(gdb.errors.NameProblem):
            db.execute("MERGE (n:P {id: $k}) SET n.x = $k", {"j": 1})
        assert db.execute("MATCH (n:P) RETURN count(*)").scalar() == 5


def test_an_unknown_procedure_may_be_there_later() -> None:
    with gdb.connect() as db:
        text = "CALL mine.two() YIELD n WITH n AS m RETURN m"
        with pytest.raises(gdb.GdbError):
            db.execute(text)

        db.register_procedure("mine.two() :: (n :: INTEGER)", lambda: [(2,)])
        assert db.execute(text).scalar() == 2


GROWTH = """
import gdb

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096

db = gdb.connect()
db.execute("UNWIND range(1, 50) AS i CREATE (:P {x: i})")
for text in ("MATCH (a:P) WHERE a.x = %d RETURN a.x", "MATCH (a:P), (b:P) WHERE a.x = %d AND b.x = 2 RETURN a.x"):
    for k in range(20):
        db.execute(text % k).fetchall()
    before = resident()
    for k in range(20, 420):
        db.execute(text % k).fetchall()
    print((resident() - before) >> 20)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/proc of Linux is read")
def test_kept_statements_hold_no_buffers_of_rows() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", GROWTH], capture_output=True, text=True, check=True
    )
    assert max(map(int, done.stdout.split())) < 20  # of 128 KiB each it would be 50
