"""How many random cases a run of the tests tries: the profile of `HYPOTHESIS_PROFILE`, for Hypothesis and for all else
that is sampled."""

from __future__ import annotations

import os

PROFILE = os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if "CI" in os.environ else "dev")


def share(full: int, least: int = 1) -> int:
    """So many of `full` random cases: a quarter in the profile `ci` (at least `least`), else all of them."""
    return max(full // 4, least) if PROFILE == "ci" else full
