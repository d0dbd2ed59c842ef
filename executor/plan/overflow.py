"""The error of more embeddings than a count holds."""

from __future__ import annotations

from gdb.errors import CountOverflow

from .plan import Plan

_LARGEST = 2**63 - 1


def overflow(plan: Plan) -> CountOverflow:
    """Of more embeddings than a count holds: about how many."""
    expected = plan.notes.estimates[-1] if plan.notes.estimates else 0.0
    about = f": about {expected:.2g}" if expected > _LARGEST else ""
    return CountOverflow(
        f"There are more embeddings than a count holds (2^63 - 1){about}.",
        "Query a smaller pattern or part of it, or take rows with a LIMIT.",
    )
