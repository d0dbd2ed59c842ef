"""Whether several GPUs share a query, or the first one runs all of it; on the emulator."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any, TypeVar

import pytest

from gdb.base.once import PerProcess
from gdb.executor.gpu import launch, stage
from gdb.executor.nest.prepare import Prepared
from gdb.executor.work.scheduler import Budget, Watch
from gdb.query_graph import SUBGRAPHS
from gdb.records import replace
from tests.emulated.emulator import Clock, absence, emulated
from tests.emulated.test_emulated import HOUSE, hubs, on_the_cpu, staged

pytestmark = pytest.mark.skipif(absence() is not None, reason=str(absence()))
T = TypeVar("T")


class Inline(Executor):
    """Has the other devices done before the first one begins: threads cannot share the emulator."""

    def submit(self, function: Callable[..., T], /, *given: Any, **named: Any) -> Future[T]:
        future: Future[T] = Future()
        future.set_result(function(*given, **named))
        return future


class OnTwo:
    """Counts on two devices; `shares` are those of the last run, one stage after the other on each device.

    seconds : that each launch takes by the clock, for a share of so many.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, seconds: dict[int, float]) -> None:
        self.shares: list[stage.Share] = []
        placed = launch._placed

        def noted(*given: Any, **named: Any) -> stage.Stage:
            self.shares.append(given[4])
            return placed(*given, **named)

        monkeypatch.setattr(launch, "_placed", noted)
        monkeypatch.setattr(launch, "_threads", PerProcess(Inline))
        monkeypatch.setattr(Clock, "seconds", lambda clock: seconds[self.shares[-1].of])
        for limit in ("LAUNCH_NANOSECONDS", "LONGEST_LAUNCH"):  # a run is one launch
            monkeypatch.setattr(launch, limit, 1 << 40)

    def devices(self, prepared: Prepared) -> list[int]:
        """Those that had a part in a run, whose count is right."""
        self.shares.clear()
        (found,) = launch.counts([prepared], Watch(None, None, None), Budget(), (0, 1))
        assert found == on_the_cpu(prepared)
        return sorted(share.ordinal for share in self.shares)


def expecting(steps: float) -> Prepared:
    """A stage of which so many steps are expected."""
    made = staged(HOUSE, SUBGRAPHS, hubs(90))
    notes = replace(made.plan.notes, steps=steps, bound=(0.0,))
    return replace(made, plan=replace(made.plan, notes=notes))


def test_a_short_query_stays_on_one_of_several_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before its first run by the estimate, then by what it took."""
    with emulated(worth=1e9):
        on = OnTwo(monkeypatch, {1: 0.5e-3, 2: 0.3e-3})
        short = expecting(1.0)
        assert [on.devices(short) for _ in range(2)] == [[0], [0]]
        long = expecting(1e9)  # a wrong estimate
        assert [on.devices(long) for _ in range(3)] == [[0, 1], [0], [0]]
        monkeypatch.undo()


def test_a_long_query_goes_to_several_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    with emulated(worth=1e9):
        on = OnTwo(monkeypatch, {1: 3e-3, 2: 2e-3})
        assert [on.devices(expecting(1e9)) for _ in range(2)] == [[0, 1], [0, 1]]
        short = expecting(1.0)  # a wrong estimate
        assert [on.devices(short) for _ in range(3)] == [[0], [0, 1], [0, 1]]
        monkeypatch.undo()


def test_the_quicker_one_of_one_and_several_devices_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One root has all the work: the second device only waits."""
    with emulated(worth=1e9):
        on = OnTwo(monkeypatch, {1: 3e-3, 2: 2.95e-3})
        made = expecting(1.0)
        assert [on.devices(made) for _ in range(4)] == [[0], [0, 1], [0], [0]]
        monkeypatch.undo()
