"""subject.key, subject[index], subject[start..stop], subject:Label: the parts of a value."""

from __future__ import annotations

from collections.abc import Set

from gdb.base.values import graph_functions, times
from gdb.base.values.elements import NodeValue, RelationshipValue
from gdb.base.values.graph_functions import labels_of
from gdb.base.values.kinds import Value
from gdb.base.values.naming import refusal
from gdb.base.values.problems import ValueProblem
from gdb.language.syntax import LabelTerms


def property_of(subject: Value, key: str) -> Value:
    """subject.key; null where it has no such key.

    Raises
    ------
    ValueProblem : it is no node, relationship, map or temporal value; or deleted.
    """
    if isinstance(subject, dict):
        return subject.get(key)
    if isinstance(subject, (NodeValue, RelationshipValue)):
        return graph_functions.property_of(subject, key)
    if subject is None:
        return None
    if times.is_temporal(subject):
        return times.component(subject, key)
    raise refusal(f".{key}", "a node, a relationship, a map or a temporal value", subject)


def item_of(subject: Value, index: Value) -> Value:
    """subject[index]: of a list by number, from the end where negative, null where outside; else by key.

    Raises
    ------
    ValueProblem : the two do not fit each other.
    """
    if isinstance(subject, list):
        return _at(subject, index)
    if isinstance(subject, (dict, NodeValue, RelationshipValue)):
        if isinstance(index, str):
            return property_of(subject, index)
        if index is None:
            return None
        raise refusal("the key of a map, node or relationship", "a string", index)
    if subject is None:
        return None
    raise refusal("[...]", "a list, a map, a node or a relationship", subject)


def _at(values: list[Value], index: Value) -> Value:
    if index is None:
        return None
    number = _integer(index)
    return values[number] if -len(values) <= number < len(values) else None


def slice_of(subject: Value, start: Value, stop: Value) -> Value:
    """subject[start..stop]; null where any of them is.

    Raises
    ------
    ValueProblem : the subject is no list, or a bound no integer.
    """
    if subject is None or start is None or stop is None:
        return None
    if not isinstance(subject, list):
        raise refusal("[..]", "a list", subject)
    return subject[_integer(start) : _integer(stop)]


def _integer(index: Value) -> int:
    if isinstance(index, int) and not isinstance(index, bool):
        return index
    raise refusal("the index of a list", "an integer", index)


def has_labels(subject: Value, terms: LabelTerms) -> bool | None:
    """Whether a node has the labels, or a relationship the type: an AND of ORs.

    Raises
    ------
    ValueProblem : it is neither; or a deleted node.
    """
    names = _names_of(subject)
    if names is None:
        return None
    return all(any(name.text in names for name in term) for term in terms)


def has_named(subject: Value, names: Value, *, any_: bool) -> bool | None:
    """Whether a node has all or any of the labels, or a relationship the type, that a string or a list names.

    Raises
    ------
    ValueProblem : it is neither; or a deleted node; the names are no strings.
    """
    wanted, there = label_names(names), _names_of(subject)
    if wanted is None or there is None:
        return None
    test = any if any_ else all
    return test(name in there for name in wanted)


def label_names(names: Value) -> list[str] | None:
    """The labels that a string or a list of strings names; None for null.

    Raises
    ------
    ValueProblem : it is anything else, or an empty string.
    """
    if names is None:
        return None
    several = names if isinstance(names, list) else [names]
    found: list[str] = []
    for one in several:
        if not isinstance(one, str):
            raise refusal("$(...)", "a string or a list of strings", one)
        if not one:
            raise ValueProblem("argument", "a label has at least one character.")
        found.append(one)
    return found


def _names_of(subject: Value) -> Set[str] | None:
    """The labels of a node, or the type of a relationship."""
    match subject:
        case None:
            return None
        case NodeValue():
            return labels_of(subject)
        case RelationshipValue():
            return {subject.type}
        case _:
            raise refusal(":Label", "a node or a relationship", subject)
