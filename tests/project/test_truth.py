"""Known counts on real graphs: a subset of benchmarks/matching/known_counts.py, and the reading of patterns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path

import pytest

import gdb
from benchmarks.inputs import graphs, patterns

# graph -> patterns, small enough in all four semantics
FAST = {
    "hprd": ["triangle", "4-cycle", "diamond", "4-clique", "5-clique"],
    "bitcoin-otc": ["triangle", "4-cycle", "diamond", "4-clique"],
    "wiki-vote": ["triangle"],
}
LABELLED = 8  # labelled patterns of yeast and hprd, the first ones
MOST = 200_000  # embeddings of a labelled pattern


@pytest.fixture(scope="module")
def opened(
    shared_data: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[str], gdb.Database]]:
    """A real graph by name, in a store on disk, loaded once."""
    folder = tmp_path_factory.mktemp("truth")

    @cache
    def open_graph(name: str) -> gdb.Database:
        db = stack.enter_context(gdb.connect(folder / f"{name}.gdb"))
        graphs.LOADERS[name](db)
        return db

    with ExitStack() as stack:
        yield open_graph


@pytest.mark.parametrize("name", ["hprd", "bitcoin-otc", "wiki-vote", "yeast"])
def test_counts_are_the_known_ones(opened: Callable[[str], gdb.Database], name: str) -> None:
    db = opened(name)
    known = graphs.known(name)
    chosen = [p for p in known if p.name in FAST.get(name, ())]
    labelled = [p for p in known if p.vertices[0] and all(n <= MOST for n in p.counts.values())]
    chosen += labelled[:LABELLED]
    assert chosen
    found = {
        (p.name, mode): db.execute(p.cypher(mode)).scalar() for p in chosen for mode in p.counts
    }
    assert found == {(p.name, mode): count for p in chosen for mode, count in p.counts.items()}


def test_published_counts_of_hprd(opened: Callable[[str], gdb.Database], shared_data: Path) -> None:
    db = opened("hprd")
    folder = shared_data / "hprd"
    published = patterns.read_published(folder / "query_graph", folder / "expected_output.res")
    assert len(published) == 200
    few = [p for p in published if p.counts["isomorphisms"] <= 1000][::10]
    found = {p.name: db.execute(p.cypher("isomorphisms")).scalar() for p in few}
    assert found == {p.name: p.counts["isomorphisms"] for p in few}


def test_a_pattern_as_cypher() -> None:
    """Labels are at the first mention only; a vertex without an edge is a part of its own."""
    pattern = patterns.Pattern("p", ("L1", None, "L2"), ((1, 0), (0, 1)))
    assert pattern.cypher("distinct") == (
        "MATCH SUBGRAPHS (v1)-[]-(v0:L1), (v0)-[]-(v1), (v2:L2) RETURN count(*) AS n"
    )
    assert pattern.cypher("edge_injective").startswith("MATCH (v1)-[]-")


def test_a_query_graph_file(tmp_path: Path) -> None:
    (tmp_path / "q.graph").write_text("t 2 1\nv 1 7 1\nv 0 5 1\ne 0 1\n")
    (tmp_path / "counts.res").write_text("q:12\n")
    (pattern,) = patterns.read_published(tmp_path, tmp_path / "counts.res")
    assert pattern == patterns.Pattern("q", ("L5", "L7"), ((0, 1),), {"isomorphisms": 12})
