"""Files of relationships named with the labels of their ends, as LDBC's are."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

import gdb
from gdb.errors import GdbError, ImportFailed
from gdb.repl import main

NODES = {
    "Person": "id|firstName\n1|Ada\n2|Bob\n3|Cy\n",
    "Post": "id|content\n1|first\n2|second\n",
    "Comment": "id|content\n1|yes\n2|no\n",
    "Forum": "id|title\n1|maths\n",
    "Tag": "id|name\n1|numbers\n",
    "Place": "id|name\n1|Rome\n2|Italy\n",
}
# of each file of relationships what follows the header
EDGES = {
    "KNOWS:Person:Person": "1|2|2010-01-01\n2|3|2011-01-01\n",
    "LIKES:Person:Post": "1|2|2010-01-01\n",
    "LIKES:Person:Comment": "2|1|2010-01-01\n",
    "REPLY_OF:Comment:Post": "1|1\n",
    "REPLY_OF:Comment:Comment": "2|1\n",
    "HAS_CREATOR:Post:Person": "1|3\n2|3\n",
    "HAS_CREATOR:Comment:Person": "1|1\n2|2\n",
    "HAS_TAG:Post:Tag": "1|1\n",
    "HAS_TAG:Comment:Tag": "2|1\n",
    "HAS_INTEREST:Person:Tag": "3|1\n",
    "CONTAINER_OF:Forum:Post": "1|1\n1|2\n",
    "HAS_MEMBER:Forum:Person": "1|1|2010-01-01\n",
    "IS_LOCATED_IN:Person:Place": "1|1\n",
    "IS_PART_OF:Place:Place": "1|2\n",
}


def ldbc(folder: Path) -> tuple[dict[str, Path], dict[str, Path]]:
    """Files as LDBC's generator writes them: ids overlap between labels, a header names the labels of both ends."""
    nodes, edges = {}, {}
    for label, text in NODES.items():
        nodes[label] = folder / f"{label.lower()}_0_0.csv"
        nodes[label].write_text(text, encoding="utf-8")
    for key, rows in EDGES.items():
        name, start, end = key.split(":")
        more = "|creationDate" * (rows.split("\n", 1)[0].count("|") - 1)
        edges[key] = folder / f"{start}_{name}_{end}_0_0.csv".lower()
        edges[key].write_text(f"{start}.id|{end}.id{more}\n{rows}", encoding="utf-8")
    return nodes, edges


def expected() -> list[tuple[object, ...]]:
    found: list[tuple[object, ...]] = []
    for key, rows in EDGES.items():
        name, start, end = key.split(":")
        for row in rows.split():
            a, b, *_ = row.split("|")
            found.append((name, start, int(a), end, int(b)))
    return sorted(found)


ALL = "MATCH (a)-[r]->(b) RETURN type(r), labels(a)[0], a.id, labels(b)[0], b.id"


def rows(db: gdb.Database, query: str) -> list[tuple[object, ...]]:
    return sorted(db.execute(query).fetchall())


def test_python_loads_fourteen_files_between_labels(tmp_path: Path) -> None:
    nodes, edges = ldbc(tmp_path)
    with gdb.connect() as db:
        db.load(nodes=nodes, edges=edges)
        assert rows(db, ALL) == expected()
        (date,) = {row[0] for row in db.execute("MATCH ()-[r:LIKES]->() RETURN r.creationDate")}
        assert str(date) == "2010-01-01"


def test_the_shell_loads_them_in_one_command(tmp_path: Path) -> None:
    nodes, edges = ldbc(tmp_path)
    words = ["load", str(tmp_path / "s.gdb")]
    for label, path in nodes.items():
        words += ["--nodes", f"{label}={path}"]
    for key, path in edges.items():
        words += ["--edges", f"{key}={path}"]
    assert main.main(words) == 0
    with gdb.connect(tmp_path / "s.gdb") as db:
        assert rows(db, ALL) == expected()


def test_copy_names_the_ends_in_its_pattern(tmp_path: Path) -> None:
    nodes, edges = ldbc(tmp_path)
    with gdb.connect() as db:
        for label in ("Person", "Place"):
            db.execute(
                f"COPY (:{label}) FROM $file OPTIONS {{id_space: $space}}",
                {"file": str(nodes[label]), "space": label},
            )
        for key in ("KNOWS:Person:Person", "IS_LOCATED_IN:Person:Place"):
            name, start, end = key.split(":")
            copy = f"COPY (:{start})-[:{name}]->(:{end}) FROM $file"
            db.execute(copy, {"file": str(edges[key])})
        wanted = [row for row in expected() if row[0] in ("KNOWS", "IS_LOCATED_IN")]
        assert rows(db, ALL) == wanted


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("(:Person)-[:KNOWS]->()", "one end"),
        ("()-[:KNOWS]->(:Person)", "one end"),
        ("(:Person:A)-[:KNOWS]->(:Person)", "one label"),
        ("(:Person)<-[:KNOWS]-(:Person)", "from the first"),
    ],
)
def test_copy_refuses_other_ends(pattern: str, reason: str) -> None:
    with gdb.connect() as db, pytest.raises(GdbError, match=reason):
        db.execute(f"COPY {pattern} FROM 'k.csv'")


