"""CSV files: headers, types, labels, ids, and how they are written; the real tables with their known counts."""

from __future__ import annotations

import gzip
import json
import math
import re
from datetime import date, datetime, timedelta
from pathlib import Path

import pytest

import gdb
from gdb.errors import ImportFailed
from gdb.storage.columns.model import PropertyValue
from gdb.storage.write.store import Store
from tests.support.graph_tables import read_tables
from tests.support.loading import load


@pytest.fixture
def store() -> Store:
    return Store.open(None, create=True)


def written(folder: Path, text: str | bytes, name: str = "input.csv") -> Path:
    (folder / name).write_bytes(text.encode() if isinstance(text, str) else text)
    return folder / name


def nodes_of(store: Store) -> dict[int | str, tuple[tuple[str, ...], dict[str, PropertyValue]]]:
    """id -> labels and properties that are not null."""
    found: dict[int | str, tuple[tuple[str, ...], dict[str, PropertyValue]]] = {}
    for table in read_tables(store.snapshot()).vertices:
        columns = {key: column.to_list() for key, column in table.columns.items()}
        for row, name in enumerate(table.ids):
            values = {k: c[row] for k, c in columns.items() if c[row] is not None}
            found[name if isinstance(name, str) else int(name)] = (table.labels, values)
    return found


def edges_of(store: Store) -> list[tuple[str, int | str, int | str, dict[str, PropertyValue]]]:
    tables = read_tables(store.snapshot())
    ids = [x if isinstance(x, str) else int(x) for t in tables.vertices for x in t.ids]
    found = []
    for table in tables.edges:
        columns = {key: column.to_list() for key, column in table.columns.items()}
        for row in range(len(table)):
            ends = ids[table.sources[row]], ids[table.targets[row]]
            found.append((table.type, *ends, {k: c[row] for k, c in columns.items()}))
    return sorted(found, key=repr)


def values(store: Store, key: str) -> list[PropertyValue]:
    return [properties.get(key) for _, (_, properties) in sorted(nodes_of(store).items())]


def kind(store: Store, key: str) -> str:
    return store.snapshot().groups[0].keys[key]


DAYS: list[PropertyValue] = [date(2000, 2, 29), None, date.min, date.max]
INSTANTS: list[PropertyValue] = [datetime(2000, 2, 29), None, datetime.min, datetime.max]
LENGTHS: list[PropertyValue] = [
    timedelta(7),
    None,
    -timedelta(1, hours=2, minutes=3, seconds=4.5),
    timedelta(microseconds=-1),
]
Y2K = datetime(2000, 1, 1)
TEXTS: list[PropertyValue] = [["a", "b"], None, ["c:\\s", "", ""], ["x, y"]]
COLUMNS: list[tuple[str, list[str], str, list[PropertyValue]]] = [
    ("x", ["1", "-2", "", "+3"], "string", ["1", "-2", None, "+3"]),
    ("x", ["1", "-2", "", "0"], "int64", [1, -2, None, 0]),
    ("x", ["1.5", "2", "-1e3", ".5"], "float64", [1.5, 2.0, -1000.0, 0.5]),
    ("x", ["1.5", "", "-inf", "Infinity"], "float64", [1.5, None, -math.inf, math.inf]),
    ("x", ["nan", "inf", "", ""], "string", ["nan", "inf", None, None]),
    ("x", ["true", "FALSE", "", "True"], "bool", [True, False, None, True]),
    ("x", ["t", "1", "0", "f"], "string", ["t", "1", "0", "f"]),
    ("x", ["01", "2", "3", "4"], "string", ["01", "2", "3", "4"]),
    ("x", ["0.5", "0", "10", "-0"], "float64", [0.5, 0.0, 10.0, 0.0]),
    ("x", ["1_000", "2", "3", "4"], "string", ["1_000", "2", "3", "4"]),
    ("x", ["0x1F", "2", "3", "4"], "string", ["0x1F", "2", "3", "4"]),
    ("x", ["2020-01-02", "a", "", '""'], "string", ["2020-01-02", "a", None, ""]),
    ("x", ["", "", "", ""], "string", [None] * 4),
    ("x:int", ["007", "", "3", "-1"], "int64", [7, None, 3, -1]),
    ("x:float", ["1", "", "1e-3", "2."], "float64", [1.0, None, 0.001, 2.0]),
    ("x:string", ["1", "", '""', "z"], "string", ["1", None, "", "z"]),
    ("x:boolean", ["true", "", "0", "1"], "bool", [True, None, False, True]),
    ("x:long", ["", "", "", ""], "int64", [None] * 4),
    ("x:date", ["2000-02-29", "", " 0001-01-01 ", "9999-12-31"], "date", DAYS),
    (
        "x:datetime",
        ["2000-02-29", "", "0001-01-01T02:00+02", "9999-12-31 23:59:59.9999990Z"],
        "datetime",
        INSTANTS,
    ),
    (
        "x:localdatetime",
        ["2000-02-28T22:30-01:30[A/b_C]", "", "0001-01-01T00:00:00", "9999-12-31T23:59:59.999999"],
        "datetime",
        INSTANTS,
    ),
    ("x:duration", ["P1W", "", "-P1DT2H3M4.5S", "PT-0.000001S"], "duration", LENGTHS),
    ("x:int[]", ["1;-2", "", '""', "3"], "int64[]", [[1, -2], None, [], [3]]),
    ("x:string[]", ["a;b", "", "c:\\s;;", '"x, y"'], "string[]", TEXTS),
    ("x:float[]", ["1;.5", "", "inf", " 2 "], "float64[]", [[1.0, 0.5], None, [math.inf], [2.0]]),
    ("x:boolean[]", ["true;false", "", "1", "T"], "bool[]", [[True, False], None, [True], [True]]),
    (
        "x:date[]",
        ["2000-01-01", "", '""', "0001-01-01"],
        "date[]",
        [[date(2000, 1, 1)], None, [], [date.min]],
    ),
    (
        "x:datetime[]",
        ["2000-01-01T00:00Z;2000-01-01", "", '""', "0001-01-01"],
        "datetime[]",
        [[Y2K, Y2K], None, [], [datetime.min]],
    ),
    (
        "x:duration[]",
        ["P1D;-PT1S", "", '""', "P1W"],
        "duration[]",
        [[timedelta(1), timedelta(seconds=-1)], None, [], [timedelta(7)]],
    ),
    ("match", ["1", "2", "3", "4"], "int64", [1, 2, 3, 4]),
]


