"""Small statements and batches on one system.

`python -m benchmarks.peers.statements SYSTEM FOLDER NODES` prints JSON objects.

By cell: milliseconds of a statement (the median of some), rows a second of a batch, null where a system has none. A
line with what is known so far follows each cell.

Nodes P(id, name, x) with the ids 0..n-1 as their key, three times as many relationships KNOWS; commits are durable as
each system makes them by default (ArcadeDB and NeuG synced). Runs in the Python that has the system.
"""

from __future__ import annotations

import csv
import importlib
import itertools
import json
import random
import sqlite3
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

REPEATS = 25
Row = dict[str, int]
CELLS = (
    *("look-up by key", "look-up by name", "upsert", "set", "read, modify, write"),
    *("merge relationship", "detach delete", "upsert 10k", "upsert 100k"),
    *("create relationships 10k", "merge relationships 10k"),
)
ONE_ROW = CELLS[:7]
LOOK_UP = "MATCH (n:P {id: $i}) RETURN n.name"
BY_NAME = "MATCH (n:P {name: $name}) RETURN n.id"
UPSERT = "MERGE (n:P {id: $i}) SET n.x = $x"
ASSIGN = "MATCH (n:P {id: $i}) SET n.x = $x"
MODIFY = "MATCH (n:P {id: $i}) SET n.x = n.x + 1 RETURN n.x"
LINK = "MATCH (a:P {id: $i}), (b:P {id: $j}) MERGE (a)-[:KNOWS]->(b)"
DELETE = "MATCH (n:P {id: $i}) DETACH DELETE n"
UPSERTS = "UNWIND $rows AS r MERGE (n:P {id: r.i}) SET n.x = r.x"
CREATES = "UNWIND $rows AS r MATCH (a:P {id: r.i}), (b:P {id: r.j}) CREATE (a)-[:KNOWS]->(b)"
MERGES = "UNWIND $rows AS r MATCH (a:P {id: r.i}), (b:P {id: r.j}) MERGE (a)-[:KNOWS]->(b)"


class System(Protocol):
    """One of those compared: filled from CSV files of nodes and relationships, then queried."""

    def __init__(self, folder: Path, nodes: Path, edges: Path) -> None: ...
    def one(self, cell: str, row: Row) -> float | None:
        """Run a statement; the seconds that its commit took, None where that is not known."""

    def batch(self, cell: str, rows: Sequence[Row]) -> None: ...
    def read(self, text: str, given: dict[str, int]) -> list[tuple[Any, ...]]:
        """The rows of a query in Cypher, not of the SQL systems."""

    def count(self) -> tuple[int, int]:
        """Nodes and relationships."""

    def close(self) -> None: ...


class Unsupported(Exception):
    """A system has no such statement."""


_TEXTS = dict(zip(ONE_ROW, (LOOK_UP, BY_NAME, UPSERT, ASSIGN, MODIFY, LINK, DELETE), strict=True))
_NEEDS = {LOOK_UP: "i", UPSERT: "ix", ASSIGN: "ix", MODIFY: "i", LINK: "ij", DELETE: "i"}
_COUNTS = "MATCH (n:P) RETURN count(*)", "MATCH (:P)-[e:KNOWS]->(:P) RETURN count(*)"


def parameters(text: str, row: Row) -> dict[str, int | str]:
    """The parameters that a statement names: kuzu refuses others."""
    if text == BY_NAME:
        return {"name": f"n{row['i']}"}
    return {name: row[name] for name in _NEEDS[text]}


def batch_text(cell: str) -> str:
    """The statement of a batch."""
    return UPSERTS if cell.startswith("upsert") else CREATES if "create" in cell else MERGES


