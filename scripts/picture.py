"""Draws docs/assets/pattern.svg, the picture of the README: the answer of a small pattern, by gdb's own `draw`.

python scripts/picture.py writes it anew; a test compares what it shows.
"""

from __future__ import annotations

from pathlib import Path

import gdb

PICTURE = Path(__file__).resolve().parents[1] / "docs" / "assets" / "pattern.svg"
GRAPH = """
CREATE (ada:Account {name: 'Ada'}), (bob:Account {name: 'Bob'}), (cem:Account {name: 'Cem'}),
       (one:Phone {name: '555-0101'}), (two:Phone {name: '555-0199'}), (bank:Bank {name: 'First Bank'}),
       (ada)-[:PAID]->(bob), (bob)-[:PAID]->(cem), (cem)-[:PAID]->(ada),
       (ada)-[:USES]->(one), (bob)-[:USES]->(one), (cem)-[:USES]->(two), (ada)-[:AT]->(bank), (cem)-[:AT]->(bank)
"""
PATTERN = """
MATCH (a:Account)-[x:PAID]->(b)-[y:PAID]->(c)-[z:PAID]->(a)
MATCH (a)-[o:USES|AT]->(other)
RETURN a, x, b, y, c, z, o, other ORDER BY a.name, other.name
"""


def drawn() -> str:
    """The picture as text."""
    with gdb.connect() as db:
        db.execute(GRAPH)
        return db.execute(PATTERN).draw().svg


if __name__ == "__main__":
    PICTURE.write_text(drawn(), encoding="utf-8")
