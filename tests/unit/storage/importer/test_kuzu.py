"""Folders that `EXPORT DATABASE` of Kuzu or Ladybug wrote: the texts are as Kuzu 0.11 and Ladybug 0.22 wrote them."""

from __future__ import annotations

import datetime
import tempfile
from pathlib import Path
from typing import Any, cast

import duckdb
import pytest

import gdb
from gdb.errors import ImportFailed
from gdb.repl.main import main
from gdb.storage.importer.kuzu_parquet import faults_of

SCHEMA = """\
CREATE NODE TABLE `Person` (`id` INT64,`name` STRING,`age` INT16,`height` DOUBLE,`ok` BOOL,`born` DATE,\
`seen` TIMESTAMP,`span` INTERVAL,`tags` STRING[],`nums` INT64[],`u` UINT64,`dec` DECIMAL(10, 2),\
`fixed` FLOAT[3], PRIMARY KEY(`id`));
CREATE NODE TABLE `City` (`name` STRING,`s` STRUCT(a INT64, b STRING), PRIMARY KEY(`name`));
CREATE NODE TABLE `Thing` (`k` SERIAL,`tz` TIMESTAMP_TZ, PRIMARY KEY(`k`));
CREATE NODE TABLE `Empty` (`id` INT64, PRIMARY KEY(`id`));
CREATE REL TABLE `Knows` (FROM `Person` TO `Person`, `since` DATE,`w` DOUBLE,MANY_MANY);
CREATE REL TABLE `LivesIn` (FROM `Person` TO `City`, FROM `Thing` TO `City`, `y` INT64,MANY_MANY);
CREATE REL TABLE `Odd Rel` (FROM `Person` TO `City`, `a b` STRING,MANY_MANY);
DROP SEQUENCE IF EXISTS `Thing_k_serial`;
CREATE SEQUENCE IF NOT EXISTS `Thing_k_serial` START 0 INCREMENT 1 MINVALUE 0 MAXVALUE 9223372036854775807 NO CYCLE;
RETURN nextval('Thing_k_serial');
"""
COPIES = """\
COPY `Person` (`id`,`name`,`age`,`height`,`ok`,`born`,`seen`,`span`,`tags`,`nums`,`u`,`dec`,`fixed`) \
FROM "Person.csv" (parallel=false);
COPY `City` (`name`,`s`) FROM "City.csv" (parallel=true);
COPY `Thing` (`k`,`tz`) FROM "Thing.csv" (parallel=true);
COPY `Empty` (`id`) FROM "Empty.csv" (parallel=true);
COPY `Knows` (`since`,`w`) FROM "Knows_Person_Person.csv" (to='Person', from='Person', parallel=true);
COPY `LivesIn` (`y`) FROM "LivesIn_Person_City.csv" (to='City', from='Person', parallel=true);
COPY `LivesIn` (`y`) FROM "LivesIn_Thing_City.csv" (to='City', from='Thing', parallel=true);
COPY `Odd Rel` (`a b`) FROM "Odd Rel_Person_City.csv" (to='City', from='Person', parallel=true);
"""
FILES = {
    "Person.csv": '1,"Ada ""x"", y",36,1.700000,True,1815-12-10,2020-01-02 03:04:05.123456,1 day 02:00:00,'
    '"[a;\\s,b]","[1,2]",5,12.34,"[1.000000,2.000000,3.000000]"\n'
    '2,"line\nbreak",,,,,,,,,,,\n3,"",,,,,,,"[]",,,,\n',
    "City.csv": 'Paris,"{a: 1, b: x}"\n"Rome, IT",\n',
    "Thing.csv": "1,2020-01-01 00:00:00+00\n",
    "Empty.csv": "",
    "Knows_Person_Person.csv": "1,2,2001-02-03,0.500000\n2,3,,\n",
    "LivesIn_Person_City.csv": "1,Paris,1\n",
    "LivesIn_Thing_City.csv": '1,"Rome, IT",2\n',
    "Odd Rel_Person_City.csv": '1,"Rome, IT",q\n',
    "index.cypher": "",
}
NODES = "MATCH (n) RETURN labels(n)[0] AS l, properties(n) AS p"
EDGES = "MATCH (a)-[r]->(b) RETURN id(a), type(r), properties(r), id(b)"
ADA = {
    "id": 1, "name": 'Ada "x", y', "age": 36, "height": 1.7, "ok": True, "born": datetime.date(1815, 12, 10),
    "seen": datetime.datetime(2020, 1, 2, 3, 4, 5, 123456), "span": "1 day 02:00:00", "tags": ["a;\\s", "b"],
    "nums": [1, 2], "u": 5, "dec": "12.34", "fixed": [1.0, 2.0, 3.0],
}  # fmt: skip


