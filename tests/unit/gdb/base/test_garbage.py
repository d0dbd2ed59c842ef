"""The collector runs more rarely while a query makes rows, and as before afterwards."""

from __future__ import annotations

import gc

import pytest

import gdb
from gdb.base import garbage
from gdb.physical.rows import object_graph


def test_while_rows_are_made_and_not_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    before = gc.get_threshold()
    seen: list[tuple[int, int, int]] = []
    create = object_graph.Graph.create_node

    def noted(*given: object) -> object:
        seen.append(gc.get_threshold())
        return create(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(object_graph.Graph, "create_node", noted)
    with gdb.connect() as db:
        db.execute("CREATE (:P {id: 1})")
        with pytest.raises(gdb.GdbError):
            db.execute("CREATE (:P {id: 1 / 0})")
    assert seen == [garbage.RARELY]
    assert gc.get_threshold() == before


def test_several_at_once_and_a_caller_who_has_other_plans() -> None:
    before = gc.get_threshold()
    with garbage.rarely():
        with garbage.rarely():
            assert gc.get_threshold() == garbage.RARELY
        assert gc.get_threshold() == garbage.RARELY
    assert gc.get_threshold() == before
    for mine in ((0, 10, 10), (1_000_000, 10, 10)):  # switched off, or rarer still
        gc.set_threshold(*mine)
        with garbage.rarely():
            assert gc.get_threshold() == mine
        assert gc.get_threshold() == mine
    gc.set_threshold(*before)
    with garbage.rarely():
        gc.set_threshold(5, 5, 5)  # by another thread: it stays
    assert gc.get_threshold() == (5, 5, 5)
    gc.set_threshold(*before)
