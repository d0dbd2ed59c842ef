"""What GEXF and GML say that GraphML does not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import gdb
from tests.unit.storage.importer.test_documents import EDGES, NODES, refused, rows

# ---- GEXF ------------------------------------------------------------------------------------------

GEXF = """<?xml version="1.0" encoding="UTF-8"?>
<gexf xmlns="http://gexf.net/1.3" xmlns:viz="http://gexf.net/1.3/viz" version="1.3">
<graph defaultedgetype="directed"><attributes class="node"><attribute id="0" title="url" type="string"/>
<attribute id="1" title="n" type="integer"><default>5</default></attribute>
<attribute id="2" title="tags" type="liststring"/></attributes>
<nodes><node id="0" label="Gephi"><attvalues><attvalue for="0" value="http://g"/>
<attvalue for="2" value="[a, b]"/></attvalues><viz:color r="1" g="2" b="3"/></node>
<node id="1" label="Web" start="2009"><attvalues><attvalue for="1" value="8"/></attvalues></node></nodes>
<edges><edge id="0" source="0" target="1" weight="2.5" kind="LINKS"/>
<edge id="1" source="1" target="0" type="mutual" kind="PEERS" label="x"/></edges></graph></gexf>
"""


def test_gexf_of_gephi(tmp_path: Path) -> None:
    (tmp_path / "g").write_text(GEXF, encoding="utf-8")
    with gdb.connect() as db:
        report = db.load(tmp_path / "g")
        assert rows(db, NODES) == [
            (0, [], {"label": "Gephi", "n": 5, "tags": ["a", "b"], "url": "http://g"}),
            (1, [], {"label": "Web", "n": 8}),
        ]
        assert rows(db, EDGES) == [
            (0, "LINKS", {"weight": 2.5}, 1),
            (0, "PEERS", {"label": "x"}, 1),
            (1, "PEERS", {"label": "x"}, 0),
        ]
    told = "\n".join(report.warnings)
    assert "left out: what is for drawing" in told
    assert "left out: times of nodes" in told


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('value="8"', 'value="x"', "node 1 has 'x', which is no integer as 'n'"),
        ('type="mutual"', 'type="both"', "edge 1 is of type 'both'"),
        ('for="2"', 'for="9"', "names the attribute '9'"),
        ('target="1"', 'target="7"', "there is no node with id 7"),
        ('<node id="0"', "<node", "node has no id"),
    ],
)
def test_bad_gexf(old: str, new: str, said: str, tmp_path: Path) -> None:
    failed = refused(tmp_path, "g", GEXF.replace(old, new))
    assert said in str(failed)
    assert failed.line


DYNAMIC = """<gexf xmlns="http://gexf.net/1.3"><graph mode="dynamic" defaultedgetype="directed">
<attributes class="node" mode="dynamic"><attribute id="0" title="score" type="integer"/></attributes>
<nodes><node id="0"><attvalues>
<attvalue for="0" value="1" start="1" end="2"/>
<attvalue for="0" value="2" start="2" end="3"/></attvalues></node>
<node id="1"><attvalues><attvalue for="0" value="5" timestamp="1"/></attvalues></node></nodes>
</graph></gexf>
"""


def test_of_values_over_time_the_last_is_kept_with_a_warning(tmp_path: Path) -> None:
    (tmp_path / "g").write_text(DYNAMIC, encoding="utf-8")
    with gdb.connect() as db:
        report = db.load(tmp_path / "g")
        assert rows(db, NODES) == [(0, [], {"score": 2}), (1, [], {"score": 5})]
    kept, times = sorted(report.warnings, key=len, reverse=True)
    assert (
        "left out: values of the attribute 'score': node 0 (line 3) has several over time" in kept
    )
    assert "the last in the file is kept" in kept
    assert times.endswith("left out: times of values (3 times)")


def test_several_values_without_times_are_refused(tmp_path: Path) -> None:
    text = re.sub(r' start="\d" end="\d"', "", DYNAMIC)
    failed = refused(tmp_path, "g", text)
    assert "node 0 has two values of 'score', 1 and 2 (lines 4 and 5)" in str(failed)
    assert failed.line == 3
    (tmp_path / "g").write_text(text.replace('value="2"', 'value="1"'), encoding="utf-8")
    with gdb.connect() as db:  # the same twice is no contradiction
        db.load(tmp_path / "g")
        assert rows(db, NODES) == [(0, [], {"score": 1}), (1, [], {"score": 5})]


TITLES = """<gexf><graph>
<attributes class="node"><attribute id="l" title="label" type="string"/></attributes>
<attributes class="edge"><attribute id="w" title="weight" type="string"/></attributes>
<nodes><node id="0" label="A"><attvalues><attvalue for="l" value="A"/></attvalues></node></nodes>
<edges><edge id="7" source="0" target="0" weight="2.5"><attvalues>ATT</attvalues></edge></edges></graph></gexf>
"""


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('value="A"', 'value="B"', "node 0 has two values of 'label', 'B' and 'A'"),
        ("ATT", '<attvalue for="w" value="x"/>', "edge 7 has two values of 'weight', 'x' and 2.5"),
    ],
)
def test_an_attribute_named_as_what_the_format_has(
    old: str, new: str, said: str, tmp_path: Path
) -> None:
    (tmp_path / "g").write_text(TITLES.replace("ATT", ""), encoding="utf-8")
    with gdb.connect() as db:
        db.load(tmp_path / "g")
        assert rows(db, NODES) == [(0, [], {"label": "A"})]
    failed = refused(tmp_path, "g", TITLES.replace(old, new).replace("ATT", ""))
    assert said in str(failed)
    assert "another title" in failed.cure
    (tmp_path / "g").write_text(TITLES.replace(old, new).replace("ATT", ""), encoding="utf-8")
    with gdb.connect() as db, pytest.warns(gdb.errors.LinesSkipped):
        assert len(db.load(tmp_path / "g", on_error="skip").rejected) == 1


# ---- GML -------------------------------------------------------------------------------------------

GML = """Creator "somebody"
Version 1
# a comment
graph
[
  directed 1
  comment "the &quot;graph&quot;"
  node [ id 1 label "Ada
Lovelace" x 1.5 y -2E3 tag "a" tag "b" graphics [ x 10 y 20 fill "#FFF" ] ]
  node [ id -2 label "&#233;" ]
  edge [ source 1 target -2 type "KNOWS" w 3 ]
]
"""


def test_gml(tmp_path: Path) -> None:
    (tmp_path / "g").write_text(GML, encoding="utf-8")
    with gdb.connect() as db:
        report = db.load(tmp_path / "g")
        assert rows(db, NODES) == [
            (-2, [], {"label": "é"}),
            (1, [], {"label": "Ada\nLovelace", "tag": ["a", "b"], "x": 1.5, "y": -2000.0}),
        ]
        assert rows(db, EDGES) == [(1, "KNOWS", {"w": 3}, -2)]
    assert "left out: lists of keys, as 'graphics'" in "\n".join(report.warnings)


@pytest.mark.parametrize(
    ("old", "new", "said", "line"),
    [
        ("id -2", "id", "'\"' is out of place|out of place", 10),
        ("id -2", "x -2", "node has no id", 10),
        ("target -2", "target 3", "there is no node with id 3", 11),
        ("id -2", "id 1", "node 1 occurs twice", 10),
        ("w 3", "w 99999999999999999999", "does not fit 64 bits", 11),
        ("w 3", "w ?", "is no GML", 11),
        ("w 3 ]\n]", "w 3 ]", "ends before this list is closed", 5),
        ('"&#233;"', '"&#233;', "a text is not closed|out of place", None),
        ("directed 1", "directed 1 ] graph [", "a second graph", 6),
        ("comment", "x [ " * 40, "more than 32 deep", 7),
    ],
)
def test_bad_gml(old: str, new: str, said: str, line: int | None, tmp_path: Path) -> None:
    failed = refused(tmp_path, "g", GML.replace(old, new))
    assert re.search(said, str(failed)), str(failed)
    assert line is None or failed.line == line
