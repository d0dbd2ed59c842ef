"""Short reads on one system.

`python -m benchmarks.peers.short_reads SYSTEM FOLDER NODES` prints a JSON object for each query as it comes: its name,
the median and the 99th percentile in milliseconds, and the answers' checksum; or why it has none.

The data are those of `benchmarks.peers.statements`. Runs in the Python that has the system.
"""

from __future__ import annotations

import hashlib
import json
import random
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.peers.statements import SYSTEMS, System

REPEATS, WARM = 400, 100
_A, _B = "MATCH (a:P {id: $i})", "-[:KNOWS]->(b:P)"
QUERIES = {
    "neighbours": f"{_A}{_B} RETURN b.id",
    "neighbours in order": f"{_A}{_B} RETURN b.id AS i, b.x AS x ORDER BY x DESC, i LIMIT 10",
    "neighbours above a value": f"{_A}{_B} WHERE b.x > $x RETURN b.id AS i ORDER BY i",
    "count, sum and maximum": f"{_A}{_B} RETURN count(b), sum(b.x), max(b.x)",
    "collect": f"{_A}{_B} RETURN a.id, collect(b.id)",
    "second neighbours": f"{_A}{_B}-[:KNOWS]->(c:P) RETURN DISTINCT c.id",
    "most common second neighbours": f"{_A}{_B}-[:KNOWS]->(c:P) "
    "RETURN c.id AS i, count(*) AS n ORDER BY n DESC, i LIMIT 10",
    "optional": f"{_A} OPTIONAL MATCH (a){_B} RETURN a.id, count(b)",
    "three of the neighbours, and theirs": f"{_A}{_B} WITH b ORDER BY b.x, b.id LIMIT 3 "
    "MATCH (b)-[:KNOWS]->(c:P) RETURN b.id, count(c)",
    "common neighbours": f"{_A}{_B}<-[:KNOWS]-(c:P {{id: $j}}) RETURN b.id",
    "whether one is a neighbour": f"{_A}, (b:P {{id: $j}}) "
    "RETURN EXISTS { MATCH (a)-[:KNOWS]->(b) }",
    "paths of three, counted": f"{_A}{_B}-[:KNOWS]->(c:P)-[:KNOWS]->(d:P) RETURN count(*)",
}


def measured(system: System, nodes: int, text: str) -> tuple[float, float, str]:
    """The median, the 99th percentile in milliseconds, and a checksum of the answers."""
    draw = random.Random(11)
    spent, answers = [], hashlib.sha256()
    for turn in range(WARM + REPEATS):
        values = {
            name: draw.randrange(1000 if name == "x" else nodes)
            for name in "ijx"
            if f"${name}" in text
        }
        begin = time.perf_counter()
        rows = system.read(text, values)
        if turn >= WARM:
            spent.append((time.perf_counter() - begin) * 1e3)
            answers.update(repr(sorted(map(_plain, rows))).encode())
    spent.sort()
    return spent[len(spent) // 2], spent[len(spent) * 99 // 100], answers.hexdigest()


def _plain(row: Any) -> tuple[Any, ...]:
    """A row with lists in order, and numbers as whole ones."""
    return tuple(sorted(one) if isinstance(one, list) else int(one) for one in row)


def main(line: list[str]) -> None:
    """Measure one system."""
    name, folder, nodes = line[0], Path(line[1]), int(line[2])
    store = folder / name
    store.mkdir(parents=True)
    system = SYSTEMS[name](store, folder / "nodes.csv", folder / "edges.csv")
    for query, text in QUERIES.items():
        try:
            found: list[Any] = [*measured(system, nodes, text)]
        except Exception as error:  # a peer lacks it: reported, and left out
            found = [f"{type(error).__name__}: {error}"[:200]]
        print(json.dumps({query: found}), flush=True)
    system.close()


if __name__ == "__main__":
    main(sys.argv[1:])
