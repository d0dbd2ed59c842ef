"""Patterns, rows and index lookups on a CUDA device."""
