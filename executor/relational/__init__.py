"""The relational tail: what follows MATCH, as SQL of DuckDB over columns of the embeddings table.

Arrow goes in and out without copies. DuckDB connections are private, bounded in memory and cancellable.
"""
