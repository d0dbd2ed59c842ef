"""A property that holds the user's ids is looked up in the id index, as long as it does."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import gdb
from gdb.executor.relational.relational_tail import Value
from gdb.language import pushdown

IDS = np.array([5, 7, 3, -2, 1 << 60])
NAMES = ["e", "g", "c", "é", "z" * 20]


@pytest.fixture
def db(tmp_path: Path) -> Iterator[gdb.Database]:
    with gdb.connect(tmp_path / "s") as db:
        with db.transaction() as tx:
            tx.add_nodes("N", IDS, {"key": IDS, "near": np.where(IDS == 3, 4, IDS)})
            tx.add_nodes("S", NAMES, {"key": NAMES}, id_space="names")
        db.compact()
        yield db


@pytest.fixture
def scans(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """One item for each time that columns were read."""
    found: list[str] = []
    scan = pushdown._with_properties

    def seen(*given: object) -> object:
        found.append("scan")
        return scan(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(pushdown, "_with_properties", seen)
    return found


@pytest.mark.parametrize(
    ("condition", "value", "expected"),
    [
        ("a.key = $v", 7, [7]),
        ("$v = a.key", 7.0, [7]),
        ("a.key IN [3, $v, null, 'e']", 5, [3, 5]),
        ("a.key IN $v", [1 << 60, 2.5, True, 3], [3, 1 << 60]),
        ("a.key = $v", "e", []),
        ("a.key = $v", None, []),
        ("a.key = $v AND a.key <> 7", -2, [-2]),
    ],
)
def test_found_as_ids(
    db: gdb.Database, scans: list[str], condition: str, value: Value, expected: list[int]
) -> None:
    rows = db.execute(f"MATCH (a:N) WHERE {condition} RETURN id(a)", {"v": value}).fetchall()
    assert sorted(rows) == [(number,) for number in expected]
    assert scans == (["scan"] if "AND" in condition else [])


def test_strings_are_ids_as_well(db: gdb.Database, scans: list[str]) -> None:
    assert db.execute("MATCH (a:S {key: 'é'}) RETURN id(a)").fetchall() == [("é",)]
    assert scans == []


def test_what_differs_from_one_id_is_a_property(db: gdb.Database, scans: list[str]) -> None:
    assert db.execute("MATCH (a:N {near: 4}) RETURN id(a)").fetchall() == [(3,)]
    assert scans == ["scan"]


def test_of_all_labels_only_where_all_have_it(db: gdb.Database, scans: list[str]) -> None:
    db.execute("CREATE (:O)")
    assert db.execute("MATCH (a:N|O) WHERE a.key = 7 RETURN count(*)").scalar() == 1
    assert scans == ["scan"]


@pytest.mark.parametrize(
    ("change", "scanned"),
    [
        ("MATCH (a:N {near: 7}) SET a.key = 5", True),
        ("MATCH (a:N {near: 7}) SET a.near = 5", False),
        ("MATCH (a:N {near: 5}) DETACH DELETE a", False),
        ("CREATE (:N {key: 5})", True),
    ],
)
def test_after_a_change(db: gdb.Database, scans: list[str], change: str, scanned: bool) -> None:
    count = "MATCH (a:N) WHERE a.key = 5 RETURN count(*)"
    assert db.execute(count).scalar() == 1
    db.execute(change)
    scans.clear()
    assert db.execute(count).scalar() == 1 + scanned - ("DELETE" in change)
    assert scans == ["scan"] * scanned


def test_added_with_the_property(db: gdb.Database, scans: list[str]) -> None:
    with db.transaction() as tx:
        tx.add_nodes("N", [100, 101], {"key": [100, 101], "near": [0, 0]})
    assert db.execute("MATCH (a:N) WHERE a.key IN [101, 7] RETURN count(*)").scalar() == 2
    assert scans == []
