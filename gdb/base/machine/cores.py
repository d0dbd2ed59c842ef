"""The number of CPU cores that this process may use."""

from __future__ import annotations

import os


def cores() -> int:
    """Cores that this process may use; where the system does not say, all that there are."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
