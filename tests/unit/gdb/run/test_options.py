"""Arguments of a query are checked, and refused with what would be right."""

from __future__ import annotations

import copy
import math
import pickle
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import numpy as np
import pytest

import gdb
from gdb.base.budget import LEAST
from gdb.errors import GdbError, NameProblem, OutOfBudget, QueryError, TypeProblem
from gdb.query_graph import DIFFERENT_EDGES, DIFFERENT_NODES, REPEATABLE_ELEMENTS, MatchMode
from gdb.run import options, parameters


@pytest.mark.parametrize(
    ("text", "mode"),
    [
        ("DIFFERENT EDGES", DIFFERENT_EDGES),
        ("different   relationships", DIFFERENT_EDGES),
        (" Different Nodes ", DIFFERENT_NODES),
        ("REPEATABLE ELEMENTS", REPEATABLE_ELEMENTS),
    ],
)
def test_match_modes_by_name(text: str, mode: MatchMode) -> None:
    assert options.match_mode(text) == mode


def test_a_misspelt_mode_is_told_the_right_one() -> None:
    with pytest.raises(NameProblem, match="Did you mean 'DIFFERENT NODES'"):
        options.match_mode("DIFERENT NODE")
    with pytest.raises(NameProblem, match="'SUBGRAPHS'"):
        options.match_mode("xyz")


@pytest.mark.parametrize(
    ("memory", "size"),
    [
        (1024, 1024),
        ("8GB", 8 * 10**9),
        ("1.5 gb", 1_500_000_000),
        ("512 MiB", 512 * 2**20),
        ("2G", 2 * 10**9),
        ("100", 100),
        ("100 B", 100),
        (" 1 kB ", 1000),
    ],
)
def test_memory_sizes(memory: int | str, size: int) -> None:
    assert options.byte_count("memory", memory) == size


def test_the_budget_of_a_query_has_a_least() -> None:
    assert options.memory_bytes(None) is None
    assert options.memory_bytes("1MiB") == LEAST
    for memory in (1, "100", LEAST - 1):
        with pytest.raises(OutOfBudget, match="1 MiB") as error:
            options.memory_bytes(memory)
        assert 'memory="1MiB"' in str(error.value)


@pytest.mark.parametrize(
    "memory", ["", "GB", "8 apples", "-1", 0, -5, "0", True, 1.5, "9" * 400, 10**400, "nan"]
)
def test_what_is_no_memory_size(memory: object) -> None:
    with pytest.raises(QueryError, match="memory="):
        options.memory_bytes(memory)  # type: ignore[arg-type]


@pytest.mark.parametrize("timeout", [0, -1, math.nan, "5", True])
def test_what_is_no_timeout(timeout: object) -> None:
    with pytest.raises(QueryError, match="timeout="):
        options.timeout_seconds(timeout)  # type: ignore[arg-type]


def test_timeouts() -> None:
    assert options.timeout_seconds(None) is None
    assert options.timeout_seconds(math.inf) is None
    assert options.timeout_seconds(2) == 2.0


@pytest.mark.parametrize("threads", [-1, 5000, 1.5, True, "2"])
def test_what_is_no_number_of_threads(threads: object) -> None:
    with pytest.raises(QueryError, match="threads="):
        options.thread_count(threads)  # type: ignore[arg-type]


def test_parameters_become_plain_values() -> None:
    given = {
        "a": np.int64(3),
        "b": np.float32(0.5),
        "c": np.bool_(True),
        "d": (1, [2, "x"]),
        "e": None,
        "f": np.str_("s"),
        "g": np.array(4),
        "h": np.ma.masked,
        "i": np.timedelta64(3, "us"),
    }
    checked = parameters.checked_parameters(given)
    assert checked == {
        "a": 3,
        "b": 0.5,
        "c": True,
        "d": [1, [2, "x"]],
        "e": None,
        "f": "s",
        "g": 4,
        "h": None,
        "i": timedelta(microseconds=3),
    }
    assert [type(checked[name]) for name in "abcf"] == [int, float, bool, str]


