"""One committed state of a graph, read in place: partitions, vertices, ids, properties, the delta.

`snapshot.Snapshot` is what planner and executors see. It never writes to the store.
"""
