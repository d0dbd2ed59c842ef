"""Text that is no graph file is refused, and a store made for a load that fails does not stay."""

from __future__ import annotations

from pathlib import Path

import pytest

import gdb
from gdb.errors import ImportFailed
from gdb.repl import main

OTHERS = {
    "CREATE (a:Person {name: 'Ada'});\nMATCH (a) RETURN a;\n": "statements of Cypher",
    "// people\nCREATE (a)\n": "statements of Cypher",
    "\n\nmatch (n) detach delete n\n": "statements of Cypher",
    "UNWIND $rows AS r CREATE (n) SET n = r\n": "statements of Cypher",
    "UNWIND [1, 2] AS x RETURN x\n": "statements of Cypher",
    '<?xml version="1.0"?>\n<html><body/></html>\n': "XML",
    "<svg/>\n": "XML",
    "[1, 2]\n": "JSON",
}


@pytest.mark.parametrize("text", OTHERS)
@pytest.mark.parametrize("side", ["source", "nodes", "edges"])
def test_other_files_are_refused(text: str, side: str, tmp_path: Path) -> None:
    file = tmp_path / "file.txt"
    file.write_text(text, encoding="utf-8")
    with gdb.connect() as db, pytest.raises(ImportFailed, match=OTHERS[text]) as failed:
        db.load(**{side: file})  # type: ignore[arg-type]
    assert "expected is an edge list, a table" in str(failed.value)
    assert failed.value.file == str(file)


@pytest.mark.parametrize(
    "header",
    ["id;match", "match id;name", "return date,amount (USD)", "create,merge", "with\tcall(x)"],
)
def test_headers_with_words_of_cypher_are_headers(header: str, tmp_path: Path) -> None:
    file = tmp_path / "n.csv"
    delimiter = next(one for one in ";\t," if one in header)
    file.write_text(f"{header}\n1{delimiter}2\n", encoding="utf-8")
    with gdb.connect() as db:
        assert db.load(nodes={"N": file}).vertices == 1


def test_it_is_a_table_where_the_caller_says_so(tmp_path: Path) -> None:
    file = tmp_path / "n.csv"
    file.write_text("create (x),v\n1,2\n", encoding="utf-8")
    with gdb.connect() as db:
        with pytest.raises(ImportFailed, match="header=True"):
            db.load(nodes={"N": file})
        assert db.load(nodes={"N": file}, header=True).vertices == 1


def test_a_failed_load_leaves_no_new_store(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = tmp_path / "bad.cypher"
    bad.write_text("<html/>\n", encoding="utf-8")
    store = tmp_path / "new.gdb"
    assert main.main(["load", str(store), str(bad)]) == 1
    assert "looks like XML" in capsys.readouterr().err
    assert not store.exists()
    store.mkdir()
    assert main.main(["load", str(store), str(bad)]) == 1
    assert list(store.iterdir()) == []


def test_a_failed_load_leaves_a_store_that_was_there(tmp_path: Path) -> None:
    bad = tmp_path / "bad.cypher"
    bad.write_text("<html/>\n", encoding="utf-8")
    store = tmp_path / "old.gdb"
    gdb.connect(store).close()
    assert main.main(["load", str(store), str(bad)]) == 1
    gdb.connect(store, create=False).close()
    with gdb.connect(store) as db:
        db.execute("CREATE (:N)")
    assert main.main(["load", str(store), str(bad)]) == 1
    with gdb.connect(store, create=False) as db:
        assert db.execute("MATCH (n) RETURN count(*)").scalar() == 1
