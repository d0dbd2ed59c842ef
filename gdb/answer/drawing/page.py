"""A drawing as a page of HTML, in one file, that can be moved, made larger, and shows what is joined to a node."""

from __future__ import annotations

from html import escape

_PAGE = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8"/>
<title>{title}</title>
<style>
html, body {{ margin: 0; height: 100%; overflow: hidden; background: #ffffff; }}
svg {{ width: 100%; height: 100%; max-width: none !important; cursor: grab; }}
.faint {{ opacity: 0.12; }}
</style>
</head>
<body>
{svg}
<script>
"use strict";
const svg = document.querySelector("svg");
let box = svg.getAttribute("viewBox").split(" ").map(Number);
svg.removeAttribute("width");
svg.removeAttribute("height");
const show = () => svg.setAttribute("viewBox", box.join(" "));
const scale = () => Math.max(box[2] / svg.clientWidth, box[3] / svg.clientHeight);
svg.addEventListener("wheel", (event) => {{
  event.preventDefault();
  const by = Math.exp(event.deltaY * 0.0015);
  const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
  box = [at.x - (at.x - box[0]) * by, at.y - (at.y - box[1]) * by, box[2] * by, box[3] * by];
  show();
}}, {{ passive: false }});
let held = null;
svg.addEventListener("pointerdown", (event) => {{ held = [event.clientX, event.clientY]; }});
window.addEventListener("pointerup", () => {{ held = null; }});
window.addEventListener("pointermove", (event) => {{
  if (held === null) return;
  const pixel = scale();
  box[0] -= (event.clientX - held[0]) * pixel;
  box[1] -= (event.clientY - held[1]) * pixel;
  held = [event.clientX, event.clientY];
  show();
}});
const nodes = [...document.querySelectorAll(".node")];
const edges = [...document.querySelectorAll(".edge")];
for (const node of nodes) {{
  const own = node.dataset.node;
  node.addEventListener("pointerenter", () => {{
    const near = new Set([own]);
    for (const edge of edges) {{
      const joined = edge.dataset.start === own || edge.dataset.end === own;
      edge.classList.toggle("faint", !joined);
      if (joined) near.add(edge.dataset.start).add(edge.dataset.end);
    }}
    for (const other of nodes) other.classList.toggle("faint", !near.has(other.dataset.node));
  }});
  node.addEventListener("pointerleave", () => {{
    for (const part of [...nodes, ...edges]) part.classList.remove("faint");
  }});
}}
</script>
</body>
</html>
"""


def page_of(svg: str, title: str) -> str:
    """The page of a drawing; texts of the graph are only in its SVG, never in its script."""
    return _PAGE.format(svg=svg, title=escape(title))
