"""Plans that other processes run: tasks of a pool, a Dask cluster or any executor.

`cluster` sends tasks and merges their answers; `task` is what a worker does.
"""
