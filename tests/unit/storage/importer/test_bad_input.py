"""What is wrong with an input is reported with file, line, text, reason and cure, and the store stays as it was."""

from __future__ import annotations

import csv
import gzip
import os
import random
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gdb.errors import Cancelled, ImportFailed, LinesSkipped, QueryTimeout
from gdb.storage.importer import LoadProgress
from gdb.storage.write.store import Store
from tests.support.loading import load

Load = Callable[..., ImportFailed]
PEOPLE = b"id:ID(P),name,age:int\n1,Ann,30\n2,Bob,\n3,Cid,41\n"


@pytest.fixture
def store() -> Store:
    return Store.open(None, create=True)


@pytest.fixture
def refused(store: Store) -> Load:
    """Load what must fail into a store that holds something; gives the error."""

    def run(*args: object, **options: object) -> ImportFailed:
        before = store.snapshot()
        with pytest.raises(ImportFailed) as caught:
            load(store, *args, **options)  # type: ignore[arg-type]
        assert store.snapshot() is before
        assert caught.value.cure
        return caught.value

    return run


def written(folder: Path, data: bytes, name: str = "input.csv") -> Path:
    (folder / name).write_bytes(data)
    return folder / name


SNAP = [
    (b"1 2\n3 4 5\n", 2, "3 4 5", "3 columns"),
    (b"1 2\n3\n", 2, "3", "1 columns"),
    (b"# c\n1 2\n\n3 x\n", 4, "3 x", "'x' is not an integer"),
    (b"1 2\n1.5 2\n", 2, "1.5 2", "'1.5'"),
    (b"1 2\n1_0 2\n", 2, "1_0 2", "'1_0'"),
    (b"1 2\n9223372036854775808 2\n", 2, "9223372036854775808 2", "64 bits"),
    (b"1 2\r\n3 4\r\n5 -9223372036854775809\r\n", 3, "5 -9223372036854775809", "64 bits"),
    (b"1 2\n- 3\n- 4\n", 2, "- 3", "'-' is not an integer"),
    (b"- 3\n", 1, "- 3", "'-' is not an integer"),
    (b"1 2\n1 +\n", 2, "1 +", "'+' is not an integer"),
    (b"1 3-4\n5-6 7\n", 1, "1 3-4", "'3-4' is not an integer"),
    (b"1 2\n3 \xff\n", 2, "3 �", "is not an integer"),
]


@pytest.mark.parametrize(("data", "line", "text", "reason"), SNAP)
def test_snap_lines(
    refused: Load, tmp_path: Path, data: bytes, line: int, text: str, reason: str
) -> None:
    path = written(tmp_path, data, "a.txt")
    error = refused(path, format="snap")
    assert (error.file, error.line, error.text) == (str(path), line, text)
    assert reason in error.reason


