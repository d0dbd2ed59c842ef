"""Counts that are surely too large: independent samples say so before anything is counted.

Each sample of `gdb.planner.sampled_embeddings` is an unbiased estimate Z >= 0 of the number of embeddings. Were
that at most N = 2^63 - 1, the product of Z / N over independent samples would have a mean of at most 1, and would
ever reach 1 / p with a chance of at most p (Ville's inequality; Ramdas, Gruenwald, Vovk, Shafer: Game-Theoretic
Statistics and Safe Anytime-Valid Inference, 2023, section 2).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from gdb.planner.sampled_embeddings import Statistics

LARGEST = float(2**63 - 1)
CHANCE = 1e-9  # of calling a count too large that is not
SAMPLES = 12
WORTH_SAMPLING = 6.0  # times too large: less would take more samples than these
CLEARLY = 1e3  # times too large: then samples of a quarter as many members are sure of it


def surely_too_many(
    statistics: Statistics, order: tuple[int, ...], expected: float, members: int
) -> bool:
    """Whether there are more than 2^63 - 1 embeddings, but for a chance of `CHANCE`.

    expected : about so many. members : of each sample, at most.
    """
    if expected < WORTH_SAMPLING * LARGEST:
        return False
    members = members // 4 if expected > CLEARLY * LARGEST else members
    random = np.random.default_rng(0)  # the same in each process
    product = 1.0
    for _ in range(SAMPLES):
        found, exact = statistics.along(order, members, random.random(statistics.n))
        if exact:
            return found[-1] > LARGEST
        product *= found[-1] / LARGEST
        if product >= 1 / CHANCE:
            return True
    return False
