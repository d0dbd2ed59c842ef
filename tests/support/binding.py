"""Texts and trees as one pattern and its tail, as `gdb.run.pipeline` makes it of them."""

from __future__ import annotations

from collections.abc import Mapping

from gdb.api.procedures import ALWAYS
from gdb.errors import NotSupported
from gdb.executor.relational.relational_tail import Value
from gdb.language.checks import check
from gdb.language.clauses import Query
from gdb.logical.planning import planned
from gdb.physical import binder
from gdb.physical import one_pattern as patterns
from gdb.physical.binder import BoundQuery
from gdb.physical.one_pattern import OnePattern
from gdb.query_graph import MatchMode
from gdb.storage.graph.snapshot import Snapshot


def one_pattern(query: Query, mode: MatchMode) -> OnePattern | None:
    """The query without its names; None where it is no pattern and its tail. Raises what a check finds wrong."""
    return patterns.one_pattern(planned(query, ALWAYS, mode))


def bind(
    query: Query, snapshot: Snapshot, params: Mapping[str, Value], mode: MatchMode
) -> BoundQuery:
    """As `binder.bind`, of a query that is checked first."""
    check(query, params, ALWAYS)
    asked = one_pattern(query, mode)
    if asked is None:
        raise NotSupported("it is more than one pattern and its tail.")
    return binder.bind(asked, snapshot, params, mode)
