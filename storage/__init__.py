"""The store: labelled graphs as files of interval-PCSR partitions, committed atomically and read in place.

Rooms, from the lowest: `columns` (typed values), `disk` (the only door to files), `format` (what the bytes mean),
`graph` (a snapshot, read), `write` (commits), `checking`, `copies` and `importer`. Nothing here knows queries.
"""
