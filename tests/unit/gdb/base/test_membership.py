"""IN over lists that come again."""

from __future__ import annotations

import datetime
import math
import random

import pytest

import gdb
from gdb.base.allowance import Allowance
from gdb.base.values import membership
from gdb.base.values.comparison import equal
from gdb.base.values.elements import NodeValue, PathValue, RelationshipValue
from gdb.base.values.kinds import Value

NODES = [NodeValue(k) for k in range(3)]
EDGE = RelationshipValue(0, "T", NODES[0], NODES[1])
VALUES: list[Value] = [
    *(None, True, False, 0, 1, 1.0, 0.0, -0.0, 2**53, 2**53 + 1, float(2**53), math.nan, math.inf),
    *("", "1", "a", [], [1], [1.0], [None], [1, None], [[None]], [math.nan], {}, {"a": 1}),
    *({"a": None}, {"a": 1.0}, *NODES, EDGE, PathValue((NODES[0],), ())),
    *(
        PathValue((NODES[0], NODES[1]), (EDGE,)),
        datetime.date(2020, 1, 1),
        datetime.date(2020, 1, 2),
    ),
]


def _in(item: Value, values: list[Value]) -> bool | None:
    answers = [equal(item, value) for value in values]
    return True if True in answers else None if None in answers else False


@pytest.mark.parametrize("seed", range(30))
def test_it_is_as_going_through_the_list(seed: int) -> None:
    draw = random.Random(seed)
    values = draw.choices(draw.sample(VALUES, draw.randrange(1, 12)), k=20)
    with Allowance():
        for item in VALUES * 3:
            assert membership.is_contained(item, values) is _in(item, values), (item, values)
    for some in (values, values[:3], []):
        find = membership.ListMembers(some).find
        assert [find(item) for item in VALUES] == [_in(item, some) for item in VALUES]


def test_lists_are_held_until_the_work_ends() -> None:
    lists: list[list[Value]] = [[*range(20)] for _ in range(10)]
    with Allowance() as allowance:
        for _ in range(3):
            with allowance:
                assert membership.is_contained(3, lists[0])
        assert allowance.kept > 0
        for _ in range(3):
            assert all(membership.is_contained(3, one) for one in lists)
        assert allowance.remembered is not None
        assert len(allowance.remembered) <= membership.MOST
    assert allowance.kept == 0
    assert allowance.remembered is None
    assert membership.is_contained(3, lists[0])


def test_a_list_is_gone_through_where_there_is_no_memory_for_more() -> None:
    values: list[Value] = [*range(1000)]
    with Allowance(1000) as allowance:
        assert all(membership.is_contained(item, values) for item in (1, 2, 3))
        assert allowance.kept == 0


@pytest.mark.parametrize(
    "text",
    [
        "MATCH (a:N) WITH collect(a) AS l MATCH (b:N)-[:T]->(c) WHERE b IN l RETURN count(*)",
        "MATCH (a:N) WITH collect(a) AS l UNWIND l AS x WITH x, l WHERE x IN l RETURN count(*)",
        "MATCH (a:N) WITH collect(a) AS l RETURN size([x IN l WHERE x IN l])",
        "MATCH (a:N) WITH collect(a.i) AS l RETURN size([x IN l WHERE x IN l])",
        "MATCH (a:N) WITH collect(a) AS l MATCH (b:N) WHERE NOT b IN l[1..] RETURN 500 * count(*)",
    ],
)
def test_nodes_and_numbers_in_a_collected_list(text: str) -> None:
    with gdb.connect() as db:
        db.execute("UNWIND range(1, 500) AS i CREATE (:N {i: i})-[:T]->(:M)")
        assert db.execute(text).scalar() == 500
