"""The floor's loops: plain functions over CSR arrays, which `peers.floor` compiles with numba for one thread.

`starts` and `ends` are a CSR with ascending neighbours. Where a function says oriented, vertices are numbered by degree
and each edge is held once, from the smaller number to the larger.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

I64 = npt.NDArray[np.int64]
I32 = npt.NDArray[np.int32]


def cliques(starts: I64, ends: I32, size: int, reads: bool) -> int:
    """Cliques of 3 or more vertices in an oriented graph: candidates of a level carry its mark. With `reads`
    instead what the intersections must read: for each, the length of the shorter list."""
    vertices = len(starts) - 1
    mark = np.zeros(vertices, np.int8)
    widest = 0
    for v in range(vertices):
        widest = max(widest, starts[v + 1] - starts[v])
    candidates = np.empty((size, widest + 1), np.int32)
    lengths = np.zeros(size, np.int64)
    places = np.zeros(size, np.int64)
    total = 0
    for v in range(vertices):
        degree = starts[v + 1] - starts[v]
        if degree < size - 1 and not reads:
            continue
        for i in range(degree):
            candidates[1, i] = ends[starts[v] + i]
            mark[candidates[1, i]] = 1
        lengths[1], places[1], level = degree, 0, 1
        while level > 0:
            if places[level] == lengths[level]:
                for i in range(lengths[level]):
                    mark[candidates[level, i]] = level - 1
                level -= 1
                continue
            u = candidates[level, places[level]]
            places[level] += 1
            if reads:
                total += min(lengths[level], starts[u + 1] - starts[u])
            if level == size - 2:
                if not reads:
                    for e in range(starts[u], starts[u + 1]):
                        total += mark[ends[e]] == level
                continue
            kept = 0
            for e in range(starts[u], starts[u + 1]):
                if mark[ends[e]] == level:
                    candidates[level + 1, kept] = ends[e]
                    kept += 1
            level += 1
            for i in range(kept):
                mark[candidates[level, i]] = level
            lengths[level], places[level] = kept, 0
    return total


def four_cycles(starts: I64, ends: I32) -> int:
    """4-cycles of a graph numbered by degree: at its highest vertex, two paths to the opposite one."""
    vertices = len(starts) - 1
    paths = np.zeros(vertices, np.int32)
    total = 0
    for v in range(vertices):
        for e in range(starts[v], starts[v + 1]):
            u = ends[e]
            if u >= v:
                break
            for f in range(starts[u], starts[u + 1]):
                w = ends[f]
                if w >= v:
                    break
                total += paths[w]
                paths[w] += 1
        for e in range(starts[v], starts[v + 1]):
            u = ends[e]
            if u >= v:
                break
            for f in range(starts[u], starts[u + 1]):
                w = ends[f]
                if w >= v:
                    break
                paths[w] = 0
    return total


def diamonds(starts: I64, ends: I32) -> int:
    """Pairs of triangles on each edge of an oriented graph."""
    vertices = len(starts) - 1
    triangles = np.zeros(len(ends), np.int64)
    mark = np.full(vertices, -1, np.int64)
    for v in range(vertices):
        for e in range(starts[v], starts[v + 1]):
            mark[ends[e]] = e
        for e in range(starts[v], starts[v + 1]):
            u = ends[e]
            for f in range(starts[u], starts[u + 1]):
                closing = mark[ends[f]]
                if closing >= 0:
                    triangles[e] += 1
                    triangles[f] += 1
                    triangles[closing] += 1
        for e in range(starts[v], starts[v + 1]):
            mark[ends[e]] = -1
    total = 0
    for e in range(len(ends)):
        total += triangles[e] * (triangles[e] - 1) // 2
    return total


def stars(starts: I64, ends: I32, labels: I64, wanted: I64) -> int:
    """Stars with labels wanted[0] in the middle and the others, all different, around it."""
    leaves = len(wanted) - 1
    near = np.zeros(leaves, np.int64)
    total = 0
    for v in range(len(starts) - 1):
        if labels[v] != wanted[0]:
            continue
        near[:] = 0
        for e in range(starts[v], starts[v + 1]):
            for k in range(leaves):
                near[k] += labels[ends[e]] == wanted[k + 1]
        product = 1
        for k in range(leaves):
            product *= near[k]
        total += product
    return total


def second_neighbours(starts: I64, ends: I32, mark: I64, vertex: int, stamp: int) -> int:
    """Vertices two edges away; `mark` is kept between calls, each with a stamp of its own."""
    total = 0
    mark[vertex] = stamp
    for e in range(starts[vertex], starts[vertex + 1]):
        u = ends[e]
        for f in range(starts[u], starts[u + 1]):
            w = ends[f]
            if mark[w] != stamp:
                mark[w] = stamp
                total += 1
    return total


def aggregate(sources: I64, targets: I64, labels: I64, values: I64, least: int, groups: int) -> I64:
    """Edges from a vertex with values >= least, by the label of the target."""
    found = np.zeros(groups, np.int64)
    for e in range(len(sources)):
        if values[sources[e]] >= least:
            found[labels[targets[e]]] += 1
    return found
