"""The presence of a GPU: the only module that queries CuPy for devices, and that turns its errors into ours."""

from __future__ import annotations

import ctypes
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec

from gdb.base import forks, threads, waiting
from gdb.errors import DeviceError

MOST_POOLED = 256 << 20  # bytes that CuPy's pool may hold unused while no query runs
LONGEST_WAIT = 10.0  # seconds for which a query waits for memory that another one holds
_LIBRARY = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
_NO_DEVICE = 100  # CUDA_ERROR_NO_DEVICE
_NO_MEMORY = 2  # cudaErrorMemoryAllocation
_NO_CUPY = "CuPy is not installed"
_FORKED = "CUDA was begun in the process that this one was forked from"
_CURE = 'Install a driver and gdb-embedded[cuda13] (or [cuda12]), or use device="cpu".'
_CURE_FORKED = 'Start processes that use a GPU by spawn (multiprocessing.get_context("spawn")), or use device="cpu".'


class _Driver:
    """CUDA's driver, which a child cannot use once its parent has begun to.

    begun : by this process, or one that it was forked from. lost : by the latter.
    """

    def __init__(self) -> None:
        self.begun = self.lost = False
        forks.watch(self)

    def forked(self) -> None:
        self.lost = self.begun


_driver = _Driver()


def was_queried() -> bool:
    """Whether this process has looked for a GPU before."""
    return _driver.begun and not _driver.lost


def absence() -> str | None:
    """Why no GPU can be used, or None where one can."""
    if _driver.lost:
        return _FORKED
    if "cupy" not in sys.modules and find_spec("cupy") is not None:
        none = _no_driver()
        if none is not None:  # CuPy, which takes most of a second to import, would say the same
            return none
    try:
        import cupy
    except ImportError as error:
        return _NO_CUPY if getattr(error, "name", "") == "cupy" else f"CuPy does not load: {error}"
    _driver.begun = True
    try:
        found = int(cupy.cuda.runtime.getDeviceCount())
    except cupy.cuda.runtime.CUDARuntimeError as error:
        return f"no CUDA device answers: {error}"
    return None if found else "there is no CUDA device"


def begin(ordinal: int) -> None:
    """Begin CUDA on a device, in a thread, unless this process has: that takes most of a second, in which a first
    query is read and planned, and its graph is read. What goes wrong is left to `require`."""
    if "cupy" in sys.modules or _driver.lost or find_spec("cupy") is None:
        return
    thread = threading.Thread(target=_begin, args=(ordinal,), name="gdb-cuda", daemon=True)
    threads.start(thread)


def _begin(ordinal: int) -> None:
    with suppress(Exception):
        if _no_driver() is None:  # a context while CuPy is imported, which needs Python's lock
            context = threading.Thread(target=_make_context, args=(ordinal,), daemon=True)
            threads.start(context)
        if absence() is None:
            import cupy

            with cupy.cuda.Device(ordinal):
                cupy.cuda.runtime.free(0)


def _make_context(ordinal: int) -> None:
    """Have the driver make its primary context of a device, which CuPy then finds there."""
    driver, device, context = ctypes.CDLL(_LIBRARY), ctypes.c_int(), ctypes.c_void_p()
    if not driver.cuDeviceGet(ctypes.byref(device), ordinal):
        driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), device)


def _no_driver() -> str | None:
    """Why CUDA's driver knows no device, or None where it knows some."""
    try:
        driver = ctypes.CDLL(_LIBRARY)
    except OSError:
        return "no CUDA driver is installed"
    _driver.begun = True
    code, found = int(driver.cuInit(0)), ctypes.c_int()
    code = code or int(driver.cuDeviceGetCount(ctypes.byref(found)))
    if code not in (0, _NO_DEVICE):
        return f"no CUDA device answers: error {code} of the driver"
    return None if found.value else "there is no CUDA device"


def require(ordinal: int = 0) -> None:
    """Return if device `ordinal` can be used.

    Raises
    ------
    DeviceError : there is no CuPy, no driver, or no such device.
    """
    missing = absence()
    if missing is not None:
        cure = _CURE_FORKED if missing == _FORKED else _CURE
        raise DeviceError(f"The query cannot run on a GPU: {missing}.", cure)
    import cupy

    found = int(cupy.cuda.runtime.getDeviceCount())
    if not 0 <= ordinal < found:
        raise DeviceError(
            f"There is no GPU number {ordinal}; this machine has {found}, numbered from 0.",
            'Use device="cuda:0" or device="cpu".',
        )


def multiprocessors(ordinal: int) -> int:
    """Number of multiprocessors of a device."""
    import cupy

    return int(cupy.cuda.Device(ordinal).attributes["MultiProcessorCount"])


def shared_bytes(ordinal: int) -> int:
    """Bytes of shared memory of a multiprocessor of a device."""
    import cupy

    return int(cupy.cuda.Device(ordinal).attributes["MaxSharedMemoryPerMultiprocessor"])


def architecture(ordinal: int) -> str:
    """What NVRTC calls a device's architecture: "sm_90"."""
    import cupy

    return f"sm_{cupy.cuda.Device(ordinal).compute_capability}"