HOLDS_ITSELF: list[object] = []
HOLDS_ITSELF.append(HOLDS_ITSELF)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ([1], "must be a dict"),
        ("abc", "must be a dict"),
        ({1: 2}, "must be a string"),
        ({"$a": 2}, "Use 'a'"),
        ({"a": object()}, "\\$a is of the Python type object"),
        ({"a": {1: 1}}, "keys are strings"),
        ({"a": {"b": {2}}}, "\\$a is of the Python type set"),
        ({"a": {1}}, "\\$a is of the Python type set"),
        ({"a": b"x"}, "\\$a is of the Python type bytes"),
        ({"a": [1, [1j]]}, "\\$a is of the Python type complex"),
        ({"a": 2**63}, "64 bits"),
        ({"a": "\ud800"}, "Unicode"),
        ({"a": np.arange(3)}, "\\$a is of the Python type ndarray"),
        ({"a": {"\ud800": 1}}, "Unicode"),
        ({"a": [{"\ud800": 1}, {"\ud800": 2}]}, "Unicode"),
        ({"a": 10**5000}, "a number of 16,610 bits"),
        ({"a": np.datetime64("2020-01-01T00:00:00.123456789")}, "more than microseconds"),
        ({"a": np.timedelta64(1, "ns")}, "more than microseconds"),
        ({"a": np.timedelta64(2**61, "h")}, "than 64 bits hold"),
        ({"a": np.datetime64(2**62, "s")}, "than 64 bits hold"),
        ({"a": [np.timedelta64(1, "M")]}, "depends on the date"),
        ({"a": HOLDS_ITSELF}, "nested too deeply, or holds itself"),
    ],
)
def test_what_is_no_parameter(given: object, says: str) -> None:
    with pytest.raises(GdbError, match=says):
        parameters.checked_parameters(given)  # type: ignore[arg-type]


def test_a_wrong_type_is_also_pythons_type_error() -> None:
    with pytest.raises(TypeError):
        parameters.checked_parameters({"a": object()})
    assert issubclass(TypeProblem, TypeError)


def test_a_budget_of_a_gpu_is_checked_when_a_database_is_opened() -> None:
    """And is that of its queries and of its snapshots'."""
    for wrong in ("63MiB", 0, -1):
        with pytest.raises(QueryError, match="gpu_memory="):
            gdb.connect(gpu_memory=wrong)
    with gdb.connect(gpu_memory="1GiB") as db, db.snapshot() as held:
        for one in (db, held):
            assert one._request("", None).gpu_memory == 1 << 30
            request = one._request("", None, options.QueryOptions(gpu_memory="2GiB"))
            assert request.gpu_memory == request.options(None).gpu_memory == 2 << 30
            with pytest.raises(QueryError, match="at least 67,108,864"):
                one.execute("RETURN 1", gpu_memory=1000)


def test_a_budget_of_a_database_is_that_of_its_queries() -> None:
    """Of its snapshots' and transactions' as well; a query's own is before it, and EXPLAIN shows the one that holds."""
    with pytest.raises(OutOfBudget, match="1 MiB"):
        gdb.connect(memory=1000)
    with pytest.raises(QueryError, match="memory='much' is not a size"):
        gdb.connect(memory="much")
    text, rows = "MATCH (a)-->(b)-->(c) RETURN count(*)", "UNWIND range(1, 300000) AS x RETURN x"
    with gdb.connect(memory="2MB") as db:
        db.execute("CREATE (:N)-[:R]->(:N)-[:R]->(:N)")
        with db.snapshot() as held:
            for one in (db, held):
                assert "memory: 2,000,000 bytes" in one.explain(text, device="cpu")
                assert "memory: 3,000,000 bytes" in one.explain(text, device="cpu", memory="3MB")
                (found,) = [
                    line
                    for (line,) in one.execute(f"PROFILE {text}", device="cpu")
                    if line.startswith("memory: ")
                ]
                assert "of 2,000,000 bytes" in found
                with pytest.raises(OutOfBudget, match="2,000,000"):
                    one.execute(rows)
                assert len(one.execute(rows, memory="1GB").fetchall()) == 300_000
        with db.transaction() as tx, pytest.raises(OutOfBudget):
            tx.execute(rows)


