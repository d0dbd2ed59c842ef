"""The kernel's part of Python means to the machine what it means to Python, and nothing else is taken."""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gdb import planner
from gdb.base.machine.bits import bit_length, shifted, square_root, trailing_zeros
from gdb.base.machine.compile import compiled
from gdb.base.machine.memory import (
    load_f64,
    load_i64,
    load_u8,
    load_u32,
    store_f64,
    store_i64,
    store_u8,
    store_u32,
)
from gdb.base.machine.translate import translate
from gdb.base.once import MadeOnce
from gdb.errors import InternalError
from gdb.executor.cpu import kernel, launch
from gdb.executor.nest.prepare import prepare
from gdb.executor.work.scheduler import Budget, Watch
from gdb.query_graph import QueryGraph
from gdb.storage.graph import row_blocks
from tests.support.backends import rows_on_cpu
from tests.support.effort import share
from tests.support.small_graph import SmallGraph
from tests.support.strategies import cases

SEVEN = 7
HALF = 0.5


class Place:
    FIRST, SECOND = range(2)
    SHARE = 0.25


class Colour(IntEnum):
    RED = 3


def arithmetic(a: int, b: int) -> int:
    d = b if b != 0 else 3
    n = a // d + a % d
    n += (a ^ b) & (a | ~b)
    n -= -a >> 3
    return n * SEVEN + (b << 2)


def comparisons(a: int, b: int) -> int:
    n = 0
    n += a < b
    n += 2 * (a <= b)
    n += 4 * (a == b) + 8 * (a != b)
    if a > b and not (a >= 0 or b >= 0):
        n += 16
    elif not a or b:
        n += 32
    either = a == 1 or b == 1
    both = a > 0 and b > 0
    return n + 64 * either + 128 * (both != either)


def least_and_most(a: int, b: int) -> int:
    x = max(float(a), b * HALF)
    y = min(a, b)
    return int(x) + y + int(HALF < 1.5 / 3.0) + (1 if x < y else 2 if x > y else 0)


def constants_of_classes(a: int, b: int) -> int:
    n = a if a > Place.SECOND else b << Colour.RED
    return n + Place.FIRST + int(Place.SHARE * 8.0)


def loops(a: int, b: int) -> int:
    total, last = 0, -1
    for i in range(a % 9):
        if i == 5:
            break
        for j in range(b % 4, 7):
            if (i + j) % 3 == 0:
                continue
            last = j
            j += 100  # the count goes on from where it was
            total += j
        total = total * 2
    while total > 50:
        total -= b % 13 + 1
        if total % 11 == 4:
            break
    else_ = total
    return else_ * 1000 + last


def of_bits(a: int, b: int) -> int:
    n = trailing_zeros(a) + 100 * bit_length(b) + 10_000 * trailing_zeros(b << 40)
    return n ^ shifted(a * b, a & 63) ^ shifted(b, 0)


@compiled
def parts(a: int, b: int) -> tuple[int, float, bool]:
    if a == b:
        return a, 1.0, True
    return (a - b, HALF, False) if a > b else (b - a, 2.0, a < 0)


@compiled
def down(n: int) -> int:
    return 0 if n <= 0 else n + down(n - 2)


def calls(a: int, b: int) -> int:
    n, weight, flag = parts(a, b)
    first, second = down(a % 20), n
    first, second = second, first
    return first * 100 + second + int(weight * 4.0) + flag


@pytest.mark.parametrize(
    "function",
    [arithmetic, comparisons, least_and_most, constants_of_classes, loops, of_bits, calls],
    ids=lambda f: f.__name__,
)
def test_the_machine_computes_what_python_does(function: Callable[[int, int], int]) -> None:
    fast = compiled(function, entry=True)

    @settings(max_examples=share(200))
    @given(*[st.integers(-60, 60) | st.integers(-(10**9), 10**9)] * 2)
    def agree(a: int, b: int) -> None:
        assert fast(a, b) == function(a, b)

    agree()


def _kinds(count: int, yes: bool, weight: float) -> float:
    return count * 2.0 if yes else weight


def test_python_gives_ints_bools_and_floats() -> None:
    fast = compiled(_kinds, entry=True)
    assert (fast(3, True, 0.25), fast(3, False, 0.25)) == (6.0, 0.25)


def _wrap(a: int) -> int:
    return a + 1


def test_ints_are_64_bits_wide() -> None:
    assert compiled(_wrap, entry=True)(2**63 - 1) == -(2**63)


def _touch(bytes_at: int, words: int, longs: int) -> None:
    store_u8(bytes_at, 1, load_u8(bytes_at, 0) + 300)
    store_u32(words, 1, load_u32(words, 0) + 1)
    store_i64(longs, 1, load_i64(longs, 0) - 1)
    store_i64(longs, 2, load_u8(bytes_at, 0) + load_u32(words, 0))


