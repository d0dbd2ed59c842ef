"""GENMAP: vertex numbers under which every edge-label partition needs few intervals.

Source: geneva-tpds §4.2, Algorithm 2: take the largest ELP, divide its vertices into subpartitions
of equal *share set* (the ELPs that a vertex belongs to), and lay these out as a chain, each next to
the one whose share set overlaps most. Extended by vertex label: vertices of one group (equal label
set) stay together, GENMAP runs inside each group, and the groups themselves form a chain. Vertices
without any edge come last. Inside a subpartition hubs come first.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gdb.records import dataclass

from ..columns.model import I64, U32, Bools
from ..graph import pcsr

U64 = npt.NDArray[np.uint64]

MOST_CHAINED = 16384  # subpartitions of one group that the quadratic chain orders: about a second
_MOST = (1 << 32) - 1  # the highest degree that is distinguished from higher ones


@dataclass(frozen=True, slots=True, eq=False)
class Numbering:
    """The new vertex numbers.

    vids : u32[n], the new number of each vertex.
    order : the groups in the order of their first vid.
    ranges : for each group of `order`, its half-open vid ranges: connected vertices, then isolated
        ones; empty ranges are left out.
    """

    vids: U32
    order: tuple[int, ...]
    ranges: tuple[tuple[tuple[int, int], ...], ...]


class ShareSets:
    """The set of parts that each vertex belongs to, as bits; u64[n, parts / 64]."""

    __slots__ = ("bits",)

    def __init__(self, vertices: int, parts: int) -> None:
        self.bits: U64 = np.zeros((vertices, max(1, -(-parts // 64))), np.uint64)


def genmap(
    groups: I64, labels: tuple[frozenset[str], ...], shares: ShareSets, degrees: I64
) -> Numbering:
    """Number the vertices.

    Parameters
    ----------
    groups : i64[n], the group of each vertex.
    labels : the label set of each group; every group has a vertex.
    shares : the parts of each vertex; none = isolated.
    degrees : i64[n], total degree.
    """
    classes, members = _classes(groups, shares.bits)  # class of each vertex, one vertex of each
    class_bits, class_group = shares.bits[members], groups[members]
    sizes = np.bincount(classes, minlength=members.shape[0])
    connected: Bools = np.bitwise_or.reduce(class_bits, axis=1) != 0
    order, sequence = _chain_groups(class_bits, class_group, sizes, connected, labels)

    isolated = np.flatnonzero(~connected)
    place = np.empty(len(labels), np.int64)
    place[list(order)] = np.arange(len(labels))
    isolated = isolated[np.argsort(place[class_group[isolated]], kind="stable")]
    sequence = np.concatenate([sequence, isolated])

    rank = np.empty(members.shape[0], np.int64)
    rank[sequence] = np.arange(sequence.shape[0])
    vids = np.empty(groups.shape[0], np.uint32)
    most = min(int(degrees.max(initial=0)), _MOST)
    few = (most - np.minimum(degrees, most)).astype(np.uint32)  # hubs first
    by_rank = pcsr.order_of(rank.astype(np.uint32)[classes], few)
    vids[by_rank] = np.arange(groups.shape[0], dtype=np.uint32)
    return Numbering(vids, order, _ranges(order, sequence, class_group, sizes, connected))


def _classes(groups: I64, bits: U64) -> tuple[I64, I64]:
    """The class of each vertex and the first vertex of each class: (group, share set), in this order."""
    from ..graph.edge_loops import classes_of  # brings the compiler

    found, members = classes_of(groups, bits)
    order = np.lexsort((*bits[members].T[::-1], groups[members]))
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    return place[found], members[order]


def _ranges(
    order: tuple[int, ...], sequence: I64, class_group: I64, sizes: I64, connected: Bools
) -> tuple[tuple[tuple[int, int], ...], ...]:
    found: dict[tuple[bool, int], tuple[int, int]] = {}
    stops = np.cumsum(sizes[sequence]).tolist()
    at = 0
    for number, stop in zip(sequence.tolist(), stops, strict=True):
        key = bool(connected[number]), int(class_group[number])
        found[key] = (found.get(key, (at, at))[0], stop)
        at = stop
    return tuple(
        tuple(found[flag, group] for flag in (True, False) if (flag, group) in found)
        for group in order
    )


def _chain_groups(
    bits: U64, group: I64, sizes: I64, connected: Bools, labels: tuple[frozenset[str], ...]
) -> tuple[tuple[int, ...], I64]:
    """The groups in order, and all classes with an edge in order.

    Next is the group that shares most labels with the last one (so that the vertices of one label
    are few ranges), then the one with the largest overlap of share sets, then the largest.
    """
    linked = np.flatnonzero(connected)
    linked = linked[np.argsort(group[linked], kind="stable")]
    starts = np.flatnonzero(np.diff(group[linked], prepend=-1))
    stops = np.append(starts[1:], linked.shape[0])
    pieces = [linked[a:b] for a, b in zip(starts, stops[: starts.shape[0]], strict=True)]
    by_group = {int(group[piece[0]]): piece for piece in pieces}
    reach = {g: np.bitwise_or.reduce(bits[c], axis=0) for g, c in by_group.items()}
    weight = {g: int(sizes[c].sum()) for g, c in by_group.items()}
    order: list[int] = []
    sequence: list[I64] = [np.zeros(0, np.int64)]
    last: U64 = np.zeros(bits.shape[1], np.uint64)
    while by_group:
        before = labels[order[-1]] if order else frozenset()
        best = max(
            by_group,
            key=lambda g: (
                len(before & labels[g]),
                int(np.bitwise_count(reach[g] & last).sum()),
                weight[g],
                -g,
            ),
        )
        classes = by_group.pop(best)
        chain = classes[chain_subpartitions(bits[classes], sizes[classes], last)]
        order.append(best)
        sequence.append(chain)
        last = bits[chain[-1]]
    rest = [g for g in range(len(labels)) if g not in weight]
    return (*order, *rest), np.concatenate(sequence)


def chain_subpartitions(bits: U64, sizes: I64, before: U64) -> I64:
    """Algorithm 2 over subpartitions: the order in which they get their vids; i64[k].

    bits : u64[k, words], the share set of each, none empty.
    sizes : i64[k], the vertices of each.
    before : u64[words], share set of the vertex numbered just before; 0 = none.

    Quadratic in k up to `MOST_CHAINED` (divided by words); smaller subpartitions beyond follow sorted by share set.
    """
    from ..graph.edge_loops import chained_by_overlap  # brings the compiler

    ranked = np.lexsort((*bits.T, -sizes))
    most = MOST_CHAINED // bits.shape[1]
    chained, rest = ranked[:most], ranked[most:]
    members = np.unpackbits(bits[chained].view(np.uint8), axis=1, bitorder="little")
    elps = sizes[chained] @ members.astype(np.int64)  # line 3: vertices left in each ELP
    left = np.ones(chained.shape[0], np.bool_)
    order: list[int] = []
    while left.any():
        sub = np.flatnonzero(left & (members[:, int(np.argmax(elps))] != 0))
        left[sub] = False
        elps -= sizes[chained[sub]] @ members[sub].astype(np.int64)
        chain = chained_by_overlap(bits[chained[sub]], before)
        order.extend(sub[chain].tolist())
        before = bits[chained[order[-1]]]
    spilled = rest[np.lexsort(tuple(bits[rest].T))]
    return np.concatenate([chained[order], spilled])
