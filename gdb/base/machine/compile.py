"""Machine code for the kernel: made by LLVM at the first call, kept in the user's cache folder.

An entry is a function that Python calls. Those that it calls are its parts and are compiled with it, so
that LLVM sees the whole at once and only once: about two seconds for the kernel, and some milliseconds
where the cache has it.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar, cast

import llvmlite
import llvmlite.binding as llvm

from gdb.base import forks, usage, waiting
from gdb.base.machine import cache
from gdb.base.machine.expressions import INLINED, PARTS, signature
from gdb.base.machine.translate import translate

Function = TypeVar("Function", bound=Callable[..., object])

_C_TYPES: dict[object, Any] = {
    int: ctypes.c_int64,
    bool: ctypes.c_int64,
    float: ctypes.c_double,
    None: None,
}
_Source = tuple[str, int, int, int]  # a file: path, bytes, when it and its inode changed
_engines: list[Any] = []  # they own the machine code
# a lock of llvmlite's is taken in each call of LLVM, also for whole seconds
_compiling = forks.undivided(waiting.Lock())


def compiled(function: Function, *, entry: bool = False) -> Function:
    """A function of the kernel (`translate` says what it may be).

    entry : Python calls it, as machine code, which does not hold the GIL. The others are parts: entries
        call them, and in Python they stay what they are.
    """
    PARTS.add(function)
    return cast(Function, _Entry(function)) if entry else function


def inlined(function: Function) -> Function:
    """A part that is written out wherever it is called, which LLVM would not do with a large one by itself."""
    INLINED.add(function)
    return compiled(function)


class _Entry:
    """A function that becomes machine code when first called."""

    def __init__(self, function: Callable[..., object]) -> None:
        self._function = function
        self._code: Callable[..., object] | None = None

    def __call__(self, *arguments: float) -> object:
        code = self._code
        if code is None:
            with usage.compiling(), _compiling:  # whoever comes second waits for the first
                code = self._code = self._code or waiting.aside(
                    waiting.LEAST, lambda: _machine_code(self._function)
                )
        return code(*arguments)


def _machine_code(function: Callable[..., object]) -> Callable[..., object]:
    """The function as machine code, from the cache or compiled now."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    cpu, features = llvm.get_host_cpu_name(), _features()
    entry = _entry(function, cpu, features)
    code = cache.read(entry) if entry is not None else None
    machine = _target_machine(cpu, features)
    if code is None:
        code = _optimised(translate(function), machine)
        if entry is not None:
            cache.write(entry, code)
    engine = llvm.create_mcjit_compiler(_module(""), machine)
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    _engines.append(engine)
    arguments, result = signature(function)
    prototype = ctypes.CFUNCTYPE(_C_TYPES[result], *(_C_TYPES[t] for t in arguments))
    return prototype(engine.get_function_address(function.__name__))


# ---- LLVM ------------------------------------------------------------------------------------------


def _features() -> str:
    try:
        return str(llvm.get_host_cpu_features().flatten())
    except RuntimeError:  # LLVM does not know them on every machine
        return ""


def _target_machine(cpu: str, features: str) -> Any:
    target = llvm.Target.from_triple(llvm.get_process_triple())
    # code that is loaded in place lies near what it refers to: x86 wants no indirection
    reloc = "static" if target.name.startswith("x86") else "default"
    return target.create_target_machine(
        cpu=cpu, features=features, opt=3, reloc=reloc, codemodel="jitdefault", jit=True
    )


def _module(text: str) -> Any:
    module = llvm.parse_assembly(text)
    module.triple = llvm.get_process_triple()
    return module


def _optimised(text: str, machine: Any) -> bytes:
    """The object file of an LLVM module."""
    module = _module(text)
    module.data_layout = str(machine.target_data)
    module.verify()
    options = llvm.create_pipeline_tuning_options(speed_level=3)
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    return bytes(machine.emit_object(module))


def _entry(function: Callable[..., object], cpu: str, features: str) -> cache.Entry | None:
    """What an entry's machine code is kept as, by all that it depends on; None where its source cannot be read."""
    own = Path(function.__code__.co_filename).parent
    try:
        text = _text_of(_sources(Path(__file__).parent, own, own.parent))
    except OSError:
        return None
    versions = (llvmlite.__version__, llvm.llvm_version_info, cpu, features)
    return cache.entry(function.__name__, text + repr((function.__qualname__, *versions)).encode())


def _sources(*folders: Path) -> tuple[_Source, ...]:
    """The files of Python in some folders, as they are now."""
    found = set[_Source]()
    for folder in folders:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name.endswith(".py"):
                    state = entry.stat()
                    found.add((entry.path, state.st_size, state.st_mtime_ns, state.st_ctime_ns))
    return tuple(sorted(found))


@lru_cache(maxsize=8)
def _text_of(sources: tuple[_Source, ...]) -> bytes:
    """Their checksum: the entries of one folder come one after the other, and reading them takes most of that."""
    text = b"".join(Path(path).read_bytes() for path, *_ in sources)
    return hashlib.blake2b(text).digest()
