"""Graphs, patterns and published figures that the programs measure on. Nothing here measures."""
