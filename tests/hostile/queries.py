"""Queries that want all memory and all time, each under a budget: an answer or a clear error, soon, in little memory.

python -m tests.hostile.queries --number 1000: prints a table of the kinds of queries, and every one that failed. The
program's limits are those of the issue: 256 MB and 2 s asked for, 512 MB more than at the start and 3 s taken.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import gdb
from gdb import Database, by_chain
from gdb.errors import GdbError, InternalError

NODES = 3000
MEMORY, TIMEOUT = 256 << 20, 2.0
MOST_SECONDS, MOST_BYTES = 3.0, 512 << 20
WAYS = ("chosen", "rows", "matched")
"""As the library chooses; over rows; behind a MATCH over the graph, so that columns are chosen where they can be."""

Make = Callable[[random.Random], str]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a query. outcome : "answer", or the name of the error. bytes : more than before it began."""

    kind: str
    way: str
    text: str
    outcome: str
    seconds: float
    bytes: int
    fault: str = ""


def graph() -> Database:
    """3,000 nodes, 6,000 relationships; and files to read."""
    db = gdb.connect()
    db.execute(f"UNWIND range(1, {NODES}) AS i CREATE (:N {{i: i, name: 'name ' + i}})")
    for end in (f"(a.i * 7) % {NODES} + 1", f"(a.i * 13 + 5) % {NODES} + 1"):
        db.execute(f"MATCH (a:N), (b:N) WHERE b.i = {end} CREATE (a)-[:R {{w: a.i}}]->(b)")
    return db


# ---- queries ---------------------------------------------------------------------------------------


def _number(random: random.Random) -> int:
    return int(10 ** random.uniform(3, 8.5))


def _big(random: random.Random) -> str:
    """A string of up to some hundred megabytes, or more than there may be."""
    text = random.choice(["'ab'", "'a'", "'é'", "'😀x'"])
    return f"reduce(s = {text}, x IN range(1, {random.randrange(8, 30)}) | s + s)"


def _list(random: random.Random) -> str:
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


def regexes(random: random.Random) -> str:
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


def ranges(random: random.Random) -> str:
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


