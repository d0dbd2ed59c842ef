"""Places for the nodes of a drawing, found by forces.

Every two nodes push each other apart, a relationship pulls its ends together, and all are drawn a little to the middle;
they move in steps that get smaller. After Fruchterman and Reingold, *Graph Drawing by Force-directed Placement*,
Software: Practice and Experience 21 (1991), https://doi.org/10.1002/spe.4380211102. At the end, nodes that are too
close are moved apart. The same graph always gets the same places.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

F64 = npt.NDArray[np.float64]

LENGTH = 90.0
"""Pixels that a relationship has where nothing pushes."""
APART = 46.0
"""Pixels that two nodes are apart at least."""

_STEPS = 100
_GRAVITY = 0.2
_REACH = 4 * LENGTH  # of the push: without an end to it, many nodes drive each other far away
_TURN = np.pi * (3 - np.sqrt(5))  # the golden angle: a spiral of it fills a disc evenly
_PUSHES = 100


def layout(count: int, ends: Sequence[tuple[int, int]]) -> F64:
    """Places in pixels, f64[count, 2]. ends : of each relationship. O(count^2) a step, of which there are 100."""
    places = _spiral(count)
    if count < 2:
        return places
    joined = np.zeros((count, count))
    for start, end in ends:
        if start != end:
            joined[start, end] = joined[end, start] = 1
    for step in range(_STEPS):
        places += _move(places, joined, LENGTH * (1 - step / _STEPS) + 1)
    return _apart(places - places.mean(axis=0))


def _spiral(count: int) -> F64:
    turns = np.arange(count) * _TURN
    far = LENGTH / 2 * np.sqrt(np.arange(count) + 0.5)
    return np.column_stack((far * np.cos(turns), far * np.sin(turns)))


def _move(places: F64, joined: F64, most: float) -> F64:
    """How far each node moves in one step, at most `most` pixels."""
    squares = (places * places).sum(axis=1)
    apart = np.maximum(squares[:, None] + squares - 2 * places @ places.T, 1.0)
    forces = np.where(apart < _REACH**2, LENGTH**2 / apart, 0) - joined * np.sqrt(apart) / LENGTH
    np.fill_diagonal(forces, 0)
    moves: F64 = places * forces.sum(axis=1)[:, None] - forces @ places - _GRAVITY * places
    lengths = np.maximum(np.hypot(moves[:, 0], moves[:, 1]), 1e-9)
    moves *= (np.minimum(lengths, most) / lengths)[:, None]
    return moves


def _apart(places: F64) -> F64:
    """The places, with nodes moved that are closer than `APART`."""
    rows, columns = np.triu_indices(len(places), 1)
    for _ in range(_PUSHES):
        between = places[rows] - places[columns]
        distances = np.hypot(*between.T)
        close = np.flatnonzero(distances < APART - 0.5)
        if not len(close):
            break
        first, second, way = rows[close], columns[close], between[close]
        same = distances[close] < 1e-6
        way[same] = np.c_[np.cos(first[same] * _TURN), np.sin(first[same] * _TURN)]
        length = np.maximum(distances[close], 1e-6)
        length[same] = 1
        push = way / length[:, None] * ((APART - distances[close]) / 2 + 0.5)[:, None]
        np.add.at(places, first, push)
        np.subtract.at(places, second, push)
    return places
