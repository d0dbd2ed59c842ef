"""Transactions against a model of dicts that shares no code with the store: any order of changes, commits, rollbacks,
compactions and openings.

GDB_MODEL_EXAMPLES: how many orders pytest tries. python -m tests.unit.gdb.api.test_transaction_model --seconds 600
(`make model`) tries as many as there is time for, and prints how many steps that were.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import ClassVar

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

import gdb
from gdb import Node, Relationship
from gdb.api.transaction import Transaction
from gdb.errors import ChangeRefused
from gdb.storage.write import compaction
from tests.support.effort import share

IDS = st.integers(0, 12)
LABELS = st.sets(st.sampled_from("AB"), max_size=2)
TYPES = {"R": True, "S": True, "U": False}  # of the base
NEW_TYPES = {"N": True, "V": False}  # of the delta alone, until the base is written anew
ALL_TYPES = TYPES | NEW_TYPES
VALUES = st.one_of(st.none(), st.integers(-5, 5))
PROPERTIES = st.dictionaries(st.sampled_from(["x", "y"]), VALUES, max_size=2)
Edge = tuple[str, int, int]
Record = frozenset[tuple[str, object]]


class Model:
    """Nodes: id -> (labels, properties). Edges: (type, start, end) -> the properties of each, ends of U ascending."""

    def __init__(self) -> None:
        self.nodes: dict[int, tuple[frozenset[str], dict[str, object]]] = {}
        self.edges: dict[Edge, list[dict[str, object]]] = {}

    def copy(self) -> Model:
        other = Model()
        other.nodes = {k: (labels, dict(own)) for k, (labels, own) in self.nodes.items()}
        other.edges = {k: [dict(own) for own in edges] for k, edges in self.edges.items()}
        return other

    def content(self) -> tuple[object, Counter[tuple[Edge, Record]]]:
        nodes = {k: (labels, _plain(own)) for k, (labels, own) in self.nodes.items()}
        return nodes, Counter((k, _plain(own)) for k, edges in self.edges.items() for own in edges)


def edge(type_: str, a: int, b: int) -> Edge:
    return (type_, a, b) if ALL_TYPES[type_] else (type_, min(a, b), max(a, b))


def _plain(own: dict[str, object]) -> Record:
    return frozenset((k, v) for k, v in own.items() if v is not None)


def content(db: gdb.Database) -> tuple[object, Counter[tuple[Edge, Record]]]:
    """The same of a database, by queries."""
    nodes: dict[int, tuple[frozenset[str], Record]] = {}
    for (node,) in db.execute("MATCH (n) RETURN n").fetchall():
        assert isinstance(node, Node)
        assert isinstance(node.id, int)
        nodes[node.id] = (frozenset(node.labels), _plain(dict(node.properties)))
    edges: Counter[tuple[Edge, Record]] = Counter()
    for (found,) in db.execute("MATCH (a)-[r]->(b) RETURN DISTINCT r").fetchall():
        assert isinstance(found, Relationship)
        assert isinstance(found.start, int)
        assert isinstance(found.end, int)
        key = edge(found.type, found.start, found.end)
        edges[key, _plain(dict(found.properties))] += 1
    return nodes, edges


class Machine(RuleBasedStateMachine):
    """A store in a folder, or in memory, beside the model."""

    threshold = 1 << 16
    done: ClassVar[Counter[str]] = Counter()  # over all orders that were tried

    def __init__(self) -> None:
        super().__init__()
        self.done["orders"] += 1
        self.folder = Path(tempfile.mkdtemp(prefix="gdb-model-"))
        self.db = gdb.connect(self.folder / "s.gdb")
        self.tx: Transaction | None = None
        self.committed, self.model = Model(), Model()
        self._fill()
        self.version = self.db.stats().version
        # Nothing has changed since: to do it again would be a step without an effect.
        self.compacted, self.opened = True, True

    def _fill(self) -> None:
        """A base with parallel relationships, loops and properties, so that changes meet one."""
        ids = list(range(7))
        labels, own = frozenset("A"), {"x": 1}
        pairs = [(a, b) for a in ids for b in (a, (a + 1) % 7, (a + 1) % 7, (a + 3) % 7)]
        starts, ends = [a for a, _ in pairs], [b for _, b in pairs]
        with self.db.transaction() as tx:
            tx.add_nodes(sorted(labels), ids, {"x": [1] * len(ids)})
            for type_, directed in TYPES.items():
                same = {"x": [1] * len(pairs)}
                tx.add_relationships(type_, starts, ends, same, directed=directed)
        self.db.compact()
        self.committed.nodes = {one: (labels, dict(own)) for one in ids}
        for type_ in TYPES:
            for a, b in pairs:
                self.committed.edges.setdefault(edge(type_, a, b), []).append(dict(own))
        self.model = self.committed.copy()

    def teardown(self) -> None:
        if self.tx is not None:
            self.tx.rollback()
        self.db.close()
        shutil.rmtree(self.folder)

    @precondition(lambda self: self.tx is None)
    @rule()
    def begin(self) -> None:
        self.tx = self.db.transaction().__enter__()
        self.model = self.committed.copy()

    @precondition(lambda self: self.tx is not None)
    @rule()
    def commit(self) -> None:
        assert self.tx is not None
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(compaction, "MOST_CHANGES", self.threshold)
            self.tx.__exit__(None, None, None)
        self.done["commits"] += 1
        self.tx, self.committed = None, self.model
        after = self.db.stats()
        if after.version != self.version:
            self.version = after.version
            self.compacted, self.opened = not after.changes, False
            self.done["with changes"] += 1
            self.done["of the whole graph"] += not after.changes
        self.db.check()

    @precondition(lambda self: self.tx is not None)
    @rule()
    def roll_back(self) -> None:
        assert self.tx is not None
        self.tx.rollback()
        self.done["rollbacks"] += 1
        self.tx, self.model = None, self.committed.copy()

    @precondition(lambda self: self.tx is None and not self.opened)
    @rule()
    def open_again(self) -> None:
        self.opened = True
        self.db.close()
        self.db = gdb.connect(self.folder / "s.gdb")
        self.done["openings"] += 1

    @precondition(lambda self: self.tx is None and not self.compacted)
    @rule(packed=st.sampled_from((None, True, False)))
    def compact(self, packed: bool | None) -> None:
        self.compacted = True
        stays = self.db.stats().packed
        assert self.db.compact(packed=packed).packed == (stays if packed is None else packed)
        self.version = self.db.stats().version
        self.done["compactions"] += 1
        assert self.db.stats().changes == 0

    # ---- changes ---------------------------------------------------------------------------------

    @precondition(lambda self: self.tx is not None)
    @rule(labels=LABELS, ids=st.lists(IDS, min_size=1, max_size=4), own=PROPERTIES)
    def add_nodes(self, labels: set[str], ids: list[int], own: dict[str, object]) -> None:
        assert self.tx is not None
        properties = {key: [value] * len(ids) for key, value in own.items()}
        if len(set(ids)) < len(ids) or set(ids) & set(self.model.nodes):
            with pytest.raises(ChangeRefused, match=r"there already|given twice"):
                self.tx.add_nodes(sorted(labels), ids, properties)
            return
        self.tx.add_nodes(sorted(labels), ids, properties)
        for one in ids:
            self.model.nodes[one] = frozenset(labels), dict(own)

    @precondition(lambda self: self.tx is not None)
    @rule(
        type_=st.sampled_from("RSUNV"),
        pairs=st.lists(st.tuples(IDS, IDS), max_size=5),
        own=PROPERTIES,
    )
    def add_edges(self, type_: str, pairs: list[tuple[int, int]], own: dict[str, object]) -> None:
        assert self.tx is not None
        starts, ends = [a for a, _ in pairs], [b for _, b in pairs]
        properties = {key: [value] * len(pairs) for key, value in own.items()}
        if not {*starts, *ends} <= set(self.model.nodes):
            with pytest.raises(ChangeRefused, match="no node"):
                self.tx.add_relationships(
                    type_, starts, ends, properties, directed=ALL_TYPES[type_]
                )
            return
        self.tx.add_relationships(type_, starts, ends, properties, directed=ALL_TYPES[type_])
        for a, b in pairs:
            self.model.edges.setdefault(edge(type_, a, b), []).append(dict(own))

    @precondition(lambda self: self.tx is not None and self.model.nodes)
    @rule(data=st.data(), own=PROPERTIES)
    def set_nodes(self, data: st.DataObject, own: dict[str, object]) -> None:
        assert self.tx is not None
        ids = data.draw(st.lists(st.sampled_from(sorted(self.model.nodes)), max_size=3))
        self.tx.set_nodes(ids, {key: [value] * len(ids) for key, value in own.items()})
        for one in ids:
            self.model.nodes[one][1].update(own)

    @precondition(lambda self: self.tx is not None and self.model.nodes)
    @rule(data=st.data(), add=LABELS, remove=LABELS)
    def set_labels(self, data: st.DataObject, add: set[str], remove: set[str]) -> None:
        assert self.tx is not None
        ids = data.draw(st.lists(st.sampled_from(sorted(self.model.nodes)), max_size=3))
        self.tx.set_labels(ids, sorted(add), sorted(remove))
        for one in ids:
            labels, own = self.model.nodes[one]
            self.model.nodes[one] = (labels | add) - remove, own

    @precondition(lambda self: self.tx is not None and self.model.nodes)
    @rule(data=st.data(), detach=st.booleans())
    def remove_nodes(self, data: st.DataObject, detach: bool) -> None:
        assert self.tx is not None
        ids = set(data.draw(st.lists(st.sampled_from(sorted(self.model.nodes)), max_size=3)))
        held = [k for k in self.model.edges if self.model.edges[k] and {k[1], k[2]} & ids]
        if held and not detach:
            with pytest.raises(ChangeRefused, match="has relationships"):
                self.tx.remove_nodes(sorted(ids))
            return
        self.tx.remove_nodes(sorted(ids), detach=detach)
        for key in held:
            del self.model.edges[key]
        for one in ids:
            del self.model.nodes[one]

    @precondition(lambda self: self.tx is not None and any(self.model.edges.values()))
    @rule(data=st.data(), own=PROPERTIES, remove=st.booleans())
    def change_edges(self, data: st.DataObject, own: dict[str, object], remove: bool) -> None:
        """Set or remove those between pairs, which may have none of them."""
        assert self.tx is not None
        there = sorted(k for k, edges in self.model.edges.items() if edges)
        some = data.draw(st.lists(st.sampled_from(there), min_size=1, max_size=3))
        type_ = some[0][0]
        pairs = [(a, b) for _, a, b in some]
        starts, ends = [a for a, _ in pairs], [b for _, b in pairs]
        keys = {edge(type_, a, b) for a, b in pairs}
        count = sum(len(self.model.edges.get(key, [])) for key in keys)
        if remove:
            assert self.tx.remove_relationships(type_, starts, ends) == count
            for key in keys:
                self.model.edges.pop(key, None)
            return
        properties = {key: [value] * len(pairs) for key, value in own.items()}
        assert self.tx.set_relationships(type_, starts, ends, properties) == count
        for key in keys:
            for found in self.model.edges.get(key, []):
                found.update(own)

    # ---- what must hold --------------------------------------------------------------------------

    @invariant()
    def readers_see_what_was_committed(self) -> None:
        self.done["looks"] += 1  # one before the first step, and one after each
        assert content(self.db) == self.committed.content()

    @invariant()
    def the_transaction_sees_its_changes(self) -> None:
        if self.tx is not None:
            count = self.tx.execute("MATCH (n) RETURN count(*)").scalar()
            assert count == len(self.model.nodes)
            edges = self.tx.execute("MATCH (a)-[r:R]->(b) RETURN count(*)").scalar()
            assert edges == sum(len(e) for k, e in self.model.edges.items() if k[0] == "R")


class SmallDeltas(Machine):
    """Every other commit writes the base anew."""

    threshold = 4
    done: ClassVar[Counter[str]] = Counter()


SETTINGS = settings(
    max_examples=int(os.environ.get("GDB_MODEL_EXAMPLES", share(12))),
    stateful_step_count=30,
    deadline=None,
    phases=(Phase.explicit, Phase.reuse, Phase.generate),  # to shrink takes minutes
    suppress_health_check=list(HealthCheck),
)
TestAnyOrder = Machine.TestCase
TestAnyOrder.settings = SETTINGS
TestSmallDeltas = SmallDeltas.TestCase
TestSmallDeltas.settings = SETTINGS


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=600.0)
    ends = time.monotonic() + parser.parse_args().seconds
    # Nothing is kept from run to run, so that each tries other orders.
    few = settings(SETTINGS, max_examples=share(20), stateful_step_count=60, database=None)
    while time.monotonic() < ends:
        for machine in (Machine, SmallDeltas):
            run_state_machine_as_test(machine, settings=few)  # raises what it finds
        steps = sum(m.done["looks"] - m.done["orders"] for m in (Machine, SmallDeltas))
        print(f"{steps:,} steps", end="\r", file=sys.stderr, flush=True)
    names = (
        "orders",
        "steps",
        "commits",
        "with changes",
        "of the whole graph",
        "rollbacks",
        "compactions",
        "openings",
    )
    line = "{:<14}" + "{:>20}" * len(names)
    print(line.format("", *names))
    for machine in (Machine, SmallDeltas):
        machine.done["steps"] = machine.done["looks"] - machine.done["orders"]
        print(line.format(machine.__name__, *(f"{machine.done[name]:,}" for name in names)))


if __name__ == "__main__":
    main()
