"""Kinds of queries that want all memory and all time. Each function writes one, by chance."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

Make = Callable[[Random], str]


def _number(random: Random) -> int:
    return int(10 ** random.uniform(3, 8.5))


def _big(random: Random) -> str:
    """A string of up to some hundred megabytes, or more than there may be."""
    text = random.choice(["'ab'", "'a'", "'é'", "'😀x'"])
    return f"reduce(s = {text}, x IN range(1, {random.randrange(8, 30)}) | s + s)"


def _list(random: Random) -> str:
    n = _number(random)
    return random.choice(
        [
            f"range(1, {n})",
            f"[x IN range(1, {n}) | x]",
            f"[x IN range(1, {n}) | toString(x)]",
            f"[x IN range(1, {n}) WHERE x % 7 = 0 | [x, x]]",
            f"[x IN range(1, {n}) | {{a: x}}]",
            f"reduce(l = [1, 2], x IN range(1, {random.randrange(8, 40)}) | l + l)",
            f"reduce(l = [], x IN range(1, {n}) | l + x)",
            f"split({_big(random)}, '')",
        ]
    )


def regexes(random: Random) -> str:
    pattern = random.choice(
        [
            *(
                "(a+)+$",
                "(a|a)*b",
                "(a*)*b",
                "(a|b|ab)*c",
                "(.*)*x",
                "(a?){500}a{500}",
                "((a{1,30}){1,30})!",
            ),
            *(
                "(?:a|b)*a(?:a|b){400}",
                "[^b]*b.{900}c",
                r"(\\p{L}|\\d)+\\z",
                "(?i)(ab|aB)+x",
                "(x+x+)+y",
            ),
            *(
                "(?=a)a",
                r"(a)\\1",
                "(?<!b)a+",
                "a++b",
                "(((((a{99}){99}){99}){99}){99})",
                "[",
                "(a{1000}){1000}",
            ),
        ]
    )
    text = random.choice(["'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!'", _big(random)])
    return f"RETURN {text} =~ '{pattern}' AS x"


def ranges(random: Random) -> str:
    n = _number(random)
    return random.choice(
        [
            f"UNWIND range(1, {n}) AS x RETURN x LIMIT 1",
            f"UNWIND range(1, {n}) AS x RETURN count(x) AS n",
            f"UNWIND range({n}, 1, -1) AS x WITH x WHERE x % 3 = 1 RETURN max(x) AS m",
            f"RETURN size(range(1, {n})) AS n",
            f"RETURN range(1, {n}) AS l",
            f"RETURN last(range(1, {n})) AS l",
            f"UNWIND range(1, {n}) AS x RETURN x",
            f"RETURN {n} IN range(1, {n}) AS x",
            "RETURN size(range(-9223372036854775808, 9223372036854775807)) AS n",
            f"RETURN range(1, {n}) = range(1, {n}) AS same",
        ]
    )


def nested(random: Random) -> str:
    many = [max(2, _number(random) // 1000) for _ in range(random.randrange(2, 5))]
    clauses = " ".join(f"UNWIND range(1, {n}) AS x{k}" for k, n in enumerate(many))
    result = random.choice(
        ["count({x: x0})", "collect(x0)", "count(*)", "sum(x1)", "collect([x0, x1])"]
    )
    return f"{clauses} RETURN {result} AS r"


def growing(random: Random) -> str:
    return f"RETURN size({random.choice([_big, _list])(random)}) AS n"


def doubling(random: Random) -> str:
    """A WITH after the other."""
    first = random.choice(["'ab'", "[1, 2]", "['x', null]"])
    more = random.choice(["v + v", "v + v + v"])
    clauses = " ".join(f"WITH {more} AS v" for _ in range(random.randrange(5, 40)))
    return f"WITH {first} AS v {clauses} RETURN size(v) AS n"


def replaces(random: Random) -> str:
    text = "'aaaaaaaaaa'"
    for _ in range(random.randrange(2, 14)):
        text = f"replace({text}, 'a', '{'a' * random.choice([2, 5, 10])}')"
    return f"RETURN size({text}) AS n"


def deep(random: Random) -> str:
    n = random.choice([50, 90, 110, 1000, 20_000])
    return random.choice(
        [
            f"RETURN {'(' * n}1{')' * n} AS x",
            f"RETURN {'[' * n}1{']' * n} AS x",
            f"RETURN {'abs(' * n}1{')' * n} AS x",
            f"RETURN size(reduce(l = [], x IN range(1, {n * 10}) | [l])) AS x",
            f"RETURN reduce(l = [], x IN range(1, {n * 10}) | [l]) AS x",
            f"WITH reduce(l = {{}}, x IN range(1, {n * 10}) | {{a: l}}) AS l RETURN l = l AS x",
            f"WITH reduce(l = [], x IN range(1, {n * 10}) | [l]) AS l RETURN DISTINCT l",
            f"WITH reduce(l = [], x IN range(1, {n * 10}) | [l]) AS l RETURN l ORDER BY l",
            f"RETURN {'NOT ' * n}true AS x",
            "RETURN " + "+".join(["1"] * n) + " AS x",
        ]
    )


def wide(random: Random) -> str:
    n = random.choice([1000, 9000, 100_000])
    return random.choice(
        [
            f"RETURN size([{', '.join(map(str, range(n)))}]) AS n",
            f"UNWIND [{', '.join(map(str, range(n)))}] AS x UNWIND range(1, 100000) AS y RETURN count({{x: x}}) AS n",
            f"RETURN {{{', '.join(f'k{k}: {k}' for k in range(n))}}} AS m",
            f"RETURN 5 IN [{', '.join(map(str, range(n)))}] AS x",
        ]
    )


def products(random: Random) -> str:
    names = "abcd"[: random.randrange(2, 5)]
    nodes = ", ".join(f"({name}:N)" for name in names)
    rest = random.choice(
        [
            "RETURN count({x: a.i}) AS n",
            "WHERE a.i * 3 + b.i = 77 RETURN a.i, b.i LIMIT 3",
            "RETURN a, b ORDER BY b.i LIMIT 5",
            "RETURN collect(a.i) AS l",
            "RETURN DISTINCT a.i + b.i AS s",
            "WITH a, b WHERE toString(a.i) = toString(b.i) + 'x' RETURN count(*) AS n",
            "WITH a.i % 10 AS k, collect(b) AS l RETURN k, size(l) AS n",
            "WITH a, b OPTIONAL MATCH (a)-[r]->(b) RETURN count(r) AS n",
        ]
    )
    return f"MATCH {nodes} {rest}"


def collects(random: Random) -> str:
    n = _number(random)
    value = random.choice(
        [
            "x",
            "toString(x)",
            "[x, x]",
            "{a: x, b: 'b'}",
            "x * 1.5",
            "date() + duration({days: x % 999})",
        ]
    )
    aggregate = random.choice(
        [
            "collect({})",
            "collect(DISTINCT {})",
            "size(collect({}))",
            "max({})",
            "count(DISTINCT {})",
        ]
    )
    return f"UNWIND range(1, {n}) AS x RETURN {aggregate.format(value)} AS r"


def orders(random: Random) -> str:
    n = _number(random)
    return random.choice(
        [
            f"UNWIND range(1, {n}) AS x RETURN x ORDER BY -x LIMIT 5",
            f"UNWIND range(1, {n}) AS x RETURN x ORDER BY toString(x)",
            f"UNWIND range(1, {n}) AS x WITH DISTINCT x % 1000000 AS y RETURN count(y) AS n",
            f"UNWIND range(1, {n}) AS x RETURN x % 1000003 AS k, collect(x) AS l",
            f"UNWIND range(1, {n}) AS x RETURN x UNION UNWIND range(1, {n}) AS x RETURN x",
            f"UNWIND range(1, {n}) AS x RETURN [x, toString(x), {{a: x}}] AS y ORDER BY y DESC SKIP 10",
        ]
    )


def numbers(random: Random) -> str:
    n = _number(random)
    function = random.choice(
        *(
            [
                "percentileCont(x, 0.5)",
                "percentileDisc(x, 0.9)",
                "stDev(x)",
                "avg(x / 3.0)",
                "sum(x * 0.1)",
                "sum(x)",
            ],
        )
    )
    return f"UNWIND range(1, {n}) AS x RETURN {function} AS r"


def paths(random: Random) -> str:
    low, high = random.choice([(1, 8), (1, 12), (3, 30), (1, "")])
    start = random.choice(["(a:N {i: 5})", "(a:N)"])
    return random.choice(
        [
            f"MATCH p = {start}-[:R*{low}..{high}]-(b) RETURN count(p) AS n",
            f"MATCH p = {start}-[:R*{low}..{high}]-(b) RETURN p",
            f"MATCH p = {start}-[:R*{low}..{high}]->(b) WITH p LIMIT 1000 RETURN collect(nodes(p)) AS l",
            f"MATCH {start}-[r:R*{low}..{high}]-(b) WHERE all(x IN r WHERE x.w > 5) RETURN count(*) AS n",
            f"MATCH {start} RETURN size([p = (a)-[:R*{low}..{high}]-() | length(p)]) AS n",
            "MATCH (a)--(b)--(c)--(d)--(e)--(f) RETURN count({a: a.i}) AS n",
            "MATCH (a)--(b)--(c)--(d)--(e)--(f) RETURN a, b, c, d, e, f",
            "MATCH (a:N) WITH a MATCH p = ALL SHORTEST (a)-[:R*]-(b:N) RETURN count(p) AS n",
        ]
    )


def calls(random: Random) -> str:
    n, m = _number(random), _number(random)
    return random.choice(
        [
            f"UNWIND range(1, {n}) AS x CALL (x) {{ UNWIND range(1, {m}) AS y RETURN sum(x + y) AS s }}"
            " RETURN max(s) AS m",
            f"UNWIND range(1, {n}) AS x CALL (x) {{ MATCH (a:N) WHERE a.i = x RETURN a LIMIT 1 }} RETURN count(a) AS n",
            f"UNWIND range(1, {n}) AS x RETURN count(COUNT {{ MATCH (a:N) WHERE a.i > x }}) AS n",
            f"UNWIND range(1, {n}) AS x WITH x WHERE EXISTS {{ MATCH (a:N {{i: x}}) }} RETURN count(x) AS n",
            f"MATCH (a:N) RETURN COLLECT {{ UNWIND range(1, {n}) AS x RETURN x + a.i }} AS l",
        ]
    )


def strings(random: Random) -> str:
    big = _big(random)
    call = random.choice(
        [
            *(
                "toUpper(s)",
                "toLower(s)",
                "reverse(s)",
                "trim(s)",
                "left(s, 100000)",
                "substring(s, 5)",
            ),
            *(
                "replace(s, 'a', 'bcd')",
                "split(s, 'a')",
                "split(s, '')",
                "normalize(s, 'NFKD')",
                "s + s",
            ),
            *(
                "s CONTAINS 'ba'",
                "s STARTS WITH s",
                "s = s + 'x'",
                "s < s + 'x'",
                "toInteger(s)",
                "toFloat(s)",
            ),
            *(
                "date(s)",
                "duration(s)",
                "toBoolean(s)",
                "size(s)",
                "s IN [s]",
                "{a: s}",
                "[s, s]",
                "s =~ '(ab)*'",
            ),
        ]
    )
    return f"WITH {big} AS s RETURN {call} AS x"


def marks(random: Random) -> str:
    """Combining characters, whose order costs more the more there are."""
    n = random.randrange(10, 24)
    form = random.choice(["NFC", "NFD", "NFKC", "NFKD"])
    return (
        f"RETURN size(normalize(reduce(s = 'a\\u0316\\u0300', x IN range(1, {n}) | s + substring(s, 1)),"
        f" '{form}')) AS n"
    )


def times(random: Random) -> str:
    n = _number(random)
    return random.choice(
        [
            "RETURN date({year: 999999999}) AS d",
            "RETURN datetime('9999-12-31T23:59:59Z') + duration({years: 9223372036854775807}) AS d",
            "RETURN duration({days: 1e300}) AS d",
            "RETURN duration.inSeconds(date('-9999-01-01'), date('9999-01-01')) AS d",
            f"UNWIND range(1, {n}) AS x RETURN max(date() + duration({{days: x % 10000}})) AS d",
            f"UNWIND range(1, {n}) AS x RETURN count(datetime({{epochSeconds: x}})) AS d",
            f"RETURN date('{'9' * random.choice([5, 50, 5000])}') AS d",
            f"RETURN datetime.truncate('millennium', datetime('{'0' * 4000}')) AS d",
        ]
    )


FILES: dict[str, str] = {
    "long.csv": "a" * (1 << 22) + "\n",
    "wide.csv": ",".join(["x"] * 200_000) + "\n" + ",".join(["y"] * 200_000) + "\n",
    "many.csv": "a,b\n" * 400_000,
    "quotes.csv": '"' + "a\n" * 200_000,
    "none.csv": "",
    "zero.csv": "a\0b\n",
}


def files(random: Random) -> str:
    name = random.choice([*FILES, "missing.csv", "/dev/zero", "/dev/stdin", "/proc/self/mem", "."])
    headers = random.choice(["WITH HEADERS ", ""])
    rest = random.choice(
        [
            "RETURN count(l) AS n",
            "RETURN collect(l) AS l",
            "UNWIND range(1, 1000) AS x RETURN count({x: l}) AS n",
        ]
    )
    return f"LOAD CSV {headers}FROM $folder + '{name}' AS l {rest}"


def writes(random: Random) -> str:
    """Each is refused or stopped, or changes nothing that stays: the store is thrown away."""
    n = _number(random) * 10
    return random.choice(
        [
            f"UNWIND range(1, {n}) AS x CREATE (:M {{x: x}}) WITH count(*) AS n UNWIND range(1, 50000000) AS y"
            " RETURN y",
            f"UNWIND range(1, {n}) AS x WITH collect(x) AS l CREATE (:M {{l: l}}) WITH l RETURN 1 / 0 AS x",
            f"MATCH (a:N) SET a.big = {_big(random)} WITH a RETURN 1 / 0 AS x",
            f"FOREACH (x IN range(1, {n}) | CREATE (:M)) WITH 1 AS y RETURN 1 / 0 AS x",
        ]
    )


KINDS: dict[str, Make] = {
    make.__name__: make
    for make in (
        *(
            regexes,
            ranges,
            nested,
            growing,
            doubling,
            replaces,
            deep,
            wide,
            products,
            collects,
            orders,
        ),
        *(numbers, paths, calls, strings, marks, times, files, writes),
    )
}
