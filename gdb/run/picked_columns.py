"""The columns of ids that the outputs of a statement are, where they stay on a GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gdb.errors import NotSupported, TypeProblem

if TYPE_CHECKING:
    from gdb.executor.gpu.rows import Pick
    from gdb.run.statements import Statement
    from gdb.storage.graph.snapshot import Snapshot


def picked_columns(statement: Statement, snapshot: Snapshot) -> list[Pick]:
    """The column of ids that each output of a statement is.

    Raises
    ------
    NotSupported : an output is something else. TypeProblem : its ids are strings.
    """
    from gdb.executor.gpu.rows import Pick
    from gdb.executor.relational.lookup import ids_by_vid

    plan, tail = statement.plan, statement.tail
    refs = [] if tail.direct is None else [tail.columns[k] for k in tail.direct]
    if not refs or any(ref.what not in ("element", "id") for ref in refs):
        raise NotSupported(
            "only nodes, relationships and their ids can stay on a GPU.",
            "RETURN nothing else, without ORDER BY, SKIP and aggregates, or use execute().",
        )
    strings = [
        group.ranges
        for number, group in enumerate(snapshot.groups)
        if snapshot.id_column(number).kind != "int64"
    ]
    picks = []
    for ref, output in zip(refs, tail.outputs, strict=True):
        if ref.element == "edge":
            picks.append(Pick("edge", ref.index))
            continue
        ranges = plan.candidates[ref.index].ranges
        if any(a < d and c < b for a, b in ranges for group in strings for c, d in group):
            raise TypeProblem(
                f"the ids of {output.name!r} are strings, and a GPU's arrays hold numbers.",
                "Use execute().",
            )
        picks.append(Pick("vertex", ref.index, ids_by_vid(snapshot)))
    return picks
