"""Which device runs a plan."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import pytest

from gdb import planner
from gdb.errors import DeviceError, LimitExceeded, QueryTimeout
from gdb.executor import choose_device, reference, run
from gdb.executor.choose_device import Work, choose, gpu_seconds, shown
from gdb.executor.cpu import launch
from gdb.executor.cpu.workers import Worker
from gdb.executor.gpu import device
from gdb.executor.gpu import launch as gpu
from gdb.executor.gpu.residency import NoRoom
from gdb.executor.nest.prepare import Prepared, stage
from gdb.executor.plan.plan import Plan, Runs
from gdb.executor.run import Options
from gdb.executor.work.scheduler import Budget, Elsewhere, Guard, Watch
from gdb.query_graph import QueryEdge, QueryGraph, QueryVertex
from gdb.records import replace
from tests.support.small_graph import SmallGraph

TRIANGLE = ((0, 1), (1, 2), (0, 2))


def complete(n: int) -> SmallGraph:
    return SmallGraph([()] * n, [("R", a, b) for a in range(n) for b in range(n) if a != b])


def question(pairs: tuple[tuple[int, int], ...]) -> QueryGraph:
    vertices = tuple(QueryVertex() for _ in range(1 + max(max(p) for p in pairs)))
    return QueryGraph(vertices, tuple(QueryEdge(a, b) for a, b in pairs))


GRAPH = complete(30)


def counting(steps: float | None) -> Plan:
    """A plan that counts triangles in so many expected steps."""
    made = planner.plan(question(TRIANGLE), GRAPH, counting=True)
    return replace(made, notes=replace(made.notes, steps=steps), stages={}, runs=Runs())


# ---- several GPUs ---------------------------------------------------------------------------------------------


@pytest.fixture
def two_gpus(some_gpu: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two of them."""
    monkeypatch.setattr(device, "require", lambda _: None)


@pytest.mark.usefixtures("two_gpus")
def test_a_short_run_is_shared_by_several_gpus_where_that_is_quicker() -> None:
    plan, name = counting(1.0), "cuda:1,0"
    assert choose(plan, name, GRAPH).ordinals == (1, 0)
    plan.runs.add(name, 5e-3)  # the first run places the graph
    assert choose(plan, name, GRAPH).ordinals == (1, 0)
    plan.runs.add(name, 3e-4)
    for seconds in (4e-3, 2e-4, 5e-4):  # so does the first by itself
        assert choose(plan, name, GRAPH).ordinals == (1,)
        plan.runs.add("cuda:1", seconds)
    assert choose(plan, name, GRAPH).ordinals == (1,)
    plan.runs.add(name, 1e-4)  # by another query that shares the plan, say
    assert choose(plan, name, GRAPH).ordinals == (1, 0)


@pytest.mark.usefixtures("two_gpus")
def test_a_long_run_is_shared_by_all_gpus() -> None:
    plan, name = counting(1.0), "cuda:0,1"
    plan.runs.add(name, 5e-3)
    plan.runs.add("cuda:0", 1e-3)
    assert choose(plan, name, GRAPH).ordinals == (0, 1)


# ---- the choice ----------------------------------------------------------------------------------------------


def test_a_device_that_is_not_there_is_refused() -> None:
    with pytest.raises(DeviceError, match="no device 'tpu'"):
        choose(counting(1.0), "tpu", GRAPH)


@pytest.mark.parametrize("text", ["cpu", "CPU"])
def test_the_cpu_is_asked_for(text: str) -> None:
    assert choose(counting(1e12), text, GRAPH).why == "requested"


def test_a_process_that_uses_no_gpu_does_not_begin_to_for_a_short_query(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def never() -> None:
        raise AssertionError

    monkeypatch.setattr(device, "was_queried", lambda: False)
    monkeypatch.setattr(device, "absence", never)
    assert choose(counting(1e5), "auto", GRAPH).device == "cpu"


def test_a_long_query_begins_to_use_one(some_gpu: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "was_queried", lambda: False)
    monkeypatch.setattr(choose_device, "SPREAD", 1000)  # the graph is small
    assert choose(counting(1e12), "auto", GRAPH).device == "cuda:0"


def test_where_there_is_no_gpu_the_reason_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "absence", lambda: "there is none")
    choice = choose(counting(1e12), "auto", GRAPH)
    assert (choice.device, choice.why) == ("cpu", "there is none")


@pytest.mark.usefixtures("some_gpu")
def test_the_expected_seconds_decide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choose_device, "cores", lambda: 3)  # a long run of few roots is shared too
    assert choose(counting(1e3), "auto", GRAPH).device == "cpu"
    choice = choose(counting(1e9), "auto", GRAPH)
    assert choice.device == "cuda:0"
    assert "about 5 s on the CPU, about 1" in choice.why


