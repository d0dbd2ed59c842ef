"""The names of the files in a store's folder: which of them are ours, and which mean nothing any more."""

from __future__ import annotations

import re

from gdb.storage.files import READERS_LOCK, WRITER_LOCK

SEGMENT_NAME = re.compile(r"seg-\d{8,}-\d{4,}-[0-9a-f]{8}\.gdb")
_TEMPORARY_NAME = re.compile(r"manifest-\d{8,}-[0-9a-f]{8}\.tmp|scratch-[0-9a-f]{16}\.tmp")


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
