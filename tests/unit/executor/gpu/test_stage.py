"""What the host computes for a GPU, which needs none."""

from __future__ import annotations

from enum import IntEnum
from types import ModuleType

import numpy as np
import pytest

from gdb import planner
from gdb.executor.gpu import compiler, layout, special, stage, units
from gdb.executor.nest import tables
from gdb.executor.nest.prepare import Prepared, prepare
from gdb.executor.plan.embeddings import NO_COLUMNS
from gdb.executor.table_fields import ViewField
from gdb.query_graph import SUBGRAPHS, QueryEdge, QueryGraph, QueryVertex
from tests.support.small_graph import SmallGraph


def prepared(pairs: tuple[tuple[int, int], ...], n: int = 80) -> Prepared:
    """A pattern to be counted on a star with a clique at its hub."""
    edges = [("U", 0, x) for x in range(1, n)] + [("U", 1, 2), ("U", 1, 3), ("U", 2, 3)]
    graph = SmallGraph([()] * n, edges, frozenset("U"))
    vertices = (QueryVertex(),) * (1 + max(max(pair) for pair in pairs))
    query = QueryGraph(vertices, tuple(QueryEdge(a, b, ("U",)) for a, b in pairs), SUBGRAPHS)
    return prepare(planner.plan(query, graph, counting=True), graph)


TRIANGLE = ((0, 1), (0, 2), (1, 2))
CLIQUE = (*TRIANGLE, (0, 3), (1, 3), (2, 3))


@pytest.mark.parametrize("pairs", [TRIANGLE, CLIQUE, ((0, 1),)])
def test_units_hold_every_root_once(pairs: tuple[tuple[int, int], ...]) -> None:
    made = prepared(pairs)
    roots, first = units.work_units(made)
    assert first[0] == 0
    assert first[-1] == len(roots)
    assert (np.repeat(np.arange(len(made.roots)), np.diff(first)) == roots).all()


def test_units_made_in_parts_are_those_made_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made = prepared(TRIANGLE)
    whole = units.work_units(made)
    monkeypatch.setattr(units, "LEAST_AT_ONCE", 7)
    monkeypatch.setattr(units, "cores", lambda: 1 << 20)
    parts = units.work_units(made)
    assert [one.tolist() for one in whole] == [one.tolist() for one in parts]


def test_the_units_of_a_hub_are_many() -> None:
    for pairs in (TRIANGLE, CLIQUE):  # by the list of the tail, by the second loop
        made = prepared(pairs)
        assert (units.cut_node(made.tables) >= 0) == (made.tables.loops == 1)
        parts = np.diff(units.work_units(made)[1])
        assert parts.max() == -(-int(made.weights.each.max()) // units.PART) > 1


def test_devices_share_smaller_units(monkeypatch: pytest.MonkeyPatch) -> None:
    """And fewer, where they would be very many."""
    made = prepared(CLIQUE)
    most = int(made.weights.each.max())
    shared, _ = units.work_units(made, devices=2)
    assert np.bincount(shared).max() == -(-most // units.SHARED_PART)
    assert len(shared) <= units.at_most(made, 2)
    monkeypatch.setattr(units, "MOST_UNITS", made.work // 8)
    fewer, _ = units.work_units(made, devices=2)
    assert 1 < np.bincount(fewer).max() < np.bincount(shared).max() / 2
    monkeypatch.setattr(units, "MOST_UNITS", 1)
    assert (units.work_units(made, devices=2)[0] == units.work_units(made)[0]).all()


def test_the_state_of_a_block_fits() -> None:
    """At every limit at once: what a launch requests needs no permission of the device."""
    warps = layout.BLOCK_THREADS // layout.WARP_LANES
    words = layout.state_words(layout.MAX_LEVELS, layout.MAX_SETS)
    for marks in range(layout.MAX_LEVELS):
        filters = 4 * marks * stage.filter_words(marks, 0)
        own = 8 * (words + len(layout.TailField) * layout.MAX_LEVELS)
        assert warps * (own + filters) <= stage.SHARED
    assert 32 * stage.filter_words(1, 1 << 20) == layout.FILTER_BITS
    assert stage.filter_words(3, 1000) == 256


def test_the_job_is_no_larger_than_a_parameter_may_be() -> None:
    fields = len(layout.Job) + layout.MAX_VIEWS * len(ViewField)
    assert 8 * (fields + 3) <= 4096


def test_a_stage_asks_for_its_own_kernel_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """And goes on with the generic one while it is compiled, and where it cannot be."""
    own, asked = special.Kernel.__new__(special.Kernel), []
    own.function = None
    monkeypatch.setattr(special, "kernel_of", lambda placed: asked.append(placed) or own)
    monkeypatch.setattr(compiler, "generic", lambda ordinal, name, cold: (ordinal, name))
    placed = stage.Stage(prepared(TRIANGLE), stage.Share(0), NO_COLUMNS)
    generic = placed.function()
    assert not asked
    placed.prepared.spent[0] = 2 * special.WORTH
    assert placed.function() == placed.function() == generic
    assert asked == [placed]
    monkeypatch.setattr(own, "function", print)
    assert placed.function() is print


def test_a_deep_nest_gets_one_later(monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes long to compile."""
    placed = stage.Stage(prepared(TRIANGLE), stage.Share(0), NO_COLUMNS)
    placed.prepared.spent[0] = 2 * special.WORTH
    assert special.is_worth(placed)
    monkeypatch.setattr(special, "SOON", placed.tables.loops - 2)
    assert not special.is_worth(placed)
    placed.prepared.spent[0] = 5 * special.WORTH
    assert special.is_worth(placed)


@pytest.mark.parametrize("module", [layout, tables], ids=["layout", "tables"])
def test_no_two_fields_have_one_number(module: ModuleType) -> None:
    """An IntEnum takes the second for another name of the first, and says nothing."""
    fields = [f for f in vars(module).values() if isinstance(f, type) and issubclass(f, IntEnum)]
    assert fields
    for each in fields:
        assert len({*each.__members__.values()}) == len(each.__members__), each.__name__
