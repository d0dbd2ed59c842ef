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
from numba.core.registry import CPUDispatcher as Dispatcher
from numba.extending import intrinsic

from gdb.executor.nest import Formula, Order
from gdb.executor.tables import (
    CheckField,
    Flag,
    LevelField,
    NodeField,
    Role,
    SetField,
    ViewField,
)

Pointers = int  # the address of one worker's table of addresses P_LEVELS, P_SETS, ...
Function = TypeVar("Function", bound=Callable[..., object])

# control array of a worker
DEPTH, ENTERING, TOTAL, ROWS, STATUS, STAMP = 0, 1, 2, 3, 4, 5
CONTROL = 6
DONE, YIELDED, FULL, OVERFLOW = 0, 1, 2, 3

L_EDGE, L_BASE, L_A, L_B, L_LO, L_HI, L_BITS = (int(LevelField(i)) for i in range(7))
L_BELOW, L_BELOW_END, L_ABOVE, L_ABOVE_END, L_DIFFERS, L_DIFFERS_END = (
    int(LevelField(i)) for i in range(7, 13)
)
L_CHECK, L_CHECK_END, L_SET, L_SET_END, L_SIZE, L_FORMULA, L_COLUMN, L_FLAGS = (
    int(LevelField(i)) for i in range(13, 21)
)
S_LEFT, S_LEFT_A, S_LEFT_B, S_OP, S_RIGHT, S_RIGHT_A, S_RIGHT_B = (
    int(SetField(i)) for i in range(7)
)
(
    S_LO,
    S_HI,
    S_BITS,
    S_BELOW,
    S_BELOW_END,
    S_ABOVE,
    S_ABOVE_END,
    S_OFFSET,
    S_MARK,
    S_HELD,
    S_DEPTH,
) = (int(SetField(i)) for i in range(7, 18))
C_PAIRS, C_A, C_B, C_C, C_D, C_E = (int(CheckField(i)) for i in range(6))
V_FIRST, V_LENGTH, V_ROW, V_INTERVALS, V_OFFSETS, V_NEIGHBOURS, V_EIDS = (
    int(ViewField(i)) for i in range(7)
)
# what this backend keeps of a view besides: its first interval, where most vids lie, and for each
# row the position of its first neighbour that is not below its own vid (0: not needed)
V_FIRST0, V_LENGTH0, V_ROW0, V_SPLIT = (len(ViewField) + i for i in range(4))
N_LEVEL, N_SET, N_CHECK, N_VIEW = (
    len(LevelField),
    len(SetField),
    len(CheckField),
    len(ViewField) + 4,
)
T_LEVEL, T_SIZE, T_FORMULA, T_ROLE, T_PARENT, T_VIEW = (int(NodeField(i)) for i in range(6))
T_BACK, T_ORDER, T_CHILD, T_NEXT, T_PUSHER = (int(NodeField(i)) for i in range(6, 11))
N_NODE = len(NodeField)
LONE, SLICE, MARK, INNER, PUSHED = (int(r) for r in Role)
POWER, FALLING, BINOMIAL, PAIR = (int(f) for f in Formula)
BELOW, ABOVE = int(Order.BELOW), int(Order.ABOVE)
F_EDGE, F_DIFFERS, F_BITS, F_CHECKS, F_REPEATS, F_SETS = (int(f) for f in Flag)
# a node's state: its list; whether its scratch is in use; the scratch (a byte for each vid of a MARK,
# an i64 for the others); the list of vids that a PUSHED node touched
Q_LIST, Q_START, Q_END, Q_USED, Q_SCRATCH, Q_TOUCHED = range(6)
N_STATE = 6
# a mark's state: its bytes; the stamp of the level whose operand it holds (0: none); that list
M_BYTES, M_STAMP, M_LIST, M_START, M_END = range(5)
N_MARK = 5
# the table of addresses whose own address every function gets
P_LEVELS, P_SETS, P_REFS, P_CHECKS, P_NODES, P_VIEWS, P_SIMPLE, P_LISTS, P_BITS = range(9)
P_V, P_SET_LENGTH, P_BUFFER, P_STAMPS, P_MARKS, P_STATES = 9, 10, 11, 12, 13, 14
LARGEST = 4.0e18  # floats above this may stand for counts over 2^63
GALLOP = 16  # one list this much longer than the other: search it instead of merging
MOST = 1 << 62


def _cache_folder() -> str:
    """Where Numba may keep its disk cache: a pickle, so only where nobody but the user can write,
    and never in a store (design.md §2). One folder for each state of the sources, because Numba does
    not see that a function called from another file has changed. "" where there is no such folder."""
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    here = Path(__file__).parent
    sources = [*sorted(here.glob("*.py")), here.parent / "tables.py", here.parent / "nest.py"]
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


_TYPES: dict[str, types.Type] = {
    "int": types.int64,
    "Pointers": types.int64,
    "bool": types.boolean,
    "float": types.float64,
    "None": types.void,
    "tuple[int, int]": types.UniTuple(types.int64, 2),
    "tuple[int, int, int]": types.UniTuple(types.int64, 3),
    "tuple[int, float]": types.Tuple((types.int64, types.float64)),
    "tuple[int, float, int]": types.Tuple((types.int64, types.float64, types.int64)),
}


_parts: list[tuple[Dispatcher, object]] = []


def compiled(function: Function, *, entry: bool = False) -> Function:
    """A function compiled by Numba without the GIL, once, for the types that its annotations name.

    entry : Python calls it, so it is compiled now or comes from the user's disk cache. The others are
        parts of entries: they are compiled, in their order, only where an entry is not in the cache.
    """
    hints = {name: _TYPES[str(hint)] for name, hint in function.__annotations__.items()}
    signature = hints.pop("return")(*hints.values())
    if not entry:
        part = njit(nogil=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)(function)
        _parts.append((part, signature))
        return cast(Function, part)
    if not _cached(function.__name__):
        for part, known in _parts:
            if not part.overloads:
                part.compile(known)
                part.disable_compile()  # or each constant argument would compile it again
    before, numba.config.CACHE_DIR = numba.config.CACHE_DIR, _FOLDER
    try:
        return cast(Function, njit(signature, nogil=True, cache=bool(_FOLDER))(function))
    finally:
        numba.config.CACHE_DIR = before


def _cached(name: str) -> bool:
    """Whether the disk cache holds an entry of this name (its folder is one for these sources)."""
    return bool(_FOLDER) and any(Path(_FOLDER).rglob(f"*.{name}-*.nbi"))


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
store_u8, store_u32, store_i64 = _storer(8), _storer(32), _storer(64)
