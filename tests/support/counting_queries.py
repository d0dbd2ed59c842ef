"""Random queries of several clauses over the graphs of `tests.support.chain_queries` that need only the number of many
of their elements."""

from __future__ import annotations

import random


class Counts:
    """A random query that needs of many elements no more than how many there are: what is counted and not listed.

    walks : whether some relationships are of variable length.
    """

    sorted = False

    def __init__(self, chance: random.Random, walks: bool = False) -> None:
        self.chance, self.walks = chance, walks
        self.nodes: list[str] = []
        self.others: list[str] = []
        self._count = 0

    def text(self) -> str:
        return f"{self._before()} {self._end()}"

    def rows(self) -> str:
        """Another one, that returns rows, which a LIMIT may follow."""
        before = self._before()
        items = [f"{name}{'.k' if name[0] == 'n' else ''}" for name in self._kept()]
        return f"{before} RETURN {', '.join([*items, '1'])}"

    def _before(self) -> str:
        clauses = [self._match("")]
        for _ in range(self.chance.randrange(1, 3)):
            makers = [self._with, self._unwind] + [self._match] * 4
            clauses.append(self.chance.choice(makers)(self.chance.choice(["", "OPTIONAL "])))
        return " ".join(clauses)

    def _fresh(self, letter: str) -> str:
        self._count += 1
        return f"{letter}{self._count}"

    def _node(self) -> str:
        labels = self.chance.choice(["", "", ":A", ":B"])
        if self.nodes and self.chance.random() < 0.5:
            return f"({self.chance.choice(self.nodes)})"
        if self.chance.random() < 0.4:
            return f"({labels})"
        name = self._fresh("n")
        self._found.append(name)
        return f"({name}{labels})"

    def _match(self, optional: str) -> str:
        self._found: list[str] = []
        relationships: list[str] = []
        paths = []
        for _ in range(self.chance.choice([1, 1, 1, 2])):
            path = self._node()
            for _ in range(self.chance.choice([0, 1, 1, 1, 2])):
                long = self.walks and self.chance.random() < 0.3
                name = self._fresh("r") if not long and self.chance.random() < 0.3 else ""
                relationships += [name] * bool(name)
                types = self.chance.choice([":K", ":L"] if self.walks else ["", ":K", ":L"])
                inner = f"[{name}{types}{self._length() if long else ''}]"
                path += self.chance.choice([f"-{inner}->", f"<-{inner}-", f"-{inner}-"])
                path += self._node()
            paths.append(path)
        self.nodes += self._found
        self.others += relationships
        where = ""
        if self.nodes and self.chance.random() < 0.3:
            n, m = self.chance.choice(self.nodes), self.chance.choice(self.nodes)
            where = f" WHERE {self.chance.choice(self._tests(n, m))}"
        return f"{optional}MATCH {', '.join(paths)}{where}"

    def _length(self) -> str:
        return self.chance.choice(["*1..2", "*0..1", "*2..2"])

    def _tests(self, n: str, m: str) -> list[str]:
        """Conditions on two nodes."""
        walks = [
            f"EXISTS {{ ({n})-[:K{self._length()}]->(:A) }}",
            f"NOT ({n})-[:L{self._length()}]-({m})",
            f"COUNT {{ ({n})-[:K{self._length()}]->(x)-[:L]-() }} > 2",
            f"EXISTS {{ ({n})-[:L*2..3]->({m}) }}",
        ]
        return [
            *(f"{n}.i > 0", f"{n}.i < {m}.i", f"({n})-->(:A)", f"NOT ({n})-[:K]->({m})"),
            *(f"EXISTS {{ ({n})--(x)--({m}) }}", f"COUNT {{ ({n})-->(x)-->() }} > 2"),
            *(f"{n} <> {m}", *(walks if self.walks else [])),
        ]

    def _kept(self) -> list[str]:
        every = [*self.nodes, *self.others]
        return self.chance.sample(every, self.chance.randrange(0, min(len(every), 3) + 1))

    def _with(self, _: str) -> str:
        kept = self._kept()
        if not kept:
            return "WITH *" if self.nodes + self.others else "WITH 1 AS one"
        way = self.chance.random()
        self.nodes = [n for n in self.nodes if n in kept]
        self.others = [n for n in self.others if n in kept]
        if way < 0.25:
            name = self._fresh("c")
            counted = self.chance.choice(["*", kept[-1]])
            self.nodes = [n for n in self.nodes if n in kept[:1]]
            self.others = [*(n for n in self.others if n in kept[:1]), name]
            return f"WITH {kept[0]}, count({counted}) AS {name}"
        return f"WITH {'DISTINCT ' if way < 0.4 else ''}{', '.join(kept)}"

    def _unwind(self, _: str) -> str:
        name = self._fresh("u")
        self.others.append(name)
        return f"UNWIND {self.chance.choice(['[1, 2]', '[]', '[null, 3, 3]', '$ints'])} AS {name}"

    def _end(self) -> str:
        items = [
            f"{name}{'.k' if name[0] == 'n' else ''} AS c{k}"
            for k, name in enumerate(self._kept()[:2])
        ]
        if self.chance.random() < 0.1 and items:
            return f"RETURN DISTINCT {', '.join(items)}"
        for _ in range(self.chance.randrange(1, 3)):
            every = [*self.nodes, *self.others]
            name = self.chance.choice(every) if every else "1"
            value = f"{name}.i" if name[0] == "n" else "1"
            some = self.chance.choice(
                [
                    *("count(*)", "count(*)", f"count({name})", f"count({name})"),
                    *(f"count(DISTINCT {name})", f"sum({value})", f"max({value})"),
                    *(f"avg({value})", f"collect({value})", "avg(2.5)"),
                ]
            )
            items.append(f"{some} AS a{len(items)}")
        return f"RETURN {', '.join(items)}"