def test_copy_takes_ends_once() -> None:
    with gdb.connect() as db, pytest.raises(GdbError, match="ends are in the pattern and in"):
        db.execute("COPY (:A)-[:T]->(:B) FROM 'k.csv' OPTIONS {ends: ['A', 'B']}")


def test_nodes_that_are_there_already_are_found_in_their_own_space(tmp_path: Path) -> None:
    nodes, edges = ldbc(tmp_path)
    with gdb.connect() as db:
        db.load(nodes={"Person": nodes["Person"]})  # in the space without a name
        db.load(edges={("KNOWS", "Person", "Person"): edges["KNOWS:Person:Person"]})
        assert rows(db, ALL) == [row for row in expected() if row[0] == "KNOWS"]
        assert db.execute("MATCH (n) RETURN count(*)").scalar() == 3


def test_ends_of_several_labels(tmp_path: Path) -> None:
    nodes, edges = ldbc(tmp_path)
    with gdb.connect() as db:
        db.load(
            nodes={"Post:Message": nodes["Post"], "Tag": nodes["Tag"]},
            edges={"HAS_TAG:Message:Tag": edges["HAS_TAG:Post:Tag"]},
        )
        query = "MATCH (p:Post:Message)-[:HAS_TAG]->(t:Tag) RETURN p.content, t.name"
        assert rows(db, query) == [("first", "numbers")]


@pytest.mark.parametrize(("key", "ids"), [("name", ["x", "y"]), ("id", [1, 2]), ("number", [1, 2])])
def test_nodes_that_are_made_have_label_and_id(tmp_path: Path, key: str, ids: list[object]) -> None:
    nodes, edges = tmp_path / "p.csv", tmp_path / "d.csv"
    nodes.write_text(f"{key}:ID,size:int\n{ids[0]},7\n", encoding="utf-8")
    edges.write_text(f"source,target\n{ids[0]},{ids[1]}\n", encoding="utf-8")
    with gdb.connect() as db:
        db.load(
            nodes={"Package": nodes},
            edges={"NEEDS:Package:Package": edges},
            missing_ends="create",
        )
        query = f"MATCH (p:Package {{{key}: $id}}) RETURN p.size"
        assert [db.execute(query, {"id": one}).scalar() for one in ids] == [7, None]


def test_relationships_alone_make_nodes_of_both_labels(tmp_path: Path) -> None:
    edges = tmp_path / "lives.csv"
    edges.write_text("Person.id,City.id\n1,1\n2,1\n", encoding="utf-8")
    with gdb.connect() as db:
        db.load(edges={"LIVES_IN:Person:City": edges})
        assert rows(db, ALL) == [
            ("LIVES_IN", "Person", 1, "City", 1),
            ("LIVES_IN", "Person", 2, "City", 1),
        ]


def test_a_missing_end_is_refused_where_nodes_were_loaded(tmp_path: Path) -> None:
    nodes, edges = ldbc(tmp_path)
    edges["IS_PART_OF:Place:Place"].write_text("Place.id|Place.id\n1|9\n", encoding="utf-8")
    with gdb.connect() as db:
        with pytest.raises(ImportFailed, match="no node with id 9 in id space 'Place'"):
            db.load(nodes=nodes, edges=edges)
        assert db.execute("MATCH (n) RETURN count(*)").scalar() == 0


@pytest.mark.parametrize("key", ["KNOWS:Person", "A:B:C:D", "KNOWS::Person", ("A", "B"), 7])
def test_other_keys_are_refused(tmp_path: Path, key: object) -> None:
    _, edges = ldbc(tmp_path)
    with gdb.connect() as db, pytest.raises(ImportFailed, match="TYPE:START:END"):
        db.load(edges=cast(Any, {key: edges["KNOWS:Person:Person"]}))


def test_nodes_do_not_name_a_column_twice(tmp_path: Path) -> None:
    file = tmp_path / "n.csv"
    file.write_text("Person.id,Person.id\n1,2\n", encoding="utf-8")
    with gdb.connect() as db, pytest.raises(ImportFailed, match=r"'Person.id' twice"):
        db.load(nodes={"Person": file})
