"""Ctrl-C during long work: the work runs on a helper thread, the main thread waits where an interrupt is harmless.

A KeyboardInterrupt strikes between any two bytecodes of the main thread, also in the middle of handing out
work units. So the main thread only waits; the interrupt becomes a cancel event, which the work looks at
between units, and the caller goes on when the work has stopped.
"""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def run_interruptibly(work: Callable[[], T], cancel: threading.Event) -> T:
    """Call `work` and give what it gives or raises; on Ctrl-C set `cancel` and wait until it has stopped.

    Raises
    ------
    KeyboardInterrupt : Ctrl-C came, but the work finished without looking at `cancel` again.
    """
    if threading.current_thread() is not threading.main_thread():
        return work()  # signals only ever reach the main thread
    values: list[T] = []
    errors: list[BaseException] = []
    finished = threading.Event()
    context = contextvars.copy_context()

    def perform() -> None:
        try:
            values.append(context.run(work))
        except BaseException as error:
            errors.append(error)
        finally:
            finished.set()

    interrupted = False
    try:
        threading.Thread(target=perform, name="gdb-work", daemon=True).start()
        while not finished.is_set():
            try:
                finished.wait()  # not join(): one that is interrupted takes its thread for ended
            except KeyboardInterrupt:
                interrupted = True
                cancel.set()
    except BaseException:  # an interrupt in the few bytecodes outside of the inner try
        cancel.set()
        raise
    if errors:
        raise errors.pop()
    if interrupted:
        raise KeyboardInterrupt
    return values.pop()
