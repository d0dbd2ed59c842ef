"""Stores at URLs: the same answers, through a cache, and clear errors for all that may be wrong there."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import fsspec
import pytest

import gdb
from gdb.errors import CorruptStore, GdbError, NotAStore, ReadOnlyError, StoreError
from gdb.records import replace
from gdb.storage.disk import checksum, remote_files
from gdb.storage.format import manifest as manifests
from tests.support.flaky import Flaky, Gate
from tests.support.shared_store import people

QUERY = "MATCH (a)-->(b)-->(c) RETURN count(*)"
QUERIES = (
    QUERY,
    "MATCH (a)--(b)--(c), (a)--(c) RETURN id(a), id(b), id(c)",
    "MATCH (a:Person)-->(b) WHERE a.age > 60 RETURN id(a), b.age",
    "MATCH (a:Person {id: 7}) RETURN a.age",
)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of this user's copies, which is empty."""
    monkeypatch.setenv("GDB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(remote_files, "PAUSE", 0.0)
    Flaky.begin()
    return tmp_path / "cache" / f"user-{os.geteuid()}"


@pytest.fixture(scope="module", params=["BLAKE2b", "BLAKE3"])
def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With the checksums of small or of large files."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "BLAKE3":
            patch.setattr(checksum, "LARGE", 0)
        return people(tmp_path_factory.mktemp("remote"))


def opened(url: str) -> gdb.Database:
    return gdb.connect(url, read_only=True)


def count(url: str) -> object:
    with opened(url) as db:
        return db.execute(QUERY).scalar()


def known(store: Path) -> object:
    with gdb.connect(store, read_only=True) as db:
        return db.execute(QUERY).scalar()


def copies(cache: Path) -> list[Path]:
    return sorted(path for path in cache.iterdir() if path.name != "lock")


def segment(url: str) -> str:
    """The largest segment of a store at flaky://."""
    folder = url.removeprefix("flaky://")
    names = [name for name in Flaky.files if name.startswith(f"{folder}/seg-")]
    return max(names, key=lambda name: len(Flaky.files[name]))


def changed(store: Path) -> None:
    """Commit and compact, so that all files of the store are others."""
    with gdb.connect(store) as db:
        db.execute("MATCH (a:Person {id: 5}) DETACH DELETE a")
        db.compact()


# ---- it is the same store -----------------------------------------------------------------------------------------


def in_memory(store: Path) -> str:
    system = fsspec.filesystem("memory")
    system.put(f"{store}/", "/people/", recursive=True)
    return "memory://people"


@pytest.mark.parametrize("upload", [in_memory, Flaky.upload, lambda store: f"file://{store}/"])
def test_answers_are_the_same(store: Path, upload: Callable[[Path], str], tmp_path: Path) -> None:
    with gdb.connect(store, read_only=True) as db, opened(upload(store)) as far:
        for query in QUERIES:
            assert sorted(far.execute(query).fetchall()) == sorted(db.execute(query).fetchall())
        assert far.stats() == db.stats()
        assert far.check().files == db.check().files
        far.backup(tmp_path / "copy.gdb")
        assert far.path is None
    assert known(tmp_path / "copy.gdb") == known(store)


def test_files_are_fetched_when_they_are_needed_and_once(store: Path, cache: Path) -> None:
    url = Flaky.upload(store)
    with opened(url) as db:
        assert not cache.exists()
        assert [*Flaky.opened] == ["store/MANIFEST"]
        before = db.execute(QUERY).scalar()
        assert db.execute(QUERY).scalar() == before
    assert len([path for path in Flaky.opened if "/seg-" in path]) == len(copies(cache)) > 0
    Flaky.opened.clear()
    assert count(url) == before
    assert Flaky.opened == ["store/MANIFEST"]


def test_copies_have_the_names_of_their_contents(store: Path, cache: Path) -> None:
    count(Flaky.upload(store))
    for path in copies(cache):
        assert checksum.has_checksum(path.read_bytes(), path.name)
        assert path.stat().st_mode & 0o077 == 0


def test_options_reach_the_file_system_and_no_message(store: Path) -> None:
    url = Flaky.upload(store)
    with gdb.connect(url, read_only=True, storage_options={"token": "s3cret"}) as db:
        assert Flaky.options[-1] == {"token": "s3cret"}
        assert "s3cret" not in repr(db)
    with pytest.raises(NotAStore) as error:
        opened("flaky://user:s3cret@nowhere")
    assert "s3cret" not in str(error.value)
    assert "flaky://nowhere" in str(error.value)


def test_a_forked_child_makes_a_file_system_of_its_own(store: Path) -> None:
    url, right = Flaky.upload(store), known(store)
    with opened(url) as db:
        made = len(Flaky.options)
        pid = os.fork()
        if not pid:
            ok = db.execute(QUERY).scalar() == right and len(Flaky.options) > made
            os._exit(0 if ok else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


# ---- it is only read ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "write",
    [
        lambda db: db.execute("CREATE (:A)"),
        lambda db: db.load("edges.txt"),
        lambda db: db.compact(),
        lambda db: db.transaction().__enter__(),
    ],
)
def test_a_write_is_refused(store: Path, write: Callable[[gdb.Database], object]) -> None:
    with (
        opened(Flaky.upload(store)) as db,
        pytest.raises(ReadOnlyError, match=r"backup\(folder\), change that, and upload it"),
    ):
        write(db)


def test_it_is_opened_read_only_by_name(store: Path) -> None:
    with pytest.raises(ReadOnlyError, match="read_only=True"):
        gdb.connect(Flaky.upload(store))


def test_options_without_a_url_are_refused(tmp_path: Path) -> None:
    with pytest.raises(gdb.GdbError, match="storage_options= are those of a URL"):
        gdb.connect(tmp_path / "s", storage_options={"anon": True})


# ---- what is wrong there ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["flaky://nothing", "file:///nothing/here", "memory://nothing"])
def test_a_url_of_nothing(path: str) -> None:
    with pytest.raises(NotAStore, match="There is no store at") as error:
        opened(path)
    assert path in str(error.value)


def test_a_url_of_a_file(store: Path) -> None:
    with pytest.raises(NotAStore, match="There is no store at"):
        opened(f"file://{store}/MANIFEST")


def test_a_manifest_that_is_none() -> None:
    Flaky.files["store/MANIFEST"] = b"<html>Not found</html>"
    with pytest.raises(CorruptStore, match="MANIFEST"):
        opened("flaky://store")


def test_a_manifest_that_is_too_long() -> None:
    head = b"gdb.man\n" + (4).to_bytes(4, "little") + (1).to_bytes(4, "little") + bytes(8)
    Flaky.files["store/MANIFEST"] = head + bytes(3 << 20)
    with pytest.raises(CorruptStore, match="can have"):
        opened("flaky://store")


@pytest.mark.parametrize("damage", ["changed", "cut", "longer"])
def test_a_segment_that_is_damaged_there(store: Path, cache: Path, damage: str) -> None:
    url = Flaky.upload(store)
    name = segment(url)
    raw = Flaky.files[name]
    wrong = {
        "changed": raw[:-1] + bytes([raw[-1] ^ 1]),
        "cut": raw[:-100],
        "longer": raw + b"x",
    }
    reason = {
        "changed": "does not hold the bytes",
        "cut": f"has {len(raw) - 100:,} bytes instead of {len(raw):,}",
        "longer": f"has more instead of {len(raw):,}",
    }
    Flaky.files[name] = wrong[damage]
    with opened(url) as db, pytest.raises(CorruptStore, match=reason[damage]) as error:
        db.execute(QUERY)
    assert name.rpartition("/")[2] in str(error.value)
    assert "Upload the file again" in str(error.value)
    names = [path.name.removesuffix(".part") for path in copies(cache)]
    assert not any(checksum.has_checksum(raw, name) for name in names)
    Flaky.files[name] = raw
    assert count(url) == known(store)


def test_a_segment_that_is_missing_there(store: Path) -> None:
    url = Flaky.upload(store)
    del Flaky.files[segment(url)]
    with opened(url) as db, pytest.raises(CorruptStore, match="is missing"):
        db.execute(QUERY)


def test_a_connection_that_breaks_goes_on_where_it_broke(store: Path) -> None:
    url = Flaky.upload(store)
    length = len(Flaky.files[segment(url)])
    Flaky.broken = [length // 3, 2 * length // 3]
    with opened(url) as db:
        assert db.execute(QUERY).scalar() == known(store)
    assert Flaky.opened.count(Flaky.opened[1]) == 3
    assert Flaky.sought[-2:] == [length // 3, 2 * length // 3]


def test_a_network_that_stays_down(store: Path, cache: Path) -> None:
    url = Flaky.upload(store)
    Flaky.broken = [1000] * 100
    with opened(url) as db:
        with pytest.raises(StoreError, match=r"ConnectionResetError: connection reset.*network"):
            db.execute(QUERY)
        assert not copies(cache)
        Flaky.broken = []
        assert db.execute(QUERY).scalar() == known(store)  # the same connection, once it is back


def test_a_refused_file(store: Path) -> None:
    url = Flaky.upload(store)

    def refuse() -> None:
        raise PermissionError("403 Forbidden")

    with opened(url) as db:
        Flaky.hook = staticmethod(refuse)
        with pytest.raises(gdb.errors.StorePermissionError, match=r"403 Forbidden.*credentials"):
            db.execute(QUERY)


def test_a_timeout_ends_a_query_that_fetches(store: Path) -> None:
    url, gate = Flaky.upload(store), Gate()
    try:
        with opened(url) as db:
            Flaky.hook = gate
            with pytest.raises(gdb.QueryTimeout):
                db.execute(QUERY, timeout=0.2)
            assert gate.reached.is_set()
            gate.open.set()
            assert db.execute(QUERY).scalar() == known(store)
    finally:
        gate.open.set()


def test_a_protocol_whose_package_is_missing() -> None:
    fsspec.register_implementation(
        "absent", "gdb_absent_package.System", errtxt="Install gdb_absent_package", clobber=True
    )
    with pytest.raises(StoreError, match="pip install gdb_absent_package"):
        opened("absent://store")


def test_fsspec_that_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    with pytest.raises(StoreError, match=r"gdb-embedded\[remote\]"):
        opened("flaky://store")


def test_a_protocol_that_there_is_not() -> None:
    with pytest.raises(StoreError, match="Protocol not known: nono"):
        opened("nono://store")


# ---- a writer there -----------------------------------------------------------------------------------------------


def test_an_open_store_stays_at_its_version(store: Path, tmp_path: Path) -> None:
    """What was read stays, whatever becomes of the origin; what was not read says that it is gone."""
    origin = Path(shutil.copytree(store, tmp_path / "origin"))
    url = f"file://{origin}"
    before = known(origin)
    with opened(url) as db, opened(url) as other:
        assert db.execute(QUERY).scalar() == before
        changed(origin)
        assert db.execute(QUERY).scalar() == before
        assert other.execute(QUERY).scalar() == before  # from the cache
        assert count(url) == known(origin) != before


def test_a_version_that_was_compacted_away(store: Path, tmp_path: Path) -> None:
    origin = Path(shutil.copytree(store, tmp_path / "origin"))
    url = f"file://{origin}"
    with opened(url) as db:
        changed(origin)
        with pytest.raises(StoreError, match=r"is not at .* any more.*Connect to it again"):
            db.execute(QUERY)
    assert count(url) == known(origin)


def test_commits_beside_a_reader(store: Path, tmp_path: Path) -> None:
    """Records behind the manifest are read with it."""
    origin = Path(shutil.copytree(store, tmp_path / "origin"))
    url = f"file://{origin}"
    with gdb.connect(origin) as writer:
        for k in range(5):
            writer.execute(
                "CREATE (:Person {id: $k})-[:KNOWS]->(:Person {id: $k + 1})", {"k": 9000 + 2 * k}
            )
            assert count(url) == writer.execute(QUERY).scalar()


def test_two_stores_whose_files_have_one_name(store: Path, tmp_path: Path) -> None:
    """A store is replaced by another one, whose segment has the name of the old one's."""
    url = Flaky.upload(store)
    first = count(url)
    other = Path(shutil.copytree(store, tmp_path / "other"))
    changed(other)
    Flaky.upload(other, "other")
    old, new = segment(url), segment("flaky://other")
    content = Flaky.files["other/MANIFEST"]
    manifest = manifests.decode(content, "other")
    files = tuple(
        replace(record, name=old.rpartition("/")[2]) if new.endswith(record.name) else record
        for record in manifest.files
    )
    Flaky.files["store/MANIFEST"] = manifests.encode(replace(manifest, files=files, journal=False))
    Flaky.files[old] = Flaky.files[new]
    assert count(url) == known(other) != first


# ---- processes ----------------------------------------------------------------------------------------------------


def test_processes_share_the_cache(store: Path, cache: Path) -> None:
    context = multiprocessing.get_context("spawn")
    with context.Pool(3) as pool:
        assert pool.map(count, [f"file://{store}"] * 6, chunksize=1) == [known(store)] * 6
    assert copies(cache)
    assert not [path for path in copies(cache) if path.name.endswith(".part")]


def test_the_shell_reads_it(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from gdb.repl import main

    assert main.main([f"file://{store}", "-c", QUERY]) == 0
    assert str(known(store)) in capsys.readouterr().out
    assert main.main(["check", f"file://{store}"]) == 0
    assert main.main([f"file://{store}", "-c", "CREATE (:A)"]) == main.FAILED
    assert "backup(folder)" in capsys.readouterr().err
    assert main.main(["create", f"file://{store}-new"]) == main.FAILED
    assert "lies at a URL" in capsys.readouterr().err


def test_errors_are_ours(store: Path) -> None:
    """Whatever a file system raises."""
    url = Flaky.upload(store)

    def odd() -> None:
        raise RuntimeError("event loop is closed")

    with opened(url) as db:
        Flaky.hook = staticmethod(odd)
        with pytest.raises(GdbError, match="RuntimeError: event loop is closed"):
            db.execute(QUERY)
