"""The nine queries of the Labelled Subgraph Query Benchmark, beside DuckDB and Ladybug: counts and milliseconds.

    python benchmarks/lsqb.py [--graph lsqb-sf0.003] [--system gdb DuckDB ladybug] [--repeat 5] [--timeout 60] [--save]

Mhedhbi, Lissandrini, Kuiper, Waudby, Szarnyas: "LSQB: a large-scale subgraph query benchmark", GRADES-NDA 2021
(https://github.com/ldbc/lsqb). Graph and queries lie beside the repository (`../shared/data`); the SQL is ours. Each
system answers in a process of its own, over a graph that it has loaded before; "first" is the first time that a query
is asked, "again" the median of the times after it. Every count is compared with the known one. The exit code is 1 if
one differs or a query of ours is over the timeout, 2 if the graph is not here.
"""

from __future__ import annotations

import argparse
import importlib
import json
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import graphs
import results
from peers.report import figures

MESSAGES = ("Comment", "Post")  # both have the label Message as well
NUMBERS = range(1, 10)
CURE = "pip install ladybug"

SQL = {
    1: """SELECT count(*) FROM City_isPartOf_Country city
        JOIN Person_isLocatedIn_City person ON person.t = city.s
        JOIN Forum_hasMember_Person member ON member.t = person.s
        JOIN Forum_containerOf_Post post ON post.s = member.s
        JOIN Comment_replyOf_Post comment ON comment.t = post.t
        JOIN Comment_hasTag_Tag tag ON tag.s = comment.s
        JOIN Tag_hasType_TagClass class ON class.s = tag.t""",
    2: """SELECT count(*) FROM knows
        JOIN Comment_hasCreator_Person creator ON creator.t = knows.s
        JOIN Comment_replyOf_Post comment ON comment.s = creator.s
        JOIN Post_hasCreator_Person post ON post.s = comment.t AND post.t = knows.t""",
    3: """SELECT count(*) FROM knows ab
        JOIN knows bc ON bc.s = ab.t
        JOIN knows ca ON ca.s = bc.t AND ca.t = ab.s
        JOIN country a ON a.s = ab.s
        JOIN country b ON b.s = bc.s AND b.t = a.t
        JOIN country c ON c.s = ca.s AND c.t = a.t""",
    4: """SELECT count(*) FROM has_tag
        JOIN has_creator USING (kind, s)
        JOIN likes USING (kind, s)
        JOIN reply_of USING (kind, s)""",
    5: """SELECT count(*) FROM has_tag
        JOIN reply_of USING (kind, s)
        JOIN Comment_hasTag_Tag other ON other.s = reply_of.t
        WHERE has_tag.t <> other.t""",
    6: """SELECT count(*) FROM knows ab
        JOIN knows bc ON bc.s = ab.t
        JOIN Person_hasInterest_Tag tag ON tag.s = bc.t
        WHERE ab.s <> bc.t""",
    7: """SELECT count(*) FROM has_tag
        JOIN has_creator USING (kind, s)
        LEFT JOIN likes USING (kind, s)
        LEFT JOIN reply_of USING (kind, s)""",
    8: """SELECT count(*) FROM has_tag
        JOIN reply_of USING (kind, s)
        JOIN Comment_hasTag_Tag other ON other.s = reply_of.t
        WHERE has_tag.t <> other.t
          AND NOT EXISTS (FROM Comment_hasTag_Tag own WHERE own.s = reply_of.t AND own.t = has_tag.t)""",
    9: """SELECT count(*) FROM knows ab
        JOIN knows bc ON bc.s = ab.t
        JOIN Person_hasInterest_Tag tag ON tag.s = bc.t
        WHERE ab.s <> bc.t AND NOT EXISTS (FROM knows ac WHERE ac.s = ab.s AND ac.t = bc.t)""",
}
"""The queries over a table (s, t) for each file, and these views: `kind` tells comments and posts apart."""
_VIEWS = """
    CREATE VIEW knows AS FROM Person_knows_Person UNION ALL SELECT t, s FROM Person_knows_Person;
    CREATE VIEW country AS SELECT person.s, city.t FROM Person_isLocatedIn_City person
        JOIN City_isPartOf_Country city ON city.s = person.t;
    CREATE VIEW has_tag AS SELECT 'Comment' AS kind, * FROM Comment_hasTag_Tag
        UNION ALL SELECT 'Post', * FROM Post_hasTag_Tag;
    CREATE VIEW has_creator AS SELECT 'Comment' AS kind, * FROM Comment_hasCreator_Person
        UNION ALL SELECT 'Post', * FROM Post_hasCreator_Person;
    CREATE VIEW likes AS SELECT 'Comment' AS kind, t AS s, s AS t FROM Person_likes_Comment
        UNION ALL SELECT 'Post', t, s FROM Person_likes_Post;
    CREATE VIEW reply_of AS SELECT 'Comment' AS kind, t AS s, s AS t FROM Comment_replyOf_Comment
        UNION ALL SELECT 'Post', t, s FROM Comment_replyOf_Post;
"""


