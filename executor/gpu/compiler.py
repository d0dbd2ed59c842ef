"""CUDA source to machine code, by NVRTC in a process of its own; kept in the user's cache folder.

NVRTC has been seen to crash within a process that had done other things; here that costs another try and not the
user's program, and a compilation that takes too long can be ended.
"""

from __future__ import annotations

import inspect
import subprocess
import sys
from functools import cache as cached
from typing import Protocol

import numpy as np
import numpy.typing as npt

from gdb.base import usage, waiting
from gdb.base.machine import cache
from gdb.base.once import PerProcess
from gdb.errors import DeviceError

from . import device, late_free, layout, render

LONGEST = 120.0  # seconds that one compilation may take
TRIES = 8
# NVRTC 12.9 to 13.4 read memory in their optimiser that they have given back (13.5 does not: 0 of 16 crash). What lies
# where decides: kernels of cliques end with a segmentation fault in 40 to 60 % of the tries, in some processes in all.
# Where memory is given back late they end so never (0 of 17, `late_free`), but take twice the memory: every second try.
# Each has a comment more, so that it is another one.
_COMMENT = (
    "\n// another try, whose memory lies elsewhere than that of the one before it: see compiler.py"
)
AT_ONCE = 2  # compilers at work
_PROGRAM = """
import os, sys
from cupy_backends.cuda.libs import nvrtc

program = nvrtc.createProgram(sys.stdin.read(), "nest.cu", [], [])
try:
    nvrtc.compileProgram(program, sys.argv[1:])
except nvrtc.NVRTCError as error:
    sys.stderr.write(f"{error}\\n{nvrtc.getProgramLog(program)}")
else:
    sys.stderr.write(nvrtc.getProgramLog(program))
    sys.stdout.buffer.write(nvrtc.getCUBIN(program))
sys.stdout.flush()
sys.stderr.flush()
os._exit(0)  # without the libraries' own farewells
"""
_PUT_OFF = """
try:
    from cupy_backends.cuda.libs import nvrtc

    nvrtc.getVersion()  # now it is loaded
    put_off("libnvrtc.so")
except Exception:
    pass  # this try is one as the others
"""
_compilers = PerProcess(lambda: waiting.Slots(AT_ONCE))


class Function(Protocol):
    """A kernel that can be launched; ptr : the driver's handle."""

    ptr: int

    def __call__(
        self, grid: tuple[int], block: tuple[int], args: tuple[object, ...], *, shared_mem: int = 0
    ) -> None:
        """Launch the kernel on the current stream. shared_mem : dynamic shared memory of a block, in bytes."""
        ...


class Call:
    """A kernel's parameters in host memory, one array each, to be filled and launched with again and again: to make
    them anew would run between the two events of a clock."""

    def __init__(self, *parameters: npt.NDArray[np.generic]) -> None:
        self.parameters = parameters
        self._addresses = np.array([array.ctypes.data for array in parameters], np.uintp)

    def launch(self, function: Function, blocks: int, shared_bytes: int) -> None:
        """Put a launch of so many blocks into the current stream; the parameters may change when it returns."""
        import cupy

        stream = cupy.cuda.get_current_stream().ptr
        shape = (blocks, 1, 1, layout.BLOCK_THREADS, 1, 1)
        cupy.cuda.driver.launchKernel(
            function.ptr, *shape, shared_bytes, stream, self._addresses.ctypes.data, 0
        )


def compile_source(source: str, architecture: str, *options: str) -> tuple[bytes, str]:
    """The machine code of a source for "sm_90", and what the compiler says.

    Raises
    ------
    DeviceError : there is no compiler, or it fails or takes too long; the message says why.
    """
    arguments = [f"--gpu-architecture={architecture}", *options, *render.OPTIONS]
    problem = ""
    for attempt in range(TRIES):
        try:
            with _compilers.get():
                ended = waiting.run(
                    # -P: without it, -c imports from the current folder first, which may be untrusted
                    [sys.executable, "-P", "-c", _program(attempt), *arguments],
                    (source + attempt * _COMMENT).encode(),
                    LONGEST,
                )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise device.without_compiler(error) from error
        log = ended.stderr.decode(errors="replace").replace("\0", "")
        if ended.returncode == 0 and ended.stdout.startswith(b"\x7fELF"):
            return ended.stdout, log
        problem = log.strip() or f"it ended with {ended.returncode}"
        if problem.startswith(("Traceback", "Exception in")):  # the last line says what is missing
            problem = problem.splitlines()[-1]
        if ended.returncode >= 0:
            raise device.without_compiler(RuntimeError(problem))
    raise DeviceError(
        f"CUDA's run-time compiler (NVRTC) crashed in each of {TRIES} tries: {problem}.",
        "NVRTC 13.5 and newer do not: pip install 'gdb-embedded[cuda13]', or use device=\"cpu\".",
    )


def _program(attempt: int) -> str:
    """What the compiler's process runs."""
    if attempt % 2 == 0:
        return _PROGRAM
    return f"{inspect.getsource(late_free)}\n{_PUT_OFF}\n{_PROGRAM}"


def _entry(source: str, architecture: str) -> cache.Entry:
    return cache.entry(render.ENTRY, f"{architecture}\n{source}".encode())


def machine_code(source: str, architecture: str) -> bytes:
    """The machine code of a source, from the cache or compiled now. Raises as `compile_source`."""
    entry = _entry(source, architecture)
    code = cache.read(entry)
    if code is None:
        code, _ = compile_source(source, architecture)
        cache.write(entry, code)
    return code


def is_kept(source: str, ordinal: int) -> bool:
    """Whether the machine code of a source for a device is in the cache."""
    architecture = device.architecture(ordinal)
    return cache.read(_entry(source, architecture)) is not None


class Module(Protocol):
    """Kernels of one source on a device."""

    def get_function(self, name: str) -> Function:
        """The kernel of that name."""
        ...


def load_kernels(source: str, ordinal: int) -> Module:
    """The kernels of a source, on device `ordinal`, which must be the current one. Raises as `compile_source`."""
    import cupy

    module = cupy.cuda.function.Module()
    module.load(machine_code(source, device.architecture(ordinal)))
    made: Module = module
    return made


def generic(ordinal: int, name: str, *, cold: bool = False) -> Function:
    """A kernel of the generic source (`render.source`), on device `ordinal`, which must be the current one."""
    return _generic.get().function(ordinal, name, cold)


class _Generic:
    """The kernels of the generic source that are loaded."""

    def __init__(self) -> None:
        self.function = cached(self._function)
        self._module = cached(lambda ordinal, cold: load_kernels(render.source(cold=cold), ordinal))

    def _function(self, ordinal: int, name: str, cold: bool) -> Function:
        with usage.compiling():
            return self._module(ordinal, cold).get_function(name)


_generic = PerProcess(_Generic)
