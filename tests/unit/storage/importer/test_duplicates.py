"""Nodes whose id is there already: an error, left out, or written over those that are there."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gdb
from gdb.errors import GdbError, ImportFailed
from gdb.repl import main

ALL = "MATCH (n:P) RETURN n.id, n.v, n.w"


def nodes(folder: Path, text: str, name: str = "p.csv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def rows(db: gdb.Database, query: str = ALL) -> list[tuple[object, ...]]:
    return sorted(db.execute(query).fetchall(), key=str)


def test_an_error_names_the_cure_and_stores_nothing(tmp_path: Path) -> None:
    file = nodes(tmp_path, "id,v\n1,a\n2,b\n1,c\n")
    with gdb.connect() as db:
        with pytest.raises(ImportFailed, match="node id 1 occurs twice") as failed:
            db.load(nodes={"P": file})
        assert all(cure in str(failed.value) for cure in ('on_duplicate="skip"', 'on_error="skip"'))
        assert rows(db) == []


@pytest.mark.parametrize("text", [False, True])
@pytest.mark.parametrize("choice", ["skip", "update"])
def test_many_loads_are_as_a_dict(
    choice: str, text: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("loads")
    line = st.tuples(st.integers(0, 6), st.none() | st.integers(0, 99))
    loads = st.lists(st.lists(line, min_size=1, max_size=6), min_size=1, max_size=3)

    @given(loads)
    def check(loads: list[list[tuple[int, int | None]]]) -> None:
        held: dict[object, object] = {}
        changed, seen = 0, 0
        with gdb.connect() as db:
            for lines in loads:
                before, touched = set(held), set[object]()
                cells = []
                for number, value in lines:
                    key: object = f"k{number}" if text else number
                    cells.append(f"{key},{'' if value is None else value}")
                    if choice == "update" or key not in held:
                        held[key] = value
                    touched.add(key)
                changed = len(touched & before) if choice == "update" else 0
                body = "\n".join(cells)
                file = nodes(folder, f"id:ID,v:int\n{body}\n")
                report = db.load(nodes={"P": file}, on_duplicate=choice)  # type: ignore[arg-type]
                assert report.vertices == len(held) - seen
                assert report.updated == changed
                seen = len(held)
            assert dict(db.execute("MATCH (n:P) RETURN n.id, n.v").fetchall()) == held

    check()


def test_update_keeps_other_properties_labels_and_relationships(tmp_path: Path) -> None:
    with gdb.connect() as db:
        db.execute("CREATE (:Other {id: 0})")
        edges = nodes(tmp_path, "source,target\n1,2\n2,1\n", "k.csv")
        db.load(nodes={"P:Q": nodes(tmp_path, "id,v\n1,1\n2,2\n")}, edges={"K:P:P": edges})
        more = nodes(tmp_path, "id,w,at:LABEL\n2,x,New\n3,y,New\n", "q.csv")
        report = db.load(
            nodes={"P": more},
            edges={"K:P:P": edges},
            id_space="P",
            on_duplicate="update",
            multi_edges="drop",
        )
        assert (report.vertices, report.updated, report.edges) == (1, 1, 0)
        assert "updated 1 nodes" in str(report)
        assert rows(db) == [(1, 1, None), (2, 2, "x"), (3, None, "y")]
        assert rows(db, "MATCH (n:Q) RETURN n.id") == [(1,), (2,)]
        assert rows(db, "MATCH (n:New) RETURN n.id") == [(3,)]
        assert rows(db, "MATCH (a)-[:K]->(b) RETURN a.id, b.id") == [(1, 2), (2, 1)]


def test_integers_and_floats_become_floats(tmp_path: Path) -> None:
    with gdb.connect() as db:
        db.load(nodes={"P": nodes(tmp_path, "id,v\n1,1\n2,2\n")})
        db.load(nodes={"P": nodes(tmp_path, "id,v\n2,2.5\n")}, on_duplicate="update")
        assert rows(db, "MATCH (n:P) RETURN n.id, n.v") == [(1, 1.0), (2, 2.5)]


def test_a_value_of_another_type_is_refused(tmp_path: Path) -> None:
    with gdb.connect() as db:
        db.load(nodes={"P": nodes(tmp_path, "id,v\n1,1\n2,2\n")})
        with pytest.raises(ImportFailed, match="v") as failed:
            db.load(nodes={"P": nodes(tmp_path, "id,v\n3,x\n2,x\n")}, on_duplicate="update")
        assert failed.value.line in (2, 3)
        assert rows(db, "MATCH (n:P) RETURN n.id, n.v") == [(1, 1), (2, 2)]


def test_a_stored_graph_is_loaded_twice_by_the_shell(tmp_path: Path) -> None:
    file = nodes(tmp_path, "id,v\n1,a\n2,b\n")
    edges = nodes(tmp_path, "source,target\n1,2\n", "k.csv")
    words = ["load", str(tmp_path / "s.gdb"), "--nodes", f"P={file}", "--edges", f"K:P:P={edges}"]
    assert main.main(words) == 0
    assert main.main(words) == 1
    assert main.main([*words, "--on-duplicate", "update", "--multi-edges", "drop"]) == 0
    with gdb.connect(tmp_path / "s.gdb") as db:
        assert rows(db, "MATCH (a:P)-[:K]->(b:P) RETURN a.v, b.v") == [("a", "b")]


def test_copy_takes_it_and_other_choices_are_refused(tmp_path: Path) -> None:
    file = str(nodes(tmp_path, "id,v\n1,a\n1,b\n"))
    with gdb.connect() as db:
        db.execute("COPY (:P) FROM $f OPTIONS {on_duplicate: 'skip'}", {"f": file})
        assert rows(db, "MATCH (n:P) RETURN n.v") == [("a",)]
        with pytest.raises(GdbError, match="on_duplicate='upsert' is not a choice"):
            db.load(nodes={"P": file}, on_duplicate="upsert")  # type: ignore[arg-type]


@pytest.mark.parametrize("with_edges", [False, True])
@pytest.mark.parametrize("again", [False, True])
def test_nodes_are_found_in_the_space_where_their_label_is(
    tmp_path: Path, with_edges: bool, again: bool
) -> None:
    """Whether the first call, or the second, loads relationships that name the label as their ends, or not."""
    file, edges = (
        nodes(tmp_path, "id,v\n1,a\n2,b\n"),
        nodes(tmp_path, "source,target\n1,2\n", "k.csv"),
    )
    more = nodes(tmp_path, "id,v\n2,c\n3,d\n", "q.csv")
    joined = {"K:P:P": edges}
    with gdb.connect() as db:
        db.load(nodes={"P": file}, edges=joined if with_edges else None)
        for path in (file, more):
            with pytest.raises(ImportFailed, match="is there already"):
                db.load(nodes={"P": path}, edges=joined if again else None)
        db.load(nodes={"P": more}, edges=joined if again else None, on_duplicate="update")
        assert rows(db, "MATCH (n:P) RETURN n.id, n.v") == [(1, "a"), (2, "c"), (3, "d")]
        db.load(nodes={"P": file}, id_space="others")  # said so, they are others
        assert db.execute("MATCH (n:P) RETURN count(*)").scalar() == 5


def test_documents_are_in_the_space_of_their_label_too(tmp_path: Path) -> None:
    people = nodes(tmp_path, '{"id": 1, "v": "a"}\n{"id": 2, "v": "b"}\n', "p.jsonl")
    edges = nodes(tmp_path, "source,target\n1,2\n", "k.csv")
    with gdb.connect() as db:
        db.load(nodes={"P": people}, edges={"K:P:P": edges})
        with pytest.raises(ImportFailed, match="occurs twice"):
            db.load(nodes={"P": people})
        db.load(nodes={"P": people}, on_duplicate="skip")
        assert db.execute("MATCH (n:P) RETURN count(*)").scalar() == 2
