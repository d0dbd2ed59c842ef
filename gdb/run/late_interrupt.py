"""The report of a Ctrl-C, or of another signal's exception, that comes late: a commit that has begun runs to its end,
and the user must know that, or runs the same operation again and stores it twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from gdb.errors import Cancelled
from gdb.records import dataclass


@dataclass(slots=True)
class Outcome:
    """The outcome of one operation.

    what : its name, for the message. kept : what the message says when it is too late to cancel it.
    committed : whether it is; set by the code that commits, before Ctrl-C can raise anything again.
    warn : gives warnings to the program before the commit, so that where its filters make an error of one, nothing is
        committed; None where they come after it. warned : whether it has.
    """

    what: str = "query"
    kept: str = "its changes are committed"
    committed: bool = False
    warn: Callable[[Iterable[str]], None] | None = None
    warned: bool = False

    def warn_first(self, texts: Iterable[str]) -> None:
        """Give the warnings of an operation that is about to commit. Raises what the filters of the program make of
        them."""
        if self.warn is not None:
            self.warn(texts)
            self.warned = True

    def cancelled(self) -> Cancelled:
        """The error that reports the Ctrl-C."""
        if not self.committed:
            return Cancelled(f"the {self.what} was cancelled.")
        return Cancelled(
            f"the {self.what} was cancelled too late: {self.kept}.",
            "Do not run it again.",
            committed=True,
        )

    def struck(self, error: BaseException) -> None:
        """Report what the operation has raised, maybe when its answer was ready: Cancelled for a Ctrl-C; of another
        exception, as a signal's handler raises it, see `note`."""
        if isinstance(error, KeyboardInterrupt):
            raise self.cancelled() from None
        self.note(error)

    def note(self, error: BaseException) -> None:
        """Say in a note of an exception where it is committed all the same."""
        if self.committed and not isinstance(error, Cancelled):
            error.add_note(f"gdb: {self.kept} all the same. Do not run it again.")
