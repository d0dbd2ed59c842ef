"""DuckDB opens the files that are named to it and nothing else, loads no extension, and cannot be set otherwise."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

import gdb
from gdb.executor.relational import relational
from gdb.storage.disk.duckdb_engine import Engine
from gdb.storage.disk.sandbox import literal

NAMES = ["a b.csv", "q*.csv", "b[1].csv", "a?b.csv", "it's.csv", "~x.csv", "file:z.csv", "ä.csv"]


def written(folder: Path, name: str) -> Path:
    (folder / name).write_text("id,x\n1,2\n")
    return folder / name


def refused(engine: Engine, sql: str) -> str:
    with pytest.raises(duckdb.Error) as caught:
        engine.cursor().execute(sql)
    return str(caught.value)


@pytest.mark.parametrize("name", NAMES)
def test_a_file_of_any_name_is_that_file(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(tmp_path, name)
    monkeypatch.chdir(tmp_path)
    for path in (tmp_path / name, Path(name)):
        engine = Engine(files=[path])
        found = engine.cursor().execute("SELECT * FROM read_csv(?)", [literal(path)]).fetchall()
        assert found == [(1, 2)]
        assert gdb.connect().load(nodes=path).vertices == 1


def test_no_other_file_is_opened(tmp_path: Path) -> None:
    mine, other = written(tmp_path, "mine.csv"), written(tmp_path, "other.csv")
    engine = Engine(files=[mine])
    for path in (other, tmp_path / "*.csv", tmp_path, "s3://bucket/a.csv", "https://a.b/c.csv"):
        assert "disabled" in refused(engine, f"SELECT * FROM read_csv('{path}')")
    for sql in (
        f"COPY (SELECT 1) TO '{tmp_path / 'new.csv'}'",
        f"ATTACH '{tmp_path / 'new.db'}'",
        "INSTALL spatial",
        "LOAD spatial",
        "LOAD httpfs",
    ):
        assert "disabled" in refused(engine, sql)
    assert sorted(x.name for x in tmp_path.iterdir()) == ["mine.csv", "other.csv"]


@pytest.mark.parametrize(
    "setting",
    [
        "enable_external_access = true",
        "autoload_known_extensions = true",
        "memory_limit = '1TB'",
        "lock_configuration = false",
        "allowed_directories = ['/']",
    ],
)
def test_what_is_set_stays_so(setting: str) -> None:
    assert "annot change" in refused(Engine(), f"SET {setting}")


def test_the_settings_of_all(tmp_path: Path) -> None:
    """Of the importer, the exporter and the relational part of queries."""
    wanted = {
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
        "allow_community_extensions": "false",
        "allow_persistent_secrets": "false",
        "enable_external_access": "false",
        "python_enable_replacements": "false",
        "lock_configuration": "true",
        "TimeZone": "UTC",
    }
    with (
        relational.Session(None, None, None) as shared,
        relational.Session(1 << 30, None, None) as bounded,
    ):
        found = [
            dict(connection.execute("SELECT name, value FROM duckdb_settings()").fetchall())
            for connection in (Engine().cursor(), shared._connection, bounded._connection)
        ]
    for settings in found:
        assert {name: settings[name] for name in wanted} == wanted


def test_variables_of_the_program_are_no_tables() -> None:
    hidden = pa.table({"x": [1]})
    assert duckdb.connect().execute("SELECT * FROM hidden").fetchall() == [(1,)]
    with pytest.raises(duckdb.Error, match="does not exist"):
        Engine().cursor().execute("SELECT * FROM hidden")
    assert len(hidden) == 1


def test_an_address_is_no_file() -> None:
    for name in ("https://example.com/a.csv", "s3://bucket/a.parquet", "hf://datasets/a"):
        with pytest.raises(gdb.errors.ImportFailed, match=r"is an address, no file") as caught:
            gdb.connect().load(name)
        assert "Fetch it first" in str(caught.value)