CSV_NODES = [
    (b"id,n\n1,a\n2\n", 3, "2", "Expected Number of Columns"),
    (b"id,n\n1,a\n2,b,c\n", 3, "2,b,c", "Expected Number of Columns"),
    (b"id,n\r\n1,a\r\n2\r\n", 3, "2", "Expected Number of Columns"),
    (b'id,n\n1,"a\nb"\n2\n', 4, "2", "Expected Number of Columns"),
    (b"\n\nid,n\n\n1,a\n\n2\n", 7, "2", "Expected Number of Columns"),
    (b"id,age:int\n1,30\n2,x\n", 3, "2,x", "'age' is declared int64, not 'x'"),
    (b'id,t,age:int\n1,"a\nb\n",30\n\n2,5" pipe,1.5\n', 6, '2,5" pipe,1.5', "not '1.5'"),
    (b"id,age:int\n1,9223372036854775808\n", 2, "1,9223372036854775808", "int64"),
    (b"id,age:int\n1,1_000\n", 2, "1,1_000", "int64"),
    (b"id,w:float\n1,1e999\n", 2, "1,1e999", "float64"),
    (b"id,b:bool\n1,perhaps\n", 2, "1,perhaps", "bool"),
    (b"id,d:date\n1,\n2,2001-02-29\n", 3, "2,2001-02-29", "'d' is declared date, not '2001-02-29'"),
    (b"id,d:date\n1,0000-01-01\n", 2, "1,0000-01-01", "date"),
    (b"id,d:date\n1,20010203\n", 2, "1,20010203", "date"),
    (b"id,t:datetime\n1,2000-01-01T24:00\n", 2, "1,2000-01-01T24:00", "declared datetime"),
    (
        b"id,t:datetime\n1,2000-01-01T10:00:00.1234567\n",
        2,
        "1,2000-01-01T10:00:00.1234567",
        "not '",
    ),
    (b"id,t:localdatetime\n1,0001-01-01T00:00+01\n", 2, "1,0001-01-01T00:00+01", "datetime"),
    (
        b"id,t:datetime\n1,2000-01-01T10:00[Europe/Paris]\n",
        2,
        "1,2000-01-01T10:00[Europe/Paris]",
        "not",
    ),
    (b"id,x:int[]\n1,1;2\n2,1;;2\n", 3, "2,1;;2", "'x' is declared int64[], not '1;;2'"),
    (b"id,x:date[]\n1,2000-01-01;\n", 2, "1,2000-01-01;", "date[]"),
    (b"id,l:duration\n1,P1M\n", 2, "1,P1M", "'l' is declared duration, not 'P1M'"),
    (b"id,l:duration\n1,P1DT\n", 2, "1,P1DT", "duration"),
    (b"id,l:duration\n1,PT9223372036854.775808S\n", 2, "1,PT9223372036854.775808S", "duration"),
    (
        b"id,t:datetime{timezone:Europe/Paris}\n1,\n",
        1,
        "id,t:datetime{timezone:Europe/Paris}",
        "time zone",
    ),
    (b"id:ID{id-type:int},n\n1,a\nx,b\n", 3, "x,b", "'id' is declared int64, not 'x'"),
    (b"id,n\n1,a\n,b\n", 3, ",b", "the id is empty"),
    (b"id,n\n1,a\n2,b\n1,c\n", 4, "1,c", "node id 1 occurs twice"),
    (b"id,n\nx,a\ny,b\nx,c\n", 4, "x,c", "node id 'x' occurs twice"),
    (b'id,n\n1,a\n2,"b\n3,c\n', 3, '2,"b', "a quoted text that begins here"),
    (b"id,n\n1,a\n2,\xff\n", 3, "2,�", "is not UTF-8"),
    (b"id,n\n1,\xed\xa0\x80\n", 2, "1,���", "is not UTF-8"),
]


@pytest.mark.parametrize(("data", "line", "text", "reason"), CSV_NODES)
def test_csv_lines(
    refused: Load, tmp_path: Path, data: bytes, line: int, text: str, reason: str
) -> None:
    path = written(tmp_path, data)
    error = refused(nodes=path)
    assert (error.file, error.line, error.text) == (str(path), line, text)
    assert reason in error.reason


@pytest.mark.parametrize("data", [b"\xff", b"\xed\xa0\x80"])
def test_not_utf8_beyond_the_first_64_kib(refused: Load, tmp_path: Path, data: bytes) -> None:
    rows = b"".join(b"%d,name%d\n" % (i, i) for i in range(20_000))
    error = refused(nodes=written(tmp_path, b"id,n\n" + rows + b"x," + data + b"\n"))
    assert error.line == 20_002
    assert "unicode" in error.reason
    assert "UTF-8" in error.cure


def test_a_value_of_another_type_far_below(refused: Load, tmp_path: Path) -> None:
    rows = b"".join(b'%d,"a\nb"\n' % i for i in range(50_000))
    error = refused(nodes=written(tmp_path, b"id:ID{id-type:long},n\n" + rows + b"x,y\n"))
    assert (error.line, error.text) == (100_002, "x,y")


