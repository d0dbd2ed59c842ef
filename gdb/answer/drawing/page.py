"""A drawing as a page of HTML, in one file, whose nodes can be moved, that can be enlarged, and that shows the
details and the neighbours of the element under the pointer."""

from __future__ import annotations

from html import escape

_HEAD = """\
<meta charset="utf-8"/>
<style>
@media (prefers-color-scheme: dark) { :root { --gdb-ground: #1e1e1e; --gdb-ink: #e0e0e0; } }
html, body { margin: 0; height: 100%; overflow: hidden; background: var(--gdb-ground, #ffffff); }
svg { width: 100% !important; height: 100% !important; max-width: none !important; max-height: none !important;
  display: block; cursor: grab; touch-action: none; user-select: none; }
.node { cursor: pointer; }
.edge .reach { stroke-width: 10; stroke: transparent; }
.faint { opacity: 0.2; }
#about { position: fixed; left: 12px; top: 12px; max-width: min(420px, 45%); max-height: 60%; overflow: hidden;
  padding: 6px 10px; border: 1px solid #888888; border-radius: 4px; font: 13px sans-serif; white-space: pre-wrap;
  overflow-wrap: anywhere; background: var(--gdb-ground, #ffffff); color: var(--gdb-ink, #222222);
  pointer-events: none; }
</style>
"""

