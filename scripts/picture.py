"""Draws docs/assets/pattern.svg, the picture of the README: the answer of a small pattern, by gdb's own `draw`.

python scripts/picture.py writes it anew; a test compares.
"""

from __future__ import annotations

from pathlib import Path

import gdb

PICTURE = Path(__file__).resolve().parents[1] / "docs" / "assets" / "pattern.svg"
# The values of `WHERE` and of the pattern are those of the README's table.
GRAPH = """
CREATE (ada:Account {name: 'Ada'}), (bob:Account {name: 'Bob'}), (cem:Account {name: 'Cem'}),
       (shop:Shop {name: 'Corner shop'}), (bank:Bank {name: 'First Bank'}),
       (ada)-[:PAID]->(bob), (bob)-[:PAID]->(cem), (cem)-[:PAID]->(ada),
       (bob)-[:BOUGHT_AT]->(shop), (cem)-[:BOUGHT_AT]->(shop), (ada)-[:CUSTOMER_OF]->(bank)
"""
PATTERN = """
MATCH (a:Account)-[x:PAID]->(b)-[y:PAID]->(c)-[z:PAID]->(a)
OPTIONAL MATCH (a)-[o]->(other) WHERE NOT other:Account
RETURN *
"""


def drawn() -> str:
    """The picture as text."""
    with gdb.connect() as db:
        db.execute(GRAPH)
        return db.execute(PATTERN).draw().svg


if __name__ == "__main__":
    PICTURE.write_text(drawn(), encoding="utf-8")
