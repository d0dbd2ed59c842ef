"""Cancellation of tasks that other processes run: their query was cancelled, is out of time, or failed.

A future that runs cannot be cancelled, so each task carries the `Stop` of its query, and reads it between launches as a
run in this process reads its event. Two ways lead to it, by what the executor can do:

- Dask runs a function on all workers at once, beside their tasks: it notes the name of the query in each process.
- Every other executor gets a file. It appears in the caller's temporary folder when the query stops, and each task
  looks for it every `LOOK` seconds. A worker that does not see that folder, because it is on another machine or belongs
  to another user, has no such file: there a task ends as it always does, when it gives back what is left.
"""

from __future__ import annotations

import logging
import os
import threading
import time
import uuid
from collections import OrderedDict
from concurrent.futures import Executor
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from gdb.base import waiting
from gdb.base.once import PerProcess
from gdb.records import dataclass
from gdb.storage.disk.scratch_folder import of_process

if TYPE_CHECKING:
    from collections.abc import Callable

LOOK = 0.1  # seconds between two looks at the file
REMEMBERED = 1024  # queries of Dask that a worker knows to be stopped
_log = logging.getLogger("gdb")


class DaskClient(Protocol):
    """What is used here of `dask.distributed.Client`."""

    def run(self, function: Callable[[str], None], query: str, *, on_error: str) -> object:
        """Run `function(query)` once on each worker; on_error="ignore" suppresses errors of dead ones."""
        ...


@dataclass(frozen=True, slots=True)
class Stop:
    """What a task needs to learn that its query was stopped.

    query : a name of its own. file : which appears then, an absolute path; None where none can be made or needed.
    """

    query: str
    file: str | None


def stop_for(executor: Executor) -> Stop:
    """That of a new query whose tasks an executor runs."""
    query = uuid.uuid4().hex
    folder = None if _client(executor) is not None else of_process()
    return Stop(query, None if folder is None else str(folder / f"stop-{query}"))


def send(stop: Stop, executor: Executor) -> None:
    """Stop the tasks of a query that an executor runs. It does not wait for workers that take long to answer."""
    client = _client(executor)
    if client is not None:
        _broadcast(stop.query, client)
    elif stop.file is not None:
        with suppress(OSError):  # a full disk: then the tasks end when they give back
            Path(stop.file).touch()


def _client(executor: Executor) -> DaskClient | None:
    """The client of Dask's executor; None for every other one."""
    client: DaskClient | None = getattr(executor, "_client", None)
    return client if hasattr(client, "run") else None


def _broadcast(query: str, client: DaskClient) -> None:
    sent = threading.Event()

    def run() -> None:
        try:
            client.run(note, query, on_error="ignore")
        except Exception as error:  # the cluster is gone, and with it the tasks
            _log.debug("a stopped query could not be announced to the workers: %s", error)
        finally:
            sent.set()

    threading.Thread(target=run, name="gdb-stop", daemon=True).start()
    waiting.happens(sent, time.monotonic() + waiting.STEP)


# ---- in a worker ---------------------------------------------------------------------------------

_stopped = PerProcess(lambda: OrderedDict[str, None]())


def note(query: str) -> None:
    """Note in this process that a query was stopped."""
    known = _stopped.get()
    known[query] = None
    while len(known) > REMEMBERED:
        known.popitem(last=False)


class Stopped:
    """Whether the query of a task was stopped: `is_set`, as an event has it; threads may share it."""

    def __init__(self, stop: Stop) -> None:
        self._query, self._file = stop.query, stop.file
        if self._file is not None and not os.path.isdir(os.path.dirname(self._file)):
            self._file = None  # the caller's folder is not visible here
        self._set, self._next = False, 0.0

    def is_set(self) -> bool:
        """Look; at the file at most every `LOOK` seconds. The folder goes with the calling process."""
        if self._set or self._query in _stopped.get():
            return True
        now = time.monotonic()
        if self._file is not None and now >= self._next:
            self._next = now + LOOK
            gone = not os.path.isdir(os.path.dirname(self._file))
            self._set = gone or os.path.exists(self._file)
        return self._set
