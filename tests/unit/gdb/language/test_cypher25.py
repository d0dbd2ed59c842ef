"""What Cypher 25 and GQL added to expressions, over rows, over columns and in compiled patterns."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import pytest

import gdb
from gdb.errors import GdbError, SyntaxProblem, TypeProblem
from gdb.language.parser import parse
from gdb.language.printer import printed
from gdb.run import columns_or_rows
from tests.support.ways import forced


@pytest.fixture(scope="module")
def db() -> Iterator[gdb.Database]:
    with gdb.connect() as db:
        db.execute(
            "CREATE (a:A {k: 0, s: 'ab', x: 3, f: 0.5, l: [1, 2]}), (b:B {k: 1, s: 'b', x: 40, f: 2.0}), "
            "(c:A:B {k: 2, x: 1, f: -1.5}), (d {k: 3, s: 'e\u0301'}), (a)-[:R {w: 1}]->(b), (b)-[:S {w: 2}]->(c), "
            "(c)-[:R {w: 3}]->(d), (d)-[:R {w: 4}]->(a)"
        )
        yield db


VALUES = [
    ("'a' || 'b' || 'c'", "abc"),
    ("[1] || [2, 'x'] || []", [1, 2, "x"]),
    ("null || 'a'", None),
    ("'a' || null", None),
    ("1 + 2 || 'x'", TypeProblem),
    ("[1] || 2", TypeProblem),
    ("true || false", TypeProblem),
    ("1 IS :: INTEGER", True),
    ("1 IS TYPED FLOAT", False),
    ("1 :: INT", True),
    ("1.0 IS :: INTEGER | FLOAT", True),
    ("'a' IS NOT :: STRING", False),
    ("null IS :: INTEGER", True),
    ("null IS :: INTEGER NOT NULL", False),
    ("null IS :: NULL", True),
    ("null IS :: NOTHING", False),
    ("null IS NOT :: INTEGER!", True),
    ("[1, 2] IS :: LIST<INTEGER>", True),
    ("[1, null] IS :: LIST<INTEGER>", True),
    ("[1, null] IS :: LIST<INTEGER NOT NULL>", False),
    ("[1, null] IS :: INTEGER NOT NULL LIST", False),
    ("[] IS :: LIST<NOTHING>", True),
    ("[[1], ['a']] IS :: LIST<LIST<INTEGER | STRING>>", True),
    ("[1, 'a'] IS :: LIST<ANY<INTEGER | STRING>>", True),
    ("[1, 2] IS :: PROPERTY VALUE", True),
    ("[{a: 1}] IS :: PROPERTY VALUE", False),
    ("{a: 1} IS :: MAP", True),
    ("1 IS :: ANY", True),
    ("date('2024-01-01') IS :: DATE", True),
    ("datetime('2024-01-01T00:00Z') IS :: ZONED DATETIME", True),
    ("localdatetime('2024-01-01T00:00') IS :: TIMESTAMP WITHOUT TIMEZONE", True),
    ("duration('P1D') IS :: DURATION", True),
    ("true IS :: BOOL", True),
    ("NOT 1 IS :: STRING AND 2 IS :: INTEGER", True),
    ("[x IN [1, 'a', 2.0] WHERE x IS :: INTEGER | x]", [1]),
    ("[x IN [1, 'a', 2.0] WHERE (x IS :: INTEGER | FLOAT) | x]", [1, 2.0]),
    ("[x IN [1, 'a', 2.0] WHERE x IS :: ANY<INTEGER | FLOAT>]", [1, 2.0]),
    ("'\u00e9' IS NORMALIZED", True),
    ("'e\u0301' IS NORMALIZED", False),
    ("'e\u0301' IS NFD NORMALIZED", True),
    ("'\u00e9' IS NOT NFKD NORMALIZED", True),
    ("1 IS NORMALIZED", None),
    ("null IS NOT NORMALIZED", None),
    ("CASE 50 WHEN > 30 THEN 'a' ELSE 'b' END", "a"),
    ("CASE 5 WHEN > 30, < 0 THEN 'a' WHEN 4, 5, 6 THEN 'c' END", "c"),
    ("CASE 5 WHEN 4, < 6 THEN 'a' ELSE 'b' END", "a"),
    ("CASE null WHEN IS NULL THEN 1 ELSE 2 END", 1),
    ("CASE null WHEN null, 3 THEN 1 ELSE 2 END", 2),
    ("CASE 'abc' WHEN STARTS WITH 'b' THEN 1 WHEN =~ '.*c' THEN 2 END", 2),
    ("CASE 3 WHEN IN [1, 2] THEN 1 WHEN IS :: INTEGER THEN 2 END", 2),
    ("CASE 3 WHEN -3 THEN 1 WHEN <> 3 THEN 2 WHEN <= 3 THEN 3 END", 3),
    ("trim(BOTH 'x' FROM 'xaxbx')", "axb"),
    ("trim(LEADING 'x' FROM 'xax')", "ax"),
    ("trim(TRAILING 'x' FROM 'xax')", "xa"),
    ("trim('x' FROM 'xax')", "a"),
    ("trim(BOTH FROM ' a ')", "a"),
    ("trim(BOTH null FROM ' a ')", None),
    ("[btrim('xax', 'x'), ltrim('xax', 'x'), rtrim('xax', 'x')]", ["a", "ax", "xa"]),
    ("1_000_000 + 1_0", 1_000_010),
    ("1_0.2_5e1", 102.5),
    ("[INF, -INF, Infinity = inf, -infinity]", [math.inf, -math.inf, True, -math.inf]),
    ("isNaN(NaN)", True),
    ("NaN = NaN", False),
    ("1 < INF", True),
]


def _value(db: gdb.Database, text: str) -> Any:
    try:
        return db.execute(text).fetchall()
    except GdbError as error:
        return type(error)


@pytest.mark.parametrize(("text", "expected"), VALUES)
def test_a_value(
    db: gdb.Database, monkeypatch: pytest.MonkeyPatch, text: str, expected: object
) -> None:
    wanted = expected if isinstance(expected, type) else [(expected,)]
    query = f"RETURN {text} AS v"
    assert _value(db, query) == wanted
    assert parse(printed(parse(query))) == parse(query)
    monkeypatch.setattr(columns_or_rows, "WAY", "columns")
    assert _value(db, f"MATCH (n {{k: 0}}) RETURN {text} AS v") == wanted
    assert _value(db, f"MATCH (n {{k: 0}}) WITH n RETURN {text} AS v") == wanted


OF_NODES = [
    "n.s || '!'",
    "n.s || n.s",
    "n.l || n.l",
    "n.x IS :: INTEGER",
    "n.s IS :: STRING NOT NULL",
    "n IS :: NODE",
    "n.s IS NORMALIZED",
    "CASE n.x WHEN > 30 THEN 'big' WHEN 1, 2 THEN 'few' WHEN IS NULL THEN 'none' ELSE 'some' END",
    "trim(BOTH 'a' FROM n.s)",
    "n.f < INF",
    "n.f = NaN",
]


@pytest.mark.parametrize("text", OF_NODES)
def test_every_way_gives_the_same(
    db: gdb.Database, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    expected = sorted(_value(db, f"MATCH (n) WITH n RETURN n.k, {text} AS v"), key=str)
    assert sorted(_value(db, f"MATCH (n) RETURN n.k, {text} AS v"), key=str) == expected
    monkeypatch.setattr(columns_or_rows, "WAY", "columns")
    assert sorted(_value(db, f"MATCH (n) WITH n RETURN n.k, {text} AS v"), key=str) == expected
    same = f"{text} = {text}" if "||" in text or "CASE" in text or "trim" in text else text
    kept = [(k,) for k, v in expected if v is not None and (v or same != text)]
    assert sorted(db.execute(f"MATCH (n) WHERE {same} RETURN n.k"), key=str) == kept


def test_a_join_of_strings_is_answered_over_columns(db: gdb.Database) -> None:
    with forced("selects"):
        assert db.execute("MATCH (n:A) RETURN n.s || '!' AS v").summary.evaluator == "duckdb"


def test_percentiles(db: gdb.Database) -> None:
    text = "UNWIND [1, 2, 3, 4, null] AS x RETURN percentile_cont(x, 0.5), percentile_disc(x, 0.5)"
    assert db.execute(text).fetchall() == [(2.5, 2)]


def test_names_that_are_also_floats(db: gdb.Database) -> None:
    assert db.execute("WITH 1 AS inf RETURN inf").scalar() == 1
    assert db.execute("MATCH (nan {k: 0}) RETURN nan.k").scalar() == 0
    assert db.execute("RETURN [Inf IN [1, 2] | Inf + 1] AS l").scalar() == [2, 3]
    assert db.execute("UNWIND [3] AS `INF` RETURN `INF`, Infinity").fetchall() == [(3, math.inf)]


def test_a_variable_called_both(db: gdb.Database) -> None:
    assert db.execute("WITH ' a ' AS both RETURN trim(both)").scalar() == "a"
    assert db.execute("WITH 'xax' AS leading RETURN trim(leading, 'x')").scalar() == "a"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("RETURN 1 IS :: INTEGR", "Did you mean INTEGER?"),
        ("RETURN 1 IS :: LIST", "Write LIST<ANY>"),
        ("RETURN 1 IS Person", "a type by IS :: INTEGER"),
        ("RETURN CASE rand() WHEN > 2 THEN 1 END", "Compute it in a WITH before"),
        ("RETURN trim(BOTH 'x' 'y')", "FROM"),
        ("RETURN 1_", "neither a number nor a name"),
        ("RETURN 1__0", "neither a number nor a name"),
    ],
)
def test_a_wrong_one(db: gdb.Database, text: str, message: str) -> None:
    with pytest.raises(SyntaxProblem, match=message.replace("?", r"\?").replace("(", r"\(")):
        db.execute(text)


# ---- clauses -------------------------------------------------------------------------------------

CLAUSES = [
    ("MATCH (n) LET x = n.x, k = n.k FILTER x > 1 RETURN k ORDER BY k", [(0,), (1,)]),
    ("LET a = 1 LET b = a + 1 RETURN a, b", [(1, 2)]),
    ("MATCH (n) FILTER WHERE n.x IS NULL RETURN n.k", [(3,)]),
    ("UNWIND [1, 2, 3] AS x FILTER x > 1 FILTER x < 3 RETURN x", [(2,)]),
    ("MATCH (n) FINISH", []),
    ("RETURN 1 AS x NEXT RETURN x + 1 AS y NEXT UNWIND [y, 9] AS z RETURN z", [(2,), (9,)]),
    ("MATCH (n) RETURN n.k AS k ORDER BY k DESC LIMIT 1 NEXT RETURN k * 2 AS d", [(6,)]),
    ("MATCH (n) RETURN n NEXT MATCH (n)-[:S]->(m) RETURN n.k, m.k", [(1, 2)]),
    ("MATCH (n:A) CALL (n) { MATCH (n)-->() FINISH } RETURN count(n)", [(2,)]),
]


@pytest.mark.parametrize(("text", "rows"), CLAUSES)
def test_clauses(
    db: gdb.Database, monkeypatch: pytest.MonkeyPatch, text: str, rows: list[tuple[object]]
) -> None:
    assert db.execute(text).fetchall() == rows
    assert parse(printed(parse(text))) == parse(text)
    monkeypatch.setattr(columns_or_rows, "WAY", "columns")
    assert db.execute(text).fetchall() == rows


def test_finish_gives_nothing_and_writes() -> None:
    with gdb.connect() as db:
        found = db.execute("CREATE (:N) FINISH")
        assert (found.columns, found.fetchall()) == ([], [])
        assert db.execute("MATCH (n:N) RETURN count(*)").scalar() == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("LET a = 1, b = a RETURN b", "no variable 'a'"),
        ("LET a = 1 LET a = 2 RETURN a", "two columns 'a'"),
        ("LET a 1", "expected '='"),
        ("MATCH (n) FINISH RETURN n", "Nothing follows FINISH"),
        ("MATCH (n) RETURN n.k NEXT RETURN 1", "needs a name"),
        ("RETURN 1 AS x NEXT RETURN 2 AS x UNION RETURN 3 AS x", "NEXT beside UNION"),
        ("RETURN 1 AS x UNION RETURN 3 AS x NEXT RETURN x", "NEXT beside UNION"),
        ("RETURN EXISTS { MATCH (n) FINISH } AS x", "FINISH ends no EXISTS"),
        ("RETURN 1 AS x NEXT", "the end of the query"),
    ],
)
def test_a_wrong_clause(db: gdb.Database, text: str, message: str) -> None:
    with pytest.raises(GdbError, match=message):
        db.execute(text)


# ---- labels and types ----------------------------------------------------------------------------

LABELS = [
    ("MATCH (n:!A) RETURN n.k AS k", [1, 3]),
    ("MATCH (n:!A&!B) RETURN n.k AS k", [3]),
    ("MATCH (n:!(A|B)) RETURN n.k AS k", [3]),
    ("MATCH (n:A&!B) RETURN n.k AS k", [0]),
    ("MATCH (n:A|!B) RETURN n.k AS k", [0, 2, 3]),
    ("MATCH (n:!!A) RETURN n.k AS k", [0, 2]),
    ("MATCH (n:%) RETURN n.k AS k", [0, 1, 2]),
    ("MATCH (n:!%) RETURN n.k AS k", [3]),
    ("MATCH (n:A|B&A) RETURN n.k AS k", [0, 2]),
    ("MATCH (n:(A&B)|(B&!A)) RETURN n.k AS k", [1, 2]),
    ("MATCH (n) WHERE n:!A RETURN n.k AS k", [1, 3]),
    ("MATCH (n) WHERE NOT n:A&!B RETURN n.k AS k", [1, 2, 3]),
    ("MATCH (n)-->(:!B) RETURN n.k AS k", [2, 3]),
    ("MATCH (n) WHERE (n)-->(:!B) RETURN n.k AS k", [2, 3]),
    ("MATCH (n) WHERE NOT exists((n)-[:!R]->()) RETURN n.k AS k", [0, 2, 3]),
    ("MATCH (n) WHERE COUNT { (n)-[:!R]->(:!%) } > 0 RETURN n.k AS k", []),
    ("MATCH (n)-[:!R]->() RETURN n.k AS k", [1]),
    ("MATCH (n)-[:!R|S]->() RETURN n.k AS k", [1]),
    ("MATCH (n)-[:%]->() RETURN n.k AS k", [0, 1, 2, 3]),
    ("MATCH (n)-[:(R|S)&!S]->() RETURN n.k AS k", [0, 2, 3]),
    ("MATCH (n)-[:(R|S)&(S|T)]->() RETURN n.k AS k", [1]),
    ("MATCH (n)-[:!S*1..2]->(m) WHERE m.k = 0 RETURN n.k AS k", [2, 3]),
    ("MATCH (n)-[r:!S*2]->(m) RETURN n.k AS k", [2, 3]),
    ("MATCH (m {k: 0}) OPTIONAL MATCH (m)-->(n:!B) RETURN n.k AS k", [None]),
    ("MATCH (m) RETURN [(m)-->(n:!B) | n.k] AS k", [[0], [3], [], []]),
    ("MATCH (n WHERE n.k > 1)-[r WHERE r.w > 3]->(m WHERE m.k < 1) RETURN n.k AS k", [3]),
    ("MATCH (n:$('A')) RETURN n.k AS k", [0, 2]),
    ("MATCH (n:$(['A', 'B'])) RETURN n.k AS k", [2]),
    ("MATCH (n:$any(['A', 'B'])) RETURN n.k AS k", [0, 1, 2]),
    ("MATCH (n:$all(['A', 'B'])) RETURN n.k AS k", [2]),
    ("MATCH (n:!$('A')&B) RETURN n.k AS k", [1]),
    ("UNWIND ['A', 'B'] AS l MATCH (n:$(l)) RETURN n.k AS k", [0, 1, 2, 2]),
    ("MATCH (n)-[:$('S')]->() RETURN n.k AS k", [1]),
    ("MATCH (n)-[:$any(['S', 'T'])]->() RETURN n.k AS k", [1]),
    ("MATCH (n) WHERE n:$('B') RETURN n.k AS k", [1, 2]),
    ("MATCH (n:$(null)) RETURN n.k AS k", []),
]


@pytest.mark.parametrize(("text", "expected"), LABELS)
def test_labels_and_types(
    db: gdb.Database, monkeypatch: pytest.MonkeyPatch, text: str, expected: list[object]
) -> None:
    assert parse(printed(parse(text))) == parse(text)
    assert sorted([k for (k,) in db.execute(text)], key=str) == expected
    monkeypatch.setattr(columns_or_rows, "WAY", "columns")
    later = text.replace("RETURN", "WITH", 1) + " RETURN k"
    for query in (later, text):
        assert sorted([k for (k,) in db.execute(query)], key=str) == expected


def test_hidden_names_stay_hidden(db: gdb.Database) -> None:
    found = db.execute("MATCH (n {k: 2})-[:!S]->(:!A) RETURN *")
    assert (found.columns, len(found)) == (["n"], 1)
    found = db.execute("MATCH (n {k: 2})-[:!S]->(:!A) WITH * RETURN *")
    assert (found.columns, len(found)) == (["n"], 1)
    with pytest.raises(SyntaxProblem, match="nothing to return"):
        db.execute("MATCH (:!A) RETURN *")
    found = db.execute("MATCH (:!A) CALL (*) { RETURN 1 AS x } RETURN *")
    assert (found.columns, len(found)) == (["x"], 2)


def test_conditions_inside_a_pattern_are_compiled(db: gdb.Database) -> None:
    for text in ("MATCH (n:A&!B)-->(:!A) RETURN n.k", "MATCH (n WHERE n.k > 1)-->(m) RETURN m.k"):
        assert "matching order" in db.explain(text)


def test_labels_and_types_are_made_by_name() -> None:
    with gdb.connect() as db:
        made = db.execute(
            "UNWIND [['A', 'X'], ['B', 'Y']] AS pair "
            "CREATE (n:$(pair[0]):C {k: pair[1]})-[r:$('T' || pair[1])]->(m:$(pair)) "
            "RETURN labels(n), type(r), labels(m)"
        )
        assert sorted(made) == [(["A", "C"], "TX", ["A", "X"]), (["B", "C"], "TY", ["B", "Y"])]
        db.execute("MATCH (n:C) SET n:$(n.k):$(['P', 'Q']):S REMOVE n:$('C'):S")
        found = db.execute("MATCH (n) WHERE n.k IS NOT NULL RETURN labels(n)")
        assert sorted(found) == [(["A", "P", "Q", "X"],), (["B", "P", "Q", "Y"],)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("CREATE (n:!A)", "without ! % and"),
        ("CREATE (n:$any(['A']))", "without ! % and"),
        ("CREATE ()-[:$(['A', 'B'])]->()", r"\$\(...\) names 2"),
        ("CREATE (n:$(null))", "named by null"),
        ("CREATE (n:$(3))", "a string or a list of strings"),
        ("UNWIND [3] AS x CREATE (n:$(x))", "a string or a list of strings"),
        ("CREATE (n:$(''))", "at least one character"),
        ("MERGE (n:$('A'))", "in MERGE"),
        ("MATCH (n) SET n:$any(['A'])", "is a single name"),
        ("MATCH (n:$l) RETURN n", r"as in :\$\(\$l\)"),
        ("MATCH (n:A|B:C) RETURN n", "needs parentheses"),
        ("MATCH ()-[:A&B]->() RETURN 1", "has one type"),
        ("MATCH (n:" + "|".join(["(A&B)"] * 9) + ") RETURN n", "more than 64 alternatives"),
    ],
)
def test_wrong_labels(text: str, message: str) -> None:
    with gdb.connect() as db, pytest.raises(GdbError, match=message):
        db.execute(text)
