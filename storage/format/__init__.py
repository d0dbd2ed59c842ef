"""The meaning of a store's bytes (docs/FORMAT.md): manifest, journal, segments, packed sections, checks.

Each module encodes and decodes one structure and states its invariants. It imports `columns` and `disk` only.
"""
