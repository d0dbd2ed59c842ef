"""Drawings of graphs: a scene is what is drawn, laid out by forces, as SVG or as a page that can be moved about."""
