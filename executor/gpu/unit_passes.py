"""Passes of a stage over a graph that does not fit its share of a device: one for each range of rows that fits, which
lies in device memory meanwhile. In each, the level that is cut into work units is bound to the vids whose rows they
are, so that these rows, to which loops come in any order, are never read through the link. The rows of roots are, one
after another.

Levels that are bound further in come to cold rows as always. Of a local graph each pass finds the rows of bits of those
vertices whose rows it has, and a last one counts in them.

A pass comes to those work units only that have something to do in it: a mark of each unit says which passes these are,
and where its root's row is, so that nothing but the row is read through the link. It is made on the device when a stage
is placed (`mark_passes` of `kernels/passes.cuh`).
"""

from __future__ import annotations

import numpy as np

from gdb.records import dataclass
from gdb.storage.graph.adjacency import I64, Adjacency

from ..nest.nest import Kind, VertexLevel
from ..nest.prepare import Prepared
from ..nest.vid_ranges import bindable, reads
from . import layout, local
from .units import cut_level, is_pushed

SAMPLED = 2048  # roots whose lists are looked at
# nanoseconds, measured on an H100 (docs/performance.md)
READ = 3.0  # to begin to read a cold row in place; as much again where its offset is cold
VISIT = 1.0  # to come to a root in a pass
OFFSET = 16  # bytes of a root's two offsets, where they are cold and its unit's mark has no room for its row
LEAST_LENGTH_BITS = 4  # of a mark, for the length of a row; longer ones are looked up
BYTE = 1 / 45  # to copy a byte, or to read it in place with its neighbours
PASS = 90_000.0  # to begin a pass and end it


def level_of(prepared: Prepared) -> int:
    """The level that passes bind to a part of the vids: that which is cut into work units. What the stage counts is a
    sum over what it is bound to, each for itself, and its list is a part of the root's row; -1 where there is none."""
    k, known = cut_level(prepared.tables), local.find(prepared)
    if not prepared.nest.counting or k not in bindable(prepared) or is_pushed(prepared.tables):
        return -1
    if known is not None and not (known.only_edges or known.in_passes) and known.first <= k:
        return -1
    level = prepared.nest.levels[k]
    assert isinstance(level, VertexLevel)
    return k if level.base.kind is Kind.ROW and level.base.b == 0 else -1


def keeps_rows(prepared: Prepared) -> bool:
    """Whether passes keep rows of bits of local graphs, which a last one counts."""
    known = local.find(prepared)
    return known is not None and not known.only_edges and known.in_passes


def reads_no_other_rows(prepared: Prepared) -> bool:
    """Whether passes read nothing but the rows of roots, and those of the vids that the level is bound to."""
    level = level_of(prepared)
    if level < 0:
        return False
    return keeps_rows(prepared) or all(reader in (0, level) for _, reader, _ in reads(prepared))


def local_bytes(sizes: I64) -> I64:
    """Bytes of the rows of bits of local graphs of lists of so many vertices, i64[n]; longer ones have none."""
    found: I64 = np.where(sizes <= layout.LOCAL_MOST, sizes * ((sizes + 31) // 32 * 4), 0)
    return found


@dataclass(frozen=True, slots=True)
class MarkBits:
    """What the 64 bits of a work unit's mark say, from the lowest on: in which of the `passes` it has something to do;
    in `starts` bits where its root's row begins, if there are any; for the first `cuts` passes, in a byte each, how
    many of the row are below the end of the pass's range; then how long the row is. All ones: more than there are bits
    for.

    skipped : so many at the beginning of a list have nothing to do: in a local graph what is bound to a vertex has the
        others below it, which is also why its pass reads no more of the row.
    """

    passes: int
    starts: int
    cuts: int
    skipped: int


def mark_bits(prepared: Prepared, passes: int, neighbours: int) -> MarkBits:
    """The marks of a stage in so many passes over a view of so many neighbours."""
    known, starts = local.find(prepared), max(neighbours, 1).bit_length()
    below = known is not None and known.in_passes
    if 64 - passes - starts < LEAST_LENGTH_BITS:
        return MarkBits(passes, 0, 0, int(below))
    cuts = min(passes - 1, (64 - passes - starts) // 8 - 1) if below else 0
    return MarkBits(passes, starts, max(cuts, 0), int(below))


def marks_of(prepared: Prepared, ends: I64, neighbours: int) -> I64:
    """What `mark_passes` takes: the range of vids of the level's list, whether it ends below the root, and begins above
    it; of `MarkBits` how many are skipped, passes, starts and cuts; then where each pass's range of vids ends.

    neighbours : of what is placed.
    """
    level = prepared.nest.levels[level_of(prepared)]
    assert isinstance(level, VertexLevel)
    cut, bits = level.cut, mark_bits(prepared, len(ends), neighbours)
    numbers = cut.lo, cut.hi, bool(cut.below), bool(cut.above)
    return np.array([*numbers, bits.skipped, bits.passes, bits.starts, bits.cuts, *ends], np.int64)


def root_visits(prepared: Prepared, view: Adjacency, ends: I64) -> tuple[float, float]:
    """About how often passes come to a root, and the bytes of its row as often; of a sample of roots.

    view : what is placed. ends : where each pass's range of vids ends, i64[passes].
    """
    lo, hi, below, above, skipped, _, _, cuts = marks_of(prepared, ends, len(view.neighbours))[:8]
    step = max(len(prepared.roots) // SAMPLED, 1)
    sample = prepared.roots[step // 2 :: step]
    rows = view.rows_of(sample)
    vids, rows = sample[rows >= 0].astype(np.int64), rows[rows >= 0]
    sizes = view.offsets[rows + 1] - view.offsets[rows]
    of = np.repeat(np.arange(len(rows)), sizes)
    begin = np.cumsum(sizes) - sizes
    near = view.neighbours[np.arange(len(of)) - begin[of] + view.offsets[rows][of]].astype(np.int64)
    kept = (near >= lo) & (near < hi)
    kept &= near < vids[of] if below else True
    kept &= near > vids[of] if above else True
    passes = np.searchsorted(ends, near, side="right")
    # of each row how many are below the end of each pass's range
    upto = np.zeros((len(rows), len(ends)), np.int64)
    np.add.at(upto, (of, passes), 1)
    upto = upto.cumsum(axis=1)
    upto[:, cuts:] = sizes[:, None]
    some = np.flatnonzero(kept)
    if skipped:
        some = np.delete(some, np.unique(of[some], return_index=True)[1])
    keys = np.unique(of[some] * len(ends) + passes[some])
    times = len(prepared.roots) / max(len(sample), 1)
    return times * len(keys), times * 4 * float(upto.ravel()[keys].sum())
