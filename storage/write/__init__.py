"""Changes of a store: transactions, commits, compaction, building partitions, renumbering vertices.

`store.Store` is the folder and its version; `commit` and `build` are the two ways in which a new version comes about.
"""
