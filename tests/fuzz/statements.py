"""Reading statements that begin at a key, made at random and sent again and again, with writes between: the answers
of what the cache binds (`gdb.run.bound_rows`) are those of rows in Python.

The other suites name a device, and what names one is not bound. Errors are compared too.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field

import gdb
from gdb.api.database import Database
from gdb.errors import GdbError
from tests.fuzz.cases import Failure
from tests.support.ways import forced

QUERIES = 20
PEOPLE = 24
OTHERS = 2600  # so many nodes of another label that columns would take most statements; a hub has some of them, too
# many rows for a statement whose list names the hub four times
KEYS = (0, 1, 2, 5, 7, 23, 99)  # 99 is no one's
WARM = (3, 4, 6)
GRAPH = f"""
UNWIND range(0, {PEOPLE - 1}) AS i CREATE (n:P {{id: i, age: $ages[i], name: 'n' + (i % 5)}})
FOREACH (x IN CASE WHEN i % 3 = 0 THEN [1] ELSE [] END | SET n:Q)
FOREACH (x IN CASE WHEN i % 4 = 0 THEN [1] ELSE [] END | SET n.score = i / 2.0, n.born = date('2020-01-01'))
"""
OWNED = (
    "MATCH (a:P {id: 0}), (b:Other) WHERE b.id <= 700 CREATE (a)-[:OWNS {since: b.id % 11}]->(b)"
)
LINKED = """
UNWIND $ends AS e MATCH (a:P {id: e[0]}), (b:P {id: e[1]}) CREATE (a)-[:%s {since: (e[0] * 7 + e[1]) %% 11}]->(b)
"""
WRITES = (
    "MATCH (a:P {id: $i}) SET a.age = 77",
    "MATCH (a:P {id: $i}) SET a.age = 'old'",
    "MATCH (a:P {id: $i}) REMOVE a:Q",
    "MATCH (a:P {id: $i}), (b:P {id: $j}) CREATE (a)-[:KNOWS {since: 12}]->(b)",
    "MATCH (a:P {id: $i})-[r:KNOWS]->() DELETE r",
    "MATCH (a:P {id: $i}) DETACH DELETE a",
    "CREATE (:P:Q {id: $i, name: 'new'})",
)


def suite(seed: int) -> Iterator[Failure | None]:
    """A graph, and some statements; a write before some of them."""
    draw = random.Random(f"statements {seed}")
    with gdb.connect() as db:
        _fill(db, draw)
        for _ in range(QUERIES):
            text = _Maker(draw).text()
            for i in WARM:
                _answer(db, text, i)
            if draw.random() < 0.4:
                db.execute(draw.choice(WRITES), {"i": draw.choice(KEYS), "j": draw.choice(KEYS)})
            found = [_answer(db, text, i) for i in KEYS]
            with forced("rows"):
                expected = [_answer(db, text, i) for i in KEYS]
            yield Failure(seed, text, KEYS, expected, found) if found != expected else None


def _fill(db: Database, draw: random.Random) -> None:
    ages = [draw.randrange(50) if draw.random() < 0.8 else None for _ in range(PEOPLE)]
    db.execute(GRAPH, {"ages": ages})
    db.execute(f"UNWIND range(1, {OTHERS}) AS i CREATE (:Other {{id: i}})")
    db.execute(OWNED)
    for kind in ("KNOWS", "LIKES"):  # with loops and parallel relationships
        ends = [[draw.randrange(PEOPLE), draw.randrange(PEOPLE)] for _ in range(2 * PEOPLE)]
        db.execute(LINKED % kind, {"ends": [*ends, *ends[:6], [1, 1], [2, 2]]})


def _answer(db: Database, text: str, i: int) -> list[str]:
    """The rows, sorted, since no statement orders all of them; of one that fails, its error."""
    try:
        values = {"i": i, "j": 2, "l": [i, 1, 3, i, None] * 2}
        return sorted(repr(tuple(row)) for row in db.execute(text, values))
    except GdbError as error:
        return [f"{type(error).__name__}: {error}"]


@dataclass
class _Maker:
    """Makes one statement. nodes, links, lists, paths, values : the names of each kind that it has so far."""

    draw: random.Random
    nodes: list[str] = field(default_factory=lambda: ["a"])
    links: list[str] = field(default_factory=list)
    lists: list[str] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    values: list[str] = field(default_factory=list)
    made: int = 0

    def text(self) -> str:
        begins = (
            "MATCH (a:P {id: $i})",
            "MATCH (a:P) WHERE a.id = $i",
            "MATCH (a:P {id: $i}), (z:P {id: $j})",
            "UNWIND $l AS k MATCH (a:P {id: k})",
        )
        (begin,) = self.draw.choices(begins, [5, 1, 2, 3])
        self.nodes += ["z"] * ("(z" in begin)
        self.values += ["k"] * ("AS k" in begin)
        clauses = [self.match, self.match, self.optional, self.with_, self.value, self.shortest]
        parts = [begin, *(self.draw.choice(clauses)() for _ in range(self.draw.randrange(1, 4)))]
        columns = [f"{self.column()} AS c{k}" for k in range(self.draw.randrange(1, 4))]
        distinct = "DISTINCT " if self.draw.random() < 0.15 else ""
        return f"{' '.join(parts)} RETURN {distinct}{', '.join(columns)}"

    # ---- clauses ---------------------------------------------------------------------------------

    def match(self) -> str:
        chain, named = self.chain()
        path = ""
        if self.draw.random() < 0.15:
            path = self.fresh("p", self.paths) + " = "
        return f"MATCH {path}{chain}{self.where(named)}"

    def optional(self) -> str:
        return f"OPTIONAL {self.match()}"

    def shortest(self) -> str:
        """A shortest path between nodes that are there."""
        begin, end = self.draw.choice(self.nodes), self.draw.choice(self.nodes)
        word = self.draw.choice(["shortestPath", "allShortestPaths"])
        path = self.fresh("p", self.paths)
        optional = self.draw.choice(["", "OPTIONAL "])
        return f"{optional}MATCH {path} = {word}(({begin})-[:KNOWS*1..4]->({end}))"

    def with_(self) -> str:
        self.nodes = self.draw.sample(self.nodes, self.draw.randrange(1, len(self.nodes) + 1))
        self.links, self.lists, self.paths, self.values = [], [], [], []
        kept = ", ".join(self.nodes)
        kind = self.draw.random()
        if kind < 0.3:
            return f"WITH DISTINCT {kept}"
        if kind < 0.6:
            what = self.draw.choice(["count(*)", f"max({self.nodes[0]}.age)"])
            return f"WITH {kept}, {what} AS {self.fresh('n', self.values)}"
        if kind < 0.8:
            return f"WITH {kept} WHERE {self.condition()}"
        return f"WITH {kept}"

    def value(self) -> str:
        one = self.draw.choice([self.exists(), self.count(), self.property()])
        return f"WITH *, {one} AS {self.fresh('n', self.values)}"

    # ---- patterns --------------------------------------------------------------------------------

    def chain(self) -> tuple[str, list[str]]:
        """One or two relationships from a node that is there, and the names of the nodes at their ends."""
        text, named = f"({self.draw.choice(self.nodes)})", []
        for _ in range(self.draw.choice([1, 1, 2])):
            if self.draw.random() < 0.2:
                owned = self.fresh("o", named)
                text += f"-[{self.draw.choice(['', self.fresh('r', self.links)])}:OWNS]->({owned})"
                break
            if self.draw.random() < 0.15:
                end, label = self.draw.choice(self.nodes), ""
            else:
                end, label = self.fresh("b", None), self.draw.choice(["", "", ":Q", ":P"])
            text += f"{self.link()}({end}{label})"
            named.append(end)
        self.nodes += [name for name in dict.fromkeys(named) if name not in self.nodes]
        return text, named

    def link(self) -> str:
        kind = self.draw.choice([":KNOWS", ":LIKES", "", ":KNOWS|LIKES"])
        length = self.draw.choice(["", "", "", "*1..2", "*2", "*0..1"])
        name = ""
        if self.draw.random() < 0.3:
            name = self.fresh("r", self.lists if length else self.links)
        before, behind = self.draw.choice([("-", "->"), ("<-", "-"), ("-", "-")])
        return f"{before}[{name}{kind}{length}]{behind}"

    def inner(self) -> str:
        """A pattern inside a condition or a value: nothing of it is seen outside."""
        kind = self.draw.choice([":KNOWS", ":LIKES", ""])
        end = self.draw.choice(["", ":Q", *self.nodes])
        return f"({self.draw.choice(self.nodes)})-[{kind}]-{self.draw.choice(['', '>'])}({end})"

    # ---- conditions and values -------------------------------------------------------------------

    def where(self, named: list[str]) -> str:
        return f" WHERE {self.condition(named)}" if self.draw.random() < 0.4 else ""

    def condition(self, named: list[str] | None = None) -> str:
        one, other = self.draw.choice(named or self.nodes), self.draw.choice(self.nodes)
        tests = (
            f"{one}.age > 20",
            f"{one} <> {other}",
            f"{one}.name = {other}.name",
            f"{one} IS NOT NULL AND ({one}.age < 30 OR {one} = {other})",
            f"{one}.id IN $l",
            f"{one}:Q",
            f"NOT {self.exists()}",
            f"{one}.age = $i + 20",
        )
        return self.draw.choice(tests)

    def exists(self) -> str:
        return f"EXISTS {{ {self.inner()} }}"

    def count(self) -> str:
        return f"COUNT {{ {self.inner()} }}"

    def property(self) -> str:
        key = self.draw.choice(["id", "age", "name", "score", "born", "none"])
        return f"{self.draw.choice(self.nodes)}.{key}"

    def column(self) -> str:
        one = self.draw.choice(self.nodes)
        columns = [
            *[self.property()] * 4,
            *(one, f"id({one})", f"labels({one})", f"{one} IS NULL"),
            *(f"count({one})", f"count(DISTINCT {one})", f"max({one}.name)", "count(*)"),
            f"size(collect({one}.age))",
            *(self.count(), self.exists()),
            *[f"{link}.since" for link in self.links],
            *[self.draw.choice([link, f"type({link})"]) for link in self.links],
            *[self.draw.choice([one, f"size({one})"]) for one in self.lists],
            *[
                self.draw.choice([f"length({path})", path, f"size(nodes({path}))"])
                for path in self.paths
            ],
            *self.values,
        ]
        return self.draw.choice(columns)

    def fresh(self, letter: str, kind: list[str] | None) -> str:
        self.made += 1
        name = f"{letter}{self.made}"
        if kind is not None:
            kind.append(name)
        return name
