"""Random graphs with typed properties, and random queries of several clauses over them, for comparing two ways to run a
query.

Queries are right by their checks, most are of what columns cover; none divides by a number that may be 0.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

Types = dict[str, str]  # the names of a query so far: node, rel, int, str, float, bool, ints, strs

TEXTS = ("", "a", "b", "ab", "Ba", "zz", " a ", "é", "x,y")
SCALARS = ("int", "str", "float", "bool")


def graph_queries(chance: random.Random) -> list[tuple[str, dict[str, object]]]:
    """The statements that make a graph, with their parameters."""
    count = chance.choice([1, 4, 6, 9])
    nodes: dict[str, list[dict[str, object]]] = {"A": [], "B": [], "A:B": []}
    for number in range(count):
        nodes[chance.choice(["A", "A", "B", "A:B"])].append({"k": number, "p": _properties(chance)})
    made: list[tuple[str, dict[str, object]]] = []
    for labels, rows in nodes.items():
        text = f"UNWIND $rows AS row CREATE (n:{labels}) SET n = row.p, n.k = row.k"
        made.append((text, {"rows": rows}))
    for type_ in ("K", "L"):
        rows = [
            {"a": chance.randrange(count), "b": chance.randrange(count), "w": _int(chance)}
            for _ in range(chance.choice([0, 3, 8, 12]))
        ]
        text = f"UNWIND $rows AS r MATCH (a {{k: r.a}}), (b {{k: r.b}}) CREATE (a)-[:{type_} {{w: r.w}}]->(b)"
        made.append((text, {"rows": rows}))
    return made


def _int(chance: random.Random) -> int:
    return chance.choice([-7, -2, -1, 0, 1, 1, 2, 3, 5, 10**12])


def _properties(chance: random.Random) -> dict[str, object]:
    whole: dict[str, object] = {
        "i": _int(chance),
        "j": _int(chance),
        "s": chance.choice(TEXTS),
        "f": chance.choice([-1.5, -0.0, 0.0, 0.5, 2.0, 2.5, 1e16, float("nan"), float("inf")]),
        "b": chance.random() < 0.5,
        "l": [_int(chance) for _ in range(chance.randrange(1, 4))],
        "t": [chance.choice(TEXTS) for _ in range(chance.randrange(1, 3))],
    }
    return {key: value for key, value in whole.items() if chance.random() < 0.8}


# ---- expressions ---------------------------------------------------------------------------------

KEYS = {
    "int": ("i", "j"),
    "str": ("s",),
    "float": ("f",),
    "bool": ("b",),
    "ints": ("l",),
    "strs": ("t",),
}


class Expressions:
    """Random expressions over some names."""

    def __init__(self, chance: random.Random, names: Types, patterns: bool = False) -> None:
        self.chance, self.names, self.patterns = chance, names, patterns

    def of(self, type_: str, depth: int = 2) -> str:
        leaves = self._leaves(type_)
        if depth <= 0 or self.chance.random() < 0.25:
            return self.chance.choice(leaves)
        makers: dict[str, Callable[[int], str]] = {
            "int": self._int,
            "str": self._str,
            "float": self._float,
            "bool": self._bool,
            "ints": self._ints,
            "strs": self._strs,
        }
        return makers[type_](depth - 1)

    def any(self, depth: int = 2) -> str:
        return self.of(self.chance.choice([*SCALARS, "int", "str", "ints", "strs"]), depth)

    def _leaves(self, type_: str) -> list[str]:
        found = [name for name, known in self.names.items() if known == type_]
        found += [
            f"{name}.{key}"
            for name, known in self.names.items()
            if known == "node"
            for key in KEYS[type_]
        ]
        if type_ == "int":
            found += [f"{name}.w" for name, known in self.names.items() if known == "rel"]
        chance = self.chance
        constant = {
            "int": str(chance.randrange(-3, 4)),
            "str": repr(chance.choice(TEXTS)),
            "float": chance.choice(["0.5", "-2.0", "1e3"]),
            "bool": chance.choice(["true", "false"]),
            "ints": chance.choice(["[]", "[1, 2, 3]", "[2, null]", "$ints"]),
            "strs": chance.choice(["['a', 'b']", "['a', null]", "$strs"]),
        }[type_]
        return [*found, *found, constant]

    def _pick(self, *texts: Callable[[], str]) -> str:
        return self.chance.choice(texts)()

    def _case(self, type_: str, d: int) -> str:
        return (
            f"CASE WHEN {self.of('bool', d)} THEN {self.of(type_, d)} ELSE {self.of(type_, d)} END"
        )

    def _int(self, d: int) -> str:
        i, s, f = (lambda t=t: self.of(t, d) for t in ("int", "str", "float"))
        return self._pick(
            lambda: f"({i()} {self.chance.choice('+-')} {i()})",
            lambda: f"({i()} * {self.chance.choice(['2', '-3', '0'])})",
            lambda: f"({i()} / {self.chance.choice(['2', '-3', '7'])})",
            lambda: f"({i()} % {self.chance.choice(['2', '-3', '7'])})",
            lambda: f"(-{i()})",
            lambda: f"abs({i()})",
            lambda: f"sign({self.chance.choice([i, f])()})",
            lambda: f"size({self.chance.choice([s, lambda: self.of('ints', d)])()})",
            lambda: f"coalesce({i()}, {i()})",
            lambda: self._case("int", d),
            lambda: f"{self.of('ints', d)}[{self.chance.randrange(-3, 4)}]",
            lambda: f"{self.chance.choice(['head', 'last'])}({self.of('ints', d)})",
            lambda: f"CASE {i()} WHEN {i()} THEN {i()} WHEN 1 THEN 10 END",
            lambda: f"toInteger({self.chance.choice([i, s])()})",
        )

    def _str(self, d: int) -> str:
        s, i = (lambda t=t: self.of(t, d) for t in ("str", "int"))
        n = self.chance.randrange(4)
        return self._pick(
            lambda: f"({s()} + {self.chance.choice([s, i])()})",
            lambda: (
                f"{self.chance.choice(['toUpper', 'toLower', 'trim', 'ltrim', 'rtrim'])}({s()})"
            ),
            lambda: f"substring({s()}, {n})",
            lambda: f"substring({s()}, {n}, {self.chance.randrange(3)})",
            lambda: f"{self.chance.choice(['left', 'right'])}({s()}, {n})",
            lambda: f"replace({s()}, 'a', {s()})",
            lambda: f"toString({self.chance.choice([s, i, lambda: self.of('bool', d)])()})",
            lambda: f"coalesce({s()}, {s()})",
            lambda: self._case("str", d),
            lambda: f"{self.of('strs', d)}[{self.chance.randrange(-2, 3)}]",
        )

    def _float(self, d: int) -> str:
        f, i = (lambda t=t: self.of(t, d) for t in ("float", "int"))
        return self._pick(
            lambda: f"({f()} {self.chance.choice('+-*/')} {self.chance.choice([f, i])()})",
            lambda: f"({f()} % {f()})",
            lambda: f"({i()} ^ 2)",
            lambda: (
                f"{self.chance.choice(['ceil', 'floor', 'sqrt', 'toFloat'])}({self.chance.choice([f, i])()})"
            ),
            lambda: f"coalesce({f()}, {f()})",
            lambda: f"abs({f()})",
            lambda: self._case("float", d),
        )

    def _bool(self, d: int) -> str:
        chance = self.chance
        any_ = chance.choice(SCALARS)
        a, b = (lambda: self.of(any_, d)), (lambda: self.of(any_, d))
        s, t = (lambda: self.of("str", d)), (lambda: self.of("bool", d))
        makers = [
            lambda: f"({a()} {chance.choice(['=', '<>', '<', '<=', '>', '>='])} {b()})",
            lambda: (
                f"({self.of('int', d)} {chance.choice(['=', '<', '>='])} {self.of('float', d)})"
            ),
            lambda: f"({self.of('int', d)} = {s()})",
            lambda: f"({t()} {chance.choice(['AND', 'OR', 'XOR'])} {t()})",
            lambda: f"(NOT {t()})",
            lambda: f"({self.any(d)} IS {chance.choice(['', 'NOT '])}NULL)",
            lambda: f"({s()} {chance.choice(['STARTS WITH', 'ENDS WITH', 'CONTAINS'])} {s()})",
            lambda: f"({self.of('int', d)} IN {self.of('ints', d)})",
            lambda: f"({s()} IN {self.of('strs', d)})",
            lambda: f"({self.of('int', d)} IN [1, {self.of('int', d)}, null])",
            lambda: f"isEmpty({s()})",
        ]
        nodes = [name for name, known in self.names.items() if known == "node"]
        if nodes:
            n, m = chance.choice(nodes), chance.choice(nodes)
            makers.append(lambda: f"({n} = {m})")
            makers.append(lambda: f"{n}:{chance.choice(['A', 'B', 'A|B'])}")
            if self.patterns:
                kind = chance.choice(["", ":K", ":L", ":K|L"])
                makers += [lambda: f"({n})-[{kind}]->(:B)", lambda: f"({n})<-[{kind}]-({m})"] * 2
                makers.append(
                    lambda: f"EXISTS {{ ({n})-[{kind}]-(z) WHERE z.i > {self.of('int', 0)} }}"
                )
                makers.append(lambda: f"(COUNT {{ ({n})-[{kind}]->() }} > 1)")
        return chance.choice(makers)()

    def _ints(self, d: int) -> str:
        i = lambda: self.of("int", d)  # noqa: E731
        bound = lambda: self.chance.choice(["", str(self.chance.randrange(-3, 4))])  # noqa: E731
        return self._pick(
            lambda: f"[{i()}, {i()}]",
            lambda: f"range({self.chance.randrange(3)}, {self.chance.randrange(5)})",
            lambda: f"range(5, 0, {self.chance.choice(['-1', '-2', '1'])})",
            lambda: f"tail({self.of('ints', d)})",
            lambda: f"reverse({self.of('ints', d)})",
            lambda: f"{self.of('ints', d)}[{bound()}..{bound()}]",
        )

    def _strs(self, d: int) -> str:
        s = lambda: self.of("str", d)  # noqa: E731
        return self._pick(
            lambda: f"[{s()}, {s()}]",
            lambda: f"split({s()}, 'a')",
            lambda: f"{self.of('strs', d)}[..{self.chance.randrange(-1, 3)}]",
        )


# ---- queries -------------------------------------------------------------------------------------


class Queries:
    """A random query. sorted : its rows come in one order. walks : whether some relationships are of variable
    length."""

    def __init__(self, chance: random.Random, walks: bool = False) -> None:
        self.chance, self.walks = chance, walks
        self.names: Types = {}
        self.sorted = False
        self._count = 0

    def _fresh(self, letter: str) -> str:
        self._count += 1
        return f"{letter}{self._count}"

    def text(self) -> str:
        clauses = [self._match(optional=False) if self.chance.random() < 0.8 else self._unwind()]
        for _ in range(self.chance.randrange(1, 4)):
            makers = [
                self._match,
                lambda: self._match(optional=True),
                self._with,
                self._grouped,
                self._unwind,
                self._top,
            ]
            clauses.append(self.chance.choice(makers)())
        clauses.append(self._return())
        return " ".join(clauses)

    def _of(self, kind: str) -> list[str]:
        return [name for name, known in self.names.items() if known == kind]

    def _node(self, more: Types) -> str:
        """A node pattern; a name of the rows, or one of its own."""
        known = [*self._of("node"), *(n for n, kind in more.items() if kind == "node")]
        if known and self.chance.random() < 0.5:
            return f"({self.chance.choice(known)})"
        if self.chance.random() < 0.25:
            return self.chance.choice(["()", "(:A)", "({i: 1})"])
        name = self._fresh("n")
        more[name] = "node"
        return f"({name}{self.chance.choice(['', ':A', ':B', ':A|B'])})"

    def _relationship(self, more: Types) -> str:
        name = ""
        if self.walks and self.chance.random() < 0.3:
            inner = f"[{self.chance.choice([':K', ':L'])}{self.chance.choice(['*1..2', '*0..1', '*2..2'])}]"
            return self.chance.choice([f"-{inner}->", f"<-{inner}-", f"-{inner}-"])
        if self.chance.random() < 0.4:
            name = self._fresh("r")
            more[name] = "rel"
        inner = f"[{name}{self.chance.choice(['', ':K', ':L', ':K|L'])}]"
        return self.chance.choice([f"-{inner}->", f"<-{inner}-", f"-{inner}-"])

    def _match(self, optional: bool = False) -> str:
        more: Types = {}
        paths = []
        for _ in range(self.chance.choice([1, 1, 1, 2])):
            path = self._node(more)
            for _ in range(self.chance.choice([0, 1, 1, 2])):
                path += self._relationship(more) + self._node(more)
            paths.append(path)
        self.names.update(more)
        where = ""
        if self.chance.random() < 0.5 and self.names:
            expressions = Expressions(self.chance, self.names, patterns=True)
            where = f" WHERE {expressions.of('bool')}"
        return f"{'OPTIONAL ' if optional else ''}MATCH {', '.join(paths)}{where}"

    def _unwind(self) -> str:
        kind = self.chance.choice(["ints", "strs"])
        values = Expressions(self.chance, self.names).of(kind)
        name = self._fresh("u")
        self.names[name] = kind[:-1]
        return f"UNWIND {values} AS {name}"

    def _kept(self) -> list[str]:
        names = list(self.names)
        return self.chance.sample(names, min(len(names), self.chance.randrange(1, 4)))

    def _with(self) -> str:
        items, names = [], dict[str, str]()
        for name in self._kept():
            other = name if self.chance.random() < 0.7 else self._fresh("w")
            items.append(name if other == name else f"{name} AS {other}")
            names[other] = self.names[name]
        kind = self.chance.choice([*SCALARS, "ints"])
        value = Expressions(self.chance, self.names, patterns=True).of(kind)
        name = self._fresh("v")
        distinct = self.chance.choice(["", "DISTINCT "])
        names[name], self.names = kind, names
        where = ""
        names[name] = kind
        if self.chance.random() < 0.4:
            where = f" WHERE {Expressions(self.chance, names, patterns=True).of('bool')}"
        return f"WITH {distinct}{', '.join([*items, f'{value} AS {name}'])}{where}"

    def _aggregate(self) -> tuple[str, str]:
        expressions, chance = Expressions(self.chance, self.names), self.chance
        kind = chance.choice(["int", "str", "float"])
        of = expressions.of(kind, 1)
        distinct = chance.choice(["", "", "DISTINCT "])
        return chance.choice(
            [
                ("count(*)", "int"),
                (f"count({distinct}{of})", "int"),
                (f"sum({expressions.of('int', 1)})", "int"),
                (f"avg({expressions.of('int', 1)})", "float"),
                (f"{chance.choice(['min', 'max'])}({of})", kind),
                (f"size(collect({of}))", "int"),
                (f"collect({distinct}{expressions.of('int', 1)})", "ints"),
                (f"count({distinct}{chance.choice(list(self.names) or ['1'])})", "int"),
            ]
        )

    def _grouped(self) -> str:
        items, names = [], dict[str, str]()
        for name in self._kept()[:2]:
            items.append(name)
            names[name] = self.names[name]
        if self.chance.random() < 0.4:
            kind = self.chance.choice(SCALARS)
            name = self._fresh("g")
            items.append(f"{Expressions(self.chance, self.names).of(kind, 1)} AS {name}")
            names[name] = kind
        aggregate, kind = self._aggregate()
        name = self._fresh("a")
        items.append(f"{aggregate} AS {name}")
        self.names = {**names, name: kind}
        return f"WITH {', '.join(items)}"

    def _top(self) -> str:
        """The first rows by a total order of what is kept."""
        scalars = [name for name, kind in self.names.items() if kind in SCALARS]
        scalars += [f"{name}.k" for name in self._of("node")]
        if len(scalars) < 1:
            return "WITH *"
        kept = self.chance.sample(scalars, 1)
        name = self._fresh("t")
        kind = "int" if "." in kept[0] else self.names[kept[0]]
        self.names = {name: kind}
        ends = self.chance.choice(["", " DESC", " NULLS FIRST", " DESC NULLS LAST"])
        return f"WITH {kept[0]} AS {name} ORDER BY {name}{ends} SKIP 1 LIMIT 3"

    def _return(self) -> str:
        expressions = Expressions(self.chance, self.names, patterns=True)
        if self.chance.random() < 0.2:
            aggregate, _ = self._aggregate()
            kept = [f"{name} AS c{k}" for k, name in enumerate(self._kept()[:1])]
            return f"RETURN {', '.join([*kept, f'{aggregate} AS z'])}"
        items = self._kept()
        columns = [f"{name} AS c{k}" for k, name in enumerate(items)]
        columns.append(f"{expressions.any()} AS z")
        distinct = self.chance.choice(["", "", "DISTINCT "])
        if all(self.names[name] in SCALARS for name in items) and self.chance.random() < 0.5:
            columns[-1] = f"{expressions.of('int')} AS z"
            order = [
                f"c{k}{self.chance.choice(['', ' DESC', ' NULLS FIRST'])}"
                for k in range(len(items))
            ]
            self.sorted = True
            return f"RETURN {distinct}{', '.join(columns)} ORDER BY {', '.join([*order, 'z'])}"
        return f"RETURN {distinct}{', '.join(columns)}"


def normal(rows: Sequence[tuple[object, ...]], sorted_: bool, lists: bool) -> list[str]:
    """Rows to compare: floats to twelve digits, lists sorted where their order is not defined."""

    def cell(value: object) -> str:
        if isinstance(value, float):
            return f"{value + 0.0:.12g}f"
        if isinstance(value, list):
            items = [cell(item) for item in value]
            return f"[{', '.join(sorted(items) if lists else items)}]"
        return repr(value)

    found = ["|".join(cell(value) for value in row) for row in rows]
    return found if sorted_ else sorted(found)
