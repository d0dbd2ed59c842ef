"""The GPU executor on a machine without a GPU: its kernels, unchanged, compiled by g++ with `warp.h` for a device.

Everything of `gdb.executor.gpu` runs but what calls CuPy: memory is arrays of the host, a launch a call of the library.
"""

from __future__ import annotations

import ctypes
import hashlib
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import cache
from pathlib import Path
from threading import Event

import numpy as np
import numpy.typing as npt
import pytest

from gdb.executor.gpu import (
    arenas,
    compiler,
    device,
    memory,
    pinned,
    placing,
    render,
    special,
)
from tests.support.compiler_results import kept

HERE = Path(__file__).parent
ALIGNED = 256  # bytes, as CuPy's pool does
# what only a GPU has, and its replacement
REPLACED = (
    (r"extern __shared__ i64 states\[\];", "i64* states = own_warp->shared;"),
    (r'asm volatile\("mov\.u64 %0, %globaltimer;"[^;]*;', "now = clock_nanoseconds();"),
    (r'asm\("shl\.b32 .*?\);', "found = shifted_left(~0u, max(bit, 0));"),
)


def absence() -> str | None:
    """Why there is no emulator here; None: there is."""
    if shutil.which("g++") is None:
        return "no g++"
    made = subprocess.run(["g++", "-dumpmachine"], capture_output=True, text=True, check=False)
    return None if made.stdout.startswith("x86_64") else "fibers are written for x86-64"


@cache
def _folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="gdb-emulated-"))


@cache
def library(source: str) -> ctypes.CDLL:
    """A kernel's source as a library."""
    for pattern, instead in REPLACED:
        source = re.sub(pattern, instead, source)
    parts = ((HERE / "warp.h").read_text(), source, (HERE / "entries.h").read_text())
    name = hashlib.sha256(source.encode()).hexdigest()[:24]
    text, made = _folder() / f"{name}.cpp", _folder() / f"{name}.so"
    text.write_text("\n".join(parts))
    command = ["g++", "-std=c++17", "-O1", "-w", "-fpermissive", "-fPIC", "-shared"]

    def compiled() -> bytes:
        subprocess.run([*command, "-o", str(made), str(text)], check=True)
        return made.read_bytes()

    made.write_bytes(kept("emulated", (_version(), command, parts), compiled))
    return ctypes.CDLL(str(made))


@cache
def _version() -> str:
    """The compiler's, and the C library's headers that it includes."""
    command = ["g++", "-v", "-E", "-dM", "-include", "features.h", "-x", "c++", "/dev/null"]
    made = subprocess.run(command, capture_output=True, text=True, check=True)
    return made.stdout + made.stderr


class Buffer:
    def __init__(self, array: np.ndarray, offset: int = 0) -> None:
        self.array, self.offset = array, offset

    @property
    def ptr(self) -> int:
        return int(self.array.ctypes.data) + self.offset

    def __add__(self, offset: int) -> Buffer:
        return Buffer(self.array, self.offset + offset)

    def memset_async(self, value: int, size: int) -> None:
        ctypes.memset(self.ptr, value, size)


class Array:
    """A fake `memory.DeviceArray`."""

    def __init__(self, shape: tuple[int, ...], dtype: npt.DTypeLike, fill: int) -> None:
        size = int(np.prod(shape)) * np.dtype(dtype).itemsize
        room = np.full(size + 2 * ALIGNED, fill, np.uint8)
        start = -room.ctypes.data % ALIGNED
        self.array = room[start : start + size].view(dtype).reshape(shape)
        self.data, self.nbytes, self.shape = Buffer(self.array), size, shape


def upload(array: np.ndarray) -> Array:
    made = Array(array.shape, array.dtype, 0)
    made.array[...] = array
    return made


def empty(shape: tuple[int, ...], dtype: npt.DTypeLike, *, zero: bool = False) -> Array:
    return Array(shape, dtype, 0 if zero else 0x77)


class Block:
    """Fake page-locked memory."""

    def __init__(self, size: int = 1 << 14) -> None:
        self._room = np.zeros(max(size, 1 << 14), np.uint8)
        self.address, self.size = self._room.ctypes.data, size

    def array(self, shape: tuple[int, ...], dtype: npt.DTypeLike, offset: int = 0) -> np.ndarray:
        return np.ndarray(shape, dtype, self._room.data, offset)


class Locked:
    bytes = 0

    def take(self, size: int) -> Block:
        return Block(size)

    def give(self, block: Block) -> None:
        pass


