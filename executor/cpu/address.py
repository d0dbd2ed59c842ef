"""Addresses in Numba: loads and stores without reference counts, the tables' columns as constants, and the disk cache.

Everything the kernel touches is passed as an address: Numba counts references to arrays with atomic
operations, which made the inner loops ten times slower and two threads slower than one.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar, cast

import numba
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

from gdb.executor.tables import CheckField, LevelField, SetField, ViewField

Pointers = tuple[int, ...]  # the addresses P_LEVELS, P_SETS, ... of one worker
Function = TypeVar("Function", bound=Callable[..., object])

# control array of a worker
DEPTH, ENTERING, TOTAL, ROWS, STATUS = 0, 1, 2, 3, 4
CONTROL = 5
DONE, YIELDED, FULL, OVERFLOW = 0, 1, 2, 3

L_EDGE, L_BASE, L_A, L_B, L_LO, L_HI, L_BITS = (int(LevelField(i)) for i in range(7))
L_BELOW, L_BELOW_END, L_ABOVE, L_ABOVE_END, L_DIFFERS, L_DIFFERS_END = (
    int(LevelField(i)) for i in range(7, 13)
)
L_CHECK, L_CHECK_END, L_SET, L_SET_END, L_SIZE, L_FORMULA, L_COLUMN = (
    int(LevelField(i)) for i in range(13, 20)
)
S_LEFT, S_LEFT_A, S_LEFT_B, S_OP, S_RIGHT, S_RIGHT_A, S_RIGHT_B = (
    int(SetField(i)) for i in range(7)
)
S_LO, S_HI, S_BITS, S_BELOW, S_BELOW_END, S_ABOVE, S_ABOVE_END, S_OFFSET = (
    int(SetField(i)) for i in range(7, 15)
)
C_PAIRS, C_A, C_B, C_C, C_D, C_E = (int(CheckField(i)) for i in range(6))
V_FIRST, V_LENGTH, V_ROW, V_INTERVALS, V_OFFSETS, V_NEIGHBOURS, V_EIDS = (
    int(ViewField(i)) for i in range(7)
)
N_LEVEL, N_SET, N_CHECK, N_VIEW = len(LevelField), len(SetField), len(CheckField), len(ViewField)
# the tuple of addresses that every function gets
P_LEVELS, P_SETS, P_REFS, P_CHECKS, P_GROUPS, P_VIEWS, P_SIMPLE, P_LISTS, P_BITS = range(9)
P_V, P_SET_LENGTH, P_BUFFER = 9, 10, 11
POINTERS = 12
LARGEST = 9.0e18  # floats above this may stand for counts over 2^63
GALLOP = 16  # one list this much longer than the other: search it instead of merging


def _cache_folder() -> str:
    """Where Numba may keep its disk cache: a pickle, so only where nobody but the user can write,
    and never in a store (design.md §2). One folder for each state of the sources, because Numba does
    not see that a function called from another file has changed. "" where there is no such folder."""
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    here = Path(__file__).parent
    sources = [*sorted(here.glob("*.py")), here.parent / "tables.py"]
    state = hashlib.blake2b(b"".join(p.read_bytes() for p in sources), digest_size=8).hexdigest()
    folder = Path(home) / "gdb" / "numba" / state
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        mine = folder.stat().st_uid == os.getuid()
        folder.chmod(0o700)
    except OSError:
        return ""
    return str(folder) if mine else ""


_FOLDER = numba.config.CACHE_DIR or _cache_folder()


def compiled(function: Function, signature: object = None) -> Function:
    """A function compiled by Numba without the GIL, kept in the user's disk cache if there is one.

    With a signature it is compiled (or loaded) at once, without one when first called.
    """
    options = {"nogil": True, "cache": bool(_FOLDER)}
    before, numba.config.CACHE_DIR = numba.config.CACHE_DIR, _FOLDER
    try:
        jit = njit(**options) if signature is None else njit(signature, **options)
        return cast(Function, jit(function))
    finally:
        numba.config.CACHE_DIR = before


def _loader(bits: int) -> Callable[[int, int], int]:
    """The unsigned value of `bits` bits at address[index]."""

    @intrinsic
    def load(typingctx, address, index):  # type: ignore[no-untyped-def]
        def generate(context, builder, signature, args):  # type: ignore[no-untyped-def]
            width = ir.IntType(bits)
            pointer = builder.inttoptr(args[0], width.as_pointer())
            value = builder.load(builder.gep(pointer, [args[1]]))
            return value if bits == 64 else builder.zext(value, ir.IntType(64))

        return types.int64(types.int64, types.int64), generate

    return cast(Callable[[int, int], int], load)


def _storer(bits: int) -> Callable[[int, int, int], None]:
    """address[index] = value, cut to `bits` bits. The caller keeps alive what the address names."""

    @intrinsic
    def store(typingctx, address, index, value):  # type: ignore[no-untyped-def]
        def generate(context, builder, signature, args):  # type: ignore[no-untyped-def]
            width = ir.IntType(bits)
            pointer = builder.inttoptr(args[0], width.as_pointer())
            value = args[2] if bits == 64 else builder.trunc(args[2], width)
            builder.store(value, builder.gep(pointer, [args[1]]))
            return context.get_dummy_value()

        return types.void(types.int64, types.int64, types.int64), generate

    return cast(Callable[[int, int, int], None], store)


load_u8, load_u32, load_i64 = _loader(8), _loader(32), _loader(64)
store_u32, store_i64 = _storer(32), _storer(64)
