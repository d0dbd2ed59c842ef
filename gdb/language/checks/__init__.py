"""The checks of a query before anything runs, and its warnings.

One recursion goes through clauses (`query_checks`, `projection_checks`, `write_checks`), patterns (`pattern_checks`)
and expressions (`expression_checks`, `operand_checks`). Its only state, a `frame.Frame`, is all that it knows at one
place of the text: the names, and whether an aggregate may be there. `schema_warnings` reads the checked query once
more, beside a snapshot, for warnings.
"""

from gdb.language.checks.query_checks import check as check
