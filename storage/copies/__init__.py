"""Copies of a snapshot: backups, and exports as CSV or Parquet.

They read a snapshot and write new folders; they never change a store.
"""
