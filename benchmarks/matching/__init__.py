"""Patterns on the CPU: counts, plans and passes, beside other engines and hand-written loops."""
