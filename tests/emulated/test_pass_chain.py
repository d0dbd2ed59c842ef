"""How many passes are sent one behind another, and how late launches are taken to be."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from gdb.executor.gpu import layout, memory
from gdb.executor.gpu.layout import Job
from gdb.executor.gpu.pass_chain import PassChain
from gdb.executor.gpu.placing import Turn, ends_last
from tests.emulated.emulator import emulated

ALLOWED = 40_000_000  # ns
PASSES = 16


class Run:
    """Sends passes, and says how long they took."""

    def __init__(self) -> None:
        turns = [Turn(k, k, k + 1, np.zeros((1, 1), np.int64), [], []) for k in range(PASSES)]
        headers = memory.empty((PASSES, layout.HEADER_WORDS), np.uint64)
        self.chain = PassChain(turns, headers, memory.empty((PASSES, 1), np.uint32))
        self.numbers = np.zeros(len(Job) + 1, np.int64)
        self.chain.begin(counts=False)

    def launch(self, each: int, unfinished: int = 0) -> int:
        """How many passes were sent at once; each takes so many ns."""
        sent = list[bool]()
        self.chain.send(self.numbers, sent.append)
        self.chain.sent(unfinished, each * len(sent), ALLOWED)
        return len(sent)


@pytest.fixture
def run() -> Iterator[Run]:
    with emulated():
        yield Run()


def test_short_passes_are_sent_together(run: Run) -> None:
    assert [run.launch(1_000_000) for _ in range(5)] == [1, 2, 4, 8, 1]


def test_those_that_took_too_long_together_are_not(run: Run) -> None:
    assert [run.launch(1_000_000) for _ in range(3)] == [1, 2, 4]
    assert run.launch(11_000_000) == 8
    run.chain.begin(counts=False)
    assert run.launch(11_000_000) == 4
    assert run.launch(11_000_000) == 2


def test_a_pass_that_is_not_done_is_sent_alone(run: Run) -> None:
    assert [run.launch(1_000_000) for _ in range(2)] == [1, 2]
    assert run.launch(1_000_000, unfinished=3) == 4
    assert run.launch(1_000_000) == 1


def test_passes_that_are_long_together_are_not_late(run: Run) -> None:
    kernel = object()
    run.chain.run_by(kernel)
    for each in (1_000_000, 1_000_000, 1_000_000, 30_000_000):
        run.launch(each)
    assert run.chain.late == 0
    run.launch(ALLOWED + 7_000_000)
    run.launch(1_000_000)
    assert run.chain.late == 7_000_000
    run.chain.run_by(kernel)
    assert run.chain.late == 7_000_000
    run.chain.run_by(object())
    assert run.chain.late == 0


@pytest.mark.parametrize(
    ("sizes", "order"),
    [([9], [0]), ([9, 2], [0, 1]), ([8, 9, 2], [1, 2, 0]), ([8, 1, 9, 8, 2], [2, 0, 1, 4, 3])],
)
def test_the_largest_parts_of_a_graph_come_first_and_last(
    sizes: list[int], order: list[int]
) -> None:
    """So that every run finds one of them on the device, whichever way it goes."""
    room, device = np.zeros(10, np.uint8), np.zeros(10, np.uint8)
    turns = [
        Turn(
            k, k, k + 1, np.zeros((1, 1), np.int64), [(device.ctypes.data, room.ctypes.data, n)], []
        )
        for k, n in enumerate(sizes)
    ]
    ordered = ends_last(turns)
    assert [turn.number for turn in ordered] == order
    with emulated():
        headers = memory.empty((len(sizes), layout.HEADER_WORDS), np.uint64)
        chain = PassChain(ordered, headers, memory.empty((len(sizes), 1), np.uint32))
        copied = []
        for _ in range(4):
            chain.begin(counts=False)
            while not chain.sent(0, 1, ALLOWED):
                chain.send(np.zeros(len(Job) + 1, np.int64), lambda fresh: None)
            copied.append(chain.streamed_bytes)
            chain.streamed_bytes = 0
    most = sorted(sizes)[-2:]
    assert copied[0] == sum(sizes)
    assert {sum(sizes) - n for n in most} == set(copied[1:])