GRAPH = [
    (b"t 2 1\nv 0 1 1\nv 1 1\nv 1 1\ne 0 1\n", 4, "vertex 1 occurs twice"),
    (b"t 2 1\nv 0 1\nv 1 1\ne 0 7\n", 4, "vertex 7 has no v line"),
    (b"t 2 1\nv 0\n", 2, "has 1 numbers"),
    (b"t 2 1\nv 0 x\n", 2, "'x' is not an integer"),
    (b"t 2 1\nv 99999999999999999999 1\n", 2, "64 bits"),
    (b"t 2 1\nv 0 1\nw 1 1\n", 3, "no t, v or e line"),
    (b"t 2 1\nt 2 1\n", 2, "second t line"),
    (b"t 2 1\nv 0 1\nv 1 1\ne 0 1 2 3\n", 4, "has 4 numbers"),
]


@pytest.mark.parametrize(("data", "line", "reason"), GRAPH)
def test_graph_lines(refused: Load, tmp_path: Path, data: bytes, line: int, reason: str) -> None:
    path = written(tmp_path, data, "a.graph")
    error = refused(path)
    assert (error.file, error.line) == (str(path), line)
    assert error.text == data.decode().split("\n")[line - 1]
    assert reason in error.reason


def test_a_graph_of_another_size_than_it_says(refused: Load, tmp_path: Path) -> None:
    assert "t line says" in refused(written(tmp_path, b"t 3 1\nv 0 1\nv 1 1\ne 0 1\n")).reason


@pytest.mark.parametrize("way", ["source", "nodes", "edges"])
@pytest.mark.parametrize(
    "data",
    [b"", b" \n\t\n\r\n", b"\0\1\2\3" * 100, random.Random(5).randbytes(100_000)],
    ids=["nothing", "blank", "zeros", "noise"],
)
def test_no_table(refused: Load, tmp_path: Path, way: str, data: bytes) -> None:
    path = written(tmp_path, data)
    error = refused(**{way: path})
    assert error.file == str(path)


@pytest.mark.parametrize("way", ["source", "nodes", "edges"])
def test_no_file(refused: Load, tmp_path: Path, way: str) -> None:
    assert "is a directory" in refused(**{way: tmp_path}).reason
    assert "does not exist" in refused(**{way: tmp_path / "absent"}).reason
    assert "cannot be opened" in refused(**{way: tmp_path / ("x" * 5000)}).reason
    assert "cannot be opened" in refused(**{way: "a\0b"}).reason
    assert "is no path" in refused(**{way: [7]}).reason
    os.mkfifo(tmp_path / "pipe")
    assert "no plain file" in refused(**{way: tmp_path / "pipe"}).reason
    assert "no file was given" in refused().reason


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read(refused: Load, tmp_path: Path) -> None:
    path = written(tmp_path, b"1 2\n")
    path.chmod(0)
    assert "may not be read" in refused(path).reason


