"""Rows by name, values by type, elements as mappings, and what is shown of a result."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from datetime import date
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import gdb
from gdb import Node, Relationship
from gdb.answer.result import Result
from gdb.answer.rows import RowAnswer


@pytest.fixture
def db() -> gdb.Database:
    made = gdb.connect()
    made.execute(
        "CREATE (a:Person {name: 'Ada', keys: 1})-[:KNOWS {since: 1833, type: 'x'}]->(:Person {name: 'Bob'})"
    )
    return made


def one(db: gdb.Database, text: str) -> gdb.Row:
    return db.execute(text).single()


# ---- rows ------------------------------------------------------------------------------------------


def test_a_row_is_a_tuple_with_names(db: gdb.Database) -> None:
    found = one(db, "RETURN 1 AS x, 'a' AS name")
    assert tuple(found) == (1, "a")
    assert (found[0], found["x"], found.x, found["name"], found.name) == (1, 1, 1, "a", "a")
    assert dict(found) == {"x": 1, "name": "a"}
    assert found[:1] == (1,)
    x, name = found
    assert (x, name) == (1, "a")


def test_all_that_gives_single_rows_gives_names(db: gdb.Database) -> None:
    found = db.execute("UNWIND [1, 2, 3, 4] AS x RETURN x")
    assert [one.x for one in found] == [1, 2, 3, 4]
    first = found.fetchone()
    assert first is not None
    assert first.x == 1
    assert [one["x"] for one in found.fetchmany(2)] == [2, 3]
    assert found.fetchall() == [(4,)]
    assert [one["x"] for one in found.head(2)] == [1, 2]


def test_fetchall_gives_plain_tuples(db: gdb.Database) -> None:
    found = db.execute("UNWIND range(1, 40000) AS x RETURN x, toString(x) AS t")
    rows = found.fetchall()
    assert {type(one) for one in rows} == {tuple}
    assert rows == list(found) == [(x, str(x)) for x in range(1, 40001)]


def test_a_name_that_a_tuple_has_is_the_column(db: gdb.Database) -> None:
    found = one(db, "RETURN 7 AS count, 8 AS index, 9 AS keys, 10 AS `a b`, 11 AS __class__")
    assert (found.count, found.index) == (7, 8)
    assert found["keys"] == 9
    assert found.keys() == ("count", "index", "keys", "a b", "__class__")
    assert found["a b"] == 10
    assert found["__class__"] == 11
    assert isinstance(found, gdb.Row)


def test_a_column_that_is_not_there_is_named_with_the_nearest(db: gdb.Database) -> None:
    found = one(db, "RETURN 1 AS name")
    with pytest.raises(KeyError, match=r"^the row has no column 'nmae'. Did you mean name\?$"):
        found["nmae"]
    with pytest.raises(gdb.NoSuchColumn):
        found["nmae"]
    with pytest.raises(AttributeError, match="Did you mean name"):
        _ = found.nmae
    with pytest.raises(IndexError):
        found[1]


def test_rows_are_pickled_and_copied(db: gdb.Database) -> None:
    found = one(db, "MATCH (a)-[r]->(b) RETURN a, r, a.name AS n")
    for again in (pickle.loads(pickle.dumps(found)), copy.deepcopy(found), copy.copy(found)):
        assert again == found
        assert again.n == "Ada"
        assert again["a"].name == "Ada"


def test_results_of_the_same_columns_share_a_class(db: gdb.Database) -> None:
    assert type(one(db, "RETURN 1 AS x")) is type(one(db, "RETURN 2 AS x"))


def test_dicts_are_rows_by_name(db: gdb.Database) -> None:
    found = db.execute("UNWIND [1, 2] AS x RETURN x, x + 1 AS y")
    assert found.dicts() == [{"x": 1, "y": 2}, {"x": 2, "y": 3}]


# ---- scalar ----------------------------------------------------------------------------------------


def test_a_scalar_is_of_the_type_that_is_asked_for(db: gdb.Database) -> None:
    assert db.execute("RETURN 3").scalar(int) == 3
    assert type(db.execute("RETURN 3").scalar(float)) is float
    assert db.execute("RETURN true").scalar(bool) is True
    assert db.execute("MATCH (n {name: 'Ada'}) RETURN n").scalar(Node).name == "Ada"


@pytest.mark.parametrize(
    ("value", "kind", "said"),
    [
        ("'3'", int, "is of type str, not of type int"),
        ("true", int, "is of type bool, not of type int"),
        ("3.0", int, "is of type float, not of type int"),
        ("null", str, "is null, not of type str"),
    ],
)
def test_a_scalar_of_another_type_is_refused(
    db: gdb.Database, value: str, kind: type, said: str
) -> None:
    with pytest.raises(TypeError, match=f"column 'x' {said}"):
        db.execute(f"RETURN {value} AS x").scalar(kind)


@pytest.mark.parametrize("kind", [list[int], "int"])
def test_a_scalar_of_what_is_no_class_is_refused(db: gdb.Database, kind: Any) -> None:
    with pytest.raises(gdb.TypeProblem, match="takes a type such as int or list, not"):
        db.execute("RETURN [1] AS x").scalar(kind)


def test_a_scalar_of_no_row_is_none_or_refused(db: gdb.Database) -> None:
    none = "UNWIND [] AS x RETURN x"
    assert db.execute(none).scalar() is None
    with pytest.raises(gdb.NotOneRow):
        db.execute(none).scalar(int)


# ---- elements --------------------------------------------------------------------------------------


def test_elements_are_mappings_of_their_properties(db: gdb.Database) -> None:
    found = one(db, "MATCH (a {name: 'Ada'})-[r]->(b) RETURN a, r, b")
    assert dict(found.a) == {"keys": 1, "name": "Ada"}
    assert (found.a.name, found.a["keys"], [*found.a.keys()]) == ("Ada", 1, ["keys", "name"])
    assert {**found.r} == {"since": 1833, "type": "x"}
    assert (found.r.since, found.r.type, found.r["type"]) == (1833, "KNOWS", "x")
    assert (found.r.start, found.r.end) == (found.a.id, found.b.id)
    assert "name" in found.b
    assert found.b.get("keys") is None
    with pytest.raises(AttributeError, match="no attribute or property 'nope'"):
        _ = found.a.nope


def test_an_element_without_properties_is_true() -> None:
    assert Node(1)
    assert len(Node(1)) == 0
    assert Relationship(1, "R", 1, 2)


def test_elements_are_equal_as_elements_not_as_mappings() -> None:
    assert Node(1, (), {"a": 1}) != {"a": 1}
    assert Node(1, (), {"a": 1}) == Node(1)
    assert hash(Node(1, (), {"a": 1})) == hash(Node(1))


def test_a_path_is_a_sequence_of_its_relationships(db: gdb.Database) -> None:
    path = one(db, "MATCH p = ({name: 'Ada'})-[]->() RETURN p").p
    assert [step.type for step in path] == ["KNOWS"]
    assert path[0] is path.relationships[0]
    assert (len(path), path.start["name"], path.end["name"]) == (1, "Ada", "Bob")


def test_an_element_is_no_parameter(db: gdb.Database) -> None:
    with pytest.raises(gdb.TypeProblem, match="is of the Python type Node"):
        db.execute("RETURN $n", {"n": Node(1)})


# ---- arrays ----------------------------------------------------------------------------------------


def test_columns_are_arrays_of_numpy(db: gdb.Database) -> None:
    found = db.execute(
        "UNWIND [[1, 1.5, 'a', true, date('2020-01-02')], [2, 2.5, 'b', false, date('2020-01-03')]]"
        " AS v RETURN v[0] AS i, v[1] AS f, v[2] AS s, v[3] AS b, v[4] AS d"
    ).numpy()
    kinds = {name: str(column.dtype) for name, column in found.items()}
    assert kinds == {
        "i": "int64",
        "f": "float64",
        "s": "object",
        "b": "bool",
        "d": "datetime64[D]",
    }
    assert found["i"].tolist() == [1, 2]
    assert found["d"].tolist() == [date(2020, 1, 2), date(2020, 1, 3)]


def test_nulls_are_masked_in_numpy(db: gdb.Database) -> None:
    column = db.execute("UNWIND [1, null, 3] AS x RETURN x").numpy()["x"]
    assert isinstance(column, np.ma.MaskedArray)
    assert column.dtype == np.int64
    assert column.sum() == 4
    texts = db.execute("UNWIND ['a', null] AS x RETURN x").numpy()["x"]
    assert texts.tolist() == ["a", None]


def test_elements_stay_objects_in_numpy_and_pandas(db: gdb.Database) -> None:
    found = db.execute("MATCH (n:Person) RETURN n ORDER BY n.name")
    assert [node.name for node in found.numpy()["n"]] == ["Ada", "Bob"]
    pytest.importorskip("pandas")
    assert [node.name for node in found.df()["n"]] == ["Ada", "Bob"]


def test_large_integers_stay_exact_in_numpy() -> None:
    column = Result(RowAnswer(["x"], [(2**70,), (1,)])).numpy()["x"]
    assert column.tolist() == [2**70, 1]
    mixed = Result(RowAnswer(["x"], [(2**53 + 1,), (0.5,)])).numpy()["x"]
    assert mixed.tolist() == [2**53 + 1, 0.5]


# ---- what is shown ---------------------------------------------------------------------------------


def test_a_result_is_shown_as_a_table(db: gdb.Database) -> None:
    found = db.execute("UNWIND range(1, 1234) AS x RETURN x, 'a' + toString(x) AS name")
    lines = repr(found).splitlines()
    assert [line.split() for line in lines[:2]] == [["x", "name"], ["integer", "string"]]
    assert [line.split() for line in lines[3:13]] == [[str(x), f"a{x}"] for x in range(1, 11)]
    assert lines[13].startswith("(1,234 rows in ")
    assert lines[13].endswith("ms, the first 10 shown)")
    assert len(lines) == 14
    assert str(found) == repr(found)


def test_showing_a_result_does_not_move_its_cursor(db: gdb.Database) -> None:
    found = db.execute("UNWIND range(1, 3) AS x RETURN x")
    found.fetchone()
    repr(found)
    assert found.fetchall() == [(2,), (3,)]


def test_few_rows_no_rows_and_no_columns_are_shown(db: gdb.Database) -> None:
    assert "(1 row in " in repr(db.execute("RETURN 1 AS x"))
    none = repr(db.execute("MATCH (n:Person {name: 'x'}) RETURN n.name"))
    assert none.splitlines()[:2] == ["n.name", "------"]
    assert "(0 rows" in none
    assert repr(db.execute("CREATE (:T)")).startswith("1 node created, 1 label added")


@pytest.mark.filterwarnings("ignore::gdb.errors.QueryWarning")
def test_warnings_are_shown_with_the_rows(db: gdb.Database) -> None:
    found = db.execute("MATCH (n:Persn) RETURN n")
    assert "Did you mean :Person?" in repr(found)
    assert "Did you mean :Person?" in found._repr_html_()


def test_html_is_escaped_and_well_formed(db: gdb.Database) -> None:
    nasty = "<b>&\"'\n\x00]]></td>" + "é" * 500
    found = Result(RowAnswer(["<i>", "n"], [(nasty, 1), (None, 2)]))
    shown = found._repr_html_()
    assert "<b>" not in shown
    assert "<i>" not in shown
    parsed = ElementTree.fromstring(f"<div>{shown}</div>")
    assert len(parsed.findall(".//tr")) == 3
    cell = parsed.findall(".//td")[0]
    assert len("".join(cell.itertext())) <= 100
    assert "é" * 200 in cell.attrib["title"]


# ---- types -----------------------------------------------------------------------------------------

SAMPLE = """
import gdb

