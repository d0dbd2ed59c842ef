"""How many passes are sent one behind another, and how late launches are taken to be."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from gdb.executor.gpu import layout, memory
from gdb.executor.gpu.layout import Job
from gdb.executor.gpu.pass_chain import PassChain
from gdb.executor.gpu.placing import Turn
from tests.emulated.emulator import emulated

ALLOWED = 40_000_000  # ns
PASSES = 16


class Run:
    """Sends passes, and says how long they took."""

    def __init__(self) -> None:
        turns = [Turn(k, k, k + 1, np.zeros((1, 1), np.int64), []) for k in range(PASSES)]
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
