"""Queries at random, from a grammar over a small graph.

The grammar knows the variables before a clause and what they are, so that most of its queries run; that a
query is refused is no failure. All randomness comes from the `Random` that is given.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random

from gdb.functions.library import AGGREGATES, FUNCTIONS
from tests.fuzz import cypher25

LABELS = ("Person", "Admin", "City", "Nobody")
TYPES = ("KNOWS", "LIVES_IN", "HATES")
KEYS = ("name", "age", "score", "born", "tags", "ok", "since", "missing")
MODES = (
    *("DIFFERENT EDGES", "DIFFERENT NODES", "REPEATABLE ELEMENTS", "SUBGRAPHS", "INDUCED"),
    *("DIFFERENT RELATIONSHIPS", "INDUCED SUBGRAPHS"),
)
_SCALARS = ("number", "string", "boolean")
_LARGE = frozenset({"range"})  # a list of millions is no failure, and takes its time

Scope = dict[str, str]
"""The variables before a clause, each with its kind: node, path, number, string, list, map, any and so on."""


@dataclass
class Maker:
    """Makes queries. deep : how deeply expressions nest."""

    random: Random
    deep: int = 3
    _names: int = field(default=0, init=False)

    def query(self) -> str:
        """One query; one of ten has UNION, one of thirty EXPLAIN or PROFILE."""
        self._names = 0
        text = self._side({}, self.chance(0.35))
        if self.chance(0.1):
            text = self._union()
        return self.maybe(0.03, self.one(("EXPLAIN ", "PROFILE "))) + text + self.maybe(0.05, ";")

    # ---- chance ----------------------------------------------------------------------------------

    def chance(self, part: float) -> bool:
        return self.random.random() < part

    def maybe(self, part: float, text: str) -> str:
        return text if self.chance(part) else ""

    def one(self, several: Sequence[str]) -> str:
        return self.random.choice(several)

    def either(self, *makers: Callable[[], str]) -> str:
        return self.random.choice(makers)()  # the others are not called

    def perhaps(self, part: float, make: Callable[..., str]) -> str:
        return make() if self.chance(part) else ""

    def several(self, least: int, most: int, make: Callable[[], str], between: str = ", ") -> str:
        return between.join(make() for _ in range(self.random.randint(least, most)))

    def fresh(self) -> str:
        self._names += 1
        return f"v{self._names}"

    def of(self, scope: Scope, *kinds: str) -> list[str]:
        return [name for name, kind in scope.items() if kind in kinds]

    # ---- queries ---------------------------------------------------------------------------------

    def _union(self) -> str:
        word = self.one((" UNION ", " UNION ALL "))
        sides = [f"{self._clauses({}, 2)} RETURN {self.expression({}, 1)} AS x" for _ in range(2)]
        return word.join(sides)

    def _side(self, scope: Scope, writes: bool) -> str:
        text = self._clauses(scope, 3)
        if writes:
            text += " " + self.several(1, 2, lambda: self._writing(scope), " ")
            if self.chance(0.5):
                return text
        return f"{text} RETURN {self._returned(scope)}"

    def _clauses(self, scope: Scope, most: int) -> str:
        return self.several(1, most, lambda: self._clause(scope), " ")

    def _clause(self, scope: Scope) -> str:
        kind = self.random.randrange(12)
        if kind < 6:
            return self._match(scope)
        if kind < 8 and self.chance(0.2):
            return cypher25.shorter(self, scope)
        if kind < 8:
            return f"WITH {self._with(scope)}"
        if kind < 10:
            of, name = self.expression(scope, 2, "list"), self.fresh()
            scope[name] = "any"
            return f"UNWIND {of} AS {name}"
        if kind == 10:
            return self._call(scope) if self.chance(0.6) else self._procedure(scope)
        return "OPTIONAL " + self._match(scope)

    def _match(self, scope: Scope, deep: int | None = None) -> str:
        mode = self.maybe(0.15, self.one(MODES) + " ")
        patterns = self.several(1, 2, lambda: self.path(scope))
        depth = self.deep if deep is None else deep
        where = self.perhaps(0.4, lambda: f" WHERE {self.expression(scope, depth, 'boolean')}")
        return f"MATCH {mode}{patterns}{where}"

    def _call(self, scope: Scope) -> str:
        seen = dict(scope) if self.chance(0.7) else {}
        head = self.one(("(*)", f"({', '.join(seen)})")) if seen else "()"
        inner, name = dict(seen), self.fresh()
        body = self._clauses(inner, 1)
        scope[name] = "any"
        return f"CALL {head} {{ {body} RETURN {self.expression(inner, 1)} AS {name} }}"

    def _procedure(self, scope: Scope) -> str:
        """CALL of one of gdb's own, or of the one that `people.PAIR` registers."""
        given = f"{self.expression(scope, 1)}, {self.expression(scope, 1, 'number')}"
        own = (("db.labels()", ("label",)), ("dbms.components()", ("name", "versions")))
        called, outputs = self.random.choice((*own, (f"fuzz.pair({given})", ("first", "second"))))
        names = {output: self.fresh() for output in outputs}
        scope.update(dict.fromkeys(names.values(), "any"))
        items = ", ".join(f"{output} AS {name}" for output, name in names.items())
        where = self.perhaps(0.3, lambda: f" WHERE {self.expression(scope, 1, 'boolean')}")
        return f"CALL {called} YIELD {items}{where}"

    def _with(self, scope: Scope) -> str:
        if self.chance(0.3):
            return "*" + self._tail(scope)
        before, items = dict(scope), []
        scope.clear()
        for name, kind in before.items():
            if self.chance(0.6):
                scope[name] = kind
                items.append(name)
        for _ in range(self.random.randint(0 if items else 1, 2)):
            name, kind = self.fresh(), self.one((*_SCALARS, "list", "map", "any"))
            made = self.aggregate(before) if self.chance(0.3) else ""
            items.append(f"{made or self.expression(before, 2, kind)} AS {name}")
            scope[name] = "any" if made else kind
        return self.maybe(0.2, "DISTINCT ") + ", ".join(items) + self._tail(scope)

    def _tail(self, scope: Scope) -> str:
        text = self._order(scope)
        return text + self.perhaps(0.3, lambda: f" WHERE {self.expression(scope, 2, 'boolean')}")

    def _order(self, scope: Scope) -> str:
        by = self.several(
            1,
            2,
            lambda: (
                self.expression(scope, 1)
                + self.one(("", " DESC", " ASC", " NULLS FIRST", " DESC NULLS LAST"))
            ),
        )
        numbers = ("0", "1", "3", "$n", "1 + 1")
        return (
            self.maybe(0.25, f" ORDER BY {by}")
            + self.maybe(0.1, f" {self.one(('SKIP', 'OFFSET'))} {self.one(numbers)}")
            + self.maybe(0.2, f" LIMIT {self.one(numbers)}")
        )

    def _returned(self, scope: Scope) -> str:
        if scope and self.chance(0.15):
            return "*" + self._order(scope)

        def item() -> str:
            text = self.aggregate(scope) if self.chance(0.3) else self.expression(scope, 3)
            return text + self.maybe(0.8, f" AS {self.fresh()}")

        return self.maybe(0.15, "DISTINCT ") + self.several(1, 3, item) + self._order(scope)

    # ---- writing ---------------------------------------------------------------------------------

    def _writing(self, scope: Scope) -> str:
        elements = self.of(scope, "node", "relationship")
        kind = self.one(("create", "merge", "set", "set", "remove", "delete", "foreach"))
        if kind == "create":
            return f"CREATE {self.several(1, 2, lambda: self._made(scope))}"
        if kind == "merge":
            text = f"MERGE {self._made(scope, merges=True)}"
            for on in ("CREATE", "MATCH"):
                text += self.perhaps(0.3, lambda on=on: f" ON {on} SET {self._set(scope)}")
            return text
        if kind == "set" and elements:
            return f"SET {self.several(1, 2, lambda: self._set(scope))}"
        if kind == "remove" and elements:
            element = self.one(elements)
            return f"REMOVE {element}{self.one(('.name', '.age', ':Person', ':City', '.nothing'))}"
        if kind == "delete" and elements:
            return f"{self.maybe(0.7, 'DETACH ')}DELETE {self.one(elements)}"
        name = self.fresh()
        inner = {**scope, name: "any"}
        of = self.expression(scope, 1, "list")
        return f"FOREACH ({name} IN {of} | {self._writing(inner) if elements else 'CREATE (:New)'})"

    def _made(self, scope: Scope, merges: bool = False) -> str:
        before = dict(scope)
        known = self.of(before, "node")
        map_ = "{name: 'New', age: " + self.expression(before, 0, "number") + "}"
        name = self.fresh()
        if known and self.chance(0.5):
            start = f"({self.one(known)})"
        else:
            scope[name] = "node"
            start = (
                f"({name}{self.maybe(0.7, ':' + self.one(LABELS))}{self.maybe(0.6, ' ' + map_)})"
            )
        if self.chance(0.5):
            return start if start != f"({name})" or not merges else f"({name}:City)"
        end = f"({self.one(known)})" if known and self.chance(0.5) else "(:New)"
        arrows = ("<-", "-"), ("-", "->"), *((("-", "-"),) if merges else ())
        left, right = self.random.choice(arrows)
        return f"{start}{left}[:{self.one(TYPES)}{self.maybe(0.3, ' {since: 1}')}]{right}{end}"

    def _set(self, scope: Scope) -> str:
        elements = self.of(scope, "node", "relationship") or ["nobody"]
        element = self.one(elements)
        value = self.expression(scope, 1, self.one((*_SCALARS, "list", "any")))
        return self.either(
            lambda: f"{element}.{self.one(KEYS)} = {value}",
            lambda: f"{element}:{self.one(LABELS)}",
            lambda: f"{element} += {self.expression(scope, 1, 'map')}",
            lambda: f"{element} = {self.expression(scope, 1, 'map')}",
        )

    # ---- patterns --------------------------------------------------------------------------------

    def path(self, scope: Scope, names: bool = True) -> str:
        """A pattern. names : it may bring new variables."""
        if self.chance(0.03):
            word = self.one(("shortestPath", "allShortestPaths"))
            middle = self.one(("-[*]-", "-[:KNOWS*..3]->", "<-[*1..2]-"))
            return f"{word}({self._node(scope, names)}{middle}{self._node(scope, names)})"
        relationships = self.random.choice((0, 1, 1, 1, 2, 2, 3))
        name = self.fresh() if names and self.chance(0.15) else ""
        head = self.maybe(0.03, self.one(_SELECTORS))
        head += self.maybe(0.05, self.one(("WALK ", "TRAIL ", "ACYCLIC ", "TRAIL PATHS ")))
        walk = "WALK" in head
        text = self._node(scope, names)
        for _ in range(relationships):
            text += self._relationship(scope, names, walk) + self._node(scope, names)
        if name:
            scope[name] = "path"
            return f"{name} = {head}{text}"
        return head + text

    def _node(self, scope: Scope, names: bool) -> str:
        known = self.of(scope, "node")
        if known and self.chance(0.4):
            return f"({self.one(known)})"
        name = self.fresh() if names and self.chance(0.7) else ""
        plain = *(f":{x}" for x in LABELS), ":Person:Admin", ":A|B"
        label = self.maybe(0.4, self.one(cypher25.LABELS if self.chance(0.2) else plain))
        inside = self.maybe(
            0.1, self.one((" {name: 'Ada'}", " {age: $n}", " {ok: true, name: $name}"))
        )
        where = self.maybe(0.05, f" WHERE {name}.age > 1") if name else ""
        if name:
            scope[name] = "node"
        return f"({name}{label}{inside}{where})"

    def _relationship(self, scope: Scope, names: bool, walk: bool) -> str:
        left, right = self.random.choice((("-", "->"), ("-", "->"), ("<-", "-"), ("-", "-")))
        if self.chance(0.28):
            repeated = self.chance(0.1) and not walk
            return self.one(cypher25.REPEATED) if repeated else (left + right).replace("---", "--")
        long = self.maybe(0.15, self.one(("*1..2", "*0..1", "*2", "*..2") if walk else _LENGTHS))
        name = self.fresh() if names and self.chance(0.5) else ""
        plain = f":{self.several(1, 2, lambda: self.one(TYPES), '|')}"
        type_ = self.maybe(0.6, self.one(cypher25.TYPES) if self.chance(0.1) else plain)
        inside = self.maybe(0.1, " {since: 2001}")
        if name:
            scope[name] = "list" if long else "relationship"
        return f"{left}[{name}{type_}{long}{inside}]{right}"

    # ---- expressions -----------------------------------------------------------------------------

    def expression(self, scope: Scope, deep: int, kind: str = "") -> str:
        """An expression that is mostly of a kind."""
        kind = kind or self.one((*_SCALARS, "list", "map", "any", "time"))
        if self.chance(0.02):
            kind = self.one((*_SCALARS, "list", "map", "any", "null", "time"))
        names = self.of(scope, kind, "any")
        if names and self.chance(0.3):
            return self.one(names)
        if deep > 0 and self.chance(0.15):
            return self._anything(scope, deep - 1, kind)
        match kind:
            case "number":
                return self._number(scope, deep)
            case "string":
                return self._string(scope, deep)
            case "boolean":
                return self._boolean(scope, deep)
            case "list":
                return self._list(scope, deep)
            case "map":
                return self._map(scope, deep)
            case "time":
                return self._time(scope, deep)
            case "null":
                return self.one(("null", "$none"))
            case _:
                return self._any(scope, deep)

    def _property(self, scope: Scope, *keys: str) -> str:
        names = self.of(scope, "node", "relationship")
        return f"{self.one(names)}.{self.one(keys or KEYS)}" if names else "null"

    def _number(self, scope: Scope, deep: int) -> str:
        if deep <= 0 or self.chance(0.3):
            literals = ("0", "1", "-2", "3", "2.5", "1e3", "0x1F", "$n", *cypher25.NUMBERS)
            return self.one((*literals, self._property(scope, "age", "score", "since")))

        def inner(kind: str = "number") -> str:
            return self.expression(scope, deep - 1, kind)

        elements = self.of(scope, "node", "relationship")
        return self.either(
            lambda: f"{inner()} {self.one('+-*/%^')} {inner()}",
            lambda: f"({inner()} {self.one('+-*')} {inner()})",
            lambda: f"-({inner()})",
            lambda: f"+ {inner()}",
            lambda: f"size({inner('list')})",
            lambda: f"COUNT {{ {self._subquery(scope, deep - 1)} }}",
            lambda: f"abs({inner()})",
            lambda: f"id({self.one(elements)})" if elements else "1",
            lambda: f"reduce(t = 0, x IN {inner('list')} | t + {inner()})",
        )

    def _string(self, scope: Scope, deep: int) -> str:
        if deep <= 0 or self.chance(0.4):
            return self.one(
                ("'Ada'", '"b\\"c"', "''", "'Ç\\n'", "$name", self._property(scope, "name"))
            )
        inner = self.expression(scope, deep - 1, "string")
        return self.either(
            lambda: f"{inner} {self.one(('+', '||'))} {self.expression(scope, deep - 1)}",
            lambda: f"trim({self.one(('BOTH', 'LEADING'))} 'A' FROM {inner})",
            lambda: f"toUpper({inner})",
            lambda: f"substring({inner}, 1)",
            lambda: f"toString({self.expression(scope, deep - 1)})",
            lambda: f"replace({inner}, 'a', 'b')",
        )

    def _boolean(self, scope: Scope, deep: int) -> str:
        if deep <= 0:
            return self.one(("true", "false", "null", self._property(scope, "ok") + " IS NULL"))
        kind = self.one(_SCALARS)

        def inner(kind: str = kind) -> str:
            return self.expression(scope, deep - 1, kind)

        nodes = self.of(scope, "node")
        makers: list[Callable[[], str]] = [
            lambda: f"{inner()} {self.one(('=', '<>', '<', '<=', '>', '>='))} {inner()}",
            lambda: f"1 < {inner('number')} <= 9",
            lambda: f"({inner('boolean')} {self.one(('AND', 'OR', 'XOR'))} {inner('boolean')})",
            lambda: f"NOT {inner('boolean')}",
            lambda: f"{inner()} IN {inner('list')}",
            lambda: f"{inner()} IS {self.maybe(0.5, 'NOT ')}{self.one(cypher25.TESTS)}",
            lambda: f"{inner('string')} {self.one(_TESTS)} {self._string(scope, 0)}",
            lambda: self._quantified(scope, deep - 1),
            lambda: f"EXISTS {{ {self._subquery(scope, deep - 1)} }}",
        ]
        if nodes:
            makers += [
                lambda: f"{self.one(nodes)}:{self.one(LABELS)}",
                lambda: f"({self.one(nodes)})-->({self.one(('', self.one(nodes), ':City'))})",
                lambda: f"{self.one(nodes)} = {self.one(nodes)}",
            ]
        return self.either(*makers)

    def _quantified(self, scope: Scope, deep: int) -> str:
        word, of = self.one(("all", "any", "none", "single")), self.expression(scope, deep, "list")
        return f"{word}(x IN {of} WHERE {self.expression({**scope, 'x': 'any'}, deep, 'boolean')})"

    def _subquery(self, scope: Scope, deep: int) -> str:
        inner = dict(scope)
        if self.chance(0.5):
            return self.path(inner, names=False)
        return f"{self._match(inner, deep)}{self.maybe(0.5, ' RETURN 1 AS one')}"

    def _list(self, scope: Scope, deep: int) -> str:
        if deep <= 0 or self.chance(0.2):
            return self.one(("[]", "[1, 2, 3]", "['a', null]", "[[1], []]", "$list", "range(0, 3)"))

        def inner(kind: str = "list") -> str:
            return self.expression(scope, deep - 1, kind)

        return self.either(
            lambda: f"[{self.several(0, 3, lambda: inner(''))}]",
            lambda: self._comprehension(scope, deep - 1),
            lambda: f"{inner()} + {inner('')}",
            lambda: f"{inner()}[{self.one(('0..2', '1..', '..-1', '..'))}]",
            lambda: f"{self.one(('tail', 'reverse'))}({inner()})",
            lambda: f"[{self.path(dict(scope), names=False)} | {inner('')}]",
            lambda: f"COLLECT {{ {self._match(dict(scope), deep - 1)} RETURN 1 AS x }}",
            lambda: f"split({self._string(scope, 0)}, 'a')",
        )

    def _comprehension(self, scope: Scope, deep: int) -> str:
        of, inside = self.expression(scope, deep, "list"), {**scope, "x": "any"}
        where = self.perhaps(0.5, lambda: f" WHERE {self.expression(inside, deep, 'boolean')}")
        result = self.perhaps(0.7, lambda: f" | {self.expression(inside, deep)}")
        return f"[x IN {of}{where}{result}]"

    def _map(self, scope: Scope, deep: int) -> str:
        elements = self.of(scope, "node", "relationship", "map")
        if deep <= 0 or self.chance(0.3):
            return self.one(("{}", "{a: 1, name: 'x'}", "$map"))
        if elements and self.chance(0.5):
            return f"{self.one(elements)}{{{self.one(('.*', '.name, .age', '.*, x: 1'))}}}"
        value = self.expression(scope, deep - 1)
        return f"{{a: {value}, `odd key`: {self.expression(scope, deep - 1)}}}"

    def _time(self, scope: Scope, deep: int) -> str:
        literals = (
            *("date('2000-01-31')", "duration('P1M2DT3.5S')", "localtime('10:00')"),
            *("datetime('2000-01-01T00:00+01:00')", "localdatetime({year: 2001, month: 2})"),
            *(
                "time('10:00+02:00')",
                "date({year: 2000, week: 1})",
                "date()",
                "duration({days: 1})",
            ),
            self._property(scope, "born"),
        )
        if deep <= 0 or self.chance(0.5):
            return self.one(literals)
        left, right = self.one(literals), self.one(literals)
        part = self.one(("year", "month", "days", "epochSeconds"))
        return self.either(
            lambda: f"{left} {self.one('+-')} {right}",
            lambda: f"duration.between({left}, {right})",
            lambda: f"date.truncate('month', {left})",
            lambda: f"({left}).{part}",
            lambda: f"{left} * {self._number(scope, 0)}",
        )

    def _any(self, scope: Scope, deep: int) -> str:
        if scope and self.chance(0.5):
            return self.one(list(scope))
        if self.chance(0.4):
            return self._property(scope)
        return self.expression(
            scope, deep - 1, self.one((*_SCALARS, "list", "map", "time", "null"))
        )

    def _anything(self, scope: Scope, deep: int, kind: str) -> str:
        if self.chance(0.4):
            return self._case(scope, deep, kind)
        if self.chance(0.2):
            inner = self.expression(scope, deep, self.one(("list", "map", "string")))
            return f"{inner}[{self.one(('0', '-1', chr(39) + 'a' + chr(39), '$n', 'null'))}]"
        return self.function(scope, deep)

    def _case(self, scope: Scope, deep: int, kind: str) -> str:
        subject = self.perhaps(0.4, lambda: self.expression(scope, deep, "number") + " ")
        test = "number" if subject else "boolean"

        def branch() -> str:
            when = self.maybe(0.2 * bool(subject), "> ") + self.expression(scope, deep, test)
            return f"WHEN {when} THEN {self.expression(scope, deep, kind)}"

        branches = self.several(1, 2, branch, " ")
        last = self.perhaps(0.6, lambda: f" ELSE {self.expression(scope, deep, kind)}")
        return f"CASE {subject}{branches}{last} END"

    def function(self, scope: Scope, deep: int) -> str:
        """A call of any function, its arguments of any kinds."""
        one = self.random.choice([f for f in FUNCTIONS.values() if f.name not in _LARGE])
        least, most = one.signature.least, one.signature.most
        number = self.random.randint(least, least + 2 if most is None else most)
        elements = {"labels", "type", "id", "elementId", "startNode", "endNode", "properties"}
        named = self.of(scope, "node", "relationship")
        if one.name in elements and named and self.chance(0.8):
            return f"{one.name}({self.one(named)})"
        arguments = ", ".join(self.expression(scope, deep) for _ in range(number))
        return f"{one.name}({arguments})"

    def aggregate(self, scope: Scope) -> str:
        if self.chance(0.2):
            return "count(*)"
        one = self.random.choice(list(AGGREGATES.values()))
        kind = "" if one.name in ("count", "collect", "min", "max") else "number"
        value = self.maybe(0.2, "DISTINCT ") + self.expression(scope, 1, kind)
        return f"{one.name}({value}{', 0.5' if one.signature.least == 2 else ''})"


_SELECTORS = ("ANY SHORTEST ", "ALL SHORTEST ", "SHORTEST 2 ", "ANY ", "ALL ")
_LENGTHS = ("*", "*1..2", "*0..", "*2", "*..3", "*1..")
_TESTS = ("STARTS WITH", "ENDS WITH", "CONTAINS", "=~")
