"""The nine queries of LSQB count what they should, on the example and on a graph of LDBC's generator; so does the SQL
that they are measured beside."""

from __future__ import annotations

from pathlib import Path

import pytest

import lsqb


@pytest.mark.parametrize("graph", ["lsqb-example", "lsqb-sf0.003"])
@pytest.mark.parametrize("system", ["gdb", "DuckDB"])
def test_counts_are_the_known_ones(
    shared_data: Path, tmp_path: Path, graph: str, system: str
) -> None:
    if not (shared_data / graph).is_dir():
        pytest.skip(f"{graph} is not here")
    asked = lsqb.SYSTEMS[system]()
    asked.load(shared_data / graph, tmp_path / "store")
    found = {n: asked.count(n, text) for n, text in lsqb.queries(shared_data).items()}
    assert found == lsqb.counts(shared_data, graph)


def test_the_published_counts_of_the_example(shared_data: Path) -> None:
    path = shared_data / "lsqb-example" / "expected-output.csv"
    if not path.is_file():
        pytest.skip("lsqb-example is not here")
    lines = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()]
    published = {int(line[3]): int(line[5]) for line in lines if line[2] == "example"}
    assert published == lsqb.counts(shared_data, "lsqb-example")


def test_a_file_names_its_type_and_labels(tmp_path: Path) -> None:
    for name in ("Person.csv", "Comment_hasTag_Tag.csv", "expected-output.csv"):
        (tmp_path / name).touch()
    assert lsqb.relations(tmp_path) == [
        lsqb.Relation("HAS_TAG", "Comment", "Tag", tmp_path / "Comment_hasTag_Tag.csv")
    ]
    assert list(lsqb.labels(tmp_path)) == ["Person"]


def test_a_wrong_count_is_told() -> None:
    table = lsqb.report(
        {"gdb": {1: lsqb.Asked(3, 0.01, 0.001), 2: lsqb.Asked(-1, 9, 9)}}, {1: 2, 2: 5}
    )
    assert "3, which is wrong" in table
    assert "over the timeout" in table