class Ours:
    def __init__(self, folder: Path, nodes: Path, edges: Path) -> None:
        import gdb

        self.db = gdb.connect(folder / "s.gdb")
        self.db.load(nodes={"P": nodes}, edges={"KNOWS": edges})

    def one(self, cell: str, row: Row) -> float | None:
        text = _TEXTS[cell]
        found = self.db.execute(text, parameters(text, row))
        if cell.startswith("look-up"):
            found.fetchall()
            return None
        return found.summary.seconds.get("commit", 0.0)

    def batch(self, cell: str, rows: Sequence[Row]) -> None:
        self.db.execute(batch_text(cell), {"rows": list(rows)})

    def read(self, text: str, given: dict[str, int]) -> list[tuple[Any, ...]]:
        return self.db.execute(text, given).fetchall()

    def count(self) -> tuple[int, int]:
        nodes, edges = (int(str(self.db.execute(text).scalar())) for text in _COUNTS)
        return nodes, edges

    def close(self) -> None:
        self.db.close()


class Kuzu:
    """Kuzu, and Ladybug, its successor with the same interface."""

    module = "kuzu"

    def __init__(self, folder: Path, nodes: Path, edges: Path) -> None:
        made: Any = importlib.import_module(self.module)
        self.db = made.Database(str(folder / "store"))
        self.connection = made.Connection(self.db)
        run = self.connection.execute
        run("CREATE NODE TABLE P(id INT64 PRIMARY KEY, name STRING, x INT64)")
        run("CREATE REL TABLE KNOWS(FROM P TO P)")
        run(f"COPY P FROM '{nodes.with_name('plain-nodes.csv')}' (header=true)")
        run(f"COPY KNOWS FROM '{edges.with_name('plain-edges.csv')}' (header=true)")

    def _all(self, text: str, given: dict[str, Any]) -> list[Any]:
        found = self.connection.execute(text, given)
        rows: list[Any] = found.get_all()
        return rows

    def one(self, cell: str, row: Row) -> float | None:
        text = _TEXTS[cell]
        self._all(text, parameters(text, row))
        return None

    def batch(self, cell: str, rows: Sequence[Row]) -> None:
        self._all(batch_text(cell), {"rows": list(rows)})

    def read(self, text: str, given: dict[str, int]) -> list[tuple[Any, ...]]:
        return self._all(text, given)

    def count(self) -> tuple[int, int]:
        nodes, edges = (int(self._all(text, {})[0][0]) for text in _COUNTS)
        return nodes, edges

    def close(self) -> None:
        self.connection.close()
        self.db.close()


class Ladybug(Kuzu):
    module = "ladybug"


class Neug:
    """NeuG has no list of maps as a parameter: a batch is single statements in one transaction."""

    def __init__(self, folder: Path, nodes: Path, edges: Path) -> None:
        made: Any = importlib.import_module("neug")
        self.db = made.Database(str(folder / "store"), mode="w")
        self.connection = self.db.connect()
        self._all("CREATE NODE TABLE P(id INT64, name STRING, x INT64, PRIMARY KEY(id))", {})
        self._all("CREATE REL TABLE KNOWS(FROM P TO P)", {})
        options = "(header=true, delim=',')"
        self._all(f"COPY P FROM '{nodes.with_name('plain-nodes.csv')}' {options}", {})
        self._all(f"COPY KNOWS FROM '{edges.with_name('plain-edges.csv')}' {options}", {})

    def _all(self, text: str, given: dict[str, Any]) -> list[Any]:
        return list(self.connection.execute(text, parameters=given or None))

    def one(self, cell: str, row: Row) -> float | None:
        text = _TEXTS[cell]
        self._all(text, parameters(text, row))
        return None

    def batch(self, cell: str, rows: Sequence[Row]) -> None:
        text = UPSERT if cell.startswith("upsert") else LINK
        if "create" in cell:
            text = LINK.replace("MERGE", "CREATE")
        self.connection.begin_transaction()
        try:
            for row in rows:
                names = "ix" if text == UPSERT else "ij"
                self._all(text, {name: row[name] for name in names})
        except BaseException:
            self.connection.rollback()
            raise
        self.connection.commit()

    def read(self, text: str, given: dict[str, int]) -> list[tuple[Any, ...]]:
        return self._all(text, given)

    def count(self) -> tuple[int, int]:
        nodes, edges = (int(self._all(text, {})[0][0]) for text in _COUNTS)
        return nodes, edges

    def close(self) -> None:
        self.connection.close()
        self.db.close()


