"""LOAD CSV: what is read, and lines that would be read as something else than they say."""

from __future__ import annotations

import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import gdb
from gdb.base import allowance
from gdb.errors import ArgumentProblem, Cancelled, QueryTimeout
from gdb.physical.rows import csv

HEADERS = "LOAD CSV WITH HEADERS FROM $file AS line RETURN line"
LISTS = "LOAD CSV FROM $file AS line RETURN line"


def answer(tmp_path: Path, query: str, text: str) -> list[object]:
    (tmp_path / "a.csv").write_text(text, encoding="utf-8")
    with gdb.connect() as db:
        found = db.execute(query, {"file": str(tmp_path / "a.csv")}).fetchall()
    return [line for (line,) in found]


@pytest.mark.parametrize(
    ("query", "text", "found"),
    [
        (LISTS, 'a,"b\n""c"""\n\n,d"e\n', [["a", 'b\n"c"'], [None, 'd"e']]),
        (LISTS, "a,a\n", [["a", "a"]]),
        (HEADERS, "a,b\n1,2\n3\n", [{"a": "1", "b": "2"}, {"a": "3", "b": None}]),
        (HEADERS, "a,,\n1,,\n2\n3,,,\n", [{"a": n, "": None} for n in "123"]),
        (HEADERS, "a,\n1,2\n", [{"a": "1", "": "2"}]),
        (HEADERS, "", []),
    ],
)
def test_lines(query: str, text: str, found: list[object], tmp_path: Path) -> None:
    assert answer(tmp_path, query, text) == found


@pytest.mark.parametrize(
    ("query", "text", "said"),
    [
        (LISTS, 'a,b\n1,"x\n2,y\n', "line 2: a quoted field is not closed."),
        (HEADERS, 'a,b\n1,"x\n2,y\n', "line 2: a quoted field is not closed."),
        (HEADERS, 'a,"b\n1,x\n', "line 1: a quoted field is not closed."),
        (LISTS, 'a\n"x\ny"\n"2"3\n', "line 4: text follows the closing quote of a field."),
        (LISTS, 'a\n"' + "x\n" * 200_000, "line 2: field larger than field limit (131072) (or a"),
        (HEADERS, "a,b,a\n1,2,3\n", "line 1: the header names 2 columns 'a'."),
        (
            HEADERS,
            "a,,\n1,,\n1,2,\n",
            "line 3: it has a field in a column that the header gives no",
        ),
        (HEADERS, "a,b\n1,2,3\n", "line 2: it has a field in a column that the header gives no"),
    ],
)
def test_bad_lines(query: str, text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(ArgumentProblem) as failed:
        answer(tmp_path, query, text)
    assert f"a.csv', {said}" in str(failed.value), str(failed.value)
    assert failed.value.cure or "limit" in said


@pytest.mark.parametrize("raised", [QueryTimeout, Cancelled])
def test_a_query_that_is_stopped_blames_no_file(
    raised: type[Exception], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.csv").write_text("a\n1\n")
    records = csv._records
    with gdb.connect() as db:

        def stopping(*given: Any) -> Any:
            if raised is Cancelled:
                db.interrupt()
            else:
                late = SimpleNamespace(monotonic=lambda: time.monotonic() + 1e6)
                monkeypatch.setattr(allowance, "time", late)
            return records(*given)

        monkeypatch.setattr(csv, "_records", stopping)
        with pytest.raises(raised, match=r"timeout of 1000 s|cancelled"):
            db.execute(LISTS, {"file": str(tmp_path / "a.csv")}, timeout=1000)