# ---- the graph -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Relation:
    """A file of relationships: the type, and the labels of both ends."""

    type: str
    start: str
    end: str
    file: Path


def relations(folder: Path) -> list[Relation]:
    """The files of relationships; Comment_hasTag_Tag.csv is of the type HAS_TAG."""
    found = []
    for path in sorted(folder.glob("*_*_*.csv")):
        start, name, end = path.stem.split("_")
        found.append(Relation(re.sub(r"([A-Z])", r"_\1", name).upper(), start, end, path))
    return found


def labels(folder: Path) -> dict[str, Path]:
    """The files of nodes by their label."""
    return {path.stem: path for path in sorted(folder.glob("*.csv")) if path.stem.isalpha()}


def queries(data: Path) -> dict[int, str]:
    """The nine, in Cypher."""
    folder = data / "lsqb-example" / "cypher"
    return {n: (folder / f"q{n}.cypher").read_text(encoding="utf-8").strip() for n in NUMBERS}


def counts(data: Path, graph: str) -> dict[int, int]:
    """What they count."""
    known = json.loads((data / "truth" / f"{graph}.json").read_text(encoding="utf-8"))
    return {n: known[f"q{n}"]["count"] for n in NUMBERS}


# ---- the systems ---------------------------------------------------------------------------------


class System(Protocol):
    """One of those compared. count : the answer of a query that is asked."""

    def load(self, folder: Path, store: Path) -> None: ...
    def count(self, number: int, cypher: str) -> int: ...


class Ours:
    def __init__(self, timeout: float | None = None) -> None:
        self.timeout = timeout

    def load(self, folder: Path, store: Path) -> None:
        import gdb

        self.db = gdb.connect(store)
        edges: dict[str, list[Path]] = {}
        for relation in relations(folder):
            edges.setdefault(relation.type, []).append(relation.file)
        self.db.load(nodes=labels(folder), edges=edges, delimiter="|")
        for label in MESSAGES:
            self.db.execute(f"MATCH (n:{label}) SET n:Message")

    def count(self, number: int, cypher: str) -> int:
        return int(str(self.db.execute(cypher, device="cpu", timeout=self.timeout).scalar()))


class Duck:
    def load(self, folder: Path, store: Path) -> None:
        import duckdb

        self.db = duckdb.connect(str(store))
        for relation in relations(folder):
            table, file = relation.file.stem, relation.file
            read = f"read_csv('{file}', delim = '|', header = true, names = ['s', 't'])"
            self.db.execute(f"CREATE TABLE {table} AS FROM {read}")
        self.db.execute(_VIEWS)

    def count(self, number: int, cypher: str) -> int:
        found = self.db.execute(SQL[number]).fetchone()
        return int(found[0]) if found else 0


class Ladybug:
    """It has one label for each node; a pattern names both kinds of messages."""

    def load(self, folder: Path, store: Path) -> None:
        module = importlib.import_module("ladybug")
        self.db = module.Connection(module.Database(str(store)))
        for label, file in labels(folder).items():
            self.db.execute(f"CREATE NODE TABLE {label}(id INT64 PRIMARY KEY)")
            self.db.execute(f"COPY {label} FROM '{file}' (header=true)")
        pairs: dict[str, list[Relation]] = {}
        for relation in relations(folder):
            pairs.setdefault(relation.type, []).append(relation)
        for name, several in pairs.items():
            ends = ", ".join(f"FROM {one.start} TO {one.end}" for one in several)
            self.db.execute(f"CREATE REL TABLE {name}({ends})")
            for one in several:
                between = f"from='{one.start}', to='{one.end}', " * (len(several) > 1)
                options = f"({between}header=true, delim='|')"
                self.db.execute(f"COPY {name} FROM '{one.file}' {options}")

    def count(self, number: int, cypher: str) -> int:
        text = cypher.replace(":Message", ":" + ":".join(MESSAGES))
        return int(self.db.execute(text).get_next()[0])


