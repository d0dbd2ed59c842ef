"""The full check of a store: every invariant by name, and facts that are stored twice compared.

What is checked at every opening or first touch is in `format` and `graph`; only `gdb.check` enters here.
"""
