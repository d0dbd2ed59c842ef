"""The store: bytes, imports, statements and commits that write, memory budgets."""
