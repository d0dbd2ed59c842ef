"""The loop nest: what a stage does as nested loops over candidate sets, its passes, verifier and tables.

`prepare` goes from a plan to the tables and arrays that both generic kernels take. No module here runs anything.
"""
