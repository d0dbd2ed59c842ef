"""Machine code for the kernel: made by LLVM at the first call, kept in the user's cache folder.

An entry is a function that Python calls. Those that it calls are its parts and are compiled with it, so
that LLVM sees the whole at once and only once: about two seconds for the kernel, and a millisecond
where the cache has it (the first one of a process three more). That hardly depends on its size, so entries that are
used in one another's company are one *object*: the first call of any of them brings all.
"""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Callable
from functools import cache as once
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar, TypeVarTuple, cast

import llvmlite
import llvmlite.binding as llvm

from gdb.base import forks, usage, waiting
from gdb.base.digests import blake2b
from gdb.base.machine import cache
from gdb.base.machine.parts import INLINED, PARTS, signature

Function = TypeVar("Function", bound=Callable[..., object])
Functions = TypeVarTuple("Functions")

_C_TYPES: dict[object, Any] = {
    int: ctypes.c_int64,
    bool: ctypes.c_int64,
    float: ctypes.c_double,
    None: None,
}
_Source = tuple[str, int, int, int]  # a file: path, bytes, when it and its inode changed
SETTLED = 2_000_000_000  # ns that a file has not changed for, after which another change shows in its times
_engines: list[_Engine] = []  # they own the machine code
# a lock of llvmlite's is taken in each call of LLVM, also for whole seconds
_compiling = forks.undivided(waiting.Lock())


def compiled(function: Function, *, entry: bool = False) -> Function:
    """A function of the kernel (`translate` says what it may be).

    entry : Python calls it, as machine code, which does not hold the GIL. The others are parts: entries
        call them, and in Python they stay what they are.
    """
    PARTS.add(function)
    return together(function)[0] if entry else function


def together(*functions: *Functions) -> tuple[*Functions]:
    """Functions of the kernel as entries that are one object; those of one folder."""
    made = cast(tuple[Callable[..., object], ...], functions)
    PARTS.update(made)
    of = _Object(made)
    return cast(tuple[*Functions], tuple(_Entry(of, k) for k in range(len(made))))


def inlined(function: Function) -> Function:
    """A part that is written out wherever it is called, which LLVM would not do with a large one by itself."""
    INLINED.add(function)
    return compiled(function)


class _Object:
    """Functions that become machine code when the first of them is called."""

    def __init__(self, functions: tuple[Callable[..., object], ...]) -> None:
        self._functions = functions
        self._addresses: tuple[int, ...] = ()

    def code(self, number: int) -> Callable[..., object]:
        """The machine code of one of them."""
        if not self._addresses:
            with usage.compiling(), _compiling:  # a second thread waits for the first
                self._addresses = self._addresses or _machine_code(self._functions)
        return _callable(self._functions[number], self._addresses[number])


class _Entry:
    """One function of an object, as Python calls it."""

    def __init__(self, of: _Object, number: int) -> None:
        self._of, self._number = of, number
        self._code: Callable[..., object] | None = None

    def __call__(self, *arguments: float) -> object:
        code = self._code
        if code is None:
            code = self._code = self._of.code(self._number)
        return code(*arguments)


def _machine_code(functions: tuple[Callable[..., object], ...]) -> tuple[int, ...]:
    """Where the machine code of the functions lies, from the cache or compiled now."""
    entry = _entry(functions, *_host(), _seen)
    code = cache.read(entry) if entry is not None else None
    if code is None:  # to load what is kept takes less than a thread does
        code = waiting.aside(waiting.LEAST, lambda: _compiled(functions))
    return _loaded(code, [function.__name__ for function in functions])


def _compiled(functions: tuple[Callable[..., object], ...]) -> bytes:
    """The object file of the functions, kept for the next process."""
    # here: kept machine code needs no translation
    from gdb.base.machine.translate import translate

    entry = _entry(functions, *_host())  # of the text that is compiled
    code = _optimised(translate(*functions), _target_machine())
    if entry is not None:
        cache.write(entry, code)
    return code