@pytest.mark.usefixtures("some_gpu")
def test_what_has_to_be_moved_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = counting(1e6)
    assert choose(plan, "auto", GRAPH).device == "cuda:0"
    monkeypatch.setattr(choose_device, "LINK", 1e4)
    assert choose(plan, "auto", GRAPH).device == "cpu"


@pytest.mark.usefixtures("some_gpu")
def test_what_has_no_room_is_moved_in_every_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choose_device, "LINK", 1e5)
    monkeypatch.setattr(choose_device, "SPREAD", 1000)  # the graph is small
    plan, size = counting(1e9), stage(counting(None), GRAPH).bytes
    assert 0 < size / 1e5 < 0.2
    assert choose(plan, "auto", GRAPH).device == "cuda:0"
    stage(plan, GRAPH).idle["gpu"].append(object())  # it lies there, as far as there is room
    choices = [choose(plan, "auto", GRAPH, gpu_memory=room) for room in (size, 0)]
    seconds = [float(choice.why.split("about ")[-1].split(" ms")[0]) for choice in choices]
    assert seconds[1] - seconds[0] == pytest.approx(1e3 * size / 1e5, rel=0.05)


@pytest.mark.usefixtures("quick_gpu")
def test_rows_with_a_limit_begin_on_the_cpu() -> None:
    plan = planner.plan(question(TRIANGLE), GRAPH, counting=False)
    assert choose(plan, "auto", GRAPH, limit=10, runs=True).device == "cpu"
    assert choose(plan, "auto", GRAPH, runs=True).device == "cuda:0"


@pytest.mark.usefixtures("quick_gpu")
def test_a_gpu_is_tried_for_some_rows_that_took_the_cpu_long() -> None:
    plan, chosen = planner.plan(question(TRIANGLE), GRAPH, counting=False), []
    plan.runs.add("cpu", 0.04)  # of the first run, which nothing chooses
    for _ in range(150):
        choice = choose(plan, "auto", GRAPH, limit=10, runs=True)
        chosen.append(choice.device)
        plan.runs.add(choice.device, 0.04 if choice.device == "cpu" else 0.4)
    # slower there: left, tried again since the first try is slow anyway, and then once that is cheap
    first, second, third = (k for k, name in enumerate(chosen) if name == "cuda:0")
    assert 20 <= second - first <= 22
    assert third - second > 80
    plan.runs.add("cuda:0", 0.01)
    assert choose(plan, "auto", GRAPH, limit=10, runs=True).device == "cuda:0"


def test_a_long_run_gets_a_kernel_of_its_own() -> None:
    prepared = stage(counting(None), GRAPH)
    short, long = (
        gpu_seconds(counting(None), prepared, Work(10 * n, n), 4224) for n in (1e7, 1e10)
    )
    assert long < 500 * short


# ---- what is learned ------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("some_gpu")
def test_what_runs_took_is_better_than_any_estimate() -> None:
    plan = counting(1e3)
    plan.runs.add("cpu", 2.0)
    assert choose(plan, "auto", GRAPH).device == "cuda:0"
    plan.runs.add("cuda:0", 3.0)
    assert choose(plan, "auto", GRAPH).device == "cpu"
    assert choose(plan, "auto", GRAPH).guard is None


@pytest.mark.usefixtures("some_gpu")
def test_the_other_device_is_tried_again_when_it_costs_a_small_share() -> None:
    plan = counting(1e3)
    for _ in range(2):
        plan.runs.add("cuda:0", 0.4)
    chosen = []
    for _ in range(100):
        choice = choose(plan, "auto", GRAPH, runs=True)
        chosen.append(choice.device)
        plan.runs.add(choice.device, 0.1 if choice.device == "cpu" else 0.4)
    tries = [k for k, name in enumerate(chosen) if name == "cuda:0"]
    assert tries == list(range(tries[0], 100, 33 + 1))
    assert tries[0] > 32


@pytest.mark.usefixtures("some_gpu")
def test_explain_tries_nothing() -> None:
    plan = counting(1e3)
    plan.runs.add("cuda:0", 0.4)
    for _ in range(50):
        plan.runs.add("cpu", 0.1)
    assert choose(plan, "auto", GRAPH).device == "cpu"
    assert choose(plan, "auto", GRAPH, runs=True).device == "cuda:0"


def test_profile_shows_where_it_ran() -> None:
    plan = counting(1e3)
    assert shown(plan, "auto", GRAPH, ran=True).why != "where it ran"
    plan.runs.add("cuda:1", 1.0)
    assert shown(plan, "auto", GRAPH, ran=True).device == "cuda:1"
    assert shown(plan, "cpu", GRAPH, ran=False).device == "cpu"


def test_runs_note_what_they_took(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "absence", lambda: "there is none")  # else "auto" may take it
    plan = counting(None)
    assert run.count(plan, GRAPH, Options("cpu")) == run.count(plan, GRAPH, Options("auto"))
    assert set(plan.runs.last) == {"cpu"}
    assert 0.0 < plan.runs.last["cpu"] < 60.0


# ---- a run that is given up -----------------------------------------------------------------------------------


