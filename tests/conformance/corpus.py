"""The hard values, by the type of the column that can hold them; and the graph that does."""

from __future__ import annotations

import math
from datetime import date, datetime, timedelta

from gdb import Database
from gdb.base.values.kinds import Value
from gdb.base.values.temporal_make import make_duration
from gdb.base.values.temporal_python import from_python
from gdb.base.values.temporal_text import parse_datetime, parse_local_time, parse_time

LARGE = 1 << 53

# One label each, whose property x has all of these values and null: a column of one type, but for the last, whose
# values no column has.
CORPUS: dict[str, list[object]] = {
    "Int": [0, 1, -1, 2, 7, 63, LARGE, LARGE + 1, (1 << 63) - 1, -(1 << 63)],
    "Float": [
        *(0.0, -0.0, 0.1, 0.5, -0.5, 1.0, 2.5, -2.5, 1e-320, 1e16, 1e300),
        *(float(LARGE), float(1 << 63), math.nan, math.inf, -math.inf),
    ],
    "Bool": [True, False],
    "String": [
        *(
            "",
            "a",
            "A b",
            " a ",
            "ab\t",
            "\u00a0x\u00a0",
            "\u001cz\u0085",
            "e\u0301",
            "ß",
            "İ",
            "ﬁ",
            "ŉ",
        ),
        *(
            "12",
            " -3 ",
            "1.5",
            "1e400",
            "nan",
            "true",
            "99999999999999999999",
            "a.c",
            "\n",
            "👩‍👩‍👧",
            "$p0",
        ),
    ],
    "Date": [date(1, 1, 1), date(2024, 2, 29), date(1969, 12, 31), date(9999, 12, 31)],
    "Moment": [
        datetime(1, 1, 1),
        datetime(2024, 2, 29, 12, 31),
        datetime(2024, 2, 29, 12, 31, 14, 500_000),
        datetime(1969, 12, 31, 23, 59, 59, 1),
        datetime(9999, 12, 31, 23, 59, 59, 999_999),
    ],
    "Length": [
        timedelta(),
        timedelta(hours=30),
        timedelta(days=-1, microseconds=1),
        timedelta(days=30),
        timedelta(seconds=-1),
    ],
    "Ints": [[], [1], [LARGE + 1, 2], [0, -1, 7]],
    "Floats": [[], [1.0], [math.nan, -0.0], [float(LARGE), 0.5]],
    "Strings": [[], [""], ["a", "ß"], ["12", "true"]],
    "Bools": [[], [True, False]],
    "Any": [
        *(1, 2.5, "a", True, [1, 2.5], [1, "a"], make_duration("P1M"), make_duration("P1DT6H")),
        parse_datetime("2024-02-29T12:31[Europe/Paris]"),
        parse_local_time("12:31:14.5"),
        parse_time("12:31+01:00"),
    ],
}
KINDS = tuple(CORPUS)


def values(kind: str) -> list[Value]:
    """The values of a label, null behind them, as the language has them; the place of each is its node's k."""
    return [*(from_python(value) for value in CORPUS[kind]), None]


def fill(db: Database) -> None:
    """A node for each value of each label, and one of the label One, which everything can start from."""
    for kind, held in CORPUS.items():
        rows = [{"k": k, "x": value} for k, value in enumerate([*held, None])]
        db.execute(f"UNWIND $rows AS row CREATE (:{kind} {{k: row.k, x: row.x}})", {"rows": rows})
    db.execute("CREATE (:One {k: 0})")
