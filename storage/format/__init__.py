"""What the bytes of a store mean (docs/FORMAT.md): manifest, journal, segments, packed sections, checks.

Each module encodes and decodes one structure and states its invariants. It imports `columns` and `disk` only.
"""
