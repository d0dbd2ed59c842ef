"""Pieces of queries that Cypher 25 and GQL added, for the grammar of `queries`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.fuzz.queries import Maker, Scope

LABELS = (
    *(":!Admin", ":%", ":!%", ":Person&!Admin", ":(City|Admin)&!Nobody", ":City|!Person"),
    *(":$('City')", ":$any(['City', 'Admin'])", ":!$('Person')"),
)
TYPES = (":!KNOWS", ":%", ":(KNOWS|HATES)&!HATES", ":$('KNOWS')", ":!HATES&!KNOWS")
REPEATED = (
    *("(()-[:KNOWS]->()){1,2}", "(()-[:KNOWS]-()){0,2}", "(()-[:HATES]->()-[:KNOWS]->()){1,2}"),
    *("((:Person)-->(:!City)){2}", "(()-[:KNOWS {since: 2001}]->()){,2}"),
)
TESTS = (
    *("NULL", "NULL", ":: INTEGER", "TYPED STRING NOT NULL", ":: LIST<INTEGER | STRING>"),
    *(":: PROPERTY VALUE", "NORMALIZED", "NFKD NORMALIZED"),
)
NUMBERS = ("9223372036854775807", "1_000", "INF", "-INF", "NaN")


def shorter(maker: Maker, scope: Scope) -> str:
    """FILTER and LET."""
    value, name = maker.expression(scope, 2), maker.fresh()
    text = f"FILTER {maker.expression(scope, 2, 'boolean')} LET {name} = {value}"
    scope[name] = "any"
    return text
