"""Statements that write, one after the other and several in a transaction, against a model of dicts.

A node is known by its property k. Relationships with equal properties between the same nodes are indistinguishable, so
both sides are compared as bags of what each says. The stores have ids of all sorts (`beginnings`), which last.
"""

from __future__ import annotations

import random
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import gdb
from tests.fuzz.beginnings import BEGINNINGS, Id, begin, ids_of
from tests.fuzz.cases import Failure
from tests.oracles.written_graph import Edge, Model, Refused, content, ends_of

STEPS = 12
MOST_NODES = 9
Rows = list[tuple[object, ...]] | None
Statement = tuple[str, Callable[["Model"], Rows]]
"""A text, and what it does to the model: the rows that it returns, None where it returns none."""


class _Maker:
    """Makes statements that fit the model as it is."""

    def __init__(self, draw: random.Random) -> None:
        self.draw = draw

    def statement(self, model: Model) -> Statement:
        several = [self.create, self.create_alone, self.unwind, self.seen_again]
        if model.nodes:
            several += [self.link, self.link, self.node, self.node, self.labels, self.labels]
            several += [self.delete_node, self.merge_node, self.merge_link, self.fails, self.fails]
            several += [self.link_all, self.labels_of_many]
        if model.edges:
            several += [self.one_edge, self.one_edge, self.one_edge, self.many_edges]
            several += [self.relabel_ends, self.delete_seen]
        if len(model.nodes) > MOST_NODES:
            several = [self.delete_node]
        return self.draw.choice(several)(model)

    # ---- helpers ---------------------------------------------------------------------------------

    def x(self) -> int:
        return self.draw.randint(0, 2)

    def some(self, model: Model) -> int:
        return self.draw.choice(list(model.nodes))

    def type(self) -> str:
        return self.draw.choice("RRSU")

    def labels_(self) -> tuple[str, set[str]]:
        labels = self.draw.choice(["", "A", "B", "AB", "C"])
        return "".join(f":{one}" for one in labels), set(labels)

    # ---- CREATE, MERGE ---------------------------------------------------------------------------

    def create_alone(self, model: Model) -> Statement:
        text, labels = self.labels_()
        k, x = model.fresh(), self.x()

        def apply(m: Model) -> Rows:
            m.nodes[k] = set(labels), {"x": x}
            return [(k, x)]

        return f"CREATE (n{text} {{k: {k}, x: {x}, y: null}}) RETURN n.k, n.x", apply

    def create(self, model: Model) -> Statement:
        """Two nodes and two parallel relationships; one is changed at once."""
        a, b, w, type_ = model.fresh(), model.fresh(), self.x(), self.type()

        def apply(m: Model) -> Rows:
            m.nodes[a], m.nodes[b] = ({"A"}, {}), (set(), {"x": w})
            m.edges += [Edge(type_, a, b, {"w": w + 5}), Edge(type_, a, b, {"w": w})]
            return None

        return (
            f"CREATE (a:A {{k: {a}}})-[r:{type_} {{w: {w}}}]->(b {{k: {b}, x: {w}}}), "
            f"(b)<-[:{type_} {{w: {w}}}]-(a) SET r.w = r.w + 5",
            apply,
        )

    def unwind(self, model: Model) -> Statement:
        text, labels = self.labels_()
        first, count = model.next, self.draw.randint(1, 3)
        model.next += count

        def apply(m: Model) -> Rows:
            for k in range(first + 1, first + count + 1):
                m.nodes[k] = set(labels), {"x": k % 3}
            return None

        return (
            f"UNWIND range({first + 1}, {first + count}) AS u CREATE (n{text} {{k: u, x: u % 3}})",
            apply,
        )

    def seen_again(self, model: Model) -> Statement:
        """What a clause creates the next one matches."""
        k, b, type_ = model.fresh(), model.fresh(), self.draw.choice("RS")

        def apply(m: Model) -> Rows:
            m.nodes[k], m.nodes[b] = ({"A"}, {"x": 1}), ({"B"}, {})
            m.edges += [Edge(type_, k, b, {"w": 1})]
            return [(sum("A" in labels for labels, _ in m.nodes.values()), b)]

        return (
            f"CREATE (n:A {{k: {k}, x: 1}})-[:{type_} {{w: 1}}]->(:B {{k: {b}}}) "
            f"WITH n MATCH (m:A) WITH n, count(m) AS c MATCH (n)-[r]->(o) RETURN c, o.k",
            apply,
        )

    def link(self, model: Model) -> Statement:
        a, b, type_, w = self.some(model), self.some(model), self.type(), self.x()
        count = self.draw.randint(1, 3)

        def apply(m: Model) -> Rows:
            m.edges += [Edge(type_, a, b, {"w": w}) for _ in range(count)]
            return [(len(m.at(a)),)]

        return (
            f"MATCH (a {{k: {a}}}), (b {{k: {b}}}) FOREACH (u IN range(1, {count}) | "
            f"CREATE (a)-[:{type_} {{w: {w}}}]->(b)) WITH a MATCH (a)-[r]-() RETURN count(r)",
            apply,
        )

    def link_all(self, model: Model) -> Statement:
        """From every A to one node."""
        b, type_ = self.some(model), self.draw.choice("RS")

        def apply(m: Model) -> Rows:
            starts = [k for k, (labels, _) in m.nodes.items() if "A" in labels]
            m.edges += [Edge(type_, k, b, {"w": k}) for k in starts]
            return [(k,) for k in starts]

        return (
            f"MATCH (a:A), (b {{k: {b}}}) CREATE (a)-[r:{type_} {{w: a.k}}]->(b) RETURN r.w",
            apply,
        )

    def merge_node(self, model: Model) -> Statement:
        x, k, y = self.x(), model.fresh(), self.x()

        def apply(m: Model) -> Rows:
            found = [n for n, (ls, own) in m.nodes.items() if "A" in ls and own.get("x") == x]
            for n in found:
                m.nodes[n][1]["y"] = y
            if not found:
                m.nodes[k] = {"A"}, {"x": x}
            return [(n,) for n in found or [k]]

        return (
            f"MERGE (n:A {{x: {x}}}) ON CREATE SET n.k = {k} ON MATCH SET n.y = {y} RETURN n.k",
            apply,
        )

    def merge_link(self, model: Model) -> Statement:
        """One for each pair that has none; of undirected arrows either direction is one."""
        type_, w = self.type(), self.x()
        # which way one without an arrow is made depends on which row comes first: then one of two rows only
        arrow, label = self.draw.choice([">", ""]), self.draw.choice("AB")

        def apply(m: Model) -> Rows:
            made = 0
            starts = [k for k, (labels, _) in m.nodes.items() if "A" in labels]
            ends = [k for k, (labels, _) in m.nodes.items() if label in labels]
            for a in starts:
                for b in [k for k in ends if arrow or a < k]:
                    either = type_ == "U" or not arrow
                    pairs = {(a, b), (b, a)} if either else {(a, b)}
                    found = [e for e in m.edges if e.type == type_ and (e.a, e.b) in pairs]
                    for edge in found:
                        edge.own["x"] = w
                    if not found:
                        made += 1
                        m.edges.append(Edge(type_, a, b, {"w": w}))
            return None

        return (
            f"MATCH (a:A), (b:{label}) {'' if arrow else 'WHERE a.k < b.k '}MERGE (a)-[r:{type_}]-{arrow}(b) "
            f"ON CREATE SET r.w = {w} ON MATCH SET r.x = {w}",
            apply,
        )

    # ---- SET, REMOVE, DELETE ---------------------------------------------------------------------

    def node(self, model: Model) -> Statement:
        k, value = self.some(model), self.x()
        how = self.draw.choice(["SET n.x = {}", "SET n += {{y: {}, x: null}}", "REMOVE n.x", "all"])

        def apply(m: Model) -> Rows:
            own = m.nodes[k][1]
            if how.startswith("SET n.x"):
                own["x"] = value
            else:
                own.pop("x", None)
            if how == "all":
                own.clear()
            if "y:" in how or how == "all":
                own["y"] = value
            return [(own.get("x"), own.get("y"))]

        done = f"SET n = {{k: {k}, y: {value}}}" if how == "all" else how.format(value)
        return f"MATCH (n {{k: {k}}}) {done} RETURN n.x, n.y", apply

    def labels(self, model: Model) -> Statement:
        k, label = self.some(model), self.draw.choice("ABC")
        add = self.draw.random() < 0.5

        def apply(m: Model) -> Rows:
            (m.nodes[k][0].add if add else m.nodes[k][0].discard)(label)
            return [(sum(label in labels for labels, _ in m.nodes.values()),)]

        return (
            f"MATCH (n {{k: {k}}}) {'SET' if add else 'REMOVE'} n:{label} "
            f"WITH n OPTIONAL MATCH (m:{label}) RETURN count(m)",
            apply,
        )

    def labels_of_many(self, model: Model) -> Statement:
        """Labels and properties of several nodes, and a new node, in one statement."""
        k, x = model.fresh(), self.x()

        def apply(m: Model) -> Rows:
            for labels, own in m.nodes.values():
                if "A" in labels:
                    labels.add("C")
                    labels.discard("B")
                    own["y"] = x
            m.nodes[k] = {"B"}, {"x": x}
            return None

        return (
            f"CREATE (o:B {{k: {k}, x: {x}}}) WITH o MATCH (n:A) SET n:C, n.y = {x} REMOVE n:B",
            apply,
        )

    def relabel_ends(self, model: Model) -> Statement:
        """A relationship is the same one after its ends have other labels."""
        edge = self.draw.choice(model.edges)
        k, w = edge.a, self.x()

        def apply(m: Model) -> Rows:
            m.nodes[k][0].add("C")
            for one in m.at(k):
                one.own["w"] = w
            return [(w, len(m.at(k)))]

        return (
            f"MATCH (a {{k: {k}}})-[r]-() SET a:C SET r.w = {w} WITH DISTINCT r "
            f"MATCH ()-[r]->() WITH DISTINCT r RETURN r.w, count(*)",
            apply,
        )

    def one_edge(self, model: Model) -> Statement:
        """One of the relationships between two nodes, among equal ones any."""
        edge = self.draw.choice(model.edges)
        a, b, type_, kind = edge.a, edge.b, edge.type, self.draw.random()
        w = edge.own.get("w")
        filter_ = "r.w IS NULL" if w is None else f"r.w = {w}"
        head = f"MATCH (a {{k: {a}}})-[r:{type_}]->(b {{k: {b}}}) WHERE {filter_} WITH r LIMIT 1 "

        def like(m: Model) -> Edge:
            ends = ends_of(edge)
            return next(
                e for e in m.edges if e.type == type_ and ends_of(e) == ends and e.own.get("w") == w
            )

        def apply(m: Model) -> Rows:
            alike = like(m)
            if kind < 0.4:
                m.edges.remove(alike)
            elif kind < 0.7:
                alike.own["w"] = 7
            elif kind < 0.85:
                alike.own.pop("w", None)
            else:
                alike.own.clear()
                alike.own["x"] = 4
            return None

        if len({frozenset(e.own.items()) for e in model.edges if _same(e, edge)}) > 1:
            return self.many_edges(model)  # which one it is would matter
        if kind < 0.4:
            return f"{head}DELETE r", apply
        if kind < 0.7:
            return f"{head}SET r.w = 7", apply
        return f"{head}{'REMOVE r.w' if kind < 0.85 else 'SET r = {x: 4}'}", apply

    def many_edges(self, model: Model) -> Statement:
        type_, w = self.type(), self.x()
        kind = self.draw.random()

        def apply(m: Model) -> Rows:
            found = [e for e in m.edges if e.type == type_ and e.own.get("w") == w]
            for one in found:
                if kind < 0.4:
                    m.edges = [e for e in m.edges if e is not one]
                else:
                    one.own["w"] = w + 1
            return None

        change = "DELETE r" if kind < 0.4 else f"SET r.w = {w + 1}"
        return f"MATCH ()-[r:{type_}]->() WHERE r.w = {w} {change}", apply

    def delete_seen(self, model: Model) -> Statement:
        type_ = self.type()

        def apply(m: Model) -> Rows:
            m.edges = [e for e in m.edges if e.type != type_]
            return [(len(m.edges),)]

        return (
            f"OPTIONAL MATCH ()-[r:{type_}]-() DELETE r WITH count(*) AS c "
            f"OPTIONAL MATCH ()-[s]->() RETURN count(DISTINCT s)",
            apply,
        )

    def delete_node(self, model: Model) -> Statement:
        k, detach = self.some(model), self.draw.random() < 0.6

        def apply(m: Model) -> Rows:
            m.delete(k, detach)
            return None

        return f"MATCH (n {{k: {k}}}) {'DETACH ' if detach else ''}DELETE n", apply

    def fails(self, model: Model) -> Statement:
        """An error after a part of the work is done."""
        k = model.fresh()
        some = self.some(model)

        def apply(m: Model) -> Rows:
            raise Refused

        text = self.draw.choice(
            [
                f"UNWIND [1, 1, 0] AS u CREATE (n:A {{k: {k}, x: 4 / u}})",
                f"CREATE (m:B {{k: {k}}}) WITH m MATCH (n) SET n.x = 9, n:C WITH n RETURN 1 / 0",
                f"MATCH (n {{k: {some}}}) SET n:C CREATE (n)-[:R]->(:A {{k: {k}}}) WITH n DELETE n",
                f"MATCH (n {{k: {some}}}) DETACH DELETE n WITH 1 AS one "
                f"CREATE (m {{k: {k}}})-[:S]->() WITH m UNWIND [1, 0] AS u RETURN 5 % u",
                "MATCH ()-[r]->() SET r.w = 8 DELETE r CREATE (n) SET n.x = {a: 1}",
            ]
        )
        if text.startswith("MATCH ()") and not model.edges:
            return self.fails(model)
        return text, apply


