"""The public face over real stores: files in, answers out, and what happens when something is wrong."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path
from typing import Any

import duckdb
import pytest

import gdb
from gdb import Database, Node, Relationship, errors
from gdb.storage import importer
from gdb.storage.format.manifest_head import FORMAT
from gdb.storage.write import build

# ---- questions and answers --------------------------------------------------------------------------


def test_a_pattern_is_counted(db: Database) -> None:
    text = "MATCH (a:Person)-[:KNOWS]->(b)-[:KNOWS]->(c), (a)-[:KNOWS]->(c) RETURN count(*)"
    result = db.execute(text)
    assert result.scalar() == 1
    assert len(result) == 1


def test_rows_are_sorted_skipped_and_limited(db: Database) -> None:
    text = "MATCH (n:Person) RETURN n.name AS name ORDER BY name DESC SKIP 1 LIMIT 2"
    result = db.execute(text)
    assert result.columns == ["name"]
    assert result.fetchall() == [("Dan",), ("Bob",)]


def test_limit_without_order_gives_that_many_rows(db: Database) -> None:
    assert len(db.execute("MATCH (a)-->(b) RETURN a, b LIMIT 3")) == 3
    assert len(db.execute("MATCH (a)-->(b) RETURN a, b SKIP 4")) == 1
    assert len(db.execute("MATCH (a)-->(b) RETURN a LIMIT 0")) == 0


def test_distinct(db: Database) -> None:
    rows = db.execute("MATCH (a)-[:KNOWS]->(b) RETURN DISTINCT a.name").fetchall()
    assert sorted(rows) == [("Ada",), ("Bob",), ("Zoë",)]


def test_nulls_are_none_and_last(db: Database) -> None:
    rows = db.execute("MATCH (n:Person) RETURN n.age ORDER BY n.age").fetchall()
    assert rows == [(20,), (36,), (41,), (None,)]
    assert db.execute("MATCH (n) WHERE n.age IS NULL RETURN n.name").fetchall() == [("Bob",)]
    assert db.execute("MATCH (n) WHERE n.age > 0 RETURN count(*)").scalar() == 3


def test_predicates_on_nodes_and_relationships(db: Database) -> None:
    text = "MATCH (a {name: $name})-[r:KNOWS]->(b) WHERE r.since > 1833 RETURN b.name"
    assert db.execute(text, {"name": "Ada"}).fetchall() == [("Zoë",)]


def test_a_comparison_between_two_nodes(db: Database) -> None:
    text = "MATCH (a)-[:KNOWS]->(b) WHERE a.age < b.age RETURN a.name, b.name"
    assert db.execute(text).fetchall() == [("Ada", "Zoë")]


def test_grouping_and_arithmetic(db: Database) -> None:
    text = "MATCH (a)-[:KNOWS]->(b) RETURN a.name AS name, count(*) AS n ORDER BY n DESC, name"
    assert db.execute(text).fetchall() == [("Ada", 2), ("Bob", 1), ("Zoë", 1)]
    text = "MATCH (a) WHERE a.age IS NOT NULL RETURN a.age * 2 + 1 AS x ORDER BY x"
    assert db.execute(text).fetchall() == [(41,), (73,), (83,)]


def test_nodes_and_relationships_are_values(db: Database) -> None:
    ((node, relationship),) = db.execute(
        "MATCH (a)-[r:KNOWS]->(b {name: 'Dan'}) RETURN a, r"
    ).fetchall()
    assert isinstance(node, Node)
    assert (node.id, node.labels) == (3, ("Admin", "Person"))
    assert node.properties == {"name": "Zoë", "age": 41}
    assert isinstance(relationship, Relationship)
    assert (relationship.type, relationship.start, relationship.end) == ("KNOWS", 3, 4)
    assert relationship.properties == {"weight": 1.5}


def test_the_same_node_in_two_answers_is_equal(db: Database) -> None:
    first = db.execute("MATCH (a {name: 'Ada'})-->() RETURN a").fetchall()
    second = db.execute("MATCH (a {name: 'Ada'}) RETURN a").scalar()
    assert {row[0] for row in first} == {second}


def test_nothing_found(db: Database) -> None:
    result = db.execute("MATCH (a {name: 'Nobody'})-->(b) RETURN a, b.name")
    assert len(result) == 0
    assert result.fetchall() == []
    assert db.execute("MATCH (a {name: 'Nobody'})-->(b) RETURN count(*)").scalar() == 0


def test_an_empty_graph_answers(tmp_path: Path) -> None:
    with gdb.connect() as db:
        assert db.execute("MATCH (a)-->(b) RETURN count(*)").scalar() == 0
        assert db.execute("MATCH (a) RETURN a").fetchall() == []
        assert str(db.schema()) == "The graph is empty."
        db.check()


def test_an_unknown_label_matches_nothing_and_warns(db: Database) -> None:
    result = db.execute("MATCH (a:Persn) RETURN count(*)")
    assert result.scalar() == 0
    assert any("Persn" in warning and "Person" in warning for warning in result.warnings)


def test_an_unknown_property_is_null_and_warns(db: Database) -> None:
    result = db.execute("MATCH (a:Person) RETURN a.nmae")
    assert result.fetchall() == [(None,)] * 4
    assert any("nmae" in warning and "name" in warning for warning in result.warnings)


def test_a_cross_product_works_and_warns(db: Database) -> None:
    result = db.execute("MATCH (a:Admin), (b:Person) RETURN count(*)")
    assert result.scalar() == 4
    assert any("cross product" in warning for warning in result.warnings)
    assert "cross product" in db.explain("MATCH (a), (b) RETURN count(*)")


def test_match_modes_by_argument_store_and_text(files: Path) -> None:
    path = "MATCH (a)-[r]->(b)-[s]->(c) RETURN count(*)"
    with gdb.connect(match="REPEATABLE ELEMENTS") as db:
        db.load(files / "edges.txt", type="E")
        everything = db.execute(path).scalar()
        edges = db.execute(path, match="DIFFERENT EDGES").scalar()
        nodes = db.execute(path, match="different nodes").scalar()
        named = db.execute(path.replace("MATCH", "MATCH DIFFERENT NODES")).scalar()
    # edges: 12 12' 23 31 34 44; walks of two: 12-23 x2, 23-31, 23-34, 31-12 x2, 34-44, 44-44
    assert (everything, edges, nodes, named) == (8, 7, 6, 6)


def test_explain_is_one_column_of_lines(db: Database) -> None:
    text = "MATCH (a)-[:KNOWS]->(b) RETURN count(*)"
    result = db.execute(f"EXPLAIN {text}")
    assert result.columns == ["plan"]
    lines = [row[0] for row in result]
    assert "\n".join(map(str, lines)) == db.explain(text)
    assert any("device: cpu" in str(line) for line in lines)


def test_the_summary_tells_time_by_step(db: Database) -> None:
    summary = db.execute("MATCH (a)-[:KNOWS]->(b) RETURN a.name").summary
    steps = [step for step in summary.seconds if step != "compile"]  # of a process's first query
    assert steps == ["parse", "bind", "plan", "run", "tail"]
    assert all(seconds >= 0 for seconds in summary.seconds.values())
    assert (summary.device, summary.rows, summary.embeddings) == ("cpu", 4, 4)


def test_results_are_arrow(db: Database) -> None:
    result = db.execute("MATCH (a)-[:KNOWS]->(b) RETURN a.name AS name, b.age AS age")
    assert hasattr(result, "__arrow_c_stream__")
    rows = duckdb.connect().execute("SELECT name, age FROM result ORDER BY ALL").fetchall()
    assert rows == [("Ada", 41), ("Ada", None), ("Bob", 41), ("Zoë", 20)]


def test_parameters_in_lists(db: Database) -> None:
    text = "MATCH (a) WHERE a.name IN $names RETURN a.name ORDER BY a.name"
    assert db.execute(text, {"names": ["Dan", "Ada", "X"]}).fetchall() == [("Ada",), ("Dan",)]


# ---- stores on disk ---------------------------------------------------------------------------------


def test_a_store_is_there_again(store: Path) -> None:
    with gdb.connect(str(store), read_only=True) as db:
        assert db.path == store
        assert db.execute("MATCH (a)-[:KNOWS]->(b) RETURN count(*)").scalar() == 4
        assert db.stats().vertices == 4
        assert db.stats().edges == 5
        db.check()


def test_a_store_stays_the_one_that_was_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    for folder in (first, second):
        with gdb.connect(folder / "s") as db:
            db.execute("CREATE ({name: $name})", {"name": folder.name})
    monkeypatch.chdir(first)
    with gdb.connect("s") as db, gdb.connect("s", read_only=True) as reader:
        monkeypatch.chdir(second)
        assert db.path == reader.path == first / "s"
        assert str(first / "s") in repr(db)
        for one in (db, reader):
            assert one.execute("MATCH (n) RETURN n.name").fetchall() == [("first",)]
        db.execute("CREATE ({name: 'another'})")
        db.compact()
        with db.snapshot() as held:
            assert held.execute("MATCH (n) RETURN count(*)").scalar() == 2
        assert reader.execute("MATCH (n) RETURN count(*)").scalar() == 2
        db.backup("copy")  # a new path is of the folder of now
    with gdb.connect(second / "copy") as copy, gdb.connect(second / "s") as other:
        assert copy.execute("MATCH (n) RETURN count(*)").scalar() == 2
        assert other.execute("MATCH (n) RETURN n.name").fetchall() == [("second",)]


def test_a_relative_path_below_a_folder_that_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(errors.NotAStore, match=r"Give an absolute path"):
        gdb.connect("s")


def test_loading_adds_to_what_is_there(store: Path, files: Path) -> None:
    (files / "more.csv").write_text(":ID(Person),name,:LABEL\n9,Eve,Person\n", encoding="utf-8")
    with gdb.connect(store) as db:
        before = db.execute("MATCH (a) RETURN a.name")
        db.load(nodes=files / "more.csv")
        assert db.execute("MATCH (a) RETURN count(*)").scalar() == 5
        assert len(before.fetchall()) == 4


def test_the_schema_is_a_table(store: Path) -> None:
    with gdb.connect(store) as db:
        schema = db.schema()
    assert schema.labels == ("Admin", "Person")
    assert schema.types == ("KNOWS", "LIKES")
    assert set(schema.keys) >= {"age", "name", "since", "weight"}
    text = str(schema)
    assert "-[:KNOWS]->" in text
    assert "age: int" in text


def test_a_read_only_database_refuses_to_load(store: Path, files: Path) -> None:
    with gdb.connect(store, read_only=True) as db:
        with pytest.raises(errors.ReadOnlyError, match="read-only"):
            db.load(files / "edges.txt", type="E")
        with pytest.raises(PermissionError):
            db.load(files / "edges.txt", type="E")


def test_a_result_is_readable_after_the_database_is_closed(store: Path) -> None:
    with gdb.connect(store) as db:
        result = db.execute("MATCH (a)-[r]->(b) RETURN a, r, b.name")
    assert len(result.fetchall()) == 5


# ---- what is no store -------------------------------------------------------------------------------


def test_the_name_that_other_databases_give_to_memory_makes_no_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(errors.NotAStore, match="None for a graph in memory"):
        gdb.connect(":memory:")
    assert not [*tmp_path.iterdir()]
    with gdb.connect("./:memory:") as db:
        assert db.path is not None
    assert (tmp_path / ":memory:").is_dir()


def test_a_missing_folder_is_not_made_unless_asked(tmp_path: Path) -> None:
    with pytest.raises(errors.NotAStore, match="nowhere"):
        gdb.connect(tmp_path / "nowhere.gdb", create=False)
    with pytest.raises(errors.NotAStore, match="nowhere"):
        gdb.connect(tmp_path / "nowhere.gdb", read_only=True)
    assert not (tmp_path / "nowhere.gdb").exists()


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("Dear")
    with pytest.raises(errors.NotAStore):
        gdb.connect(tmp_path)
    assert os.listdir(tmp_path) == ["letter.txt"]


def test_a_file_is_no_store(files: Path) -> None:
    with pytest.raises(errors.StoreError, match=r"people\.csv"):
        gdb.connect(files / "people.csv")


@pytest.mark.parametrize("path", ["", "a\0b", 5, b"x"])
def test_what_is_no_path(path: object) -> None:
    with pytest.raises(errors.GdbError):
        gdb.connect(path)  # type: ignore[arg-type]


def test_a_damaged_store_is_refused_with_the_file_name(store: Path) -> None:
    victim = max((p for p in store.iterdir() if p.is_file()), key=lambda p: p.stat().st_size)
    content = bytearray(victim.read_bytes())
    content[len(content) // 2] ^= 1
    victim.write_bytes(bytes(content))
    with pytest.raises(errors.CorruptStore, match=victim.name), gdb.connect(store) as db:
        db.check()


def test_a_store_without_permission(store: Path) -> None:
    store.chmod(0)
    try:
        if os.getuid() == 0:
            os.seteuid(65534)  # root may read everything, so that another user must try
        with pytest.raises(errors.StorePermissionError, match=store.name):
            gdb.connect(store)
        with pytest.raises(PermissionError):
            gdb.connect(store, read_only=True)
    finally:
        if os.getuid() == 0:
            os.seteuid(0)
        store.chmod(0o755)


def test_a_store_of_a_newer_format_is_refused_and_left_alone(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    newer = store.with_name("newer.gdb")
    with monkeypatch.context() as patch:
        patch.setattr("gdb.storage.format.manifest.format_of", lambda manifest: FORMAT + 1)
        patch.setattr("gdb.storage.format.manifest.FORMAT", FORMAT + 1)
        gdb.connect(newer).close()
    content = {path: path.read_bytes() for path in newer.iterdir()}
    with pytest.raises(errors.StoreVersionError, match="newer"):
        gdb.connect(newer)
    assert {path: path.read_bytes() for path in newer.iterdir()} == content


# ---- wrong calls ------------------------------------------------------------------------------------


def test_a_closed_database_says_so(store: Path) -> None:
    db = gdb.connect(store)
    db.close()
    db.close()
    assert db.closed
    for call in (
        lambda: db.execute("MATCH (a) RETURN a"),
        lambda: db.explain("MATCH (a) RETURN a"),
        lambda: db.load("x.txt"),
        db.schema,
        db.stats,
        db.check,
    ):
        with pytest.raises(errors.ClosedError, match="closed"):
            call()


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"parameters": [1]}, errors.TypeProblem),
        ({"parameters": {"x": object()}}, errors.TypeProblem),
        ({"memory": "much"}, errors.QueryError),
        ({"timeout": -1}, errors.QueryError),
        ({"match": "DIFERENT NODES"}, errors.NameProblem),
        ({"device": "abacus"}, errors.DeviceError),
        ({"device": 5}, errors.TypeProblem),
        ({"threads": -1}, errors.QueryError),
    ],
)
def test_wrong_arguments(
    db: Database, arguments: dict[str, object], error: type[errors.GdbError]
) -> None:
    with pytest.raises(error):
        db.execute("MATCH (a) RETURN count(*)", **arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "choice",
    [
        {"format": "snapp"},
        {"missing_ends": "make"},
        {"multi_edges": "dorp"},
        {"self_loops": True},
        {"on_error": "ignore"},
    ],
)
def test_wrong_choices_of_an_import_are_told(files: Path, choice: dict[str, object]) -> None:
    with gdb.connect() as db, pytest.raises(errors.NameProblem, match=f"{next(iter(choice))}="):
        db.load(files / "edges.txt", **choice)  # type: ignore[arg-type]


def test_nothing_is_printed_where_stderr_is_no_terminal(
    files: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with gdb.connect() as db:
        report = db.load(files / "edges.txt", type="E")
    assert (report.vertices, report.edges) == (4, 6)
    assert capfd.readouterr() == ("", "")


def test_ctrl_c_during_an_import_leaves_the_store_as_it_was(
    store: Path, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cancel = threading.Event()

    def pressed(*given: Any, **named: Any) -> Any:
        os.kill(os.getpid(), signal.SIGINT)
        assert cancel.wait(20)
        return build.write_spools(*given, **named)

    monkeypatch.setattr(importer, "write_spools", pressed)
    with gdb.connect(store) as db:
        with pytest.raises(errors.Cancelled) as raised:
            db.load(files / "edges.txt", type="E", cancel=cancel)
        assert not raised.value.committed
        assert db.stats().edges == 5
        db.check()


def test_a_query_must_be_text(db: Database) -> None:
    for text in (None, 5, b"MATCH (a) RETURN a"):
        with pytest.raises(errors.TypeProblem, match="text"):
            db.execute(text)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text", ["", "   ", "MTCH (a) RETURN a", "MATCH (a RETURN a", "MATCH (a) RETURN b"]
)
def test_wrong_queries_are_told_with_place(db: Database, text: str) -> None:
    with pytest.raises(errors.QueryError) as raised:
        db.execute(text)
    assert not isinstance(raised.value, errors.InternalError)


def test_a_missing_parameter_is_named(db: Database) -> None:
    with pytest.raises(errors.NameProblem, match="age"):
        db.execute("MATCH (a) WHERE a.age = $age RETURN a", {"name": 3})


def test_types_that_do_not_fit(db: Database) -> None:
    with pytest.raises(errors.TypeProblem) as raised:
        db.execute("MATCH (a:Person) RETURN a.name * 2")
    assert "SELECT" not in str(raised.value)


def test_division_by_zero(db: Database) -> None:
    with pytest.raises(errors.ArithmeticProblem, match="zero"):
        db.execute("MATCH (a:Person) RETURN a.age % 0")


def test_a_failed_import_leaves_the_store_as_it_was(store: Path, files: Path) -> None:
    (files / "bad.txt").write_text("1 2\n3 x y z\n")
    with gdb.connect(store) as db:
        with pytest.raises(errors.ImportFailed):
            db.load(files / "bad.txt", type="E")
        assert db.execute("MATCH ()-->() RETURN count(*)").scalar() == 5


def test_what_sql_has_not_is_done_row_by_row() -> None:
    """date() without a value was refused, as if it were missing."""
    with gdb.connect() as db:
        db.execute("CREATE (:A {name: 'xax'})")
        assert db.execute("MATCH (n) WHERE date() > date('2000-01-01') RETURN count(*)").scalar()
        assert db.execute("MATCH (n) RETURN trim(n.name, 'x')").scalar() == "a"
        assert db.execute("MATCH (n) RETURN power(size(n.name), 2)").scalar() == 9.0


@pytest.mark.parametrize("query", ["MATCH (n) RETURN size()", "UNWIND [1] AS x RETURN size()"])
def test_explain_refuses_what_cannot_be_run(query: str) -> None:
    with gdb.connect() as db:
        with pytest.raises(errors.SyntaxProblem, match=r"size\(\) takes 1 value, not 0"):
            db.execute(query)
        with pytest.raises(errors.SyntaxProblem, match=r"size\(\) takes 1 value, not 0"):
            db.execute(f"EXPLAIN {query}")
        with pytest.raises(errors.SyntaxProblem, match=r"size\(\) takes 1 value, not 0"):
            db.explain(query)


def test_load_csv_stays_inside_of_the_import_root(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for name in ("in/a.csv", "out.csv"):
        (tmp_path / name).write_text("x\n1\n")
    query = "LOAD CSV WITH HEADERS FROM $file AS line RETURN line.x"
    with gdb.connect(import_root=tmp_path / "in") as db:
        assert db.execute(query, {"file": "a.csv"}).fetchall() == [("1",)]
        assert db.execute(query, {"file": "file:///a.csv"}).fetchall() == [("1",)]
        for name in ("../out.csv", "file:///../out.csv"):
            with pytest.raises(errors.ArgumentProblem, match="outside of the import root"):
                db.execute(query, {"file": name})
        # an absolute path is what it is; as an address it counts from the root, as in Neo4j
        absolute = str(tmp_path / "in" / "a.csv")
        assert db.execute(query, {"file": absolute}).fetchall() == [("1",)]
        with pytest.raises(errors.ArgumentProblem, match="outside of the import root") as caught:
            db.execute(query, {"file": str(tmp_path / "out.csv")})
        assert "import_root" in caught.value.cure
        (tmp_path / "in" / "link.csv").symlink_to(tmp_path / "out.csv")
        for name in ("link.csv", str(tmp_path / "in" / "link.csv"), "file:///link.csv"):
            with pytest.raises(errors.ArgumentProblem, match="outside of the import root"):
                db.execute(query, {"file": name})
        with pytest.raises(errors.ArgumentProblem, match="No such file") as caught:
            db.execute(query, {"file": f"file://{absolute}"})
        assert str(tmp_path / "in") + absolute in caught.value.message
        with pytest.raises(errors.ArgumentProblem, match=r"outside|cannot be read"):
            db.execute(query, {"file": "a\0b"})
