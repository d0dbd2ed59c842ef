"""Special kernels: the kernel of one nest, its tables as constants in the source.

A stage that has kept the GPU busy gets one. It is compiled in the background, while the generic kernel goes on, and
takes over at the next launch; CuPy keeps the machine code on disk. Nests of the same tables share one.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Protocol

from gdb.executor.gpu import render
from gdb.executor.gpu.layout import Job

if TYPE_CHECKING:
    from gdb.executor.gpu.stage import Stage

COMPILER = (
    threading.Lock()
)  # NVRTC has crashed with several programs at once, against its documentation
STACK = (
    256 << 20
)  # bytes of address space for the compiler's thread: what a thread has by default may be too little
WORTH = 0.005  # seconds on the GPU from which a stage gets a kernel of its own: the compiler takes about 1 s of a core
_CONSTANTS = (
    *(Job.LOOPS, Job.COUNTING, Job.NODE_COUNT, Job.LEVEL_COUNT, Job.STATE_WORDS, Job.CUT_NODE),
    *(Job.FILTER_BITS, Job.FILTER_WORDS, Job.VID_COLUMNS, Job.EID_COLUMNS),
)
_TABLES = (
    Job.LEVELS,
    Job.SETS,
    Job.REFS,
    Job.CHECKS,
    Job.NODES,
    Job.SIMPLE,
    Job.SCRATCH_AT,
    Job.FILTER_AT,
)


class Function(Protocol):
    """A compiled kernel."""

    def __call__(
        self, grid: tuple[int], block: tuple[int], args: tuple[object, ...], *, shared_mem: int = 0
    ) -> None: ...


class _Kernel:
    """A special kernel that is being compiled, or is compiled, or could not be."""

    def __init__(self, source: str, ordinal: int) -> None:
        self.function: Function | None = None
        self.done = threading.Event()
        before = threading.stack_size(STACK)
        try:
            arguments = (source, ordinal)
            thread = threading.Thread(
                target=self._make, args=arguments, name="gdb-nvrtc", daemon=True
            )
            thread.start()
        finally:
            threading.stack_size(before)

    def _make(self, source: str, ordinal: int) -> None:
        import cupy

        try:
            with COMPILER, cupy.cuda.Device(ordinal):
                module = cupy.RawModule(code=source, options=render.OPTIONS)
                self.function = module.get_function(render.ENTRY)
        except Exception:
            self.function = None
        finally:
            self.done.set()


_lock = threading.Lock()
_kernels: dict[tuple[int, str], _Kernel] = {}


def source_of(stage: Stage) -> str:
    """The source of a stage's own kernel; the stage need not be on a device, but its numbers must be known."""
    numbers = {job: int(stage.job[job]) for job in _CONSTANTS}
    return render.special(numbers, {job: stage.small_tables[job] for job in _TABLES})


def kernel_of(stage: Stage, *, wait: bool = False) -> Function | None:
    """The special kernel of a stage, None while it is being compiled."""
    source = source_of(stage)
    key = stage.ordinal, source
    with _lock:
        kernel = _kernels.get(key)
        if kernel is None:
            kernel = _kernels[key] = _Kernel(source, stage.ordinal)
    if wait:
        kernel.done.wait()
    return kernel.function
