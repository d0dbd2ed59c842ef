"""ORDER BY a column of the embeddings and LIMIT: rows that cannot be among the first ones are left out as they are
found, and the answer is that of all rows."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import date, datetime, timedelta
from typing import Any

import numpy as np
import pytest

import gdb
from gdb import Database
from gdb.errors import DeviceError
from gdb.executor import run as executor_run
from gdb.executor.cpu import launch
from gdb.executor.plan.embeddings import Embeddings
from gdb.executor.relational import top_rows
from gdb.executor.relational.top_rows import TopRows, ranks_of
from gdb.storage.columns.model import Column, PropertyValue
from gdb.storage.columns.python_columns import column_of
from tests.support.effort import share
from tests.support.ways import forced

NAN = float("nan")
VALUES: dict[str, list[PropertyValue]] = {
    "int64": [0, 1, -1, 2**62, -(2**63), 2**63 - 1, 7],
    "float64": [0.0, -0.0, 1.5, -1.5, float("inf"), float("-inf"), NAN, 5e-324, -1e300],
    "string": ["", "a", "ab", "abcdefgh", "abcdefghi", "abcdefgj", "é", "\U0001f600", "z", "a\x00"],
    "date": [date(1970, 1, 1), date(1, 1, 1), date(9999, 12, 31), date(2024, 2, 29)],
    "datetime": [datetime(1969, 12, 31, 23), datetime(2024, 2, 29, 1, 2, 3, 4)],
    "duration": [timedelta(0), timedelta(days=-3), timedelta(microseconds=1)],
    "bool": [True, False],
}


@pytest.fixture(scope="module")
def db() -> Iterator[Database]:
    """Nodes and relationships with a property of each kind, some without it."""
    chance, nodes = random.Random(1), 60
    with gdb.connect() as made:
        with made.transaction() as tx:
            for name, ids in (("A", range(40)), ("B", range(40, nodes))):
                columns = {
                    kind: [chance.choice([*values, None]) for _ in ids]
                    for kind, values in VALUES.items()
                    if name == "A" or kind != "date"
                }
                tx.add_nodes(name, list(ids), {"i": list(ids), **columns})
            ends = [(chance.randrange(nodes), chance.randrange(nodes)) for _ in range(300)]
            tx.add_relationships(
                "R",
                [a for a, _ in ends],
                [b for _, b in ends],
                {
                    kind: [chance.choice([*values, None]) for _ in ends]
                    for kind, values in VALUES.items()
                },
            )
        yield made


@pytest.fixture
def picked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """The rows that came and those that were left, of each block of few; no run is short."""
    found: list[tuple[int, int]] = []
    pick = TopRows.pick

    def seen(self: TopRows, some: Embeddings) -> Embeddings:
        left = pick(self, some)
        found.append((len(some), len(left)))
        return left

    monkeypatch.setattr(TopRows, "pick", seen)
    monkeypatch.setattr(launch, "ROWS", 64)
    monkeypatch.setattr(launch.deliver_rows, "__defaults__", (0, 64))
    monkeypatch.setattr(executor_run, "short_run", lambda *_, **__: None)
    return found


def order(chance: random.Random) -> tuple[str, str]:
    """An ORDER BY and what is returned for it."""
    kind = chance.choice(list(VALUES))
    key = f"{chance.choice(['a', 'b', 'c', 'r'])}.{kind}"
    way = chance.choice(["", " DESC", " NULLS FIRST", " DESC NULLS LAST", " ASC"])
    cut = chance.choice(["LIMIT 1", "LIMIT 5", "SKIP 3 LIMIT 4", "LIMIT 200", "SKIP 1 LIMIT 0"])
    return key, f"ORDER BY {key}{way}, a.i, b.i, c.i DESC, id(r) {cut}"


PATTERNS = (
    "MATCH (a)-[r]->(b)-[s]->(c)",
    "MATCH (a:A)-[r]->(b), (b)-->(c:A)",
    "MATCH (a)-[r]-(b) WITH a AS c, b AS a, r, b",
    "MATCH (b)<-[r]-(a) OPTIONAL MATCH (b)-->(c:A) WHERE c.i > b.i",
)


@pytest.mark.parametrize("seed", range(share(40)))
def test_the_first_rows_are_those_of_all(
    db: Database, picked: list[tuple[int, int]], seed: int
) -> None:
    chance = random.Random(seed)
    for pattern in PATTERNS:
        key, cut = order(chance)
        text = f"{pattern} RETURN a.i, b.i, c.i, id(r), {key} {cut}"
        found = [*map(repr, db.execute(text))]
        with forced("rows"):
            assert found == [*map(repr, db.execute(text))], text


def test_most_rows_are_left_out(db: Database, picked: list[tuple[int, int]]) -> None:
    db.execute("MATCH (a)-->(b)-->(c)-->(d) RETURN a.i, d.i ORDER BY b.string, a.i LIMIT 3")
    came, left = (sum(one) for one in zip(*picked, strict=True))
    assert max(many for many, _ in picked) <= 64
    assert came > 4000
    assert left < came / 4


def test_ranks_by_vid_are_those_of_the_column(
    db: Database, picked: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "MATCH (a)-->(b)-->(c)-->(d) RETURN a.i, d.i ORDER BY c.float64 DESC, a.i, d.i LIMIT 7"
    found = db.execute(text).fetchall()
    monkeypatch.setattr(top_rows, "MOST_KEPT", 0)
    assert db.execute(text).fetchall() == found


def test_explain_names_it(db: Database) -> None:
    text = "MATCH (a)-->(b) RETURN a.i ORDER BY b.int64 SKIP 2 LIMIT 3"
    assert "keeps the first 5 rows in order" in db.explain(text)
    for other in (
        "MATCH (a)-->(b) RETURN a.i ORDER BY b.int64 + 1 LIMIT 3",
        "MATCH (a)-->(b) RETURN DISTINCT a.i, b.int64 AS x ORDER BY x LIMIT 3",
        "MATCH (a)-->(b) WITH a.i AS i, count(*) AS n ORDER BY n LIMIT 3 RETURN i",
        "MATCH (a)-->(b) RETURN a.i ORDER BY b.int64",
    ):
        assert "rows in order" not in db.explain(other)


def test_profile_counts_all_rows(db: Database) -> None:
    text = "PROFILE MATCH (a)-->(b) RETURN a.i ORDER BY b.int64 LIMIT 3"
    lines = [line for (line,) in db.execute(text)]
    assert any(line.startswith("Project") and "=300 rows" in line for line in lines)


@pytest.mark.parametrize("memory", ["64MB", None])
def test_a_parameter_is_the_limit_of_its_run(
    db: Database, picked: list[tuple[int, int]], memory: str | None
) -> None:
    text = (
        "MATCH (a)-->(b)-->(c) RETURN a.i, b.i, c.i ORDER BY a.int64 DESC, a.i, b.i, c.i LIMIT $n"
    )
    every = db.execute(text, {"n": 10_000}).fetchall()
    for n in (3, 50, 1, 7):
        assert db.execute(text, {"n": n}, memory=memory).fetchall() == every[:n]


@pytest.mark.parametrize("kind", VALUES)
def test_ranks_are_in_the_order_of_the_values(kind: str) -> None:
    chance = random.Random(3)
    values = [chance.choice(VALUES[kind]) for _ in range(200)]
    column = column_of(values)
    assert column.kind == kind
    ranks = ranks_of(column).tolist()
    with gdb.connect() as db:
        ordered = db.execute(
            "UNWIND range(0, size($v) - 1) AS i RETURN i ORDER BY $v[i]", {"v": values}
        )
        places = [i for (i,) in ordered]
    assert [ranks[i] for i in places] == sorted(ranks)
    assert len({*ranks}) >= min(len({*map(repr, values)}) - 3, 2)


def test_ranks_of_equal_floats_are_equal() -> None:
    low, high = ranks_of(Column("float64", np.array([-0.0, 0.0])))
    assert low == high
    one, other = ranks_of(Column("float64", np.array([NAN, -NAN])))
    assert one == other


def test_a_run_that_is_begun_again_on_the_cpu_sees_each_row_once(
    db: Database, picked: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A GPU that fails behind its first rows leaves nothing that these are compared with."""
    text = "MATCH (a)-->(b)-->(c) RETURN a.i, b.i, c.i ORDER BY a.i, b.i, c.i LIMIT 150"
    expected = db.execute(text).fetchall()
    many = sum(many for many, _ in picked)
    deliver, failed = executor_run._GraphRun._deliver, list[bool]()

    def fail(run: Any, *arguments: Any) -> None:
        deliver(run, *arguments)
        if not failed:
            failed.append(True)
            run.options.ran = "cuda:0"
            raise DeviceError("GPU 0 failed.", ".")

    monkeypatch.setattr(executor_run._GraphRun, "_deliver", fail)
    assert db.execute(text).fetchall() == expected
    assert failed
    assert sum(many for many, _ in picked) == 3 * many
