"""Memory that a library gives back is kept for a while: for NVRTC, whose optimiser reads it afterwards.

The text of this module runs in the compiler's process (`compiler`), and imports nothing of gdb.
"""

from __future__ import annotations

import ctypes
import mmap
import struct
from pathlib import Path

KEPT = 1 << 16  # pieces that are kept; with them NVRTC 13.0 takes 630 MB instead of 290
_LOAD, _DYNAMIC = 1, 2  # kinds of ELF segments
_STRINGS, _SYMBOLS, _PLT_SIZE, _PLT = 5, 6, 2, 23  # dynamic entries
_READ_AND_WRITE = mmap.PROT_READ | mmap.PROT_WRITE
_SLOTS = (7, 1026)  # R_X86_64_JUMP_SLOT, R_AARCH64_JUMP_SLOT
_CODE = """
@ring = global [{kept} x i8*] zeroinitializer
@at = global i64 0
define void @late_free(i8* %piece) {{
  %number = atomicrmw add i64* @at, i64 1 seq_cst
  %place = urem i64 %number, {kept}
  %slot = getelementptr [{kept} x i8*], [{kept} x i8*]* @ring, i64 0, i64 %place
  %new = ptrtoint i8* %piece to i64
  %there = bitcast i8** %slot to i64*
  %old = atomicrmw xchg i64* %there, i64 %new seq_cst
  %free = inttoptr i64 {free} to void (i8*)*
  %known = inttoptr i64 %old to i8*
  call void %free(i8* %known)
  ret void
}}
"""
_kept: list[object] = []  # what the machine code lies in


def put_off(library: str) -> bool:
    """Have a loaded library, by a part of its file's name, give back each piece of memory when it has given back `KEPT`
    more; whether its calls of `free` were found. Linux on 64 bits."""
    base, path = _place(library)
    slot = None if path is None else _slot_of_free(path.read_bytes())
    if slot is None:
        return False
    page = (base + slot) // mmap.PAGESIZE * mmap.PAGESIZE
    if ctypes.CDLL(None).mprotect(ctypes.c_void_p(page), mmap.PAGESIZE, _READ_AND_WRITE):
        return False  # mostly it is read-only from the time on when the library was loaded
    ctypes.c_uint64.from_address(base + slot).value = _late_free()
    return True


def _place(library: str) -> tuple[int, Path | None]:
    """Where a library begins in memory, and its file."""
    for line in Path("/proc/self/maps").read_text(encoding="utf-8").splitlines():
        span, *_, path = line.split()
        if library in Path(path).name:
            return int(span.split("-")[0], 16), Path(path)
    return 0, None


def _slot_of_free(elf: bytes) -> int | None:
    """The address, from the beginning of a library, at which it has that of `free`."""
    (at,), (size, count) = struct.unpack_from("<Q", elf, 32), struct.unpack_from("<HH", elf, 54)
    segments = [struct.unpack_from("<IIQQQQ", elf, at + k * size) for k in range(count)]
    loaded = [(a, offset, n) for kind, _, offset, a, _, n in segments if kind == _LOAD]

    def offset_of(address: int) -> int:
        return int(next(o + address - a for a, o, n in loaded if a <= address < a + n))

    dynamic = next(s for s in segments if s[0] == _DYNAMIC)
    known = dict(struct.iter_unpack("<qQ", elf[dynamic[2] : dynamic[2] + dynamic[5] // 16 * 16]))
    if _PLT not in known:
        return None
    begin = offset_of(known[_PLT])
    for place, info, _ in struct.iter_unpack("<QQq", elf[begin : begin + known[_PLT_SIZE]]):
        symbol = offset_of(known[_SYMBOLS]) + 24 * (info >> 32)
        name = offset_of(known[_STRINGS]) + struct.unpack_from("<I", elf, symbol)[0]
        if info & 0xFFFFFFFF in _SLOTS and elf[name : name + 5] == b"free\0":
            return int(place)
    return None


def _late_free() -> int:
    """The address of machine code that takes the place of `free`."""
    from llvmlite import binding as llvm

    free = ctypes.cast(ctypes.CDLL(None).free, ctypes.c_void_p).value
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    module = llvm.parse_assembly(_CODE.format(kept=KEPT, free=free))
    machine = llvm.Target.from_default_triple().create_target_machine()
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    _kept.extend([module, machine, engine])
    return int(engine.get_function_address("late_free"))
