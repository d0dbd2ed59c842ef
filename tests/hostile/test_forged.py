"""A sample of `make hostile`, and that it sees what it looks for."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import pytest

import gdb
from tests.hostile import campaign, forge, worker


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the honest stores are, once they are needed."""
    return tmp_path_factory.mktemp("hostile")


def test_a_sample_of_forged_stores(root: Path) -> None:
    found = list(campaign.run(root, range(100_000, 100_050)))
    assert [one for one in found if one.outcome not in campaign.GOOD] == []
    assert len({one.what.partition(":")[0] for one in found}) == len(forge.KINDS)


def test_it_sees_what_is_not_compared(root: Path) -> None:
    found = [one.outcome for one in campaign.run(root, (30, 96, 18), blind=True)]
    assert found[1:] == ["internal", "signal"]  # runs, a neighbour that is no vertex
    assert found[0] not in campaign.GOOD  # rows: what raises depends on which of them are read


@pytest.mark.parametrize("kind", ["a journal", forge.PACKED_DELTA])
def test_an_honest_store_taken_apart_and_put_together_answers(kind: str, tmp_path: Path) -> None:
    forge.write(tmp_path / "s", kind)
    parts = forge.Parts.read(tmp_path / "s")
    assert bool(parts.records) == (kind == "a journal")
    parts.write(tmp_path / "s")
    outcome, taken = worker.measured(tmp_path / "s", random.Random(0))
    assert (outcome, taken < campaign.BESIDE) == ("answered", True)
    with gdb.connect(tmp_path / "s") as db:
        db.check()


_OVERREAD = """
import ctypes, sys
import numpy as np
from tests.hostile.guarded import guarded
size, beyond = map(int, sys.argv[1:])
found = guarded(np.arange(size, dtype=np.uint8))
assert found.tolist() == list(range(size))
ctypes.string_at(found.ctypes.data + size + beyond, 1)
"""


@pytest.mark.parametrize(("beyond", "code"), [(-1, 0), (8, -11)])
def test_what_reads_beyond_a_guarded_array_gets_a_signal(beyond: int, code: int) -> None:
    command = [sys.executable, "-c", _OVERREAD, "61", str(beyond)]
    done = subprocess.run(command, check=False, cwd=Path(__file__).parents[2])
    assert done.returncode == code
