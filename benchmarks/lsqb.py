"""The nine queries of the Labelled Subgraph Query Benchmark, beside other engines: counts and milliseconds.

    python benchmarks/lsqb.py [--graph lsqb-sf0.003] [--system gdb DuckDB ladybug NeuG ArcadeDB]
        [--repeat 5] [--timeout 60] [--save]
    python benchmarks/lsqb.py --generate 1000 [--seed 1] ...

Mhedhbi, Lissandrini, Kuiper, Waudby, Szarnyas: "LSQB: a large-scale subgraph query benchmark", GRADES-NDA 2021
(https://github.com/ldbc/lsqb). Graph and queries lie beside the repository (`../shared/data`); the SQL is ours.
`--generate` makes a graph instead (`lsqb_graph.py`): at a scale of 1000 several files have a million rows or more.

Each system answers in a process of its own, over a graph that it has loaded before; another query has been asked, which
counts the friendships, so that what a process does once is done. "first" is the first time that a query is asked,
"again" the median of the times after it. A query is stopped at the timeout; a process that ends, or
goes on for long after it, is reported as such. Every count is compared with the known one, those of a generated graph
with one another. The exit code is 1 if one differs or a query of ours has no answer, 2 if the graph is not here.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import graphs
import lsqb_graph
import results
from peers.report import figures

MESSAGES = ("Comment", "Post")  # both have the label Message as well
NUMBERS = range(1, 10)
FRIENDS = "MATCH (:Person)-[:KNOWS]->(:Person) RETURN count(*)"
MEMORY_GB = 4  # of DuckDB and Ladybug, and the heap of ArcadeDB
LOADING = 1200.0  # seconds that a graph may take
CURE = "pip install ladybug neug arcadedb-embedded"

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
    """One of those compared. friends : how many friendships it has loaded. count : the answer of a query; TimeoutError
    after `timeout` seconds."""

    def load(self, folder: Path, store: Path) -> None: ...
    def friends(self) -> int: ...
    def count(self, number: int, cypher: str, timeout: float) -> int: ...


class Ours:
    def load(self, folder: Path, store: Path) -> None:
        import gdb

        self.db = gdb.connect(store)
        edges: dict[str, list[Path]] = {}
        for relation in relations(folder):
            edges.setdefault(relation.type, []).append(relation.file)
        nodes = {
            f"{label}:Message" if label in MESSAGES else label: file
            for label, file in labels(folder).items()
        }
        self.db.load(nodes=nodes, edges=edges, delimiter="|")

    def friends(self) -> int:
        return int(str(self.db.execute(FRIENDS).scalar()))

    def count(self, number: int, cypher: str, timeout: float) -> int:
        return int(str(self.db.execute(cypher, device="cpu", timeout=timeout).scalar()))


class Duck:
    def load(self, folder: Path, store: Path) -> None:
        import duckdb

        self.db = duckdb.connect(str(store), config={"memory_limit": f"{MEMORY_GB}GB"})
        self.interrupted = duckdb.InterruptException
        for relation in relations(folder):
            table, file = relation.file.stem, relation.file
            read = f"read_csv('{file}', delim = '|', header = true, names = ['s', 't'])"
            self.db.execute(f"CREATE TABLE {table} AS FROM {read}")
        self.db.execute(_VIEWS)

    def friends(self) -> int:
        found = self.db.execute("SELECT count(*) FROM Person_knows_Person").fetchone()
        return int(found[0]) if found else 0

    def count(self, number: int, cypher: str, timeout: float) -> int:
        stop = threading.Timer(timeout, self.db.interrupt)
        stop.start()
        try:
            found = self.db.execute(SQL[number]).fetchone()
        except self.interrupted as error:
            raise TimeoutError from error
        finally:
            stop.cancel()
        return int(found[0]) if found else 0


class Ladybug:
    """It has one label for each node; a pattern names both kinds of messages."""

    def load(self, folder: Path, store: Path) -> None:
        module = importlib.import_module("ladybug")
        self.db = module.Connection(module.Database(str(store), buffer_pool_size=MEMORY_GB << 30))
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

    def friends(self) -> int:
        return int(self.db.execute(FRIENDS).get_next()[0])

    def count(self, number: int, cypher: str, timeout: float) -> int:
        text = cypher.replace(":Message", ":" + ":".join(MESSAGES))
        self.db.set_query_timeout(round(1e3 * timeout))
        try:
            return int(self.db.execute(text).get_next()[0])
        except RuntimeError as error:
            if "interrupt" in str(error).lower():
                raise TimeoutError from error
            raise


class Neug:
    """Its labels and tables are ladybug's; a query cannot be stopped, but ends with its process."""

    def load(self, folder: Path, store: Path) -> None:
        module = importlib.import_module("neug")
        self.db = module.Database(str(store), mode="w")  # it closes its connections when it goes
        self.connection = self.db.connect()
        for label, file in labels(folder).items():
            self._ask(f"CREATE NODE TABLE {label}(id INT64, PRIMARY KEY(id))")
            self._ask(f"COPY {label} FROM '{file}' (header=true, delim='|')")
        pairs: dict[str, list[Relation]] = {}
        for relation in relations(folder):
            pairs.setdefault(relation.type, []).append(relation)
        for name, several in pairs.items():
            ends = ", ".join(f"FROM {one.start} TO {one.end}" for one in several)
            self._ask(f"CREATE REL TABLE {name}({ends})")
            for one in several:
                options = f"(from='{one.start}', to='{one.end}', header=true, delim='|')"
                self._ask(f"COPY {name} FROM '{one.file}' {options}")

    def friends(self) -> int:
        return self._number(FRIENDS)

    def count(self, number: int, cypher: str, timeout: float) -> int:
        return self._number(cypher.replace(":Message", ":" + ":".join(MESSAGES)))

    def _ask(self, text: str) -> list[list[object]]:
        return list(self.connection.execute(text))

    def _number(self, text: str) -> int:
        return int(str(self._ask(text)[0][0]))