@pytest.mark.parametrize(("header", "cells", "wanted", "read"), COLUMNS)
def test_types(
    store: Store,
    tmp_path: Path,
    header: str,
    cells: list[str],
    wanted: str,
    read: list[PropertyValue],
) -> None:
    rows = "".join(f"{i},{cell}\n" for i, cell in enumerate(cells))
    load(store, nodes={"A": written(tmp_path, f"id,{header}\n{rows}")})
    key = header.split(":")[0]
    assert kind(store, key) == wanted
    assert values(store, key) == read


def test_nan(store: Store, tmp_path: Path) -> None:
    load(store, nodes=written(tmp_path, "id,x:float,y\n1,NaN,nan\n2,1,2.5\n"))
    assert kind(store, "y") == "float64"
    assert [math.isnan(float(str(values(store, key)[0]))) for key in "xy"] == [True, True]


def test_integers_beyond_64_bits_stay_as_they_are(store: Store, tmp_path: Path) -> None:
    report = load(store, nodes=written(tmp_path, "id,x\n1,123456789012345678901\n2,5\n"))
    assert values(store, "x") == ["123456789012345678901", "5"]
    assert "beyond 64 bits" in report.warnings[0]


WRITINGS = {
    "plain": b"id,t\n1,a\n2,b\n",
    "no last line end": b"id,t\n1,a\n2,b",
    "CRLF": b"id,t\r\n1,a\r\n2,b\r\n",
    "mixed line ends": b"id,t\r\n1,a\n2,b\r\n",
    "byte order mark": b"\xef\xbb\xbfid,t\n1,a\n2,b\n",
    "blank lines": b"\n\nid,t\n\n1,a\n\n2,b\n\n",
    "quotes": b'"id","t"\n"1","a"\n2,"b"\n',
    "semicolons": b"id;t\n1;a\n2;b\n",
    "tabs": b"id\tt\n1\ta\n2\tb\n",
    "bars": b"id|t\n1|a\n2|b\n",
    "trailing delimiter": b"id,t,\n1,a,\n2,b,\n",
    "trailing delimiter in rows": b"id,t\n1,a,\n2,b,\n",
    "gzip": gzip.compress(b"id,t\n1,a\n2,b\n"),
    "an ignored column": b"id,z:IGNORE,t\n1,8,a\n2,9,b\n",
}


