"""The logical plan of a query, whichever way its clauses were written: rewrites of the tree (`rewrites`), operators
(`operators`, `build`), and passes over them (`planning`)."""
