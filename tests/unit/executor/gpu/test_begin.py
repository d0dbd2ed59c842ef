"""CUDA is begun in a thread when a query names a GPU; what goes wrong there is not the query's error."""

from __future__ import annotations

import sys
import threading
from types import SimpleNamespace

import pytest

import gdb
from gdb.errors import DeviceError
from gdb.executor.gpu import device


def test_a_query_that_names_a_gpu_begins_cuda_first(monkeypatch: pytest.MonkeyPatch) -> None:
    begun = list[int]()
    monkeypatch.setattr(device, "begin", begun.append)
    monkeypatch.setattr(device, "absence", lambda: "there is none")
    with gdb.connect() as db:
        db.execute("CREATE (:N)-[:R]->(:N)")
        db.execute("MATCH (a)-[:R]->(b) RETURN count(*)", device="cpu")
        db.execute("MATCH (a)-[:R]->(b) RETURN count(*)")
        assert begun == []
        with pytest.raises(DeviceError, match="there is none"):
            db.execute("MATCH (a)-[:R]->(:N) RETURN count(*)", device="cuda:3")
    assert begun == [3]


def test_a_device_that_does_not_begin_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = threading.Event()

    def fails() -> str | None:
        tried.set()
        raise RuntimeError("no driver")

    monkeypatch.delitem(sys.modules, "cupy", raising=False)
    monkeypatch.setattr(device, "find_spec", lambda name: SimpleNamespace())
    monkeypatch.setattr(device, "absence", fails)
    device.begin(0)
    assert tried.wait(10)


def test_a_context_is_made_while_cupy_is_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    made, imported = threading.Event(), threading.Event()

    def absence() -> str | None:
        assert made.wait(10)
        imported.set()
        return "a test"

    def make_context(ordinal: int) -> None:
        assert ordinal == 2
        made.set()

    monkeypatch.delitem(sys.modules, "cupy", raising=False)
    monkeypatch.setattr(device, "find_spec", lambda name: SimpleNamespace())
    monkeypatch.setattr(device, "_no_driver", lambda: None)
    monkeypatch.setattr(device, "_make_context", make_context)
    monkeypatch.setattr(device, "absence", absence)
    device.begin(2)
    assert imported.wait(20)
