"""What a program sees of the library where something is wrong: short tracebacks, places, hints, and warnings."""

from __future__ import annotations

import contextlib
import io
import subprocess
import sys
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

import gdb
from gdb import Database, errors
from gdb.api.boundary import WHOLE
from gdb.repl.main import main

FAULTY: list[Callable[[Database], object]] = [
    lambda db: db.execute("MATCH (n:Person RETURN n"),
    lambda db: db.execute("RETURN $x"),
    lambda db: db.execute("UNWIND [1, 0] AS x RETURN 1 / x"),
    lambda db: db.stream("RETRUN 1"),
    lambda db: db.explain("RETRUN 1"),
    lambda db: db.load("/nowhere/at/all.csv"),
    lambda db: db.execute("RETURN 1", timeout=-1),
    lambda db: gdb.connect("/nowhere/at/all", create=False),
]


def raised(run: Callable[[Database], object], db: Database) -> errors.GdbError:
    with pytest.raises(errors.GdbError) as caught:
        run(db)
    return caught.value


def frames_of(error: BaseException) -> list[str]:
    """The files of a traceback below this one."""
    files = [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
    return [name for name in files if name != __file__ and "_pytest" not in name]


@pytest.mark.parametrize("run", FAULTY)
def test_a_traceback_has_one_frame_of_the_library(
    run: Callable[[Database], object], db: Database
) -> None:
    error = raised(run, db)
    assert len(frames_of(error)) == 1
    assert error.__suppress_context__
    assert error.__cause__ is None


def test_a_transaction_shortens_its_tracebacks(db: Database) -> None:
    with db.transaction() as tx:
        error = raised(lambda _: tx.execute("RETRUN 1"), db)
        assert len(frames_of(error)) == 1
        error = raised(lambda _: tx.remove_nodes([99], id_space="Person"), db)
        assert len(frames_of(error)) == 1
        tx.rollback()


def test_the_whole_traceback_is_there_where_it_is_wanted(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(WHOLE, "whole")
    error = raised(FAULTY[0], db)
    assert any("parser.py" in name for name in frames_of(error))


def test_what_a_function_of_the_caller_raises_keeps_its_traceback(db: Database) -> None:
    def careless(x: object) -> list[tuple[int]]:
        raise LookupError("mine")

    db.register_procedure("my.careless(x :: INTEGER) :: (y :: INTEGER)", careless)
    error = raised(lambda db: db.execute("CALL my.careless(1) YIELD y RETURN y"), db)
    assert isinstance(error.__cause__, LookupError)
    names = [frame.name for frame in traceback.extract_tb(error.__cause__.__traceback__)]
    assert names[-1] == "careless"


def test_a_fault_of_ours_keeps_its_traceback(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("gdb.api.queries.pipeline.answer", broken)
    with pytest.raises(gdb.InternalError) as caught:
        db.execute("RETURN 1")
    assert len(frames_of(caught.value)) > 1
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_errors_have_line_column_and_hint(db: Database) -> None:
    error = raised(lambda db: db.execute("MATCH (n:Person)\nRETURN nn"), db)
    assert (error.line, error.column) == (2, 8)
    assert error.hint == error.cure == "Did you mean n?"
    other = gdb.GdbError("a message.")
    assert (other.line, other.column, other.hint) == (None, None, "")


def test_every_error_is_at_top_level() -> None:
    classes = {
        name
        for name, held in vars(errors).items()
        if isinstance(held, type) and issubclass(held, (errors.GdbError, Warning))
    }
    assert len(classes) > 20
    assert classes - {"PlacedError"} <= set(gdb.__all__)
    assert all(getattr(gdb, name) is getattr(errors, name) for name in classes - {"PlacedError"})


# ---- warnings --------------------------------------------------------------------------------------

SLIP = "MATCH (n:Persn) RETURN n"


def test_a_slip_is_a_warning_of_python_at_the_callers_line(db: Database) -> None:
    with pytest.warns(gdb.QueryWarning, match=r"Did you mean :Person\?") as caught:
        found = db.execute(SLIP)
    assert [str(one.message) for one in caught] == [*found.warnings]
    assert caught[0].filename == __file__


def test_streams_and_transactions_warn_as_well(db: Database) -> None:
    with pytest.warns(gdb.QueryWarning) as caught, db.stream(SLIP) as stream:
        assert [*stream] == []
    assert caught[0].filename == __file__
    with pytest.warns(gdb.QueryWarning) as caught, db.transaction() as tx:
        tx.execute(SLIP)
    assert caught[0].filename == __file__


def test_a_warning_is_shown_once_in_a_loop(db: Database) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.resetwarnings()
        for _ in range(3):
            db.execute(SLIP)
    assert len(caught) == 1


def test_a_program_can_make_warnings_errors(db: Database) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", gdb.QueryWarning)
        with pytest.raises(gdb.QueryWarning):
            db.execute(SLIP)


WRITES = "CREATE (:Order {n: %d}) WITH 1 AS x OPTIONAL MATCH (c:Customr) RETURN c"


def test_a_warning_that_is_an_error_comes_before_the_commit() -> None:
    with gdb.connect() as db, warnings.catch_warnings():
        warnings.simplefilter("error", gdb.QueryWarning)
        for number in range(3):  # the text of the same shape comes again
            with pytest.raises(gdb.QueryWarning, match="Customr") as raised:
                db.execute(WRITES % number)
            assert not hasattr(raised.value, "__notes__")
        assert db.execute("MATCH (n) RETURN count(*)").scalar() == 0
        warnings.simplefilter("ignore", gdb.QueryWarning)
        for number in range(3):
            assert db.execute(WRITES % number).warnings
        assert db.execute("MATCH (n) RETURN count(*)").scalar() == 3


def test_a_stream_notes_in_a_warning_that_it_is_committed() -> None:
    with gdb.connect() as db, warnings.catch_warnings():
        warnings.simplefilter("error", gdb.QueryWarning)
        with pytest.raises(gdb.QueryWarning) as raised:
            db.stream(WRITES % 1)
        assert "its changes are committed all the same" in raised.value.__notes__[0]
        assert db.execute("MATCH (n) RETURN count(*)").scalar() == 1


def test_a_writing_query_warns_once_and_at_the_callers_line() -> None:
    with gdb.connect() as db, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        db.execute(WRITES % 1)
        assert [one.filename for one in caught] == [__file__]


def test_skipped_lines_that_are_an_error_store_nothing(tmp_path: Path) -> None:
    file = tmp_path / "e.txt"
    file.write_text("1 2\nx\n3 4\n")
    with gdb.connect() as db, warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(gdb.LinesSkipped, match="1 of 3 lines"):
            db.load(file, format="snap", on_error="skip")
        assert db.execute("MATCH (n) RETURN count(*)").scalar() == 0


def test_a_query_without_slips_warns_of_nothing(db: Database) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        db.execute("MATCH (n:Person) RETURN n")


def test_the_shell_prints_a_warning_once(store: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "gdb", str(store), "-c", SLIP],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr.count("Persn") == 1
    assert done.stderr.startswith("warning: ")


def test_the_shell_leaves_the_filters_of_python_as_they_were(store: Path) -> None:
    before = [*warnings.filters]
    with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
        assert main([str(store), "-c", SLIP]) == 0
    assert warnings.filters == before
