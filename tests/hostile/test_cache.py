"""Machine code that another user put into the cache folder is never run, and nothing behind a link is touched.

What is planted is as good as a stranger can make it: written by the same gdb for the same function, with a key of the
stranger's own beside it.
"""

from __future__ import annotations

import logging
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import llvmlite.binding as llvm
import pytest

from gdb.base.machine import cache
from gdb.base.machine import compile as machine
from gdb.base.machine import translate as translation
from gdb.base.machine.compile import compiled
from gdb.base.machine.translate import translate
from tests.hostile.users import NOBODY, STRANGER, as_root, everybodys_folder, give, ran


def _add(a: int, b: int) -> int:
    return a + b


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder for XDG_CACHE_HOME, in one that all can enter."""
    with everybodys_folder() as folder:
        (folder / "home").mkdir(mode=0o755)
        monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "home"))
        cache._report.cache_clear()
        yield folder / "home"


@pytest.fixture
def compilations(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The functions that are compiled from here on."""
    seen: list[str] = []

    def watched(function: Callable[..., object]) -> str:
        seen.append(function.__name__)
        return translate(function)

    monkeypatch.setattr(translation, "translate", watched)
    return seen


def answer() -> int:
    """What the function says in a process that has not loaded it yet."""
    return compiled(_add, entry=True)(2, 3)


def entry() -> cache.Entry:
    found = machine._entry((_add,), llvm.get_host_cpu_name(), machine._features())
    assert found is not None
    return found


def planted(folder: Path, user: int | None = NOBODY, mode: int = 0o666) -> Path:
    """Put machine code for the same function that multiplies into a folder, as a user's; make it if need be."""
    folder.mkdir(parents=True, exist_ok=True)
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    text = translate(_add).replace(" = add ", " = mul ")
    code = machine._optimised(text, machine._target_machine())
    with everybodys_folder() as own, pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(own))
        cache.write(entry(), code)
        assert compiled(_add, entry=True)(2, 3) == 6  # it would be run: this test can see
        for path in (own / "gdb" / "kernels").iterdir():
            copy = Path(shutil.copy(path, folder))
            copy.chmod(mode)
            if user is not None:
                give(copy, user)
    return folder


