"""The relational tail: everything after MATCH, run as SQL by DuckDB over columns gathered from the embeddings (design.md §3).

The binder writes a `Tail`; `run` gathers the columns that it names, hands them to a private in-memory DuckDB and gives the
output columns back. Names and literals of the user never reach SQL: columns are c0, c1, ... and o0, o1, ..., values travel as
prepared parameters.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

type Value = int | float | bool | str | None | list["Value"]
"""What a parameter of a query may hold."""
