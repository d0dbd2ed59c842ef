"""Operators over arrays: the first operators of a query that writes, for all rows at once."""
