"""The functions of the language, one row each (`library.py`): signature, Python definition, SQL, and a line for people.

Everything that knows a function knows it from its row: the checks of a query, the evaluator, the translation into SQL,
completion, "did you mean", and the tables of docs/LANGUAGE.md.
"""
