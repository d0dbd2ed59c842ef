"""Readers beside a writer, each in its own process: what each sees is one whole version, and never an older one than
before. `make cycle` does the same for a minute, with eight readers."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.crash import cycle, ring_reader
from tests.crash.ring import Ring, Witness


def test_readers_see_whole_versions_that_never_go_back(tmp_path: Path) -> None:
    written, reports = cycle.run(tmp_path / "s", 2, lambda written: written.transactions >= 60)
    assert written.rolled_back
    assert written.compactions
    assert [report.faults for report in reports] == [[], []]
    # else the readers came too late to mean anything
    assert all(report.versions > 3 and report.opened for report in reports)
    assert written.left == 0


@pytest.mark.parametrize("broken", ring_reader.BROKEN)
def test_a_broken_reading_would_be_seen(broken: str, tmp_path: Path) -> None:
    # The rows with one step left out: these tests can see.
    _, (report,) = cycle.run(tmp_path / "s", 1, lambda written: written.transactions >= 40, broken)
    assert report.violations
    assert not any("Error" in fault for fault in report.faults)


def test_a_relationship_that_lost_its_stamp_is_seen() -> None:
    ring = Ring.new(10)
    for _ in range(9):
        ring = ring.next()
    rows = ring.rows()
    assert Witness(10).judge(rows) == []
    version, start, end, stamp, node = rows[0]
    assert stamp > 0
    rows[0] = version, start, end, stamp - 1, node
    assert Witness(10).judge(rows) == ["version 9: is not what was written"]


def test_every_version_is_one_cycle_and_differs_from_the_last() -> None:
    witness, ring = Witness(20), Ring.new(20)
    for version in range(200):
        assert witness.judge(ring.rows()) == []
        assert (ring.version, witness.versions) == (version, version + 1)
        ring = ring.next()
    assert witness.judge(Ring.new(20).rows()) == ["went back from version 199 to 0"]
