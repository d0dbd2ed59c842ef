"""Forked and spawned processes that use gdb: `python -m tests.fork --rounds 200` is the long form (`make fork`)."""
