"""The nodes and relationships of an answer, each once, also those in paths, lists and maps."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping

from gdb.answer.entities import Node, Path, Relationship, UserId
from gdb.records import dataclass, field


@dataclass(slots=True)
class Elements:
    """nodes : by their keys, see `key`. relationships : by their ids."""

    nodes: dict[Hashable, Node] = field(default_factory=dict)
    relationships: dict[int, Relationship] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.nodes) + len(self.relationships)

    def add(self, cell: object) -> None:
        """Add the elements of a value."""
        match cell:
            case Node(id=id_, id_space=space):
                self.nodes[key(id_, space)] = cell
            case Relationship(id=number):
                self.relationships[number] = cell
            case Path(nodes=nodes, relationships=relationships):
                for part in (*nodes, *relationships):
                    self.add(part)
            case Mapping():
                for held in cell.values():
                    self.add(held)
            case list() | tuple():
                for held in cell:
                    self.add(held)


def elements_of(rows: Iterable[Iterable[object]], most: int | None = None) -> Elements:
    """The elements of rows. most : no row is read beyond the one that has more."""
    found = Elements()
    for row in rows:
        for cell in row:
            found.add(cell)
        if most is not None and len(found) > most:
            break
    return found


def key(id_: UserId, space: str) -> Hashable:
    """What a node is called where several id spaces may have its id."""
    return (space, id_) if space else id_
