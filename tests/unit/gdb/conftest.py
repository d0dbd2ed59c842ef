"""Small stores that the tests of the public face share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import gdb
from gdb import Database

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


@pytest.fixture
def db(files: Path) -> Iterator[Database]:
    with gdb.connect() as made:
        made.load(nodes=files / "people.csv", edges=files / "knows.csv")
        yield made


@pytest.fixture
def store(files: Path) -> Path:
    path = files / "graph.gdb"
    with gdb.connect(path) as db:
        db.load(nodes=files / "people.csv", edges=files / "knows.csv")
    return path
