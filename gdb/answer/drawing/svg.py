"""A scene as SVG: text alone, without scripts, fonts or anything else from outside.

Each element has a `<title>`, which browsers show where it is pointed at. Colours are of Paul Tol's scheme "muted",
which people who see few colours tell apart (https://personal.sron.nl/~pault/).
"""

from __future__ import annotations

import math
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from html import escape

import numpy as np

from gdb.answer.drawing.layout import F64, layout
from gdb.answer.drawing.scene import Arrow, Circle, Scene

RADIUS = 16.0
_COLOURS = ("#88CCEE", "#DDCC77", "#CC6677", "#44AA99", "#AA4499", "#999933", "#332288", "#117733")
_NO_KIND = "#BBBBBB"
_MARGIN, _LEGEND = 60.0, 20.0
_LONGEST, _LONGEST_TITLE = 22, 1000  # characters of a caption, of a title
_BEND = 26.0  # pixels between two relationships of the same nodes
_FONT = 'font-family="sans-serif" text-anchor="middle"'
_HALO = 'paint-order="stroke" stroke="#ffffff" stroke-width="3" stroke-linejoin="round"'


def svg_of(scene: Scene) -> str:
    """The drawing as one `<svg>` element, in pixels; a browser makes it smaller where it does not fit."""
    ends = [(arrow.start, arrow.end) for arrow in scene.arrows]
    places = layout(len(scene.circles), ends)
    low, high = (places.min(axis=0), places.max(axis=0)) if len(places) else (np.zeros(2),) * 2
    low, high = low - _MARGIN, high + _MARGIN + (0, _LEGEND * bool(scene.kinds))
    width, height = (float(side) for side in np.maximum(high - low, 160))
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}"'
        f' viewBox="{low[0]:.1f} {low[1]:.1f} {width:.1f} {height:.1f}"'
        ' style="max-width: 100%; height: auto; background: #ffffff">'
    )
    parts = [*_arrows(scene.arrows, places), *_circles(scene, places)]
    legend = _legend(scene.kinds, low[0] + 20, low[1] + height - 14)
    return "\n".join([head, '<g class="graph">', *parts, "</g>", *legend, "</svg>"])


def colours(kinds: Sequence[str]) -> dict[str, str]:
    """The colour of each kind."""
    return {kind: _COLOURS[place % len(_COLOURS)] for place, kind in enumerate(kinds)}


# ---- nodes ---------------------------------------------------------------------------------------


def _circles(scene: Scene, places: F64) -> Iterator[str]:
    fill = colours(scene.kinds)
    for number, (circle, (x, y)) in enumerate(zip(scene.circles, places.tolist(), strict=True)):
        yield (
            f'<g class="node" data-node="{number}"><title>{_title(circle.title)}</title>'
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{RADIUS:g}" fill="{_fill(circle, fill)}"'
            ' stroke="#444444" stroke-width="1"/>'
            f'<text x="{x:.1f}" y="{y + RADIUS + 13:.1f}" font-size="12" fill="#222222" {_FONT}'
            f" {_HALO}>{_caption(circle.caption)}</text></g>"
        )


def _fill(circle: Circle, fill: dict[str, str]) -> str:
    return fill.get(circle.kind, _NO_KIND)


def _legend(kinds: Sequence[str], x: float, y: float) -> Iterator[str]:
    for kind, colour in colours(kinds).items():
        text = _caption(kind)
        yield (
            f'<g class="legend"><circle cx="{x:.1f}" cy="{y - 4:.1f}" r="6" fill="{colour}"/>'
            f'<text x="{x + 11:.1f}" y="{y:.1f}" font-size="12" fill="#222222"'
            f' font-family="sans-serif">{text}</text></g>'
        )
        x += 30 + 7 * len(text)


# ---- relationships -------------------------------------------------------------------------------