def rows(db: gdb.Database, query: str) -> list[tuple[Any, ...]]:
    return sorted(db.execute(query).fetchall(), key=repr)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "export"
    made.mkdir()
    for name, text in {"schema.cypher": SCHEMA, "copy.cypher": COPIES, **FILES}.items():
        (made / name).write_text(text, encoding="utf-8")
    return made


def holds_all(db: gdb.Database) -> None:
    assert [tuple(row) for row in rows(db, NODES)] == sorted(
        [
            ("Person", ADA),
            ("Person", {"id": 2, "name": "line\nbreak"}),
            ("Person", {"id": 3, "name": "", "tags": []}),
            ("City", {"name": "Paris", "s": "{a: 1, b: x}"}),
            ("City", {"name": "Rome, IT"}),
            ("Thing", {"k": 1, "tz": datetime.datetime(2020, 1, 1)}),
        ],
        key=lambda row: repr((row[0], dict(sorted(cast(dict[str, object], row[1]).items())))),
    )
    assert rows(db, EDGES) == [
        (1, "Knows", {"since": datetime.date(2001, 2, 3), "w": 0.5}, 2),
        (1, "LivesIn", {"y": 1}, "Paris"),
        (1, "LivesIn", {"y": 2}, "Rome, IT"),
        (1, "Odd Rel", {"a b": "q"}, "Rome, IT"),
        (2, "Knows", {}, 3),
    ]
    # the thing lives there, not the person of the same id
    assert db.execute("MATCH (t:Thing)-[:LivesIn]->(c) RETURN c.name").scalar() == "Rome, IT"


def test_all_tables_in_one_call(folder: Path) -> None:
    with gdb.connect() as db:
        report = db.load(folder)
        holds_all(db)
    assert (report.vertices, report.edges) == (6, 5)
    told = "\n".join(report.warnings)
    for column in (
        "'span': type INTERVAL",
        "'dec': type DECIMAL(10, 2)",
        "'s': type STRUCT(a INT64, b STRING)",
    ):
        assert f"column {column} is stored as string" in told


def test_the_shell_and_copy_load_it(folder: Path, tmp_path: Path) -> None:
    assert main(["load", str(tmp_path / "s.gdb"), str(folder)]) == 0
    with gdb.connect(tmp_path / "s.gdb", create=False) as db:
        holds_all(db)
    with gdb.connect() as db:
        db.execute(f"COPY FROM '{folder}'")
        holds_all(db)


def test_with_headers_and_other_quotes(folder: Path) -> None:
    options = "quote=quote='\\'', delim=delim='|', escape=escape='\\\\', header=true, parallel"
    copies = COPIES.replace("parallel", options)
    (folder / "copy.cypher").write_text(copies, encoding="utf-8")
    (folder / "Person.csv").write_text(
        "a.id|a.name|a.age|a.height|a.ok|a.born|a.seen|a.span|a.tags|a.nums|a.u|a.dec|a.fixed\n"
        '1|Ada "x", y|36|1.7|True|1815-12-10|2020-01-02 03:04:05.123456|1 day 02:00:00'
        "|'[a;\\\\s,b]'|'[1,2]'|5|12.34|[1.0,2.0,3.0]\n"
        "2|'line\nbreak'|||||||||||\n3|''|||||||'[]'||||\n",
        encoding="utf-8",
    )
    for name, text in FILES.items():
        if name not in ("Person.csv", "index.cypher"):
            plain = text.replace('"{a: 1, b: x}"', "{a: 1; b: x}").replace('"Rome, IT"', "Rome; IT")
            changed = plain.replace(",", "|").replace(";", ",")
            (folder / name).write_text(f"x\n{changed}", encoding="utf-8")
    with gdb.connect() as db:
        db.load(folder)
        holds_all(db)


def test_a_bad_value_is_told_with_its_line(folder: Path) -> None:
    people = folder / "Person.csv"
    people.write_text(FILES["Person.csv"] + "x,Eve,,,,,,,,,,,\n", encoding="utf-8")
    with gdb.connect() as db, pytest.raises(ImportFailed) as failed:
        db.load(folder)
    assert (failed.value.file, failed.value.line) == (str(people), 5)
    assert "not 'x'" in str(failed.value)