def state(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Modes and contents of the files in a folder, and of the folder itself."""
    found = {path.name: (path.stat().st_mode, path.read_bytes()) for path in folder.iterdir()}
    return found | {"": (folder.stat().st_mode, b"")}


# ---- what was proved in the audit --------------------------------------------------------------------


@as_root
def test_files_of_others_in_a_folder_that_was_open_to_all(home: Path) -> None:
    kernels = planted(home / "gdb" / "kernels")
    kernels.chmod(0o777)
    assert answer() == 5
    assert kernels.stat().st_mode & 0o7777 == 0o700
    assert {path.stat().st_uid for path in kernels.iterdir()} == {0}


@as_root
def test_a_link_of_another_user_to_a_folder_that_all_may_write_to(
    home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    shared = planted(home / "shared")
    shared.chmod(0o1777)
    (home / "gdb").mkdir()
    give(home / "gdb", NOBODY)
    (home / "gdb" / "kernels").symlink_to(shared)
    before = state(shared)
    assert answer() == 5
    assert state(shared) == before
    assert "The folder gdb in" in caplog.text
    assert f"belongs to the user with the number {NOBODY}" in caplog.text


def test_nothing_behind_a_link_is_pruned(
    home: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(cache, "MOST", 1)
    files = home / "files"
    files.mkdir()
    for number in range(3):
        (files / f"letter-{number:032x}.o").write_text("precious")
    (home / "gdb").mkdir()
    (home / "gdb" / "kernels").symlink_to(files)
    before = state(files)
    assert answer() == 5
    assert state(files) == before
    assert "kernels in" in caplog.text
    assert "is a symbolic link" in caplog.text


# ---- files ------------------------------------------------------------------------------------------


@as_root
@pytest.mark.parametrize("mode", [0o600, 0o644, 0o666])
def test_files_of_others_in_a_folder_of_mine(home: Path, mode: int) -> None:
    planted(home / "gdb" / "kernels", mode=mode).chmod(0o700)
    assert answer() == 5


def test_my_own_files_that_others_may_write_to(home: Path) -> None:
    planted(home / "gdb" / "kernels", user=None).chmod(0o700)
    assert answer() == 5


def test_code_that_was_authenticated_by_another_key(home: Path, compilations: list[str]) -> None:
    assert answer() == 5
    kernels = home / "gdb" / "kernels"
    key = (kernels / cache.KEY).read_bytes()
    planted(kernels, user=None, mode=0o600)
    (kernels / cache.KEY).write_bytes(key)
    compilations.clear()
    assert answer() == 5
    assert answer() == 5
    assert compilations == ["_add"]  # the planted file was written over


def test_a_file_is_not_taken_for_another(home: Path) -> None:
    one, other, same_name = cache.entry("f", b"1"), cache.entry("g", b"1"), cache.entry("f", b"2")
    cache.write(one, b"code")
    kernels = home / "gdb" / "kernels"
    for theirs in (other, same_name):
        shutil.copy(kernels / one.file, kernels / theirs.file)
        assert cache.read(theirs) is None
    assert cache.read(one) == b"code"
    # nor what the name leaves out of the state
    assert cache.read(cache.Entry(one.file, one.state[:-1] + b"?")) is None


def test_a_second_name_of_a_file_is_not_read(home: Path) -> None:
    cache.write(one := cache.entry("f", b""), b"code")
    os.link(home / "gdb" / "kernels" / one.file, home / "second")
    assert cache.read(one) is None
    cache.write(one, b"code")  # takes its place, and leaves the other
    assert cache.read(one) == b"code"


@pytest.mark.parametrize("name", ["code", "key"])
@pytest.mark.parametrize("kind", ["link", "dangling", "pipe", "folder"])
def test_what_is_no_file_is_not_opened(
    home: Path, compilations: list[str], name: str, kind: str
) -> None:
    assert answer() == 5
    kernels = home / "gdb" / "kernels"
    path = kernels / (entry().file if name == "code" else cache.KEY)
    target = home / "target"
    if kind == "link":
        path.rename(target)
    before = target.read_bytes() if target.exists() else None
    path.unlink(missing_ok=True)
    match kind:
        case "pipe":
            os.mkfifo(path)
        case "folder":
            path.mkdir()
        case _:
            path.symlink_to(target)
    compilations.clear()
    assert answer() == 5
    assert compilations == ["_add"]
    assert (target.read_bytes() if target.exists() else None) == before
    compilations.clear()
    assert answer() == 5
    assert (compilations == []) == (kind != "folder")  # all but a folder gives way


def test_a_key_that_was_cut_short_is_made_again(home: Path, compilations: list[str]) -> None:
    assert answer() == 5
    (home / "gdb" / "kernels" / cache.KEY).write_bytes(b"")
    for _ in range(2):
        assert answer() == 5
    assert compilations == ["_add", "_add"]


def test_all_files_are_for_the_user_alone(home: Path) -> None:
    mask = os.umask(0)
    try:
        answer()
    finally:
        os.umask(mask)
    kernels = home / "gdb" / "kernels"
    assert [kernels.parent.stat().st_mode & 0o777, kernels.stat().st_mode & 0o777] == [0o700] * 2
    assert {path.stat().st_mode & 0o777 for path in kernels.iterdir()} == {0o600}


# ---- folders ----------------------------------------------------------------------------------------


@as_root
@pytest.mark.parametrize("which", ["..", ".", "gdb", "gdb/kernels"])
def test_a_folder_on_the_way_that_is_anothers(
    home: Path, compilations: list[str], caplog: pytest.LogCaptureFixture, which: str
) -> None:
    assert answer() == 5
    before = state(home / "gdb" / "kernels")
    give(home / which, NOBODY)
    compilations.clear()
    assert [answer(), answer()] == [5, 5]
    assert compilations == ["_add", "_add"]
    assert state(home / "gdb" / "kernels") == before
    (record,) = caplog.records  # once
    assert record.levelno == logging.WARNING
    assert "Let HOME or the XDG variable name a folder of your own." in record.getMessage()


@pytest.mark.parametrize("which", ["..", ".", "gdb"])
@pytest.mark.parametrize(("mode", "trusted"), [(0o775, False), (0o757, False), (0o1777, True)])
def test_a_folder_on_the_way_that_others_may_write_to(
    home: Path, caplog: pytest.LogCaptureFixture, which: str, mode: int, trusted: bool
) -> None:
    (home / "gdb").mkdir(mode=0o700)
    (home / which).chmod(mode)
    assert answer() == 5
    assert (home / "gdb" / "kernels").exists() == trusted
    assert ("chmod go-w" in caplog.text) != trusted


def test_a_home_behind_links_of_mine_is_used(
    home: Path, compilations: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / "deep" / "real").mkdir(parents=True)
    (home / "deep" / "relative").symlink_to("../deep/./real")
    (home / "absolute").symlink_to(home / "deep" / "relative")
    monkeypatch.setenv("XDG_CACHE_HOME", str(home / "absolute" / "inner"))
    assert [answer(), answer()] == [5, 5]
    assert compilations == ["_add"]
    assert (home / "deep" / "real" / "inner" / "gdb" / "kernels").is_dir()


@as_root
def test_a_home_behind_a_link_of_another_is_not_used(
    home: Path, compilations: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    home.chmod(0o1777)
    (home / "real").mkdir()
    (home / "link").symlink_to(home / "real")
    give(home / "link", NOBODY)
    monkeypatch.setenv("XDG_CACHE_HOME", str(home / "link"))
    assert [answer(), answer()] == [5, 5]
    assert compilations == ["_add", "_add"]
    assert not list((home / "real").iterdir())


def test_links_in_a_circle(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "a").symlink_to(home / "b")
    (home / "b").symlink_to(home / "a")
    monkeypatch.setenv("XDG_CACHE_HOME", str(home / "a"))
    assert answer() == 5


def test_a_folder_that_was_open_to_others_is_emptied_of_code(
    home: Path, compilations: list[str]
) -> None:
    assert answer() == 5
    kernels = home / "gdb" / "kernels"
    key = (kernels / cache.KEY).read_bytes()
    (kernels / "letter.txt").write_text("precious")
    kernels.chmod(0o750)  # who could read the key can authenticate
    assert [answer(), answer()] == [5, 5]
    assert compilations == ["_add", "_add"]
    assert (kernels / cache.KEY).read_bytes() != key
    assert (kernels / "letter.txt").exists()


def test_only_code_is_pruned(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "MOST", 2)
    (home / "gdb").mkdir()
    kernels = home / "gdb" / "kernels"
    kernels.mkdir(mode=0o700)
    others = {"letter.txt", "letter.o", f"{'1' * 31}.new", "gdb-0123.o"}
    for name in others:
        (kernels / name).write_text("precious")
    for number in range(4):
        cache.write(cache.entry("f", bytes([number])), b"")
    assert len(os.listdir(kernels)) == len(others) + 3  # and the key
    assert others < set(os.listdir(kernels))


def test_a_relative_folder_is_ignored(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "planted")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(home)
    planted(home / "planted" / "gdb" / "kernels", user=None, mode=0o600)
    assert answer() == 5
    assert (home / ".cache" / "gdb" / "kernels").is_dir()


@pytest.mark.parametrize("stated", ["", "relative", "/dev/null"])
def test_no_home(home: Path, monkeypatch: pytest.MonkeyPatch, stated: str) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", stated or str(home / "absent"))
    monkeypatch.chdir(home)
    assert answer() == 5
    assert not (home / "relative").exists()


def test_many_open_descriptors_are_left_by_none_of_it(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def open_now() -> int:
        return len(os.listdir("/proc/self/fd"))

    answer()
    (home / "absolute").symlink_to(home / "absent" / "..")
    before = open_now()
    for place in (home, home / "absolute", "/dev/null", home / "gdb" / "kernels"):
        monkeypatch.setenv("XDG_CACHE_HOME", str(place))
        cache.read(entry())
        cache.write(entry(), b"")
    assert open_now() == before


# ---- the rights of others ------------------------------------------------------------------------------

DROPPED = """
import logging, os, sys
logging.basicConfig()
from gdb.base.machine.compile import compiled
from tests.hostile.users import drop

os.environ["XDG_CACHE_HOME"] = "/dev/null"
from tests.hostile.test_cache import answer
from tests.hostile import test_cache
compiled(test_cache._add, entry=True)(1, 1)
drop(int(sys.argv[1]))
os.environ["XDG_CACHE_HOME"] = sys.argv[2]
print("answer", answer())
"""


@as_root
def test_a_user_without_rights_has_a_cache_of_their_own(home: Path) -> None:
    give(home, NOBODY)
    assert "answer 5" in ran(DROPPED, NOBODY, home)
    kernels = home / "gdb" / "kernels"
    assert {path.stat().st_uid for path in [kernels, *kernels.iterdir()]} == {NOBODY}
    planted(kernels, user=STRANGER)
    assert "answer 5" in ran(DROPPED, NOBODY, home)


@as_root
def test_what_root_left_in_a_users_folder_is_not_taken(home: Path) -> None:
    # and the reverse, sudo that keeps HOME: nothing of root's is written there
    give(home, NOBODY)
    answer()
    assert not list(home.iterdir())
    planted(home / "gdb" / "kernels", user=0, mode=0o644).chmod(0o777)
    for folder in (home / "gdb", home / "gdb" / "kernels"):
        give(folder, NOBODY)
    assert "answer 5" in ran(DROPPED, NOBODY, home)
