"""Time zones are those of the package tzdata, whatever database the machine has."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import zoneinfo
from datetime import datetime, timedelta
from importlib.resources import files
from pathlib import Path

import pytest

import gdb
from gdb.base.values.problems import ValueProblem
from gdb.base.values.temporal_python import to_python
from gdb.base.values.temporal_text import parse_datetime
from gdb.base.values.zones import zone_named

OLD = "1818-07-21T00:00[Europe/Stockholm]"


def test_stockholm_before_there_was_a_common_time() -> None:
    """Some distributions have +01:12:12 there, what their database keeps of before 1970."""
    assert str(parse_datetime(OLD)) == "1818-07-21T00:00+00:53:28[Europe/Stockholm]"


def printed(program: str, path: str) -> str:
    """What a program prints where the machine's database lies in a folder."""
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONTZPATH": path},
        capture_output=True,
        text=True,
    )
    assert not done.returncode, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("path", ["", "/usr/share/zoneinfo"], ids=["none", "the machine's"])
def test_the_machines_database_is_ignored(path: str) -> None:
    program = (
        "import zoneinfo, gdb\n"
        "before = zoneinfo.TZPATH\n"
        f"print(gdb.connect().execute(\"RETURN toString(datetime('{OLD}')) AS x\").scalar())\n"
        "assert zoneinfo.TZPATH == before\n"
    )
    assert printed(program, path) == "1818-07-21T00:00+00:53:28[Europe/Stockholm]"


@pytest.mark.parametrize(
    "name",
    ["europe/stockholm", "Europe//Stockholm", "Europe/", "Europe", "leapseconds", "zones", "x", ""],
)
def test_other_names_are_none(name: str) -> None:
    with pytest.raises(ValueProblem, match="There is no time zone"):
        zone_named(name)


def test_a_program_gets_its_own_zone_where_it_agrees() -> None:
    value = to_python(parse_datetime("2020-07-01T12:00[Europe/Stockholm]"))
    assert isinstance(value, datetime)
    assert value.tzinfo is zoneinfo.ZoneInfo("Europe/Stockholm")
    assert pickle.loads(pickle.dumps(value)) == value


def test_a_program_gets_the_offset_that_queries_have(tmp_path: Path) -> None:
    """Where the machine's database differs: it has Tokyo's times for Stockholm."""
    (tmp_path / "Europe").mkdir()
    tokyo = files("tzdata").joinpath("zoneinfo", "Asia", "Tokyo").read_bytes()
    (tmp_path / "Europe" / "Stockholm").write_bytes(tokyo)
    text = "2020-07-01T12:00[Europe/Stockholm]"
    program = (
        "from datetime import datetime\n"
        "from zoneinfo import ZoneInfo\n"
        "import gdb\n"
        "print(datetime(2020, 7, 1, tzinfo=ZoneInfo('Europe/Stockholm')).utcoffset())\n"
        f"found = gdb.connect().execute(\"RETURN datetime('{text}') AS x\").scalar()\n"
        "print(found.utcoffset())\n"
        "print(gdb.connect().execute('RETURN toString($x) AS x', {'x': found}).scalar())\n"
    )
    assert printed(program, str(tmp_path)).split() == [
        "9:00:00",
        "2:00:00",
        "2020-07-01T12:00+02:00[Europe/Stockholm]",
    ]


def test_a_query_gives_the_same_to_python() -> None:
    value = gdb.connect().execute(f"RETURN datetime('{OLD}') AS x").scalar()
    assert isinstance(value, datetime)
    assert value.utcoffset() == timedelta(minutes=53, seconds=28)
    assert pickle.loads(pickle.dumps(value)) == value