def test_lines_are_found_behind_quotes_of_another_kind(folder: Path) -> None:
    test_with_headers_and_other_quotes(folder)
    people = folder / "Person.csv"
    text = people.read_text(encoding="utf-8").replace("'line\nbreak'", "'it\\'s\na \"break'")
    people.write_text(text + "x|Eve|||||||||||\n", encoding="utf-8")
    with gdb.connect() as db, pytest.raises(ImportFailed) as failed:
        db.load(folder)
    assert (failed.value.line, failed.value.text) == (6, "x|Eve|||||||||||")


@pytest.mark.parametrize(
    ("name", "old", "new", "said"),
    [
        ("schema.cypher", ", PRIMARY KEY(`name`)", "", "has no primary key in the table 'City'"),
        ("schema.cypher", "FROM `Person` TO `Person`, ", "", "joins nothing by the table 'Knows'"),
        ("copy.cypher", "to='City'", "to='Town'", "joins the table 'Town'"),
        ("schema.cypher", "CREATE NODE TABLE `City` (", "CREATE NODE TABLE `City` ", "cannot be understood"),
        ("copy.cypher", "COPY `City`", "COPY `Town`", "names the table 'Town'"),
        ("copy.cypher", "(`name`,`s`)", "(`name`,`t`)", "has no column 't' in the table 'City'"),
        ("copy.cypher", "COPY `City`", "DROP `City`", "cannot be understood"),
        ("copy.cypher", '"City.csv"', '"Cities.csv"', "does not exist"),
        ("Knows_Person_Person.csv", "2,3,,", "2,7,,", "there is no node with id 7"),
        ("Knows_Person_Person.csv", "2,3,,", "2,3,", "Expected Number of Columns"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_and_nothing_stored(
    folder: Path, name: str, old: str, new: str, said: str
) -> None:
    text = (folder / name).read_text(encoding="utf-8")
    assert old in text
    (folder / name).write_text(text.replace(old, new), encoding="utf-8")
    with gdb.connect() as db:
        with pytest.raises(ImportFailed, match=said) as failed:
            db.load(folder)
        assert db.stats().vertices == 0
    assert failed.value.cure
    assert failed.value.file.startswith(str(folder))


def test_files_of_another_place_are_not_opened(folder: Path, tmp_path: Path) -> None:
    """An absolute path is that of the machine that wrote the folder; only the name counts."""
    (tmp_path / "City.csv").write_text("Oslo,\n", encoding="utf-8")
    text = COPIES.replace('"City.csv"', f'"{tmp_path}/City.csv"')
    (folder / "copy.cypher").write_text(text, encoding="utf-8")
    with gdb.connect() as db:
        db.load(folder)
        holds_all(db)


def test_a_link_out_of_the_import_root_is_refused(folder: Path, tmp_path: Path) -> None:
    (folder / "City.csv").rename(tmp_path / "City.csv")
    (folder / "City.csv").symlink_to(tmp_path / "City.csv")
    with gdb.connect(import_root=folder) as db, pytest.raises(ImportFailed, match="outside"):
        db.load(folder)


def test_parquet_of_kuzu(folder: Path) -> None:
    queries = {
        "Person": """SELECT 1::BIGINT AS "a.id", 'Ada' AS "a.name", 36::SMALLINT AS "a.age", 1.7::DOUBLE AS h,
            true AS ok, DATE '1815-12-10' AS born, TIMESTAMP '2020-01-02 03:04:05.123456' AS seen,
            INTERVAL '26 hours' AS span, ['a,b', 'c'] AS tags, [1, 2]::BIGINT[] AS nums, 5::UBIGINT AS u,
            12.34::DECIMAL(10, 2) AS "dec", [1, 2, 3]::FLOAT[] AS fixed""",
        "City": """SELECT 'Paris' AS "a.name", {'a': 1, 'b': 'x'} AS "a.s" """,
        "Thing": "SELECT 1::BIGINT AS k, TIMESTAMPTZ '2020-01-01 00:00:00+00' AS tz",
        "Empty": "SELECT 1::BIGINT AS id LIMIT 0",
        "Knows_Person_Person": "SELECT 1::BIGINT, 1::BIGINT, DATE '2001-02-03' AS since, 0.5::DOUBLE AS w",
        "LivesIn_Person_City": "SELECT 1::BIGINT, 'Paris', 1::BIGINT AS y",
        "LivesIn_Thing_City": "SELECT 1::BIGINT, 'Paris', 2::BIGINT AS y",
        "Odd Rel_Person_City": """SELECT 1::BIGINT AS "a.id", 'Paris' AS "b.name", 'q' AS "r.a b" """,
    }
    for name, query in queries.items():
        duckdb.sql(f"COPY ({query}) TO '{folder}/{name}.parquet' (FORMAT parquet)")
    (folder / "copy.cypher").write_text(COPIES.replace(".csv", ".parquet"), encoding="utf-8")
    with gdb.connect() as db:
        report = db.load(folder)
        held = dict(db.execute(NODES).fetchall())
        span = datetime.timedelta(days=1, hours=2)
        ada = {**ADA, "name": "Ada", "tags": ["a,b", "c"], "span": span, "u": "5"}
        assert held["Person"] == ada
        assert "column 'u': type UBIGINT is stored as string" in "\n".join(report.warnings)
        assert held["Thing"] == {"k": 1, "tz": datetime.datetime(2020, 1, 1)}
        assert held["City"]["name"] == "Paris"
        assert "'a': 1" in held["City"]["s"]
        assert sorted(t for _, t, _, _ in db.execute(EDGES).fetchall()) == [
            "Knows", "LivesIn", "LivesIn", "Odd Rel",
        ]  # fmt: skip


LADYBUG = """\
CREATE NODE TABLE `Person` (`id` INT64,`tags` STRING[], PRIMARY KEY(`id`)) WITH (storage = '/x', format = 'y');
CREATE NODE TABLE `City` (`name` STRING, PRIMARY KEY(`name`)) WITH (storage = '/x', format = 'y');
CREATE REL TABLE `LivesIn` (FROM `Person` TO `City`, `y` INT64,MANY_MANY) WITH (storage = '/x', format = 'y');
"""


def test_what_ladybug_writes(tmp_path: Path) -> None:
    (tmp_path / "schema.cypher").write_text(LADYBUG, encoding="utf-8")
    for name, query in {
        "nodes_Person": "SELECT * FROM (VALUES (10::BIGINT, ['a', 'b,c']), (20, NULL)) t(id, tags)",
        "nodes_City": "SELECT 'Rome' AS name",
        "rels_LivesIn": """SELECT 20::BIGINT AS "from", 'Rome' AS "to", 1::BIGINT AS y""",
        "indices_LivesIn": "SELECT 0::BIGINT AS target, 1::BIGINT AS y",
        "indptr_LivesIn": "SELECT 0::BIGINT AS ptr",
    }.items():
        duckdb.sql(f"COPY ({query}) TO '{tmp_path}/{name}.parquet' (FORMAT parquet)")
    with gdb.connect() as db:
        db.load(tmp_path)
        assert rows(db, EDGES) == [(20, "LivesIn", {"y": 1}, "Rome")]
        assert db.execute("MATCH (p:Person {id: 10}) RETURN p.tags").scalar() == ["a", "b,c"]


SERIAL = Path(__file__).parent / "kuzu_serial"
"""What Kuzu 0.11.3 exported as Parquet: nodes whose key is a SERIAL, and one such property."""


def test_parquet_with_serial_columns(tmp_path: Path) -> None:
    with gdb.connect() as db:
        db.load(SERIAL)
        assert rows(db, "MATCH (p:Person) RETURN id(p), p.id, p.name, p.age, p.tags, p.born") == [
            (0, 0, "Ada", 36, ["x", "y"], datetime.date(1815, 12, 10)),
            (2, 2, "Cy", None, None, None),
        ]
        assert rows(db, "MATCH (c:City) RETURN c.name, c.n, c.x") == [
            ("Oslo", 1, None),
            ("Rome", 0, 1.5),
        ]
        assert rows(db, "MATCH (a)-[r:KNOWS]->(b) RETURN id(a), r.since, r.num, id(b)") == [
            (0, 1, 0, 2)
        ]
        assert rows(db, "MATCH (a)-[r:LIVES]->(b) RETURN id(a), r.w, b.name") == [
            (2, 0.5, "Oslo"),
            (2, 0.5, "Rome"),
        ]


def test_mended_copies_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with gdb.connect(import_root=SERIAL) as db:
        db.load(SERIAL)
        assert db.stats().vertices == 4
    assert not list(tmp_path.iterdir())


def test_a_damaged_footer_is_no_fault(tmp_path: Path) -> None:
    """Wherever it is cut or changed, the file is left to its reader."""
    whole = (SERIAL / "Person.parquet").read_bytes()
    assert len(faults_of(SERIAL / "Person.parquet")) == 1
    assert not faults_of(SERIAL / "schema.cypher")
    file = tmp_path / "a.parquet"
    begin = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")
    for at in range(begin, len(whole)):
        for byte in (0, 0x1C, 0x7F, 0xFF):
            file.write_bytes(whole[:at] + bytes([byte]) + whole[at + 1 :])
            assert all(begin <= one < len(whole) for one in faults_of(file))
