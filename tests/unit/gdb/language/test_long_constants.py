"""Long lists of constants and chains of comparisons: read as one token, they mean what their parts mean."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import gdb
from gdb.errors import NameProblem, PlacedError, SyntaxProblem
from gdb.language import long_constants as reading
from gdb.language import tokens
from gdb.language.long_constants import LongConstant, long_constants
from gdb.language.parser import parse

MANY, LONG = 300, 2_500
LIMITS = {"MAX_EXPRESSION_SIZE": 100_000}
ITEMS = (
    *(
        "{id: %d, name: 'n%d', `a`: 1}",
        "{id: %d, name: 'it\\'s \"%d\"', [}",
        "[%d, -%d, 1.5e3, 0x1F]",
    ),
    *(
        "{id: %d, id: %d}",
        "[%d, [$p, %d]]",
        "007 + %d - %d",
        "%d000000000000000000000%d",
        "[%d, 'a%d",
    ),
)
LISTS = (
    *("%d, %d", "'%d//', \"%d'\"", "%d.5, -%d.25", "TRUE, null, %d, 'ß\\u00e9\\n%d'"),
    "{id: %d, name: 'n%d', deep: [1, {x: null}], f: 1e3}",
    "/* %d */ 'a\\\\%d', [1]",
    "%d // ]\n, -%d",
)
CHAINS = (
    ("WHERE ", "n.k = %d", " OR ", ""),
    ("WHERE n.x = 1 OR ", "n.k = %d", " or ", " OR n.x = 2"),
    ("WHERE n.x = 1 AND (", "n.name = 'n%d'", "\nOR ", ")"),
    ("WHERE ", "n.k <> %d", " AND ", " AND n.x > 1"),
    ("WHERE n.x = 1 OR ", 'n . name <> "n%d"', " AND ", " OR n.x = 2"),
)
KEPT = (
    ("WHERE n.x = 1 AND ", "n.k = %d", " OR ", ""),
    ("WHERE NOT ", "n.k = %d", " OR ", ""),
    ("WHERE ", "n.k = %d", " OR ", " AND n.x = 1"),
    ("WHERE ", "n.k = %d", " OR ", " + 1"),
    ("WHERE NOT ", "n.k <> %d", " AND ", ""),
    ("WHERE ", "n.k = %d.n", " OR ", ""),
)


@pytest.fixture(autouse=True)
def shorter(monkeypatch: pytest.MonkeyPatch) -> None:
    """Constants are long from fewer characters on: what is read by its parts takes the square of their number."""
    assert reading.LEAST > LONG
    monkeypatch.setattr(reading, "LEAST", LONG)


def listed(item: str) -> str:
    return ", ".join(item % (k, k) for k in range(MANY))


def chained(chain: tuple[str, str, str, str]) -> str:
    before, term, word, behind = chain
    several = word.join(term % k for k in range(2, 2 * MANY, 2))
    return f"MATCH (n) {before}{several}{behind} RETURN n.k AS k"


@pytest.fixture
def db() -> Iterator[gdb.Database]:
    with gdb.connect(limits=LIMITS) as db:
        db.execute("UNWIND range(-5, 50) AS k CREATE (:N {k: k, name: 'n' + k, x: k % 4})")
        db.execute("CREATE (:N {k: null, x: 1}), (:N {k: 2.0}), (:N {k: 'a', name: 4, x: 3})")
        yield db


def as_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read everything part by part."""

    def nothing(text: str, start: int) -> list[LongConstant]:
        return []

    monkeypatch.setattr(tokens, "long_constants", nothing)


@pytest.mark.parametrize("item", LISTS)
def test_a_list_means_what_its_items_mean(
    db: gdb.Database, item: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = f"UNWIND [{listed(item)}] AS r RETURN r AS r, $p + 1 AS p"
    assert len(long_constants(text, 0)) == len(parse(text).constants) == 1
    found = [db.execute(text, {"p": p}).fetchall() for p in (1, 1, 2)]
    as_parts(monkeypatch)
    with gdb.connect(limits=LIMITS) as other:
        assert not parse(text).constants
        assert found == [other.execute(text, {"p": p}).fetchall() for p in (1, 1, 2)]


@pytest.mark.parametrize("item", ITEMS)
def test_what_is_no_list_of_constants_is_read_by_its_parts(item: str) -> None:
    assert not long_constants(f"RETURN [{listed(item)}] AS x", 0)


@pytest.mark.parametrize("chain", CHAINS)
def test_a_chain_means_what_its_terms_mean(
    db: gdb.Database, chain: tuple[str, str, str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = chained(chain)
    assert len(long_constants(text, 0)) == len(parse(text).constants) == 1
    found = [sorted(map(str, db.execute(text).fetchall())) for _ in range(2)]
    as_parts(monkeypatch)
    again = f"{text} "
    assert not parse(again).constants
    assert found == [sorted(map(str, db.execute(again).fetchall()))] * 2


@pytest.mark.parametrize("chain", KEPT)
def test_a_chain_that_is_cut_by_other_operators_stays(chain: tuple[str, str, str, str]) -> None:
    assert not long_constants(chained(chain), 0)


def test_an_index_is_no_list() -> None:
    key = "x" * 20_000
    assert not long_constants(f"RETURN $m['{key}']", 0)
    with gdb.connect(limits=LIMITS) as db:
        assert db.execute(f"RETURN $m['{key}'] AS x", {"m": {key: 3}}).scalar() == 3


@pytest.mark.parametrize("rest", ["RETURN s", "RETURN r.x +", "RETURN nothing(r)"])
def test_errors_show_their_place(rest: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = f"UNWIND\n[{listed(LISTS[0])}] AS r {rest}"

    def shown() -> str:
        with gdb.connect() as db, pytest.raises(PlacedError) as error:
            db.execute(text)
        assert isinstance(error.value, (NameProblem, SyntaxProblem, gdb.errors.TypeProblem))
        return str(error.value)

    found = shown()
    as_parts(monkeypatch)
    assert found == shown()


def test_lists_are_written_and_read_in_all_ways(db: gdb.Database) -> None:
    rows = f"UNWIND [{listed('{id: %d, x: %d}')}] AS r "
    db.execute(f"{rows} MERGE (n:P {{id: r.id}}) SET n.x = r.x")
    assert db.execute("MATCH (n:P) RETURN count(*), sum(n.x)").fetchall() == [
        (MANY, MANY * (MANY - 1) // 2)
    ]
    within = f"MATCH (n:P) WHERE n.id IN [{listed('%d, -%d')}] AND n.x < $x RETURN count(*)"
    assert [db.execute(within, {"x": x}).scalar() for x in (5, 9, 9)] == [5, 9, 9]
    with db.stream(within.replace("count(*)", "n.x AS x"), {"x": 7}) as stream:
        assert sorted(row.x for row in stream) == [*range(7)]
    assert "[...]" in db.explain(f"{rows} RETURN r")
    with db.transaction() as tx:
        assert tx.execute(within, {"x": 3}).scalar() == 3


@pytest.mark.parametrize("name", [" ", " 0", " long constant"])
def test_a_parameter_whose_name_begins_with_a_space_is_the_callers(name: str) -> None:
    text = f"RETURN [{', '.join(map(str, range(3000)))}][$`{name}`] AS x"
    with gdb.connect() as db:
        assert db.execute(text, {name: 7}).scalar() == 7
        assert f"$`{name}`" in db.explain(text, {name: 7})
