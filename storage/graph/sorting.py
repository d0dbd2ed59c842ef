"""Sorts of large arrays of keys, on all cores."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt

from gdb.base import waiting
from gdb.base.machine.cores import cores

from ..disk.arrays import unset

U64 = npt.NDArray[np.uint64]


LEAST_SHARED = 1 << 20  # keys that are worth several threads
_SAMPLED = 1 << 12  # keys of each run, by which the ranges are chosen


def ascending(keys: U64) -> U64:
    """The keys in ascending order, u64[m]; those that are given are used up.

    Each thread sorts a run of them and then merges one range of keys out of all runs. So there is as much memory again
    for them meanwhile; where there is one core, or few keys, they are sorted in place.
    """
    threads = min(cores(), len(keys) // LEAST_SHARED)
    if threads < 2:
        keys.sort()
        return keys
    cuts = [len(keys) * k // threads for k in range(threads + 1)]
    runs = [keys[begin:end] for begin, end in pairwise(cuts)]
    with waiting.Pool(threads) as pool:
        for _ in pool.map(lambda run: run.sort(), runs):
            pass
        sample = np.sort(np.concatenate([run[:: 1 + len(run) // _SAMPLED] for run in runs]))
        limits = sample[len(sample) * np.arange(1, threads) // threads]
        ends = np.array([[0, *run.searchsorted(limits), len(run)] for run in runs])
        places, merged = ends.sum(axis=0).tolist(), unset(len(keys), np.uint64)

        def merge(k: int) -> None:
            part = merged[places[k] : places[k + 1]]
            slices = [run[e[k] : e[k + 1]] for run, e in zip(runs, ends.tolist(), strict=True)]
            np.concatenate(slices, out=part)
            part.sort(kind="stable")  # of ascending runs, that is a merge

        for _ in pool.map(merge, range(threads)):
            pass
    return merged