@pytest.mark.parametrize("data", WRITINGS.values(), ids=WRITINGS.keys())
def test_ways_to_write(store: Store, tmp_path: Path, data: bytes) -> None:
    load(store, nodes={"A": written(tmp_path, data)})
    assert nodes_of(store) == {
        1: (("A",), {"id": 1, "t": "a"}),
        2: (("A",), {"id": 2, "t": "b"}),
    }


def test_quoted_fields(store: Store, tmp_path: Path) -> None:
    text = 'id,t\n1,"a\nb"\n2,"say ""hi"", ok"\n3,5" pipe\n4,é€😀\n'
    load(store, nodes=written(tmp_path, text))
    assert values(store, "t") == ["a\nb", 'say "hi", ok', '5" pipe', "é€😀"]


def test_a_name_that_is_a_pattern_for_files(store: Store, tmp_path: Path) -> None:
    written(tmp_path, "id\n9\n", "ab.csv")
    load(store, nodes=written(tmp_path, "id\n1\n", "a*.csv"))
    assert list(nodes_of(store)) == [1]


@pytest.mark.parametrize("way", ["nodes", "edges"])
def test_a_header_and_no_rows(store: Store, tmp_path: Path, way: str) -> None:
    path = written(tmp_path, "source,target,x\n")
    report = load(store, nodes=path) if way == "nodes" else load(store, edges=path)
    assert "holds a header and no rows" in report.warnings[0]
    assert (report.vertices, report.edges) == (0, 0)


def test_labels_and_types_in_columns(store: Store, tmp_path: Path) -> None:
    people = written(tmp_path, "id:ID,:LABEL\n1,A;B\n2, B ;A\n3,\n4,C\n", "n.csv")
    knows = written(tmp_path, ":START_ID,:END_ID,:TYPE,w\n1,2,X,5\n2,3,Y,6\n3,4,,7\n", "e.csv")
    load(store, nodes={"D": people}, edges=knows, type="Z")
    assert {k: labels for k, (labels, _) in nodes_of(store).items()} == {
        1: ("A", "B", "D"),
        2: ("A", "B", "D"),
        3: ("D",),
        4: ("C", "D"),
    }
    assert edges_of(store) == [
        ("X", 1, 2, {"w": 5}),
        ("Y", 2, 3, {"w": 6}),
        ("Z", 3, 4, {"w": 7}),
    ]


def test_two_labels_for_a_file(store: Store, tmp_path: Path) -> None:
    load(store, nodes={"B:A": written(tmp_path, "id\n1\n")})
    assert nodes_of(store) == {1: (("A", "B"), {"id": 1})}


def test_names_that_are_words_of_the_language(tmp_path: Path) -> None:
    with gdb.connect() as db:
        db.load(nodes={"MATCH": written(tmp_path, "id,select,c0,line,record\n1,2,3,4,5\n")})
        row = db.execute("MATCH (n:`MATCH`) RETURN n.`select`, n.c0, n.line, n.record").fetchone()
    assert row == (2, 3, 4, 5)


def test_id_spaces_and_mappings(store: Store, tmp_path: Path) -> None:
    a, b = written(tmp_path, "id\n1\n", "a.csv"), written(tmp_path, "id\n1\nx\n", "b.csv")
    e, f = written(tmp_path, "s,t\n1,x\n", "e.csv"), written(tmp_path, "s,t\n1,1\n", "f.csv")
    load(store, nodes={"A": a}, id_space="A")
    load(store, nodes={"B": [b]}, id_space="B")
    report = load(store, edges={"T": [(e, "A", "B"), (f, "B", "A")]})
    assert (report.vertices, report.edges) == (0, 2)
    assert edges_of(store) == [("T", "1", 1, {}), ("T", 1, "x", {})]


def test_which_file_holds_edges(store: Store, tmp_path: Path) -> None:
    n, e = written(tmp_path, "id,x\n1,2\n3,4\n", "n.csv"), written(tmp_path, "from,to\n1,3\n")
    report = load(store, [e, n])
    assert [f.format for f in report.files] == ["CSV nodes", "CSV relationships"]
    assert (report.vertices, report.edges, report.warnings) == (2, 1, [])


def test_a_first_line_that_may_be_data(store: Store, tmp_path: Path) -> None:
    report = load(store, edges=written(tmp_path, "ann,bob\nbob,cid\n"))
    assert "taken for a header" in report.warnings[0]