@pytest.mark.parametrize("function", [_touch, compiled(_touch, entry=True)])
def test_loads_widen_and_stores_cut(function: Callable[[int, int, int], None]) -> None:
    small = np.array([250, 0, 9], np.uint8)
    words = np.array([2**32 - 1, 5, 9], np.uint32)
    longs = np.array([-(2**40), 0, 9], np.int64)
    function(small.ctypes.data, words.ctypes.data, longs.ctypes.data)
    assert small.tolist() == [250, (250 + 300) % 256, 9]
    assert words.tolist() == [2**32 - 1, 0, 9]
    assert longs.tolist() == [-(2**40), -(2**40) - 1, 250 + 2**32 - 1]


def _root(of: int, more: float) -> float:
    return square_root(of) + square_root(more)


@pytest.mark.parametrize("function", [_root, compiled(_root, entry=True)])
def test_square_roots_are_exact(function: Callable[[int, float], float]) -> None:
    assert function(9, 0.0) == 3.0
    assert function(2, 6.25) == 2**0.5 + 2.5


def _halve(floats: int, by: int) -> float:
    store_f64(floats, 1, load_f64(floats, 0) / by)
    store_f64(floats, 2, by)
    return load_f64(floats, 1)


@pytest.mark.parametrize("function", [_halve, compiled(_halve, entry=True)])
def test_doubles_are_loaded_and_stored(function: Callable[[int, int], float]) -> None:
    floats = np.array([0.5, 9.0, 9.0])
    assert function(floats.ctypes.data, 2) == 0.25
    assert floats.tolist() == [0.5, 0.25, 2.0]


def _looks(address: int) -> bool:
    return address != 0 and load_i64(address, 0) == 1


compiled(_looks)


def _first_of(address: int) -> int:
    if address == 0 or load_i64(address, 0) == 0:
        return 0
    return load_i64(address, 0) if _looks(address) else -1


def test_what_need_not_be_looked_at_is_not() -> None:
    """Address 0 would end the process."""
    one = np.array([1], np.int64)
    fast = compiled(_first_of, entry=True)
    assert (fast(0), fast(one.ctypes.data)) == (0, 1)


# ---- the kernel itself -----------------------------------------------------------------------------


@pytest.mark.parametrize("wanted", ["count", "rows", "distinct"])
@settings(max_examples=share(40))
@given(case=cases())
def test_the_kernel_runs_in_python_too(wanted: str, case: tuple[SmallGraph, QueryGraph]) -> None:
    graph, query = case
    plan = planner.plan(query, graph, counting=wanted == "count")
    found: list[object] = []
    for run, fill in ((kernel.run, row_blocks._split), (kernel._run, row_blocks._row_split_loop)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(kernel, "run", run)
            patch.setattr(row_blocks, "_split", fill)
            patch.setattr(row_blocks, "_splits", MadeOnce(row_blocks._made_split))
            prepared = prepare(plan, graph)
            watch, budget = Watch(None, None, None), Budget()
            match wanted:
                case "count":
                    found.append(launch.count(prepared, watch, budget, 1))
                case "rows":
                    found.append(rows_on_cpu(prepared, watch, budget, 1, 3).vids.tolist())
                case _:
                    found.append(launch.distinct(prepared, watch, budget, 0, 1, 3).tolist())
    assert found[0] == found[1]


# ---- what is refused -------------------------------------------------------------------------------


def _not_compiled(a: int) -> int:
    return a


def _calls_other(a: int) -> int:
    return _not_compiled(a)


def _chained(a: int) -> int:
    return 1 if 0 < a < 5 else 0


def _number_of_or(a: int) -> int:
    return a or 5


def _list(a: int) -> int:
    return [a][0]


def _while_else(a: int) -> int:
    while a > 0:
        a -= 1
    else:
        a = 7
    return a


def _step(a: int) -> int:
    n = 0
    for i in range(0, a, 2):
        n += i
    return n


def _unknown(a: int) -> int:
    return a + missing  # type: ignore[name-defined]  # noqa: F821


def _narrowed(a: int) -> int:
    n = 0
    n = a * 0.5  # type: ignore[assignment]
    return n


def _too_few(a: int) -> tuple[int, int]:
    return (a,)  # type: ignore[return-value]


def _arguments(a: int) -> int:
    return down(a, a)  # type: ignore[call-arg]


def _division(a: float) -> float:
    return a // 2.0


@pytest.mark.parametrize(
    "function",
    [
        *(_calls_other, _chained, _number_of_or, _list, _while_else, _step, _unknown, _narrowed),
        *(_too_few, _arguments, _division),
    ],
    ids=lambda f: f.__name__,
)
def test_anything_else_is_refused_with_its_place(function: Callable[..., object]) -> None:
    with pytest.raises(InternalError) as refused:
        translate(function)
    place, line = str(refused.value).split(":")[:2]
    assert place.endswith("test_translate.py")
    assert 0 < int(line) - function.__code__.co_firstlineno < 6


def _is_even(a: int) -> bool:
    return a % 2 == 0


def test_an_entry_that_returns_a_bool_is_refused() -> None:
    """LLVM sets one bit of what C reads eight of."""
    with pytest.raises(InternalError, match="_is_even returns a bool"):
        translate(_is_even)
