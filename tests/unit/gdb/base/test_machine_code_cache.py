"""Machine code is made once, kept where only the user can write, and made again where it does not fit."""

from __future__ import annotations

import ast
import importlib.util
import os
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import llvmlite.binding as llvm
import pytest

from gdb.base.machine import cache as kernels
from gdb.base.machine import compile as machine
from gdb.base.machine import translate as translation
from gdb.base.machine.compile import compiled, together

ROOT = Path(__file__).parents[4]


def _add(a: int, b: int) -> int:
    return a + b


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache folder."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "gdb" / "kernels"


def code_in(cache: Path) -> list[Path]:
    """The files of machine code in a cache folder."""
    return [path for path in cache.glob("*.o") if not path.name.startswith("sources-")]


@pytest.fixture
def compilations(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The functions that are compiled from here on."""
    seen: list[str] = []

    def watched(*functions: Callable[..., object]) -> str:
        seen.extend(function.__name__ for function in functions)
        return translate(*functions)

    translate = translation.translate
    monkeypatch.setattr(translation, "translate", watched)
    return seen


def test_the_next_process_takes_it_from_the_cache(cache: Path, compilations: list[str]) -> None:
    for _ in range(3):  # an entry of its own looks as another process would
        assert compiled(_add, entry=True)(2, 3) == 5
    assert compilations == ["_add"]
    assert len(code_in(cache)) == 1


def test_nothing_is_compiled_before_the_first_call(cache: Path, compilations: list[str]) -> None:
    compiled(_add, entry=True)
    assert not compilations
    assert not cache.exists()


def test_it_works_without_a_folder(
    tmp_path: Path, compilations: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert compiled(_add, entry=True)(2, 3) == 5
    assert compilations == ["_add"]


def test_it_works_where_nothing_can_be_written(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*names: str, **folders: int) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(os, "rename", full)
    assert compiled(_add, entry=True)(2, 3) == 5
    assert [path.name for path in cache.iterdir()] == [kernels.KEY]


@pytest.mark.parametrize("damage", [lambda b: b[: len(b) // 2], lambda b: b"", lambda b: b"x" + b])
def test_a_damaged_file_is_made_again(
    cache: Path, compilations: list[str], damage: Callable[[bytes], bytes]
) -> None:
    compiled(_add, entry=True)(1, 1)
    (path,) = code_in(cache)
    whole = path.read_bytes()
    path.write_bytes(damage(whole))
    assert compiled(_add, entry=True)(2, 3) == 5
    assert compilations == ["_add", "_add"]
    assert path.read_bytes() == whole


def _loaded(path: Path, text: str) -> Callable[[int], int]:
    """The function `f` of a module written to a file."""
    path.write_text(f"from __future__ import annotations\n\n\n{text}\n", encoding="utf-8")
    spec = importlib.util.spec_from_file_location("changing", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), module.__dict__)
    found: Callable[[int], int] = module.f
    return found


def test_a_changed_source_is_compiled_again(cache: Path, tmp_path: Path) -> None:
    path = tmp_path / "changing.py"
    for k in (1, 2):
        f = _loaded(path, f"def f(a: int) -> int:\n    return a + {k}")
        assert compiled(f, entry=True)(10) == 10 + k
    assert len(code_in(cache)) == 2


def test_sources_are_read_again_when_they_change(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their checksum is kept for the next process, but not of files that have just changed."""
    read: list[Path] = []
    content = Path.read_bytes

    def seen(path: Path) -> bytes:
        read.append(path)
        return content(path)

    monkeypatch.setattr(Path, "read_bytes", seen)

    def text() -> bytes:
        """As another process would find it."""
        machine._text_of.cache_clear()
        return machine._text_of(machine._sources(own))

    own = tmp_path / "own"
    own.mkdir()
    file = own / "one.py"
    file.write_text("x = 1")
    first = text()
    assert text() == first
    assert len(read) == 2
    monkeypatch.setattr(machine, "SETTLED", -(1 << 62))
    assert text() == text() == first
    assert len(read) == 3
    file.write_text("x = 2")
    os.utime(file, (0, 0))
    assert text() != first
    assert len(read) == 4


def test_another_processor_is_another_file(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here, features = llvm.get_host_cpu_name(), machine._features()
    entries = {
        machine._entry((_add,), cpu, known)
        for cpu in (here, "other")
        for known in (features, f"{features},-avx512f")
    }
    assert len(entries) == 4


def test_threads_that_call_at_once_compile_once(cache: Path, compilations: list[str]) -> None:
    add = compiled(_add, entry=True)
    together = threading.Barrier(4)

    def ask(a: int) -> int:
        together.wait()
        return add(a, 1)

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(ask, range(4))) == [1, 2, 3, 4]
    assert compilations == ["_add"]


def _subtract(a: int, b: int) -> int:
    return a - b


def test_the_first_call_brings_all_of_an_object(cache: Path, compilations: list[str]) -> None:
    for _ in range(2):
        add, subtract = together(_add, _subtract)
        assert (subtract(2, 3), add(2, 3)) == (-1, 5)
    assert compilations == ["_add", "_subtract"]
    assert len(code_in(cache)) == 1


def test_the_cache_does_not_grow_for_ever(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "MOST", 3)
    entries = [kernels.entry("k", bytes([k])) for k in range(4)]
    for k, entry in enumerate(entries):
        kernels.write(entry, bytes([k]))
        os.utime(cache / entry.file, (k, k))
        assert kernels.read(entries[0]) == b"\0"  # what is read is not the oldest
    assert [(cache / entry.file).exists() for entry in entries] == [True, False, True, True]


@compiled
def _never_made_before(a: int) -> int:
    return a + 7


def test_objects_share_an_engine(cache: Path) -> None:
    compiled(_add, entry=True)(1, 1)
    before = len(machine._engines)
    assert compiled(_never_made_before, entry=True)(1) == 8
    assert len(machine._engines) == before


def test_functions_of_one_name_are_each_their_own(cache: Path, tmp_path: Path) -> None:
    found = []
    for k in (1, 2):
        (tmp_path / str(k)).mkdir()
        text = f"def f(a: int) -> int:\n    return a + {k}"
        found.append(compiled(_loaded(tmp_path / str(k) / "changing.py", text), entry=True))
    assert [f(10) for f in found] == [11, 12]


def test_a_process_looks_at_the_files_of_a_folder_once(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked, sources = [], machine._sources
    compiled(_add, entry=True)(1, 1)
    monkeypatch.setattr(machine, "_sources", lambda *f: looked.append(f) or sources(*f))
    assert compiled(_add, entry=True)(2, 3) == 5
    assert not looked


def test_no_two_objects_have_a_function_of_one_name() -> None:
    """An engine knows one function of each name, and another engine takes 3 ms of a first answer."""
    names = Counter[str]()
    for room in ("gdb", "executor", "storage"):
        for path in (ROOT / room).rglob("*.py"):
            text = path.read_text(encoding="utf-8")
            if "gdb.base.machine.compile import" not in text:
                continue
            for call in (x for x in ast.walk(ast.parse(text)) if isinstance(x, ast.Call)):
                entry = any(keyword.arg == "entry" for keyword in call.keywords)
                of = call.func.id if isinstance(call.func, ast.Name) else ""
                if of == "together" or (of == "compiled" and entry):
                    names.update(one.id for one in call.args if isinstance(one, ast.Name))
    assert names["_run"] == 1  # it sees them
    assert [name for name, times in names.items() if times > 1] == []
