"""Warnings of comparisons between values that can never be compared, such as an integer with a string."""

from __future__ import annotations

from gdb.functions.types import NUMBERS, TIMES, Type, TypeName
from gdb.language.syntax import Comparator, Comparison, Expression, Literal, Parameter

_CONSTRUCTORS = {
    TypeName.DATE: "date",
    TypeName.DATETIME: "localdatetime",
    TypeName.DURATION: "duration",
}


def unlike(part: Comparison, left: Type, right: Type, text: str, name: str = "") -> str:
    """The warning: what both sides are, what follows, and what to write instead.

    name : of the left side, where it is not written out: a key of a map in a pattern.

    Notes
    -----
    openCypher 9, "Comparability and equality": = of unlike values is false, <> true, and an order null.
    """
    sides = [name or written(part.left, text), written(part.right, text)]
    match part.operator:
        case Comparator.EQUAL:
            follows = "they are equal in no row"
        case Comparator.UNEQUAL:
            follows = "they differ in every row"
        case _:
            follows = "the comparison is null in every row"
    what = f"{sides[0]} is {left.kind}, and {sides[1]} {right.kind}: {follows}."
    cure = _cure(sides[0], left, part.right, right, sides[1]) or _cure(
        sides[1], right, part.left, left, sides[0]
    )
    return f"{what} {cure or 'Compare values of one type.'}"


def written(side: Expression, text: str) -> str:
    """An expression as it is written, in one line, cut where it is long."""
    found = " ".join(text[side.place.start : side.place.end].split())
    return found if len(found) <= 40 else f"{found[:37]}..."


def _cure(kept: str, type_: Type, other: Expression, type_of_other: Type, written: str) -> str:
    """What to write for the other side, or around it, so that it has the type of the one that is kept."""
    if not isinstance(other, (Literal, Parameter)):
        return ""
    value = other.value if isinstance(other, Literal) else None
    if type_.kind is TypeName.STRING and isinstance(value, (bool, int, float)):
        return f"Write '{written}' in quotes."
    if type_.kind is TypeName.STRING:
        return f"Write toString({written})."
    if type_.kind is TypeName.LIST:
        return f"Write {written} IN {kept}."
    if type_of_other.kind is not TypeName.STRING:
        return ""
    if type_.kind in NUMBERS:
        if isinstance(value, str):
            return f"Write {value.strip()} without quotes." if _is_number(value) else ""
        return f"Write {'toInteger' if type_.kind is TypeName.INTEGER else 'toFloat'}({written})."
    if type_.kind is TypeName.BOOLEAN:
        if isinstance(value, str) and value.lower() in ("true", "false"):
            return f"Write {value.lower()} without quotes."
        return f"Write toBoolean({written})." if value is None else ""
    if type_.kind in TIMES:
        return f"Write {_CONSTRUCTORS[type_.kind]}({written})."
    return ""


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return text.strip().lstrip("+-")[:1].isdigit()
