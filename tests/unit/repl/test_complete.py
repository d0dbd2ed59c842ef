"""Completion, without a terminal."""

from __future__ import annotations

from pathlib import Path

import pytest

from gdb.functions import library
from gdb.repl import shell
from gdb.repl.complete import Names, complete

FILES = ("a.csv", "my file.csv", "my folder/", "it's.csv")
NAMES = Names(
    labels=("City", "Person", "Two words"),
    types=("KNOWS", "LIVES_IN"),
    keys=("age", "name"),
    procedures=("db.labels", "db.schema.nodes", "my.own"),
    commands={".load": (), ".mode": ("csv", "json", "table"), ".schema": (), ".stats": ()},
    files={".load": {"--label": (), "--type": (), "--on-error": ("raise", "skip")}, ".draw": {}},
    listed=lambda beginning: [path for path in FILES if path.startswith(beginning)],
)


def texts(text: str) -> list[str]:
    return [found.text for found in complete(text, NAMES)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("CALL db.", ["labels(", "schema.nodes("]),
        ("CALL db.la", ["labels("]),
        ("MATCH (a) CALL m", ["my.own("]),
        ("CALL db.schema.", ["nodes("]),
        ("MATCH (a:", ["City", "Person", "`Two words`"]),
        ("MATCH (a:Pe", ["Person"]),
        ("MATCH (:City|pe", ["Person"]),
        ("MATCH (a)-[r:", ["KNOWS", "LIVES_IN"]),
        ("MATCH (a)-[:KNOWS|L", ["LIVES_IN"]),
        ("MATCH (a) WHERE a:Ci", ["City"]),
        ("MATCH (a) WHERE a.", ["age", "name"]),
        ("MATCH (a) RETURN a.na", ["name"]),
        ("MATCH (a {", ["age", "name"]),
        ("MATCH (a:Person {age: 1, n", ["name"]),
        ("MATCH (a {age: ", []),
        ("mat", ["MATCH"]),
        ("MATCH (person)-->(b) RETURN pers", ["person"]),
        ("MATCH (a) RETURN cou", ["count("]),
        ("MATCH (a) RETURN 1; MATCH (a:Pe", ["Person"]),
        ("MATCH (a) WHERE a.name = 'x:P", []),
        ("MATCH (a) // x:P", []),
        ("MATCH (a) RETURN a ", []),
        ("", []),
        (".s", [".schema", ".stats"]),
        (".mode ", ["csv", "json", "table"]),
        (".mode c", ["csv"]),
        (".nothing x", []),
        (".load a", ["a.csv"]),
        (".load a.csv --on-error s", ["skip"]),
        (".load a.csv --on-error ", ["raise", "skip"]),
        (".draw it", ["'it'\"'\"'s.csv'"]),
        (".draw --", []),
        (".load my", ["'my file.csv'", "'my folder/"]),
        (".load 'my fi", ["'my file.csv'"]),
        ('.load "my fo', ['"my folder/']),
        (".load it", ["'it'\"'\"'s.csv'"]),
        (".load 'my file.csv' a", ["a.csv"]),
        (".load 'my file.csv'", []),
        (".load --nodes Person=a", ["a.csv"]),
        (".load a.csv --t", ["--type"]),
    ],
)
def test_what_comes_next(text: str, expected: list[str]) -> None:
    assert texts(text) == expected


def test_a_candidate_replaces_the_word_before_the_cursor() -> None:
    (found,) = complete("MATCH (a:Pe", NAMES)
    assert (found.length, found.kind) == (2, "label")


def test_a_file_replaces_only_its_part_of_the_word() -> None:
    (found,) = complete(".load --nodes Person='my fi", NAMES)
    assert (found.text, found.length, found.kind) == ("'my file.csv'", len("'my fi"), "file")


def test_files_are_listed_as_they_were_begun(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "data").mkdir()
    for name in ("data/one.csv", "data/.hidden", "dates.csv"):
        (tmp_path / name).touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert shell._listed("da") == ["data/", "dates.csv"]
    assert shell._listed("data/") == ["data/one.csv"]
    assert shell._listed("data/.") == ["data/.hidden"]
    assert shell._listed("~/data/o") == ["~/data/one.csv"]
    assert shell._listed("none/") == []


def test_every_function_is_completed() -> None:
    for name in library.names():
        if "." in name:  # a word ends there
            continue
        found = {
            one.text: one.kind
            for one in complete(f"RETURN {name[: max(1, len(name) - 1)]}", Names())
        }
        assert found[f"{name}("] == "function"


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("MATCH (p:Person)-[r:KNOWS]->(c:City) WHERE p.", "name"),
        ("MATCH (p:Person)-[r:KNOWS]->(c:City) WHERE c.", "area"),
        ("MATCH (p:Person)-[r:KNOWS]->(c:City) WHERE r.", "since"),
        ("MATCH (p:Person), (c:City {", "area"),
        ("MATCH (p:Person|City) RETURN p.", "area"),
        ("MATCH (q) RETURN q.", "aaa"),
    ],
)
def test_properties_of_the_own_labels_come_first(text: str, first: str) -> None:
    keys = {"Person": ("name",), "City": ("area",), "KNOWS": ("since",)}
    held = Names(keys=("aaa", "area", "name", "since"), keys_of=keys)
    found = [one.text for one in complete(text, held)]
    assert found[0] == first
    assert sorted(found) == ["aaa", "area", "name", "since"]