class Ended:
    """A fake event of a copy."""

    def synchronize(self) -> None:
        pass


def to_device(to: int, source: int, size: int) -> Ended:
    ctypes.memmove(to, source, size)
    return Ended()


class Link:
    """A fake of `memory.Link`."""

    def to_device(self, to: int, source: int, size: int) -> Ended:
        return to_device(to, source, size)

    to_host = to_device


class Copies:
    """A fake of the stream on which rows go to the host."""

    def to_host(self, pieces: Iterator[tuple[int, int, int]]) -> Ended:
        for to, source, size in pieces:
            ctypes.memmove(to, source, size)
        return Ended()

    def settle(self) -> None:
        pass


class Clock:
    def stop(self) -> None:
        pass

    def seconds(self) -> float:
        return 0.001


class Function:
    """A kernel; whether lanes run from the last to the first."""

    downwards = False
    launches = 0

    def __init__(self, source: str, name: str) -> None:
        self.source, self.name = source, name

    def __call__(self, grid: object, block: object, arguments: tuple[object, ...]) -> None:
        pointers = [
            ctypes.c_void_p(a.data.ptr) if isinstance(a, Array) else ctypes.c_longlong(int(a))  # type: ignore[call-overload]
            for a in arguments
        ]
        assert getattr(library(self.source), f"emulate_{self.name}")(*pointers) == 0


def _generic(ordinal: int, name: str, *, cold: bool = False) -> Function:
    return Function(render.source(cold=cold), name)


def _launch(call: compiler.Call, function: Function, blocks: int, shared: int) -> None:
    table, *limits = call.parameters
    numbers = [ctypes.c_longlong(int(one[0])) for one in limits]
    Function.launches += 1
    run = library(function.source).emulate_run_nest
    address = ctypes.c_void_p(table.ctypes.data)
    assert run(address, len(table), *numbers, blocks, shared, Function.downwards) == 0


class Kernel:
    """A fake special kernel that is compiled already, or, where it is `late`, once it has been requested
    more than twice."""

    late = False

    def __init__(self, source: str, ordinal: int) -> None:
        self._function, self._asked, self.done = Function(source, render.ENTRY), 0, Event()
        self.done.set()

    @property
    def function(self) -> Function | None:
        self._asked += 1
        return None if Kernel.late and self._asked <= 2 else self._function


@contextmanager
def emulated(*, downwards: bool = False, late: bool = False, worth: float = -1.0) -> Iterator[None]:
    """A GPU of one multiprocessor, for as long as this lasts. worth : as `special.WORTH`."""
    with pytest.MonkeyPatch.context() as patch:
        for what in (upload, empty, to_device, Link, Clock):
            patch.setattr(memory, what.__name__, what)
        patch.setattr(memory, "download", lambda found, rows=None: found.array[:rows].copy())
        patch.setattr(memory, "copies", lambda ordinal: Copies())
        patch.setattr(memory, "wait_for", lambda event: None)
        patch.setattr(memory, "copy_between", ctypes.memmove)
        patch.setattr(memory, "settle", lambda: None)
        patch.setattr(memory, "LOCKED", Locked())
        patch.setattr(memory, "RESIDENTS", memory.Residents())
        patch.setattr(memory, "ARENAS", memory.Arenas())
        patch.setattr(arenas, "new_block", lambda size: empty((size,), np.uint8))
        patch.setattr(arenas, "free_bytes", lambda ordinal: 1 << 32)
        for where in (device, memory):
            patch.setattr(where, "free_bytes", lambda ordinal: 1 << 32)
        patch.setattr(device, "multiprocessors", lambda ordinal: 1)
        patch.setattr(device, "shared_bytes", lambda ordinal: 228 << 10)
        patch.setattr(device, "on", lambda ordinal: nullcontext())
        patch.setattr(compiler, "generic", _generic)
        patch.setattr(device.PRESENCE, "trim", lambda ordinal: None)
        for where in (pinned, placing):
            patch.setattr(where, "Block", Block)
        patch.setattr(pinned, "CACHE", pinned.LockedCopies())
        patch.setattr(compiler.Call, "launch", _launch)
        patch.setattr(special, "Kernel", Kernel)
        patch.setattr(special, "WORTH", worth)
        patch.setattr(Function, "downwards", downwards)
        patch.setattr(Kernel, "late", late)
        special._made.get().known.clear()
        yield
        special._made.get().known.clear()
        memory.KEPT.forget()
