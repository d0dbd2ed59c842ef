"""Stores that statements begin with: three nodes, relationships of an undirected type, and ids of all sorts."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import gdb
from gdb import Node
from tests.oracles.written_graph import Edge, Model, Properties

Id = tuple[str, int | str]
"""Id space and id."""


@dataclass(frozen=True, slots=True)
class Beginning:
    """ids : of the three nodes. created : the id space of nodes that queries create. packed : as it is written."""

    ids: tuple[Id, Id, Id]
    created: str = ""
    packed: bool = False
    loaded: bool = False


BEGINNINGS = (
    Beginning((("", 1), ("", 2), ("", 3))),
    Beginning((("", "a"), ("", "b"), ("", "ü")), "_created"),
    Beginning((("", 2**63 - 1), ("", 1), ("n", 0)), packed=True),
    Beginning((("", "0"), ("_created", 0), ("n", 0)), "_created", packed=True),
    Beginning((("", 0), ("", 1), ("", 2)), loaded=True),
)
NODES: list[tuple[set[str], Properties]] = [({"A"}, {}), ({"A"}, {}), ({"A", "B"}, {"x": 0})]
EDGES = [(1, 2, 0), (1, 2, 1), (3, 3, 2)]


def begin(beginning: Beginning, db: gdb.Database) -> Model:
    """Fill a database; the model of it."""
    if beginning.loaded:
        with TemporaryDirectory(prefix="gdb-fuzz-") as folder:
            file = Path(folder) / "edges.txt"
            file.write_text("0 1\n0 1\n2 2\n")
            db.load(file, type="U", directed=False, label="A")
        db.execute("MATCH (n) SET n.k = id(n) + 1")
        db.execute("MATCH (n {k: 3}) SET n:B, n.x = 0")
        db.execute("MATCH (n {k: 3})-[r]-() SET r.w = 2")
        db.execute(
            "MATCH ({k: 1})-[r]->({k: 2}) WITH collect(r) AS rs SET (rs[0]).w = 0, (rs[1]).w = 1"
        )
    else:
        with db.transaction() as tx:
            for k, ((space, one), (labels, own)) in enumerate(
                zip(beginning.ids, NODES, strict=True)
            ):
                given = {"k": [k + 1], **{key: [value] for key, value in own.items()}}
                tx.add_nodes(sorted(labels), [one], given, id_space=space)
            for a, b, w in EDGES:
                (start, first), (end, second) = beginning.ids[a - 1], beginning.ids[b - 1]
                ends: tuple[list[int | str], list[int | str]] = [first], [second]
                spaces = start, end
                tx.add_relationships("U", *ends, {"w": [w]}, directed=False, id_space=spaces)
    if beginning.packed:
        db.compact(packed=True)
    nodes = {k + 1: (set(labels), dict(own)) for k, (labels, own) in enumerate(NODES)}
    return Model(nodes, [Edge("U", a, b, {"w": w}) for a, b, w in EDGES], 3)


def ids_of(db: gdb.Database) -> dict[object, Id]:
    """k -> the id of a node."""
    nodes = [node for (node,) in db.execute("MATCH (n) RETURN n").fetchall()]
    return {n.properties["k"]: (n.id_space, n.id) for n in nodes if isinstance(n, Node)}