def nested(random: random.Random) -> str:
    many = [max(2, _number(random) // 1000) for _ in range(random.randrange(2, 5))]
    clauses = " ".join(f"UNWIND range(1, {n}) AS x{k}" for k, n in enumerate(many))
    result = random.choice(
        ["count({x: x0})", "collect(x0)", "count(*)", "sum(x1)", "collect([x0, x1])"]
    )
    return f"{clauses} RETURN {result} AS r"


def growing(random: random.Random) -> str:
    return f"RETURN size({random.choice([_big, _list])(random)}) AS n"


def doubling(random: random.Random) -> str:
    """A WITH after the other."""
    first = random.choice(["'ab'", "[1, 2]", "['x', null]"])
    more = random.choice(["v + v", "v + v + v"])
    clauses = " ".join(f"WITH {more} AS v" for _ in range(random.randrange(5, 40)))
    return f"WITH {first} AS v {clauses} RETURN size(v) AS n"


def replaces(random: random.Random) -> str:
    text = "'aaaaaaaaaa'"
    for _ in range(random.randrange(2, 14)):
        text = f"replace({text}, 'a', '{'a' * random.choice([2, 5, 10])}')"
    return f"RETURN size({text}) AS n"


def deep(random: random.Random) -> str:
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


def wide(random: random.Random) -> str:
    n = random.choice([1000, 9000, 100_000])
    return random.choice(
        [
            f"RETURN size([{', '.join(map(str, range(n)))}]) AS n",
            f"UNWIND [{', '.join(map(str, range(n)))}] AS x UNWIND range(1, 100000) AS y RETURN count({{x: x}}) AS n",
            f"RETURN {{{', '.join(f'k{k}: {k}' for k in range(n))}}} AS m",
            f"RETURN 5 IN [{', '.join(map(str, range(n)))}] AS x",
        ]
    )


def products(random: random.Random) -> str:
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


def collects(random: random.Random) -> str:
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


def orders(random: random.Random) -> str:
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


def numbers(random: random.Random) -> str:
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


def paths(random: random.Random) -> str:
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


def calls(random: random.Random) -> str:
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


def strings(random: random.Random) -> str:
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


def marks(random: random.Random) -> str:
    """Combining characters, whose order costs more the more there are."""
    n = random.randrange(10, 24)
    form = random.choice(["NFC", "NFD", "NFKC", "NFKD"])
    return (
        f"RETURN size(normalize(reduce(s = 'a\\u0316\\u0300', x IN range(1, {n}) | s + substring(s, 1)),"
        f" '{form}')) AS n"
    )


def times(random: random.Random) -> str:
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


def files(random: random.Random) -> str:
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


def writes(random: random.Random) -> str:
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


# ---- running them ----------------------------------------------------------------------------------


def resident() -> int:
    """Bytes that the process has in memory at most since `forget`."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.partition("VmHWM:")[2].split()[0]) << 10


def forget() -> None:
    """Let `resident` begin anew."""
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def prefixed(text: str) -> str:
    """The query behind a MATCH over the graph."""
    return (
        text
        if text.startswith("MATCH")
        else f"MATCH (n0:N) WHERE n0.i <= 2 WITH count(n0) AS n0 {text}"
    )


def outcomes(
    db: Database, folder: Path, seeds: range, timeout: float = TIMEOUT, memory: int = MEMORY
) -> Iterator[Outcome]:
    """What became of each query."""
    for name, content in FILES.items():
        (folder / name).write_text(content, encoding="utf-8")
    names = [*KINDS]
    for seed in seeds:
        chance = random.Random(seed)
        kind = names[seed % len(names)]
        way = WAYS[seed // len(names) % len(WAYS)]
        text = KINDS[kind](chance)
        if way == "matched" and " UNION " not in text:
            text = prefixed(text)
        yield _run(db, kind, way, text, f"{folder}/", timeout, memory)


def _run(
    db: Database, kind: str, way: str, text: str, folder: str, timeout: float, memory: int
) -> Outcome:
    before = by_chain.SMALL, by_chain.answered
    if way == "rows":
        by_chain.answered = lambda *_: "asked for"  # type: ignore[assignment]
    forget()
    begun, at, fault = resident(), time.monotonic(), ""
    try:
        db.execute(text, {"folder": folder}, timeout=timeout, memory=memory)
        outcome = "answer"
    except InternalError as error:
        outcome, fault = "InternalError", str(error)[:200]
    except GdbError as error:
        outcome = type(error).__name__
        if outcome == "QueryTimeout" and f"of {timeout:g} s" not in str(error):
            fault = f"another timeout: {error}"
        if not error.cure and outcome in ("OutOfBudget", "LimitExceeded", "QueryTimeout"):
            fault = f"no cure: {error}"
    except Exception as error:
        outcome, fault = type(error).__name__, str(error)[:200]
    finally:
        by_chain.SMALL, by_chain.answered = before
    seconds, size = time.monotonic() - at, resident() - begun
    return Outcome(kind, way, text, outcome, seconds, size, fault)


def judged(found: Outcome, seconds: float = MOST_SECONDS, size: int = MOST_BYTES) -> str:
    """What is wrong with an outcome; empty where nothing is."""
    wrong = [found.fault] if found.fault else []
    if found.seconds > seconds:
        wrong.append(f"{found.seconds:.1f} s")
    if found.bytes > size:
        wrong.append(f"{found.bytes >> 20:,} MB")
    return ", ".join(wrong)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--number", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0, help="the seed of the first one")
    given = parser.parse_args()
    seen: dict[str, list[Outcome]] = {}
    failed = 0
    with graph() as db, tempfile.TemporaryDirectory() as folder:
        for found in outcomes(db, Path(folder), range(given.first, given.first + given.number)):
            seen.setdefault(found.kind, []).append(found)
            if wrong := judged(found):
                failed += 1
                print(f"{found.kind} ({found.way}): {wrong}\n    {found.text[:300]}", flush=True)
    print(f"{'kind':<12}{'number':>7}{'seconds':>9}{'MB':>6}  outcomes")
    for kind, several in seen.items():
        counts = Counter(one.outcome for one in several)
        told = ", ".join(f"{name} {n}" for name, n in counts.most_common())
        slowest, largest = max(o.seconds for o in several), max(o.bytes for o in several) >> 20
        print(f"{kind:<12}{len(several):>7}{slowest:>9.2f}{largest:>6}  {told}")
    print(f"{given.number} queries, {failed} failed")
    raise SystemExit(failed > 0)


if __name__ == "__main__":
    main()