db = gdb.connect()
r = db.execute("MATCH (n) RETURN n.name AS name, n AS n")
total: int = db.execute("RETURN 1").scalar(int)
name: str = r.single()["name"]
length = len(r.single().name)
for row in r:
    label: str = row["n"]["name"].upper()
    twice: int = row[0] * 2
    first, second = row
    more: int = row.count + 1
node = r.scalar(gdb.Node)
age: int = node["age"] + 1
text: str = node.labels[0].upper()
for values in r.fetchall():
    shown: str = values[0].upper()
for record in r.dicts():
    born: int = record["born"] + 1
mean: float = r.numpy()["born"].mean()
try:
    db.execute("x")
except gdb.QueryError as error:
    place: int | None = error.line
    cure: str = error.hint
"""

WRONG = """
import gdb

text: str = gdb.connect().execute("RETURN 1").scalar(int)
"""


@pytest.mark.parametrize(("program", "errors"), [(SAMPLE, 0), (WRONG, 1)])
def test_programs_need_no_casts(
    program: str, errors: int, tmp_path: Path, repository: Path
) -> None:
    """What a strict type checker says of a program that reads values of results."""
    path = tmp_path / "program.py"
    path.write_text(program, encoding="utf-8")
    done = subprocess.run(
        [
            *(sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", str(path)),
            *(
                "--cache-dir",
                str(repository / ".mypy_cache" / "programs"),
                "--explicit-package-bases",
            ),
            *("--ignore-missing-imports", "--config-file="),
        ],
        cwd=repository,
        capture_output=True,
        text=True,
    )
    found = [line for line in done.stdout.splitlines() if "error:" in line]
    assert len(found) == errors, done.stdout + done.stderr
