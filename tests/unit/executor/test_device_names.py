"""Names of devices are checked before anything runs, by every entry, with the name that was probably meant."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

import gdb
from gdb.errors import DeviceError, TypeProblem
from gdb.executor.device_names import checked_device, ordinals

ENTRIES: dict[str, Callable[[gdb.Database, str], object]] = {
    "execute": lambda db, device: db.execute("MATCH (a:None) RETURN a", device=device),
    "rows": lambda db, device: db.execute("RETURN 1", device=device),
    "write": lambda db, device: db.execute("CREATE (:P)", device=device),
    "EXPLAIN": lambda db, device: db.execute("EXPLAIN RETURN 1", device=device),
    "explain": lambda db, device: db.explain("RETURN 1", device=device),
    "stream": lambda db, device: db.stream("RETURN 1", device=device),
    "device_columns": lambda db, device: db.device_columns("RETURN 1", device=device),
    "snapshot": lambda db, device: db.snapshot().execute("RETURN 1", device=device),
    "Cluster": lambda db, device: gdb.Cluster(ThreadPoolExecutor(1), 1, device=device),
}


@pytest.mark.parametrize("entry", ENTRIES)
def test_every_entry_checks(entry: str) -> None:
    message = r"no device 'gpu0'.*Did you mean \"cuda:0\""
    with gdb.connect() as db, pytest.raises(DeviceError, match=message):
        ENTRIES[entry](db, "gpu0")


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("gpu1", "cuda:1"),
        ("cuda2", "cuda:2"),
        ("gpu:0,1", "cuda:0,1"),
        ("0", "cuda:0"),
        ("cpus", "cpu"),
        ("cpu:0", "cpu"),
        ("atuo", "auto"),
    ],
)
def test_the_nearest_name(name: str, meant: str) -> None:
    with pytest.raises(DeviceError, match=f'Did you mean "{meant}"'):
        checked_device(name)


def test_a_name_like_none() -> None:
    with pytest.raises(DeviceError) as caught:
        checked_device("mps")
    assert "Did you mean" not in str(caught.value)
    assert '"cuda:N"' in str(caught.value)


def test_a_number() -> None:
    with pytest.raises(TypeProblem, match=r'takes a text, not int\. Did you mean "cuda:1"'):
        checked_device(1)


def test_a_gpu_is_named_once() -> None:
    with pytest.raises(DeviceError, match="twice"):
        checked_device("cuda:0,1,0")


@pytest.mark.parametrize("name", ["auto", "CPU", "gpu", "Cuda", "cuda:3", "cuda:0,2"])
def test_right_names(name: str) -> None:
    assert checked_device(name) == name.lower()


def test_ordinals() -> None:
    assert [ordinals(name) for name in ("cuda", "cuda:3", "cuda:0,2")] == [(0,), (3,), (0, 2)]
