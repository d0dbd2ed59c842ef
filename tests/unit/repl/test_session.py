"""What the shell prints of a query."""

from __future__ import annotations

import io
from collections.abc import Iterator

import pytest

import gdb
from gdb.repl.format import Format
from gdb.repl.session import Session

CREATE = "CREATE (a:A {x: 1})-[:R]->(:B)"
DONE = "Created 2 nodes and 1 relationship, set 1 property, added 2 labels.\n"


@pytest.fixture
def session() -> Iterator[Session]:
    with gdb.connect() as db:
        yield Session(db, io.StringIO(), io.StringIO())


def printed(session: Session, text: str) -> tuple[str, str]:
    """What goes to `out`, and what to `err`."""
    session.out, session.err = io.StringIO(), io.StringIO()
    session.query(text)
    return session.out.getvalue(), session.err.getvalue()


def test_a_query_that_only_writes_says_what_it_did(session: Session) -> None:
    assert printed(session, CREATE) == (DONE, "")
    missing = "warning: line 1, column 10: no node has the label :C.\n"
    assert printed(session, "MATCH (n:C) DELETE n") == ("Nothing changed.\n", missing)


def test_a_query_that_writes_and_returns_does_both(session: Session) -> None:
    assert printed(session, f"{CREATE} RETURN a.x")[0] == f"a.x\n---\n  1\n{DONE}"


def test_a_query_that_reads_says_nothing_of_changes(session: Session) -> None:
    assert printed(session, "UNWIND [] AS x RETURN x") == ("x\n-\n", "")


@pytest.mark.parametrize("format", [Format.CSV, Format.JSON, Format.JSONL])
def test_what_programs_read_is_rows_alone(session: Session, format: Format) -> None:
    session.format = format
    assert printed(session, CREATE) == ("", "")
    session.interactive = True
    assert printed(session, CREATE) == ("", DONE)
