"""A reading query of several clauses over columns: a chain of relations in one DuckDB connection.

`compile.compiled` walks the clauses with a typed environment and writes the steps (`steps`); nothing is read for that
but the names of the store, so that EXPLAIN can show them. `run.ran` takes the steps: patterns are matched by the
executors for all rows of a relation at once, everything else is SQL. What has no static type, or what DuckDB does not
compute exactly as the reference does (`gdb.physical.rows`, `gdb.physical.evaluator`), is refused with the reason, and
the query runs over rows instead.
"""
