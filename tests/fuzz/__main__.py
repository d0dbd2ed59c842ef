"""The long runs: python -m tests.fuzz [suite ...] [--cases N] [--way WAY] [--device D] (`make unique`)."""

from tests.fuzz import clauses, paths, statements, unique, writes
from tests.fuzz.cases import main

SUITES = {
    "unique": (unique.suite, 10_000),
    "paths": (paths.suite, 5_000),
    "clauses": (clauses.suite, 5_000),
    "statements": (statements.suite, 3_000),
    "writes": (writes.suite, 3_000),
}

if __name__ == "__main__":
    main({name: (suite, number) for name, (suite, number) in SUITES.items()})
