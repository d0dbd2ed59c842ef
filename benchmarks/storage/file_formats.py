"""Graphs of other programs into a store, by one command of the shell each.

    python -m benchmarks.storage.file_formats [--nodes 60000] [--edges 300000] [--megabytes 3.6] [--save]

LDBC's files of nodes and of relationships between labels (lsqb-example and lsqb-sf0.003, where ../shared/data has
them), a folder as Kuzu's `EXPORT DATABASE` writes it, one graph of people who know each other as GraphML, GEXF, GML and
lines of JSON as neo4j's `apoc.export.json` writes them, and scripts of Cypher written in three ways
(`write_scripts.py`). Every row is a process of its own, with the start of Python and of the library: its processor
seconds, seconds by the clock, and the most memory that it had. The exit code is 1 if a store does not hold what its
files do.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import gdb
from benchmarks.language import write_scripts
from benchmarks.report import page
from benchmarks.report.section import Report
from benchmarks.report.table import Cell, Column, Table

REPOSITORY = Path(__file__).resolve().parents[2]
SHARED = REPOSITORY.parent / "shared" / "data"
SEED = 22
Edge = tuple[int, int, float]


@dataclass(frozen=True, slots=True)
class Case:
    """What one command loads. words : of the command behind `gdbsh load STORE`. held : the numbers of nodes
    and relationships that the store has then."""

    name: str
    files: tuple[Path, ...]
    words: tuple[str, ...]
    held: tuple[int, int]


# ---- files ---------------------------------------------------------------------------------------------


def graph(nodes: int, edges: int) -> Iterator[Edge]:
    """Relationships, the same ones each time: both ends, and a number."""
    rng = random.Random(SEED)
    for _ in range(edges):
        yield rng.randrange(nodes), rng.randrange(nodes), rng.random()


def graphml(nodes: int, edges: int) -> Iterator[str]:
    yield '<?xml version="1.0" encoding="UTF-8"?>\n<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n'
    yield '<key id="d0" for="node" attr.name="age" attr.type="long"/>\n'
    yield '<key id="d1" for="edge" attr.name="w" attr.type="double"/>\n<graph edgedefault="directed">\n'
    for k in range(nodes):
        yield f'<node id="{k}"><data key="d0">{k % 90}</data></node>\n'
    for a, b, w in graph(nodes, edges):
        yield f'<edge source="{a}" target="{b}"><data key="d1">{w}</data></edge>\n'
    yield "</graph>\n</graphml>\n"


def gexf(nodes: int, edges: int) -> Iterator[str]:
    yield '<?xml version="1.0" encoding="UTF-8"?>\n<gexf xmlns="http://gexf.net/1.3" version="1.3">\n'
    yield '<graph defaultedgetype="directed">\n<attributes class="node">'
    yield '<attribute id="0" title="age" type="long"/></attributes>\n<nodes>\n'
    for k in range(nodes):
        yield f'<node id="{k}"><attvalues><attvalue for="0" value="{k % 90}"/></attvalues></node>\n'
    yield "</nodes>\n<edges>\n"
    for number, (a, b, w) in enumerate(graph(nodes, edges)):
        yield f'<edge id="{number}" source="{a}" target="{b}" weight="{w}"/>\n'
    yield "</edges>\n</graph>\n</gexf>\n"


def gml(nodes: int, edges: int) -> Iterator[str]:
    yield "graph [\n  directed 1\n"
    for k in range(nodes):
        yield f"  node [\n    id {k}\n    age {k % 90}\n  ]\n"
    for a, b, w in graph(nodes, edges):
        yield f"  edge [\n    source {a}\n    target {b}\n    w {w:.12f}\n  ]\n"
    yield "]\n"


def json_lines(nodes: int, edges: int) -> Iterator[str]:
    for k in range(nodes):
        node = {"type": "node", "id": str(k), "labels": ["Person"], "properties": {"age": k % 90}}
        yield json.dumps(node) + "\n"
    for number, (a, b, w) in enumerate(graph(nodes, edges)):
        ends = {
            "start": {"id": str(a), "labels": ["Person"]},
            "end": {"id": str(b), "labels": ["Person"]},
        }
        edge = {"id": str(number), "type": "relationship", "label": "KNOWS", "properties": {"w": w}}
        yield json.dumps({**edge, **ends}) + "\n"


DOCUMENTS: dict[str, Callable[[int, int], Iterator[str]]] = {
    "graph.graphml": graphml,
    "graph.gexf": gexf,
    "graph.gml": gml,
    "graph.jsonl": json_lines,
}


def kuzu_folder(folder: Path, nodes: int, edges: int) -> None:
    """The graph as Kuzu 0.11 exports it."""
    folder.mkdir()
    _write(
        folder / "schema.cypher",
        [
            "CREATE NODE TABLE `Person` (`id` INT64,`age` INT64, PRIMARY KEY(`id`));\n",
            "CREATE REL TABLE `Knows` (FROM `Person` TO `Person`, `w` DOUBLE,MANY_MANY);\n",
        ],
    )
    _write(
        folder / "copy.cypher",
        [
            'COPY `Person` (`id`,`age`) FROM "Person.csv" (parallel=true);\n',
            "COPY `Knows` (`w`) FROM \"Knows_Person_Person.csv\" (to='Person', from='Person', parallel=true);\n",
        ],
    )
    _write(folder / "Person.csv", (f"{k},{k % 90}\n" for k in range(nodes)))
    _write(
        folder / "Knows_Person_Person.csv",
        (f"{a},{b},{w:.6f}\n" for a, b, w in graph(nodes, edges)),
    )


def _write(path: Path, parts: Iterable[str]) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.writelines(parts)


# ---- cases ---------------------------------------------------------------------------------------------


def ldbc(folder: Path) -> Case:
    """Files of nodes, `Person.csv`, and of relationships between labels, `Person_knows_Person.csv`."""
    words: list[str] = []
    counts = [0, 0]
    files = sorted(folder.glob("[A-Z]*.csv"))
    for path in files:
        parts = path.stem.split("_")
        is_edges = len(parts) == 3
        name = f"{parts[1]}:{parts[0]}:{parts[2]}" if is_edges else parts[0]
        words += ["--edges" if is_edges else "--nodes", f"{name}={path}"]
        with path.open(encoding="utf-8") as file:
            counts[is_edges] += sum(1 for _ in file) - 1
    return Case(folder.name, tuple(files), tuple(words), (counts[0], counts[1]))


def cases(folder: Path, nodes: int, edges: int, megabytes: float) -> Iterator[Case]:
    for name in ("lsqb-example", "lsqb-sf0.003"):
        if (SHARED / name).is_dir():
            yield ldbc(SHARED / name)
    export = folder / "kuzu-export"
    kuzu_folder(export, nodes, edges)
    yield Case("Kuzu's EXPORT DATABASE", tuple(export.iterdir()), (str(export),), (nodes, edges))
    for name, write in DOCUMENTS.items():
        path = folder / name
        _write(path, write(nodes, edges))
        yield Case(name, (path,), (str(path),), (nodes, edges))
    for kind, text_of in write_scripts.SCRIPTS.items():
        text = text_of(megabytes * 1e6)
        path = folder / f"{kind.replace(' ', '-')}.cypher"
        path.write_text(text, encoding="utf-8")
        people = text.count("(:Person {") if kind == "statements" else text.count(":Person")
        yield Case(f"Cypher, {kind}", (path,), (str(path),), (people, people))


@dataclass(frozen=True, slots=True)
class Taken:
    cpu: float
    clock: float
    memory: int  # bytes
    right: bool


def run(case: Case, store: Path) -> Taken:
    """One command into a new store."""
    command = [sys.executable, "-m", "gdb", "load", str(store), *case.words]
    begun = time.perf_counter()
    process = subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    clock = time.perf_counter() - begun
    process.returncode = status
    with gdb.connect(store, read_only=True) as db:
        stats = db.stats()
        right = status == 0 and (stats.vertices, stats.edges) == case.held
    scale = 1 if sys.platform == "darwin" else 1024
    return Taken(used.ru_utime + used.ru_stime, clock, used.ru_maxrss * scale, right)


def main(line: list[str] | None = None) -> int:
    """Measure, print, and write the results."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--nodes", type=int, default=60_000)
    parser.add_argument("--edges", type=int, default=300_000)
    parser.add_argument("--megabytes", type=float, default=3.6, help="of the script")
    parser.add_argument(
        "--save", action="store_true", help="write the section to benchmarks/results/"
    )
    given = parser.parse_args(line)
    rows, wrong = list[tuple[Cell, ...]](), list[str]()
    with tempfile.TemporaryDirectory() as held:
        folder = Path(held)
        for number, case in enumerate(cases(folder, given.nodes, given.edges, given.megabytes)):
            taken = run(case, folder / f"{number}.gdb")
            wrong += [] if taken.right else [case.name]
            size = sum(path.stat().st_size for path in case.files) / 1e6
            spent = (taken.cpu, taken.clock, round(taken.memory / 1e6))
            rows.append((case.name, len(case.files), size, *case.held, *spent))
    head = (
        *("loaded", "files", Column("size", "MB", 1), "nodes", "relationships"),
        *(Column("CPU", "s"), Column("time", "s"), Column("memory", "MB")),
    )
    report = Report.of(
        "One command each, `gdbsh load STORE ...`, a process of its own: with the start of Python and of the library.",
        [Table.of(head, rows)],
        [f"the store of {name} does not hold what its files do" for name in wrong],
    )
    print(report.markdown())
    if given.save and not wrong:
        page.save(__file__, "Loading graphs of other programs", report, "duckdb", "numpy")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
