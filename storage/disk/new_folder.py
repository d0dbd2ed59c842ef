"""A folder, or a file, that appears whole, or not at all: for copies and exports."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from gdb.base import digests, forks
from gdb.errors import FolderTaken, StoreError, StorePermissionError

from .files import PosixFiles, fsync_path
from .os_errors import translated


@contextmanager
def new_folder(path: Path) -> Iterator[PosixFiles]:
    """A folder that appears under its name when the block ends well, whole and synced, or never.

    It is filled beside its place as NAME.partial-XXXXXXXX and renamed at the end. An error removes
    it; what a killed process leaves keeps that name.

    Raises
    ------
    FolderTaken : there is something at `path` other than an empty folder.
    StorePermissionError, StoreError : it cannot be made.
    """
    target = Path(os.path.realpath(path))  # a link to an empty folder means that folder
    partial = target.parent / f"{target.name}.partial-{digests.token_hex(4)}"
    with translated(str(path)):
        if target.exists() and (not target.is_dir() or any(target.iterdir())):
            raise _taken(path)
        if os.path.ismount(target):  # it cannot be renamed over
            raise FolderTaken(f"{path} is a mount point.", "Name a new folder inside it.")
        made = [p for p in target.parents if not p.exists()]  # the innermost first
    born = forks.generation()
    try:
        yield (files := _make_folder(partial, path))
        for name in files.names():
            files.sync(name)  # protects the bytes: the name must never appear with fewer
        files.fsync_dir()  # protects the names in it
        with translated(str(path)):
            try:
                os.rename(partial, target)
            except OSError as error:
                if error.errno in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
                    raise _taken(path) from None  # another process was quicker
                raise
    except BaseException as error:
        if born != forks.generation():
            raise  # a child that was forked inside: the folder is the parent's
        shutil.rmtree(partial, ignore_errors=True)
        with suppress(OSError):
            for folder in made:
                folder.rmdir()
        if isinstance(error, FileNotFoundError) and not isinstance(error, StoreError):
            raise StoreError(
                f"{path} cannot be made, or what was written of it went away ({error.strerror}).",
                "Name a folder on a disk that is there.",
            ) from error
        raise
    with translated(str(path)):
        fsync_path(target.parent)  # protects the new name: after this success may be reported


def _make_folder(partial: Path, path: Path) -> PosixFiles:
    try:
        return PosixFiles(partial, create=True, new=True)
    except StorePermissionError as error:
        raise StorePermissionError(
            f"The operating system refuses to make {path}.", "Name a folder that you may write to."
        ) from error


def _taken(path: Path) -> FolderTaken:
    return FolderTaken(
        f"{path} exists and is not an empty folder.",
        "Name a new folder, or remove what is there first.",
    )


@contextmanager
def new_file(path: Path) -> Iterator[PosixFiles]:
    """A file that appears under its name when the block ends well, whole and synced, or never.

    The block writes it under that name into the folder that it gets, NAME.partial-XXXXXXXX beside its place.

    Raises
    ------
    FolderTaken : there is something at `path`. StorePermissionError, StoreError : it cannot be made.
    """
    target = Path(os.path.abspath(path))
    partial = target.parent / f"{target.name}.partial-{digests.token_hex(4)}"
    if os.path.lexists(target):
        raise _file_taken(path)
    if not target.parent.is_dir():
        raise StoreError(f"The folder {target.parent} is not there.", "Make it first.")
    born = forks.generation()
    try:
        yield (files := _make_folder(partial, path))
        with translated(str(path)):
            files.sync(target.name)  # protects the bytes: the name must never appear with fewer
            try:
                os.link(partial / target.name, target)  # unlike a renaming it replaces nothing
            except FileExistsError:
                raise _file_taken(path) from None
    finally:
        if born == forks.generation():
            shutil.rmtree(partial, ignore_errors=True)
    with translated(str(path)):
        fsync_path(target.parent)  # protects the new name


def _file_taken(path: Path) -> FolderTaken:
    return FolderTaken(f"{path} exists.", "Name a new file, or remove what is there first.")
