"""The page of a drawing in a browser: nodes are dragged, pointed at and made larger. Skipped where no browser is."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import pytest

from gdb import Node, Relationship
from gdb.answer.answer_elements import elements_of
from gdb.answer.drawing.drawing import Drawing
from gdb.answer.drawing.scene import scene_of
from tests.support.browser import looked_at

NASTY = "</title><script>window.stolen = 1</script>\"'&<b>"
TOOLS = """
const middle = (element) => {
  const { left, top, width, height } = element.getBoundingClientRect();
  return { clientX: left + width / 2, clientY: top + height / 2, bubbles: true };
};
const fire = (element, kind, at) => element.dispatchEvent(new PointerEvent(kind, at));
const drag = (element, right, down) => {
  const at = middle(element), later = { ...at, clientX: at.clientX + right, clientY: at.clientY + down };
  fire(element, "pointerdown", at);
  fire(window, "pointermove", later);
  fire(window, "pointerup", later);
};
const circles = [...document.querySelectorAll(".node > circle:first-of-type")];
const lines = () => [...document.querySelectorAll(".edge path")].map((path) => path.getAttribute("d"));
const words = () => [...document.querySelectorAll(".types text")].map(
  (text) => [text.getAttribute("x"), text.getAttribute("y"), text.getAttribute("transform")].join());
