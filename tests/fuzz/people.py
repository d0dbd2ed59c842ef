"""The small graph that random queries run on, and the parameters that they name."""

from __future__ import annotations

GRAPH = """
CREATE (a:Person {name: 'Ada', age: 36, born: date('1985-12-10'), tags: ['x', 'y']}),
       (b:Person:Admin {name: 'Bob', age: 41, score: 1.5}), (c:Person {name: 'Çem'}),
       (d:City {name: 'Dijon', ok: true}), (e {score: 0.5}),
       (a)-[:KNOWS {since: 2001}]->(b), (b)-[:KNOWS {since: 2009}]->(c), (c)-[:KNOWS]->(a), (b)-[:KNOWS]->(a),
       (a)-[:LIVES_IN]->(d), (b)-[:LIVES_IN {since: 2010}]->(d), (e)-[:LIVES_IN]->(e)
"""
PAIR = "fuzz.pair(first :: ANY?, second :: NUMBER?) :: (first :: ANY?, second :: NUMBER?)"
PARAMETERS: dict[str, object] = {
    "n": 2,
    "name": "Ada",
    "list": [1, 2.5, None, "x"],
    "map": {"name": "Ada", "age": 36},
    "none": None,
}
