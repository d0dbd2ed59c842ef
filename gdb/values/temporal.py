"""Dates, times and durations of the language."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Date:
    """A day. days : since 1970-01-01."""

    days: int


Temporal: TypeAlias = Date
