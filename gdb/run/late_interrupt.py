"""The report of a Ctrl-C that comes late: a commit that has begun runs to its end, and the user must know that, or runs
the same operation again and stores it twice.
"""

from __future__ import annotations

from gdb.errors import Cancelled
from gdb.records import dataclass


@dataclass(slots=True)
class Outcome:
    """The outcome of one operation.

    what : its name, for the message. kept : what the message says when it is too late to cancel it.
    committed : whether it is; set by the code that commits, before Ctrl-C can raise anything again.
    """

    what: str = "query"
    kept: str = "its changes are committed"
    committed: bool = False

    def cancelled(self) -> Cancelled:
        """The error that reports the Ctrl-C."""
        if not self.committed:
            return Cancelled(f"the {self.what} was cancelled.")
        return Cancelled(
            f"the {self.what} was cancelled too late: {self.kept}.",
            "Do not run it again.",
            committed=True,
        )
