"""The names of the files in a store's folder: which of them are ours, and which mean nothing any more."""

from __future__ import annotations

import re
from collections.abc import Iterable

from gdb.records import dataclass

from .pins import READERS_LOCK
from .writer_lock import WRITER_LOCK

SEGMENT_NAME = re.compile(r"seg-[0-9]{8,15}-[0-9]{4,10}-[0-9a-f]{8}\.gdb")
_TEMPORARY_NAME = re.compile(r"manifest-[0-9]{8,15}-[0-9a-f]{8}\.tmp|scratch-[0-9a-f]{16}\.tmp")


def holds_nothing_else(names: list[str]) -> bool:
    """Whether a folder holds only what a writer killed while creating a store may have left."""
    ours = {WRITER_LOCK, READERS_LOCK}
    return all(name in ours or _TEMPORARY_NAME.fullmatch(name) for name in names)


def looks_like_store(names: list[str]) -> bool:
    """Whether a folder holds segments."""
    return any(SEGMENT_NAME.fullmatch(name) for name in names)


def strays(names: list[str], kept: set[str]) -> list[str]:
    """Those of `names` that are files of a store, but not in `kept`."""
    return [
        name
        for name in names
        if name not in kept and (SEGMENT_NAME.fullmatch(name) or _TEMPORARY_NAME.fullmatch(name))
    ]


@dataclass(frozen=True, slots=True)
class FileGroup:
    """Files that come and go together; locks on the first of them protect all (`gdb.storage.disk.pins`)."""

    first: tuple[str, ...]
    others: tuple[str, ...]


def together(strays: Iterable[str]) -> tuple[FileGroup, ...]:
    """Strays by the version that wrote them; a file that is no segment is protected by no other and protects none."""
    versions: dict[str, tuple[list[str], list[str]]] = {}
    for name in strays:
        version, number = _place(name) if SEGMENT_NAME.fullmatch(name) else ("", 1)
        versions.setdefault(version, ([], []))[number > 0].append(name)
    return tuple(FileGroup(tuple(first), tuple(others)) for first, others in versions.values())


def first_of_each(segments: Iterable[str]) -> list[str]:
    """The segments that represent the others that a manifest names: the first of each version."""
    found: dict[str, str] = {}
    for name in segments:
        found.setdefault(_place(name)[0], name)
    return list(found.values())


def _place(segment: str) -> tuple[str, int]:
    """The version that wrote a segment, and its number there."""
    _, version, number, _ = segment.split("-")
    return version, int(number)
