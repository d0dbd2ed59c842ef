"""Messages to tasks that other processes run: their query was stopped, or others are idle and wait for what is left.

A future that runs cannot be cancelled or divided, so each task carries the `Channel` of its query, and looks for a
message between launches, as a run in this process looks at its event. Two ways lead to it, by what the executor can do:

- Dask runs a function on all workers at once, beside their tasks: it notes the message in each process.
- Every other executor gets a file. It appears in the caller's temporary folder with the first message, and each task
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
from collections.abc import Iterable
from concurrent.futures import Executor
from contextlib import suppress
from pathlib import Path

from gdb.base import waiting
from gdb.base.once import PerProcess
from gdb.records import dataclass
from gdb.storage.disk.scratch_folder import of_process

from .dask_client import DaskClient, client_of

LOOK = 0.1  # seconds between two looks at the file
REMEMBERED = 1024  # queries of Dask whose last message a worker keeps
STOP = "stop"
_log = logging.getLogger("gdb")


@dataclass(frozen=True, slots=True)
class Channel:
    """Where the tasks of a query look for its last message.

    query : a name of its own. file : which has the message, an absolute path; None where none can be made or needed.
    """

    query: str
    file: str | None


def channel_for(executor: Executor) -> Channel:
    """That of a new query whose tasks an executor runs."""
    query = uuid.uuid4().hex
    folder = None if client_of(executor) is not None else of_process()
    return Channel(query, None if folder is None else str(folder / f"query-{query}"))


def stop(channel: Channel, executor: Executor) -> None:
    """Stop the tasks of a query that an executor runs. It does not wait for workers that take long to answer."""
    _send(channel, executor, STOP)


def take_back(channel: Channel, executor: Executor, tickets: Iterable[int]) -> None:
    """Have tasks of a query give back what is left of them. It replaces the message before, so it names the tasks of
    that one which have not answered yet too."""
    _send(channel, executor, " ".join(map(str, tickets)))


def _send(channel: Channel, executor: Executor, message: str) -> None:
    client = client_of(executor)
    if client is not None:
        _broadcast(channel.query, message, client)
    elif channel.file is not None:
        with suppress(OSError):  # a full disk: then the tasks end when they give back
            path = Path(channel.file)
            begun = path.with_suffix(".new")
            begun.write_text(message)
            begun.replace(path)  # read whole or not at all


def _broadcast(query: str, message: str, client: DaskClient) -> None:
    sent = threading.Event()

    def run() -> None:
        try:
            client.run(note, query, message, on_error="ignore")
        except Exception as error:  # the cluster is gone, and with it the tasks
            _log.debug("a message did not reach the workers: %s", error)
        finally:
            sent.set()

    threading.Thread(target=run, name="gdb-message", daemon=True).start()
    waiting.happens(sent, time.monotonic() + waiting.STEP)


# ---- in a worker ---------------------------------------------------------------------------------

_last = PerProcess(lambda: OrderedDict[str, str]())


def note(query: str, message: str) -> None:
    """Note in this process the last message to the tasks of a query; none follows a stop."""
    known = _last.get()
    if known.get(query) != STOP:
        known[query] = message
    while len(known) > REMEMBERED:
        known.popitem(last=False)


class Inbox:
    """What a task was sent: whether its query was stopped is `is_set`, as an event has it; threads may share it.

    ticket : the number of the task among those of its query.
    """

    def __init__(self, channel: Channel, ticket: int) -> None:
        self._query, self._file, self._ticket = channel.query, channel.file, str(ticket)
        if self._file is not None and not os.path.isdir(os.path.dirname(self._file)):
            self._file = None  # the caller's folder is not visible here
        self._read, self._next = "", 0.0

    def is_set(self) -> bool:
        """Whether the query was stopped, or the calling process is gone."""
        return self._message() == STOP

    def is_taken_back(self) -> bool:
        """Whether others wait for what is left of the task."""
        return self._ticket in self._message().split()

    def _message(self) -> str:
        """Look; at the file at most every `LOOK` seconds. The folder goes with the calling process."""
        if self._read == STOP or self._file is None:
            return self._read or _last.get().get(self._query, "")
        now = time.monotonic()
        if now >= self._next:
            self._next = now + LOOK
            try:
                self._read = Path(self._file).read_text()
            except OSError:
                if not os.path.isdir(os.path.dirname(self._file)):
                    self._read = STOP
        return self._read or _last.get().get(self._query, "")