def test_a_column_without_values_has_no_type(store: Store, tmp_path: Path) -> None:
    one = written(tmp_path, "id,x\n1,\n", "1.csv")
    two = written(tmp_path, "id,x\n2,5\n", "2.csv")
    load(store, nodes={"A": one})
    load(store, nodes={"A": two})
    assert kind(store, "x") == "int64"
    assert values(store, "x") == [None, 5]


def test_many_distinct_texts(store: Store, tmp_path: Path) -> None:
    rows = "".join(f"n{i},text é {i * 7919 % 100_003}\n" for i in range(150_000))
    load(store, nodes=written(tmp_path, "id,t\n" + rows))
    wanted = {f"n{i}": f"text é {i * 7919 % 100_003}" for i in range(150_000)}
    assert {k: p["t"] for k, (_, p) in nodes_of(store).items()} == wanted


# ---- real tables --------------------------------------------------------------------------------


def test_bitcoin_otc(store: Store, shared_data: Path) -> None:
    folder = shared_data / "bitcoin-otc"
    load(store, nodes={"User": folder / "nodes.csv"}, columns=["id"])
    columns = ["source", "target", "rating", "time"]
    report = load(store, edges={"RATED": folder / "edges.csv"}, columns=columns)
    assert (report.vertices, report.edges) == (0, 35592)
    assert store.snapshot().vertex_count == 5881
    assert store.snapshot().edge_types[0].keys == {"rating": "int64", "time": "float64"}


def test_northwind(store: Store, shared_data: Path) -> None:
    folder = shared_data / "northwind"
    names = {
        "Category": "categories",
        "Customer": "customers",
        "Employee": "employees",
        "Order": "orders",
        "Product": "products",
        "Supplier": "suppliers",
    }
    with pytest.raises(ImportFailed) as caught:  # an address holds a comma and no quotes
        load(store, nodes={"Order": folder / "orders.csv"})
    assert caught.value.line == 4
    for label, name in names.items():
        load(store, nodes={label: folder / f"{name}.csv"}, id_space=label, on_error="skip")
    report = load(
        store,
        edges={"ORDERS": (folder / "order-details.csv", "Order", "Product")},
        missing_ends="create",
    )
    assert report.edges == 2155
    snapshot = store.snapshot()
    counts = {g.labels: g.count for g in snapshot.groups}
    lost = counts.pop((), 0)
    assert counts == {
        ("Category",): 8,
        ("Customer",): 91,
        ("Employee",): 9,
        ("Order",): 830 - lost,
        ("Product",): 77,
        ("Supplier",): 20,  # nine of 29 lines have more fields than the header
    }
    assert 0 < lost < 830
    kinds = {"discount": "float64", "quantity": "int64", "unitPrice": "float64"}
    assert snapshot.edge_types[0].keys == kinds


@pytest.mark.parametrize("name", ["lsqb-example", "lsqb-sf0.003"])
def test_lsqb(shared_data: Path, name: str) -> None:
    """Bars, neo4j headers, id spaces, two labels for messages, undirected KNOWS; and the known counts."""
    folder = shared_data / name
    nodes: dict[str, Path] = {}
    edges: dict[str, list[Path]] = {}
    for path in sorted(folder.glob("[A-Z]*.csv")):
        if "_" in path.stem:
            word = re.sub(r"([A-Z])", r"_\1", path.stem.split("_")[1]).upper()
            edges.setdefault(word, []).append(path)
        else:
            message = ":Message" * (path.stem in ("Post", "Comment"))
            nodes[path.stem + message] = path
    knows = edges.pop("KNOWS")
    lines = {path: len(path.read_text().splitlines()) - 1 for path in folder.glob("[A-Z]*.csv")}
    with gdb.connect() as db:
        report = db.load(nodes=nodes, edges=edges)
        assert report.vertices == sum(lines[path] for path in nodes.values())
        assert report.edges == sum(lines[path] for paths in edges.values() for path in paths)
        report = db.load(edges={"KNOWS": knows}, directed=False)
        assert (report.vertices, report.edges) == (0, sum(lines[path] for path in knows))
        truth = json.loads((shared_data / "truth" / f"{name}.json").read_text())
        for query in ("q1", "q2", "q3", "q4", "q5", "q6", "q8", "q9"):
            plan = db.explain(truth[query]["cypher"], device="cpu")
            assert re.search(r"^ *count ", plan, re.MULTILINE)  # not listed, nor clause by clause
            found = db.execute(truth[query]["cypher"], device="cpu").scalar()
            assert (query, found) == (query, truth[query]["count"])
