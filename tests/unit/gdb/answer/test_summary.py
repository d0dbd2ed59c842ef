"""What a result says of its query."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

import gdb
from gdb import Database
from gdb.answer.summary import Effects, Summary, sentence
from gdb.executor import choose_device
from tests.support.ways import forced


@pytest.mark.parametrize(
    ("summary", "text"),
    [
        (Summary({"run": 0.012}, "cpu", 5), "5 rows; 12 ms on the CPU"),
        (Summary({"run": 1.5, "tail": 0.75}, "cuda:0", 1), "1 row; 2.25 s on cuda:0"),
        (Summary({"explain": 0.0005}, "", 3), "3 rows; 0.5 ms"),
        (
            Summary(
                {"run": 0.012},
                "cpu",
                effects=Effects(nodes_created=2, relationships_created=1, properties_set=3),
            ),
            "2 nodes created, 1 relationship created, 3 properties set; 12 ms on the CPU",
        ),
        (Summary({"run": 0.001}, "cpu", effects=Effects()), "nothing changed; 1 ms on the CPU"),
        (
            Summary({"run": 0.001}, "cpu", 2, effects=Effects(labels_removed=1)),
            "1 label removed, 2 rows; 1 ms on the CPU",
        ),
    ],
)
def test_a_summary_is_a_line(summary: Summary, text: str) -> None:
    assert str(summary) == text


@pytest.mark.parametrize(
    ("effects", "text"),
    [
        (Effects(), "Nothing changed."),
        (Effects(nodes_created=2, properties_set=3), "Created 2 nodes, set 3 properties."),
        (
            Effects(nodes_deleted=1, relationships_deleted=1200, labels_added=1),
            "Deleted 1 node and 1,200 relationships, added 1 label.",
        ),
    ],
)
def test_what_was_done_is_a_sentence(effects: Effects, text: str) -> None:
    assert sentence(effects) == text


def steps(summary: Summary) -> list[str]:
    """Whether there is machine code already depends on the tests before."""
    return [step for step in summary.seconds if step != "compile"]


def test_what_is_behind_few_embeddings_runs_over_rows(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    import_module(
        "gdb.physical.rows.row_tail"
    )  # a process that has DuckDB loads it for no first run
    monkeypatch.setattr(choose_device, "cuda_begun", lambda: False)
    summary = db.execute("MATCH (a) RETURN a.name ORDER BY a.name").summary
    assert (summary.evaluator, summary.why, summary.effects) == ("rows", "", None)
    assert steps(summary) == ["parse", "bind", "plan", "run", "tail"]
    assert re.fullmatch(r"4 rows; \S+ m?s on the CPU", str(summary))


def test_a_query_of_one_pattern_goes_through_duckdb(db: Database) -> None:
    with forced("selects"):
        summary = db.execute("MATCH (a) RETURN a.name ORDER BY a.name").summary
    assert (summary.evaluator, summary.why, summary.effects) == ("duckdb", "", None)
    assert steps(summary) == ["parse", "bind", "plan", "run", "tail"]
    assert re.fullmatch(r"4 rows; \S+ m?s on the CPU", str(summary))


def test_a_query_over_rows_says_why(db: Database) -> None:
    summary = db.execute("UNWIND [1] AS x MATCH (a) RETURN a").summary
    assert (summary.evaluator, summary.rows, summary.effects) == ("rows", 4, None)
    assert summary.why.startswith("it does not begin with its pattern; ")
    assert summary.why.endswith("the graph is small")
    assert steps(summary) == ["parse", "bind", "plan", "run", "tail"]


def test_a_query_that_writes_says_what_it_did(db: Database) -> None:
    summary = db.execute("MATCH (a {name: 'Ada'}) SET a.age = 37 CREATE (a)-[:R]->(:B)").summary
    assert str(summary).startswith(
        "1 node created, 1 relationship created, 1 property set, 1 label"
    )
    assert steps(summary) == ["parse", "bind", "plan", "run", "tail", "commit"]
    assert db.execute("MATCH (a {name: 'X'}) SET a.age = 1").summary.effects == Effects()


def test_nothing_runs_for_a_plan(db: Database) -> None:
    summary = db.execute("EXPLAIN MATCH (a) RETURN a").summary
    assert (summary.evaluator, summary.device) == ("", "")


def test_a_summary_is_made_when_it_is_read() -> None:
    db = gdb.connect()
    db.execute("CREATE (:P {x: 1})-[:R]->(:P {x: 2})")
    text = "MATCH (a:P)-[:R]->(b) RETURN a.x, b.x"
    first, again = db.execute(text), db.execute(text)
    db.close()
    for result in (first, again):
        summary = result.summary
        assert summary is result.summary
        assert (summary.device, summary.rows, summary.embeddings) == ("cpu", 1, 1)
        assert summary.bytes_read > 0
        assert {"run", "tail"} <= set(summary.seconds)
    assert "plan" in first.summary.seconds
    assert "plan" not in again.summary.seconds
    assert again.summary.bytes_read == first.summary.bytes_read


def test_nodes_of_several_answers_are_read_after_the_store_is_closed(tmp_path: Path) -> None:
    with gdb.connect(tmp_path / "s.gdb") as db:
        db.execute("CREATE (:P {x: 1, name: 'one'}), (:Q {y: 2})")
    with gdb.connect(tmp_path / "s.gdb") as db:
        answers = [db.execute("MATCH (n:P) RETURN n"), db.execute("MATCH (n:Q) RETURN n")]
    assert [dict(answer.single()[0]) for answer in answers] == [{"x": 1, "name": "one"}, {"y": 2}]