@pytest.mark.parametrize("value", [timedelta.max, timedelta.min, timedelta(seconds=9999999999999)])
def test_a_duration_that_a_query_gave_is_a_parameter(value: timedelta) -> None:
    with gdb.connect() as db:
        seconds = value // timedelta(seconds=1)
        given = db.execute(
            f"RETURN duration({{seconds: {seconds}, microseconds: {value.microseconds}}})"
        ).scalar()
        assert given == value
        db.execute("CREATE (:A {d: $d, l: [$d]})", {"d": given})
        found = db.execute(
            "MATCH (a:A) WHERE a.d = $d RETURN a.d, a.l, [$d, {k: $d}]", {"d": given}
        )
        assert found.fetchall() == [(value, [value], [value, {"k": value}])]


def test_times_of_pandas_are_not_rounded() -> None:
    pd = pytest.importorskip("pandas")
    for value in (pd.Timestamp("2020-01-01T00:00:00.123456789"), pd.Timedelta(1, "ns")):
        with pytest.raises(TypeProblem, match="more than microseconds"):
            parameters.checked_parameters({"a": value})
    kept = parameters.checked_parameters({"a": pd.Timedelta(1, "us"), "b": pd.NaT})
    assert kept == {"a": timedelta(microseconds=1), "b": None}


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"limits": {"MAX_ROWS": math.inf}}, "whole number from 1"),
        ({"limits": {"MAX_SECONDS": math.nan}}, "a number above 0"),
        ({"limits": {"MAX_SECONDS": 0}}, "a number above 0"),
        ({"read_only": "no"}, "read_only= takes True or False, not 'no'"),
        ({"create": 1}, "create= takes True or False"),
        ({"import_root": 5}, "import_root= takes a path"),
    ],
)
def test_what_no_database_is_opened_with(given: dict[str, Any], says: str) -> None:
    with pytest.raises(GdbError, match=says):
        gdb.connect(**given)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"label": ["A", "B"]}, "label= takes a text"),
        ({"directed": "no"}, "directed= takes True or False"),
        ({"ends": ("A",)}, "ends= takes two texts"),
        ({"max_errors": "10"}, "max_errors= takes a whole number"),
        ({"max_errors": -1}, "below 0"),
        ({"columns": 5}, "columns= takes a list of texts"),
        ({"columns": "a,b"}, "columns= takes a list of texts"),
        ({"id_space": 5}, "id_space= takes a text"),
        ({"header": "x"}, "header= takes True or False"),
        ({"delimiter": 5}, "delimiter= takes a text"),
        ({"type": 5}, "type= takes a text"),
        ({"packed": 5}, "packed= takes True, False or None"),
        ({"cancel": True}, "cancel= takes a threading.Event"),
        ({"progress": True}, "progress= takes a function"),
        ({"rejects_file": 5}, "rejects_file= takes a path"),
        ({"nodes": {5: [{"id": 1}]}}, "the key 5 of nodes= is no text"),
    ],
)
def test_what_is_no_option_of_an_import(given: dict[str, Any], says: str) -> None:
    with gdb.connect() as db, pytest.raises(GdbError, match=says):
        db.load(edges={"K": [{"source": 1, "target": 2}]}, **given)


@pytest.mark.parametrize(
    ("name", "made"),
    [
        ("Database", lambda db: db),
        ("HeldSnapshot", lambda db: db.snapshot()),
        ("Transaction", lambda db: db.transaction()),
        ("Result", lambda db: db.execute("RETURN 1")),
        ("Result", lambda db: db.execute("MATCH (n) RETURN n, n.x")),
        ("Stream", lambda db: db.stream("MATCH (n) RETURN n.x")),
        ("Cursor", lambda db: db.cursor()),
    ],
)
def test_what_is_open_here_is_not_copied(name: str, made: Callable[[gdb.Database], object]) -> None:
    with gdb.connect() as db:
        db.execute("CREATE ({x: 1})")
        one = made(db)
        for copying in (pickle.dumps, copy.copy, copy.deepcopy):
            with pytest.raises(TypeProblem, match=f"a {name} cannot be copied or pickled") as told:
                copying(one)
            assert told.value.cure


def test_a_schema_is_a_value() -> None:
    with gdb.connect() as db:
        db.execute("CREATE (:A {x: 1})-[:K]->(:B)")
        schema = db.schema()
        again = pickle.loads(pickle.dumps(schema))
        assert again == schema
        assert str(again) == str(schema)
        for same in (copy.copy(schema), copy.deepcopy(schema)):
            assert "svg" in str(same.draw().svg)
        with pytest.raises(TypeProblem, match=r"Draw db\.schema"):
            again.draw()
