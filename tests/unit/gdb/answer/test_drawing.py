"""Drawings: what they show, where it is, and that nothing of a graph's texts gets out of them."""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import gdb
from gdb import Node, Relationship
from gdb import Path as GraphPath
from gdb.answer.answer_elements import elements_of
from gdb.answer.drawing.drawing import MOST, Drawing
from gdb.answer.drawing.layout import APART, layout
from gdb.answer.drawing.scene import Arrow, Circle, Scene, scene_of, telling_key
from gdb.answer.drawing.svg import svg_of
from gdb.answer.result import Result
from gdb.answer.rows import RowAnswer

SVG = "{http://www.w3.org/2000/svg}"
NASTY = "</svg><script>alert(1)</script>&\"'\n\x00\x1b\ud800\uffff" + "ü" * 5000
GRAPHS = {
    "star": (100, [(0, leaf) for leaf in range(1, 100)]),
    "pairs": (100, [(2 * pair, 2 * pair + 1) for pair in range(50)]),
    "lone": (300, []),
    "tree": (150, [(child, (child - 1) // 2) for child in range(1, 150)]),
    "clique": (24, [(a, b) for a in range(24) for b in range(a)]),
    "ring": (150, [(one, (one + 1) % 150) for one in range(150)]),
    "loop": (1, [(0, 0), (0, 0)]),
}


def result(*rows: tuple[Any, ...]) -> Result:
    return Result(RowAnswer([f"c{k}" for k in range(len(rows[0]))], rows))


def people() -> Result:
    ada = Node(1, ("Person",), {"born": 1815, "name": "Ada"})
    bob = Node(2, ("Person",), {"name": "Bob"})
    rome = Node(3, ("Town", "Place"), {"size": 3})
    knows, lives = Relationship(0, "KNOWS", 1, 2), Relationship(1, "LIVES", 1, 3)
    near = Relationship(2, "NEAR", 2, 3, {}, directed=False)
    return result((GraphPath((ada, bob), (knows,)), {"x": [lives, rome]}, near))


def drawing_of(found: Result) -> Drawing:
    made = found.draw()
    assert isinstance(made, Drawing)
    return made


def texts(svg: str) -> list[str]:
    return [one.text or "" for one in ElementTree.fromstring(svg).iter(f"{SVG}text")]


# ---- places ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", GRAPHS)
def test_no_two_nodes_overlap(name: str) -> None:
    places = layout(*GRAPHS[name])
    assert np.isfinite(places).all()
    between = places[:, None] - places[None]
    distances = np.hypot(between[..., 0], between[..., 1])
    np.fill_diagonal(distances, np.inf)
    assert distances.min() > 0.9 * APART


@pytest.mark.parametrize("name", GRAPHS)
def test_the_same_graph_gets_the_same_places(name: str) -> None:
    assert (layout(*GRAPHS[name]) == layout(*GRAPHS[name])).all()


def test_what_is_joined_is_nearer_than_what_is_not() -> None:
    count, ends = GRAPHS["tree"]
    places = layout(count, ends)
    between = places[:, None] - places[None]
    distances = np.hypot(between[..., 0], between[..., 1])
    joined = np.mean([distances[a, b] for a, b in ends])
    assert joined < 0.4 * distances[np.triu_indices(count, 1)].mean()


def test_nothing_has_no_places() -> None:
    assert layout(0, []).shape == (0, 2)


# ---- what is drawn ---------------------------------------------------------------------------------


def test_all_elements_are_drawn_once_with_captions() -> None:
    found = drawing_of(people())
    assert [circle.caption for circle in found.scene.circles] == ["Ada", "Bob", "3"]
    assert [circle.kind for circle in found.scene.circles] == ["Person", "Person", "Town:Place"]
    shown = texts(found.svg)
    assert {"Ada", "Bob", "KNOWS", "LIVES", "NEAR", "Person"} <= set(shown)
    tree = ElementTree.fromstring(found.svg)
    assert len(tree.findall(f".//{SVG}g[@class='node']")) == 3
    edges = tree.findall(f".//{SVG}g[@class='edge']")
    assert len(edges) == 3
    heads = [len(edge.findall(f"{SVG}path")) - 1 for edge in edges]
    assert sorted(heads) == [0, 1, 1]  # NEAR has no direction


def test_labels_have_colours_of_their_own() -> None:
    tree = ElementTree.fromstring(drawing_of(people()).svg)
    fills = [one.attrib["fill"] for one in tree.findall(f".//{SVG}g[@class='node']/{SVG}circle")]
    assert fills[0] == fills[1] != fills[2]


def test_ends_that_are_not_in_the_answer_are_drawn_by_their_ids() -> None:
    found = drawing_of(result((Relationship(0, "R", "a", "b"),)))
    assert [circle.caption for circle in found.scene.circles] == ["a", "b"]


def test_several_relationships_between_two_nodes_are_apart() -> None:
    same = [
        Relationship(number, "R", *ends) for number, ends in enumerate([(1, 2), (1, 2), (2, 1)])
    ]
    same += [Relationship(number, "R", 1, 1) for number in (3, 4)]
    tree = ElementTree.fromstring(drawing_of(result(tuple(same))).svg)
    lines = {one.attrib["d"] for one in tree.findall(f".//{SVG}path[@class='line']")}
    middles = {
        (one.attrib["x"], one.attrib["y"])
        for one in tree.findall(f".//{SVG}g[@class='types']/{SVG}text")
    }
    assert len(lines) == len(middles) == 5


@pytest.mark.parametrize(
    ("properties", "key"),
    [
        ([{"a": 1, "Name": "x"}, {"a": 2, "Name": "x"}], "Name"),
        ([{"a": 1, "b": "x"}, {"a": 2, "b": "y"}], "b"),
        ([{"a": "x", "b": "x"}, {"a": "y", "b": "x"}], "a"),
        ([{"a": "xxxx", "b": "x"}, {"a": "yyyy", "b": "y"}], "b"),
        ([{"a": "x", "b": "x"}, {"b": "y"}], "b"),
        ([{}], None),
    ],
)
def test_the_most_telling_property_is_the_caption(
    properties: list[dict[str, Any]], key: str | None
) -> None:
    assert telling_key([Node(place, (), held) for place, held in enumerate(properties)]) == key


# ---- texts -----------------------------------------------------------------------------------------


def nasty() -> Result:
    node = Node(NASTY, (NASTY,), {NASTY: NASTY, "name": NASTY})
    other = Node("2", ("<!--",), {"name": "]]>"})
    return result((node, Relationship(0, NASTY, NASTY, "2", {"a": NASTY}), other))


class Tags(HTMLParser):
    """The tags of a page, and the text in its scripts."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []
        self.script = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)

    def handle_data(self, data: str) -> None:
        if self.names[-1:] == ["script"]:
            self.script += data


def test_texts_are_escaped_and_cut_in_svg() -> None:
    svg = drawing_of(nasty()).svg
    tree = ElementTree.fromstring(svg.encode())
    assert {one.tag for one in tree.iter()} == {
        SVG + name for name in ("svg", "g", "title", "circle", "text", "path")
    }
    assert max(map(len, texts(svg))) <= 22
    assert len(svg) < 30_000


def test_texts_get_into_no_script_of_the_page() -> None:
    page = drawing_of(nasty()).html
    tags = Tags()
    tags.feed(page)
    assert tags.names.count("script") == 1
    assert "alert" not in tags.script
    harmless = Tags()
    harmless.feed(drawing_of(people()).html)
    assert tags.script == harmless.script


def test_nothing_is_read_from_elsewhere() -> None:
    for text in (drawing_of(people()).svg, drawing_of(people()).html):
        assert set(re.findall(r"https?://[^\"' ]*", text)) == {"http://www.w3.org/2000/svg"}
        assert "src=" not in text
        assert "href" not in text
    assert "<script" not in drawing_of(people()).svg


# ---- files -----------------------------------------------------------------------------------------


def test_a_drawing_is_written_as_svg_and_as_a_page(tmp_path: Path) -> None:
    made = people().draw(tmp_path / "a.svg")
    assert isinstance(made, Drawing)
    assert (tmp_path / "a.svg").read_text(encoding="utf-8") == made.svg
    people().draw(tmp_path / "a.html")
    page = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert page.startswith("<!DOCTYPE html>")
    assert made.svg in page


def test_another_kind_of_file_is_refused_before_anything_is_drawn(tmp_path: Path) -> None:
    with pytest.raises(gdb.ArgumentProblem, match=r"\.svg or \.html"):
        people().draw(tmp_path / "a.png")
    assert not [*tmp_path.iterdir()]


def test_an_answer_without_elements_is_not_drawn() -> None:
    with pytest.raises(gdb.GdbError, match="no nodes and no relationships"):
        result((1, "a")).draw()


# ---- many ------------------------------------------------------------------------------------------


def many() -> Result:
    return Result(
        RowAnswer(["n"], [(Node(k, ("P",), {"name": f"n{k}"}),) for k in range(MOST + 1)])
    )


def test_too_many_are_refused_without_ipysigma(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ipysigma", None)
    with pytest.raises(gdb.LimitExceeded, match="pip install ipysigma"):
        many().draw()


def test_too_many_are_given_to_ipysigma(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A stand-in records the arguments of ipysigma; it is not installed where the tests run."""
    pytest.importorskip("networkx")
    given: list[Any] = []

    class Sigma:
        def __init__(self, graph: Any, **looks: str) -> None:
            given.append((graph, looks))

        @classmethod
        def write_html(cls, graph: Any, path: str, *, fullscreen: bool, **looks: str) -> None:
            given.append((path, graph, looks))

    module = ModuleType("ipysigma")
    module.Sigma = Sigma  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "ipysigma", module)
    assert isinstance(many().draw(), Sigma)
    graph, looks = given[0]
    assert graph.number_of_nodes() == MOST + 1
    assert graph.nodes[0] == {looks["node_label"]: "n0", looks["node_color"]: "P"}
    many().draw(tmp_path / "a.html")
    assert given[1][0] == str(tmp_path / "a.html")
    with pytest.raises(gdb.LimitExceeded, match="SVG"):
        many().draw(tmp_path / "a.svg")


# ---- notebooks and schemas -------------------------------------------------------------------------


def test_a_notebook_shows_the_drawing_beneath_the_table() -> None:
    shown = people()._repr_html_()
    assert shown.index("</table>") < shown.index("<svg ")
    ElementTree.fromstring(f"<div>{shown}</div>")
    assert "<svg" not in result((1, 2))._repr_html_()
    assert "<svg" not in many()._repr_html_()


def test_a_schema_is_drawn_with_what_its_types_join() -> None:
    with gdb.connect() as db:
        db.execute(
            "CREATE (a:Person)-[:KNOWS]->(:Person), (a)-[:LIVES]->(:Town), (a)-[:LIVES]->(:Village)"
        )
        schema = db.schema()
        made = schema.draw()
        captions = [circle.caption for circle in made.scene.circles]
        joins = {(captions[one.start], one.caption, captions[one.end]) for one in made.scene.arrows}
    assert joins == {
        ("Person", "KNOWS", "Person"),
        ("Person", "LIVES", "Town"),
        ("Person", "LIVES", "Village"),
    }
    with pytest.raises(gdb.ClosedError):
        schema.draw()


def test_a_drawing_says_what_it_holds() -> None:
    assert repr(drawing_of(people())) == "<gdb.Drawing of 3 nodes and 3 relationships>"
    one = drawing_of(result((Node(1), Node(2), Relationship(0, "R", 1, 2))))
    assert repr(one) == "<gdb.Drawing of 2 nodes and 1 relationship>"
    assert drawing_of(people())._repr_svg_().startswith("<svg ")


def test_an_empty_scene_is_an_empty_drawing() -> None:
    tree = ElementTree.fromstring(svg_of(Scene((), ())))
    assert not tree.findall(f".//{SVG}circle")
    one = svg_of(Scene((Circle("a", "", ""),), (Arrow(0, 0, "R", ""),)))
    assert len(ElementTree.fromstring(one).findall(f".//{SVG}circle")) == 1


def test_the_scene_has_each_element_once() -> None:
    twice = elements_of([*people(), *people()])
    assert len(scene_of(twice)) == 6


def test_a_folder_that_is_not_there_is_said_so(tmp_path: Path) -> None:
    with gdb.connect() as db:
        result = db.execute("CREATE (a:A)-[r:R]->(b:B) RETURN a, r, b")
        with pytest.raises(gdb.ArgumentProblem, match=r"no\.svg cannot be written: No such file"):
            result.draw(tmp_path / "none" / "no.svg")