class Arcade:
    """ArcadeDB in this process, with an analytical view over everything; a query cannot be stopped, but ends with its
    process."""

    def load(self, folder: Path, store: Path) -> None:
        module = importlib.import_module("arcadedb_embedded")
        heap = {"heap_size": f"{MEMORY_GB}g"}
        files, edges = labels(folder.resolve()), relations(folder.resolve())
        with contextlib.chdir(store.parent):  # where its machine begins, it writes a log
            self.db = module.create_database(str(store), jvm_kwargs=heap)
        self._sql("CREATE VERTEX TYPE Message")
        for label in files:
            self._sql(f"CREATE VERTEX TYPE {label}{' EXTENDS Message' * (label in MESSAGES)}")
        types = list(dict.fromkeys(one.type for one in edges))
        for name in types:
            self._sql(f"CREATE EDGE TYPE {name}")
        found: dict[str, dict[int, object]] = {}
        with self.db.graph_batch() as batch:
            for label, file in files.items():
                ids = [key for (key,) in _integers(file)]
                made = batch.create_vertices(label, [{"cid": key} for key in ids])
                found[label] = dict(zip(ids, made, strict=True))
            for one in edges:
                pairs = _integers(one.file)
                starts = [found[one.start][start] for start, _ in pairs]
                batch.new_edges(starts, one.type, [found[one.end][end] for _, end in pairs])
        view = f"VERTEX TYPES ({', '.join(files)}) EDGE TYPES ({', '.join(types)})"
        self._sql(f"CREATE GRAPH ANALYTICAL VIEW everything {view} UPDATE MODE SYNCHRONOUS")
        asked = "SELECT FROM schema:graphAnalyticalViews"
        while self.db.query("sql", asked).to_list()[0]["status"] != "READY":
            time.sleep(0.005)

    def friends(self) -> int:
        return self._number(FRIENDS)

    def count(self, number: int, cypher: str, timeout: float) -> int:
        return self._number(cypher)

    def _sql(self, text: str) -> None:
        self.db.command("sql", text)

    def _number(self, text: str) -> int:
        (row,) = self.db.query("opencypher", text).to_list()
        return int(next(iter(row.values())))


