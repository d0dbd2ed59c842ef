"""Random patterns: what they say as plain data, and as text."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tests.fuzz.graphs import LABELS

Operand = tuple[str, str | int, str]
"""("property", name, key), ("element", name, "") or ("value", number, "")."""


@dataclass(frozen=True, slots=True)
class Compare:
    """left operator right."""

    operator: str
    left: Operand
    right: Operand

    def __str__(self) -> str:
        return f"{_operand(self.left)} {self.operator} {_operand(self.right)}"


@dataclass(frozen=True, slots=True)
class Labelled:
    name: str
    label: str

    def __str__(self) -> str:
        return f"{self.name}:{self.label}"


@dataclass(frozen=True, slots=True)
class Either:
    left: Condition
    right: Condition

    def __str__(self) -> str:
        return f"({self.left} OR {self.right})"


@dataclass(frozen=True, slots=True)
class Not:
    of: Condition

    def __str__(self) -> str:
        return f"NOT ({self.of})"


Condition = Compare | Labelled | Either | Not


@dataclass(frozen=True, slots=True)
class Node:
    """labels : an AND of ORs. A name that begins with _ is not written."""

    name: str
    labels: tuple[tuple[str, ...], ...] = ()
    x: int | None = None

    def __str__(self) -> str:
        labels = "&".join(f"({'|'.join(term)})" for term in self.labels)
        if len(self.labels) == 1:
            labels = labels[1:-1]
        inside = _shown(self.name) + (f":{labels}" if labels else "")
        return f"({inside}{'' if self.x is None else f' {{x: {self.x}}}'})"


@dataclass(frozen=True, slots=True)
class Link:
    """arrow : > < or -. length : None for one relationship, or least and most; None for no most."""

    name: str
    types: tuple[str, ...] = ()
    arrow: str = ">"
    w: int | None = None
    length: tuple[int, int | None] | None = None

    def __str__(self) -> str:
        inside = _shown(self.name) + (f":{'|'.join(self.types)}" if self.types else "")
        inside += "" if self.length is None else _length(*self.length)
        inside += "" if self.w is None else f" {{w: {self.w}}}"
        body = f"-[{inside}]-" if inside else "--"
        return ("<" if self.arrow == "<" else "") + body + (">" if self.arrow == ">" else "")


@dataclass(frozen=True, slots=True)
class Chain:
    """nodes, and a link between each and the next. path : its name. before : words that say which paths are meant."""

    nodes: tuple[Node, ...]
    links: tuple[Link, ...]
    path: str = ""
    before: str = ""

    def __str__(self) -> str:
        text = str(self.nodes[0])
        for link, node in zip(self.links, self.nodes[1:], strict=True):
            text += f"{link}{node}"
        named = f"{self.path} = " if self.path else ""
        if self.before.endswith("("):
            return f"{named}{self.before}{text})"
        return f"{named}{self.before + ' ' if self.before else ''}{text}"


@dataclass(frozen=True, slots=True)
class Pattern:
    """The patterns of one MATCH."""

    chains: tuple[Chain, ...]
    conditions: tuple[Condition, ...] = ()

    def __str__(self) -> str:
        text = ", ".join(map(str, self.chains))
        where = " AND ".join(map(str, self.conditions))
        return f"{text} WHERE {where}" if where else text

    @property
    def nodes(self) -> list[str]:
        """Their names, each once."""
        return list(dict.fromkeys(node.name for chain in self.chains for node in chain.nodes))

    @property
    def links(self) -> list[Link]:
        return [link for chain in self.chains for link in chain.links]

    @property
    def paths(self) -> list[str]:
        return [chain.path for chain in self.chains if chain.path]


def named(pattern: Pattern) -> Pattern:
    """The pattern with a written name for everything."""
    return replace(
        pattern,
        chains=tuple(
            replace(
                chain,
                nodes=tuple(replace(one, name=one.name.replace("_", "h")) for one in chain.nodes),
                links=tuple(replace(one, name=one.name.replace("_", "h")) for one in chain.links),
            )
            for chain in pattern.chains
        ),
    )


def random_pattern(
    draw: random.Random,
    links: int,
    names: Sequence[str] = ("a", "b", "c", "d"),
    tag: str = "",
    plain: float = 0.2,
) -> Pattern:
    """A pattern of some relationships in one or several chains. tag : in the names of its relationships and of what
    is anonymous. plain : how many are without labels and types, so that symmetries are met."""
    simple = draw.random() < plain
    sizes = [links]
    while draw.random() < 0.4:
        most = max(sizes)
        sizes.remove(most)
        cut = draw.randint(0, most)
        sizes += [cut, most - cut]
        if len(sizes) > 3:
            break
    number = iter(range(100))
    chains = []
    for size in sizes:
        nodes = tuple(random_node(draw, names, f"_{tag}v{next(number)}") for _ in range(size + 1))
        own = tuple(random_link(draw, f"r{tag}{k}", f"_{tag}e{k}") for k in _take(number, size))
        if simple:
            nodes = tuple(Node(node.name) for node in nodes)
            own = tuple(Link(link.name, (), draw.choice(">-")) for link in own)
        chains.append(Chain(nodes, own))
    return Pattern(tuple(chains), random_conditions(draw, Pattern(tuple(chains))))


def _take(number: object, size: int) -> list[int]:
    return [next(number) for _ in range(size)]  # type: ignore[call-overload]


def random_node(draw: random.Random, names: Sequence[str], hidden: str) -> Node:
    name = draw.choice(names) if draw.random() < 0.8 else hidden
    labels = draw.choice([(), (), (), (), (("A",),), (("B",),), (("A", "B"),), (("A",), ("B",))])
    return Node(name, labels, draw.choice([0, 1]) if draw.random() < 0.08 else None)


def random_link(draw: random.Random, name: str, hidden: str) -> Link:
    types = draw.choice([(), (), ("R",), ("R",), ("S",), ("U",), ("R", "S"), ("R", "U")])
    if draw.random() < 0.03:
        types = ("Missing",)
    return Link(
        name if draw.random() < 0.6 else hidden,
        types,
        draw.choice(">><-"),
        draw.choice([0, 1]) if draw.random() < 0.08 else None,
    )


def random_conditions(draw: random.Random, pattern: Pattern) -> tuple[Condition, ...]:
    """Conditions on what has a name that is written."""
    nodes = [name for name in pattern.nodes if not name.startswith("_")]
    links = [one.name for one in pattern.links if not one.name.startswith("_")]
    found: list[Condition] = []
    while (nodes or links) and draw.random() < 0.35:
        found.append(_condition(draw, nodes, links))
    return tuple(found)


def _condition(draw: random.Random, nodes: Sequence[str], links: Sequence[str]) -> Condition:
    kind = draw.random()
    if kind < 0.15:
        return Either(_condition(draw, nodes, links), _condition(draw, nodes, links))
    if kind < 0.25:
        return Not(_condition(draw, nodes, links))
    if kind < 0.35 and nodes:
        return Labelled(draw.choice(nodes), draw.choice(LABELS))
    if kind < 0.5 and len(nodes) > 1:
        a, b = draw.choice(nodes), draw.choice(nodes)
        return Compare(draw.choice(["=", "<>"]), ("element", a, ""), ("element", b, ""))
    operands: list[Operand] = [("property", name, "x") for name in nodes]
    operands += [("property", name, "w") for name in links]
    left = draw.choice(operands)
    right = draw.choice([*operands, ("value", draw.choice([0, 1, 2]), "")])
    return Compare(draw.choice(["=", "<>", "<", "<=", ">", ">="]), left, right)


def _operand(operand: Operand) -> str:
    kind, name, key = operand
    return f"{name}.{key}" if kind == "property" else str(name)


def _shown(name: str) -> str:
    return "" if name.startswith("_") else name


def _length(low: int, high: int | None) -> str:
    if high is None:
        return "*" if low == 1 else f"*{low}.."
    return f"*{low}" if low == high else f"*{low}..{high}"
