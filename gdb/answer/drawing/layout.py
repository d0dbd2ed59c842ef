"""Places for the nodes of a drawing, found by forces.

Every two nodes push each other apart, a relationship pulls its ends together, and all are drawn a little to the middle;
they move in steps that get smaller. After Fruchterman and Reingold, *Graph Drawing by Force-directed Placement*,
Software: Practice and Experience 21 (1991), https://doi.org/10.1002/spe.4380211102. At the end all is turned to be
wider than high, and nodes that are too close, or whose captions are, are moved apart. The same graph always gets the
same places.
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
HEIGHT = 52.0
"""Pixels that two nodes one above the other are apart at least: a circle and the caption beneath it."""

_STEPS = 100
_GRAVITY = 0.2
_REACH = 2.5 * LENGTH  # of the push: without an end to it, many nodes drive each other far away
_TURN = np.pi * (3 - np.sqrt(5))  # the golden angle: a spiral of it fills a disc evenly
_PUSHES = 100
_WIDER = 1.5  # how much wider all of it gets at most for long captions


def layout(count: int, ends: Sequence[tuple[int, int]], widths: F64 | float = APART) -> F64:
    """Places in pixels, f64[count, 2]. O(count^2) for each of 100 steps.

    ends : of each relationship. widths : of the nodes with their captions, f64[count], in pixels.
    """
    places = _spiral(count)
    if count < 2:
        return places
    joined = np.zeros((count, count))
    for start, end in ends:
        if start != end:
            joined[start, end] = joined[end, start] = 1
    for step in range(_STEPS):
        places += _move(places, joined, LENGTH * (1 - step / _STEPS) + 1)
    boxes = np.broadcast_to(np.maximum(widths, APART), count)
    places = _turned(places - places.mean(axis=0))
    places[:, 0] *= np.clip(boxes.mean() / HEIGHT, 1.0, _WIDER)
    return _apart(places, boxes)


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


def _turned(places: F64) -> F64:
    """The places, turned so that they are wider than high, as screens are."""
    _, ways = np.linalg.eigh(places.T @ places)
    wide = ways[:, 1] * (1 if ways[0, 1] >= 0 else -1)
    turned: F64 = places @ np.column_stack((wide, (-wide[1], wide[0])))
    return turned


def _apart(places: F64, widths: F64) -> F64:
    """The places, with nodes moved whose boxes overlap: along the axis on which they overlap less."""
    rows, columns = np.triu_indices(len(places), 1)
    sides = np.column_stack(((widths[rows] + widths[columns]) / 2, np.full(len(rows), HEIGHT)))
    for _ in range(_PUSHES):
        between = places[rows] - places[columns]
        lacks = sides - np.abs(between)
        close = np.flatnonzero((lacks > 0.5).all(axis=1))
        if not len(close):
            break
        axis = lacks[close].argmin(axis=1)
        far = lacks[close, axis] / 2 + 0.5
        push = np.zeros((len(close), 2))
        push[np.arange(len(close)), axis] = np.where(between[close, axis] < 0, -far, far)
        np.add.at(places, rows[close], push)
        np.subtract.at(places, columns[close], push)
    return places