class Arcade:
    """ArcadeDB embedded, its log synced at each commit."""

    def __init__(self, folder: Path, nodes: Path, edges: Path) -> None:
        made: Any = importlib.import_module("arcadedb_embedded")
        self.db = made.create_database(str(folder / "store"), jvm_kwargs={"heap_size": "4g"})
        for text in ("CREATE VERTEX TYPE P", "CREATE EDGE TYPE KNOWS"):
            self.db.command("sql", text)
        self.db.command("sql", "CREATE PROPERTY P.id LONG")
        self.db.command("sql", "CREATE INDEX ON P (id) UNIQUE")
        with nodes.with_name("plain-nodes.csv").open() as file:
            several = [
                {"id": int(one["id"]), "name": one["name"], "x": int(one["x"])}
                for one in csv.DictReader(file)
            ]
        with edges.with_name("plain-edges.csv").open() as file:
            ends = [(int(a), int(b)) for a, b in itertools.islice(csv.reader(file), 1, None)]
        with self.db.graph_batch() as batch:
            made_ids = batch.create_vertices("P", several)
            starts, stops = [made_ids[a] for a, _ in ends], [made_ids[b] for _, b in ends]
            batch.new_edges(starts, "KNOWS", stops)
        self.db.set_wal_flush("yes_full")

    def _run(self, text: str, given: dict[str, Any]) -> None:
        with self.db.transaction():
            self.db.command("opencypher", text, given)

    def one(self, cell: str, row: Row) -> float | None:
        text = _TEXTS[cell]
        if cell.startswith("look-up"):
            self.db.query("opencypher", text, parameters(text, row)).to_list()
        else:
            self._run(text, parameters(text, row))
        return None

    def batch(self, cell: str, rows: Sequence[Row]) -> None:
        self._run(batch_text(cell), {"rows": list(rows)})

    def read(self, text: str, given: dict[str, int]) -> list[tuple[Any, ...]]:
        found = self.db.query("opencypher", text, given).to_list()
        return [tuple(row.values()) for row in found]

    def count(self) -> tuple[int, int]:
        found = [self.db.query("opencypher", f"{text} AS n").to_list()[0] for text in _COUNTS]
        nodes, edges = (int(next(iter(one.values()))) for one in found)
        return nodes, edges

    def close(self) -> None:
        self.db.close()


class _Sql:
    """Two tables: p(id, name, x), its key the id, and k(a, b), with indexes on both columns."""

    execute: Callable[..., Any]
    many: Callable[..., Any]

    def read(self, text: str, given: dict[str, int]) -> list[tuple[Any, ...]]:
        raise Unsupported(text)

    def one(self, cell: str, row: Row) -> float | None:
        i, j, x = row["i"], row["j"], row["x"]
        match cell:
            case "look-up by key":
                self.execute("SELECT name FROM p WHERE id = ?", (i,)).fetchall()
            case "look-up by name":
                self.execute("SELECT id FROM p WHERE name = ?", (f"n{i}",)).fetchall()
            case "upsert":
                self.execute(_SQL_UPSERT, (i, x))
            case "set":
                self.execute("UPDATE p SET x = ? WHERE id = ?", (x, i))
            case "read, modify, write":
                self.execute("UPDATE p SET x = x + 1 WHERE id = ? RETURNING x", (i,)).fetchall()
            case "merge relationship":
                self.execute(_SQL_LINK, (i, j, i, j))
            case _:
                self.execute("BEGIN")
                self.execute("DELETE FROM k WHERE a = ?", (i,))
                self.execute("DELETE FROM k WHERE b = ?", (i,))
                self.execute("DELETE FROM p WHERE id = ?", (i,))
                self.execute("COMMIT")
        return None

    def batch(self, cell: str, rows: Sequence[Row]) -> None:
        self.execute("BEGIN")
        if cell.startswith("upsert"):
            self.many(_SQL_UPSERT, [(row["i"], row["x"]) for row in rows])
        elif "create" in cell:
            self.many("INSERT INTO k VALUES (?, ?)", [(row["i"], row["j"]) for row in rows])
        else:
            self.many(_SQL_LINK, [(row["i"], row["j"]) * 2 for row in rows])
        self.execute("COMMIT")

    def count(self) -> tuple[int, int]:
        texts = "SELECT count(*) FROM p", "SELECT count(*) FROM k"
        nodes, edges = (int(self.execute(text).fetchone()[0]) for text in texts)
        return nodes, edges


