"""The systems of the Labelled Subgraph Query Benchmark: each loads its folder of files, and counts its nine queries."""

from __future__ import annotations

import contextlib
import importlib
import json
import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

MESSAGES = ("Comment", "Post")  # both have the label Message as well
NUMBERS = range(1, 10)
FRIENDS = "MATCH (:Person)-[:KNOWS]->(:Person) RETURN count(*)"
MEMORY_GB = 4  # of DuckDB and Ladybug, and the heap of ArcadeDB

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
"""The queries over a table (s, t) for each file, and these views: `kind` distinguishes comments from posts."""
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
