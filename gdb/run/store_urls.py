"""Stores at URLs: which paths are URLs, and the files behind one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from gdb.errors import ReadOnlyError, TypeProblem

if TYPE_CHECKING:
    from gdb.storage.disk.remote_files import RemoteFiles


def is_url(path: object) -> bool:
    """Whether a path is a URL, and not a folder of this machine."""
    return isinstance(path, str) and "://" in path


def remote_files(
    path: object, read_only: bool, storage_options: Mapping[str, object] | None
) -> RemoteFiles | None:
    """The files of a store at a URL; None where the path is none. Raises ReadOnlyError, TypeProblem, NotAStore,
    StoreError."""
    if storage_options is not None and not isinstance(storage_options, Mapping):
        raise TypeProblem(
            f"storage_options= takes a dict, not {type(storage_options).__name__}.",
            'As in storage_options={"anon": True}.',
        )
    if not isinstance(path, str) or not is_url(path):
        if storage_options:
            raise TypeProblem("storage_options= are those of a URL, and there is none.")
        return None
    from gdb.storage.disk.files import TO_CHANGE
    from gdb.storage.disk.remote_files import RemoteFiles, shown

    if not read_only:
        raise ReadOnlyError(
            f"the store {shown(path)} lies at a URL, and is only read.",
            f"Open it with read_only=True. {TO_CHANGE}",
        )
    return RemoteFiles(path, storage_options)
