"""id(), elementId(), labels() and type(), whose SQL is columns of the store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gdb.base.sql import cast, exp
from gdb.functions.types import NULL, STRING, Typed
from gdb.language.syntax import Call, ElementReference, Literal, Place

if TYPE_CHECKING:
    from gdb.language.translator import Translator

OF_ELEMENTS = ("id", "elementid", "labels", "type")


def of_element(name: str, expression: Call, translator: Translator) -> Typed:
    """SQL of one of these functions.

    Raises
    ------
    NotSupported : of anything but an element of the pattern, or of nodes of several id spaces.
    """
    subject, columns = expression.arguments[0], translator.columns
    wanted = {"labels": "vertex", "type": "edge"}.get(name)
    if isinstance(subject, Literal) and subject.value is None:
        return Typed(exp.Null(), NULL)
    if not isinstance(subject, ElementReference) or wanted not in (None, subject.kind):
        what = f"{expression.function.text}() of anything but an element of the pattern is"
        raise translator.refuse(expression.place, what)
    if name == "elementid":
        return _element_id(subject, expression.place, translator)
    if name == "id":
        return columns.identity(subject, expression.place)
    return columns.labels(subject) if name == "labels" else columns.type(subject)


def _element_id(element: ElementReference, place: Place, translator: Translator) -> Typed:
    """The id as a text, behind the id space that all candidates have."""
    text = cast(translator.columns.identity(element, place).sql, "VARCHAR")
    if element.kind == "vertex":
        scope = translator.scope
        groups = scope.snapshot.groups
        spaces = {groups[k].id_space for k in scope.groups(element.index)}
        if len(spaces) > 1:
            raise translator.refuse(place, "elementId() of nodes of several id spaces is")
        for space in filter(None, spaces):
            text = exp.DPipe(this=translator.parameters.add(f"{space}:", STRING), expression=text)
    return Typed(text, STRING)
