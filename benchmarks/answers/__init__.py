"""Rows of an answer on their way to Python and Arrow."""
