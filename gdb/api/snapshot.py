"""A snapshot that a program holds: one version of the graph, queried as often as wanted (design.md §1)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from gdb.api.queries import Queries
from gdb.base.closing import Uncopied
from gdb.errors import ClosedError
from gdb.run.statements import Statements

if TYPE_CHECKING:
    from gdb.api.running_work import Work
    from gdb.language.procedure_signatures import Procedure
    from gdb.run import options
    from gdb.storage.graph.snapshot import Snapshot


class HeldSnapshot(Uncopied, Queries):
    """One version of the graph, whatever is committed, compacted or imported meanwhile, here or in another process.
    Made by `Database.snapshot`.

    It answers what a Database answers (`execute`, `stream`, `cursor`, `explain`, `schema`, `stats`, `check`, `export`,
    `backup` and so on), from any number of threads, and always the same. A query that writes raises ReadOnlyError. It
    calls the procedures that the Database had when it was made, and those registered with it.

    It costs nothing to make. While it lives the files of its version stay on the disk, or in memory; a later commit
    deletes them. `close`, the end of a `with` block, and forgetting it let it go, which never waits: a query or stream
    of it that runs goes on, and results stay readable. It ends with its Database: closing that cancels its queries, as
    `Database.interrupt` does.
    """

    _instead = (
        "Open the store by its path where it is used, as in gdb.connect(path, read_only=True)."
    )

    def __init__(
        self,
        snapshot: Snapshot,
        settings: options.Settings,
        work: Work,
        procedures: Mapping[str, Procedure],
    ) -> None:
        super().__init__(settings, work, procedures)
        self._held: Snapshot | None = snapshot
        self._version = snapshot.version

    @property
    def version(self) -> int:
        """Which of the graph's versions it is: the number of its commit, as `stats().version` has it; a later commit
        has a larger one."""
        return self._version

    @property
    def closed(self) -> bool:
        """Whether the snapshot or its Database was closed."""
        return self._held is None or self._work.closed

    def close(self) -> None:
        """Let the snapshot go; closing twice is fine."""
        self._held = None
        self._statements = Statements()  # a query that still runs keeps its own in the one before

    def __repr__(self) -> str:
        return f"<gdb.HeldSnapshot of version {self._version}{', closed' * self.closed}>"

    def _snapshot(self) -> Snapshot:
        held = self._held
        if held is None:
            raise ClosedError("the snapshot is closed.", "Take another one with db.snapshot().")
        return held

    def _is_newest(self, snapshot: Snapshot) -> bool:
        return snapshot is self._held
