"""Machine code in the user's cache folder, for the next process.

It is run as it is. So it is kept where only the user can write (`gdb.base.private_folder`), and run only if this user
wrote it: each file must be a plain one of theirs that no other user may write to, and must begin with a code that
authenticates its name, what it depends on and the machine code (BLAKE2b with a key, RFC 7693, section 2.9). The key is
32 random bytes in a file of mode 0600 in the same folder. Where anything is not so, nothing is cached.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable
from contextlib import suppress
from functools import cache as once
from typing import TypeVar

from gdb.base import private_folder
from gdb.base.digests import blake2b, compare_digest, token_hex
from gdb.base.private_folder import NotPrivate, is_plain_and_own
from gdb.records import dataclass

_log = logging.getLogger("gdb")
T = TypeVar("T")

MOST = 512  # files; beyond, those that were read longest ago are removed
KEY = "key"
_SEAL = 32  # bytes of an authentication code
_KEY_BYTES = 32
_NAME = re.compile(r"\w+-[0-9a-f]{32}\.o|[0-9a-f]{32}\.new", re.ASCII)
# of a pipe too: must not wait
_READING = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_WRITING = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Entry:
    """Machine code by its name and all that it depends on. file : its name in the cache folder."""

    file: str
    state: bytes


def entry(name: str, depends_on: bytes) -> Entry:
    """The entry of a name, of letters, digits and underscores, that depends on these bytes."""
    state = blake2b(depends_on).digest()
    return Entry(f"{name}-{state[:16].hex()}.o", state)


def read(entry: Entry) -> bytes | None:
    """The machine code of an entry; None where it is absent, or is not what this user wrote."""

    def found(folder: int) -> bytes | None:
        key = _read(folder, KEY, _KEY_BYTES)
        content = None if key is None else _read(folder, entry.file)
        if key is None or content is None:
            return None
        seal, code = content[:_SEAL], content[_SEAL:]
        return code if compare_digest(seal, _seal(key, entry, code)) else None

    return _inside(found)


def write(entry: Entry, code: bytes) -> None:
    """Keep machine code for the next process; where it cannot be kept, that is no error."""

    def kept(folder: int) -> None:
        _replace(folder, entry.file, _seal(_key(folder), entry, code) + code)
        _prune(folder)

    _inside(kept)


def folder_path() -> tuple[str, ...]:
    """The folder: one in whose path links may be, and the names below it."""
    return private_folder.user_cache(), "gdb", "kernels"


def _inside(work: Callable[[int], T]) -> T | None:
    """What `work` makes of a descriptor of the folder; None where there is none to trust, or it fails."""
    try:
        with private_folder.open_private(*folder_path()) as (folder, wide):
            if wide:  # others may have put there what they liked: nothing in it is worth a look
                _empty(folder)
            return work(folder)
    except NotPrivate as error:
        _report(logging.WARNING, str(error))
    except OSError as error:
        _report(logging.INFO, f"The operating system refuses it ({error}).")
    return None


@once
def _report(level: int, why: str) -> None:
    """Say once why machine code is not kept."""
    _log.log(
        level, "Machine code is compiled each time, which takes seconds, and not kept: %s", why
    )


# ---- files in the folder ---------------------------------------------------------------------------


def _seal(key: bytes, entry: Entry, code: bytes) -> bytes:
    """What authenticates machine code as that of an entry: no file can take the place of another."""
    seal = blake2b(key=key, digest_size=_SEAL, person=b"gdb kernel")
    seal.update(entry.state + entry.file.encode() + b"\0")  # no part has two readings
    seal.update(code)
    return seal.digest()


def _read(folder: int, name: str, length: int | None = None) -> bytes | None:
    """A file that this user wrote; None where it is absent, is another's, or has another length."""
    try:
        fd = os.open(name, _READING, dir_fd=folder)
    except OSError:
        return None
    with open(fd, "rb") as file:
        state = os.fstat(fd)
        if not is_plain_and_own(state) or length not in (None, state.st_size):
            return None
        content = file.read()
        with suppress(OSError):
            os.utime(fd)  # it is not the oldest any more
        return content


def _key(folder: int) -> bytes:
    """The key, made where there is none. Processes that make it at once agree on one."""
    found = _read(folder, KEY, _KEY_BYTES)
    if found is not None:
        return found
    with suppress(FileNotFoundError):
        os.unlink(KEY, dir_fd=folder)  # it is no key of ours: a link, another's file, cut short
    made = _written(folder, os.urandom(_KEY_BYTES))
    try:
        os.link(made, KEY, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
    except FileExistsError:
        pass  # another process was quicker
    except OSError:
        # no hard links here: then the last one counts, and what had another key is made again
        os.rename(made, KEY, src_dir_fd=folder, dst_dir_fd=folder)
        made = ""
    if made:
        os.unlink(made, dir_fd=folder)
    found = _read(folder, KEY, _KEY_BYTES)
    if found is None:
        raise OSError("its key was removed")
    return found


def _replace(folder: int, name: str, content: bytes) -> None:
    """Readers see all of a file or nothing."""
    made = _written(folder, content)
    try:
        os.rename(made, name, src_dir_fd=folder, dst_dir_fd=folder)
    except OSError:
        os.unlink(made, dir_fd=folder)
        raise


def _written(folder: int, content: bytes) -> str:
    """The name of a new file."""
    name = f"{token_hex(16)}.new"
    fd = os.open(name, _WRITING, 0o600, dir_fd=folder)
    try:
        with open(fd, "wb") as file:
            file.write(content)
    except OSError:
        os.unlink(name, dir_fd=folder)
        raise
    return name


def _own_names(folder: int) -> list[str]:
    return [name for name in os.listdir(folder) if _NAME.fullmatch(name)]


def _prune(folder: int) -> None:
    """Remove what was read longest ago, where there is too much."""
    names = _own_names(folder)
    if len(names) <= MOST:
        return
    ages = list[tuple[int, str]]()
    for name in names:
        with suppress(FileNotFoundError):  # another process prunes as well
            ages.append((os.lstat(name, dir_fd=folder).st_mtime_ns, name))
    for _, name in sorted(ages)[: len(ages) - MOST]:
        _unlink(folder, name)


def _empty(folder: int) -> None:
    """Remove the key and all machine code."""
    for name in [KEY, *_own_names(folder)]:
        _unlink(folder, name)


def _unlink(folder: int, name: str) -> None:
    with suppress(FileNotFoundError, IsADirectoryError):
        os.unlink(name, dir_fd=folder)
