"""Errors that are not of gdb say what happened: the folder of an open store is gone, memory is used up, a name is no
text."""

from __future__ import annotations

import errno
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Never

import numpy as np
import pytest

import gdb
from gdb.api.transaction import Transaction
from gdb.errors import GdbError, InternalError, OutOfBudget, StoreError, TypeProblem
from gdb.storage.write import transaction

GONE = r"The folder .*s of the store is gone: it was deleted, renamed or unmounted\. Put it back"


def _add(db: gdb.Database) -> None:
    with db.transaction() as tx:
        tx.add_nodes("N", [99])


USES: dict[str, Callable[[gdb.Database], object]] = {
    "a query": lambda db: db.execute("MATCH (n) RETURN n.x"),
    "a stream": lambda db: list(db.stream("MATCH (n) RETURN n.x")),
    "a plan": lambda db: db.explain("MATCH (n) RETURN n.x"),
    "a write": lambda db: db.execute("CREATE (:N)"),
    "a transaction": _add,
    "a compaction": lambda db: db.compact(),
    "a check": lambda db: db.check(),
    "the schema": lambda db: db.schema(),
    "a snapshot": lambda db: db.snapshot(),
    "a backup": lambda db: db.backup(Path(str(db.path)).parent / "copy"),
    "an export": lambda db: db.export(Path(str(db.path)).parent / "copy"),
}


@pytest.fixture
def db(tmp_path: Path) -> Iterator[gdb.Database]:
    with gdb.connect(tmp_path / "s") as db:
        for number in range(4):  # the last ones are records, through a descriptor that stays open
            with db.transaction() as tx:
                tx.add_nodes("N", [number], {"x": [number]})
        yield db


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("how", ["deleted", "renamed", "a file in its place"])
def test_the_folder_of_an_open_store_is_gone(how: str, use: str, db: gdb.Database) -> None:
    assert db.path is not None
    if how == "renamed":
        db.path.rename(db.path.with_name("elsewhere"))
    else:
        shutil.rmtree(db.path)
    if how == "a file in its place":
        db.path.write_text("")
    with pytest.raises(StoreError, match=GONE) as raised:
        USES[use](db)
    assert type(raised.value) is StoreError
    db.close()
    with pytest.raises(GdbError, match="closed"):
        db.execute("MATCH (n) RETURN n")


def test_a_folder_that_comes_back_is_used_again(db: gdb.Database) -> None:
    assert db.path is not None
    away = db.path.rename(db.path.with_name("elsewhere"))
    for use in (lambda: db.execute("MATCH (n) RETURN n"), lambda: _add(db)):
        with pytest.raises(StoreError, match=GONE):
            use()
    away.rename(db.path)
    _add(db)
    assert db.execute("MATCH (n) RETURN count(*)").scalar() == 5


def test_the_folder_goes_within_a_transaction(db: gdb.Database) -> None:
    assert db.path is not None
    db.compact()
    tx = db.transaction().__enter__()
    tx.add_nodes("N", [50])
    shutil.rmtree(db.path)
    with pytest.raises(StoreError, match=GONE):
        tx.__exit__(None, None, None)


def test_a_file_that_is_missing_is_still_damage(tmp_path: Path) -> None:
    with gdb.connect(tmp_path / "s") as db:
        _add(db)
        db.compact()
    (path,) = (tmp_path / "s").glob("seg-*")
    path.unlink()
    with (
        gdb.connect(tmp_path / "s") as db,
        pytest.raises(gdb.errors.CorruptStore, match=f"{path.name} is missing"),
    ):
        db.execute("MATCH (n:N) RETURN id(n)")


