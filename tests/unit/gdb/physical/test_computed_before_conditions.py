"""A condition on a column of WITH leaves the errors of the other columns: every way raises them."""

from __future__ import annotations

import pytest

import gdb
from gdb import errors
from tests.support.ways import WAYS, Way, forced

FAILING = (
    "MATCH (a) WITH a.x AS x, 10 / a.x AS y, count(*) AS c WHERE x > 0 RETURN sum(y)",
    "MATCH (a) WITH a.x AS x, 10 / a.x AS y WHERE x <> 0 RETURN sum(y)",
    "MATCH (a) WITH DISTINCT a.x AS x, 10 / a.x AS y WHERE x <> 0 RETURN sum(y)",
    "MATCH (a) WITH a.x AS x, sum(10 / a.x) AS y WHERE x > 0 RETURN sum(y)",
)


@pytest.mark.parametrize("text", FAILING)
@pytest.mark.parametrize("way", WAYS)
def test_every_way_raises_the_error(text: str, way: Way) -> None:
    with gdb.connect() as db:
        db.execute("UNWIND range(0, 40) AS i CREATE (:A {x: i % 4})")
        with forced(way), pytest.raises(errors.ArithmeticProblem):
            db.execute(text).fetchall()
