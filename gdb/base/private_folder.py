"""Folders that only this user can change, and the files in them: where gdb keeps what it will trust later.

A path is walked from the root, one name at a time, through descriptors of the folders. Each of them belongs to this
user or to root, and no other user can write to it, so none can replace it between two looks. In
a folder that all may write to but that is sticky, as the system's folder for temporary files, others can make names but
neither remove nor rename those of this user. A symbolic link on the way is followed by this walk and never by the
kernel, and only where it belongs to this user or to root: a home that is a link, as /home -> /usr/home, is fine.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_MOST_LINKS = 40  # as Linux itself
_OTHERS_WRITE = 0o022
# Of a folder that may be entered but not listed too, as /home often is.
_PASSING = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_LISTING = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class NotPrivate(Exception):
    """Another user can write there, or could have; the message says where, and the cure follows it."""

    def __init__(self, message: str, cure: str) -> None:
        super().__init__(f"{message} {cure}")


def is_plain_and_own(state: os.stat_result) -> bool:
    """Whether a file is a plain one of this user, under one name, that no other user may write to."""
    return (
        stat.S_ISREG(state.st_mode)
        and state.st_uid == os.geteuid()
        and state.st_nlink == 1
        and not state.st_mode & _OTHERS_WRITE
    )


def user_cache() -> str:
    """The folder in which programs of this user keep what they can make again; in its path links may be."""
    stated = os.environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(stated):  # the XDG Base Directory Specification: others are ignored
        return stated
    return os.path.join(os.path.expanduser("~"), ".cache")


@contextmanager
def opened(base: str, *names: str) -> Iterator[tuple[int, bool]]:
    """The folder `base`/names, made where it is missing, with mode 0700; a descriptor of it, and whether others could
    have written to it until now. Its mode is 0700 from here on.

    base : an absolute path, in which links may be. names : of folders below it that are no links.

    Raises
    ------
    NotPrivate : another user may write to it or to a folder on the way, or owns one.
    OSError : it cannot be made or opened.
    """
    if os.getuid() != os.geteuid():
        raise NotPrivate(
            "This process runs with the rights of another user than the one who started it.",
            "It trusts no folder that its environment names.",
        )
    where, folder = os.path.join(base, *names), _walked(base)
    try:
        for number, name in enumerate(names, 1):
            inner = _inner(folder, name, _LISTING if number == len(names) else _PASSING)
            if inner is None:
                raise NotPrivate(f"{name} in {where} is a symbolic link.", "Remove that link.")
            os.close(folder)
            folder = inner
            _check(state := os.fstat(folder), f"{name} in {where}", last=number == len(names))
        wide = bool(state.st_mode & 0o077)
        if wide:
            os.fchmod(folder, 0o700)
        yield folder, wide
    finally:
        os.close(folder)


def own_file(folder: int, name: str) -> None:
    """Make a file in a folder of `opened`, where it is missing, that no other user may read or write.

    Raises
    ------
    NotPrivate : there is something else, or a file of another user, or with a second name.
    OSError : it cannot be made.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    fd = os.open(name, flags, 0o600, dir_fd=folder)
    try:
        if not is_plain_and_own(os.fstat(fd)):
            raise NotPrivate(f"The file {name} is not this user's alone.", "Remove it.")
        os.fchmod(fd, 0o600)
    finally:
        os.close(fd)


def _walked(path: str) -> int:
    """A descriptor of a folder, by the walk that the module describes."""
    if not os.path.isabs(path):
        raise NotPrivate(f"The folder {path!r} is no absolute path.", "Set HOME.")
    folder, rest, links = _root(), _reversed(path), 0
    try:
        while rest:
            name = rest.pop()
            inner = _inner(folder, name, _PASSING)
            if inner is None:
                links += 1
                if links > _MOST_LINKS:
                    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
                target = _target(folder, name, path)
                rest += _reversed(target)
                inner = _root() if os.path.isabs(target) else os.dup(folder)
            os.close(folder)
            folder = inner
            _check(os.fstat(folder), f"{name} in {path}")
    except BaseException:
        os.close(folder)
        raise
    return folder


def _reversed(path: str) -> list[str]:
    return [name for name in reversed(path.split("/")) if name not in ("", ".")]


def _root() -> int:
    folder = os.open("/", _PASSING)
    try:
        _check(os.fstat(folder), "/")
    except BaseException:
        os.close(folder)
        raise
    return folder


def _inner(folder: int, name: str, flags: int) -> int | None:
    """Open a folder in another one, made where it is missing; None where the name is a symbolic link."""
    try:
        try:
            return os.open(name, flags, dir_fd=folder)
        except FileNotFoundError:
            with suppress(FileExistsError):  # another process was quicker
                os.mkdir(name, 0o700, dir_fd=folder)
            return os.open(name, flags, dir_fd=folder)
    except OSError as error:
        if error.errno not in (errno.ENOTDIR, errno.ELOOP):
            raise
        if not stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            raise
        return None


def _target(folder: int, name: str, path: str) -> str:
    """Where a symbolic link leads that this user or root has made."""
    state = os.stat(name, dir_fd=folder, follow_symlinks=False)
    if state.st_uid not in (0, os.geteuid()):
        raise _not_own(f"The symbolic link {name} in {path}", state)
    return os.readlink(name, dir_fd=folder)


def _check(state: os.stat_result, what: str, *, last: bool = False) -> None:
    """last : it is to be this user's own, and its mode is looked at elsewhere."""
    if state.st_uid != os.geteuid() and (last or state.st_uid != 0):
        raise _not_own(f"The folder {what}", state)
    if not last and state.st_mode & _OTHERS_WRITE and not state.st_mode & stat.S_ISVTX:
        raise NotPrivate(f"Others may write to the folder {what}.", "Remove that: chmod go-w.")


def _not_own(what: str, state: os.stat_result) -> NotPrivate:
    return NotPrivate(
        f"{what} belongs to the user with the number {state.st_uid}, not to {os.geteuid()}.",
        "Let HOME or the XDG variable name a folder of your own.",
    )
