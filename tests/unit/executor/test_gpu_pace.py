"""Which kernel of a stage goes on, by what both took."""

from __future__ import annotations

from gdb.executor.gpu.special import Pace


def test_the_special_kernel_runs_until_it_was_slower() -> None:
    pace = Pace()
    assert pace.prefers_own
    pace.ran(0.5, own=False)
    assert pace.prefers_own
    pace.ran(1.5, own=True)
    assert not pace.prefers_own


def test_one_slow_run_does_not_count() -> None:
    pace = Pace()
    pace.ran(0.5, own=False)
    pace.ran(1.5, own=True)
    pace.ran(0.4, own=True)
    assert pace.prefers_own


def test_what_is_about_as_quick_stays() -> None:
    pace = Pace()
    pace.ran(0.50, own=False)
    pace.ran(0.55, own=True)
    assert pace.prefers_own
