"""A model of a disk: what is on it for certain, what may be, and every image that a power cut may leave.

It promises what POSIX promises and no more. The bytes of a file are certain after an fsync of the file, its
name after an fsync of the folder. Of what was written since, any part may be there:

- of a file: any length between the synced one and the last; each 512-byte sector in any state that it has
  had since, so absent, whole, torn, or there as zeros;
- of a folder's changes (create, rename, remove): in the order `PREFIX` the first few, as a journalling
  file system leaves them; in the order `SUBSET` any of them. A rename is one change: its file is never
  under both names nor under none, but it may be there though the creation of the old name is lost.

The idea is that of ALICE (T. S. Pillai et al., "All File Systems Are Not Created Equal", OSDI 2014): record the
operations of a workload, cut them anywhere, build the images.
"""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from random import Random
from typing import TypeVar

SECTOR = 512
ROOT = 0  # the inode of the folder in which everything happens; its own name is certain
_MOST_OUTCOMES = 256  # drawn of one file, or of one folder, before they are combined

T = TypeVar("T")


class Order(Enum):
    """In which order changes of one folder reach the disk."""

    PREFIX = "prefix"
    SUBSET = "subset"


@dataclass(frozen=True, slots=True)
class Created:
    """A file or folder appeared in a folder."""

    folder: int
    name: str
    inode: int
    is_folder: bool = False


@dataclass(frozen=True, slots=True)
class Renamed:
    """A file or folder got another name in its folder, and what had that name lost it."""

    folder: int
    old: str
    name: str
    inode: int


@dataclass(frozen=True, slots=True)
class Removed:
    """A file or folder lost its name."""

    folder: int
    name: str
    inode: int


@dataclass(frozen=True, slots=True)
class Written:
    """Bytes went into a file."""

    inode: int
    offset: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Synced:
    """An fsync of a file or folder returned. `site`: the line of the program that called it."""

    inode: int
    site: str


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """The commit of this version to the store in this folder was acknowledged."""

    store: str
    version: int


Change = Created | Renamed | Removed
Operation = Change | Written | Synced | Acknowledged


@dataclass(frozen=True, slots=True)
class Image:
    """What a power cut left, by path from the root. folders : sorted, parents first."""

    folders: tuple[str, ...]
    files: tuple[tuple[str, bytes], ...]

    def key(self) -> bytes:
        """16 bytes that identify the image."""
        found = hashlib.blake2b(repr(self.folders).encode(), digest_size=16)
        for path, content in self.files:
            found.update(f"{path}\0{len(content)}\0".encode())
            found.update(content)
        return found.digest()


@dataclass(slots=True)
class _File:
    certain: bytes = b""
    pending: list[Written] = field(default_factory=list)

    def now(self) -> bytes:
        """The content that a reader sees."""
        content = bytearray(self.certain)
        for write in self.pending:
            _put(content, write)
        return bytes(content)


@dataclass(slots=True)
class _Folder:
    certain: dict[str, int] = field(default_factory=dict)
    pending: list[Change] = field(default_factory=list)


class Disk:
    """The state after some operations; `apply` adds one, `images` lists what a power cut may leave now."""

    def __init__(self) -> None:
        self._folders: dict[int, _Folder] = {ROOT: _Folder()}
        self._files: dict[int, _File] = {}

    def apply(self, operation: Operation) -> None:
        """One operation later."""
        match operation:
            case Created(folder, _, inode, is_folder):
                if is_folder:
                    self._folders[inode] = _Folder()
                else:
                    self._files[inode] = _File()
                self._folders[folder].pending.append(operation)
            case Renamed(folder) | Removed(folder):
                self._folders[folder].pending.append(operation)
            case Written(inode):
                self._files[inode].pending.append(operation)
            case Synced(inode):
                self._sync(inode)
            case Acknowledged():
                pass

    def _sync(self, inode: int) -> None:
        if inode in self._folders:
            folder = self._folders[inode]
            folder.certain = _names(folder.certain, folder.pending)
            folder.pending = []
        else:
            file = self._files[inode]
            file.certain, file.pending = file.now(), []

    def images(self, order: Order, most: int, rng: Random) -> Iterator[Image]:
        """Images that a power cut may leave now: all where `most` allows, else a sample of that size.

        First come the image of a disk on which everything arrived, that on which nothing did, and those
        on which one file or one folder is in another state; the rest is drawn by `rng`.
        """
        folders = {n: f for n, f in self._folders.items() if f.pending}
        files = {n: f for n, f in self._files.items() if f.pending}
        drawn = min(_MOST_OUTCOMES, 4 * most)
        kept = [_kept(folder.pending, order, drawn, rng) for folder in folders.values()]
        contents = [_contents(file, drawn, rng) for file in files.values()]
        sizes = [*map(len, kept), *map(len, contents)]
        for choice in _choices(sizes, most, rng):
            changes = {n: kept[i][choice[i]] for i, n in enumerate(folders)}
            bytes_of = {n: contents[i][choice[len(folders) + i]] for i, n in enumerate(files)}
            yield self._image(changes, bytes_of)

    def now(self) -> Image:
        """What a program sees that looks at the disk now."""
        return self._image(
            {n: folder.pending for n, folder in self._folders.items()},
            {n: file.now() for n, file in self._files.items()},
        )

    def _image(
        self, changes: Mapping[int, Sequence[Change]], contents: Mapping[int, bytes]
    ) -> Image:
        folders: list[str] = []
        files: list[tuple[str, bytes]] = []
        left = [(ROOT, "")]
        while left:
            inode, path = left.pop()
            for name, child in _names(self._folders[inode].certain, changes.get(inode, ())).items():
                if child in self._folders:
                    folders.append(path + name)
                    left.append((child, f"{path}{name}/"))
                else:
                    content = contents.get(child)
                    certain = self._files[child].certain
                    files.append((path + name, certain if content is None else content))
        return Image(tuple(sorted(folders)), tuple(sorted(files)))


