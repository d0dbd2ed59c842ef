"""Clauses that write: what may be created, merged, set, removed and deleted."""

from __future__ import annotations

from collections.abc import Iterable

from gdb.functions.static_kinds import ELEMENTS, NODE, PATH, RELATIONSHIP, Kind
from gdb.language import syntax
from gdb.language.checks.expression_checks import check_names, check_values, known
from gdb.language.checks.frame import Frame
from gdb.language.checks.pattern_checks import refuse_parameters
from gdb.language.clauses import Delete, Merge, Remove, Set, SetAll, SetItem, SetLabels, SetProperty
from gdb.language.dynamic_labels import HasNamed
from gdb.language.syntax import Expression, NodePattern, PathMode, PathPattern, RelationshipPattern
from gdb.storage.format.direction import Direction

_NEVER_DELETED = (Kind.INTEGER, Kind.FLOAT, Kind.STRING, Kind.BOOLEAN, Kind.MAP)


def create(patterns: Iterable[PathPattern], frame: Frame) -> None:
    """Check CREATE, and add its names.

    Raises
    ------
    SyntaxProblem : a node or relationship that is there already, or that is not fully said.
    """
    for number, path in enumerate(patterns):
        _refuse_conditions(path, frame)
        if number % 1024 == 1023 and frame.query.pulse is not None:
            frame.query.pulse()
        for part in path.parts:
            check_values(part, frame)
            _bring(part, path, frame)
        _name_path(path, frame)


def merge(clause: Merge, frame: Frame) -> None:
    """Check MERGE, and add its names; ON CREATE and ON MATCH see them."""
    path = clause.pattern
    refuse_parameters([path], frame)
    _refuse_conditions(path, frame)
    for part in path.parts:
        check_values(part, frame)
    for part in path.parts:
        _bring(part, path, frame, merged=True)
    _name_path(path, frame)
    set_items(clause.on_create, frame)
    set_items(clause.on_match, frame)


def _bring(
    part: NodePattern | RelationshipPattern, path: PathPattern, frame: Frame, merged: bool = False
) -> None:
    if isinstance(part, NodePattern):
        _node(part, frame, alone=not path.relationships)
    else:
        _relationship(part, frame, merged)


def _node(node: NodePattern, frame: Frame, alone: bool) -> None:
    if any(len(term) > 1 for term in node.labels):
        message = "a node that is written has all of its labels, not one of several."
        raise frame.not_allowed(node.place, "UnexpectedSyntax", message)
    if node.variable is None:
        return
    before = frame.find(node.variable.text)
    if before is None:
        frame.names[node.variable.text] = NODE
    elif alone or not _bare(node, frame.query.text):
        cure = "Give it a name of its own, or change the node with SET."
        raise frame.taken(node.variable, cure)
    elif not before.may_be((Kind.NODE,)):
        raise frame.conflict(node.variable, "a node")


def _bare(node: NodePattern, text: str) -> bool:
    """Whether a node is nothing but a variable; an empty map, (n {}), shows in the text only."""
    if (
        node.labels
        or node.named
        or node.properties
        or node.given is not None
        or node.variable is None
    ):
        return False
    return "{" not in text[node.variable.place.end : node.place.end]


def _relationship(part: RelationshipPattern, frame: Frame, merged: bool) -> None:
    place = part.place
    if part.variable is not None and frame.find(part.variable.text) is not None:
        raise frame.taken(part.variable)
    if part.length is not None:
        message = "a path of variable length cannot be written."
        cure = "Write out each of its relationships."
        raise frame.not_allowed(place, "CreatingVarLength", message, cure)
    if len(part.types) + len(part.named) != 1:
        message = "a relationship that is written has one type."
        cure = "Write it behind a colon, as in -[:KNOWS]->."
        raise frame.not_allowed(place, "NoSingleRelationshipType", message, cure)
    if part.direction is Direction.ANY and not merged:
        message = "a relationship that is created has a direction."
        cure = "Write --> or <--."
        raise frame.not_allowed(place, "RequiresDirectedRelationship", message, cure)
    if part.variable is not None:
        frame.names[part.variable.text] = RELATIONSHIP


def _refuse_conditions(path: PathPattern, frame: Frame) -> None:
    for part in path.parts:
        if part.where is not None:
            message = "what is written takes no WHERE in its pattern."
            if "WHERE" not in frame.query.text[part.place.start : part.place.end].upper():
                message = "what is written has its labels by name, without ! % and $any."
            raise frame.not_allowed(part.where.place, "UnexpectedSyntax", message)


def _name_path(path: PathPattern, frame: Frame) -> None:
    if path.selector is not None or path.mode is not PathMode.TRAIL:
        message = "a path that is written is not chosen among others."
        raise frame.not_allowed(path.nodes[0].place, "UnexpectedSyntax", message)
    if path.name is None:
        return
    frame.bring(path.name, PATH)


# ---- SET, REMOVE, DELETE -------------------------------------------------------------------------


def set_items(items: Iterable[SetItem], frame: Frame) -> None:
    """Check what SET does.

    Raises
    ------
    NameProblem : of what is not there.
    TypeProblem : of what is no node and no relationship.
    """
    for item in items:
        match item:
            case SetProperty(target=target, value=value):
                _target(target, frame)
                known(value, frame)
            case SetAll(variable=variable, value=value):
                _element(variable, frame)
                kind, cure = known(value, frame), "Write {key: value}."
                rule = "the properties are set to a map"
                frame.expect(kind, (Kind.MAP, *ELEMENTS), value.place, rule, cure)
            case SetLabels(variable=variable, named=named):
                _labelled(variable, frame)
                for names in named:
                    check_names(names, frame)


def set_(clause: Set, frame: Frame) -> None:
    """Check a SET clause, as `set_items`."""
    set_items(clause.items, frame)


def remove(clause: Remove, frame: Frame) -> None:
    """Check REMOVE: labels of nodes, properties of nodes and relationships. Raises as `set_items`."""
    for item in clause.items:
        if isinstance(item, (syntax.HasLabels, HasNamed)):
            _labelled(item.subject, frame)
            if isinstance(item, HasNamed):
                check_names(item.names, frame)
        else:
            _target(item, frame)


def delete(clause: Delete, frame: Frame) -> None:
    """Check DELETE: its targets are nodes, relationships or paths.

    Raises
    ------
    SyntaxProblem : a label or type; the cure names REMOVE.
    TypeProblem : a value that is never an element."""
    for target in clause.targets:
        value = known(target, frame)
        if isinstance(target, syntax.HasLabels):
            message = "DELETE takes a node or relationship, not its label or type."
            cure = "To take a label away write REMOVE."
            raise frame.not_allowed(target.place, "InvalidDelete", message, cure)
        if value.kind in _NEVER_DELETED:
            raise frame.misfit(
                target.place,
                f"DELETE takes a node, relationship or path, and this is {value}.",
                "To take a property away write REMOVE.",
            )


def _target(target: syntax.Property | syntax.Index, frame: Frame) -> None:
    if isinstance(target, syntax.Index):
        known(target.index, frame)
    _element(target.subject, frame)


def _element(subject: Expression, frame: Frame) -> None:
    rule = "only nodes and relationships have properties to change"
    frame.expect(known(subject, frame), ELEMENTS, subject.place, rule)


def _labelled(subject: Expression | syntax.Variable, frame: Frame) -> None:
    rule = "only nodes have labels to change"
    frame.expect(known(subject, frame), (Kind.NODE,), subject.place, rule)