_SQL_UPSERT = "INSERT INTO p (id, x) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET x = excluded.x"
_SQL_LINK = "INSERT INTO k SELECT ?, ? WHERE NOT EXISTS (SELECT 1 FROM k WHERE a = ? AND b = ?)"


class Duck(_Sql):
    def __init__(self, folder: Path, nodes: Path, edges: Path) -> None:
        duckdb: Any = importlib.import_module("duckdb")
        self.db = duckdb.connect(str(folder / "s.duckdb"))
        self.execute, self.many = self.db.execute, self._joined
        self.execute("CREATE TABLE p (id BIGINT PRIMARY KEY, name VARCHAR, x BIGINT)")
        self.execute(f"INSERT INTO p FROM read_csv('{nodes.with_name('plain-nodes.csv')}')")
        self.execute("CREATE TABLE k (a BIGINT, b BIGINT)")
        self.execute(f"INSERT INTO k FROM read_csv('{edges.with_name('plain-edges.csv')}')")
        for column in "ab":
            self.execute(f"CREATE INDEX by_{column} ON k ({column})")

    def _joined(self, text: str, rows: Sequence[tuple[int, ...]]) -> None:
        """A batch as one statement over a table in memory, as DuckDB wants it."""
        np: Any = importlib.import_module("numpy")
        given = {f"c{k}": np.array(column) for k, column in enumerate(zip(*rows, strict=True))}
        self.execute("CREATE TEMP TABLE t AS SELECT * FROM given")
        del given
        if text == _SQL_UPSERT:
            self.execute(
                "INSERT INTO p (id, x) SELECT c0, max(c1) FROM t GROUP BY c0 "
                "ON CONFLICT (id) DO UPDATE SET x = excluded.x"
            )
        elif text == _SQL_LINK:
            self.execute(
                "INSERT INTO k SELECT DISTINCT c0, c1 FROM t "
                "WHERE NOT EXISTS (SELECT 1 FROM k WHERE a = c0 AND b = c1)"
            )
        else:
            self.execute("INSERT INTO k SELECT c0, c1 FROM t")
        self.execute("DROP TABLE t")

    def close(self) -> None:
        self.db.close()


class Lite(_Sql):
    def __init__(self, folder: Path, nodes: Path, edges: Path) -> None:
        self.db = sqlite3.connect(folder / "s.sqlite", isolation_level=None)
        self.execute, self.many = self.db.execute, self.db.executemany
        self.execute("PRAGMA journal_mode=WAL")
        self.execute("PRAGMA synchronous=FULL")
        self.execute("CREATE TABLE p (id INTEGER PRIMARY KEY, name TEXT, x INTEGER)")
        self.execute("CREATE TABLE k (a INTEGER, b INTEGER)")
        self.execute("BEGIN")
        for path, text in (
            (nodes.with_name("plain-nodes.csv"), "INSERT INTO p VALUES (?, ?, ?)"),
            (edges.with_name("plain-edges.csv"), "INSERT INTO k VALUES (?, ?)"),
        ):
            with path.open() as file:
                self.many(text, itertools.islice(csv.reader(file), 1, None))
        self.execute("COMMIT")
        for column in "ab":
            self.execute(f"CREATE INDEX by_{column} ON k ({column})")

    def close(self) -> None:
        self.db.close()


