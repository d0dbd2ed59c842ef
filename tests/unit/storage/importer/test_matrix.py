"""Matrix Market files: what they become, the kinds that are refused, and bad lines with their places."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from gdb.errors import ImportFailed, LinesSkipped
from gdb.storage.write.store import Store
from tests.support.loading import load

Entry = tuple[int | str, int | str, object]
GENERAL = "%%MatrixMarket matrix coordinate pattern general\n"
REAL = "%%MatrixMarket matrix coordinate real general\n"


@pytest.fixture
def store() -> Store:
    return Store.open(None, create=True)


def written(folder: Path, text: str, name: str = "a.mtx") -> Path:
    data = text.encode()
    (folder / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return folder / name


def entries_of(store: Store, type: str = "EDGE") -> list[Entry]:
    snapshot = store.snapshot()
    edge_type = next(t for t in snapshot.edge_types if t.name == type)
    _, sources, targets = snapshot.edge_ends(np.arange(edge_type.edge_count))
    column = snapshot.edge_column(type, "value")
    values = [None] * edge_type.edge_count if column is None else column.to_list()
    ends = snapshot.user_ids(sources), snapshot.user_ids(targets)
    return sorted(zip(*ends, values, strict=True), key=repr)


@pytest.mark.parametrize(
    ("field", "lines", "values"),
    [
        ("pattern", "1 2\n3 1\n", [None, None]),
        ("integer", "1 2 -7\n3 1 9223372036854775806\n", [-7, 9223372036854775806]),
        ("real", "1 2 1.5\n3 1 -2e-3\n", [1.5, -0.002]),
        ("real", "  1\t2   1\n\n% within\n+3 1 .5\n", [1.0, 0.5]),
        ("double", "1 2 nan\n3 1 inf\n", ["nan", float("inf")]),
    ],
)
def test_fields(store: Store, tmp_path: Path, field: str, lines: str, values: list[object]) -> None:
    text = f"%%MatrixMarket matrix coordinate {field} general\n% a comment\n%\n\n3 3 2\n" + lines
    report = load(store, written(tmp_path, text), label="Row")
    found = [("nan" if v != v else v) for _, _, v in entries_of(store)]
    assert [(a, b) for a, b, _ in entries_of(store)] == [(1, 2), (3, 1)]
    assert found == values
    assert (report.files[0].format, report.rows) == ("Matrix Market", 2)
    assert store.snapshot().labels == ("Row",)
    assert store.snapshot().edge_types[0].directed


def test_a_symmetric_matrix_is_undirected(store: Store, tmp_path: Path) -> None:
    text = "%%MatrixMarket MATRIX Coordinate Integer Symmetric\n3 3 3\n2 1 5\n3 1 6\n3 3 7\n"
    report = load(store, written(tmp_path, text))
    assert not store.snapshot().edge_types[0].directed
    ends = sorted((*sorted((a, b), key=repr), v) for a, b, v in entries_of(store))
    assert ends == [(1, 2, 5), (1, 3, 6), (3, 3, 7)]
    assert (report.edges, report.self_loops) == (3, 1)


def test_every_row_is_a_node(store: Store, tmp_path: Path) -> None:
    path = written(tmp_path, GENERAL + "5 5 1\n1 2\n")
    assert load(store, path).vertices == 5
    assert load(store, path, type="AGAIN").vertices == 0
    load(store, written(tmp_path, GENERAL + "5 5 0\n", "none.mtx"), id_space="other")
    assert store.snapshot().vertex_count == 10


def test_rows_and_columns_of_two_spaces(store: Store, tmp_path: Path) -> None:
    path = written(tmp_path, GENERAL + "2 3 1\n2 2\n")
    with pytest.raises(ImportFailed, match="2 rows and 3 columns") as caught:
        load(store, path)
    assert 'ends=("Row", "Column")' in caught.value.cure
    assert load(store, path, ends=("Row", "Column")).vertices == 5


@pytest.mark.parametrize("name", ["x.mtx", "x.mtx.gz", "x.txt"])
def test_detected_by_banner_or_name(store: Store, tmp_path: Path, name: str) -> None:
    report = load(store, written(tmp_path, GENERAL + "2 2 1\n1 2\n", name))
    assert report.files[0].format == "Matrix Market"
    if ".mtx" in name:
        with pytest.raises(ImportFailed, match="no banner"):
            load(store, written(tmp_path, "1 2\n2 1\n", name))
    else:
        assert load(store, written(tmp_path, "1 2\n", name)).files[0].format == "SNAP edge list"


REFUSED = [
    ("%%MatrixMarket matrix array real general\n2 2\n1\n", 1, "layout is 'array'"),
    ("%%MatrixMarket matrix coordinate complex general\n", 1, "field is 'complex'"),
    ("%%MatrixMarket matrix coordinate real skew-symmetric\n", 1, "symmetry is 'skew-symmetric'"),
    ("%%MatrixMarket matrix coordinate complex hermitian\n", 1, "complex"),
    ("%%MatrixMarket vector coordinate real general\n", 1, "object is 'vector'"),
    ("%%MatrixMarket matrix\n", 1, "no banner"),
    (GENERAL, 2, "no size line"),
    (GENERAL + "% c\n3 3\n", 3, "no size line"),
    (GENERAL + "3 3 -1\n", 2, "no size line"),
    (GENERAL + "99999999999999999 2 1\n", 2, "larger than any graph"),
    (GENERAL.replace("general", "symmetric") + "3 2 0\n", 2, "not square"),
    (GENERAL + "3 3 1\n0 1\n", 3, "row 0 is not between 1 and 3"),
    (GENERAL + "3 3 2\n1 1\n% c\n1 4\n", 5, "column 4 is not between 1 and 3"),
    (GENERAL + "3 3 2\n1 1\n1\n", 4, "1 columns instead of 2"),
    (GENERAL + "3 3 1\n1 2 5\n", 3, "3 columns instead of 2"),
    (GENERAL + "3 3 1\n1 x\n", 3, "'x' is not an integer"),
    (REAL + "3 3 1\n1 2\n", 3, "2 columns instead of 3"),
    (REAL + "3 3 1\n1.0 2 3\n", 3, "'1.0' is not an integer"),
    (REAL + "3 3 1\n1 2 1.0D+03\n", 3, "'1.0D+03' is not a number"),
    (REAL + "3 3 1\n1 2 1_0\n", 3, "'1_0' is not a number"),
    (REAL.replace("real", "integer") + "3 3 1\n1 2 1.5\n", 3, "'1.5' is not an integer"),
    (REAL.replace("real", "integer") + f"3 3 1\n1 2 {1 << 63}\n", 3, "does not fit 64 bits"),
    (GENERAL + "3 3 2\n1 2\n", None, "says 2 entries, it has 1"),
    (GENERAL + "3 3 1\n1 2\n2 1\n", None, "says 1 entries, it has 2"),
]


@pytest.mark.parametrize(("text", "line", "reason"), REFUSED)
def test_refused(store: Store, tmp_path: Path, text: str, line: int | None, reason: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(ImportFailed) as caught:
        load(store, path)
    error = caught.value
    assert (error.file, error.line) == (str(path), line)
    assert reason in error.reason
    assert error.cure
    if line is not None:
        assert error.text == (text.split("\n")[line - 1] if line <= text.count("\n") else "")
    assert store.snapshot().vertex_count == 0


@pytest.mark.parametrize("chunk", [9, 1 << 24])
def test_skipped_lines(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk: int
) -> None:
    """Bad ones that are no entries, ones outside of the matrix, and an end that is missing, in one file."""
    monkeypatch.setattr("gdb.storage.importer.number_lines.CHUNK", chunk)
    text = REAL + "4 4 6\n1 2 1\n9 1 1\nx\n2 3 2\n4 1 1\n2 9 0.5\n"
    load(store, written(tmp_path, "1 2\n2 3\n", "nodes.txt"), type="OTHER")
    report = load(
        store, written(tmp_path, text), on_error="skip", max_errors=4, missing_ends="refuse"
    )
    assert sorted((r.line, r.text) for r in report.rejected) == [
        (4, "9 1 1"),
        (5, "x"),
        (7, "4 1 1"),
        (8, "2 9 0.5"),
    ]
    assert entries_of(store) == [(1, 2, 1.0), (2, 3, 2.0)]
    assert (report.rows, report.edges) == (2, 2)
    with pytest.raises(ImportFailed, match="more than 3 lines"):
        load(store, written(tmp_path, text), on_error="skip", max_errors=3, missing_ends="refuse")


@pytest.mark.parametrize(
    ("field", "line", "word"),
    [
        ("pattern", "1 -", "-"),
        ("integer", "1 2 -", "-"),
        ("integer", "1 + 2", "+"),
        ("integer", "1 2 3-4", "3-4"),
        ("real", "1 2 -", "-"),
        ("real", "1 2 1.5.5", "1.5.5"),
        ("real", "1 2 1-2", "1-2"),
    ],
)
def test_words_that_numpy_would_join_or_part(
    store: Store, tmp_path: Path, field: str, line: str, word: str
) -> None:
    good = {"pattern": "3 1", "integer": "3 1 4", "real": "3 1 4"}[field]
    text = f"%%MatrixMarket matrix coordinate {field} general\n3 3 3\n{line}\n{good}\n{line}\n"
    with pytest.warns(LinesSkipped):
        report = load(store, written(tmp_path, text), label="Row", on_error="skip")
    assert [(one.line, one.text) for one in report.rejected] == [(3, line), (5, line)]
    assert all(one.reason.startswith(repr(word)) for one in report.rejected)
    assert [ends for *ends, _ in entries_of(store)] == [[3, 1]]
