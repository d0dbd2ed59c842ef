"""The nine queries of LSQB count what they should, on the example and on a graph of LDBC's generator; so does the SQL
that they are measured beside."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.inputs import lsqb_graph
from benchmarks.matching import lsqb, lsqb_systems
from benchmarks.report.table import Over


@pytest.mark.parametrize("graph", ["lsqb-example", "lsqb-sf0.003"])
@pytest.mark.parametrize("system", ["gdb", "DuckDB"])
def test_counts_are_the_known_ones(
    shared_data: Path, tmp_path: Path, graph: str, system: str
) -> None:
    if not (shared_data / graph).is_dir():
        pytest.skip(f"{graph} is not here")
    asked = lsqb_systems.SYSTEMS[system]()
    asked.load(shared_data / graph, tmp_path / "store")
    found = {n: asked.count(n, text, 60.0) for n, text in lsqb_systems.queries(shared_data).items()}
    assert found == lsqb_systems.counts(shared_data, graph)


def test_the_published_counts_of_the_example(shared_data: Path) -> None:
    path = shared_data / "lsqb-example" / "expected-output.csv"
    if not path.is_file():
        pytest.skip("lsqb-example is not here")
    lines = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()]
    published = {int(line[3]): int(line[5]) for line in lines if line[2] == "example"}
    assert published == lsqb_systems.counts(shared_data, "lsqb-example")


def test_a_file_names_its_type_and_labels(tmp_path: Path) -> None:
    for name in ("Person.csv", "Comment_hasTag_Tag.csv", "expected-output.csv"):
        (tmp_path / name).touch()
    assert lsqb_systems.relations(tmp_path) == [
        lsqb_systems.Relation("HAS_TAG", "Comment", "Tag", tmp_path / "Comment_hasTag_Tag.csv")
    ]
    assert list(lsqb_systems.labels(tmp_path)) == ["Person"]


def test_a_generated_graph_is_the_same_for_the_same_seed(tmp_path: Path) -> None:
    files = []
    for seed, name in ((1, "a"), (1, "b"), (2, "c")):
        (tmp_path / name).mkdir()
        lsqb_graph.generate(tmp_path / name, 0.5, seed)
        files.append({p.name: p.read_bytes() for p in (tmp_path / name).glob("*.csv")})
    assert files[0] == files[1] != files[2]


def test_a_generated_graph_has_the_tables_of_the_real_one(
    shared_data: Path, tmp_path: Path
) -> None:
    real = shared_data / "lsqb-sf0.003"
    if not real.exists():
        pytest.skip("lsqb-sf0.003 is not here")
    relationships = lsqb_graph.generate(tmp_path, 1, seed=1)
    first_lines = [
        {p.name: p.read_text(encoding="utf-8").partition("\n")[0] for p in folder.glob("*.csv")}
        for folder in (real, tmp_path)
    ]
    assert first_lines[0] == first_lines[1]
    lines = sum(1 for p in tmp_path.glob("*_*_*.csv") for _ in p.open(encoding="utf-8"))
    assert lines - len(lsqb_systems.relations(tmp_path)) == relationships


def test_systems_agree_on_a_generated_graph(shared_data: Path, tmp_path: Path) -> None:
    if not (shared_data / "lsqb-example").exists():
        pytest.skip("lsqb-example is not here")
    lsqb_graph.generate(tmp_path, 5, seed=1)
    found = {}
    for name in ("gdb", "DuckDB"):
        asked = lsqb_systems.SYSTEMS[name]()
        asked.load(tmp_path, tmp_path / name)
        counts = (
            asked.count(n, text, 60.0) for n, text in lsqb_systems.queries(shared_data).items()
        )
        found[name] = [asked.friends(), *counts]
    assert found["gdb"] == found["DuckDB"]
    assert all(count > 0 for count in found["gdb"])


def test_a_query_is_stopped_at_the_timeout(tmp_path: Path) -> None:
    lsqb_graph.generate(tmp_path, 20, seed=1)
    asked = lsqb_systems.Duck()
    asked.load(tmp_path, tmp_path / "store")
    with pytest.raises(TimeoutError):
        asked.count(9, "", 0.01)


def test_what_differs_is_reported() -> None:
    found = {
        name: lsqb.Answers(1.0, 5, {1: lsqb.Asked(count, 0.1, 0.1, lsqb.LATE)}, "does not end")
        for name, count in (("a", 3), ("b", 3), ("c", 4), ("d", -1))
    }
    known = lsqb.agreed(found)
    assert (known[1], known[2]) == (3, -1)
    assert lsqb.wrong(found, known) == ["c"]
    first, second, *_ = lsqb.table(found, known, 30.0).rows
    assert first[2:] == (100.0, 100.0, 100.0, 100.0, "4, which is wrong", None, Over(30_000), None)
    assert second.count("does not end") == 4
    found["a"].friends = 6
    assert lsqb.wrong(found, known) == list(found)
