"""gdb as the runner of the openCypher TCK sees it (`run_tck.py` of the TCK folder says what an adapter is)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import date, datetime, time, timedelta

import tck_values as tck  # the TCK folder is on the path

import gdb
from gdb.base.values.temporal_python import from_python
from gdb.errors import (
    ArgumentProblem,
    ArithmeticProblem,
    ChangeRefused,
    DeletedProblem,
    NameProblem,
    QueryError,
    SyntaxProblem,
    TypeProblem,
)

Rows = list[list[object]]


class Session:
    """One graph in memory."""

    def __init__(self) -> None:
        self.db = gdb.connect()

    def run(
        self, query: str, params: Mapping[str, object]
    ) -> tuple[list[str] | None, Rows, dict[str, int] | None]:
        with self.db.snapshot() as before:
            found = self.db.execute(query, dict(params), device="cpu", timeout=120)
            rows = [[_value(cell) for cell in row] for row in found]
            done, effects = found.summary.effects, dict[str, int]()
            if done is not None:
                effects = _between(_state(before), _state(self.db))
                # relationships have no lasting ids that distinguish them
                effects["+relationships"] = done.relationships_created
                effects["-relationships"] = done.relationships_deleted
        return found.columns, rows, effects

    def procedure(
        self, signature: str, columns: Sequence[str], rows: Sequence[Sequence[object]]
    ) -> None:
        """Register a procedure that gives, of a table of arguments and outputs, the rows that fit its arguments."""

        def answer(*given: object) -> list[Sequence[object]]:
            return [row[len(given) :] for row in rows if list(row[: len(given)]) == list(given)]

        self.db.register_procedure(signature, answer)

    def close(self) -> None:
        self.db.close()


def new_graph() -> Session:
    return Session()


def _state(graph: gdb.Database | gdb.HeldSnapshot) -> dict[str, Counter[object]]:
    """Everything in the graph, as the TCK counts side effects."""
    state: dict[str, Counter[object]] = {
        name: Counter() for name in ("nodes", "relationships", "labels", "properties")
    }
    for (node,) in graph.execute("MATCH (n) RETURN n", device="cpu"):
        state["nodes"][node.id] += 1
        for label in node.labels:
            state["labels"][label] = 1
        for key, value in node.properties.items():
            state["properties"]["node", node.id, key, repr(value)] += 1
    for (one,) in graph.execute("MATCH ()-[r]->() RETURN r", device="cpu"):
        name = one.type, one.start, one.end
        state["relationships"][name] += 1
        for key, value in one.properties.items():
            state["properties"]["relationship", name, key, repr(value)] += 1
    return state


def _between(
    before: Mapping[str, Counter[object]], after: Mapping[str, Counter[object]]
) -> dict[str, int]:
    signs = (("+", after, before), ("-", before, after))
    return {sign + m: (x[m] - y[m]).total() for m in before for sign, x, y in signs}


def _value(value: object) -> object:
    match value:
        case gdb.Node():
            return tck.Node(frozenset(value.labels), _map(value.properties))
        case gdb.Relationship():
            return tck.Rel(value.type, _map(value.properties))
        case gdb.Path():
            starts = [node.id for node in value.nodes]
            forward = [one.start == starts[k] for k, one in enumerate(value.relationships)]
            nodes = [_value(node) for node in value.nodes]
            return tck.Path(nodes, [_value(one) for one in value.relationships], forward)
        case list():
            return [_value(item) for item in value]
        case dict():
            return _map(value)
        case None | bool() | int() | float() | str():
            return value
        case datetime() | date() | time() | timedelta():
            return str(from_python(value))
        case _:
            return str(value)


def _map(value: Mapping[str, object]) -> dict[str, object]:
    return {key: _value(item) for key, item in value.items()}


_OTHER = {
    "MissingParameter": "ParameterMissing",
    "ProcedureNotFound": "ProcedureError",
    "MergeReadOwnWrites": "SemanticError",
    "ListElementAccessByNonInteger": "TypeError",
}


def error_class(error: Exception) -> tuple[str | None, str | None, str | None]:
    """The TCK's class, phase and detail of an error."""
    detail = getattr(error, "detail", "") or None
    if detail in _OTHER:
        return _OTHER[detail], "compile time", detail
    if detail is not None:
        return "SyntaxError", "compile time", detail
    match error:
        case ChangeRefused():
            return "ConstraintVerificationFailed", "runtime", "DeleteConnectedNode"
        case DeletedProblem():
            return "EntityNotFound", "runtime", "DeletedEntityAccess"
        case ArgumentProblem():
            return "ArgumentError", "runtime", None
        case ArithmeticProblem():
            return "ArithmeticError", "runtime", None
        case TypeProblem():
            return "TypeError", "runtime", None
        case SyntaxProblem() | NameProblem():
            return "SyntaxError", "compile time", None
        case QueryError():
            return "SyntaxError", "compile time", None
    return None, None, None
