"""The procedures that every database has, and those that a program registers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING

from gdb.api.schema import schema_of
from gdb.errors import NameProblem, TypeProblem
from gdb.language.procedure_signatures import Procedure, signature

if TYPE_CHECKING:
    from gdb.storage.graph.snapshot import Snapshot

BUILT_IN: dict[str, Procedure] = {}
_Rows = Iterable[Sequence[object]]


def built_in(text: str, help: str) -> Callable[[Callable[[Snapshot], _Rows]], None]:
    """Register the decorated function of the graph."""

    def register(function: Callable[[Snapshot], _Rows]) -> None:
        made = signature(text)
        BUILT_IN[made.name] = Procedure(made, lambda graph, _: function(graph), help)

    return register


def with_procedure(
    known: Mapping[str, Procedure], text: str, function: Callable[..., Iterable[object]], help: str
) -> dict[str, Procedure]:
    """The procedures and one more; see `Database.register_procedure`."""
    if not isinstance(text, str):
        raise TypeProblem(f"a signature is a text, not {type(text).__name__}.")
    if not callable(function):
        raise TypeProblem(f"a procedure is a function, not {type(function).__name__}.")
    made = signature(text)
    if made.name in ALWAYS:
        raise NameProblem(f"{made.name} is a procedure of gdb.", "Give yours another name.")
    return _with_list(
        {**known, made.name: Procedure(made, lambda _, given: function(*given), help)}
    )


# ---- what every database has ---------------------------------------------------------------------


@built_in("db.labels() :: (label :: STRING)", "The labels of nodes.")
def _labels(graph: Snapshot) -> _Rows:
    return [(label,) for label in schema_of(graph).labels]


@built_in("db.relationshipTypes() :: (relationshipType :: STRING)", "The types of relationships.")
def _types(graph: Snapshot) -> _Rows:
    return [(type_,) for type_ in schema_of(graph).types]


@built_in(
    "db.propertyKeys() :: (propertyKey :: STRING)", "The keys of properties, of all elements."
)
def _keys(graph: Snapshot) -> _Rows:
    return [(key,) for key in schema_of(graph).keys]


@built_in(
    "db.schema.nodeTypeProperties() :: (nodeType :: STRING, nodeLabels :: LIST OF STRING, count :: INTEGER,"
    " propertyName :: STRING?, propertyTypes :: LIST OF STRING?)",
    "The properties of the nodes of each set of labels, and how many nodes there are.",
)
def _node_properties(graph: Snapshot) -> Iterator[Sequence[object]]:
    for kind in schema_of(graph).nodes:
        name = "".join(f":`{label}`" for label in kind.labels)
        yield from _properties((name, [*kind.labels], kind.count), kind.properties)


@built_in(
    "db.schema.relTypeProperties() :: (relType :: STRING, count :: INTEGER,"
    " propertyName :: STRING?, propertyTypes :: LIST OF STRING?)",
    "The properties of the relationships of each type, and how many relationships there are.",
)
def _relationship_properties(graph: Snapshot) -> Iterator[Sequence[object]]:
    for kind in schema_of(graph).relationships:
        yield from _properties((f":`{kind.type}`", kind.count), kind.properties)


@built_in(
    "dbms.components() :: (name :: STRING, versions :: LIST OF STRING, edition :: STRING)",
    "What answers, and its version.",
)
def _components(graph: Snapshot) -> _Rows:
    version = import_module("gdb").__version__  # by name: gdb itself is above this room
    return [("gdb", [version], "embedded")]


def _properties(
    of: tuple[object, ...], properties: Mapping[str, str]
) -> Iterator[Sequence[object]]:
    """A row for each property; one without where there are none."""
    for key, kind in properties.items():
        yield (*of, key, [kind])
    if not properties:
        yield (*of, None, None)


def _with_list(known: Mapping[str, Procedure]) -> dict[str, Procedure]:
    """The procedures and the one that lists them, itself too."""
    text = "dbms.procedures() :: (name :: STRING, signature :: STRING, description :: STRING)"
    every = dict(known)

    def rows(graph: Snapshot, arguments: Sequence[object]) -> _Rows:
        return [(name, str(one.signature), one.help) for name, one in sorted(every.items())]

    own = Procedure(signature(text), rows, "The procedures that there are.")
    every[own.signature.name] = own
    return every


ALWAYS = _with_list(BUILT_IN)
"""The procedures of a database for which none was registered."""