_SCRIPT = """\
"use strict";
const svg = document.querySelector("svg");
const about = document.getElementById("about");
const nodes = [...svg.querySelectorAll(".node")];
const edges = [...svg.querySelectorAll(".edge")];
const texts = [...svg.querySelectorAll(".captions text, .types text")];
const at = nodes.map((node) => {
  const circle = node.querySelector("circle");
  return [Number(circle.getAttribute("cx")), Number(circle.getAttribute("cy"))];
});
const radius = nodes.length ? Number(nodes[0].querySelector("circle").getAttribute("r")) : 0;
const first = at.map((place) => [...place]);

// ---- the view: the whole drawing, never more than half again as large as it is in a notebook
const whole = svg.getAttribute("viewBox").split(" ").map(Number);
let box = [...whole];
svg.removeAttribute("width");
svg.removeAttribute("height");
const show = () => svg.setAttribute("viewBox", box.join(" "));
const fit = () => {
  const width = Math.max(whole[2], svg.clientWidth / 1.5), height = Math.max(whole[3], svg.clientHeight / 1.5);
  box = [whole[0] - (width - whole[2]) / 2, whole[1] - (height - whole[3]) / 2, width, height];
  show();
};
fit();
const point = (event) => {
  const found = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
  return [found.x, found.y];
};
svg.addEventListener("wheel", (event) => {
  event.preventDefault();
  const [x, y] = point(event);
  const by = Math.min(Math.max(Math.exp(event.deltaY * 0.0015), 40 / box[2]), 20 * whole[2] / box[2]);
  box = [x - (x - box[0]) * by, y - (y - box[1]) * by, box[2] * by, box[3] * by];
  show();
}, { passive: false });
svg.addEventListener("dblclick", fit);

// ---- moving: a node with its lines, else all
const format = (place) => place[0].toFixed(1) + " " + place[1].toFixed(1);
const moved = (place, way, far) => [place[0] + way[0] * far, place[1] + way[1] * far];
const towards = (start, end, far) => {
  const length = Math.hypot(end[0] - start[0], end[1] - start[1]) || 1;
  return moved(start, [(end[0] - start[0]) / length, (end[1] - start[1]) / length], far);
};
const caption = (kind, number) => texts.find((text) => text.dataset[kind] === String(number));
const place = (text, [x, y], angle) => {
  if (!text) return;
  text.setAttribute("x", x.toFixed(1));
  text.setAttribute("y", y.toFixed(1));
  if (angle) text.setAttribute("transform", "rotate(" + angle.toFixed(1) + " " + format([x, y]) + ")");
  else text.removeAttribute("transform");
};
const bow = (number) => {  // as in curve.py
  const edge = edges[number], tip = edge.querySelector(".tip");
  const start = at[edge.dataset.start], end = at[edge.dataset.end], bend = Number(edge.dataset.bend);
  const across = end[0] - start[0], along = end[1] - start[1], length = Math.hypot(across, along) || 1;
  const aside = [-along / length, across / length], centre = [(start[0] + end[0]) / 2, (start[1] + end[1]) / 2];
  const control = moved(centre, aside, 2 * bend);
  const point = towards(end, control, radius), last = tip ? towards(end, control, radius + 7) : point;
  const line = "M" + format(towards(start, control, radius)) + "Q" + format(control) + " " + format(last);
  for (const path of edge.querySelectorAll(".line, .reach")) path.setAttribute("d", line);
  if (tip) {
    const x = (point[1] - last[1]) * 0.55, y = (last[0] - point[0]) * 0.55;
    const corners = [[last[0] + x, last[1] + y], [last[0] - x, last[1] - y]];
    tip.setAttribute("d", "M" + format(point) + "L" + corners.map(format).join("L") + "Z");
  }
  const angle = Math.atan2(along, across) * 180 / Math.PI, flipped = angle > 90 || angle <= -90;
  const middle = moved(centre, aside, bend + (flipped ? 4 : -4)), down = 8 * Math.abs(along) / length ** 2;
  place(caption("edge", number), moved(middle, [across, along], along > 0 ? down : -down),
    flipped ? angle - 180 * Math.sign(angle) : angle);
};
const shift = (number) => {  // a loop goes with its node
  const own = edges[number].dataset.start, by = [at[own][0] - first[own][0], at[own][1] - first[own][1]];
  const move = "translate(" + format(by) + ")";
  edges[number].setAttribute("transform", move);
  caption("edge", number)?.setAttribute("transform", move);
};
const move = (own, [x, y]) => {
  at[own] = [x, y];
  for (const circle of nodes[own].querySelectorAll("circle")) {
    circle.setAttribute("cx", x.toFixed(1));
    circle.setAttribute("cy", y.toFixed(1));
  }
  place(caption("node", own), [x, y + radius + 13], 0);
  edges.forEach((edge, number) => {
    const { start, end } = edge.dataset;
    if (start === own || end === own) (start === end ? shift : bow)(number);
  });
};
let held = null;
svg.addEventListener("pointerdown", (event) => {
  const node = event.target.closest(".node");
  const from = point(event);
  held = { own: node?.dataset.node, from, was: node && at[node.dataset.node] };
});
const release = () => { held = null; };
window.addEventListener("pointerup", release);
window.addEventListener("pointercancel", release);
window.addEventListener("pointermove", (event) => {
  if (held === null) return;
  const [x, y] = point(event), by = [x - held.from[0], y - held.from[1]];
  if (held.own === undefined) {
    box[0] -= by[0];
    box[1] -= by[1];
    show();
  } else move(held.own, moved(held.was, by, 1));
});

// ---- pointing: what it is, and what is joined to it
const describe = (element) => {
  const title = element.querySelector("title"), words = title.textContent;
  title.remove();  // or the browser shows it as well
  element.addEventListener("pointerenter", () => { about.textContent = words; about.hidden = false; });
  element.addEventListener("pointerleave", () => { about.hidden = true; });
};
[...nodes, ...edges].forEach(describe);
for (const edge of edges) {  // a line is too thin to point at
  const reach = edge.querySelector(".line").cloneNode();
  reach.setAttribute("class", "reach");
  edge.append(reach);
}
const faint = (text, near, joined) => "node" in text.dataset
  ? !near.has(text.dataset.node) : !joined.has(Number(text.dataset.edge));
for (const node of nodes) {
  const own = node.dataset.node;
  node.addEventListener("pointerenter", () => {
    const near = new Set([own]), joined = new Set();
    edges.forEach((edge, number) => {
      const { start, end } = edge.dataset;
      if (start === own || end === own) joined.add(number) && near.add(start).add(end);
      edge.classList.toggle("faint", !joined.has(number));
    });
    for (const other of nodes) other.classList.toggle("faint", !near.has(other.dataset.node));
    for (const text of texts) text.classList.toggle("faint", faint(text, near, joined));
  });
  node.addEventListener("pointerleave", () => {
    for (const part of [...nodes, ...edges, ...texts]) part.classList.remove("faint");
  });
}
"""


def page_of(svg: str, title: str) -> str:
    """The page of a drawing; texts of the graph are only in its SVG, never in its script."""
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n{_HEAD}<title>{escape(title)}</title>\n</head>\n<body>\n'
        f'{svg}\n<div id="about" hidden="hidden"></div>\n<script>\n{_SCRIPT}</script>\n</body>\n</html>\n'
    )