def _integers(file: Path) -> list[tuple[int, ...]]:
    """The rows of a file of integers, without its header."""
    lines = file.read_text(encoding="utf-8").splitlines()[1:]
    return [tuple(map(int, line.split("|"))) for line in lines]


SYSTEMS: dict[str, Callable[[], System]] = {
    "gdb": Ours,
    "DuckDB": Duck,
    "ladybug": Ladybug,
    "NeuG": Neug,
    "ArcadeDB": Arcade,
}


# ---- measuring -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Asked:
    """One query of one system: its count, -1 where it has none; seconds of the first time and the median of later
    ones; why it has none."""

    count: int
    first: float
    again: float
    failed: str = ""


@dataclass(slots=True)
class Answers:
    """What one system's process said. ended : why it has not answered the others, "" where it has answered all."""

    load: float = 0.0
    friends: int = 0
    asked: dict[int, Asked] = field(default_factory=dict)
    ended: str = ""


def measure(name: str, folder: Path, data: Path, repeat: int, timeout: float) -> None:
    """Load and ask all nine, and print a line for each; called in a process of its own. A query that takes longer than
    the timeout is asked once."""
    system = SYSTEMS[name]()
    with tempfile.TemporaryDirectory(prefix="gdb-lsqb-") as temporary:
        begin = time.perf_counter()
        system.load(folder, Path(temporary) / "store")
        print(json.dumps([0, time.perf_counter() - begin, system.friends()]), flush=True)
        for number, text in queries(data).items():
            times: list[float] = []
            count, failed = -1, ""
            for _ in range(1 + repeat):
                begin = time.perf_counter()
                try:
                    count = system.count(number, text, timeout)
                except TimeoutError:
                    count, failed = -1, "over the timeout"
                except (
                    Exception
                ) as error:  # the other queries go on: each system has errors of its own
                    count, failed = -1, str(error).splitlines()[0].partition(":")[0][:40]
                times.append(time.perf_counter() - begin)
                if count == -1 or sum(times) > timeout:
                    break
            asked = number, count, times[0], statistics.median(times[1:] or times), failed
            print(json.dumps(asked), flush=True)


def answered(name: str, folder: Path, arguments: argparse.Namespace) -> Answers:
    """What the process of one system says, until it ends or goes on for long."""
    command = [sys.executable, __file__, "--one", name, "--folder", str(folder)]
    command += ["--data", str(arguments.data), "--repeat", str(arguments.repeat)]
    command += ["--timeout", str(arguments.timeout)]
    longest, found = LOADING + 3 * len(NUMBERS) * arguments.timeout, Answers()
    try:
        ended = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=longest
        )
        output, errors = ended.stdout, ended.stderr.strip().splitlines()
        if ended.returncode:
            found.ended = f"ended with {ended.returncode}: {(errors or ['?'])[-1]}"
    except subprocess.TimeoutExpired as late:
        output, found.ended = (late.stdout or b"").decode(), "does not end"
    for number, *rest in map(json.loads, output.splitlines()):
        if number:
            found.asked[number] = Asked(*rest)
        else:
            found.load, found.friends = rest
    return found


def agreed(found: dict[str, Answers]) -> dict[int, int]:
    """The count of each query that more systems give than any other, of as many the first; -1 where none gives any."""
    known = {}
    for number in NUMBERS:
        given = [
            one.asked[number].count
            for one in found.values()
            if number in one.asked and one.asked[number].count != -1
        ]
        known[number] = max(given, key=given.count, default=-1)
    return known