SYSTEMS: dict[str, Callable[[], System]] = {"gdb": Ours, "DuckDB": Duck, "ladybug": Ladybug}


# ---- measuring -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Asked:
    """One query of one system: its count, seconds of the first time and the median of later ones."""

    count: int
    first: float
    again: float


def measure(name: str, folder: Path, data: Path, repeat: int, timeout: float) -> dict[int, Asked]:
    """Load and ask all nine; called in a process of its own. A query that takes longer than the timeout is asked
    once."""
    system = Ours(timeout) if name == "gdb" else SYSTEMS[name]()
    found = {}
    with tempfile.TemporaryDirectory(prefix="gdb-lsqb-") as temporary:
        system.load(folder, Path(temporary) / "store")
        for number, text in queries(data).items():
            times: list[float] = []
            count = -1
            for _ in range(1 + repeat):
                begin = time.perf_counter()
                try:
                    count = system.count(number, text)
                except TimeoutError:
                    count = -1
                times.append(time.perf_counter() - begin)
                if sum(times) > timeout:
                    break
            found[number] = Asked(count, times[0], statistics.median(times[1:] or times))
    return found


def report(found: dict[str, dict[int, Asked]], known: dict[int, int]) -> str:
    """The table."""
    header = ["query", "count"]
    header += [f"{name}, {what} ms" for name in found for what in ("first", "again")]
    rows = []
    for number, count in known.items():
        cells: list[str] = [f"q{number}", f"{count:,}"]
        for answers in found.values():
            one = answers[number]
            if one.count == -1:
                cells += ["over the timeout", "-"]
            elif one.count != count:
                cells += [f"{one.count:,}, which is wrong", "-"]
            else:
                cells += [figures(1e3 * one.first), figures(1e3 * one.again)]
        rows.append(cells)
    return results.table(header, rows)


def main(line: list[str] | None = None) -> int:
    """Measure all, print."""
    parser = graphs.command_line(__doc__)
    parser.add_argument("--graph", default="lsqb-sf0.003", help="(default: lsqb-sf0.003)")
    parser.add_argument("--system", nargs="+", choices=SYSTEMS, default=list(SYSTEMS))
    parser.add_argument("--repeat", type=int, default=5, help="(default: 5)")
    parser.add_argument("--timeout", type=float, default=60.0, help="seconds (default: 60)")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    arguments = parser.parse_args(line)
    folder = arguments.data / arguments.graph
    if graphs.absent(folder):
        return 2
    if arguments.one:
        rest = arguments.data, arguments.repeat, arguments.timeout
        answers = measure(arguments.one, folder, *rest)
        print(json.dumps({n: [one.count, one.first, one.again] for n, one in answers.items()}))
        return 0
    known, found = counts(arguments.data, arguments.graph), {}
    for name in arguments.system:
        command = [sys.executable, __file__, "--one", name, "--graph", arguments.graph]
        command += ["--data", str(arguments.data), "--repeat", str(arguments.repeat)]
        command += ["--timeout", str(arguments.timeout)]
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        if ended.returncode:
            print(f"{name}: {(ended.stderr.strip().splitlines() or ['?'])[-1]} ({CURE})")
            continue
        told = json.loads(ended.stdout.splitlines()[-1])
        found[name] = {int(n): Asked(*one) for n, one in told.items()}
    if not found:
        return 2
    table = report(found, known)
    print(f"\n{arguments.graph}\n\n{table}")
    wrong = [
        n for one in found.values() for n, asked in one.items() if asked.count not in (known[n], -1)
    ]
    late = [n for n, asked in found.get("gdb", {}).items() if asked.count == -1]
    if arguments.save and not wrong:
        body = (
            f"The nine queries on {arguments.graph} (one of LDBC's small graphs), milliseconds: the first time that "
            f"a process asks, and the median of {arguments.repeat} times after it; left out over "
            f"{arguments.timeout:g} s. DuckDB has the nine in SQL over its tables of pairs.\n\n{table}"
        )
        results.save(f"LSQB: {arguments.graph}", body, "duckdb", "ladybug")
    return int(bool(wrong or late))


if __name__ == "__main__":
    sys.exit(main())