def _callable(function: Callable[..., object], address: int) -> Callable[..., object]:
    arguments, result = signature(function)
    prototype = ctypes.CFUNCTYPE(_C_TYPES[result], *(_C_TYPES[t] for t in arguments))
    return prototype(address)


# ---- LLVM ------------------------------------------------------------------------------------------


@once
def _host() -> tuple[str, str]:
    """The processor and its features, as LLVM names them; LLVM is ready for it."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.get_host_cpu_name(), _features()


def _features() -> str:
    try:
        return str(llvm.get_host_cpu_features().flatten())
    except RuntimeError:  # LLVM does not know them on every machine
        return ""


def _target_machine() -> Any:
    """A new one: an engine owns what it is given."""
    cpu, features = _host()
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


class _Engine:
    """What owns machine code, and the names that it knows. To make one takes longer than to load most objects."""

    def __init__(self) -> None:
        self.names = set[str]()
        self._engine = llvm.create_mcjit_compiler(_module(""), _target_machine())

    def addresses(self, code: bytes, names: list[str]) -> tuple[int, ...]:
        """Take an object file, and say where its functions are."""
        self.names.update(names)
        self._engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        self._engine.finalize_object()
        return tuple(self._engine.get_function_address(name) for name in names)


def _loaded(code: bytes, names: list[str]) -> tuple[int, ...]:
    """Addresses of the functions of an object file; an engine knows one function of each name."""
    for engine in _engines:
        if engine.names.isdisjoint(names):
            return engine.addresses(code, names)
    _engines.append(_Engine())
    return _engines[-1].addresses(code, names)


def _optimised(text: str, machine: Any) -> bytes:
    """The object file of an LLVM module."""
    module = _module(text)
    module.data_layout = str(machine.target_data)
    module.verify()
    options = llvm.create_pipeline_tuning_options(speed_level=3)
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    return bytes(machine.emit_object(module))


def _entry(
    functions: tuple[Callable[..., object], ...],
    cpu: str,
    features: str,
    sources: Callable[[Path], tuple[_Source, ...]] | None = None,
) -> cache.Entry | None:
    """What an object is kept as, by all that it depends on; None where its source cannot be read. sources : those that
    the functions of a file depend on."""
    own = Path(functions[0].__code__.co_filename)
    try:
        text = _text_of((sources or _depended)(own))
    except OSError:
        return None
    names = [function.__qualname__ for function in functions]
    versions = (llvmlite.__version__, llvm.llvm_version_info, cpu, features)
    return cache.entry(functions[0].__name__, text + repr((names, *versions)).encode())


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


def _depended(own: Path) -> tuple[_Source, ...]:
    """What functions of a file depend on, as it is now."""
    return _sources(Path(__file__).parent, own.parent, own.parent.parent)


def _seen(own: Path) -> tuple[_Source, ...]:
    """The same as this process saw it first: its functions are of that text, whatever others write meanwhile. To look
    at all files takes longer than to load an object. Where their own file has changed, it is looked at again."""
    state, seen = own.stat(), _sights.get(own.parent)
    now = (str(own), state.st_size, state.st_mtime_ns, state.st_ctime_ns)
    if seen is None or now not in seen:
        seen = _sights[own.parent] = _depended(own)
    return seen


_sights: dict[Path, tuple[_Source, ...]] = {}  # by folder


@lru_cache(maxsize=8)
def _text_of(sources: tuple[_Source, ...]) -> bytes:
    """Their checksum, which an earlier process may have kept: to read them takes most of what finding an entry takes.

    It is kept for files that have not changed for a while: one that changes again at once may have the same times.
    """
    known = cache.entry("sources", repr(sources).encode())
    digest = cache.read(known)
    if digest is not None:
        return digest
    text = b"".join(Path(path).read_bytes() for path, *_ in sources)
    digest = blake2b(text).digest()
    newest = max((max(changed) for _, _, *changed in sources), default=0)
    if time.time_ns() - newest > SETTLED:
        cache.write(known, digest)
    return digest
