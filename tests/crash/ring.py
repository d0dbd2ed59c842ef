"""A graph that shows whether it is whole: a cycle, each relationship stamped with the version that made it.

After the cycle test of FoundationDB (J. Zhou et al., "FoundationDB: A Distributed Unbundled Transactional Key Value
Store", SIGMOD 2021, §4): every version re-links some nodes so that one cycle through all of them remains. A version
follows from the one before it and from its number alone, so that a reader knows what each must hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from gdb.api.transaction import Transaction

# One query, so one snapshot: the version that the graph says it has, and all of the cycle.
WHOLE = (
    "MATCH (v:Version), (a:Node)-[r:NEXT]->(b:Node) "
    "RETURN v.version, id(a), id(b), r.version, a.version"
)
VERSION = "MATCH (v:Version) RETURN v.version"
TWO_STEPS = "MATCH (a:Node)-[:NEXT]->(:Node)-[:NEXT]->(c:Node) RETURN count(*)"
VERSION_ID = -1

Row = tuple[int, int, int, int, int]  # as `WHOLE` returns


@dataclass(frozen=True, slots=True)
class Ring:
    """The graph of one version.

    after : node -> the one that its relationship leads to. stamps : node -> the version that last touched it, and
    with it the relationship that leaves it.
    """

    version: int
    after: dict[int, int]
    stamps: dict[int, int]

    @classmethod
    def new(cls, size: int) -> Ring:
        return cls(0, {n: (n + 1) % size for n in range(size)}, dict.fromkeys(range(size), 0))

    def next(self) -> Ring:
        """The next version: nodes change places, some relationships are only stamped, and at times a node goes and a
        new one replaces it."""
        rng, version = Random(self.version + 1), self.version + 1
        after = dict(self.after)
        touched: set[int] = set()
        for _ in range(rng.randint(1, 3)):
            a = rng.choice(sorted(after))
            b, c = after[a], after[after[a]]
            after[a], after[c], after[b] = c, b, after[c]  # a b c d becomes a c b d
            touched |= {a, b, c}
        if rng.random() < 0.3:
            touched |= set(rng.sample(sorted(after), 3))
        if rng.random() < 0.2:
            (gone,) = rng.sample(sorted(after), 1)
            before = next(n for n, to in after.items() if to == gone)
            fresh = len(after) + version
            after[before], after[fresh] = fresh, after.pop(gone)
            touched = (touched - {gone}) | {before, fresh}
        stamps = {n: version if n in touched else self.stamps[n] for n in after}
        return Ring(version, after, stamps)

    def rows(self) -> list[Row]:
        """What `WHOLE` must return, sorted."""
        return sorted(
            (self.version, n, to, self.stamps[n], self.stamps[n]) for n, to in self.after.items()
        )


def create(tx: Transaction, ring: Ring) -> None:
    """Add all of a ring to an empty graph."""
    nodes = sorted(ring.after)
    tx.add_nodes("Version", [VERSION_ID], {"version": [ring.version]})
    tx.add_nodes("Node", nodes, {"version": [ring.stamps[n] for n in nodes]})
    stamps = {"version": [ring.stamps[n] for n in nodes]}
    tx.add_relationships("NEXT", nodes, [ring.after[n] for n in nodes], stamps)


def change(tx: Transaction, old: Ring, new: Ring) -> None:
    """Make the one from the other."""
    came, went = sorted(set(new.after) - set(old.after)), sorted(set(old.after) - set(new.after))
    unlinked = [n for n in old.after if new.after.get(n) != old.after[n]]
    linked = [n for n in new.after if new.after[n] != old.after.get(n)]
    stamped = [n for n in new.after if n in old.after and new.stamps[n] != old.stamps[n]]
    kept = [n for n in stamped if new.after[n] == old.after[n]]

    def own(nodes: Sequence[int]) -> dict[str, list[int]]:
        return {"version": [new.stamps[n] for n in nodes]}

    tx.remove_relationships("NEXT", unlinked, [old.after[n] for n in unlinked])
    tx.remove_nodes(went)
    tx.add_nodes("Node", came, own(came))
    tx.add_relationships("NEXT", linked, [new.after[n] for n in linked], own(linked))
    tx.set_relationships("NEXT", kept, [new.after[n] for n in kept], own(kept))
    tx.set_nodes(stamped, own(stamped))
    tx.set_nodes([VERSION_ID], {"version": [new.version]})


class Witness:
    """Judges what one reader sees of a ring, from one look to the next. versions : how many it saw."""

    def __init__(self, size: int) -> None:
        self._ring, self._size = Ring.new(size), size
        self.first, self.last, self.versions = -1, -1, 0

    def judge(self, rows: list[Row]) -> list[str]:
        """What is wrong with the rows of `WHOLE`."""
        shown = {row[0] for row in rows}
        if len(shown) != 1:
            return [f"versions {sorted(shown)} in one snapshot"]
        (version,), faults = shown, []
        after = {row[1]: row[2] for row in rows}
        if (steps := _walk(after)) != self._size or len(rows) != self._size:
            faults.append(f"version {version}: a cycle of {steps} among {len(rows)} relationships")
        if (implied := max(row[3] for row in rows)) != version:
            faults.append(f"version {version}: the relationships are of version {implied}")
        if version < self.last:
            return [*faults, f"went back from version {self.last} to {version}"]
        while self._ring.version < version:
            self._ring = self._ring.next()
        if sorted(rows) != self._ring.rows():
            faults.append(f"version {version}: is not what was written")
        self.versions += version != self.last
        self.first, self.last = version if self.first < 0 else self.first, version
        return faults


def _walk(after: dict[int, int]) -> int:
    """How many steps lead from a node back to it; 0 where none do."""
    begin = at = min(after)
    for steps in range(1, len(after) + 1):
        if (at := after.get(at, -1)) == begin:
            return steps
    return 0
