"""Where drawings put what they draw: lines meet circles, nothing hides anything, and all of it is in the view."""

from __future__ import annotations

import math
import re
from itertools import combinations
from xml.etree import ElementTree

import numpy as np
import pytest

from gdb.answer.drawing.curve import RADIUS, curve, free_turn, loop
from gdb.answer.drawing.scene import Arrow, Circle, Scene
from gdb.answer.drawing.svg import svg_of
from gdb.answer.drawing.text import width

SVG = "{http://www.w3.org/2000/svg}"
WORDS = ("Ada", "תל אביב-יפו", "😀😀😀", "漢字" * 9, "A very long caption indeed", "<script>")


def scene(count: int, ends: list[tuple[int, int]], kinds: int = 3) -> Scene:
    circles = [Circle(WORDS[k % len(WORDS)], f"Kind{k % kinds}", f"node {k}") for k in range(count)]
    arrows = [
        Arrow(*pair, "LIVES_IN_A_TOWN", "an arrow", k % 3 != 1) for k, pair in enumerate(ends)
    ]
    return Scene(tuple(circles), tuple(arrows))


SCENES = {
    "one": scene(1, []),
    "two": scene(2, [(0, 1)]),
    "alone": scene(60, []),
    "parallel": scene(2, [(0, 1), (1, 0), (0, 1), (1, 0), (0, 0), (0, 0), (1, 1)]),
    "many parallel": scene(2, [(0, 1)] * 30),
    "loops": scene(1, [(0, 0)] * 12),
    "short captions": Scene(
        (Circle("a", "", ""), Circle("b", "", "")),
        tuple(Arrow(*pair, "R", "") for pair in [*[(0, 0)] * 12, *[(0, 1)] * 20]),
    ),
    "star": scene(60, [(0, leaf) for leaf in range(1, 60)]),
    "tree": scene(60, [(child, (child - 1) // 2) for child in range(1, 60)]),
    "clique": scene(20, [*combinations(range(20), 2)]),
    "large": scene(150, [(one, (one + 1) % 150) for one in range(150)], 30),
}
named = pytest.mark.parametrize("drawn", SCENES.values(), ids=SCENES)


def circles(tree: ElementTree.Element) -> np.ndarray:
    found = [
        group.find(f"{SVG}circle") for group in tree.findall(f".//{SVG}g[@class='nodes']/{SVG}g")
    ]
    return np.array(
        [(float(one.attrib["cx"]), float(one.attrib["cy"])) for one in found if one is not None]
    )


def points(path: str) -> np.ndarray:
    return np.array(re.findall(r"-?[\d.]+", path), dtype=float).reshape(-1, 2)


def test_half_pixels_are_read() -> None:
    assert points("M1.5 -2Q3 4 5 6").tolist() == [[1.5, -2], [3, 4], [5, 6]]


@named
def test_lines_begin_and_end_on_the_borders_of_their_nodes(drawn: Scene) -> None:
    tree = ElementTree.fromstring(svg_of(drawn))
    places = circles(tree)
    edges = tree.findall(f".//{SVG}g[@class='edge']")
    assert len(edges) == len(drawn.arrows)
    for edge, arrow in zip(edges, drawn.arrows, strict=True):
        line, *tips = (points(path.attrib["d"]) for path in edge.findall(f"{SVG}path"))
        assert len(tips) == arrow.directed
        start, end = places[arrow.start], places[arrow.end]
        last = tips[0][0] if tips else line[-1]
        assert math.dist(line[0], start) == pytest.approx(RADIUS, abs=0.2)
        assert math.dist(last, end) == pytest.approx(RADIUS, abs=0.2)
        if tips:  # its base is the end of the line
            assert tips[0][1:].mean(axis=0) == pytest.approx(line[-1], abs=0.2)


@named
def test_circles_and_captions_are_apart(drawn: Scene) -> None:
    tree = ElementTree.fromstring(svg_of(drawn))
    for one, other in combinations(circles(tree), 2):
        assert math.dist(one, other) > 2 * RADIUS + 4
    if len(drawn.circles) > 60:
        return
    boxes = [box(text, 12) for text in tree.findall(f".//{SVG}g[@class='captions']/{SVG}text")]
    for (left, right, foot), (left_of, right_of, foot_of) in combinations(boxes, 2):
        assert min(right, right_of) - max(left, left_of) < 1 or abs(foot - foot_of) > 15


def box(text: ElementTree.Element, size: float) -> tuple[float, float, float]:
    x, half = float(text.attrib["x"]), width(text.text or "", size) / 2
    return x - half, x + half, float(text.attrib["y"])


@named
def test_all_of_it_is_in_the_view(drawn: Scene) -> None:
    tree = ElementTree.fromstring(svg_of(drawn))
    left, top, wide, high = map(float, tree.attrib["viewBox"].split())
    assert wide >= 150
    assert high >= 150
    held = [
        (float(one.attrib["cx"]) + dx, float(one.attrib["cy"]) + dx)
        for one in tree.iter(f"{SVG}circle")
        for dx in (-float(one.attrib["r"]), float(one.attrib["r"]))
    ]
    for text in tree.findall(f".//{SVG}g[@class='captions']/{SVG}text"):
        low, most, foot = box(text, 12)
        held += [(low, foot - 11), (most, foot + 3)]
    for text in tree.findall(f".//{SVG}g[@class='kind']/{SVG}text"):
        x, y = float(text.attrib["x"]), float(text.attrib["y"])
        held += [(x, y + 3), (x + width(text.text or "", 12), y)]
    curved = [at for path in tree.iter(f"{SVG}path") for at in along(points(path.attrib["d"]))]
    places = np.array([*held, *curved])
    assert (places >= (left, top)).all()
    assert (places <= (left + wide, top + high)).all()


def along(controls: np.ndarray) -> list[list[float]]:
    """Points of a Bézier curve, by de Casteljau; those of a triangle's corners lie within it."""
    found: list[list[float]] = []
    for step in np.linspace(0, 1, 9):
        held = controls
        while len(held) > 1:
            held = held[:-1] * (1 - step) + held[1:] * step
        found.append(held[0].tolist())
    return found


@named
def test_captions_of_lines_are_apart_and_upright(drawn: Scene) -> None:
    tree = ElementTree.fromstring(svg_of(drawn))
    texts = tree.findall(f".//{SVG}g[@class='types']/{SVG}text")
    if len(drawn.arrows) <= 60:
        assert len(texts) == len(drawn.arrows)
    turns = [
        float(one.attrib["transform"][7:].split()[0]) for one in texts if "transform" in one.attrib
    ]
    assert all(-90 <= turn <= 90 for turn in turns)
    if len(drawn.circles) <= 2 or len(drawn.arrows) > 60:
        for one, other in combinations(texts, 2):
            places = [(float(text.attrib["x"]), float(text.attrib["y"])) for text in (one, other)]
            assert math.dist(*places) > 5


def test_kinds_are_told_apart_by_colour_or_mark() -> None:
    tree = ElementTree.fromstring(svg_of(scene(27, [], 27)))
    looks = {
        tuple((one.attrib["fill"], one.attrib["r"]) for one in node.findall(f"{SVG}circle"))
        for node in tree.findall(f".//{SVG}g[@class='node']")
    }
    assert len(looks) == 27


def test_a_legend_has_as_many_lines_as_it_needs() -> None:
    tree = ElementTree.fromstring(svg_of(scene(4, [(0, 1), (1, 2), (2, 3)], 4)))
    feet = {text.attrib["y"] for text in tree.findall(f".//{SVG}g[@class='kind']/{SVG}text")}
    assert len(feet) >= 1
    many = ElementTree.fromstring(svg_of(scene(27, [(0, k) for k in range(27)], 27)))
    assert (
        len({text.attrib["y"] for text in many.findall(f".//{SVG}g[@class='kind']/{SVG}text")}) > 1
    )


@pytest.mark.parametrize("bend", [-30.0, 0.0, 30.0])
def test_a_curve_passes_beside_the_middle(bend: float) -> None:
    one = curve((0, 0), (200, 0), bend)
    start, control, end = points(one.line)
    assert ((start + 2 * control + end) / 4)[1] == pytest.approx(bend, abs=abs(bend) * 0.2)
    assert one.middle == pytest.approx((100, bend - 4))


def test_a_loop_lies_where_there_is_room() -> None:
    assert free_turn((0, 0), []) == pytest.approx(1.5 * math.pi)
    turn = free_turn((0, 0), [(0, -50), (-50, 0)])
    assert math.cos(turn) > 0
    middle = loop((0, 0), 1, turn).middle
    assert middle[0] > RADIUS
