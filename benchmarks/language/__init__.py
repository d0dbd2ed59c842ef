"""Clauses of the language: preparation of a query, several clauses, paths, scripts that write."""
