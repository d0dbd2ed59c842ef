"""Work on all cores: results in order, errors, few items at a time."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from gdb.base import waiting


def test_results_come_in_the_order_of_the_items() -> None:
    assert list(waiting.in_order(lambda k: k * k, range(100))) == [k * k for k in range(100)]


@pytest.mark.parametrize("count", [0, 1])
def test_one_item_needs_no_thread(count: int) -> None:
    here = threading.get_ident()
    assert list(waiting.in_order(lambda _: threading.get_ident(), range(count))) == [here] * count


def test_an_error_ends_the_work() -> None:
    with pytest.raises(ZeroDivisionError):
        list(waiting.in_order(lambda k: 1 // (k - 3), range(100)))


def test_items_are_taken_as_results_are_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "cores", lambda: 2)
    taken = list[int]()

    def items() -> Iterator[int]:
        for k in range(1000):
            taken.append(k)
            yield k

    results = waiting.in_order(lambda k: k, items())
    assert next(results) == 0
    assert len(taken) < 20


def test_a_part_of_such_work_uses_its_own_thread() -> None:
    def inner(_: int) -> bool:
        here = threading.get_ident()
        return set(waiting.in_order(lambda _: threading.get_ident(), range(5))) == {here}

    assert all(waiting.in_order(inner, range(8)))
