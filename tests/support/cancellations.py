"""Ways to cancel a write, and stages of it at which they are used."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from gdb.api.database import Database
from gdb.base import usage
from gdb.run import columns_or_rows, request
from gdb.storage.write import commit
from gdb.storage.write.store import Store
from gdb.storage.write.sweep import Sweeper

CREATE = "UNWIND range(1, 100) AS i CREATE (n:N) RETURN count(*)"
Press = Callable[[Database], None]

# ---- ways to cancel ------------------------------------------------------------------------------


def wait_for(found: Callable[[], bool]) -> None:
    end = time.monotonic() + 20
    while not found():
        assert time.monotonic() < end
        time.sleep(0.001)


def ctrl_c(db: Database) -> None:
    running = list(db._work._running)
    assert running
    os.kill(os.getpid(), signal.SIGINT)
    wait_for(lambda: all(cancel.is_set() for cancel in running))


def lost_ctrl_c() -> None:
    """Ctrl-C that a wait of the main thread does not notice, as one that came just before the wait began; called
    in another thread, while the main one begins to wait."""
    main = threading.main_thread().ident
    assert main is not None
    seen: list[Any] = [None, 0]

    def stands() -> bool:
        """Whether the main thread has been at one instruction for three looks: it waits inside C."""
        frame = sys._current_frames()[main]
        now = frame, frame.f_lasti
        seen[:] = [now, seen[1] + 1 if seen[0] == now else 0]
        return seen[1] >= 3

    wait_for(stands)
    signal.pthread_kill(threading.get_ident(), signal.SIGINT)


def interrupt(db: Database) -> None:
    thread = threading.Thread(target=db.interrupt)
    thread.start()
    thread.join()


def close(db: Database) -> None:
    threading.Thread(target=db.close).start()
    running = list(db._work._running)
    wait_for(lambda: all(cancel.is_set() for cancel in running))


class Late:
    """A clock that jumps over every deadline."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.ahead = 0.0
        now = SimpleNamespace(monotonic=lambda: time.monotonic() + self.ahead)
        monkeypatch.setattr(request, "time", now)

    def __call__(self, _: Database) -> None:
        self.ahead += 1e6


# ---- stages of a write ---------------------------------------------------------------------------

Stage = Callable[[pytest.MonkeyPatch, Database, Press], None]


def wrapped(owner: object, name: str, before: bool, *, look: bool = False) -> Stage:
    """A stage before or after some function has run; pressed once. look : look there whether the query is to go on, as
    whatever goes through a large array does."""

    def patched(patch: pytest.MonkeyPatch, db: Database, press: Press) -> None:
        original, pressed = getattr(owner, name), list[bool]()

        def once() -> None:
            if not pressed:
                pressed.append(True)
                press(db)
                if look:
                    usage.pulse()

        def call(*given: Any, **named: Any) -> Any:
            if before:
                once()
            found = original(*given, **named)
            if not before and found is not None:
                once()
            return found

        patch.setattr(owner, name, call)

    return patched


def both(before: bool) -> Stage:
    """The write of a manifest or of a record, whichever comes."""

    def patched(patch: pytest.MonkeyPatch, db: Database, press: Press) -> None:
        wrapped(Store, "append", before, look=True)(patch, db, press)
        wrapped(Store, "commit", before, look=True)(patch, db, press)

    return patched


EARLY: dict[str, Stage] = {
    "before the rows": wrapped(columns_or_rows, "_ran", True),
    "behind the rows": wrapped(columns_or_rows, "_ran", False),
    "behind the cells": wrapped(columns_or_rows, "user_rows", False),
}
LATE: dict[str, Stage] = {
    "the commit begins": wrapped(Database, "_commit", True, look=True),
    "before the switch": both(True),
    "behind the switch": both(False),
    "behind the commit": wrapped(commit, "commit", False, look=True),
    "the writer has ended": wrapped(Sweeper, "after_writing", True, look=True),
    "the result is made": wrapped(columns_or_rows, "Summary", True, look=True),
}


def ask(db: Database) -> int:
    found = db.execute(CREATE, timeout=1000).scalar()
    assert isinstance(found, int)
    return found


def ask_streamed(db: Database) -> int:
    with db.stream(CREATE, timeout=1000) as rows:
        ((found,),) = rows
    assert isinstance(found, int)
    return found


def nodes(db: Database) -> int:
    return db.stats().vertices


def change(db: Database, ids: Sequence[int], then: Callable[[], None] = lambda: None) -> None:
    with db.transaction() as tx:
        tx.add_nodes("P", list(ids), id_space="p")
        then()
