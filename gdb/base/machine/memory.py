"""Memory access of compiled functions: loads and stores at addresses.

Everything that such a function touches is passed as an address, because code without objects is code without reference
counts: counting them, atomically, made the inner loops of the kernel ten times slower.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable


def load_u8(address: int, index: int) -> int:
    """The u8 at address[index]. The caller keeps alive what an address names, here and below."""
    return ctypes.c_uint8.from_address(address + index).value


def load_u16(address: int, index: int) -> int:
    """Element `index` of the u16 at an address."""
    return ctypes.c_uint16.from_address(address + 2 * index).value


def load_u32(address: int, index: int) -> int:
    """Element `index` of the u32 at an address."""
    return ctypes.c_uint32.from_address(address + 4 * index).value


def load_i64(address: int, index: int) -> int:
    """Element `index` of the i64 at an address."""
    return ctypes.c_int64.from_address(address + 8 * index).value


def load_shared(address: int, index: int) -> int:
    """As `load_i64`, of a number that other threads may set meanwhile: the old or the new one, never parts of both."""
    return ctypes.c_int64.from_address(address + 8 * index).value


def load_f64(address: int, index: int) -> float:
    """Element `index` of the f64 at an address."""
    return ctypes.c_double.from_address(address + 8 * index).value


def store_u8(address: int, index: int, value: int) -> None:
    """address[index] = value, cut to 8 bits; the next ones to their widths."""
    ctypes.c_uint8.from_address(address + index).value = value


def store_u16(address: int, index: int, value: int) -> None:
    """Set element `index` of the u16 at an address."""
    ctypes.c_uint16.from_address(address + 2 * index).value = value


def store_u32(address: int, index: int, value: int) -> None:
    """Set element `index` of the u32 at an address."""
    ctypes.c_uint32.from_address(address + 4 * index).value = value


def store_i64(address: int, index: int, value: int) -> None:
    """Set element `index` of the i64 at an address."""
    ctypes.c_int64.from_address(address + 8 * index).value = value


def store_shared(address: int, index: int, value: int) -> None:
    """As `store_i64`, of a number that other threads may read or set meanwhile."""
    ctypes.c_int64.from_address(address + 8 * index).value = value


def store_f64(address: int, index: int, value: float) -> None:
    """Set element `index` of the f64 at an address."""
    ctypes.c_double.from_address(address + 8 * index).value = value


# their widths in bits: in the kernel each is one instruction
LOADS: dict[Callable[..., object], int] = {
    load_u8: 8,
    load_u16: 16,
    load_u32: 32,
    load_i64: 64,
    load_shared: 64,
}
STORES: dict[Callable[..., object], int] = {
    store_u8: 8,
    store_u16: 16,
    store_u32: 32,
    store_i64: 64,
    store_shared: 64,
}
SHARED: set[Callable[..., object]] = {load_shared, store_shared}
FLOATS: set[Callable[..., object]] = {load_f64, store_f64}  # of 64 bits
