"""EXPLAIN and PROFILE have one form, whichever way a query runs: the same operators, the same plans of patterns, and
under PROFILE the same rows."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

import pytest

import gdb
from gdb import Database
from gdb.records import dataclass
from tests.support import language_doc
from tests.support.chain_queries import Queries, graph_queries
from tests.support.counting_queries import Counts
from tests.support.effort import share
from tests.support.ways import WAYS, Way, forced

LINE = re.compile(
    r"^ *(?P<text>.*?)   \[(?P<how>[^\]]*)\](?:   ~(?P<expected>[^ ]*) rows)?"
    r"(?:   (?P<merged>as one with the next)"
    r"|   =(?P<rows>[\d,]+) rows(?:, (?P<ms>[\d.]+) ms)?(?:, (?P<held>[\d,]+) bytes)?)?$"
)
PATTERNS = {
    "triangle": "MATCH (a)-[:K]->(b)-[:K]->(c), (a)-[:K]->(c)",
    "time window": "MATCH (a)-[e:K]->(b)-[f:K]->(c) WHERE e.at < f.at AND f.at - e.at <= 20",
    "anti-edge": "MATCH (a)-[:K]->(b)-[:K]->(c) WHERE NOT (a)-[:K]->(c)",
}
RETURN = "RETURN id(a), id(b), id(c)"
QUERIES = [
    *(f"{pattern} {RETURN}" for pattern in PATTERNS.values()),
    *(f"{pattern} WITH a, b, c UNWIND [1, 2] AS u {RETURN}, u" for pattern in PATTERNS.values()),
    *(f"{pattern} RETURN count(*)" for pattern in PATTERNS.values()),
    "MATCH (a)-->(b) RETURN a.x AS k, count(*), count(b)",
    "MATCH (a)-[r]->(b) RETURN a.name AS k, sum(r.at) AS s ORDER BY s DESC, k",
    "MATCH (a)-[r]->(b) WHERE a.x + b.x = r.at % 5 WITH a, count(*) AS n WHERE n > 1 RETURN max(n)",
    "MATCH (a)-->(b)-->(c) WITH a, count(c) AS n WHERE n > 5 RETURN a.name, n ORDER BY n, a.name",
    "MATCH (a)-->(b) WITH a, count(b) AS n MATCH (a)-->(c) RETURN a.name AS k, n, count(c) AS m",
    "MATCH (a)-->(b) OPTIONAL MATCH (b)-[:L]->(c) RETURN a.name, count(c) AS n",
    "MATCH (a) WHERE EXISTS { (a)-[:K]->(b) WHERE b.x = 2 } RETURN a.x AS x, count(*) AS n",
    "MATCH (a {id: 3}) WITH a MATCH (a)-[:K*1..2]->(b) RETURN b.name AS k, count(*) AS n",
    "UNWIND range(1, 30) AS i MATCH (a {id: i}) WITH a.x AS x, collect(a.id) AS all RETURN x, size(all)",
    "MATCH (a:P) WITH DISTINCT a.x AS x ORDER BY x SKIP 1 RETURN sum(x)",
]


@dataclass(frozen=True, slots=True)
class Line:
    """Of an operator. rows : None where it has none of its own."""

    text: str
    how: str
    rows: int | None
    merged: bool


@pytest.fixture(scope="module")
def db() -> Iterator[Database]:
    with gdb.connect() as made:
        made.execute(
            "UNWIND range(1, 60) AS i CREATE (:P {id: i, name: 'n' + toString(i % 7), x: i % 5})"
        )
        made.execute(
            "MATCH (a:P), (b:P) WHERE (a.id * 7 + b.id * 3) % 11 = 0 AND a.id <> b.id "
            "CREATE (a)-[:K {at: (a.id * b.id) % 90}]->(b)"
        )
        made.execute("MATCH (a:P), (b:P) WHERE a.id = 2 * b.id CREATE (a)-[:L]->(b)")
        yield made


def lines(db: Database, text: str, way: Way) -> list[str]:
    with forced(way):
        db._statements.clear()
        return [str(line) for (line,) in db.execute(text, device="cpu")]


def operators(shown: list[str]) -> list[Line]:
    found = [LINE.match(line) for line in shown]
    return [
        Line(
            one["text"],
            one["how"],
            int(one["rows"].replace(",", "")) if one["rows"] is not None else None,
            one["merged"] is not None,
        )
        for one in found
        if one is not None and one["text"] != "Result"
    ]


def nests(shown: list[str]) -> list[list[str]]:
    """The plans of patterns."""
    found: list[list[str]] = []
    for line in map(str.strip, shown):
        if line.startswith("core: "):
            found.append([])
        if found and not (found[-1] and found[-1][-1].startswith("device: ")):
            found[-1].append(line)
    return found


# ---- the plans of patterns -----------------------------------------------------------------------


@pytest.mark.parametrize("word", ["EXPLAIN", "PROFILE"])
@pytest.mark.parametrize("name", PATTERNS)
def test_a_pattern_has_one_plan_with_and_without_with(db: Database, name: str, word: str) -> None:
    (want,) = nests(lines(db, f"{word} {PATTERNS[name]} {RETURN}", "chosen"))
    assert any(line.startswith("for c in ") for line in want)
    assert any(re.search(r"  =\d+$", line) for line in want) == (word == "PROFILE")
    several = f"{word} {PATTERNS[name]} WITH a, b, c UNWIND [1] AS u {RETURN}, u"
    for text in (f"{word} {PATTERNS[name]} {RETURN}", several):
        for way in WAYS:
            assert nests(lines(db, text, way)) == [want], (text, way)


def test_explain_says_that_rows_bind_a_pattern(db: Database) -> None:
    text = "EXPLAIN MATCH (a:P) WITH a UNWIND [1] AS u MATCH (a)-[:K]->(b) RETURN a.x, b.x, u"
    shown = [line.strip() for line in lines(db, text, "rows")]
    assert "match a, b: listed, from a of the rows" in shown
    assert len(nests(shown)) == 2


def test_the_sample_of_the_document_is_real() -> None:
    text = language_doc.LANGUAGE.read_text(encoding="utf-8")
    section = text.partition("### EXPLAIN and PROFILE")[2]
    sample = section.partition("<!-- profile -->\n```text\n")[2].partition("```")[0]
    query = next(x for x in section.splitlines() if x.startswith("PROFILE "))
    with language_doc.opened(text) as db:
        found = [str(line) for (line,) in db.execute(query, device="cpu")]
    assert [measured(line) for line in found] == [measured(x) for x in sample.splitlines()]


def measured(line: str) -> str:
    """A line without times and sizes."""
    if line.startswith(("milliseconds: ", "bytes read: ")):
        return line.partition(": ")[0]
    return re.sub(r"(, [\d.]+ ms)?(, [\d,]+ bytes)?$", "", line)


# ---- the operators -------------------------------------------------------------------------------


@pytest.mark.parametrize("text", QUERIES)
def test_every_operator_has_its_rows_on_every_way(db: Database, text: str) -> None:
    ways = {way: operators(lines(db, f"PROFILE {text}", way)) for way in WAYS}
    want = ways["rows"]
    assert want
    for way, found in ways.items():
        assert [one.text for one in found] == [one.text for one in want], way
        for one, other in zip(found, want, strict=True):
            assert one.merged or one.rows == other.rows, (way, one, other)
        assert not found[-1].merged
    assert not any(one.merged for one in want)
    answer = len(db.execute(text).fetchall())
    assert want[-1].rows == answer


@pytest.mark.parametrize("text", QUERIES)
def test_explain_shows_the_operators_of_profile(db: Database, text: str) -> None:
    for way in WAYS:
        planned = operators(lines(db, f"EXPLAIN {text}", way))
        ran = operators(lines(db, f"PROFILE {text}", way))
        assert [one.text for one in planned] == [one.text for one in ran]
        assert all(
            one.rows is None and not one.merged for one in planned if one.how != "in the nest"
        )


def test_the_ways_are_named(db: Database) -> None:
    text = "MATCH (a)-[r]->(b) RETURN a.name AS k, sum(r.at) AS s"
    hows = {way: {one.how for one in operators(lines(db, f"EXPLAIN {text}", way))} for way in WAYS}
    assert hows["chosen"] == {"compiled nest on cpu", "DuckDB on cpu"}
    assert hows["columns"] == {"compiled nest on cpu, DuckDB on cpu", "DuckDB on cpu"}
    assert hows["rows"] == {"compiled nest on cpu, rows on cpu", "rows on cpu"}


def test_time_and_memory_are_measured(db: Database) -> None:
    text = "PROFILE MATCH (a)-->(b)-->(c) RETURN a.name AS k, count(DISTINCT c) AS n"
    for way in WAYS:
        found = [LINE.match(line) for line in lines(db, text, way)]
        match, aggregate, *_ = [one for one in found if one is not None]
        for one in (match, aggregate):
            assert float(one["ms"]) >= 0.0, (way, one)
            assert int(one["held"].replace(",", "")) > 0, (way, one)


def test_what_is_expected_follows_from_the_plan(db: Database) -> None:
    text = (
        "EXPLAIN MATCH (a:P) UNWIND [1, 2, 3] AS u WITH a, u ORDER BY u LIMIT 100 RETURN count(*)"
    )
    for way in ("columns", "rows"):
        shown = [LINE.match(line) for line in lines(db, text, way)]
        expected = [one["expected"] for one in shown if one is not None]
        assert expected[:2] == ["60", "180"]
        assert expected[-2:] == ["1", "1"]
        assert "100" in expected


def expected(line: str) -> str:
    """The rows that EXPLAIN expects of an operator."""
    found = LINE.match(line)
    assert found is not None
    return found["expected"].replace(",", "")


def test_subgraphs_are_expected_once(db: Database) -> None:
    pattern = "(a)-[:K]-(b)-[:K]-(c)"
    many, classes = (
        float(expected(db.explain(f"MATCH {mode} {pattern} RETURN count(*)").splitlines()[1]))
        for mode in ("DIFFERENT NODES", "SUBGRAPHS")
    )
    assert many == pytest.approx(2 * classes, rel=0.01)


def test_a_query_that_writes_is_measured() -> None:
    with gdb.connect() as db:
        text = (
            "PROFILE UNWIND [1, 2] AS x CREATE (n:A {x: x}) WITH n MATCH (m:A) RETURN count(m) AS k"
        )
        found = operators([str(line) for (line,) in db.execute(text)])
        assert [one.rows for one in found][:2] == [2, 2]
        assert found[-1].rows == 1


def test_what_columns_fail_at_is_shown_as_it_ran(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    from gdb.errors import ArithmeticProblem
    from gdb.physical.columns import chain_run

    def fails(*_: object) -> object:
        return ArithmeticProblem("a number is too large")

    monkeypatch.setattr(chain_run, "try_chain", fails)
    text = "PROFILE MATCH (a)-->(b) WITH a, count(b) AS n MATCH (a)-->(c) RETURN n, count(c) AS m"
    shown = lines(db, text, "columns")
    assert "over rows: " in shown[0]
    assert "over columns it failed: a number is too large" in shown[0]
    assert all("rows on cpu" in one.how for one in operators(shown))
    assert not any(line.startswith("Result") for line in shown)


def test_a_tail_that_fails_at_a_value_is_shown_as_it_ran(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    from gdb.errors import ArithmeticProblem
    from gdb.physical.columns import chain_run

    def fails(*_: object) -> object:
        raise ArithmeticProblem("a number is too large")

    monkeypatch.setattr(chain_run, "over_embeddings", fails)
    text = "PROFILE MATCH (a)-->(b) RETURN a.name AS k, sum(b.x) AS s"
    shown = lines(db, text, "chosen")
    assert "over columns it failed: a number is too large" in shown[0]
    match, *_ = operators(shown)
    assert (match.how, match.rows) == ("compiled nest on cpu, rows on cpu", 353)


def test_a_tail_of_one_select_has_the_figures_on_its_last_operator(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    from gdb.errors import NotSupported
    from gdb.physical.tail import TailCompiler

    def refuses(*_: object) -> object:
        raise NotSupported("it is one SELECT only.")

    monkeypatch.setattr(TailCompiler, "by_operator", refuses)
    text = "PROFILE MATCH (a)-->(b) RETURN a.name AS k, sum(b.x) AS s ORDER BY s LIMIT 3"
    match, *behind, last = operators(lines(db, text, "chosen"))
    assert match.rows == 353
    assert all(one.merged for one in behind)
    assert last.rows == 3


# ---- many queries --------------------------------------------------------------------------------

ENDS = [
    "MATCH (a)-->(b) RETURN DISTINCT a",
    "MATCH (a)-->(b) RETURN DISTINCT a.x, a LIMIT 1000",
    "MATCH (a)-->(b) WITH DISTINCT a WHERE a.x > 1 RETURN count(*)",
    "MATCH (a)-->(b) RETURN count(DISTINCT a)",
    "MATCH (a)-->(b) RETURN a, b LIMIT 5",
    "MATCH (a)-->(b) WITH a, b ORDER BY a.x, b.id LIMIT 4 RETURN a.name, b.id ORDER BY b.id",
    "MATCH (a)-->(b) WITH a.x AS x, count(*) AS n WITH x, n WHERE n > 3 RETURN max(n), min(x)",
    "MATCH (a)-->(b) WHERE a.x + b.x = b.id % 7 RETURN *",
]


@pytest.mark.parametrize("text", ENDS)
def test_the_last_operator_makes_the_answer(db: Database, text: str) -> None:
    answer = len(db.execute(text).fetchall())
    for way in WAYS:
        found = operators(lines(db, f"PROFILE {text}", way))
        assert found[-1].rows == answer, way


@pytest.mark.parametrize("seed", range(share(4)))
def test_random_queries_make_the_same_rows_on_every_way(seed: int) -> None:
    values = {"ints": [1, 2, 5], "strs": ["a", "é"]}
    with gdb.connect() as db:
        for text, given in graph_queries(random.Random(seed)):
            db.execute(text, given)
        for number in range(6):
            chance = random.Random(1000 * seed + number)
            text = (Queries(chance) if number % 2 else Counts(chance)).text()
            answer = len(db.execute(text, values).fetchall())
            made: list[list[Line]] = []
            for way in ("columns", "rows"):
                with forced(way):
                    shown = [str(line) for (line,) in db.execute(f"PROFILE {text}", values)]
                made.append(operators(shown))
                assert "UNION" in text or made[-1][-1].rows == answer, (way, text)
            for one, other in zip(*made, strict=True):
                assert one.merged or "LIMIT" in text or one.rows == other.rows, (text, one, other)