SYSTEMS: dict[str, type[System]] = {
    "gdb": Ours,
    "ladybug": Ladybug,
    "kuzu": Kuzu,
    "NeuG": Neug,
    "ArcadeDB": Arcade,
    "DuckDB": Duck,
    "SQLite": Lite,
}
MODULES = {
    "gdb": "gdb",
    "ladybug": "ladybug",
    "kuzu": "kuzu",
    "NeuG": "neug",
    "ArcadeDB": "arcadedb_embedded",
    "DuckDB": "duckdb",
    "SQLite": "sqlite3",
}


def data(folder: Path, nodes: int, each: int = 3) -> tuple[Path, Path]:
    """The files of nodes and relationships, so many for each node: with the headers of neo4j-admin, and beside them
    plain ones."""
    draw = random.Random(nodes)
    folder.mkdir(parents=True, exist_ok=True)
    paths = folder / "nodes.csv", folder / "edges.csv"
    headers = ("id:ID,name:string,x:int", "id,name,x"), (":START_ID,:END_ID", "a,b")
    lines = (
        [f"{k},n{k},{draw.randrange(1000)}" for k in range(nodes)],
        [f"{draw.randrange(nodes)},{draw.randrange(nodes)}" for _ in range(each * nodes)],
    )
    for path, (header, plain), body in zip(paths, headers, lines, strict=True):
        path.write_text("\n".join((header, *body, "")))
        path.with_name(f"plain-{path.name}").write_text("\n".join((plain, *body, "")))
    return paths


def measured(system: System, nodes: int) -> dict[str, list[float] | None]:
    """By cell: milliseconds and, where it is known, those without the commit; of a batch the rows a second. The last
    entry is the number of nodes and of relationships."""
    draw = random.Random(7)
    found: dict[str, list[float] | None] = {}
    for cell in ONE_ROW:
        rows = [
            {"i": draw.randrange(nodes), "j": draw.randrange(nodes), "x": draw.randrange(1000)}
            for _ in range(REPEATS + 5)
        ]
        if cell == "upsert":  # half of them are new
            rows = [{**row, "i": row["i"] + nodes * (k % 2)} for k, row in enumerate(rows)]
        if cell == "detach delete":
            rows = [{**row, "i": k} for k, row in enumerate(rows)]
        found[cell] = _one_by_one(system, cell, rows)
        print(json.dumps(found), flush=True)
    first = 2 * nodes
    for cell in CELLS[len(ONE_ROW) :]:
        count = 100_000 if cell.endswith("100k") else 10_000
        if cell.startswith("upsert"):
            ids = [
                *draw.choices(range(100, nodes), k=count // 2),
                *range(first, first + count // 2),
            ]
            first += count
        else:
            ids = draw.choices(range(100, nodes), k=count)
        rows = [{"i": i, "j": draw.randrange(100, nodes), "x": draw.randrange(1000)} for i in ids]
        begin = time.perf_counter()
        try:
            system.batch(cell, rows)
        except Exception as error:  # a peer lacks it: reported, and left out
            print(f"{cell}: {type(error).__name__}: {error}"[:300], file=sys.stderr)
            found[cell] = None
        else:
            found[cell] = [count / (time.perf_counter() - begin)]
        print(json.dumps(found), flush=True)
    found["counts"] = [*map(float, system.count())]
    return found


def _one_by_one(system: System, cell: str, rows: Sequence[Row]) -> list[float] | None:
    whole, own = [], []
    for row in rows:
        begin = time.perf_counter()
        try:
            commit = system.one(cell, row)
        except Exception as error:
            print(f"{cell}: {type(error).__name__}: {error}"[:300], file=sys.stderr)
            return None
        spent = time.perf_counter() - begin
        whole.append(spent * 1e3)
        if commit is not None:
            own.append((spent - commit) * 1e3)
    return [statistics.median(some[5:]) for some in (whole, own) if some]


def main(line: list[str]) -> None:
    """Measure one system."""
    name, folder, nodes = line[0], Path(line[1]), int(line[2])
    store = folder / name
    store.mkdir(parents=True)
    system = SYSTEMS[name](store, folder / "nodes.csv", folder / "edges.csv")
    found = measured(system, nodes)
    system.close()
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1:])
