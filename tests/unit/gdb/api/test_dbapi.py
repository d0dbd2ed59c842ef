"""PEP 249: cursors, and the programs that know nothing else."""

from __future__ import annotations

from datetime import date, datetime
from pathlib import Path

import pytest

import gdb
from gdb import Database, dbapi, errors

ROWS = "MATCH (a:Person) RETURN a.name AS name, a.age AS age ORDER BY name"


def test_the_module_says_what_it_is() -> None:
    assert (dbapi.apilevel, dbapi.threadsafety, dbapi.paramstyle) == ("2.0", 2, "named")
    for name in ("Interface", "Database", "Data", "Operational", "Integrity", "Internal"):
        assert issubclass(getattr(dbapi, f"{name}Error"), dbapi.Error)
    assert issubclass(dbapi.ProgrammingError, dbapi.DatabaseError)
    assert issubclass(dbapi.NotSupportedError, dbapi.DatabaseError)
    assert issubclass(dbapi.Warning, Exception)
    assert dbapi.Connection.ProgrammingError is dbapi.ProgrammingError


def test_constructors_and_type_objects(db: Database) -> None:
    ticks = datetime(2020, 1, 2, 3, 4, 5).timestamp()
    values = {
        "a": dbapi.Date(2020, 1, 2),
        "b": dbapi.DateFromTicks(ticks),
        "c": dbapi.Timestamp(2020, 1, 2, 3, 4, 5),
        "d": dbapi.TimestampFromTicks(ticks),
        "e": dbapi.Time(3, 4, 5),
        "f": dbapi.TimeFromTicks(ticks),
    }
    query = "RETURN $a = $b, $c = $d, $e = $f, $a = date('2020-01-02')"
    assert db.cursor().execute(query, values).fetchall() == [(True,) * 4]
    assert dbapi.Binary(b"x") == b"x"
    pairs = [(dbapi.STRING, str), (dbapi.NUMBER, float), (dbapi.DATETIME, datetime)]
    assert all(one == kind for one, kind in pairs)
    kinds = [dbapi.STRING, dbapi.BINARY, dbapi.NUMBER, dbapi.DATETIME, dbapi.ROWID]
    assert all((one == two) is (one is two) for one in kinds for two in kinds)
    type_code = (db.cursor().execute("RETURN 1").description or [])[0][1]
    assert all(one != type_code for one in kinds)


def test_a_cursor_gives_rows(db: Database) -> None:
    cursor = db.cursor()
    assert cursor.description is None
    assert cursor.rowcount == -1
    assert cursor.execute(ROWS) is cursor
    assert [column[0] for column in cursor.description or []] == ["name", "age"]
    assert all(len(column) == 7 for column in cursor.description or [])
    assert cursor.rowcount == 4
    assert cursor.fetchone() == ("Ada", 36)
    assert cursor.fetchmany() == [("Bob", None)]
    assert cursor.fetchmany(5) == [("Dan", 20), ("Zoë", 41)]
    assert cursor.fetchall() == []
    assert cursor.fetchone() is None


def test_a_cursor_is_iterated_from_where_it_is(db: Database) -> None:
    cursor = db.cursor().execute(ROWS)
    cursor.fetchone()
    assert [name for name, _ in cursor] == ["Bob", "Dan", "Zoë"]


def test_parameters_have_names(db: Database) -> None:
    cursor = db.cursor().execute("MATCH (a) WHERE a.age > $age RETURN count(*)", {"age": 30})
    assert cursor.fetchone() == (2,)


def test_a_statement_without_columns_has_no_rows(db: Database) -> None:
    cursor = db.cursor().execute("CREATE (:A), (:A)")
    assert cursor.description is None
    assert cursor.rowcount == -1
    assert cursor.result.summary.effects is not None
    assert cursor.result.summary.effects.nodes_created == 2


def test_fetching_from_a_statement_without_columns_is_an_error(db: Database) -> None:
    cursor = db.cursor().execute("CREATE (:E)")
    for fetch in (cursor.fetchall, cursor.fetchone, cursor.fetchmany, lambda: next(iter(cursor))):
        with pytest.raises(dbapi.ProgrammingError, match="no rows to fetch"):
            fetch()
    assert cursor.execute("MATCH (e:Nobody) RETURN e").fetchall() == []
    with pytest.raises(dbapi.ProgrammingError, match=r"size= takes an integer from 0, not -1\."):
        cursor.fetchmany(-1)


