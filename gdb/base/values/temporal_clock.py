"""The present, as the functions without arguments see it: one instant for a whole statement or transaction.

The code that runs a statement enters `clock_at`; outside of it each call sees the present of its own. Instants are
nanoseconds since 1970-01-01T00:00Z.
"""

from __future__ import annotations

import time
from contextvars import ContextVar, Token

from gdb.records import dataclass, quick


@quick
@dataclass(frozen=True, slots=True)
class _Clock:
    transaction: int
    statement: int


_CLOCK: ContextVar[_Clock | None] = ContextVar("gdb_clock", default=None)


class clock_at:  # used in `with`, as a function would be
    """Holds the present still. transaction : when the statement's transaction began, if before the statement.

    Not to be held over a `yield`: what the caller does meanwhile would see this present too. A generator enters it
    anew for each row.
    """

    __slots__ = ("_clock", "_token")
    _token: Token[_Clock | None]

    def __init__(self, statement: int, transaction: int | None = None) -> None:
        self._clock = _Clock(statement if transaction is None else transaction, statement)

    def __enter__(self) -> None:
        self._token = _CLOCK.set(self._clock)

    def __exit__(self, *_: object) -> None:
        _CLOCK.reset(self._token)


def statement_instant() -> int:
    """When the statement that is running began."""
    clock = _CLOCK.get()
    return real_instant() if clock is None else clock.statement


def transaction_instant() -> int:
    """When the transaction of the statement that is running began."""
    clock = _CLOCK.get()
    return real_instant() if clock is None else clock.transaction


def real_instant() -> int:
    """Now, in whole microseconds: what a column of datetimes can hold."""
    return time.time_ns() // 1_000 * 1_000