@contextmanager
def allocating() -> Iterator[None]:
    """Around what allocates on the current device. Raises DeviceFull."""
    import cupy
    from cupy.cuda import runtime

    try:
        yield
    except cupy.cuda.memory.OutOfMemoryError as error:
        raise full(int(runtime.getDevice()), error) from error
    except runtime.CUDARuntimeError as error:  # which the pool turns into the other
        if error.status != _NO_MEMORY:
            raise
        raise full(int(runtime.getDevice()), error) from error


def free_bytes(ordinal: int) -> int:
    """Bytes that can still be allocated on a device, those in CuPy's pool included."""
    import cupy

    with cupy.cuda.Device(ordinal):
        free, _ = cupy.cuda.runtime.memGetInfo()
        return int(free) + int(cupy.get_default_memory_pool().free_bytes())


def total_bytes(ordinal: int) -> int:
    """Bytes of a device's memory."""
    import cupy

    with cupy.cuda.Device(ordinal):
        return int(cupy.cuda.runtime.memGetInfo()[1])


def pool_bytes(ordinal: int) -> int:
    """Unused bytes that CuPy's pool holds on a device."""
    import cupy

    with cupy.cuda.Device(ordinal):
        return int(cupy.get_default_memory_pool().free_bytes())


def empty_pool(ordinal: int) -> None:
    """Give what CuPy's pool holds unused back to the device."""
    import cupy

    with cupy.cuda.Device(ordinal):
        cupy.get_default_memory_pool().free_all_blocks()


def without_compiler(error: Exception) -> DeviceError:
    """The error for a user whose CuPy finds no run-time compiler."""
    return DeviceError(
        f"CUDA's run-time compiler (NVRTC) cannot be used: {error}.",
        'Install gdb-embedded[cuda13] (or [cuda12]), which brings it, or use device="cpu".',
    )


class DeviceFull(DeviceError):
    """A device has too little free memory now, because other queries or programs hold it."""


def full(ordinal: int, error: Exception) -> DeviceFull:
    """The error for an allocation that failed."""
    return DeviceFull(
        f"GPU {ordinal} has too little free memory: {error}.",
        'Use device="cpu", or free the memory that other programs hold on it.',
    )


@contextmanager
def on(ordinal: int) -> Iterator[None]:
    """Make `ordinal` the current device; what CUDA or CuPy raise inside becomes a DeviceError."""
    require(ordinal)
    import cupy

    try:
        with cupy.cuda.Device(ordinal):
            yield
    except cupy.cuda.memory.OutOfMemoryError as error:
        raise full(ordinal, error) from error
    except (
        cupy.cuda.runtime.CUDARuntimeError,
        cupy.cuda.driver.CUDADriverError,
        cupy.cuda.compiler.CompileException,
    ) as error:
        raise DeviceError(f"GPU {ordinal} failed: {error}.", 'Try device="cpu".') from error


class Presence:
    """Which devices queries run on, so that what they have let go is given back to a device when the last has ended:
    CuPy's pool would keep it from other programs."""

    def __init__(self) -> None:
        self._running: Counter[int] = Counter()
        self._lock = waiting.Lock()
        self._placing: dict[int, waiting.Lock] = {}
        # of queries that wait for room on a device: set when another one there lets go of memory
        self._for_room: dict[int, list[threading.Event]] = {}
        forks.watch(self)

    def forked(self) -> None:
        """Forget the parent's queries: none of them runs in the child."""
        self._running, self._placing, self._for_room = Counter(), {}, {}

    @contextmanager
    def query(self, ordinal: int) -> Iterator[None]:
        """A query runs on a device."""
        with self._lock:
            self._running[ordinal] += 1
        try:
            yield
        finally:
            with self._lock:
                self._running[ordinal] -= 1
            self.freed(ordinal)
            self.trim(ordinal)

    def placing(self, ordinal: int) -> waiting.Lock:
        """Held while a query's memory on a device is decided and allocated: what is free then is one query's."""
        with self._lock:
            return self._placing.setdefault(ordinal, waiting.Lock())

    def freed(self, ordinal: int) -> None:
        """A query on a device has let go of memory there."""
        with self._lock:
            for event in self._for_room.get(ordinal, ()):
                event.set()

    def waits_for_room(self, ordinal: int, check: Callable[[], object]) -> bool:
        """Wait until another query on a device lets go of memory there; False where none runs that does not wait as
        well, or none did so for `LONGEST_WAIT` seconds.

        check : called meanwhile; what it raises ends the wait.
        """
        event, end = threading.Event(), time.monotonic() + LONGEST_WAIT
        with self._lock:
            others = self._for_room.setdefault(ordinal, [])
            if self._running[ordinal] - len(others) <= 1:
                return False
            others.append(event)
        try:
            while time.monotonic() < end:
                check()
                if waiting.happens(event, time.monotonic() + waiting.STEP):
                    return True
            return False
        finally:
            with self._lock:
                others.remove(event)

    def trim(self, ordinal: int) -> None:
        """Give what the pool holds unused back to the device, where no query runs there.

        A process that ends can import nothing any more, and its driver frees all.
        """
        if sys.is_finalizing() or self._running[ordinal]:
            return
        if pool_bytes(ordinal) > MOST_POOLED:
            empty_pool(ordinal)


PRESENCE = Presence()
