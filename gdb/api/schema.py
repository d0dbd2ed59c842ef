"""What a graph consists of: node labels and relationship types, with their properties, as values and as a table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from gdb.records import dataclass

if TYPE_CHECKING:
    from gdb.storage.snapshot import Snapshot

_SHOWN = {"int64": "int", "float64": "float", "bool": "bool", "string": "string"}


@dataclass(frozen=True, slots=True)
class NodeKind:
    """All nodes with exactly these labels.

    id_space : what their ids are unique in. properties : key -> "int", "float", "bool", "string", "date", "datetime",
        "duration", or a list of one of these, "int[]"; "any" where a query has set values of several types.
    """

    labels: tuple[str, ...]
    id_space: str
    count: int
    properties: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class RelationshipKind:
    """All relationships of one type; properties as for nodes."""

    type: str
    directed: bool
    count: int
    properties: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Schema:
    """The kinds of nodes and relationships of a graph; `str()` is a table."""

    nodes: tuple[NodeKind, ...]
    relationships: tuple[RelationshipKind, ...]

    @property
    def labels(self) -> tuple[str, ...]:
        """All labels, sorted."""
        return tuple(sorted({label for kind in self.nodes for label in kind.labels}))

    @property
    def types(self) -> tuple[str, ...]:
        """All relationship types, sorted."""
        return tuple(sorted(kind.type for kind in self.relationships))

    @property
    def keys(self) -> tuple[str, ...]:
        """All property keys of nodes and relationships, sorted."""
        held = [kind.properties for kind in self.nodes]
        held += [kind.properties for kind in self.relationships]
        return tuple(sorted({key for keys in held for key in keys}))

    def __str__(self) -> str:
        if not self.nodes and not self.relationships:
            return "The graph is empty."
        nodes = [
            (
                "".join(f":{name}" for name in kind.labels) or "(no label)",
                f"{kind.count:,}",
                _listed(kind.properties),
            )
            for kind in self.nodes
        ]
        relationships = [
            (
                f"-[:{kind.type}]-{'>' if kind.directed else ''}",
                f"{kind.count:,}",
                _listed(kind.properties),
            )
            for kind in self.relationships
        ]
        parts = [_table(("nodes", "count", "properties"), nodes)] if nodes else []
        parts += (
            [_table(("relationships", "count", "properties"), relationships)]
            if relationships
            else []
        )
        return "\n\n".join(parts)


def schema_of(snapshot: Snapshot) -> Schema:
    """The schema of a snapshot; groups and types without elements are left out."""
    return Schema(
        tuple(
            NodeKind(group.labels, group.id_space, group.count, _shown(group.keys))
            for group in sorted(snapshot.groups, key=lambda group: (group.labels, group.id_space))
            if group.count
        ),
        tuple(
            RelationshipKind(type_.name, type_.directed, type_.edge_count, _shown(type_.keys))
            for type_ in sorted(snapshot.edge_types, key=lambda type_: type_.name)
            if type_.edge_count
        ),
    )


def _shown(keys: Mapping[str, str]) -> dict[str, str]:
    return {key: _shown_kind(kind) for key, kind in sorted(keys.items())}


def _shown_kind(kind: str) -> str:
    item = kind.removesuffix("[]")
    return _SHOWN.get(item, item) + kind[len(item) :]


def _listed(properties: Mapping[str, str]) -> str:
    return ", ".join(f"{key}: {kind}" for key, kind in properties.items())


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Columns side by side; the second one, numbers, to the right."""
    lines = [head, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    shown = [
        f"{line[0]:<{widths[0]}}  {line[1]:>{widths[1]}}  {line[2]}".rstrip() for line in lines
    ]
    return "\n".join([shown[0], "-" * max(map(len, shown)), *shown[1:]])
