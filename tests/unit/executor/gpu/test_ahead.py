"""What a first query reads of a large graph goes to its GPU while it is planned, if all of it will be read there."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import gdb
from gdb.errors import DeviceError
from gdb.executor.gpu import ahead, device
from gdb.storage.format.direction import Direction
from gdb.storage.graph.adjacency import Adjacency

TRIANGLE = "MATCH (a)-[:R]-(b)-[:R]-(c)-[:R]-(a) RETURN count(*)"


@pytest.fixture
def db(tmp_path: Path) -> gdb.Database:
    (tmp_path / "edges.csv").write_text(":START_ID,:END_ID,:TYPE\n1,2,R\n1,3,R\n2,3,R\n2,4,S\n")
    db = gdb.connect(tmp_path / "ahead.gdb")
    db.load(edges=tmp_path / "edges.csv")
    return db


@pytest.fixture
def copied(monkeypatch: pytest.MonkeyPatch) -> list[tuple[tuple[int, ...], Adjacency]]:
    """What is copied ahead; a query that comes to run finds no device."""
    found = list[tuple[tuple[int, ...], Adjacency]]()
    monkeypatch.setattr(device, "begin", lambda ordinal: None)
    monkeypatch.setattr(device, "absence", lambda: "there is none")

    def copy(ordinals: tuple[int, ...], direction: Direction, adjacency: Adjacency) -> None:
        if adjacency.direction is direction:
            found.append((ordinals, adjacency))

    monkeypatch.setattr(ahead, "copy_ahead", copy)
    return found


def test_what_is_read_is_copied_once(
    db: gdb.Database, copied: list[tuple[tuple[int, ...], Adjacency]]
) -> None:
    for text in (TRIANGLE, TRIANGLE.replace("count(*)", "count(*) + 1")):
        with pytest.raises(DeviceError, match="there is none"):
            db.execute(text, device="cuda:0,2")
    assert [(of, one.types, len(one.neighbours)) for of, one in copied] == [((0, 2), ("R",), 6)]


@pytest.mark.parametrize(
    ("text", "options"),
    [
        (TRIANGLE.replace("]-", "]->"), {}),
        (TRIANGLE.replace("[:R]", "[:S]", 1), {}),
        (TRIANGLE.replace("(b)", "(b:P)"), {}),
        (TRIANGLE.replace("RETURN", "WHERE b.x = 1 RETURN"), {}),
        (TRIANGLE, {"gpu_memory": 1 << 30}),
        (TRIANGLE, {"memory": 1 << 30}),
    ],
    ids=["directed", "two types", "label", "predicate", "gpu_memory", "memory"],
)
def test_what_may_not_all_be_read_is_not(
    db: gdb.Database,
    copied: list[tuple[tuple[int, ...], Adjacency]],
    text: str,
    options: dict[str, Any],
) -> None:
    with pytest.raises(DeviceError, match="there is none"):
        db.execute(text, device="cuda", **options)
    assert copied == []


def test_what_does_not_run_there_is_not(
    db: gdb.Database, copied: list[tuple[tuple[int, ...], Adjacency]]
) -> None:
    assert db.execute(TRIANGLE, device="cpu").scalar() == 6
    db.execute(TRIANGLE.replace("count(*)", "count(*) + 1"))
    assert copied == []


@pytest.mark.parametrize("text", [TRIANGLE, f"COPY ({TRIANGLE}) TO 'n.csv'"])
def test_what_is_explained_is_not(
    db: gdb.Database, copied: list[tuple[tuple[int, ...], Adjacency]], text: str
) -> None:
    for show in (db.explain, lambda text, device: db.execute(f"EXPLAIN {text}", device=device)):
        with suppress(DeviceError):
            show(text, device="cuda")
    assert copied == []