def report(found: dict[str, Answers], known: dict[int, int]) -> str:
    """The table."""
    header = ["query", "count"]
    header += [f"{name}, {what} ms" for name in found for what in ("first", "again")]
    rows = []
    for number, count in known.items():
        cells: list[str] = [f"q{number}", f"{count:,}" if count != -1 else "?"]
        for answers in found.values():
            one = answers.asked.get(number)
            if one is None:
                cells += [answers.ended, "-"]
            elif one.count == -1:
                cells += [one.failed, "-"]
            elif one.count != count:
                cells += [f"{one.count:,}, which is wrong", "-"]
            else:
                cells += [figures(1e3 * one.first), figures(1e3 * one.again)]
        rows.append(cells)
    return results.table(header, rows)


def wrong(found: dict[str, Answers], known: dict[int, int]) -> list[str]:
    """The systems with a count that differs, or that have loaded something else."""
    friends = {one.friends for one in found.values()}
    return [
        name
        for name, one in found.items()
        if len(friends) > 1
        or any(asked.count not in (known[n], -1) for n, asked in one.asked.items())
    ]


def arguments_of(line: list[str] | None) -> argparse.Namespace:
    parser = graphs.command_line(__doc__)
    parser.add_argument("--graph", default="lsqb-sf0.003", help="(default: lsqb-sf0.003)")
    parser.add_argument("--generate", type=float, metavar="SCALE", help="a graph of so many times")
    parser.add_argument("--seed", type=int, default=1, help="of a generated graph (default: 1)")
    parser.add_argument("--system", nargs="+", choices=SYSTEMS, default=list(SYSTEMS))
    parser.add_argument("--repeat", type=int, default=5, help="(default: 5)")
    parser.add_argument("--timeout", type=float, default=60.0, help="seconds (default: 60)")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    return parser.parse_args(line)


def main(line: list[str] | None = None) -> int:
    """Measure all, print."""
    arguments = arguments_of(line)
    if arguments.one:
        rest = arguments.data, arguments.repeat, arguments.timeout
        measure(arguments.one, arguments.folder, *rest)
        return 0
    folder = arguments.data / arguments.graph
    if graphs.absent(arguments.data / "lsqb-example" if arguments.generate else folder):
        return 2
    with tempfile.TemporaryDirectory(prefix="gdb-lsqb-") as temporary:
        title, what = arguments.graph, f"{arguments.graph} (one of LDBC's small graphs)"
        if arguments.generate:
            folder = Path(temporary)
            size = lsqb_graph.generate(folder, arguments.generate, arguments.seed)
            title = "a generated graph"
            what = f"a graph of {size:,} relationships (--generate {arguments.generate:g})"
        found = {name: answered(name, folder, arguments) for name in arguments.system}
    for name, one in found.items():
        if one.ended:
            print(f"{name}: {one.ended} ({CURE})")
    found = {name: one for name, one in found.items() if one.load}
    if not found:
        return 2
    known = agreed(found) if arguments.generate else counts(arguments.data, arguments.graph)
    table, different = report(found, known), wrong(found, known)
    loads = ", ".join(f"{name} {figures(one.load)}" for name, one in found.items())
    print(f"\n{what}; seconds to load: {loads}\n\n{table}")
    late = "gdb" in found and any(
        found["gdb"].asked.get(n, Asked(-1, 0, 0)).count == -1 for n in NUMBERS
    )
    if arguments.save and not different:
        body = (
            f"The nine queries on {what}, milliseconds: the first time that a process asks it, and the median "
            f"of {arguments.repeat} times after it; another query was asked before; a "
            f"query was stopped after {arguments.timeout:g} s. DuckDB has the "
            f"nine in SQL over its tables of pairs, and {MEMORY_GB} GB of memory, as ladybug. Seconds to load: "
            f"{loads}.\n\n{table}"
        )
        results.save(f"LSQB: {title}", body, "duckdb", "ladybug", "neug", "arcadedb-embedded")
    return int(bool(different or late))


if __name__ == "__main__":
    sys.exit(main())