def _same(one: Edge, other: Edge) -> bool:
    return (one.type, ends_of(one), one.own.get("w")) == (
        *(other.type, ends_of(other)),
        other.own.get("w"),
    )


def suite(seed: int) -> Iterator[Failure | None]:
    """A store, and statements that change it: each of them is a case. Every second store is in memory."""
    if seed % 2:
        yield from _Run(seed, None).steps()
        return
    folder = Path(tempfile.mkdtemp(prefix="gdb-fuzz-"))
    try:
        yield from _Run(seed, folder / "store.gdb").steps()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class _Run:
    def __init__(self, seed: int, path: Path | None) -> None:
        self.seed, self.path = seed, path
        self.draw = random.Random(f"writes {seed}")
        self.maker, self.log = _Maker(self.draw), list[str]()
        self.db = gdb.connect() if path is None else gdb.connect(path)
        self.beginning = BEGINNINGS[seed % len(BEGINNINGS)]
        self.model = begin(self.beginning, self.db)
        self.ids: dict[object, Id] = {k + 1: one for k, one in enumerate(self.beginning.ids)}

    def steps(self) -> Iterator[Failure | None]:
        for _ in range(STEPS):
            kind = self.draw.random()
            if kind < 0.1:
                self.log.append("-- compact")
                self.db.compact()
            elif kind < 0.2 and self.path is not None:
                self.log.append("-- reopen")
                self.db.close()
                self.db = gdb.connect(self.path)
            failure = self.one() if kind < 0.6 else self.several()
            yield failure
            if failure is not None:
                break
        self.db.close()

    def one(self) -> Failure | None:
        """A statement by itself."""
        text, apply = self.maker.statement(self.model)
        return self.run(self.db.execute, text, apply) or self.compare()

    def several(self) -> Failure | None:
        """Statements of one transaction, which is dropped at times."""
        before, dropped = self.model.copy(), self.draw.random() < 0.2
        self.log.append("-- begin")
        failure = None
        with self.db.transaction() as tx:
            for _ in range(self.draw.randint(2, 5)):
                text, apply = self.maker.statement(self.model)
                failure = failure or self.run(tx.execute, text, apply)
            if dropped:
                tx.rollback()
        self.log.append("-- rollback" if dropped else "-- commit")
        if dropped:
            before.next = self.model.next
            self.model = before
        return failure or self.compare()

    def run(
        self, execute: Callable[[str], gdb.Result], text: str, apply: Callable[[Model], Rows]
    ) -> Failure | None:
        """A statement on both sides; one that must fail changes neither."""
        self.log.append(text)
        changed = self.model.copy()
        expected: object
        try:
            expected = apply(changed)
        except Refused:
            expected, changed = "an error", self.model
        found: object
        try:
            found = sorted(execute(text).fetchall(), key=repr)
        except gdb.GdbError as error:
            found = "an error" if expected == "an error" else repr(error)
        except Exception as error:
            found = repr(error)
        self.model = changed
        if isinstance(expected, list):
            expected = sorted(expected, key=repr)
        if expected is not None and expected != found:
            return Failure(self.seed, "\n    ".join(self.log), "", expected, found)
        if expected is None and not isinstance(found, list):
            return Failure(self.seed, "\n    ".join(self.log), "", "no error", found)
        return None

    def compare(self) -> Failure | None:
        expected, found = self.model.content(), content(self.db)
        if expected == found:
            expected, found = [], self.other_ids()
        if expected == found:
            return None
        return Failure(self.seed, "\n    ".join(self.log), self.beginning, expected, found)

    def other_ids(self) -> list[object]:
        """Nodes whose ids are not what they were, or new ones that were not made where they should be."""
        before, self.ids = self.ids, ids_of(self.db)
        spaces = {self.beginning.created}
        if not any(space == "" and isinstance(one, str) for space, one in before.values()):
            spaces.add("")  # a base without its string ids may have been written
        return [
            (k, one, before.get(k))
            for k, one in self.ids.items()
            if (one != before[k] if k in before else one[0] not in spaces)
        ]
