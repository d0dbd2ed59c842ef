"""The work units that the device makes are those of the host."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import numpy as np
import pytest

from gdb.executor.gpu import memory, residency, stage, unit_placing, units
from gdb.executor.gpu.layout import Job
from gdb.query_graph import SUBGRAPHS
from tests.emulated.emulator import absence, emulated
from tests.emulated.test_emulated import count, hubs, long_lists, on_the_cpu, staged
from tests.support.small_graph import SmallGraph
from tests.unit.executor.nest.test_neighbourhood import Pairs, clique

pytestmark = pytest.mark.skipif(absence() is not None, reason=str(absence()))
PATH: Pairs = ((0, 1), (1, 2), (2, 3))
TAILED: Pairs = ((0, 1), (1, 2), (0, 2), (2, 3))


@pytest.mark.parametrize("most", [residency.MOST, 9_000, 2_000], ids=["whole", "lower", "cold"])
@pytest.mark.parametrize("graph", [hubs, long_lists])
@pytest.mark.parametrize("pairs", [clique(3), clique(4), PATH, TAILED], ids=str)
def test_units_of_the_device(
    pairs: Pairs, graph: Callable[[], SmallGraph], most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(residency, "MOST", most)
    monkeypatch.setattr(residency, "GAIN", 0.0)  # no passes, whose units the host makes
    monkeypatch.setattr(unit_placing, "LEAST", 1)
    prepared = staged(pairs, SUBGRAPHS, graph())
    with emulated():
        assert count(prepared) == on_the_cpu(prepared) > 0
        made = memory.KEPT.take(prepared.idle["gpu"], lambda one: True)
        assert isinstance(made, stage.Stage)
        sizes = unit_placing.list_sizes(made.graph)
        known, first = units.work_units(prepared, sizes, cold=made.graph.cold)
        at = made.job[[Job.UNIT_ROOTS, Job.FIRST_UNIT]].tolist()
        arrays: tuple[np.ndarray, ...] = (known, first)
        for address, expected in zip(at, arrays, strict=True):
            found = np.empty_like(expected)
            ctypes.memmove(found.ctypes.data, address, found.nbytes)
            assert np.array_equal(found, expected)
        assert made.job[Job.UNITS] == len(known)


def test_few_roots_are_cut_on_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    there = list[int]()
    make = unit_placing._made_there
    monkeypatch.setattr(
        unit_placing, "_made_there", lambda *all_: (there.append(1), make(*all_))[1]
    )
    for least, times in ((700, 0), (1, 1)):
        monkeypatch.setattr(unit_placing, "LEAST", least)
        prepared = staged(clique(3), SUBGRAPHS, hubs())
        with emulated():
            assert count(prepared) == on_the_cpu(prepared)
        assert len(there) == times
