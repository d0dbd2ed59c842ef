"""The collector runs more rarely while a query makes rows, and as before afterwards."""

from __future__ import annotations

import gc
import sys
from types import ModuleType

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


def _in_young_generations(one: object) -> bool:
    return any(one is other for n in (0, 1) for other in gc.get_objects(generation=n))


def test_what_loaded_modules_leave_is_old_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A collection of younger objects need not go through it; full ones still collect it."""
    gc.unfreeze()
    try:
        for loads in (False, True):
            with garbage.rarely():
                made: list[object] = []
                made.append(made)
                if loads:
                    monkeypatch.setitem(sys.modules, "loaded_meanwhile", ModuleType("loaded"))
            assert _in_young_generations(made) is not loads
            assert not gc.get_freeze_count()
            del made
            assert gc.collect()
    finally:
        gc.freeze()  # as conftest.py has it


def test_frozen_objects_stay_frozen(monkeypatch: pytest.MonkeyPatch) -> None:
    gc.freeze()
    frozen = gc.get_freeze_count()
    with garbage.rarely():
        monkeypatch.setitem(sys.modules, "loaded_meanwhile", ModuleType("loaded"))
    assert gc.get_freeze_count() >= frozen - 1_000 > 0  # fewer: what died since