def _arrows(arrows: Sequence[Arrow], places: F64) -> Iterator[str]:
    """The lines; several between the same two nodes are bent apart."""
    held = Counter(frozenset((arrow.start, arrow.end)) for arrow in arrows)
    drawn: Counter[frozenset[int]] = Counter()
    for arrow in arrows:
        pair = frozenset((arrow.start, arrow.end))
        turn = drawn[pair] - (held[pair] - 1) / 2
        drawn[pair] += 1
        start, end = places[arrow.start].tolist(), places[arrow.end].tolist()
        if arrow.start == arrow.end:
            line, tip, middle = _loop(start, drawn[pair])
        else:
            bend = turn * _BEND * (1 if arrow.start < arrow.end else -1)
            line, tip, middle = _curve(start, end, bend)
        head = f'<path d="{tip}" fill="#888888"/>' if arrow.directed else ""
        yield (
            f'<g class="edge" data-start="{arrow.start}" data-end="{arrow.end}">'
            f"<title>{_title(arrow.title)}</title>"
            f'<path d="{line}" fill="none" stroke="#888888" stroke-width="1.4"/>{head}'
            f'<text x="{middle[0]:.1f}" y="{middle[1] + 3:.1f}" font-size="9" fill="#555555"'
            f" {_FONT} {_HALO}>{_caption(arrow.caption)}</text></g>"
        )


Drawn = tuple[str, str, tuple[float, float]]
"""The path of a line, of its tip, and where its caption is."""


def _curve(start: Sequence[float], end: Sequence[float], bend: float) -> Drawn:
    """A line from circle to circle through a point `bend` pixels to its side."""
    across, along = end[0] - start[0], end[1] - start[1]
    length = math.hypot(across, along) or 1.0
    middle = (
        (start[0] + end[0]) / 2 - along / length * bend * 2,
        (start[1] + end[1]) / 2 + across / length * bend * 2,
    )
    first, last = _towards(start, middle, RADIUS), _towards(end, middle, RADIUS + 7)
    line = f"M{first[0]:.1f} {first[1]:.1f}Q{middle[0]:.1f} {middle[1]:.1f} {last[0]:.1f} {last[1]:.1f}"
    caption = tuple(((start[k] + end[k]) / 2 + middle[k]) / 2 for k in (0, 1))
    return line, _tip(_towards(end, middle, RADIUS), last), (caption[0], caption[1])


def _loop(at: Sequence[float], number: int) -> Drawn:
    """A line from a circle to itself, above it; each one larger than the one before."""
    x, y = at
    size = 22.0 + 12 * number
    first, last = (x - 10, y - RADIUS + 2), (x + 13, y - RADIUS - 4)
    line = (
        f"M{first[0]:.1f} {first[1]:.1f}C{x - size:.1f} {y - RADIUS - size:.1f}"
        f" {x + size:.1f} {y - RADIUS - size:.1f} {last[0]:.1f} {last[1]:.1f}"
    )
    return line, _tip((x + 10, y - RADIUS + 2), last), (x, y - RADIUS - size * 0.75)


def _towards(start: Sequence[float], end: Sequence[float], far: float) -> tuple[float, float]:
    length = math.hypot(end[0] - start[0], end[1] - start[1]) or 1.0
    return (
        start[0] + (end[0] - start[0]) / length * far,
        start[1] + (end[1] - start[1]) / length * far,
    )


def _tip(point: Sequence[float], base: Sequence[float]) -> str:
    """A triangle with its point there."""
    across, along = (point[1] - base[1]) * 0.55, (base[0] - point[0]) * 0.55
    return (
        f"M{point[0]:.1f} {point[1]:.1f}L{base[0] + across:.1f} {base[1] + along:.1f}"
        f"L{base[0] - across:.1f} {base[1] - along:.1f}Z"
    )


# ---- texts ---------------------------------------------------------------------------------------


def _caption(text: str) -> str:
    return escape(_short(_plain(text), _LONGEST))


def _title(text: str) -> str:
    return escape(_short(_plain(text), _LONGEST_TITLE))


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _plain(text: str) -> str:
    """The text with a blank for each character that XML does not have, or that is no line's."""
    if text.isprintable():
        return text
    return "".join(" " if unicodedata.category(one) in _NO_TEXT else one for one in text)


_NO_TEXT = ("Cc", "Cs", "Cn", "Co", "Zl", "Zp")