def test_executemany_is_one_transaction(db: Database) -> None:
    before = db.stats().version
    db.cursor().executemany("CREATE (:A {x: $x})", ({"x": x} for x in range(5)))
    assert db.stats().version == before + 1
    assert db.execute("MATCH (a:A) RETURN sum(a.x)").scalar() == 10
    with pytest.raises(dbapi.ProgrammingError):
        db.cursor().executemany("CREATE (:A {x: 10 / $x})", [{"x": 1}, {"x": 0}])
    assert db.execute("MATCH (a:A) RETURN count(*)").scalar() == 5


def test_a_cursor_of_a_transaction(db: Database) -> None:
    with db.transaction() as tx:
        cursor = dbapi.Cursor(tx)
        cursor.executemany("CREATE (:A {x: $x})", [{"x": 1}, {"x": 2}])
        assert cursor.execute("MATCH (a:A) RETURN count(*)").fetchone() == (2,)
        tx.rollback()
    assert db.execute("MATCH (a:A) RETURN count(*)").scalar() == 0


def test_a_failed_statement_leaves_no_rows(db: Database) -> None:
    cursor = db.cursor().execute(ROWS)
    with pytest.raises(dbapi.ProgrammingError):
        cursor.execute("MATCH")
    assert cursor.rowcount == -1
    with pytest.raises(dbapi.Error, match="no rows"):
        cursor.fetchall()


def test_a_closed_cursor_refuses(db: Database) -> None:
    with db.cursor() as cursor:
        cursor.execute(ROWS)
    for use in (cursor.fetchone, cursor.fetchall, lambda: cursor.execute(ROWS)):
        with pytest.raises(dbapi.InterfaceError, match="closed"):
            use()
    assert cursor.description is None


def test_a_connection(tmp_path: Path) -> None:
    with dbapi.connect(tmp_path / "g.gdb") as connection:
        connection.cursor().execute("CREATE (:A)")
        connection.commit()
        with pytest.raises(dbapi.NotSupportedError, match="transaction"):
            connection.rollback()
    with pytest.raises(errors.ClosedError):
        connection.cursor()
    with dbapi.connect(tmp_path / "g.gdb", read_only=True) as connection:
        assert connection.cursor().execute("MATCH (a:A) RETURN count(*)").fetchone() == (1,)
        with pytest.raises(dbapi.Error):
            connection.cursor().execute("CREATE (:A)")


@pytest.mark.filterwarnings("ignore:pandas only supports SQLAlchemy")
def test_pandas_reads_a_database(db: Database) -> None:
    pandas = pytest.importorskip("pandas")
    for source in (db, dbapi.Connection(db)):
        frame = pandas.read_sql(ROWS, source)
        assert list(frame["name"]) == ["Ada", "Bob", "Dan", "Zoë"]
        text = "MATCH (a) WHERE a.age = $age RETURN a.name AS name, date('2020-01-01') AS day"
        frame = pandas.read_sql_query(text, source, params={"age": 36})
        assert frame.to_dict("records") == [{"name": "Ada", "day": date(2020, 1, 1)}]
        chunks = list(pandas.read_sql(ROWS, source, chunksize=3))
        assert [len(chunk) for chunk in chunks] == [3, 1]


def test_polars_reads_a_database(db: Database) -> None:
    polars = pytest.importorskip("polars")
    for source in (db, dbapi.Connection(db), db.cursor()):
        frame = polars.read_database(ROWS, source)
        assert frame.columns == ["name", "age"]
        assert frame.rows() == [("Ada", 36), ("Bob", None), ("Dan", 20), ("Zoë", 41)]
        text = "MATCH (a) WHERE a.age = $age RETURN a.name AS name, labels(a) AS l, {x: 1} AS m"
        options = {"parameters": {"age": 36}}
        frame = polars.read_database(text, source, execute_options=options)
        assert frame.rows() == [("Ada", ["Person"], {"x": 1})]
        some = polars.read_database(ROWS, source, iter_batches=True, batch_size=3)
        assert [len(batch) for batch in some] == [3, 1]


def test_a_cursor_of_a_closed_database(db: Database) -> None:
    cursor = db.cursor()
    db.close()
    with pytest.raises(dbapi.InterfaceError):
        cursor.execute("RETURN 1")
    assert gdb.GdbError is dbapi.Error
