"""Elements of documents whose values do not go with those before them are bad elements, and may be skipped."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import gdb
from gdb.errors import ImportFailed
from gdb.storage.importer.documents import collect

BIG = (1 << 53) + 1


def skipped(db: gdb.Database, tmp_path: Path, lines: list[str], **more: Any) -> dict[int, str]:
    """The numbers of the lines that are skipped, and why; the load itself succeeds."""
    (tmp_path / "a.jsonl").write_text("\n".join(lines), encoding="utf-8")
    with pytest.warns(gdb.errors.LinesSkipped):
        report = db.load(tmp_path / "a.jsonl", on_error="skip", **more)
    assert all(one.text and one.column is None for one in report.rejected)
    return {one.line: one.reason for one in report.rejected}


def records(*values: str) -> list[str]:
    return [f'{{"id": {i}, "x": {value}}}' for i, value in enumerate(values, 1)]


@pytest.mark.parametrize("piece", [1, 2, 1 << 16])
@pytest.mark.parametrize(
    ("values", "lines", "said"),
    [
        (
            ("1", '"t"', "3", "true", "null"),
            [2, 4],
            "node 2: 'x' is 't', which is none of the integers",
        ),
        (('"t"', "1", '"u"'), [2], "node 2: 'x' is 1, which is none of the strings before it"),
        (("1", "[1]", "2.5"), [2], "node 2: 'x' is [1], which is a list, and none is before it"),
        (
            ("[1]", "1", '["a"]', "[2]", '[2, "b"]'),
            [2, 3, 5],
            "which is no list as those before it",
        ),
        (("[1]", '[2, "b"]'), [2], "holds 'b', which is none of the integers before it"),
        (("0.5", "1", str(BIG)), [3], f"node 3: 'x' is {BIG}, which is an integer beyond 2**53"),
        (
            (str(BIG), "1", "0.5"),
            [3],
            "node 3: 'x' is 0.5, which is a float, beside an integer beyond",
        ),
    ],
)
def test_nodes(
    piece: int,
    values: tuple[str, ...],
    lines: list[int],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(collect, "_SOME", piece)
    with gdb.connect() as db:
        found = skipped(db, tmp_path, records(*values))
        assert sorted(found) == lines
        assert said in found[lines[0]]
        assert db.stats().vertices == len(values) - len(lines)
    with gdb.connect() as db, pytest.raises(ImportFailed) as failed:
        db.load(tmp_path / "a.jsonl")
    assert failed.value.line
    assert failed.value.cure


@pytest.mark.parametrize("piece", [1, 2, 1 << 16])
def test_relationships(piece: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collect, "_SOME", piece)
    ends = '"source": 1, "target": 1'
    lines = [
        '{"id": 1}',
        f'{{{ends}, "type": "A", "w": 1}}',
        f'{{{ends}, "type": "A", "w": "x"}}',
        f'{{{ends}, "type": "B", "w": "x"}}',
        f'{{{ends}, "type": "A", "w": 2.5}}',
    ]
    with gdb.connect() as db:
        found = skipped(db, tmp_path, lines)
        assert found == {3: "edge 1 -> 1: 'w' is 'x', which is none of the integers before it"}
        query = "MATCH ()-[r]->() RETURN type(r), r.w"
        assert sorted(db.execute(query).fetchall()) == [("A", 1.0), ("A", 2.5), ("B", "x")]


def test_a_label_is_shared_by_several_sets_of_labels(tmp_path: Path) -> None:
    lines = [
        '{"id": 1, "labels": ["A"], "x": 1}',
        '{"id": 2, "labels": ["A", "B"], "x": "t"}',
        '{"id": 3, "labels": ["B"], "x": "t"}',
        '{"id": 4, "x": "t"}',
    ]
    with gdb.connect() as db:
        assert list(skipped(db, tmp_path, lines)) == [2]
        # the line that is left out says nothing of its other labels
        assert db.execute("MATCH (n:B) RETURN n.x").fetchall() == [("t",)]


def test_values_of_the_graph_and_of_other_files(tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text("id:ID,y:string\n7,a\n")
    with gdb.connect() as db:
        db.execute("CREATE (:P {x: 1})")
        lines = [
            '{"id": 11, "labels": ["P"], "x": "t"}',
            '{"id": 12, "labels": ["P"], "x": 2, "y": 3}',
            '{"id": 13, "labels": ["P"], "x": 3, "y": "b"}',
        ]
        (tmp_path / "a.jsonl").write_text("\n".join(lines))
        with pytest.warns(gdb.errors.LinesSkipped):
            report = db.load(
                nodes={"P": [tmp_path / "p.csv", tmp_path / "a.jsonl"]}, on_error="skip"
            )
        assert [one.line for one in report.rejected] == [1, 2]
        assert "does not go with the values of type int64 in the graph" in report.rejected[0].reason
        assert db.execute("MATCH (n:P) RETURN count(*)").scalar() == 3


def test_more_than_may_be_skipped(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text("\n".join(records("1", '"a"', '"b"')))
    with (
        gdb.connect() as db,
        pytest.raises(ImportFailed, match="more than 1 lines are wrong") as failed,
    ):
        db.load(tmp_path / "a.jsonl", on_error="skip", max_errors=1)
    assert failed.value.line == 3


def test_gml(tmp_path: Path) -> None:
    (tmp_path / "a.gml").write_text('graph [\nnode [ id 1 x 1 ]\nnode [ id 2 x "a" ]\n]')
    with gdb.connect() as db, pytest.warns(gdb.errors.LinesSkipped):
        assert [one.line for one in db.load(tmp_path / "a.gml", on_error="skip").rejected] == [3]
