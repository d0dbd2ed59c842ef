"""The names of patterns that are matched: those that they bring, and those that were there before."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gdb.functions.static_kinds import NODE, PATH, RELATIONSHIP, Kind, Known, list_of
from gdb.language.checks.frame import Frame
from gdb.language.hidden_names import is_hidden
from gdb.language.quantified_patterns import group_names
from gdb.language.syntax import Name, NodePattern, Parameter, PathPattern, RelationshipPattern

RELATIONSHIPS = list_of(RELATIONSHIP)
UNBOUNDED = "the length of the path has no bound, so there may be very many. Write one, as in *..5."
"""The warning of a path, which `gdb.physical.unbounded_paths` takes back where its paths are not listed."""


def bind(patterns: Sequence[PathPattern], frame: Frame) -> None:
    """Add the names of the patterns of one MATCH to the frame; those that are there already must be of the same kind.

    Raises
    ------
    SyntaxProblem : a name of two kinds, a relationship twice, a path whose name is taken, a map that is a parameter.
    """
    twice: set[str] = set()
    for path in patterns:
        for node in path.nodes:
            _node(node, frame)
        for relationship in path.relationships:
            _relationship(relationship, frame, twice)
            _warn_length(path, relationship, frame)
        if path.name is not None:
            frame.bring(path.name, PATH)
    refuse_parameters(patterns, frame)


def test(pattern: PathPattern, frame: Frame) -> Frame:
    """Check a pattern as a condition: it may name only what is there. The frame inside of it.

    Raises
    ------
    NameProblem : it names something new.
    """
    for part in pattern.parts:
        if part.variable is not None and not is_hidden(part.variable.text):
            frame.need(part.variable.text, part.variable.place)
    inner = frame.inner()
    for node in pattern.nodes:
        _node(node, inner)
    for relationship in pattern.relationships:
        _relationship(relationship, inner, set())
    return inner


def refuse_parameters(patterns: Sequence[PathPattern], frame: Frame) -> None:
    """Refuse a parameter instead of a written map: what is matched would not be known before the query runs."""
    for part in (part for path in patterns for part in path.parts):
        if isinstance(part.given, Parameter):
            message = f"${part.given.name} is used where a map of properties must be written out."
            cure = "Write {key: $value}, one parameter for each property."
            raise frame.not_allowed(part.given.place, "InvalidParameterUse", message, cure)


def _node(node: NodePattern, frame: Frame) -> None:
    if node.variable is not None:
        _warn_dropped(node, node.variable, frame)
        _name(node.variable, NODE, "a node", frame)


def _relationship(relationship: RelationshipPattern, frame: Frame, twice: set[str]) -> None:
    """`twice` : the relationships that this MATCH named already."""
    for inner, is_node in group_names(relationship) if relationship.repeated else ():
        frame.bring(inner, list_of(NODE) if is_node else RELATIONSHIPS)
    name = relationship.variable
    if name is None:
        return
    _warn_type(relationship, frame)
    if name.text in twice:
        message = f"the relationship '{name.text}' occurs twice in the pattern."
        cure = "Give the second one a name of its own; relationships differ anyway."
        raise frame.not_allowed(name.place, "RelationshipUniquenessViolation", message, cure)
    twice.add(name.text)
    if relationship.length is None:
        _name(name, RELATIONSHIP, "a relationship", frame)
    else:
        _name(name, RELATIONSHIPS, "a list of relationships", frame)


def _name(name: Name, wanted: Known, shown: str, frame: Frame) -> None:
    """Take a name as this kind: it is new, or it is of this kind already, or its kind is not known yet."""
    known = frame.find(name.text)
    if known is not None and not (known.may_be((wanted.kind,)) and _items_fit(known, wanted)):
        raise frame.conflict(name, shown)
    if known is None or name.text in frame.names:
        frame.names[name.text] = wanted


def _items_fit(known: Known, wanted: Known) -> bool:
    return known.kind is not Kind.LIST or known.items.may_be((wanted.items.kind,))


def _warn_dropped(node: NodePattern, name: Name, frame: Frame) -> None:
    """Of MATCH (a) WITH b MATCH (a): a bare node that has the name of one that WITH dropped."""
    bare = not (node.labels or node.properties or node.given or node.where)
    if bare and name.text in frame.dropped and frame.find(name.text) is None:
        frame.warn(
            name.place,
            f"the WITH before does not pass on '{name.text}', so this is another node. "
            f"Add {name.text} to WITH if it is the same, or give it a name of its own.",
        )


def _warn_type(relationship: RelationshipPattern, frame: Frame) -> None:
    """Of -[KNOWS]->, where a colon is missing: a variable that is written like a type, and used nowhere."""
    name = relationship.variable
    if name is not None and is_like_type(name) and may_be_type(relationship, frame.query.text):
        frame.warn(name.place, named_as_type(name))


def is_like_type(name: Name) -> bool:
    """Whether a name is written as types are, whatever types there are: in capitals."""
    return len(name.text) > 1 and name.text.isupper()


def may_be_type(relationship: RelationshipPattern, text: str) -> bool:
    """Whether the variable may have been meant as the type: it has none, and the query has the variable only here."""
    name = relationship.variable
    if name is None or relationship.types or relationship.given or relationship.properties:
        return False
    if text[name.place.start : name.place.end] != name.text:  # in backquotes
        return False
    return len(re.findall(rf"\b{re.escape(name.text)}\b", text)) == 1


def named_as_type(name: Name) -> str:
    """The warning of a variable that is named as a type."""
    return (
        f"the relationship variable {name.text} is named as a type, and any type matches. "
        f"If it is the type, write -[:{name.text}]-."
    )


def _warn_length(path: PathPattern, relationship: RelationshipPattern, frame: Frame) -> None:
    length = relationship.length
    if length is not None and length.high is not None and length.high < length.low:
        frame.warn(
            relationship.place,
            f"no path has at least {length.low} and at most {length.high} relationships. "
            f"Write *{length.high}..{length.low}.",
        )
    if length is not None and length.high is None and path.selector is None:
        frame.warn(relationship.place, UNBOUNDED)
