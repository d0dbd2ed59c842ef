"""A scene as SVG: text alone, without scripts, fonts or anything else from outside.

Lines and their captions are beneath circles, and captions of circles above all. Each element has a `<title>`, which
browsers show where it is pointed at. Colours are of Paul Tol's scheme "muted", which colour-blind people
can distinguish (https://personal.sron.nl/~pault/). The ground and the texts have the colours of the notebook they
are in, dark or not (JupyterLab and Visual Studio Code set them as CSS variables), and are dark on white elsewhere.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

import numpy as np

from gdb.answer.drawing.curve import RADIUS, Curve, Point, curve, free_turn, loop
from gdb.answer.drawing.layout import F64, layout
from gdb.answer.drawing.scene import Arrow, Scene
from gdb.answer.drawing.text import caption, short, title, width

_COLOURS = (
    *("#88CCEE", "#DDCC77", "#CC6677", "#44AA99", "#AA4499", "#999933", "#332288", "#117733"),
    "#882255",
)
_NO_KIND = "#BBBBBB"
# Of captions; pixels from a circle to the foot of its caption.
_SIZE, _ARROW_SIZE, _BELOW = 12.0, 9.0, 13.0
_MARGIN, _LINE = 12.0, 20.0  # pixels around the drawing, and of a line of its legend
_LEAST = 160.0  # pixels of a side
# Pixels between two relationships of the same nodes, and between all of them.
_BEND, _WIDEST = 26.0, 160.0
# Relationships that all have captions; of more those have them whose lines have room.
_FEW = 60
_STRETCH = 2.0  # how much longer lines get at most for captions
_GROUND = "var(--gdb-ground, var(--jp-layout-color0, var(--vscode-editor-background, #ffffff)))"
_INK = "var(--gdb-ink, var(--jp-content-font-color0, var(--vscode-editor-foreground, #222222)))"
_HALO = (
    'fill="currentColor" stroke="#ffffff" stroke-width="3" stroke-linejoin="round" paint-order="stroke"'
    f' style="stroke: {_GROUND}" font-family="sans-serif" text-anchor="middle" pointer-events="none"'
)


def svg_of(scene: Scene) -> str:
    """The drawing as one `<svg>` element, in pixels; a browser makes it smaller where it does not fit."""
    places = _places(scene)
    points = [(float(x), float(y)) for x, y in places]
    curves = _curves(scene.arrows, points)
    low, high = _extent(scene, points, curves)
    side = max(high[0] - low[0], _LEAST)
    legend = [*_legend(scene.kinds, low[0], high[1] + _LINE, side)]
    foot = high[1] + _LINE * (1 + len({y for _, y, _ in legend})) if legend else high[1]
    height = max(foot - low[1], _LEAST)
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{side:.0f}" height="{height:.0f}"'
        f' viewBox="{low[0]:.1f} {low[1]:.1f} {side:.1f} {height:.1f}" color="#222222"'
        f' style="max-width: 100%; height: auto; max-height: 90vh; background: {_GROUND}; color: {_INK}">'
    )
    graph = [
        '<g class="edges" fill="none" stroke="#888888" stroke-width="1.4">',
        *_lines(scene.arrows, curves),
        f'</g>\n<g class="types" font-size="{_ARROW_SIZE:g}" {_HALO}>',
        *_types(scene.arrows, curves, points),
        '</g>\n<g class="nodes" stroke="currentColor" stroke-opacity="0.7">',
        *_circles(scene, points),
        f'</g>\n<g class="captions" font-size="{_SIZE:g}" {_HALO}>',
        *_captions(scene, points),
        '</g>\n<g class="legend" fill="currentColor" font-family="sans-serif" font-size="12">',
        *(text for _, _, text in legend),
    ]
    return "\n".join([head, *graph, "</g>", "</svg>"])


# ---- places --------------------------------------------------------------------------------------


def _places(scene: Scene) -> F64:
    """Where the nodes are, f64[nodes, 2]: captions beneath them apart, lines long enough for theirs."""
    ends = [(arrow.start, arrow.end) for arrow in scene.arrows]
    widths = [width(short(circle.caption), _SIZE) for circle in scene.circles]
    places = layout(len(scene.circles), ends, np.array(widths) + 4)
    if len(ends) > _FEW:
        return places
    wanted = [
        _room(arrow) / max(float(np.hypot(*(places[arrow.end] - places[arrow.start]))), 1.0)
        for arrow in scene.arrows
        if arrow.start != arrow.end
    ]
    return places * min(max([1.0, *wanted]), _STRETCH)


def _room(arrow: Arrow) -> float:
    """Pixels that the ends must be apart for the caption to be between their circles."""
    return width(short(arrow.caption), _ARROW_SIZE) + 2 * RADIUS + 12


def _extent(scene: Scene, points: Sequence[Point], curves: Sequence[Curve]) -> tuple[Point, Point]:
    """The least and the largest coordinates of all that is drawn, with a margin."""
    corners = [point for one in curves for point in one.outline]
    for circle, (x, y) in zip(scene.circles, points, strict=True):
        half = max(RADIUS, width(short(circle.caption), _SIZE) / 2)
        corners += [(x - half, y - RADIUS), (x + half, y + RADIUS + _BELOW + 4)]
    for arrow, one in zip(scene.arrows, curves, strict=True):
        half = width(short(arrow.caption), _ARROW_SIZE) / 2 if not one.angle else 8.0
        corners += [(one.middle[0] + way * half, one.middle[1] + way * 8) for way in (-1, 1)]
    held = np.array(corners or [(0.0, 0.0)])
    low, high = held.min(axis=0) - _MARGIN, held.max(axis=0) + _MARGIN
    spare = max(_LEAST - float(high[0] - low[0]), 0.0) / 2
    return (float(low[0]) - spare, float(low[1])), (float(high[0]) + spare, float(high[1]))


# ---- nodes ---------------------------------------------------------------------------------------


def _circles(scene: Scene, points: Sequence[Point]) -> Iterator[str]:
    numbers = {kind: place for place, kind in enumerate(scene.kinds)}
    for number, (circle, (x, y)) in enumerate(zip(scene.circles, points, strict=True)):
        yield (
            f'<g class="node" data-node="{number}"><title>{title(circle.title)}</title>'
            f"{_disc(numbers.get(circle.kind), x, y, RADIUS)}</g>"
        )


def _disc(place: int | None, x: float, y: float, radius: float) -> str:
    """A circle of the kind at a place. A white disc in it distinguishes it from the earlier kind of the same colour."""
    colour = _NO_KIND if place is None else _COLOURS[place % len(_COLOURS)]
    disc = f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}" fill="{colour}"/>'
    within = (0, 0.4, 0.75)[(place or 0) // len(_COLOURS) % 3] * radius
    if not within:
        return disc
    return f'{disc}<circle class="mark" cx="{x:.1f}" cy="{y:.1f}" r="{within:.1f}" fill="#ffffff" stroke="none"/>'


def _captions(scene: Scene, points: Sequence[Point]) -> Iterator[str]:
    for number, (circle, (x, y)) in enumerate(zip(scene.circles, points, strict=True)):
        yield (
            f'<text x="{x:.1f}" y="{y + RADIUS + _BELOW:.1f}" data-node="{number}">'
            f"{caption(circle.caption)}</text>"
        )


def _legend(
    kinds: Sequence[str], left: float, y: float, side: float
) -> Iterator[tuple[float, float, str]]:
    """The kinds with their colours, in as many lines as are needed. Yields x, y and the text of each."""
    x = left + _MARGIN
    for place, kind in enumerate(kinds):
        room = width(short(kind), _SIZE) + 30
        if x > left + _MARGIN and x + room > left + side:
            x, y = left + _MARGIN, y + _LINE
        yield (
            x,
            y,
            f'<g class="kind">{_disc(place, x + 6, y - 4, 6)}'
            f'<text x="{x + 17:.1f}" y="{y:.1f}">{caption(kind)}</text></g>',
        )
        x += room


# ---- relationships -------------------------------------------------------------------------------


def _curves(arrows: Sequence[Arrow], points: Sequence[Point]) -> list[Curve]:
    """The curve of each; several between the same two nodes are bent apart."""
    bends, near = bends_of(arrows), _neighbours(arrows, points)
    loops: Counter[int] = Counter()
    found = []
    for arrow, bend in zip(arrows, bends, strict=True):
        start, end = points[arrow.start], points[arrow.end]
        if arrow.start == arrow.end:
            loops[arrow.start] += 1
            turn = free_turn(start, near[arrow.start])
            found.append(loop(start, loops[arrow.start], turn, arrow.directed))
        else:
            found.append(curve(start, end, bend, arrow.directed))
    return found


def bends_of(arrows: Sequence[Arrow]) -> list[float]:
    """How far each is bent to the right of its way, in pixels."""
    held = Counter(frozenset((arrow.start, arrow.end)) for arrow in arrows)
    drawn: Counter[frozenset[int]] = Counter()
    bends = []
    for arrow in arrows:
        pair = frozenset((arrow.start, arrow.end))
        turn = drawn[pair] - (held[pair] - 1) / 2
        drawn[pair] += 1
        between = min(_BEND, _WIDEST / held[pair])
        bends.append(turn * between * (1 if arrow.start < arrow.end else -1))
    return bends


def _neighbours(arrows: Sequence[Arrow], points: Sequence[Point]) -> dict[int, set[Point]]:
    near: dict[int, set[Point]] = defaultdict(set)
    for arrow in arrows:
        if arrow.start != arrow.end:
            near[arrow.start].add(points[arrow.end])
            near[arrow.end].add(points[arrow.start])
    return near


def _lines(arrows: Sequence[Arrow], curves: Sequence[Curve]) -> Iterator[str]:
    for arrow, bend, one in zip(arrows, bends_of(arrows), curves, strict=True):
        tip = f'<path class="tip" d="{one.tip}" fill="#888888" stroke="none"/>' if one.tip else ""
        yield (
            f'<g class="edge" data-start="{arrow.start}" data-end="{arrow.end}" data-bend="{bend:.1f}">'
            f'<title>{title(arrow.title)}</title><path class="line" d="{one.line}"/>{tip}</g>'
        )


def _types(
    arrows: Sequence[Arrow], curves: Sequence[Curve], points: Sequence[Point]
) -> Iterator[str]:
    """The captions, along their lines; where there are many lines, only those that have room."""
    shown = range(len(arrows)) if len(arrows) <= _FEW else _with_room(arrows, curves, points)
    for number in shown:
        one, (x, y) = curves[number], curves[number].middle
        turned = f' transform="rotate({one.angle:.1f} {x:.1f} {y:.1f})"' if one.angle else ""
        yield (
            f'<text x="{x:.1f}" y="{y:.1f}" data-edge="{number}"{turned}>'
            f"{caption(arrows[number].caption)}</text>"
        )


def _with_room(
    arrows: Sequence[Arrow], curves: Sequence[Curve], points: Sequence[Point]
) -> list[int]:
    """The numbers of those whose captions fit on their lines, away from circles and from the captions before them."""
    places = np.array(points)
    kept: list[int] = []
    middles = np.array([one.middle for one in curves])
    for number, arrow in enumerate(arrows):
        room, middle = _room(arrow), middles[number]
        apart = max((room - 2 * RADIUS) * 0.6, 12)
        if (
            np.hypot(*(places[arrow.end] - places[arrow.start])) >= room - 8
            and np.hypot(*(places - middle).T).min() >= RADIUS + 6
            and (not kept or np.hypot(*(middles[kept] - middle).T).min() >= apart)
        ):
            kept.append(number)
    return kept
