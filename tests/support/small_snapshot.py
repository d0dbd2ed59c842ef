"""A hand-made snapshot of six vertices and five edges: what the relational modules look columns up in.

Two groups, the first in two ranges of vids; `age` is int64 in one and float64 in the other; two edge types.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, cast

import numpy as np
import numpy.typing as npt

from gdb.executor.plan.embeddings import Embeddings
from gdb.storage.columns.model import Column, Kind
from gdb.storage.columns.python_columns import column_of
from gdb.storage.graph.snapshot import Snapshot


@dataclass(frozen=True)
class Group:
    labels: tuple[str, ...]
    ranges: tuple[tuple[int, int], ...]
    keys: dict[str, Kind]
    id_space: str = ""

    @property
    def count(self) -> int:
        return sum(stop - start for start, stop in self.ranges)


@dataclass(frozen=True)
class Type:
    name: str
    first_eid: int
    edge_count: int
    keys: dict[str, Kind] = field(default_factory=dict)
    directed: bool = True


class SmallSnapshot:
    """vid: 0 1 2 5 are :Person, 3 4 are :Admin:Person. eid: 0..2 KNOWS, 3..4 LIKES (after NEVER, which has none)."""

    vertex_count = 6
    groups = (
        Group(("Person",), ((0, 3), (5, 6)), {"age": "int64", "name": "string"}),
        Group(("Admin", "Person"), ((3, 5),), {"age": "float64", "ok": "bool"}),
    )
    edge_types = (
        Type("KNOWS", 0, 3, {"since": "int64"}),
        Type("NEVER", 3, 0, {"since": "string"}),
        Type("LIKES", 3, 2),
    )
    columns: ClassVar = {
        (0, "age"): column_of([10, None, 30, 40]),
        (0, "name"): column_of(["a", "bé", None, "d"]),
        (1, "age"): column_of([1.5, 2.5]),
        (1, "ok"): column_of([True, None]),
    }
    ids: ClassVar[list[int | str]] = [0, 100, 200, 300, 400, 500]

    def groups_of(self, vids: npt.NDArray[np.uint32]) -> npt.NDArray[np.int32]:
        return np.array([0, 0, 0, 1, 1, 0], np.int32)[vids]

    def group_rows(self, vids: npt.NDArray[np.uint32], group: int) -> npt.NDArray[np.int64]:
        return np.array([0, 1, 2, 0, 1, 3], np.int64)[vids]

    def vertex_column(self, group: int, key: str) -> Column | None:
        return self.columns.get((group, key))

    def edge_column(self, type: str, key: str) -> Column | None:
        return column_of([7, 8, 9]) if (type, key) == ("KNOWS", "since") else None

    def vertex_values(
        self, group: int, key: str | None, vids: npt.NDArray[np.uint32]
    ) -> Column | None:
        column = self.id_column(group) if key is None else self.vertex_column(group, key)
        return None if column is None else column.take(self.group_rows(vids, group))

    def edge_values(self, type: str, key: str, eids: npt.NDArray[np.int64]) -> Column | None:
        first = next(one.first_eid for one in self.edge_types if one.name == type)
        column = self.edge_column(type, key)
        return None if column is None else column.take(eids - first)

    def id_column(self, group: int) -> Column:
        return column_of(
            [
                self.ids[vid]
                for start, stop in self.groups[group].ranges
                for vid in range(start, stop)
            ]
        )

    def is_id(self, group: int, key: str) -> bool:
        column = self.vertex_column(group, key)
        return column is not None and column.to_list() == self.id_column(group).to_list()

    def user_ids(self, vids: npt.NDArray[np.uint32]) -> list[int | str]:
        return [self.ids[vid] for vid in vids.tolist()]

    def edge_ends(
        self, eids: npt.NDArray[np.int64]
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.uint32], npt.NDArray[np.uint32]]:
        types = np.array([0, 0, 0, 2, 2], np.int32)[eids]
        return types, eids.astype(np.uint32), (eids + 1).astype(np.uint32)


def small_snapshot() -> Snapshot:
    return cast(Snapshot, SmallSnapshot())


def embeddings(vids: list[list[int]], eids: list[list[int]] | None = None) -> Embeddings:
    edges = eids if eids is not None else [[] for _ in vids]
    return Embeddings(
        np.array(vids, np.uint32).reshape(len(vids), -1),
        np.array(edges, np.int64).reshape(len(vids), -1),
    )
