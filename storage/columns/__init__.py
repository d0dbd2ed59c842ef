"""Typed columns in memory: kinds of property values, Arrow and NumPy forms, temporal numbers.

Every other room of the store uses them. They import no other room and touch no file.
"""
