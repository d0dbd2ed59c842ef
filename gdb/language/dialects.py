"""Syntax of Neo4j, other dialects of Cypher and SQL that gdb does not have, by its first word: what it is, and what to
write instead. The parser looks here before it reports an unexpected word."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

Refusals: TypeAlias = "Mapping[str, tuple[str, str]]"
"""By the word: what is not supported, with its verb, and what to write instead."""

_SCHEMA = "See Database.load() and db.schema()."
_LISTS = "CALL db.labels() lists labels, CALL dbms.procedures() what else there is."
_NO_INDEX = "None is needed: conditions are evaluated over columns, and ids are looked up."
_NO_CONSTRAINT = "Ids are unique within an id space; MERGE looks for a node before it makes one."
_NO_USERS = "A store is a folder: its files' permissions say who may use it."
_NO_TABLES = "Labels and types need no declaration: write CREATE (:Label {key: value})."
_TRANSACTION = (
    "A query is one transaction; several are committed together in `with db.transaction() as tx:`."
)

CLAUSES: Refusals = {
    "USE": ("USE is", "Open the other store with gdb.connect()."),
    "SHOW": ("SHOW is", _LISTS),
    "DROP": (
        "DROP is",
        "MATCH (n:Label) DETACH DELETE n deletes nodes; there are no indexes to drop.",
    ),
    "TRUNCATE": ("TRUNCATE is", "Write MATCH (n:Label) DETACH DELETE n."),
    "FROM": ("FROM is", "Write MATCH (n:Label) RETURN n."),
    "DESCRIBE": ("DESCRIBE is", _LISTS),
    "PRAGMA": ("PRAGMA is", _LISTS),
    "VACUUM": ("VACUUM is", "Call db.compact(), or `gdbsh compact STORE`."),
    "ALTER": ("ALTER is", _SCHEMA),
    "RENAME": ("RENAME is", _SCHEMA),
    "BEGIN": ("BEGIN is", _TRANSACTION),
    "COMMIT": ("COMMIT is", _TRANSACTION),
    "ROLLBACK": ("ROLLBACK is", "What is raised inside `with db.transaction() as tx:` undoes it."),
    "GRANT": ("GRANT is", _NO_USERS),
    "DENY": ("DENY is", _NO_USERS),
    "REVOKE": ("REVOKE is", _NO_USERS),
    "CYPHER": ("a choice of version or runtime is", "Leave CYPHER and its options out."),
    "START": ("START is", "Write MATCH (n) WHERE id(n) = ..."),
    "STOP": ("STOP is", "Use timeout=, Ctrl-C, or Database.interrupt()."),
    "TERMINATE": ("TERMINATE is", "Use timeout=, Ctrl-C, or Database.interrupt()."),
    "ENABLE": ("ENABLE is", _NO_USERS),
    "DRYRUN": ("DRYRUN is", "Run it in a transaction, and raise at its end."),
    "USING": ("USING (hints and PERIODIC COMMIT) is", "Leave it out; EXPLAIN shows the plan."),
    "FOR": ("FOR is", "Write UNWIND list AS x."),
    "NODETACH": ("NODETACH is", "Leave it out: DELETE refuses nodes that have relationships."),
    "SELECT": ("SELECT is", "Write MATCH (n:Label) RETURN n.key, or RETURN * for all variables."),
    "UPDATE": ("UPDATE is", "Write MATCH (n:Label) SET n.key = value."),
    "UPSERT": ("UPSERT is", "Write MERGE (n:Label {key: value}) SET n.other = value."),
    "WHEN": ("a conditional query is", "Write CALL { WITH * WHERE condition ... } for each case."),
    "GROUP": ("GROUP BY is", "Leave it out: the items without an aggregate are the keys."),
    "HAVING": ("HAVING is", "Write WITH key, count(*) AS n WHERE n > 1."),
}
"""Of what begins a query or a clause."""

CREATED: Refusals = {
    **{
        word: (f"CREATE {word} is", _NO_INDEX)
        for word in ("INDEX", "FULLTEXT", "RANGE", "TEXT", "POINT", "LOOKUP", "BTREE", "VECTOR")
    },
    **{word: (f"CREATE {word} is", _NO_CONSTRAINT) for word in ("CONSTRAINT", "UNIQUE")},
    **{word: (f"CREATE {word} is", _NO_USERS) for word in ("USER", "ROLE")},
    **{
        word: (f"CREATE {word} is", "A store is a folder: gdb.connect(path) makes one.")
        for word in ("DATABASE", "ALIAS", "COMPOSITE", "SERVER")
    },
    **{word: (f"CREATE {word} is", _NO_TABLES) for word in ("TABLE", "NODE", "REL", "GRAPH")},
    "OR": ("CREATE OR REPLACE is", _SCHEMA),
    "INTO": ("INSERT INTO is", "Write CREATE (:Label {key: value})."),
}
"""By the word after CREATE and INSERT."""

_REGULAR = "Write =~ 'regular expression', which must fit the whole string."
OPERATORS: Mapping[str, str] = {
    "LIKE": "Write STARTS WITH, ENDS WITH, CONTAINS, or =~ with a regular expression.",
    "ILIKE": "Write toLower(a) CONTAINS 'text', or =~ '(?i)regular expression'.",
    "BETWEEN": "Write low <= a <= high.",
    "REGEXP": _REGULAR,
    "RLIKE": _REGULAR,
    "MATCHES": _REGULAR,
    "ISNULL": "Write IS NULL.",
    "NOTNULL": "Write IS NOT NULL.",
    "!=": "Write <> instead.",
    "&&": "Write AND.",
    "==": "Write = instead.",
    "=>": "Write >= instead.",
    "=<": "Write <= instead.",
}
"""Of signs between operands: what to write instead."""

_SPATIAL = "gdb has no spatial values: keep coordinates as numbers, and compute with sqrt() and ^."
_VECTORS = "gdb has no vectors: keep a list of numbers, and compute with reduce()."
_FUNCTIONS: Mapping[str, str] = {
    "point": _SPATIAL,
    "distance": _SPATIAL,
    "vector": _VECTORS,
    "vector_distance": _VECTORS,
    "vector_norm": _VECTORS,
    "vector_dimension_count": _VECTORS,
    "allreduce": "Write reduce(), and compare what it gives.",
    "ifnull": "Write coalesce(value, other).",
    "nvl": "Write coalesce(value, other).",
    "isnull": "Write value IS NULL.",
    "concat": "Write a + b.",
    "len": "Write size() of a list or string, length() of a path.",
    "iif": "Write CASE WHEN condition THEN a ELSE b END.",
    "if": "Write CASE WHEN condition THEN a ELSE b END.",
    "cast": "Write toInteger(), toFloat() or toString().",
    "array_agg": "Write collect().",
    "list": "Write collect(), or a list in [ ].",
    "datediff": "Write duration.between(a, b).",
    "now": "Write datetime() or localdatetime().",
    "current_date": "Write date().",
    "current_timestamp": "Write datetime().",
    "string_agg": "Write reduce() over collect().",
    "group_concat": "Write reduce() over collect().",
}
_LIBRARIES: Mapping[str, str] = {
    "point": _SPATIAL,
    "vector": _VECTORS,
    "coll": "Write UNWIND list AS x WITH x ORDER BY x RETURN collect(x), or a list comprehension.",
    **dict.fromkeys(
        ("apoc", "gds", "algo", "genai"),
        "gdb has no such library; a program adds procedures with db.register_procedure().",
    ),
}


def instead_of(function: str) -> str:
    """What to write instead of a function that another dialect has; empty where none is known.

    Examples
    --------
    >>> instead_of("apoc.text.join")
    'gdb has no such library; a program adds procedures with db.register_procedure().'
    >>> instead_of("sqrrt")
    ''
    """
    library, dot, _ = function.lower().partition(".")
    return _LIBRARIES.get(library, "") if dot else _FUNCTIONS.get(library, "")
