"""GraphML of yEd, which writes what it draws as elements inside of data."""

from __future__ import annotations

from pathlib import Path

import networkx as nx
import pytest

import gdb
from tests.unit.storage.importer.test_documents import EDGES, NODES, refused, rows

YED = """<?xml version="1.0" encoding="UTF-8" standalone="no"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns" xmlns:y="http://www.yworks.com/xml/graphml">
  <key attr.name="Description" attr.type="string" for="graph" id="d0"/>
  <key for="port" id="d1" yfiles.type="portgraphics"/>
  <key attr.name="url" attr.type="string" for="node" id="d4"/>
  <key for="node" id="d6" yfiles.type="nodegraphics"/>
  <key for="graphml" id="d7" yfiles.type="resources"/>
  <key for="edge" id="d10" yfiles.type="edgegraphics"/>
  <graph edgedefault="directed" id="G">
    <data key="d0"/>
    <node id="n0">
      <data key="d4"><![CDATA[http://ada]]></data>
      <data key="d6">
        <y:ShapeNode>
          <y:Geometry height="30.0" width="30.0" x="1.0" y="2.0"/>
          <y:NodeLabel alignment="center" xml:space="preserve">Ada
Lovelace<y:LabelModel><y:SmartNodeLabelModel distance="4.0"/></y:LabelModel>
          </y:NodeLabel>
          <y:Shape type="rectangle"/>
        </y:ShapeNode>
      </data>
    </node>
    <node id="n1">
      <data key="d6"><y:ImageNode><y:NodeLabel> Bob </y:NodeLabel></y:ImageNode></data>
      <port name="p"><data key="d4">of the port</data></port>
    </node>
    <node id="n2"><data key="d6"><y:SVGNode><y:NodeLabel hasText="false"/></y:SVGNode></data></node>
    <edge id="e0" source="n0" target="n1">
      <data key="d10"><y:PolyLineEdge><y:EdgeLabel>knows</y:EdgeLabel></y:PolyLineEdge></data>
    </edge>
    <edge id="e1" source="n1" target="n2"><data key="d10"><y:ArcEdge/></data></edge>
  </graph>
  <data key="d7"><y:Resources/></data>
</graphml>
"""


def test_labels_that_yed_draws_are_properties_as_in_networkx(tmp_path: Path) -> None:
    (tmp_path / "g.graphml").write_text(YED, encoding="utf-8")
    with gdb.connect() as db:
        report = db.load(tmp_path / "g.graphml")
        assert rows(db, NODES) == [
            ("n0", [], {"label": "Ada\nLovelace", "url": "http://ada"}),
            ("n1", [], {"label": " Bob "}),
            ("n2", [], {}),
        ]
        assert rows(db, EDGES) == [
            ("n0", "EDGE", {"label": "knows"}, "n1"),
            ("n1", "EDGE", {}, "n2"),
        ]
        labels = dict(db.execute("MATCH (n) RETURN id(n), n.label").fetchall())
    warned = "\n".join(report.warnings)
    assert "left out: elements inside of data of nodes, as what yEd draws (3 times)" in warned
    assert "left out: elements inside of data of edges, as what yEd draws (2 times)" in warned
    assert "left out: ports of nodes" in warned
    with pytest.warns(UserWarning, match="port"):
        graph = nx.read_graphml(tmp_path / "g.graphml")
    assert labels == {name: held.get("label") for name, held in graph.nodes(data=True)}


def test_further_labels_are_left_out_with_a_warning(tmp_path: Path) -> None:
    more = "<y:NodeLabel>B</y:NodeLabel><y:UML><y:MethodLabel>run()</y:MethodLabel></y:UML>"
    (tmp_path / "g").write_text(YED.replace("</y:ImageNode>", f"{more}</y:ImageNode>"))
    with gdb.connect() as db:
        report = db.load(tmp_path / "g")
        assert db.execute("MATCH (n) WHERE id(n) = 'n1' RETURN n.label").scalar() == " Bob "
    warned = "\n".join(report.warnings)
    assert "left out: labels of nodes beyond the first (yEd)" in warned
    assert "left out: attributes and methods of classes, of nodes (yEd)" in warned


def test_a_label_beside_a_property_of_that_name(tmp_path: Path) -> None:
    same = YED.replace('attr.name="url"', 'attr.name="label"')
    failed = refused(tmp_path, "g", same)
    assert "node n0 has two values of 'label', 'http://ada' and 'Ada\\nLovelace'" in str(failed)
    assert "another attr.name" in failed.cure
    assert failed.line == 11
    (tmp_path / "g").write_text(same.replace("http://ada", "Ada\nLovelace"))
    with gdb.connect() as db:
        db.load(tmp_path / "g")
        assert db.execute("MATCH (n) WHERE id(n) = 'n0' RETURN n.label").scalar() == "Ada\nLovelace"