# ---- memory ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [MemoryError(), OSError(errno.ENOMEM, "Cannot allocate memory")])
def test_no_memory_in_a_transaction_drops_one_change(
    error: Exception, db: gdb.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none(*_: object, **__: object) -> object:
        raise error

    with db.transaction() as tx:
        tx.add_nodes("N", [10])
        with monkeypatch.context() as patch:
            patch.setattr(transaction, "_keys", none)
            with pytest.raises(OutOfBudget, match="no more memory"):
                tx.add_relationships("R", [1], [2])
            patch.setattr(transaction.Changes, "collect_vertices", none)
            with pytest.raises(OutOfBudget):
                tx.add_nodes("N", [11])
        tx.add_relationships("R", [1], [3])
    assert db.execute("MATCH (n) RETURN count(*)").scalar() == 5
    assert db.execute("MATCH ()-[:R]->(n) RETURN id(n)").fetchall() == [(3,)]


def test_no_memory_for_what_is_given(db: gdb.Database) -> None:
    class Huge:
        def __array__(self, *_: object, **__: object) -> object:
            raise MemoryError

    class Broken(Sequence[int]):
        def __len__(self) -> int:
            return 1

        def __getitem__(self, _: object) -> Never:
            raise KeyError("of the caller")

    with db.transaction() as tx:
        with pytest.raises(OutOfBudget):
            tx.add_nodes("N", Huge())  # type: ignore[arg-type]
        with pytest.raises(KeyError, match="of the caller"):
            tx.add_nodes("N", Broken())


def test_a_fault_in_a_transaction_is_ours(
    db: gdb.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transaction, "_keys", lambda *_: 1 // 0)
    with db.transaction() as tx, pytest.raises(InternalError, match="ZeroDivisionError"):
        tx.add_relationships("R", [1], [2])


_LITTLE = """
import resource, sys
import duckdb, sqlglot.expressions  # so that the query below goes through them
import numpy as np
import gdb
path, more = sys.argv[1], int(sys.argv[2])
db = gdb.connect(path)
with db.transaction() as tx:
    tx.add_nodes("N", np.arange(10), {"x": np.arange(10)})
    tx.add_relationships("R", [1], [2])
db.execute("MATCH (n) RETURN sum(n.x)").scalar()
status = open("/proc/self/status").read()
used = int(status.partition("VmSize:")[2].split()[0]) << 10
hard = resource.getrlimit(resource.RLIMIT_AS)[1]
resource.setrlimit(resource.RLIMIT_AS, (used + more, hard))
said = []
for size in (1 << 16, 1 << 20, 1 << 22, 1 << 24, 1 << 26):
    try:
        with db.transaction() as tx:
            tx.add_nodes("N", np.arange(10, 10 + size), {"x": np.arange(size)})
            tx.add_relationships("R", np.arange(10, 10 + size), np.full(size, 3))
        said.append(db.stats().vertices)
        break
    except MemoryError:  # OutOfBudget is one; or it was the array that is given
        said.append("none")
resource.setrlimit(resource.RLIMIT_AS, (hard, hard))
db.close()
db = gdb.connect(path)
db.check()
print(db.stats().vertices, *said)
"""


@pytest.mark.parametrize("more", [0, 8 << 20, 60 << 20])
def test_address_space_that_is_used_up_loses_nothing(more: int, tmp_path: Path) -> None:
    arguments = [sys.executable, "-c", _LITTLE, str(tmp_path / "s"), str(more)]
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    found, *said = done.stdout.split()
    assert said
    assert found == (said[-1] if said[-1].isdigit() else "10")


# ---- names -----------------------------------------------------------------------------------------------

HALF = "\ud800"


@pytest.mark.parametrize(
    "use",
    [
        lambda db, tx: tx.add_nodes("N", [70], id_space=HALF),
        lambda db, tx: tx.add_nodes(HALF, [70]),
        lambda db, tx: tx.add_nodes("N", [70], {HALF: [1]}),
        lambda db, tx: tx.add_nodes("N", [HALF], id_space="texts"),
        lambda db, tx: tx.add_nodes("N", [70], {"y": [HALF]}),
        lambda db, tx: tx.add_nodes("N", [70], {"y": [[HALF]]}),
        lambda db, tx: tx.set_nodes([1], {HALF: [1]}),
        lambda db, tx: tx.set_nodes([1], {"x": [1]}, id_space=HALF),
        lambda db, tx: tx.set_nodes([1], {"y": [HALF]}),
        lambda db, tx: tx.set_labels([1], HALF),
        lambda db, tx: tx.set_labels([1], "A", id_space=HALF),
        lambda db, tx: tx.remove_nodes([1], id_space=HALF),
        lambda db, tx: tx.add_relationships(HALF, [1], [2]),
        lambda db, tx: tx.add_relationships("R", [1], [2], id_space=("", HALF)),
        lambda db, tx: tx.add_relationships("R", [1], [2], {HALF: [1]}),
        lambda db, tx: tx.add_relationships("R", [1], [2], {"w": [HALF]}),
        lambda db, tx: tx.set_relationships(HALF, [1], [2], {"w": [1]}),
        lambda db, tx: tx.remove_relationships(HALF, [1], [2]),
        lambda db, tx: tx.remove_relationships("R", [1], [2], id_space=HALF),
        lambda db, tx: tx.execute("MATCH (n) RETURN $x", {"x": HALF}),
        lambda db, tx: tx.execute("MATCH (n) RETURN $x", {"x": [HALF]}),
        lambda db, tx: tx.execute("MATCH (n) RETURN $x", {HALF: 1, "x": 1}),
        lambda db, tx: tx.execute(f"MATCH (n:`{HALF}`) RETURN n"),
        lambda db, tx: tx.execute(f"MATCH (n) RETURN '{HALF}'"),
        lambda db, tx: tx.execute("RETURN '\\ud800'"),
        lambda db, tx: gdb.connect(f"/nowhere/{HALF}"),
        lambda db, tx: gdb.connect("/nowhere/\0"),
        lambda db, tx: db.backup(f"/nowhere/{HALF}"),
        lambda db, tx: db.export("/nowhere/\0"),
        lambda db, tx: db.load(f"/nowhere/{HALF}"),
        lambda db, tx: db.load(nodes={HALF: "/nowhere/x.csv"}),
        lambda db, tx: db.load("/nowhere/x.txt", type=HALF),
        lambda db, tx: db.load("/nowhere/x.txt", id_space=HALF),
    ],
)
def test_half_a_character_is_refused_at_once(
    use: Callable[[gdb.Database, Transaction], object], db: gdb.Database
) -> None:
    with db.transaction() as tx:
        try:
            use(db, tx)
        except InternalError:
            raise
        except (GdbError, OSError, ValueError) as error:
            str(error).encode()  # can be shown
        tx.add_nodes("N", [80])
    assert db.execute("MATCH (n) WHERE id(n) = 80 RETURN count(*)").scalar() == 1
    db.check()


@pytest.mark.parametrize("labels", [5, [5], [""], None])
def test_labels_that_are_no_texts(labels: object, db: gdb.Database) -> None:
    with db.transaction() as tx, pytest.raises(TypeProblem):
        tx.add_nodes(labels, [1000])  # type: ignore[arg-type]


def test_numbers_that_are_no_names(db: gdb.Database) -> None:
    with db.transaction() as tx:
        for use in (
            lambda: tx.add_nodes("N", [1000], id_space=5),  # type: ignore[arg-type]
            lambda: tx.remove_relationships(np.int64(5), [1], [2]),  # type: ignore[arg-type]
        ):
            with pytest.raises(TypeProblem):
                use()


def test_a_folder_where_none_can_be_made() -> None:
    with pytest.raises(StoreError, match="cannot be made"):
        gdb.connect("/proc/no/store")


@pytest.mark.parametrize(
    "text", ["RETURN '{}' AS x", "CREATE (:S {{x: '{}'}})", "RETURN 1 AS `{}`"]
)
def test_a_text_with_half_a_character(text: str) -> None:
    with gdb.connect() as db:
        db.execute("RETURN 'a' AS x")
        db.execute("RETURN 'b' AS x")  # statements of this shape are kept
        with pytest.raises(gdb.errors.SyntaxProblem, match="lone surrogate"):
            db.execute(text.format(HALF))
        assert db.execute("RETURN 'é😀' AS x").scalar() == "é😀"
