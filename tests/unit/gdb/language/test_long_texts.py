"""Texts that are long, deep or of many clauses: read in one pass, and stopped when their time is over."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from random import Random

import pytest

import gdb
from gdb import limits
from gdb.errors import GdbError, LimitExceeded, NameProblem, QueryError, QueryTimeout, TypeProblem
from gdb.language import mentioned_names
from gdb.language.checks import check
from gdb.language.clauses import Create, Match, Return, Unwind
from gdb.language.parser import parse
from gdb.language.syntax import Expression, ListLiteral
from gdb.logical import needed_properties
from gdb.logical.build import built
from gdb.logical.operators import Filter, Limit, Project
from gdb.physical.rows.limiting import stops
from gdb.run import columns_or_rows
from tests.support.effort import share


@pytest.fixture
def db() -> Iterator[gdb.Database]:
    with gdb.connect(limits={"MAX_QUERY_CHARACTERS": 10_000_000}) as db:
        yield db


LIST = f"RETURN [{', '.join(map(str, range(100_000)))}] AS list"
MANY = f"CREATE {', '.join(f'(:N {{x: {k}}})' for k in range(20_000))}"


def test_a_long_list(db: gdb.Database) -> None:
    assert db.execute(LIST).scalar() == list(range(100_000))


def test_the_places_in_a_long_list() -> None:
    (clause,) = parse(LIST).parts[0]
    assert isinstance(clause, Return)
    found = clause.items[0].expression
    assert isinstance(found, ListLiteral)
    assert [LIST[item.place.start : item.place.end] for item in found.items[::9_999]] == [
        str(k) for k in range(0, 100_000, 9_999)
    ]


def test_a_constant_list_is_another_in_each_row(db: gdb.Database) -> None:
    rows = db.execute("UNWIND [1, 2] AS x RETURN [1, 2, 3] AS list").fetchall()
    assert rows == [([1, 2, 3],), ([1, 2, 3],)]
    assert rows[0][0] is not rows[1][0]


class _Late(Exception):
    pass


@pytest.mark.parametrize("text", [LIST, MANY, "WITH 1 AS x " * 5_000 + "RETURN x"])
def test_reading_and_checking_stop_when_they_are_told(text: str) -> None:
    calls = 0

    def pulse() -> None:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise _Late

    with pytest.raises(_Late):
        parse(text, pulse)
    assert gc.isenabled()


@pytest.mark.parametrize("text", [MANY, "WITH 1 AS x " + "WITH x " * 3_000 + "RETURN x"])
def test_checking_stops_when_it_is_told(text: str) -> None:
    def pulse() -> None:
        raise _Late

    query = parse(text)
    with pytest.raises(_Late):
        check(query, (), pulse=pulse)


def test_a_timeout_holds_while_a_text_is_read(db: gdb.Database) -> None:
    with pytest.raises(QueryTimeout, match=r"timeout of 0.001 s"):
        db.execute(MANY, timeout=0.001)
    assert db.execute("MATCH (n) RETURN count(*)").scalar() == 0


@pytest.mark.parametrize("many", [500, 20_000])
def test_many_clauses(db: gdb.Database, many: int) -> None:
    assert db.execute("WITH 1 AS x " + "WITH x " * many + "RETURN x").scalar() == 1


_CLAUSES = (
    "MATCH (a)",
    "OPTIONAL MATCH (b)",
    "UNWIND [1] AS u",
    "WITH *",
    "WITH * LIMIT 3",
    "WITH * SKIP 1",
    "WITH * ORDER BY 1",
    "WITH DISTINCT *",
    "WITH count(*) AS n",
    "CREATE (c)",
)


@pytest.mark.parametrize("seed", range(share(50)))
def test_the_limit_that_each_operator_fills(seed: int) -> None:
    random = Random(seed)
    texts = [random.choice(_CLAUSES) for _ in range(6)] + ["RETURN 1 AS one LIMIT 2"]
    operators = built(parse(" ".join(texts)), {}).sides[0]
    passing = Match, Unwind, Project, Filter
    expected = []
    for start in range(len(operators)):
        found = None
        for k, operator in enumerate(operators[start:], start):
            if isinstance(operator, Limit) and operator.limit is not None:
                found = k if k > start else None
            if not isinstance(operator, passing):
                break
        expected.append(found)
    assert stops(operators) == expected


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("RETURN " + "+".join(["1"] * 9_000), 9_000),
        ("RETURN " + "-".join(["1"] * 9_000), -8_998),
        ("UNWIND [2] AS x RETURN " + "*".join(["x"] * 60), 2**60),
    ],
)
def test_long_chains_of_operators(db: gdb.Database, text: str, value: int) -> None:
    assert db.execute(text).scalar() == value


def test_a_long_chain_tells_where_it_failed(db: gdb.Database) -> None:
    text = "RETURN " + "+".join(["1"] * 2_000) + "+1/0"
    with pytest.raises(QueryError, match="divided by zero") as caught:
        db.execute(text)
    assert caught.value.column == text.index("1/0") + 1


# ---- limits of a database ------------------------------------------------------------------------


def test_limits_of_one_database() -> None:
    own = {"MAX_DEPTH": 3, "MAX_ROWS": 2, "MAX_QUERY_CHARACTERS": 200, "MAX_RETURN_ITEMS": 2}
    with gdb.connect(limits=own) as db, gdb.connect() as other:
        deep, rows = "RETURN ((((1))))", "UNWIND [1, 2, 3] AS x RETURN x"
        columns = "RETURN 1 AS a, 2 AS b, 3 AS c"
        for text in (deep, rows, columns, f"RETURN 1 {' ' * 200}"):
            with pytest.raises(LimitExceeded, match="connect"):
                db.execute(text)
            assert other.execute(text).fetchall()
        with pytest.raises(LimitExceeded, match="more than 2 rows"), db.stream(rows) as found:
            list(found)
        with db.snapshot() as held, pytest.raises(LimitExceeded, match="more than 2 rows"):
            held.execute(rows)
        with pytest.raises(LimitExceeded, match="more than 2 rows"), db.transaction() as tx:
            tx.execute(rows)


def test_limits_of_a_stream_hold_in_every_thread() -> None:
    with gdb.connect(limits={"MAX_ROWS": 50}) as db:
        db.execute("UNWIND range(1, 20) AS x CREATE (:N {x: x})-[:R]->(:M)")
        text = "MATCH (a)-->(b), (c)-->(d) RETURN id(a), id(d)"
        with pytest.raises(LimitExceeded, match="more than 50 rows"), db.stream(text) as found:
            list(found)


def test_the_seconds_of_one_database() -> None:
    endless = (
        "UNWIND range(1, 100000) AS x UNWIND range(1, 100000) AS y WITH x + y AS z RETURN count(z)"
    )
    with (
        gdb.connect(limits={"MAX_SECONDS": 0.001}) as db,
        pytest.raises(QueryTimeout, match=r"0.001"),
    ):
        db.execute(endless)


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"MAX_DEPHT": 3}, NameProblem),
        ({"MAX_DEPTH": "3"}, TypeProblem),
        ({"MAX_DEPTH": True}, TypeProblem),
        ({"MAX_DEPTH": 0}, QueryError),
        ({"MAX_DEPTH": 1.5}, QueryError),
        ([3], TypeProblem),
    ],
)
def test_what_is_no_limit(given: dict[str, float], error: type[GdbError]) -> None:
    with pytest.raises(error):
        gdb.connect(limits=given)


def test_a_limit_of_the_module_holds_where_a_database_has_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with gdb.connect(limits={"MAX_ROWS": 5}) as db:
        monkeypatch.setattr(limits, "MAX_DEPTH", 2)
        with pytest.raises(LimitExceeded, match="MAX_DEPTH"):
            db.execute("RETURN (((1)))")


def test_what_was_created_is_created(db: gdb.Database) -> None:
    assert isinstance(parse("CREATE (n)").parts[0][0], Create)
    db.execute(MANY)
    assert db.execute("MATCH (n:N) RETURN count(*), sum(n.x)").fetchall() == [
        (20_000, sum(range(20_000)))
    ]


def test_many_clauses_over_columns(db: gdb.Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """What an operator needs of its rows is found without looking at all that follow it."""
    looked = 0
    mentioned = mentioned_names.mentioned

    def counted(expression: Expression) -> frozenset[str]:
        nonlocal looked
        looked += 1
        return mentioned(expression)

    monkeypatch.setattr(columns_or_rows, "WAY", "columns")
    monkeypatch.setattr(needed_properties, "mentioned", counted)
    db.execute("CREATE (:N {x: 1}), (:N {x: 2})")
    found = db.execute("MATCH (n:N) WITH n.x AS x " + "WITH x, x + 1 AS y " * 300 + "RETURN sum(x)")
    assert (found.scalar(), found.summary.evaluator) == (3, "duckdb")
    assert looked < 10 * 300
