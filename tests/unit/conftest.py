"""Small stores that the tests of the public face share."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import gdb
from gdb import Database
from tests.support.graph_tables import GraphTables, read_tables, write_graph

PEOPLE = """:ID(Person),name,age:int,:LABEL
1,Ada,36,Person
2,Bob,,Person
3,Zoë,41,Person;Admin
4,Dan,20,Person
"""
KNOWS = """:START_ID(Person),:END_ID(Person),:TYPE,since:int,weight:float
1,2,KNOWS,1833,0.5
2,3,KNOWS,1834,
1,3,KNOWS,1835,2.0
3,4,KNOWS,,1.5
4,1,LIKES,,
"""


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "people.csv").write_text(PEOPLE, encoding="utf-8")
    (tmp_path / "knows.csv").write_text(KNOWS, encoding="utf-8")
    (tmp_path / "edges.txt").write_text(
        "# a comment\n1 2\n2 3\n3 1\n3 4\n4 4\n1 2\n", encoding="utf-8"
    )
    return tmp_path


@pytest.fixture(scope="session")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of both files, to be copied: a load takes a hundred times as long."""
    folder = tmp_path_factory.mktemp("loaded")
    (folder / "people.csv").write_text(PEOPLE, encoding="utf-8")
    (folder / "knows.csv").write_text(KNOWS, encoding="utf-8")
    with gdb.connect(folder / "graph.gdb") as db:
        db.load(nodes=folder / "people.csv", edges=folder / "knows.csv")
    return folder / "graph.gdb"


@pytest.fixture
def store(files: Path, loaded: Path) -> Path:
    return Path(shutil.copytree(loaded, files / "graph.gdb"))


@pytest.fixture(scope="session")
def tables(loaded: Path) -> GraphTables:
    with gdb.connect(loaded, read_only=True) as db:
        return read_tables(db._store.snapshot())


@pytest.fixture
def db(files: Path, tables: GraphTables) -> Iterator[Database]:
    with gdb.connect() as made:
        write_graph(made._store, tables)
        yield made
