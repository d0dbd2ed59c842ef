"""Temporal values at random, for tests of properties."""

from __future__ import annotations

from hypothesis import strategies as st

from gdb.base.values.days import FIRST_DAY, LAST_DAY
from gdb.base.values.duration import DAY, Duration
from gdb.base.values.temporal import Date, DateTime, LocalDateTime, LocalTime, Time

ZONES = ("Europe/Stockholm", "America/New_York", "Pacific/Honolulu", "Australia/Lord_Howe", "UTC")
days = st.integers(-800_000, 3_000_000) | st.integers(FIRST_DAY + 2, LAST_DAY - 2)
nanoseconds = st.integers(0, DAY - 1) | st.integers(0, 86_399).map(lambda s: s * 1_000_000_000)
offsets = st.integers(-18 * 60, 18 * 60).map(lambda minutes: 60 * minutes)
dates = st.builds(Date, days)
local_times = st.builds(LocalTime, nanoseconds)
times = st.builds(Time, nanoseconds, offsets)
local_datetimes = st.builds(LocalDateTime, days, nanoseconds)
datetimes = st.builds(
    DateTime.of_local, days, nanoseconds, st.one_of(offsets, st.sampled_from(ZONES))
)
counts = st.integers(-(10**6), 10**6)
durations = st.builds(Duration, counts, counts, counts, st.integers(-(10**12), 10**12))
instants = st.one_of(dates, local_times, times, local_datetimes, datetimes)
temporals = st.one_of(instants, durations)
