"""Pages of mapped files that the system cannot give while a query reads them: the query raises, the process goes on.

The system sends SIGBUS to a thread that reads a page of a map behind the end of its file (which was cut short
meanwhile), or one that the disk cannot read; by default that ends the process. While work that looks for it afterwards
runs (`watched`), the pages of such a map from there on become zeros, and the map is noted as lost: what reads it goes
on over zeros, which are refused as nonsense or lead to a wrong answer, and nothing of it is given out, for `lost` is
looked at before. Every other SIGBUS goes where it went before, also one while nothing is watched. Linux only.

Source: the technique of virtual machines that map files (HotSpot's `Unsafe` reads).
"""

from __future__ import annotations

import ctypes
import mmap
import signal
import sys
import weakref
from collections import deque
from collections.abc import Callable
from typing import TypeVar

import numpy as np

from gdb.base import usage
from gdb.base.once import PerProcess

from ..columns.model import U8

T = TypeVar("T")
_ADDRESS = 16  # of si_addr in siginfo_t, on every 64-bit Linux
_ANONYMOUS = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
_FIXED = 0x10
_SIGINFO = 4
WATCHES = sys.platform == "linux" and sys.maxsize > 2**32
_Handler = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)


class _Action(ctypes.Structure):
    """`struct sigaction` of Linux."""

    _fields_ = (
        ("handler", ctypes.c_void_p),
        ("mask", ctypes.c_ubyte * 128),
        ("flags", ctypes.c_int),
        ("restorer", ctypes.c_void_p),
    )


class _Maps:
    """The maps of this process, by address, and the handler of the signal, once there is a map."""

    def __init__(self) -> None:
        self.lengths: dict[int, int] = {}
        self.lost: dict[int, int] = {}
        self.first: dict[int, tuple[int, int]] = {}  # of pages that are mapped twice: see `add`
        self.watching = deque[
            None
        ]()  # one for each block of work: threads add and remove without a lock
        self._refs: dict[int, weakref.ref[mmap.mmap]] = {}
        self._handler = _Handler(self._on_signal)
        self._before = _Action()
        libc = ctypes.CDLL(None, use_errno=True)
        self._sigaction, self._mmap = libc.sigaction, libc.mmap
        self._mmap.restype = ctypes.c_void_p
        numbers = (ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long)
        self._mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, *numbers)
        own = _Action(ctypes.cast(self._handler, ctypes.c_void_p), flags=_SIGINFO)
        self._sigaction(signal.SIGBUS, ctypes.byref(own), ctypes.byref(self._before))

    def add(
        self, whole: mmap.mmap, begin: int, size: int, first: tuple[int, int] | None = None
    ) -> None:
        """size : bytes from the address `begin` on. first : of pages that another map has as well: where that one
        begins, which is noted as lost instead, and at which of its bytes they do."""

        def gone(_: object) -> None:
            for known in (self.lengths, self.lost, self.first, self._refs):
                known.pop(begin, None)

        self._refs[begin] = weakref.ref(whole, gone)
        if first is not None:
            self.first[begin] = first
        self.lengths[begin] = -(-size // mmap.PAGESIZE) * mmap.PAGESIZE

    def _on_signal(self, number: int, info: int, _: int) -> None:
        """Runs in the thread that read the page, stopped at that instruction."""
        address = ctypes.c_uint64.from_address(info + _ADDRESS).value
        for begin, length in list(self.lengths.items()):
            if self.watching and begin <= address < begin + length:
                page = address - (address - begin) % mmap.PAGESIZE
                size, kind = begin + length - page, _ANONYMOUS | _FIXED
                own, before = self.first.get(begin, (begin, 0))
                self.lost[own] = min(self.lost.get(own, sys.maxsize), before + page - begin)
                if self._mmap(page, size, mmap.PROT_READ, kind, -1, 0) == page:
                    return
        self._sigaction(signal.SIGBUS, ctypes.byref(self._before), None)  # it comes again


_maps = PerProcess(_Maps)


def mapped(whole: mmap.mmap) -> U8:
    """The bytes of a map, u8[length], whose pages are watched where that is known to work."""
    found = np.frombuffer(whole, np.uint8)
    if WATCHES:
        _maps.get().add(whole, _address(found), len(found))
    return found


def mapped_again(whole: mmap.mmap, at: int, piece: U8, of: mmap.mmap) -> None:
    """Watch pages of a map, from its byte `at` on, that are those of a piece of another one; what is lost of them is
    lost of the other."""
    begin, first = _address(np.frombuffer(whole, np.uint8)), _address(np.frombuffer(of, np.uint8))
    _maps.get().add(whole, begin + at, len(piece), (first, _address(piece) - first))


def _address(data: U8) -> int:
    return int(data.__array_interface__["data"][0])


def lost(data: U8) -> int | None:
    """From which byte on a file that was mapped became zeros; None where nothing of it was lost."""
    found = _maps.get().lost
    return found.get(_address(data)) if found else None


def happened() -> bool:
    """Whether pages of any map were lost."""
    return bool(_maps.get().lost)


def watched_at_once(
    read: Callable[[], T], look: Callable[[], None], after: Callable[[], None]
) -> T | None:
    """What a few reads of maps give, as in a block of `watched`; Ctrl-C may strike in it. None where nothing was
    watched in this process before. look, after : see there."""
    maps = _maps.made
    if maps is None:
        return None
    watching = maps.watching
    try:  # a signal is seen behind a call: from here on there is an entry when one raises
        watching.append(None)
        return read()
    finally:
        watching.pop()
        if maps.lost:
            look()
        after()


class watched:  # used in `with`, as a function would be
    """A block of work that reads maps.

    look : called at its end where pages of some map were lost, whether or not it has failed; raises where it read that
        one. after : called at its end, too; raises where what it read is not to be believed for another reason. So the
        query of this thread may read in it what is not verified yet (`Usage.blocks`).
    """

    __slots__ = ("_after", "_look", "_usage")

    def __init__(self, look: Callable[[], None], after: Callable[[], None]) -> None:
        self._look, self._after = look, after

    def __enter__(self) -> None:
        _maps.get().watching.append(None)
        self._usage = query = usage.current()
        if query is not None:
            query.blocks += 1

    def __exit__(self, *_: object) -> None:
        maps = _maps.get()
        maps.watching.pop()
        if self._usage is not None:
            self._usage.blocks -= 1
        if maps.lost:
            self._look()
        self._after()
