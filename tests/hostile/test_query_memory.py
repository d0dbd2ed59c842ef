"""What a process grows by while a query has a budget: the budget, and at most 100 MB that are not counted.

Each query runs in a process of its own, for what one has given back another does not take again.
"""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

BESIDE = (
    100_000_000  # bytes: code that is compiled, buffers of workers, what DuckDB takes in any case
)
SECONDS = 4

_RUN = """
import json, random, sys
import gdb

def most():
    with open("/proc/self/status", encoding="ascii") as file:
        return next(int(line.split()[1]) << 10 for line in file if line.startswith("VmHWM:"))

text, memory, seconds = sys.argv[1:]
chance, nodes = random.Random(1), 20_000
db = gdb.connect()
db.load(
    nodes={"P": [{"id": i, "name": f"n{i}", "age": i % 90} for i in range(nodes)]},
    edges={"K": [{"source": chance.randrange(nodes), "target": chance.randrange(nodes)} for _ in range(200_000)]},
)
db.execute("MATCH (a:P)-->(b) RETURN b.age, count(*) ORDER BY b.age")
before, outcome, cure = most(), "rows", ""
try:
    db.execute(text, memory=int(memory), timeout=float(seconds))
except gdb.RunError as error:
    outcome, cure = type(error).__name__, error.cure
print(json.dumps([outcome, cure, most() - before]))
"""

READS = {
    "a repeated pattern": "MATCH (a:P)((x)-[k:K]->(y) WHERE x.age < y.age){1,9}(b) RETURN count(*)",
    "a repeated pattern before LIMIT": "MATCH (a:P)((x)-[k:K]->(y) WHERE x.age < y.age){1,9}(b)"
    " RETURN x, k LIMIT 5000000",
    "long paths": "MATCH p = (a {name: 'n1'})-[*]->(b {name: 'n2'}) RETURN length(p) LIMIT 5",
    "all shortest paths": "MATCH p = allShortestPaths((a:P)-[*]-(b:P)) WHERE a.age = 3 RETURN count(p)",
    "k shortest paths": "MATCH p = SHORTEST 3 (a:P)-[*]-(b:P) WHERE a.age = 3 RETURN count(p)",
    "rows in order": "MATCH (a)-->(b)-->(c)-->(d) RETURN a, d ORDER BY d.name, a.name",
    "pairs of texts": "MATCH (a:P), (b:P) WHERE a.age + b.age = 3 RETURN a.name, b.name",
}
WRITES = {
    "CREATE": "MATCH (a:P)-->(b)-->(c) CREATE (a)-[:T {x: c.name}]->(c)",
    "SET": "MATCH (a:P)-->(b)-->(c) SET a.z = c.name",
    "SET of maps": "MATCH (a:P)-->(b)-->(c) SET a += {z: c.name, y: b.name}",
    "MERGE": "MATCH (a:P)-->(b)-->(c) MERGE (a)-[:T]->(c)",
}


def run(text: str, memory: int) -> tuple[str, str, int]:
    """The outcome of a query over 20,000 nodes and 200,000 relationships, its cure, and the bytes that it grew by."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", _RUN, text, str(memory), str(SECONDS)],
        check=True,
        capture_output=True,
        text=True,
        timeout=300,
    )
    outcome, cure, size = json.loads(done.stdout)
    return outcome, cure, size


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("kind", READS)
def test_a_query_that_reads_keeps_to_its_budget(kind: str) -> None:
    memory = 100_000_000
    outcome, cure, size = run(READS[kind], memory)
    assert outcome in ("rows", "OutOfBudget", "QueryTimeout")
    assert cure or outcome == "rows"
    assert size < memory + BESIDE


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("kind", WRITES)
def test_a_query_that_writes_is_refused_before_it_holds_more(kind: str) -> None:
    memory = 60_000_000
    outcome, cure, size = run(WRITES[kind], memory)
    assert outcome == "OutOfBudget"
    assert "several statements" in cure
    assert size < memory + BESIDE


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_what_a_transaction_holds_counts() -> None:
    """The rows fit into this budget, and what is written for them does not."""
    memory = 250_000_000
    outcome, cure, size = run(WRITES["CREATE"], memory)
    assert outcome == "OutOfBudget"
    assert "several statements" in cure
    assert size < memory + BESIDE