def test_a_guard_compares_what_is_left_with_the_other_device() -> None:
    asked: list[float] = []

    def there(steps: float) -> float:
        asked.append(steps)
        return 30.0

    guard = Guard(there, 1.0, begun=time.monotonic() - 2.0)
    assert not guard.leaves(lambda: 0.5, 70)  # 2 s are left
    assert guard.least >= 3.0
    assert not guard.leaves(lambda: 0.01, 70)  # not looked at before
    assert asked == [140.0]
    guard.least = 1.0
    assert guard.leaves(lambda: 0.01, 70)  # 200 s in all
    assert asked == [140.0, 7000.0]
    assert guard.whole == pytest.approx(200.0, rel=0.1)


@pytest.mark.usefixtures("some_gpu")
def test_a_guard_takes_no_run_for_shorter_than_expected() -> None:
    plan = counting(1e5)
    guard = choose_device._guard(plan, GRAPH, stage(plan, GRAPH, windows=True), None)
    assert guard is not None
    few, expected, more = (guard.seconds(steps) or 0.0 for steps in (1e3, 1e5, 1e9))
    assert 0.0 < few == expected < more


def test_a_guard_without_another_device_asks_once() -> None:
    guard = Guard(lambda _: None, 0.0, begun=time.monotonic() - 2.0)
    assert not guard.leaves(lambda: 0.001, 1)
    assert guard.least == math.inf


@pytest.mark.parametrize("threads", [1, 3])
def test_the_steps_of_all_threads_are_counted(threads: int) -> None:
    plan = counting(None)
    watch, prepared = Watch(None, None, None), stage(plan, GRAPH)
    watch.guards = (Guard(lambda _: None, math.inf),)
    launch.count(prepared, watch, Budget(), threads)
    spent = [worker.spent for worker in prepared.idle["cpu"] if isinstance(worker, Worker)]
    assert watch.steps == sum(spent) > 0


def test_a_run_that_is_given_up_stops() -> None:
    plan = counting(None)
    watch = Watch(None, None, None)
    watch.guards = (Guard(lambda _: 0.0, 0.0, begun=time.monotonic() - 10.0),)
    with pytest.raises(Elsewhere):
        launch.count(stage(plan, GRAPH), watch, Budget())


@pytest.fixture
def pretended(quick_gpu: None, monkeypatch: pytest.MonkeyPatch) -> Callable[[object], None]:
    """Has a function run where a GPU would count."""

    def put(count: object) -> None:
        monkeypatch.setattr(gpu, "counts", count)

    monkeypatch.setattr(choose_device, "SURE", 0.0)
    monkeypatch.setattr(choose_device, "cpu_seconds", lambda *_: -1.0)  # the CPU is begun with
    return put


def test_the_gpu_goes_on(pretended: Callable[[object], None]) -> None:
    plan, options = counting(None), Options()
    known = reference.count(plan, GRAPH)
    calls: list[object] = []

    def count(stages: list[Prepared], *_: object) -> list[int]:
        calls.append(stages)
        return [launch.count(one, Watch(None, None, None), Budget(), 1) for one in stages]

    pretended(count)
    assert run.count(plan, GRAPH, options) == known
    assert len(calls) == 1
    assert options.ran == "cuda:0"
    assert set(plan.runs.last) == {"cpu", "cuda"}


@pytest.mark.parametrize("error", [DeviceError("lost", "."), LimitExceeded("too deep", ".")])
def test_and_the_cpu_again_where_it_fails(
    pretended: Callable[[object], None], error: Exception
) -> None:
    plan, options = counting(None), Options()

    def count(*_: object) -> list[int]:
        raise error

    pretended(count)
    assert run.count(plan, GRAPH, options) == reference.count(plan, GRAPH)
    assert (options.ran, options.device) == ("cpu", "cpu")
    assert "cuda:0 gave up" in options.lost[0]
    assert plan.runs.last["cuda"] == math.inf


def test_it_comes_back_where_a_query_had_too_little_memory(
    pretended: Callable[[object], None],
) -> None:
    plan, options = counting(None), Options()

    def count(*_: object) -> list[int]:
        raise NoRoom("so many bytes", "Raise memory=.")

    pretended(count)
    assert run.count(plan, GRAPH, options) == reference.count(plan, GRAPH)
    assert (options.ran, options.device) == ("cpu", "cpu")
    assert "cuda:0 gave up" in options.lost[0]
    assert "cuda" not in plan.runs.last


def test_the_timeout_is_of_both(pretended: Callable[[object], None]) -> None:
    left: list[float | None] = []

    def count(_: object, watch: Watch, *__: object) -> list[int]:
        left.append(watch.timeout)
        raise QueryTimeout("late", ".")

    pretended(count)
    with pytest.raises(QueryTimeout):
        run.count(counting(None), GRAPH, Options(timeout=1000.0))
    assert left[0] is not None
    assert 900.0 < left[0] < 1000.0
