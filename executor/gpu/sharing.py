"""Whether several GPUs share a query, or the first one runs all of it.

A second device costs about 0.1 ms: another thread, other launches, a second wait for the end; and units that several
devices share are smaller, which takes the kernels longer. Of a query of 0.16 ms on one H200, two take 0.25 ms each.
What runs took decides, and before the first one the estimate.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..estimates import WARPS, expected, kernel_seconds
from ..nest.prepare import Prepared
from ..plan.embeddings import Wanted
from . import device, special
from .stage import Share

LEAST = 1e-3  # seconds in the kernels of one device from which on several are quicker
HELPERS = (
    1e-4  # seconds of a run that several devices take besides, where they are measured against one
)


def sharing(
    stages: Sequence[Prepared], devices: tuple[int, ...], wanted: Wanted, *, tallied: bool
) -> tuple[int, ...]:
    """The devices that run some stages, which make one query: all, or the first of them.

    wanted, tallied : of the run, as a `Stage` has them.
    """
    if len(devices) == 1 or _several_are_worth(stages, devices, wanted, tallied):
        return devices
    return devices[:1]


def _several_are_worth(
    stages: Sequence[Prepared], devices: tuple[int, ...], wanted: Wanted, tallied: bool
) -> bool:
    alone = 0.0
    shared = [0.0 for _ in devices]
    knows_alone = knows_shared = True
    for k, prepared in enumerate(stages):
        seconds = special.quickest(prepared.runs, (Share(devices[0]), wanted, tallied))
        knows_alone, alone = knows_alone and seconds is not None, alone + (seconds or 0.0)
        for index, share in enumerate(shares(devices, k)):
            seconds = special.quickest(prepared.runs, (share, wanted, tallied))
            knows_shared = knows_shared and seconds is not None
            shared[index] += seconds or 0.0
    if knows_alone:
        return alone >= LEAST and not (knows_shared and max(shared) + HELPERS >= alone)
    if knows_shared:
        return sum(shared) >= LEAST
    return sum(_expected(prepared, devices[0]) for prepared in stages) >= LEAST


def shares(devices: tuple[int, ...], number: int) -> list[Share]:
    """What each device has of a stage. The first units are the heaviest: each device begins with those of some stages.

    number : of the stage among those of the query.
    """
    n = len(devices)
    return [Share(ordinal, (index + number) % n, n) for index, ordinal in enumerate(devices)]


def _expected(prepared: Prepared, ordinal: int) -> float:
    """Seconds in the kernels of one device."""
    warps = device.multiprocessors(ordinal) * WARPS
    return kernel_seconds(prepared, expected(prepared.plan, prepared), warps)
