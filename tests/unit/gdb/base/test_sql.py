"""SQL is written in one way: trees of `gdb.base.sql`, which sqlglot's generator writes."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gdb.base import sql
from gdb.base.sql import Value, aliased, binary, column_of, exp, select, value_of, written
from tests.project.test_house import ROOMS, sources, text_of

# What no sentence and no Cypher has. A statement without a variable part may be a constant.
WORDS = re.compile(
    r"""\b(?: SELECT | JOIN | GROUP\ BY | INSERT\ INTO | DELETE\ FROM | (?:DROP|ALTER)\ TABLE | DESCRIBE
    | CREATE\ (?:OR\ REPLACE\ |TEMP|TABLE|VIEW) | COPY\ \( | FROM\ \( | SET\ (?:GLOBAL|SESSION|LOCAL)
    | CASE\ WHEN | (?:NOT\ )?BETWEEN | HAVING | PRAGMA )(?:\b|(?<=\())
    | \b(?: (?:TRY_)?CAST | OVER | coalesce | nullif | unnest | regexp_\w+ | list_\w+ | array_\w+ | read_\w+
    | row_number | generate_\w+ | string_split | epoch_\w+ | make_timestamp )\ ?\(
    | ::(?:BIGINT|HUGEINT|VARCHAR|DOUBLE|TIMESTAMP|DATE|BOOLEAN)\b""",
    re.VERBOSE,
)
# between the parts of one constant
BETWEEN = re.compile(r"""["'](?:\s|#.*\n)*[rbf]*["']""")
SQL_MODULE = Path("gdb/base/sql.py")
DUCKDB = duckdb.connect()


def texts_in(node: ast.expr, constants: dict[str, str]) -> Iterator[str]:
    """The texts that an expression is composed of: those in it, and those that its names mean."""
    for part in ast.walk(node):
        if isinstance(part, ast.Constant) and isinstance(part.value, str):
            yield part.value
        elif isinstance(part, ast.Name) and part.id in constants:
            yield constants[part.id]


def composed(node: ast.AST) -> ast.expr | None:
    """The expression, if it composes a text of others."""
    match node:
        case ast.JoinedStr():
            return node
        case ast.BinOp(op=ast.Add() | ast.Mod()):
            return node
        case ast.Call(func=ast.Attribute(attr="format" | "format_map" | "join" | "replace")):
            return node
    return None


def pasted(source: str) -> list[int]:
    """The lines of a module in which SQL is composed as text."""
    if not WORDS.search(BETWEEN.sub("", source.replace("\\n", " "))):
        return []  # only few modules have such words anywhere
    tree = ast.parse(source)
    constants = {
        target.id: node.value.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        for target in node.targets
        if isinstance(target, ast.Name) and isinstance(node.value.value, str)
    }
    nodes = [found for node in ast.walk(tree) if (found := composed(node)) is not None]
    return [n.lineno for n in nodes if any(map(WORDS.search, texts_in(n, constants)))]


def test_nothing_else_composes_sql(repository: Path) -> None:
    found = []
    for path in sources(repository):
        place = path.relative_to(repository)
        if place.parts[0] in ROOMS and place != SQL_MODULE:
            found += [f"{place}:{line}" for line in pasted(text_of(path))]
    assert not found, "write it with gdb.base.sql"


@pytest.mark.parametrize(
    "source",
    [
        "f'SELECT {a} FROM t'",
        "f'CREATE TEMP TABLE {a} AS ' + b",
        "f'coalesce({a}, 0)'",
        "'DROP TABLE ' + a",
        "'CAST(%s AS BIGINT)' % a",
        "'SELECT {} FROM t'.format(a)",
        "' LEFT JOIN '.join(a)",
        "READ = 'SELECT * FROM read_csv(?'\nf'{READ}, {a})'",
        "f'{a}::BIGINT'",
    ],
)
def test_composed_sql_is_found(source: str) -> None:
    assert pasted(source)


@pytest.mark.parametrize(
    "source",
    [
        "'SELECT * FROM t'",
        "f'{a} WHERE {b}'",
        "f'UNION of several types of {a!r} is'",
        "f'{a} AS {b}'",
    ],
)
def test_constants_sentences_and_cypher_are_not(source: str) -> None:
    assert not pasted(source)


def test_nothing_else_imports_sqlglot(repository: Path) -> None:
    """No other module has nodes that are not those of `gdb.base.sql`, or another generator."""
    found = []
    for path in sources(repository):
        place = path.relative_to(repository)
        if place.parts[0] in ROOMS and place != SQL_MODULE and "sqlglot" in text_of(path):
            for node in ast.walk(ast.parse(text_of(path))):
                names: list[str] = []
                if isinstance(node, ast.Import):
                    names = [name.name for name in node.names]
                elif isinstance(node, ast.ImportFrom):
                    names = [node.module or ""]
                elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                    given = [a.value for a in node.args if isinstance(a, ast.Constant)]
                    names = [str(v) for v in given] if node.func.id == "deferred" else []
                found += [str(place) for name in names if name.partition(".")[0] == "sqlglot"]
    assert not found


# ---- gdb.base.sql --------------------------------------------------------------------------------


def answer(*columns: sql.Part) -> tuple[object, ...]:
    (row,) = DUCKDB.cursor().execute(written(select(columns))).fetchall()
    return tuple(row)


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"])))
def test_texts_are_literals(text: str) -> None:
    assert answer(value_of(text)) == (text,)


@given(st.text(alphabet=st.characters(exclude_categories=["Cs", "Cc"]), min_size=1))
def test_names_are_names(name: str) -> None:
    cursor = DUCKDB.cursor().execute(written(select([aliased(value_of(1), name)])))
    assert [told[0] for told in cursor.description] == [name]
    inner = select([aliased(value_of(1), name)])
    assert DUCKDB.cursor().execute(written(select([name], inner))).fetchall() == [(1,)]


@pytest.mark.parametrize(
    "value",
    [0, -1, (1 << 63) - 1, 1.5, -1e300, True, False, None, ["a", "b'"], [[1], []], {"a b": "'"}],
)
def test_values_come_back(value: Value) -> None:
    assert answer(value_of(value)) == (value,)


def test_words_of_sql_are_names() -> None:
    """Those that we make up are unquoted; every other one is in quotes."""
    assert written(select(["c0", "select", 'a"b'], "order")) == (
        'SELECT c0, "select", "a""b" FROM "order"'
    )


def test_a_tree_is_written_again_as_it_was() -> None:
    """The generator changes nothing, and a node may occur in several places."""
    column = column_of("c0")
    inner = select(
        [column, aliased(sql.call("f", column), "o1")], "t", where=[sql.is_there(column)]
    )
    both = sql.united(inner, select([column], inner, "r1", limit=2, offset=1), every=True)
    assert written(both) == written(both) == written(both.copy())


def test_a_deep_nest_is_written() -> None:
    query = select([aliased(value_of(1), "c0")])
    for _ in range(400):
        query = select([aliased(binary(exp.Add, "c0", value_of(1)), "c0")], query)
    assert DUCKDB.cursor().execute(written(query)).fetchall() == [(401,)]


def test_a_long_chain_is_written() -> None:
    ones = [value_of(1)] * 900
    assert answer(binary(exp.Add, *ones)) == (900,)
    assert answer(binary(exp.Sub, value_of(9), value_of(3), value_of(2))) == (4,)
    assert answer(binary(exp.Sub, value_of(9), binary(exp.Sub, value_of(3), value_of(2)))) == (8,)


def test_a_statement_is_written_once(monkeypatch: pytest.MonkeyPatch) -> None:
    texts: list[str] = []

    def noted(tree: exp.Expr) -> str:
        texts.append(written(tree))
        return texts[-1]

    monkeypatch.setattr(sql, "written", noted)
    statement = sql.SqlText(select(["c0"], "r1"))
    assert texts == []
    assert [str(statement), str(statement)] == ["SELECT c0 FROM r1"] * 2
    assert len(texts) == 1
