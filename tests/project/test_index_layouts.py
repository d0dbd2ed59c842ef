"""The layouts of benchmarks/gpu/index_layouts.py answer alike, and are what they are said to be. The kernels of
index_lookups.py need a GPU to run; tests/gpu/test_index_kernels.py compiles them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from benchmarks.gpu import index_kernels, index_layouts, index_lookups
from gdb.executor.gpu import device
from gdb.storage.graph.adjacency import Adjacency

VERTICES, SOURCES, TARGETS = index_layouts.rmat(2000)


@pytest.fixture
def parts(tmp_path: Path) -> Iterator[list[Adjacency]]:
    labels = index_layouts.zipf_labels(len(SOURCES), 12)
    with index_layouts.stored(VERTICES, SOURCES, TARGETS, labels, tmp_path / "store") as found:
        yield found


def few_homes(vids: index_layouts.U32) -> index_layouts.U32:
    """A poor hash: every vid belongs into one of three groups, so that these overflow."""
    return vids % np.uint32(3)


@pytest.mark.parametrize("hashed", [index_layouts.murmur, few_homes])
def test_all_layouts_find_the_same_rows(
    parts: list[Adjacency],
    hashed: Callable[[index_layouts.U32], index_layouts.U32],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(index_layouts, "murmur", hashed)
    assert len(parts) == 12
    for part in parts:
        assert len(set(index_layouts.digests(part, VERTICES))) == 1
        table = index_layouts.hash_pcsr(part)
        starts, ends = table.find(np.arange(VERTICES, dtype=np.uint32))
        for vid in range(VERTICES):
            row = table.neighbours[starts[vid] : ends[vid]]
            assert row.tolist() == part.neighbours_of(vid).tolist()


def test_a_group_is_fifteen_pairs_and_a_way_on(
    parts: list[Adjacency], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As GSI says: as many groups as rows, a full one ends with (GID, END), and a row ends where the next begins."""
    monkeypatch.setattr(index_layouts, "murmur", few_homes)
    part = parts[0]
    words = index_layouts.hash_pcsr(part).words
    assert words.shape == (part.rows, 32)
    assert words[0].nbytes == 128
    vids, none = words[:, 0:30:2], index_layouts.NONE
    assert sorted(vids[vids != none].tolist()) == part.vids().tolist()
    on = np.flatnonzero(words[:, 30] != none)
    hashed_to = np.bincount(few_homes(part.vids()))
    assert len(on) == int((-(-hashed_to // 15) - 1).sum()) > 0
    assert (vids[on] != none).all()
    assert len(set(words[on, 30].tolist())) == len(on)
    assert (few_homes(vids[on][:, 0]) == few_homes(words[words[on, 30]][:, 0])).all()
    used = (vids != none).sum(axis=1)
    ends = words[np.arange(part.rows), 2 * used + 1][used > 0]
    starts = words[used > 0][:, 1]
    assert starts[0] == 0
    assert (starts[1:] == ends[:-1]).all()
    assert ends[-1] == len(part.neighbours)


def test_the_hash_is_murmur() -> None:
    """Two words worked out by hand from the published algorithm, and the product of GSI's seed."""

    def plain(vid: int) -> int:
        wrap = 0xFFFFFFFF
        k = vid * 0x5BD1E995 & wrap
        k = (k ^ k >> 24) * 0x5BD1E995 & wrap
        h = ((17 ^ 4) * 0x5BD1E995 & wrap) ^ k
        h = (h ^ h >> 13) * 0x5BD1E995 & wrap
        return h ^ h >> 15

    vids = np.array([0, 1, 36_691, 0xFFFFFFFE], np.uint32)
    assert index_layouts.murmur(vids).tolist() == [plain(vid) for vid in vids.tolist()]


@pytest.mark.parametrize("groups", [1, 2, 3, 1000, 1 << 20, (1 << 32) - 5])
def test_a_product_is_the_remainder(groups: int) -> None:
    magic = index_kernels.magic(groups)
    for value in (0, 1, groups - 1, groups, 123_456_789, (1 << 32) - 1):
        low = magic * value & (1 << 64) - 1
        assert low * groups >> 64 == value % groups


def test_a_digest_sees_every_neighbour(parts: list[Adjacency]) -> None:
    part = parts[3]
    vids = part.vids()
    found = index_layouts.find_by_intervals(part, vids)
    right = index_layouts.digest(vids, found, part.neighbours)
    order = np.random.default_rng(0).permutation(len(vids))
    mixed = found[0][order], found[1][order]
    assert index_layouts.digest(vids[order], mixed, part.neighbours) == right
    for at in (0, len(part.neighbours) - 1):
        changed = part.neighbours.copy()
        changed[at] += 1
        assert index_layouts.digest(vids, found, changed) != right
    shorter = found[0], np.where(vids == vids[-1], found[1] - 1, found[1])
    assert index_layouts.digest(vids, shorter, part.neighbours) != right
    assert index_layouts.digest(vids, mixed, part.neighbours) != right


def test_a_digest_may_be_made_in_pieces(
    parts: list[Adjacency], monkeypatch: pytest.MonkeyPatch
) -> None:
    vids = np.arange(VERTICES, dtype=np.uint32)
    found = index_layouts.find_by_intervals(parts[0], vids)
    whole = index_layouts.digest(vids, found, parts[0].neighbours)
    monkeypatch.setattr(index_layouts, "CHUNK", 100)
    assert index_layouts.digest(vids, found, parts[0].neighbours) == whole


def test_questions_ask_for_every_vid(parts: list[Adjacency]) -> None:
    rows, everyone = sum(part.rows for part in parts), VERTICES * len(parts)
    found = list(index_lookups.questions(parts, VERTICES))
    assert [one.total for one in found] == [rows, rows, 2 * len(SOURCES), everyone, everyone]
    for one in found:
        chunks = one.chunks(64)
        assert int((chunks[:, 2] - chunks[:, 1]).sum()) == one.total
        assert (chunks[:, 2] - chunks[:, 1]).max() <= 64
        asked = [one.vids[begin:end] for elp, begin, end in chunks.tolist() if elp == 5]
        assert set(np.concatenate(asked).tolist()) >= set(parts[5].vids().tolist())


def test_bytes_are_those_of_the_layouts(parts: list[Adjacency]) -> None:
    found = index_layouts.bytes_of(parts, VERTICES)
    tables = [index_layouts.hash_pcsr(part) for part in parts]
    plain = [index_layouts.csr(part, VERTICES) for part in parts]
    assert found.hashed == sum(table.words.nbytes for table in tables)
    assert found.csr == sum(one.offsets.nbytes for one in plain)
    arrays = [(part.first, part.length, part.row, part.offsets) for part in parts]
    assert found.interval == sum(array.nbytes for four in arrays for array in four)
    assert found.neighbours == sum(table.neighbours.nbytes for table in tables)


def test_the_check_needs_no_gpu(capsys: pytest.CaptureFixture[str]) -> None:
    assert index_lookups.main(["--check", "--edges", "500", "--labels", "1", "5"]) == 0
    assert "hash-PCSR" in capsys.readouterr().out


def test_the_check_sees_a_wrong_row(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def wrong(part: Adjacency, vertices: int) -> index_layouts.Csr:
        return index_layouts.Csr(np.zeros(vertices + 1, np.uint32), part.neighbours)

    monkeypatch.setattr(index_layouts, "csr", wrong)
    assert index_lookups.main(["--check", "--edges", "500", "--labels", "5"]) == 1
    assert "the layouts differ in 0" in capsys.readouterr().err


def test_without_a_gpu_nothing_is_measured(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(device, "absence", lambda: "there is no CUDA device")
    assert index_lookups.main([]) == 2
    assert "there is no CUDA device" in capsys.readouterr().err


def test_a_report_takes_the_best_of_each_layout() -> None:
    rates = dict.fromkeys((kernel.name for kernel in index_kernels.KERNELS), 1e9)
    rates |= {"generic": 6e9, "thread": 3e9, "CSR": 12e9}
    one = index_lookups.Measured(5, "all", "random", False, rates)
    assert one.interval == 6e9
    assert one.hashed == (3e9, "thread")
    (row,) = index_lookups.rates_table([one], 9, "").rows
    assert row[:4] == (5, "all", "random", 1.0)
    assert row[-5:] == ("thread", 2.0, 6.0, 0.5, 0.166667)
    (note,) = index_lookups.notes([one])
    assert "2.00 times as many as the best hash-PCSR, 6.00 times" in note
