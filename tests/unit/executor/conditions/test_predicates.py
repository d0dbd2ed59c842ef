"""Predicates on one element give the vids and edge ids that satisfy them."""

from __future__ import annotations

import numpy as np
import pytest

from gdb.errors import TypeProblem
from gdb.executor.conditions.predicates import matching_edges, matching_vertices
from gdb.executor.relational.relational_tail import Value
from tests.support.small_snapshot import small_snapshot

BOTH = (1, 0)  # out of order on purpose: what passes is ascending all the same


def asked(condition: str) -> str:
    return f"SELECT element FROM elements WHERE {condition}"


@pytest.mark.parametrize(
    ("keys", "condition", "parameters", "vids"),
    [
        ({"x": "age"}, "x > $p0", {"p0": 2}, [0, 2, 4, 5]),
        ({"x": "age"}, "x IS NULL", {}, [1]),
        ({"x": "age"}, "NOT x > $p0", {"p0": 2}, [3]),
        ({"x": "age", "n": "name"}, "x > $p0 OR n = $p1", {"p0": 35, "p1": "bé"}, [1, 5]),
        ({"x": "ok"}, "x", {}, [3]),
        ({"x": "nothing"}, "x = 1", {}, []),
        ({"x": "nothing"}, "x IS NULL", {}, [0, 1, 2, 3, 4, 5]),
        ({}, "$p0", {"p0": True}, [0, 1, 2, 3, 4, 5]),
        ({}, "$p0", {"p0": False}, []),
        ({"x": "name"}, "x IN ($p0, $p1)", {"p0": "a", "p1": "d"}, [0, 5]),
    ],
)
def test_vertices(
    keys: dict[str, str], condition: str, parameters: dict[str, Value], vids: list[int]
) -> None:
    found = matching_vertices(small_snapshot(), BOTH, keys, asked(condition), parameters)
    assert found.dtype == np.uint32
    assert found.tolist() == vids


def test_an_integer_key_counts_as_float_where_another_group_has_floats() -> None:
    """10 / 4 is 2 for integers and 2.5 for floats; one key has one arithmetic."""
    found = matching_vertices(
        small_snapshot(), BOTH, {"x": "age"}, asked("typeof(x) = 'DOUBLE'"), {}
    )
    assert found.tolist() == [0, 1, 2, 3, 4, 5]


def test_no_groups_give_no_vertices() -> None:
    assert matching_vertices(small_snapshot(), (), {"x": "age"}, asked("x > 1"), {}).tolist() == []


@pytest.mark.parametrize(
    ("types", "condition", "eids"),
    [
        (("KNOWS",), "x >= 8", [1, 2]),
        (("LIKES", "KNOWS"), "x IS NULL", [3, 4]),
        (("KNOWS", "LIKES"), "true", [0, 1, 2, 3, 4]),
        (("UNKNOWN",), "true", []),
    ],
)
def test_edges(types: tuple[str, ...], condition: str, eids: list[int]) -> None:
    found = matching_edges(small_snapshot(), types, {"x": "since"}, asked(condition), {})
    assert found.dtype == np.int64
    assert found.tolist() == eids


def test_no_types_are_all_types_and_must_agree_on_the_kind() -> None:
    with pytest.raises(TypeProblem, match="since"):
        matching_edges(small_snapshot(), (), {"x": "since"}, asked("x = 1"), {})
