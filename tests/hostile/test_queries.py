"""A sample of the hostile queries; `make hostile-queries` runs 1,000 with the real limits."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from gdb import Database
from gdb.errors import ArgumentProblem, OutOfBudget, QueryTimeout
from tests.hostile import queries


@pytest.fixture(scope="module")
def db() -> Iterator[Database]:
    with queries.graph() as db:
        yield db


@pytest.mark.parametrize("kind", sorted(set(queries.KINDS) - {"wide"}))
def test_a_hostile_query_ends(db: Database, kind: str, tmp_path: Path) -> None:
    """Over rows and as chosen, with a little time; the bounds are many times the limits."""
    names, ways = [*queries.KINDS], len(queries.WAYS)
    first = names.index(kind)
    for seed in (first, first + len(names) * (ways + 1)):
        (found,) = queries.outcomes(db, tmp_path, range(seed, seed + 1), 0.3, 64 << 20)
        assert not queries.judged(found, seconds=30, size=1 << 30), found


ROWS = [
    "UNWIND range(1, 40000000) AS x RETURN collect({a: x}) AS l",
    "UNWIND range(1, 40000000) AS x RETURN x ORDER BY toString(x)",
    "UNWIND range(1, 40000000) AS x RETURN DISTINCT [x] AS l",
    "UNWIND range(1, 40000000) AS x RETURN [x] AS k, count(*) AS n",
    "RETURN [x IN range(1, 40000000) | [x]] AS l",
    "RETURN range(1, 40000000) AS l",
    "RETURN size(reduce(s = 'ab', x IN range(1, 40) | s + s)) AS n",
    "RETURN size(reduce(l = [1, 2], x IN range(1, 40) | l + l)) AS n",
    "WITH reduce(s = 'ab', x IN range(1, 20) | s + s) AS s RETURN size(replace(s, 'a', s)) AS n",
    "WITH reduce(s = 'ab', x IN range(1, 21) | s + s) AS s RETURN size(split(s, '')) AS n",
    "WITH reduce(s = 'ab', x IN range(1, 18) | s + s) AS s UNWIND range(1, 1000) AS x RETURN collect(s + x)",
]


@pytest.mark.parametrize("text", ROWS)
def test_rows_look_at_their_budget(
    db: Database, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queries.columns_or_rows, "WAY", "rows")
    with pytest.raises(OutOfBudget, match="over its budget of 16,777,216") as caught:
        db.execute(text, memory="16MiB", timeout=60)
    assert caught.value.cure


SMALL = {
    "UNWIND range(1, 50000000) AS x RETURN x LIMIT 1": [(1,)],
    "UNWIND range(1, 200000) AS x RETURN x ORDER BY -x LIMIT 2": [(200_000,), (199_999,)],
    "WITH reduce(s = 'ab', x IN range(1, 18) | s + s) AS s UNWIND range(1, 500) AS x"
    " RETURN sum(size(s + 'x')) AS n": [(500 * (2**19 + 1),)],
    "WITH reduce(s = 'ab', x IN range(1, 18) | s + s) AS s UNWIND range(1, 500) AS x"
    " WITH collect(s) AS l RETURN size(l) AS n": [(500,)],
    "WITH reduce(s = 'ab', x IN range(1, 18) | s + s) AS s"
    " RETURN size([x IN range(1, 500) | size(s + x)]) AS n": [(500,)],
    "WITH reduce(s = 'ab', x IN range(1, 18) | s + s) AS s UNWIND range(1, 500) AS x"
    " WITH x, size(s + x) AS n ORDER BY x RETURN count(n) AS c": [(500,)],
}


@pytest.mark.parametrize("text", SMALL)
def test_what_is_not_kept_does_not_count(
    db: Database, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queries.columns_or_rows, "WAY", "rows")
    assert db.execute(text, memory="16MiB", timeout=60).fetchall() == SMALL[text]


TIMED = [
    "UNWIND range(1, 1000) AS a UNWIND range(1, 1000) AS b UNWIND range(1, 1000) AS c RETURN count({x: a}) AS n",
    "RETURN reduce(s = 0, x IN range(1, 40000000) | s + 1) AS n",
    "RETURN all(x IN range(1, 40000000) WHERE x > 0) AS n",
    "MATCH (a), (b), (c) WITH a, b, c RETURN count({x: a.i}) AS n",
    "UNWIND range(1, 10) AS x CALL (x) { UNWIND range(1, 40000000) AS y RETURN sum(x + y) AS s } RETURN s",
]


@pytest.mark.parametrize("text", TIMED)
def test_rows_stop_at_their_timeout(
    db: Database, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queries.columns_or_rows, "WAY", "rows")
    with pytest.raises(QueryTimeout, match=r"timeout of 0\.2 s"):
        db.execute(text, timeout=0.2)


@pytest.mark.parametrize("form", ["NFC", "NFD", "NFKC", "NFKD"])
def test_combining_characters_are_not_sorted_for_minutes(db: Database, form: str) -> None:
    text = "a" + "\u0316\u0300" * 200_000
    with pytest.raises(ArgumentProblem, match="combining"):
        db.execute("RETURN normalize($s, $f) AS s", {"s": text, "f": form})
    few = "a" + "\u0300\u0316" * 200
    assert (
        len(str(db.execute("RETURN normalize($s, $f) AS s", {"s": few, "f": form}).scalar())) > 300
    )
