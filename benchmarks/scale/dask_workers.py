"""Workers of Dask on this machine: processes, processes with a GPU each, and those that are killed and come back."""

from __future__ import annotations

import logging
import os
import random
import signal
import time
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

PRELOADED = ("gdb.executor.cluster.task", "gdb.executor.cpu.launch", "gdb.executor.nest.prepare")


@contextmanager
def workers(number: int) -> Iterator[tuple[Executor, Any]]:
    """Dask's executor with so many processes of one thread, and the cluster."""
    distributed: Any = import_module("distributed")
    with (
        distributed.LocalCluster(
            n_workers=number, threads_per_worker=1, dashboard_address=None, processes=True
        ) as local,
        distributed.Client(local) as client,
    ):
        yield client.get_executor(pure=False), local


@contextmanager
def gpu_workers(number: int) -> Iterator[Executor]:
    """Dask's executor with a process for each of so many GPUs, which sees no other."""
    distributed: Any = import_module("distributed")
    options = ({"nthreads": 1, "env": {"CUDA_VISIBLE_DEVICES": str(k)}} for k in range(number))
    nannies = {k: {"cls": distributed.Nanny, "options": one} for k, one in enumerate(options)}
    scheduler = {"cls": distributed.Scheduler, "options": {"dashboard_address": None}}
    with (
        distributed.SpecCluster(nannies, scheduler, silence_logs=logging.WARNING) as local,
        distributed.Client(local) as client,
    ):
        yield client.get_executor(pure=False)


@contextmanager
def restarting() -> Iterator[None]:
    """Dask forks workers from a process that has imported what they need: one that was killed is back ten times
    sooner than one that Python begins with."""
    dask: Any = import_module("dask")
    import_module("distributed")  # its settings, which would else go with those that are set here
    with dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"}):
        context = import_module("distributed.utils").get_mp_context()  # it sets some of its own
        context.set_forkserver_preload(["distributed", *PRELOADED])
        yield


@dataclass(slots=True)
class Strike:
    """Kills some workers of a LocalCluster when it is called. dead : their process ids."""

    local: Any
    victims: int
    chance: random.Random
    dead: set[int] = field(default_factory=set)

    def __call__(self) -> None:
        pids = [worker.pid for worker in self.local.workers.values() if worker.pid]
        for pid in self.chance.sample(pids, min(self.victims, len(pids))):
            os.kill(pid, signal.SIGKILL)
            self.dead.add(pid)


def ready(local: Any, dead: set[int], number: int) -> bool:
    """Wait until so many workers are there again, other processes than the dead ones; False where Dask has given one
    up, as it does with one that dies while it begins, and may then forget it."""
    end = time.monotonic() + 30
    while time.monotonic() < end:
        nannies = list(local.workers.values())
        if len(nannies) < number:
            return False
        running = all(n.status.name == "running" and n.pid not in dead for n in nannies)
        if running and len(local.scheduler.workers) == len(nannies):
            time.sleep(0.2)  # the scheduler may not have noticed yet
            if len(local.scheduler.workers) == len(nannies):
                return True
        if any(n.status.name in ("failed", "closed") for n in nannies):
            return False
        time.sleep(0.02)
    return False
