"""The scene of a drawing: circles with captions, one for each node, and arrows between them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gdb.answer.answer_elements import Elements, key
from gdb.answer.entities import Node, Relationship
from gdb.records import dataclass

_TELLING = (
    *("name", "fullname", "surname", "lastname", "last", "firstname", "first", "username"),
    *("title", "caption", "label"),
)
"""Names of properties that say what a node is, the best first; the title of what has a name is its job."""


@dataclass(frozen=True, slots=True)
class Circle:
    """A node. kind : what its colour is chosen by, "" for none. title : what is shown where it is pointed at."""

    caption: str
    kind: str
    title: str


@dataclass(frozen=True, slots=True)
class Arrow:
    """A relationship between two circles, by their places in the scene; a line where it has no direction."""

    start: int
    end: int
    caption: str
    title: str
    directed: bool = True


@dataclass(frozen=True, slots=True)
class Scene:
    """What is drawn."""

    circles: tuple[Circle, ...]
    arrows: tuple[Arrow, ...]

    def __len__(self) -> int:
        return len(self.circles) + len(self.arrows)

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of the circles, sorted."""
        return tuple(sorted({circle.kind for circle in self.circles} - {""}))


def scene_of(elements: Elements) -> Scene:
    """The scene of nodes and relationships; an end that is no node of them has its id as caption and no kind."""
    nodes = dict(elements.nodes)
    relationships = elements.relationships.values()
    for one in relationships:
        for end, space in zip((one.start, one.end), one.id_spaces, strict=True):
            nodes.setdefault(key(end, space), Node(end, id_space=space))
    telling = _telling_keys(nodes.values())
    circles = tuple(
        Circle(_caption(node, telling.get(node.labels)), ":".join(node.labels), str(node))
        for node in nodes.values()
    )
    places = {name: place for place, name in enumerate(nodes)}
    return Scene(circles, tuple(_arrow(one, places) for one in relationships))


def _arrow(one: Relationship, places: Mapping[Any, int]) -> Arrow:
    start, end = map(key, (one.start, one.end), one.id_spaces)
    return Arrow(places[start], places[end], one.type, str(one), one.directed)


def _caption(node: Node, telling: str | None) -> str:
    value = None if telling is None else node.properties.get(telling)
    return str(node.id if value is None else value)


def _telling_keys(nodes: Iterable[Node]) -> dict[tuple[str, ...], str]:
    """For each set of labels the property that distinguishes its nodes best, where there is one."""
    groups: dict[tuple[str, ...], list[Node]] = {}
    for node in nodes:
        groups.setdefault(node.labels, []).append(node)
    found = {labels: telling_key(held) for labels, held in groups.items()}
    return {labels: name for labels, name in found.items() if name is not None}


def telling_key(nodes: Sequence[Node]) -> str | None:
    """The key of the property that says best what these nodes are; None where they have none.

    A name or title comes first, then texts before numbers; of these what most nodes have, what differs most, and what
    is short.

    Examples
    --------
    >>> telling_key([Node(1, (), {"born": 1815, "name": "Ada"}), Node(2, (), {"name": "Bob"})])
    'name'
    """
    values: dict[str, list[Any]] = {}
    for node in nodes:
        for name, value in node.properties.items():
            values.setdefault(name, []).append(value)
    return min(values, key=lambda name: _rank(name, values[name]), default=None)


def _rank(name: str, values: Sequence[Any]) -> tuple[float, ...]:
    """The lower, the more telling."""
    texts = [str(value) for value in values]
    known = name.lower().replace("_", "")
    named = _TELLING.index(known) if known in _TELLING else len(_TELLING)
    no_text = any(not isinstance(value, str) for value in values)
    length = sum(map(len, texts)) / len(texts)
    return (named, no_text, -len(texts), -len(set(texts)), length)
