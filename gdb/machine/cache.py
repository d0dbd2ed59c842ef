"""Machine code in the user's cache folder, for the next process."""

from __future__ import annotations

import hashlib
import os
import tempfile
from contextlib import suppress
from pathlib import Path

_DIGEST = 32  # bytes of a checksum
MOST = 512  # files; beyond, those that were read longest ago are removed


def place(name: str, depends_on: bytes) -> Path | None:
    """Where the machine code of that name is kept that depends on these bytes; None where there is no folder for it.

    Machine code is run as it is, so it is kept only where nobody but the user can write, and never in a store
    (design.md §2).
    """
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    folder = Path(home) / "gdb" / "kernels"
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if folder.stat().st_uid != os.getuid():
            return None
        folder.chmod(0o700)
    except OSError:
        return None
    state = hashlib.blake2b(depends_on, digest_size=16)
    return folder / f"{name}-{state.hexdigest()}.o"


def read(path: Path) -> bytes | None:
    """The machine code of a cache file, None where it is absent or was cut short."""
    try:
        content = path.read_bytes()
    except OSError:
        return None
    digest, code = content[:_DIGEST], content[_DIGEST:]
    if hashlib.blake2b(code, digest_size=_DIGEST).digest() != digest:
        return None
    with suppress(OSError):
        os.utime(path)
    return code


def write(path: Path, code: bytes) -> None:
    """Keep machine code for the next process; a folder that cannot be written to is no error."""
    try:
        handle, name = tempfile.mkstemp(dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(hashlib.blake2b(code, digest_size=_DIGEST).digest() + code)
            os.replace(name, path)  # readers see all of it or nothing
        except OSError:
            os.unlink(name)
        _prune(path.parent)
    except OSError:
        pass


def _prune(folder: Path) -> None:
    """Remove what was read longest ago, where there is too much."""
    with os.scandir(folder) as entries:
        files = sorted((entry.stat().st_mtime, entry.path) for entry in entries if entry.is_file())
    for _, old in files[: max(len(files) - MOST, 0)]:
        os.unlink(old)
