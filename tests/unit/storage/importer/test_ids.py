"""Ids to vertices, and edges that occur twice: the arrays against plain dicts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gdb.storage.columns.model import I64
from gdb.storage.graph.ascending import distinct
from gdb.storage.importer.report import FileReport
from gdb.storage.importer.spaces import Space, firsts
from gdb.storage.write.store import Store
from tests.support.loading import load

REPORT = FileReport("f", "test")
LEAST, MOST = -(1 << 63), (1 << 63) - 1
DENSE = st.integers(-20, 20)
SPARSE = st.one_of(DENSE, st.integers(LEAST, MOST), st.sampled_from([LEAST, LEAST + 1, MOST]))


def array(values: list[int]) -> I64:
    return np.array(values, np.int64)


@pytest.mark.parametrize("ids", [DENSE, SPARSE], ids=["dense", "sparse"])
def test_ids_are_found_as_in_a_dict(ids: st.SearchStrategy[int]) -> None:
    @given(st.lists(ids, unique=True), st.lists(ids))
    def check(known: list[int], wanted: list[int]) -> None:
        space = Space("")
        space.add(array(known), 7, REPORT)
        rows = {x: 7 + k for k, x in enumerate(known)}
        assert space.find(array(wanted), REPORT).tolist() == [rows.get(x, -1) for x in wanted]
        absent = space.absent(array(wanted), REPORT)
        assert list(absent) == sorted(set(wanted) - rows.keys())
        again = [k for k, x in enumerate(wanted) if x in rows or x in wanted[:k]]
        assert space.repeated(array(wanted)).tolist() == again

    check()


@given(st.lists(SPARSE))
def test_distinct_and_firsts(values: list[int]) -> None:
    ordered = sorted(set(values))
    assert distinct(array(values)).tolist() == ordered
    assert firsts(array(values)).tolist() == [values.index(x) for x in ordered]


PAIRS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=12)


@pytest.mark.parametrize("choice", ["keep", "drop"])
@pytest.mark.parametrize("directed", [True, False])
def test_multi_edges_of_two_loads(
    choice: str, directed: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("lists")

    @given(PAIRS, PAIRS)
    def check(first: list[tuple[int, int]], second: list[tuple[int, int]]) -> None:
        store = Store.open(None, create=True)
        seen: set[tuple[int, int]] = set()
        stored = 0
        for pairs in (first, second):
            twice = 0
            for a, b in pairs:
                pair = (a, b) if directed else (min(a, b), max(a, b))
                twice += pair in seen
                seen.add(pair)
            path = written(folder, pairs)
            report = load(store, path, directed=directed, multi_edges=choice)
            assert report.multi_edges == twice
            stored += len(pairs) - (twice if choice == "drop" else 0)
        assert store.snapshot().edge_count == stored

    check()


def written(folder: Path, pairs: list[tuple[int, int]]) -> Path:
    (folder / "a.txt").write_text("".join(f"{a} {b}\n" for a, b in pairs))
    return folder / "a.txt"
