"""Time zones: offsets from UTC in seconds, and names of the IANA database (Europe/Stockholm).

The database is that of the package tzdata, never the machine's: distributions build theirs with different options, and
the same query would have other answers there (Europe/Stockholm in 1818: +00:53:28 or +01:12:12). The search path of
`zoneinfo` belongs to the program and stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import TYPE_CHECKING, TypeAlias

from gdb.base.values.days import CYCLE
from gdb.base.values.problems import ValueProblem, WrongOffset

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

Zone: TypeAlias = int | str
"""Seconds east of UTC, or the name of a zone."""

MOST_OFFSET = 18 * 3600
CURE = "Write a zone as Z, +01:00 or Europe/Stockholm."
DAY_SECONDS = 86_400
_OFFSET = re.compile(r"([+-])(\d\d)(?:(:?)(\d\d)(?:\3(\d\d))?)?", re.ASCII)
# Python's years, less one at each end, so that no offset leads out of them
_FIRST = (datetime(2, 1, 1) - datetime(1970, 1, 1)).days
_LAST = (datetime(9999, 1, 1) - datetime(1970, 1, 1)).days
_EPOCH = datetime(1970, 1, 1)
_SECOND = timedelta(seconds=1)


def zone_of(text: str) -> Zone:
    """The zone that a text writes: Z, an offset, or a name. ValueProblem : it writes none."""
    if text in ("Z", "z"):
        return 0
    if (found := _OFFSET.fullmatch(text)) is not None:
        hours, minutes, seconds = (int(found[k] or 0) for k in (2, 4, 5))
        if minutes > 59 or seconds > 59:
            raise ValueProblem("argument", f"{text!r} is no offset from UTC.", CURE)
        offset = 3600 * hours + 60 * minutes + seconds
        return checked_offset(-offset if found[1] == "-" else offset)
    zone_named(text)
    return text


def checked_offset(offset: int) -> int:
    """The offset. ValueProblem : it is over 18 hours."""
    if abs(offset) > MOST_OFFSET:
        raise WrongOffset("An offset from UTC is over 18 hours.", CURE)
    return offset


def offset_text(offset: int) -> str:
    """Z, +01:00, or with seconds where there are some: +00:53:28."""
    if not offset:
        return "Z"
    minutes, seconds = divmod(abs(offset), 60)
    text = f"{'-' if offset < 0 else '+'}{minutes // 60:02}:{minutes % 60:02}"
    return f"{text}:{seconds:02}" if seconds else text


def zone_named(name: str) -> ZoneInfo:
    """The zone of a name. ValueProblem : there is none."""
    if name not in _names():  # as they are written there, also where a file system ignores case
        raise ValueProblem("argument", f"There is no time zone {name!r}.", CURE)
    return _read(name)


@cache
def _names() -> frozenset[str]:
    """The names of all zones."""
    from importlib.resources import files

    return frozenset(files("tzdata").joinpath("zones").read_text("ascii").split())


@cache
def _read(name: str) -> ZoneInfo:
    """A zone of the database. It is the same object each time: Python compares times of one zone by their clocks."""
    from importlib.resources import files

    with files("tzdata").joinpath("zoneinfo", *name.split("/")).open("rb") as stream:
        return _pickled_by_name().from_file(stream, key=name)


@cache
def _pickled_by_name() -> type[ZoneInfo]:
    """As ZoneInfo, which refuses to pickle a zone that was read from a file."""
    from zoneinfo import ZoneInfo

    class Named(ZoneInfo):
        def __reduce__(self) -> tuple[Callable[[str], ZoneInfo], tuple[str]]:
            return zone_named, (self.key,)

    return Named


def for_python(name: str, local: datetime) -> ZoneInfo:
    """The zone of a name as programs have it, for a local time (with its fold): equal to their `ZoneInfo(name)`, and
    with its pickling, where the machine's database has the same offset then; else that of `zone_named`.

    ValueProblem : there is none.
    """
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    ours = zone_named(name)
    try:
        theirs = ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return ours  # the machine has no database, or an older one
    same = local.replace(tzinfo=theirs).utcoffset() == local.replace(tzinfo=ours).utcoffset()
    return theirs if same else ours


def offset_at(zone: Zone, seconds: int) -> int:
    """The offset of a zone at an instant, in seconds since 1970-01-01T00:00Z."""
    if isinstance(zone, int):
        return zone
    moment = _reachable(seconds).replace(tzinfo=UTC)
    return _seconds(moment.astimezone(zone_named(zone)).utcoffset())


def offsets_of_local(zone: Zone, seconds: int) -> tuple[int, int]:
    """The offsets of a local time, in seconds since 1970-01-01T00:00: two where the clock was put back or forward over
    it, first the one from before, and otherwise twice the same."""
    if isinstance(zone, int):
        return zone, zone
    local, info = _reachable(seconds), zone_named(zone)
    before = local.replace(tzinfo=info, fold=0).utcoffset()
    after = local.replace(tzinfo=info, fold=1).utcoffset()
    return _seconds(before), _seconds(after)


def _reachable(seconds: int) -> datetime:
    """A time that Python can hold, with the same offset: a zone's rules repeat as the calendar does, and it had none
    before there were clocks to agree."""
    day, rest = divmod(seconds, DAY_SECONDS)
    if day > _LAST:
        day = _LAST - CYCLE + (day - _LAST) % CYCLE
    return _EPOCH + timedelta(max(day, _FIRST), rest)


def _seconds(offset: timedelta | None) -> int:
    return 0 if offset is None else offset // _SECOND
