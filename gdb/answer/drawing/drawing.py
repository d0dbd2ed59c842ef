"""A drawing of a graph: shown in a notebook, or written to a file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gdb.answer.drawing.page import page_of
from gdb.answer.drawing.scene import Scene, scene_of
from gdb.answer.drawing.svg import svg_of
from gdb.answer.summary import counted
from gdb.base.once import cached_property
from gdb.errors import ArgumentProblem, GdbError, LimitExceeded

if TYPE_CHECKING:
    from gdb.answer.answer_elements import Elements

MOST = 300
"""Nodes and relationships that are drawn."""


class Drawing:
    """A drawing, made by `Result.draw` and `Schema.draw`. A notebook shows it; `save` writes it, `svg` is its text."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene

    @cached_property
    def svg(self) -> str:
        """One `<svg>` element, without scripts or anything from outside."""
        return svg_of(self.scene)

    @property
    def html(self) -> str:
        """A page, in one file, that can be moved and made larger, and shows what is joined to a node."""
        return page_of(self.svg, f"{len(self.scene.circles):,} nodes")

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the drawing to a file: `.svg`, or `.html`, the page.

        Raises
        ------
        ArgumentProblem : the name ends in neither, or the file cannot be written.
        """
        target = checked_path(path)
        text = self.svg if target.suffix.lower() == ".svg" else self.html
        try:
            target.write_text(text, encoding="utf-8")
        except OSError as error:
            raise ArgumentProblem(
                f"{target} cannot be written: {error.strerror or error}.",
                "Name a file in a folder that is there, and may be written to.",
            ) from None

    def _repr_html_(self) -> str:
        """The SVG as a part of the notebook: as an image it would show no tooltips, and be white."""
        return self.svg

    def _repr_svg_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        counts = (len(self.scene.circles), "node"), (len(self.scene.arrows), "relationship")
        what = " and ".join(counted(count, name) for count, name in counts)
        return f"<gdb.Drawing of {what}>"


def small(elements: Elements) -> Drawing | None:
    """The drawing of an answer beneath its table; None where there is nothing to draw, or too much."""
    if not 0 < len(elements) <= MOST:
        return None
    scene = scene_of(elements)
    return Drawing(scene) if len(scene) <= MOST else None


def checked_path(path: str | os.PathLike[str]) -> Path:
    """A file for a drawing. ArgumentProblem : it is none by its name."""
    target = Path(path)
    if target.suffix.lower() not in (".svg", ".html", ".htm"):
        raise ArgumentProblem(
            f"{str(target)!r} names no kind of drawing.", "Write a name that ends in .svg or .html."
        )
    return target


def draw_graph(elements: Elements, path: str | os.PathLike[str] | None) -> Drawing | Any:
    """See `Result.draw`."""
    target = None if path is None else checked_path(path)
    if not len(elements):
        raise GdbError(
            "the answer holds no nodes and no relationships to draw.",
            "Return them: MATCH (a)-[r]->(b) RETURN a, r, b.",
        )
    scene = scene_of(elements)
    if len(scene) > MOST:
        return _by_sigma(scene, target)
    drawing = Drawing(scene)
    if target is not None:
        drawing.save(target)
    return drawing


def _by_sigma(scene: Scene, target: Path | None) -> Any:
    """A widget of ipysigma, which draws with a GPU, or the page that it writes.

    Raises
    ------
    LimitExceeded : it, or networkx, is not installed, or the file is to be SVG.
    """
    try:
        from ipysigma import Sigma  # type: ignore[import-not-found, unused-ignore]

        graph = _graph(scene)
    except ImportError:
        raise LimitExceeded(
            f"the answer has {len(scene):,} nodes and relationships, and {MOST} are drawn at most.",
            "Add LIMIT to the query, or install what draws more: pip install ipysigma networkx.",
        ) from None
    looks = {"node_color": "kind", "node_label": "caption", "edge_label": "type"}
    if target is None:
        return Sigma(graph, **looks)
    if target.suffix.lower() == ".svg":
        raise LimitExceeded(
            f"the answer has {len(scene):,} nodes and relationships, and SVG is drawn of {MOST} at most.",
            "Write a name that ends in .html, or add LIMIT to the query.",
        )
    return Sigma.write_html(graph, str(target), fullscreen=True, **looks)


def _graph(scene: Scene) -> Any:
    """The scene as a graph of networkx."""
    import networkx

    graph = networkx.MultiDiGraph()
    for number, circle in enumerate(scene.circles):
        graph.add_node(number, caption=circle.caption, kind=circle.kind)
    for arrow in scene.arrows:
        graph.add_edge(arrow.start, arrow.end, type=arrow.caption)
    return graph
