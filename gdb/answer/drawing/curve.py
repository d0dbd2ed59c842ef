"""Curves of relationships, from the border of one circle to that of another, or back to the same."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from gdb.records import dataclass

RADIUS = 16.0
"""The radius of a node's circle, in pixels."""

_TIP = 7.0  # pixels from the base of a tip to its point
_ASIDE = 4.0  # pixels from a line to its caption
_DOWN = 8.0  # pixels that the caption of a steep line is lower, for the caption of the upper circle
_OPEN = 0.55  # half the angle between the ends of a loop, in radians

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Curve:
    """line, tip : paths; the tip's is "" where there is none. middle, angle : of the caption; in degrees.

    outline : points on the line, or beside it, beyond which it goes a pixel at most.
    """

    line: str
    tip: str
    middle: Point
    angle: float
    outline: tuple[Point, ...]


def curve(start: Point, end: Point, bend: float, directed: bool = True) -> Curve:
    """A line from circle to circle that passes `bend` pixels beside the middle between them, to the right of its way.

    The page that can be moved about has the same in its script.
    """
    across, along = end[0] - start[0], end[1] - start[1]
    length = math.hypot(across, along) or 1.0
    aside = (-along / length, across / length)
    centre = ((start[0] + end[0]) / 2, (start[1] + end[1]) / 2)
    control = _moved(centre, aside, 2 * bend)
    first, point = _towards(start, control, RADIUS), _towards(end, control, RADIUS)
    last = _towards(end, control, RADIUS + _TIP) if directed else point
    line = f"M{_text(first)}Q{_text(control)} {_text(last)}"
    angle = math.degrees(math.atan2(along, across))
    flipped = angle > 90 or angle <= -90
    above = 1 if flipped else -1
    down = _DOWN * abs(along) / length * (1 if along > 0 else -1)
    middle = _moved(
        _moved(centre, aside, bend + above * _ASIDE), (across / length, along / length), down
    )
    tip = _tip(point, last) if directed else ""
    return Curve(
        line, tip, middle, angle - math.copysign(180, angle) * flipped, (first, point, middle)
    )


def loop(at: Point, number: int, turn: float, directed: bool = True) -> Curve:
    """A line from a circle to itself. number : from 1 on; each is larger. turn : the way it lies, in radians."""
    far = RADIUS + 20.0 + 24 * number
    first, point = (_around(at, turn + way * _OPEN, RADIUS) for way in (-1, 1))
    one, other = (_around(at, turn + way * (_OPEN + 0.15), far) for way in (-1, 1))
    last = _towards(point, other, _TIP) if directed else point
    line = f"M{_text(first)}C{_text(one)} {_text(other)} {_text(last)}"
    top = _around(at, turn, 0.75 * far * math.cos(_OPEN + 0.15) + RADIUS * math.cos(_OPEN) / 4)
    middle = (top[0], top[1] + 9 * math.sin(turn))
    sides = [_between((first, one, other, last), part) for part in (0.2, 0.35, 0.5, 0.65, 0.8)]
    return Curve(line, _tip(point, last) if directed else "", middle, 0.0, (*sides, middle))


def free_turn(at: Point, others: Iterable[Point]) -> float:
    """The middle of the widest angle around a point in which no other lies; upwards where there are none.

    A caption beneath the node counts as one of them.
    """
    turns = sorted(
        [math.pi / 2, *(math.atan2(other[1] - at[1], other[0] - at[0]) for other in others)]
    )
    gaps = [
        (follower - turn, turn)
        for turn, follower in zip(turns, [*turns[1:], turns[0] + 2 * math.pi], strict=True)
    ]
    gap, turn = max(gaps)
    return turn + gap / 2


def _between(controls: Sequence[Point], part: float) -> Point:
    """A point of a Bézier curve of the third degree."""
    shares = [math.comb(3, k) * part**k * (1 - part) ** (3 - k) for k in range(4)]
    x, y = (
        sum(share * point[axis] for share, point in zip(shares, controls, strict=True))
        for axis in (0, 1)
    )
    return x, y


def _moved(point: Point, way: Point, far: float) -> Point:
    return point[0] + way[0] * far, point[1] + way[1] * far


def _around(at: Point, turn: float, far: float) -> Point:
    return _moved(at, (math.cos(turn), math.sin(turn)), far)


def _towards(start: Point, end: Point, far: float) -> Point:
    length = math.hypot(end[0] - start[0], end[1] - start[1]) or 1.0
    return _moved(start, ((end[0] - start[0]) / length, (end[1] - start[1]) / length), far)


def _tip(point: Point, base: Point) -> str:
    """A triangle with its point there."""
    across, along = (point[1] - base[1]) * 0.55, (base[0] - point[0]) * 0.55
    corners: Sequence[Point] = (
        (base[0] + across, base[1] + along),
        (base[0] - across, base[1] - along),
    )
    return f"M{_text(point)}L{_text(corners[0])}L{_text(corners[1])}Z"


def _text(point: Point) -> str:
    return f"{point[0]:.1f} {point[1]:.1f}"