def _names(certain: dict[str, int], changes: Sequence[Change]) -> dict[str, int]:
    names = dict(certain)
    for change in changes:
        match change:
            case Created(_, name, inode):
                names[name] = inode
            case Renamed(_, old, name, inode):
                if names.get(old) == inode:
                    del names[old]
                names[name] = inode
            case Removed(_, name, inode):
                if names.get(name) == inode:
                    del names[name]
    return names


def _kept(changes: list[Change], order: Order, drawn: int, rng: Random) -> list[tuple[Change, ...]]:
    """Which of a folder's changes may have arrived: all of them first, then none, then the others."""
    n = len(changes)
    found = [tuple(changes), (), *(tuple(changes[:k]) for k in range(1, n))]
    if order is Order.SUBSET:
        found += [tuple(changes[:k] + changes[k + 1 :]) for k in range(n)]
        if 1 << n <= drawn:
            found += [s for k in range(n) for s in itertools.combinations(changes, k)]
        else:
            for _ in range(drawn):
                found.append(tuple(change for change in changes if rng.random() < 0.5))
    return list(dict.fromkeys(found))


def _contents(file: _File, drawn: int, rng: Random) -> list[bytes]:
    """What a file may hold: all first, then what is certain, then zeros, then torn between."""
    whole = file.now()
    states, lengths = _states(file, len(whole))
    last, old = [s[-1] for s in states], [s[0] for s in states]
    found = [whole, file.certain, b"".join(old)]
    found += [whole[:length] for length in lengths]
    for k in range(len(states)):
        found.append(b"".join(last[:k] + old[k:]))
        found += [b"".join([*last[:k], state, *last[k + 1 :]]) for state in states[k]]
    if math.prod(map(len, states)) * len(lengths) <= drawn:
        for choice in itertools.product(*states):
            content = b"".join(choice)
            found += [content[:length] for length in lengths]
    else:
        for _ in range(drawn):
            content = b"".join([rng.choice(s) for s in states])
            found.append(content[: rng.choice(lengths)])
    return list(dict.fromkeys(found))


def _states(file: _File, length: int) -> tuple[list[list[bytes]], list[int]]:
    """The states that each sector has had since the sync, oldest first; the lengths of the file, ascending."""
    content = bytearray(file.certain)
    content += bytes(length - len(content))  # a length without its bytes reads as zeros
    starts = range(0, length, SECTOR)
    states = [[bytes(content[at : at + SECTOR])] for at in starts]
    lengths = {len(file.certain), *(at for at in starts if at >= len(file.certain))}
    for write in file.pending:
        _put(content, write)
        end = write.offset + len(write.data)
        lengths.add(max(len(file.certain), end))
        for k in range(write.offset // SECTOR, -(-end // SECTOR)):
            states[k].append(bytes(content[k * SECTOR : (k + 1) * SECTOR]))
    return [list(dict.fromkeys(s)) for s in states], sorted(lengths)


def _put(content: bytearray, write: Written) -> None:
    content += bytes(max(0, write.offset - len(content)))
    content[write.offset : write.offset + len(write.data)] = write.data


def _choices(sizes: list[int], most: int, rng: Random) -> Iterator[tuple[int, ...]]:
    """Index tuples below `sizes`, at most `most`: all, or the first of each, the second of each, each changed
    alone, and then any. (The first of each list is everything, the second nothing.)"""
    if math.prod(sizes) <= most:
        yield from itertools.product(*map(range, sizes))
        return
    seen: set[tuple[int, ...]] = set()
    alone = (
        tuple(k if other == at else 0 for other in range(len(sizes)))
        for k in range(1, max(sizes))
        for at in range(len(sizes))
        if k < sizes[at]
    )
    first = [(0,) * len(sizes), tuple(min(1, size - 1) for size in sizes)]
    for choice in itertools.chain(first, itertools.islice(alone, most // 2)):
        if choice not in seen and len(seen) < most:
            seen.add(choice)
            yield choice
    for _ in range(4 * most):  # drawing again what was drawn is no reason to continue endlessly
        if len(seen) >= most:
            return
        choice = tuple(map(rng.randrange, sizes))
        if choice not in seen:
            seen.add(choice)
            yield choice
