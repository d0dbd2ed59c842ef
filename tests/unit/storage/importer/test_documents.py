"""Documents of a whole graph: GraphML, GEXF and GML, alike in what becomes of them."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import networkx as nx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import gdb
from gdb.errors import ImportFailed
from gdb.storage.importer.documents import collect
from tests.support.effort import share

WRITE = {"graphml": nx.write_graphml, "gexf": nx.write_gexf, "gml": nx.write_gml}
NODES = "MATCH (n) RETURN id(n), labels(n), properties(n)"
EDGES = "MATCH (a)-[r]->(b) RETURN id(a), type(r), properties(r), id(b)"


def rows(db: gdb.Database, query: str) -> list[tuple[Any, ...]]:
    return sorted(db.execute(query).fetchall(), key=repr)


def loaded(tmp_path: Path, name: str, text: str, **options: Any) -> gdb.Database:
    (tmp_path / name).write_text(text, encoding="utf-8")
    db = gdb.connect()
    db.load(tmp_path / name, **options)
    return db


def refused(tmp_path: Path, name: str, text: str, **options: Any) -> ImportFailed:
    """The error; nothing is stored."""
    (tmp_path / name).write_text(text, encoding="utf-8")
    with gdb.connect() as db:
        with pytest.raises(ImportFailed) as failed:
            db.load(tmp_path / name, **options)
        assert db.stats().vertices == 0
    assert failed.value.cure
    return failed.value


# ---- as networkx writes them -----------------------------------------------------------------------


def small_graph(format: str) -> nx.DiGraph:
    graph = nx.DiGraph()
    graph.add_node("ada", age=36, height=1.7, name='Ada "x" <&> é')
    graph.add_node("bob", age=41)
    graph.add_node("eve")
    graph.add_edge("ada", "bob", since=1843, weight=0.5)
    graph.add_edge("bob", "ada", since=1844)
    graph.add_edge("eve", "eve", note="self")
    if format != "gml":  # which has no booleans
        graph.add_edge("ada", "eve", close=True)
    return graph


@pytest.mark.parametrize("format", WRITE)
@pytest.mark.parametrize("packed", [False, True])
def test_what_networkx_writes_is_what_networkx_holds(
    format: str, packed: bool, tmp_path: Path
) -> None:
    graph = small_graph(format)
    file = tmp_path / f"graph.{format}"
    WRITE[format](graph, file)
    if packed:
        file.write_bytes(gzip.compress(file.read_bytes()))
    with gdb.connect() as db:
        report = db.load(file)
        found = {
            a: {key: value for key, value in held.items() if key != "label"}
            for a, _, held in rows(db, NODES)
        }
        names = {a: held.get("label", a) for a, _, held in rows(db, NODES)}
        assert {names[a]: held for a, held in found.items()} == dict(graph.nodes(data=True))
        edges = {(names[a], names[b]): held for a, _, held, b in rows(db, EDGES)}
        assert {k: {n: v for n, v in e.items() if n != "id"} for k, e in edges.items()} == {
            (a, b): held for a, b, held in graph.edges(data=True)
        }
    assert report.rows == len(graph) + graph.number_of_edges()
    assert report.files[0].format.lower() == format


@pytest.mark.parametrize("format", WRITE)
def test_an_undirected_graph_is_undirected(format: str, tmp_path: Path) -> None:
    WRITE[format](nx.Graph([(0, 1), (1, 2)]), tmp_path / "graph")
    with gdb.connect() as db:
        db.load(tmp_path / "graph", type="T")
        assert db.execute("MATCH ()-[:T]->() RETURN count(*)").scalar() == 4


@pytest.mark.parametrize("format", WRITE)
def test_ids_of_digits_are_integers_where_all_are(format: str, tmp_path: Path) -> None:
    WRITE[format](nx.DiGraph([(7, 8)]), tmp_path / "graph")
    with gdb.connect() as db:
        db.load(tmp_path / "graph")
        ids = {id for (id,) in db.execute("MATCH (n) RETURN id(n)").fetchall()}
    assert ids == ({0, 1} if format == "gml" else {7, 8})


@pytest.mark.parametrize("format", WRITE)
@settings(max_examples=share(15), deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_any_graph_comes_back(format: str, data: st.DataObject, tmp_path: Path) -> None:
    number = data.draw(st.integers(1, 12))
    graph = nx.gnp_random_graph(number, 0.4, seed=data.draw(st.integers(0, 99)), directed=True)
    texts = st.text(
        st.characters(
            min_codepoint=32, blacklist_categories=["Cs"], blacklist_characters="￾￿\x7f\x85"
        ),
        max_size=8,
    )
    for node in graph:
        graph.nodes[node]["x"] = data.draw(
            st.integers(-(2**62), 2**62) if format != "gml" else st.integers(-(2**31), 2**31 - 1)
        )
        graph.nodes[node]["f"] = data.draw(st.floats(-1e9, 1e9))
        graph.nodes[node]["t"] = data.draw(texts)
    WRITE[format](graph, tmp_path / "graph")
    with gdb.connect() as db:
        db.load(tmp_path / "graph")
        found = {
            int(held.get("label", a)): (held["x"], held["f"], held.get("t", ""))
            for a, _, held in rows(db, NODES)
        }
        edges = db.execute("MATCH (a)-->(b) RETURN a.x, b.x").fetchall()
    assert found == {n: (d["x"], d["f"], d["t"]) for n, d in graph.nodes(data=True)}
    assert sorted(edges) == sorted(
        (graph.nodes[a]["x"], graph.nodes[b]["x"]) for a, b in graph.edges
    )


# ---- in pieces -------------------------------------------------------------------------------------


@pytest.mark.parametrize("format", WRITE)
def test_it_is_read_in_pieces(format: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collect, "_SOME", 7)
    graph = nx.gnp_random_graph(40, 0.2, seed=3, directed=True)
    for node in graph:
        graph.nodes[node]["x"] = node
    WRITE[format](graph, tmp_path / "graph")
    with gdb.connect() as db:
        db.load(tmp_path / "graph")
        edges = db.execute("MATCH (a)-->(b) RETURN a.x, b.x").fetchall()
    assert sorted(edges) == sorted(graph.edges)


def test_relationships_may_come_before_their_nodes(tmp_path: Path) -> None:
    text = '<graphml><graph><edge source="a" target="b"/><node id="b"/><node id="a"/></graph></graphml>'
    with loaded(tmp_path, "g", text) as db:
        assert rows(db, EDGES) == [("a", "EDGE", {}, "b")]


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        (
            '<graphml><graph edgedefault="directed"><node id="a"/><node id="b"/>FILL<edge source="a" target="b"/>',
            False,
        ),
        ('<graphml><graph><node id="a"/>FILL<edge\nsource="a" target="b"/><node id="b"/>', True),
        (
            '<g:graphml xmlns:g="u"><g:graph><g:node id="a"/>FILL<g:edge source="a" target="b"/><g:node id="b"/>',
            True,
        ),
        ('<graphml><graph><edge source="a" target="b"/>FILL<node id="b"/><node id="a"/>', True),
    ],
)
def test_nodes_are_read_up_to_the_first_relationship_where_none_follows(
    text: str, whole: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = collect.Collecting._are_first
    told: list[bool] = []
    monkeypatch.setattr(
        collect.Collecting, "_are_first", lambda self: told.append(read(self)) or told[-1]
    )
    prefix = "g:" if text.startswith("<g:") else ""
    for filler in (0, 11, 12, 13, 14, 15, 16, 40):
        monkeypatch.setattr(collect, "_PIECE", 64)
        inside = text.replace("FILL", " " * filler)
        with loaded(tmp_path, "g", f"{inside}</{prefix}graph></{prefix}graphml>") as db:
            assert rows(db, EDGES) == [("a", "EDGE", {}, "b")]
    assert any(told) is not whole


def test_progress_goes_from_nothing_to_all(tmp_path: Path) -> None:
    WRITE["graphml"](nx.gnp_random_graph(300, 0.1, seed=1), tmp_path / "g.graphml")
    told: list[gdb.LoadProgress] = []
    with gdb.connect() as db:
        db.load(tmp_path / "g.graphml", progress=told.append)
    read = [at.bytes_read for at in told if at.step.startswith("reading")]
    assert read == sorted(read)
    assert read[-1] == (tmp_path / "g.graphml").stat().st_size


# ---- GraphML of other programs ---------------------------------------------------------------------

NEO4J = """<?xml version="1.0" encoding="UTF-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key id="name" for="node" attr.name="name" attr.type="string"/>
<key id="kids" for="node" attr.name="kids" attr.type="string" attr.list="string"/>
<key id="labels" for="node" attr.name="labels" attr.type="string"/>
<key id="since" for="edge" attr.name="since" attr.type="long"/>
<key id="label" for="edge" attr.name="label" attr.type="string"/>
<graph id="G" edgedefault="directed">
<node id="n0" labels=":Actor:Person"><data key="labels">:Actor:Person</data><data key="name">Ada</data>
<data key="kids">["Sam","Anna"]</data></node>
<node id="n1" labels=":Person"><data key="labels">:Person</data></node>
<edge id="e0" source="n0" target="n1" label="KNOWS"><data key="label">KNOWS</data><data key="since">1993</data></edge>
</graph></graphml>
"""
TINKERPOP = """<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key id="labelV" for="node" attr.name="labelV" attr.type="string"/>
<key id="labelE" for="edge" attr.name="labelE" attr.type="string"/>
<key id="age" for="node" attr.name="age" attr.type="int"><default>7</default></key>
<graph edgedefault="directed"><node id="1"><data key="labelV">person</data></node>
<node id="2"><data key="labelV">person</data><data key="age">9</data></node>
<edge source="1" target="2"><data key="labelE">knows</data></edge></graph></graphml>
"""


def test_labels_and_types_of_neo4j(tmp_path: Path) -> None:
    with loaded(tmp_path, "g", NEO4J) as db:
        assert rows(db, NODES) == [
            ("n0", ["Actor", "Person"], {"kids": ["Sam", "Anna"], "name": "Ada"}),
            ("n1", ["Person"], {}),
        ]
        assert rows(db, EDGES) == [("n0", "KNOWS", {"since": 1993}, "n1")]


def test_labels_types_and_defaults_of_tinkerpop(tmp_path: Path) -> None:
    with loaded(tmp_path, "g", TINKERPOP) as db:
        assert rows(db, NODES) == [(1, ["person"], {"age": 7}), (2, ["person"], {"age": 9})]
        assert rows(db, EDGES) == [(1, "knows", {}, 2)]


def test_what_the_caller_says_holds(tmp_path: Path) -> None:
    text = '<graphml><graph><node id="1"/><node id="2"/><edge source="1" target="2"/></graph></graphml>'
    with loaded(tmp_path, "g", text, label="Person", type="KNOWS", id_space="people") as db:
        assert rows(db, NODES) == [(1, ["Person"], {}), (2, ["Person"], {})]
        assert rows(db, EDGES) == [(1, "KNOWS", {}, 2)]
    with loaded(tmp_path, "g", text, directed=False) as db:
        assert db.execute("MATCH (a)-[:EDGE]->(b) RETURN count(*)").scalar() == 2


def test_loading_again(tmp_path: Path) -> None:
    with loaded(tmp_path, "g", NEO4J) as db:
        with pytest.raises(ImportFailed, match="node 'n0' occurs twice") as failed:
            db.load(tmp_path / "g")
        assert failed.value.line == 9
        (tmp_path / "g").write_text(NEO4J.replace("Ada", "Eva"), encoding="utf-8")
        report = db.load(tmp_path / "g", on_duplicate="update", multi_edges="drop")
        assert (report.vertices, report.updated, report.edges) == (0, 2, 0)
        assert db.execute("MATCH (n:Actor) RETURN n.name").scalar() == "Eva"


def test_a_copy_and_the_shell_read_them(tmp_path: Path) -> None:
    from gdb.repl.main import main

    (tmp_path / "g").write_text(NEO4J, encoding="utf-8")
    with gdb.connect() as db:
        db.execute(f"COPY FROM '{tmp_path}/g'")
        assert len(rows(db, EDGES)) == 1
    assert main(["load", str(tmp_path / "s.gdb"), str(tmp_path / "g")]) == 0
    with gdb.connect(tmp_path / "s.gdb", create=False) as db:
        assert len(rows(db, EDGES)) == 1


@pytest.mark.parametrize("side", ["nodes", "edges"])
def test_a_graph_is_no_table(side: str, tmp_path: Path) -> None:
    (tmp_path / "g").write_text(NEO4J, encoding="utf-8")
    with gdb.connect() as db, pytest.raises(ImportFailed, match="is a whole graph"):
        db.load(nodes=tmp_path / "g") if side == "nodes" else db.load(edges=tmp_path / "g")


def test_only_from_one_folder(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for folder in (tmp_path, tmp_path / "in"):
        (folder / "g.graphml").write_text(NEO4J, encoding="utf-8")
    with gdb.connect(import_root=tmp_path / "in") as db:
        db.load(tmp_path / "in" / "g.graphml")
        assert len(rows(db, EDGES)) == 1
        with pytest.raises(ImportFailed, match="lies outside of the import root"):
            db.load(tmp_path / "g.graphml", on_duplicate="skip")


# ---- bad input -------------------------------------------------------------------------------------


def graphml(inside: str) -> str:
    key = '<key id="k" for="all" attr.name="k" attr.type="int"/>'
    return f"<graphml>\n{key}\n<graph>\n{inside}\n</graph>\n</graphml>\n"


@pytest.mark.parametrize(
    ("inside", "said", "line"),
    [
        ('<node id="a"><data key="k">x</data></node>', "node a has 'x', which is no int as 'k'", 4),
        ('<node id="a"><data key="k">99999999999999999999</data></node>', "which is no int", 4),
        (
            '<node id="a"><data key="q">1</data></node>',
            "names the key 'q' .line 4., which is not",
            4,
        ),
        ("<node/>", "node has no id", 4),
        ('<node id="a"/>\n<edge source="a"/>', "has no target", 5),
        ('<node id="a"/>\n<edge source="a" target="b"/>', "there is no node with id 'b'", 5),
        ('<node id="1"/>\n<edge source="1" target="b"/>', "there is no node with id 'b'", 5),
        ('<node id="a"/>\n<node id="a"/>', "node 'a' occurs twice", 5),
        ('<node id="a"><graph/></node>', "holds a graph in a graph", 4),
        ("<hyperedge/>", "holds a hyperedge", 4),
        ("</graph><graph>", "holds a second graph", 4),
        ('<node id="a">\n</edge>', "not well-formed XML: mismatched tag .column 3.", 5),
        ('<node id="a"', "not well-formed XML", 5),
    ],
)
def test_bad_graphml(inside: str, said: str, line: int, tmp_path: Path) -> None:
    import re

    failed = refused(tmp_path, "g", graphml(inside))
    assert re.search(said, str(failed)), str(failed)
    assert failed.line == line


def test_bad_elements_are_skipped_and_listed(tmp_path: Path) -> None:
    inside = (
        '<node id="1"/>\n<node id="2"><data key="k">x</data></node>\n<node id="3"/>\n<node id="3"/>\n'
        '<edge source="1" target="3"/>\n<edge source="1" target="2"/>\n'
        '<edge source="3" target="1"><data key="k">?</data></edge>'
    )
    (tmp_path / "g").write_text(graphml(inside), encoding="utf-8")
    with gdb.connect() as db:
        with pytest.warns(gdb.errors.LinesSkipped):
            report = db.load(tmp_path / "g", on_error="skip")
        assert sorted(r.line for r in report.rejected) == [5, 7, 9, 10]
        assert rows(db, EDGES) == [(1, "EDGE", {}, 3)]
        assert (report.vertices, report.edges, report.rows) == (2, 1, 3)


BOMB = '<!DOCTYPE graphml [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>\n'


@pytest.mark.parametrize(
    ("prolog", "inside", "said"),
    [
        (BOMB, "&b;", "declares the entity 'a'"),
        (
            '<!DOCTYPE graphml [<!ENTITY x SYSTEM "file:///etc/passwd">]>\n',
            "&x;",
            "declares the entity 'x'",
        ),
        (
            '<!DOCTYPE graphml [<!ENTITY % p SYSTEM "http://127.0.0.1/p"> %p;]>\n',
            "",
            "declares the entity 'p'",
        ),
        ('<!DOCTYPE graphml SYSTEM "http://127.0.0.1/p.dtd">\n', "&y;", "entity 'y'"),
        ("", "&y;", "undefined entity"),
    ],
)
@pytest.mark.parametrize("root", ["graphml", "gexf"])
def test_entities_are_refused(
    root: str, prolog: str, inside: str, said: str, tmp_path: Path
) -> None:
    text = f'{prolog.replace("graphml", root)}<{root}><graph><node id="a">{inside}</node></graph></{root}>'
    assert said in str(refused(tmp_path, "g", text))


def test_a_document_type_without_entities_is_fine(tmp_path: Path) -> None:
    text = '<!DOCTYPE graphml SYSTEM "http://127.0.0.1/g.dtd">\n<graphml><graph><node id="a"/></graph></graphml>'
    with loaded(tmp_path, "g", text) as db:
        assert db.stats().vertices == 1


def test_a_small_file_asks_for_no_more_than_it_holds(tmp_path: Path) -> None:
    """What is written once would be had by every element."""
    added = '<!DOCTYPE graphml [<!ATTLIST node labels CDATA "Added">]>\n'
    with loaded(tmp_path, "g", f'{added}<graphml><graph><node id="a"/></graph></graphml>') as db:
        assert rows(db, NODES) == [("a", [], {})]
    long = f"<default>{'x' * 1001}</default>"
    key = f'<graphml>\n<key id="k" attr.name="k">{long}</key><graph/></graphml>'
    failed = refused(tmp_path, "g", key)
    assert "declares a default of 1,001 characters" in str(failed)
    assert failed.line == 2
    gexf = (
        f'<gexf><graph><attributes><attribute id="0">{long}</attribute></attributes></graph></gexf>'
    )
    assert "declares a default" in str(refused(tmp_path, "g", gexf))


def test_what_has_no_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from gdb.storage.importer.documents import xml_events

    monkeypatch.setattr(xml_events, "LONGEST", 100_000)
    long = "x" * 300_000
    head = '<graphml><key id="k" attr.name="k"/><graph>'
    data = f'{head}<node id="a"><data key="k">{long}</data></node></graph></graphml>'
    assert "a text has more than" in str(refused(tmp_path, "g", data))
    tag = f'{head}<node id="{long}"/></graph></graphml>'
    assert "a tag has more than" in str(refused(tmp_path, "g", tag))
    deep = f"{head}{'<node>' * 100}"
    assert "more than 64 deep" in str(refused(tmp_path, "g", deep))


@pytest.mark.parametrize(
    "filler", ["<!---->", "<?p ?>", " ", "<!DOCTYPE a>", "graph ", "a 1\n", "#\n"]
)
def test_telling_the_format_takes_no_longer_than_reading(filler: str, tmp_path: Path) -> None:
    from gdb.storage.importer.detect import document_of

    assert document_of(filler * 8000 + "&") is None
    assert document_of("<!--" + filler * 8000 + "&") is None


@pytest.mark.parametrize(
    "text",
    [
        '<?xml version="1.0"?>\n<graphml><graph><node id="a"/>FILL</graph></graphml>',
        '<?xml version="1.0"?>\n<gexf><graph><nodes><node id="a"/>FILL</nodes></graph></gexf>',
        "# a comment\ngraph [ node [ id 7 ] FILL ]",
        '[\n{"id": 7, FILL "x": 1}]',
        '\n\n[{"id": 7, FILL "x": "é"}]',
    ],
)
def test_the_format_is_detected_in_a_line_of_any_length(text: str, tmp_path: Path) -> None:
    with loaded(tmp_path, "g", text.replace("FILL", " " * 70_000)) as db:
        assert db.stats().vertices == 1


def test_two_values_of_one_property_are_refused(tmp_path: Path) -> None:
    data = '<data key="a">1</data>\n<data key="b">2</data>'
    keys = '<key id="a" attr.name="x"/><key id="b" attr.name="x"/>'
    text = f'<graphml>{keys}<graph>\n<node id="n">{data}</node></graph></graphml>'
    failed = refused(tmp_path, "g", text)
    assert "node n has two values of 'x', '1' and '2' (lines 2 and 3)" in str(failed)


def test_a_format_that_is_not_detected_is_named_by_the_caller(tmp_path: Path) -> None:
    text = f"<!--{'x' * 70_000}--><graphml><graph><node id='a'/></graph></graphml>"
    assert 'format="graphml"' in refused(tmp_path, "g", text).cure
    with loaded(tmp_path, "g", text, format="graphml") as db:
        assert db.stats().vertices == 1


def test_only_one_document_of_bytes(tmp_path: Path) -> None:
    file = tmp_path / "g"
    file.write_bytes(gzip.compress(b"<graphml><graph>" + b" " * (20 << 20)))
    with gdb.connect() as db, pytest.raises(ImportFailed, match="unpacks to more than"):
        db.load(file, max_unpacked="1MB")
