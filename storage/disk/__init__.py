"""The only door to disk: files, locks, folders, scratch files, DuckDB's sandbox.

`files.Files` is the interface that tests replace to record or fail each call. Knows neither sections nor graphs.
"""
