"""What is told of Ctrl-C that comes late: once a commit has begun it goes on to its end, and who pressed Ctrl-C must
know that, or what was asked for is run again and done twice.
"""

from __future__ import annotations

from gdb.errors import Cancelled
from gdb.records import dataclass


@dataclass(slots=True)
class Outcome:
    """What has become of one thing that was asked for.

    what : its name, for the message. kept : what is told of it when it is too late to cancel it.
    committed : whether it is; set by whoever commits, before Ctrl-C can raise anything again.
    """

    what: str = "query"
    kept: str = "its changes are committed"
    committed: bool = False

    def cancelled(self) -> Cancelled:
        """The error that tells Ctrl-C."""
        if not self.committed:
            return Cancelled(f"the {self.what} was cancelled.")
        return Cancelled(
            f"the {self.what} was cancelled too late: {self.kept}.",
            "Do not run it again.",
            committed=True,
        )