@pytest.mark.parametrize("name", ["a.txt.gz", "a.csv.gz", "a.graph.gz"])
@pytest.mark.parametrize("size", [100, 200_000])
def test_a_cut_archive(refused: Load, tmp_path: Path, name: str, size: int) -> None:
    line, first = {
        "a.txt.gz": (b"%d %d\n", b"# list\n"),
        "a.csv.gz": (b"%d,%d\n", b"id,n\n"),
        "a.graph.gz": (b"v %d %d\n", b"t 5 5\n"),
    }[name]
    data = gzip.compress(first + b"".join(line % (i, i * 7919) for i in range(size)))
    error = refused(written(tmp_path, data[: -len(data) // 3], name), label="A")
    assert "cannot be decompressed" in error.reason


def test_an_end_that_does_not_exist(refused: Load, store: Store, tmp_path: Path) -> None:
    people = written(tmp_path, PEOPLE, "people.csv")
    knows = written(tmp_path, b":START_ID(P),:END_ID(P)\n1,2\n\n1,9\n", "knows.csv")
    error = refused(nodes=people, edges=knows)
    assert (error.file, error.line, error.text) == (str(knows), 4, "1,9")
    assert "no node with id 9 in id space 'P'" in error.reason
    assert 'missing_ends="create"' in error.cure
    report = load(store, nodes=people, edges=knows, missing_ends="create")
    assert (report.vertices, report.edges) == (4, 2)


def test_an_end_of_an_edge_list_that_does_not_exist(refused: Load, tmp_path: Path) -> None:
    error = refused(written(tmp_path, b"# c\n\n5 6\n"), missing_ends="refuse")
    assert (error.line, error.text) == (3, "5 6")


def test_an_end_of_another_type_than_the_ids(refused: Load, tmp_path: Path) -> None:
    people = written(tmp_path, PEOPLE, "people.csv")
    error = refused(nodes=people, edges=written(tmp_path, b":START_ID(P),:END_ID(P)\n1,2\nx,2\n"))
    assert (error.line, error.text) == (3, "x,2")
    assert "the ids of id space 'P' are numbers" in error.reason


def test_mixed_id_types(refused: Load, store: Store, tmp_path: Path) -> None:
    one, two = written(tmp_path, b"id\n1\n2\n", "1.csv"), written(tmp_path, b"id\n3\nx\n", "2.csv")
    error = refused(nodes=[one, two])
    assert (error.file, error.line, error.text) == (str(two), 3, "x")
    load(store, nodes=[two, one])  # the first says that ids are text
    assert store.snapshot().find("1") is not None


def test_an_id_that_stands_in_two_files(refused: Load, tmp_path: Path) -> None:
    one = written(tmp_path, b"id\n1\n2\n")
    error = refused(nodes=[one, one])
    assert (error.line, error.text, error.reason) == (2, "1", "a node with id 1 is there already")


def test_a_property_of_two_types(refused: Load, store: Store, tmp_path: Path) -> None:
    one = written(tmp_path, b"id,x\n1,5\n", "1.csv")
    two = written(tmp_path, b"id,x\n2,five\n", "2.csv")
    error = refused(nodes={"A": [one, two]})
    assert (error.file, error.line, error.text) == (str(two), 2, "2,five")
    assert error.reason == f"property 'x' of :A is int64 in {one}, and string here: 'five'"
    load(store, nodes={"A": one, "B": two})  # another label is another property
    error = refused(nodes={"A": written(tmp_path, b"id,x\n3,six\n")})
    assert "in the graph already" in error.reason


def test_a_type_with_the_other_directedness(refused: Load, store: Store, tmp_path: Path) -> None:
    path = written(tmp_path, b"1 2\n")
    load(store, path, type="T")
    error = refused(path, type="T", directed=False)
    assert "directed in this graph already" in error.reason


@pytest.mark.parametrize(
    ("data", "options", "reason"),
    [
        (b"1,2,3\n", {}, "has no header line"),
        (b"id,a,a\n1,2,3\n", {}, "names the column 'a' twice"),
        (b"a:ID,b:ID\n1,2\n", {}, "names the column ':ID' twice"),
        (b"1,2,3\n", {"columns": ["id", "x"]}, "has 3 columns, 2 are named"),
        (b"id,a\n1,2\n", {"delimiter": "::"}, "is not one character"),
    ],
)
def test_headers(
    refused: Load, tmp_path: Path, data: bytes, options: dict[str, object], reason: str
) -> None:
    error = refused(nodes=written(tmp_path, data), **options)
    assert reason in error.reason
    assert error.line == 1


def test_an_edge_file_with_one_end(refused: Load, tmp_path: Path) -> None:
    assert "has no END_ID" in refused(edges=written(tmp_path, b":START_ID,x\n1,2\n")).reason
    assert "has one column" in refused(edges=written(tmp_path, b"a\n1\n")).reason


@pytest.mark.parametrize("options", [{"label": "\ud800"}, {"label": "A", "id_space": "\ud800"}])
def test_a_name_that_is_no_unicode(
    refused: Load, tmp_path: Path, options: dict[str, object]
) -> None:
    assert "Unicode" in refused(nodes=written(tmp_path, b"id\n1\n"), **options).reason


# ---- leaving bad lines out ----------------------------------------------------------------------


def test_skipped_lines_are_counted_and_listed(store: Store, tmp_path: Path) -> None:
    people = written(
        tmp_path,
        b'id:ID(P),name,age:int\n1,"A\nnn",30\n2,Bob\n3,Cid,x\n\n4,D,5\n,E,6\n4,F,7\n5,G,8\n',
        "people.csv",
    )
    knows = written(tmp_path, b":START_ID(P),:END_ID(P)\n1,4\n1\n4,9\n5,1\n8,9\n", "knows.csv")
    with pytest.warns(LinesSkipped, match="4 of 7 lines"):
        report = load(store, nodes=people, edges=knows, on_error="skip")
    found = [(Path(r.file).name, r.line, r.column, r.text) for r in report.rejected]
    assert sorted(found, key=lambda x: x[:2]) == [
        ("knows.csv", 3, None, "1"),
        ("knows.csv", 4, 2, "4,9"),
        ("knows.csv", 6, 1, "8,9"),
        ("people.csv", 4, None, "2,Bob"),
        ("people.csv", 5, 3, "3,Cid,x"),
        ("people.csv", 8, 1, ",E,6"),
        ("people.csv", 9, 1, "4,F,7"),
    ]
    assert [f.rows for f in report.files] == [3, 2]
    assert (report.vertices, report.edges) == (3, 2)
    assert any("4 of 7 lines (57.1 %) were skipped" in w for w in report.warnings)
    assert "WARNING" in str(report)


@pytest.mark.parametrize("name", ["a.txt", "a.csv"])
def test_too_many_bad_lines(refused: Load, store: Store, tmp_path: Path, name: str) -> None:
    data = {"a.txt": b"1 2\n1 2\n1 2\n1 2\nx\ny\nz\n", "a.csv": b"s,t\n1,2\nx\ny\nz\n"}[name]
    path = written(tmp_path, data, name)
    error = refused(path, on_error="skip", max_errors=2)
    assert "more than 2 lines are wrong" in error.reason
    assert error.text == "z"
    assert len(load(store, path, on_error="skip", max_errors=3).rejected) == 3


FORMATS = {"a.txt": "snap", "a.graph": "graph", "a.mtx": "mtx"}


def test_few_bad_lines_are_no_warning(store: Store, tmp_path: Path) -> None:
    data = b"".join(b"%d %d\n" % (i, i + 1) for i in range(1000)) + b"bad\n"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        report = load(store, written(tmp_path, data), on_error="skip")
    assert len(report.rejected) == 1
    assert not report.warnings


@pytest.mark.parametrize(
    ("name", "data", "bad"),
    [
        ("a.txt", b"1 2\n1 x\n1\n", [(2, 2), (3, None)]),
        ("a.graph", b"t 3 1\nv 1 1\nv x 1\ne 1 7\nq\n", [(3, 2), (4, 3), (5, 1)]),
        (
            "a.mtx",
            b"%%MatrixMarket matrix coordinate real general\n3 3 4\n1 2 x\n1 9 1\n1\n1 1 1\n",
            [(3, 3), (4, 2), (5, None)],
        ),
    ],
)
def test_columns_of_skipped_lines(
    store: Store, tmp_path: Path, name: str, data: bytes, bad: list[tuple[int, int | None]]
) -> None:
    report = load(store, written(tmp_path, data, name), on_error="skip", format=FORMATS[name])
    assert [(r.line, r.column) for r in report.rejected] == bad


def test_skipped_lines_in_a_file(refused: Load, store: Store, tmp_path: Path) -> None:
    path = written(tmp_path, b'source,target,w:int\n1,2,3\n1,"a\nb",4\n1,2,"x,\xc3\xa4"\n1\n')
    columns = [":START_ID", ":END_ID{id-type:long}", "w:int"]
    options = {"columns": columns, "header": True, "edges": path, "on_error": "skip"}
    for failing in (False, True):  # the file is written also where the import fails
        target = tmp_path / f"bad{failing}.csv"
        if failing:
            assert (
                "more than 2 lines" in refused(**options, max_errors=2, rejects_file=target).reason
            )
        else:
            load(store, **options, rejects_file=target)  # type: ignore[arg-type]
        with target.open(newline="", encoding="utf-8") as stream:
            head, *rows = csv.reader(stream)
        assert head == ["file", "line", "column", "reason", "text"]
        found = {(file, line, column, text) for file, line, column, _, text in rows}
        assert found <= {
            (str(path), "3", "2", '1,"a\nb",4'),
            (str(path), "5", "3", '1,2,"x,\N{LATIN SMALL LETTER A WITH DIAERESIS}"'),
            (str(path), "6", "", "1"),
        }
        assert len(rows) == len(found) == (2 if failing else 3)
        assert all(row[3] for row in rows)


def test_a_rejects_file_that_cannot_be(refused: Load, tmp_path: Path) -> None:
    path = written(tmp_path, b"1 2\n", "a.txt")
    assert "is there already" in refused(path, on_error="skip", rejects_file=path).reason
    assert path.read_bytes() == b"1 2\n"
    absent = tmp_path / "absent" / "bad.csv"
    assert "cannot be written" in refused(path, on_error="skip", rejects_file=absent).reason
    assert 'on_error="skip"' in refused(path, rejects_file=tmp_path / "bad.csv").cure
    assert not (tmp_path / "bad.csv").exists()


@pytest.mark.parametrize("error", [QueryTimeout("late"), OSError("of something else")])
def test_what_ends_an_import_is_no_fault_of_the_rejects_file(
    error: Exception, store: Store, tmp_path: Path
) -> None:
    path, target = written(tmp_path, b"1 2\n", "a.txt"), tmp_path / "bad.csv"

    def progress(_: LoadProgress) -> None:
        raise error

    with pytest.raises(type(error)) as raised:
        load(store, path, on_error="skip", rejects_file=target, progress=progress)
    assert raised.value is error


@pytest.mark.parametrize("data", [b"1 2\n", b"source,target\n1,2\n", b"t 1 0\nv 0 1\n"])
def test_a_cancelled_import(store: Store, tmp_path: Path, data: bytes) -> None:
    cancel = threading.Event()
    cancel.set()
    before = store.snapshot()
    with pytest.raises(Cancelled):
        load(store, written(tmp_path, data), cancel=cancel)
    assert store.snapshot() is before


def test_cancelled_at_each_step(store: Store, tmp_path: Path) -> None:
    path = written(tmp_path, b"source,target,w\n1,2,3\n")
    names: list[str] = []
    load(Store.open(None, create=True), path, progress=lambda at: names.append(at.step))
    assert len(names) > 2
    before = store.snapshot()
    for last in range(1, len(names)):
        cancel, seen = threading.Event(), iter(range(1, last))

        def progress(
            at: LoadProgress, seen: Iterator[int] = seen, cancel: threading.Event = cancel
        ) -> None:
            if next(seen, None) is None:
                cancel.set()

        with pytest.raises(Cancelled):
            load(store, path, progress=progress, cancel=cancel)
        assert store.snapshot() is before


def test_a_warning_made_an_error_stores_nothing(store: Store, tmp_path: Path) -> None:
    before = store.snapshot()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(LinesSkipped):
            load(store, written(tmp_path, b"1 2\nx\n"), format="snap", on_error="skip")
    assert store.snapshot() is before


@pytest.mark.parametrize(
    ("nodes", "told"),
    [
        ({"P": {"id": [1, 2]}}, "a dict of 'id' is no table.*tx.add_relationships"),
        ({"P": 5}, "5 is no path"),
    ],
)
def test_what_is_no_table(store: Store, nodes: Any, told: str) -> None:
    with pytest.raises(ImportFailed, match=told):
        load(store, nodes=nodes)