const about = document.getElementById("about");
"""


def drawing() -> Drawing:
    """Five nodes with parallel relationships, both ways, a loop, and one without direction."""
    nodes = [Node(k, (f"L{k % 2}",), {"name": f"{NASTY}{k}"}) for k in range(5)]
    ends = [(0, 1), (1, 0), (0, 1), (0, 0), (1, 2), (2, 3), (3, 4), (4, 0)]
    joins = [Relationship(k, "KNOWS", *pair, {}, k != 5) for k, pair in enumerate(ends)]
    return Drawing(scene_of(elements_of([[*nodes, *joins]])))


def star() -> Drawing:
    """As high as wide, so that it does not fit in a window by its width alone."""
    joins = [Relationship(k, "KNOWS", 0, k + 1) for k in range(40)]
    return Drawing(scene_of(elements_of([joins])))


def seen(script: str, folder: Path, drawn: Drawing | None = None) -> dict[str, Any]:
    read = looked_at((drawn or drawing()).html, TOOLS + script, folder)
    assert read["problems"] == []
    found: dict[str, Any] = read["found"]
    return found


def test_problems_are_noticed(tmp_path: Path) -> None:
    read = looked_at(drawing().html, "console.error('one'); nothing.at.all;", tmp_path)
    assert len(read["problems"]) == 2


@pytest.mark.parametrize("drawn", [drawing(), star()], ids=["five", "star"])
def test_all_of_it_is_seen_at_first_and_no_text_is_a_script(drawn: Drawing, tmp_path: Path) -> None:
    found = seen(
        """
        found.boxes = [...document.querySelectorAll("svg circle, svg text, .line")].map((one) => {
          const { left, top, right, bottom } = one.getBoundingClientRect();
          return [left, top, right, bottom];
        });
        found.view = [innerWidth, innerHeight];
        found.stolen = window.stolen === undefined && !document.querySelector("svg script, svg b");
        """,
        tmp_path,
        drawn,
    )
    assert found["stolen"]
    assert len(found["boxes"]) > 20
    for left, top, right, bottom in found["boxes"]:
        assert 0 <= left <= right <= found["view"][0]
        assert 0 <= top <= bottom <= found["view"][1]


def test_captions_are_no_wider_than_the_layout_takes_them_for(tmp_path: Path) -> None:
    found = seen(
        """
        found.captions = [...document.querySelectorAll(".captions text, .types text")].map(
          (text) => [text.textContent, Number(getComputedStyle(text).fontSize.slice(0, -2)), text.getBBox().width]);
        """,
        tmp_path,
    )
    from gdb.answer.drawing.text import width

    for text, size, wide in found["captions"]:
        assert width(text, size) >= 0.95 * (wide - 3)


def test_a_node_is_dragged_with_its_lines(tmp_path: Path) -> None:
    found = seen(
        """
        const at = () => [Number(circles[0].getAttribute("cx")), Number(circles[0].getAttribute("cy"))];
        const own = (edge) => edge.dataset.start === "0" && edge.dataset.end === "1";
        found.before = [at(), lines(), words()];
        const matrix = document.querySelector("svg").getScreenCTM();
        found.scale = matrix.a;
        drag(circles[0], 60, -40);
        found.during = [at(), lines(), words()];
        found.line = [...document.querySelectorAll(".edge")].find(own).querySelector(".line").getAttribute("d");
        drag(circles[0], -60, 40);
        found.after = [at(), lines(), words()];
        """,
        tmp_path,
    )
    (x, y), *rest = found["before"]
    (moved_x, moved_y), *moved = found["during"]
    assert moved_x - x == pytest.approx(60 / found["scale"], abs=0.3)
    assert moved_y - y == pytest.approx(-40 / found["scale"], abs=0.3)
    first = [float(one) for one in re.findall(r"-?[\d.]+", found["line"])][:2]
    assert math.dist(first, (moved_x, moved_y)) == pytest.approx(16, abs=0.2)
    assert sum(a != b for a, b in zip(rest[0], moved[0], strict=True)) >= 8
    assert moved[1] != rest[1]
    for now, then in zip(found["after"][1] + found["after"][2], rest[0] + rest[1], strict=True):
        numbers = [[float(one) for one in re.findall(r"-?\d+\.?\d*", text)] for text in (now, then)]
        assert numbers[0][: len(numbers[1])] == pytest.approx(numbers[1], abs=0.5)


def test_pointing_tells_all_of_a_node_and_what_is_joined_to_it(tmp_path: Path) -> None:
    found = seen(
        """
        const node = circles[2].closest(".node");
        found.before = about.hidden;
        fire(node, "pointerenter", middle(node));
        found.text = about.hidden ? null : about.textContent;
        found.faint = [...document.querySelectorAll(".node")].map((one) => one.classList.contains("faint"));
        found.lines = [...document.querySelectorAll(".edge")].map((one) => one.classList.contains("faint"));
        fire(node, "pointerleave", middle(node));
        found.after = about.hidden && !document.querySelector(".faint");
        const edge = document.querySelector(".edge");
        fire(edge, "pointerenter", middle(edge));
        found.edge = about.textContent;
        """,
        tmp_path,
    )
    circles = drawing().scene.circles
    assert found["before"]
    assert found["text"] == circles[2].title
    assert NASTY.replace("'", r"\'") in found["text"] or NASTY in found["text"]
    assert found["faint"] == [True, False, False, False, True]
    assert found["lines"] == [True] * 4 + [False] * 2 + [True] * 2
    assert found["after"]
    assert "KNOWS" in found["edge"]


def test_the_wheel_makes_it_larger_about_the_pointer_and_the_ground_is_dragged(
    tmp_path: Path,
) -> None:
    found = seen(
        """
        const svg = document.querySelector("svg");
        const place = () => middle(circles[1]);
        found.before = [place(), circles[1].getBoundingClientRect().width];
        svg.dispatchEvent(new WheelEvent("wheel", { ...place(), deltaY: -500, cancelable: true }));
        found.larger = [place(), circles[1].getBoundingClientRect().width];
        fire(svg, "pointerdown", { clientX: 5, clientY: 5, bubbles: true });
        fire(window, "pointermove", { clientX: 35, clientY: 25 });
        fire(window, "pointerup", { clientX: 35, clientY: 25 });
        fire(window, "pointermove", { clientX: 95, clientY: 95 });
        found.moved = place();
        svg.dispatchEvent(new MouseEvent("dblclick"));
        found.again = [place(), circles[1].getBoundingClientRect().width];
        """,
        tmp_path,
    )
    before, wide = found["before"]
    larger, wider = found["larger"]
    assert wider > 1.5 * wide
    for axis, by in (("clientX", 30), ("clientY", 20)):
        assert larger[axis] == pytest.approx(before[axis], abs=1)
        assert found["moved"][axis] - larger[axis] == pytest.approx(by, abs=1)
        assert found["again"][0][axis] == pytest.approx(before[axis], abs=1)
