"""The meaning of a CSV file's columns: neo4j-admin header fields, or plain names."""

from __future__ import annotations

import re
from collections.abc import Callable

from gdb.errors import ImportFailed
from gdb.records import dataclass, replace

from ..columns.model import LIST_OF, Kind

_FIELD = re.compile(
    r"^(?P<name>[^:]*)(:(?P<field>[A-Za-z_]+(\[\])?)(\((?P<space>[^)]*)\))?(\{(?P<options>.*)\})?)?$"
)
_ID_TYPE = re.compile(r"\bid-type\s*:\s*([A-Za-z]+)")
_TIMEZONE = re.compile(r"\btimezone\s*:\s*([^,}]*)")
_UTC = ("", "Z", "UTC", "+00:00", "+0000", "+00")
_KINDS: dict[str, Kind] = {
    **dict.fromkeys(
        ("int", "integer", "long", "short", "byte", "int8", "int16", "int32", "int64"), "int64"
    ),
    **dict.fromkeys(("float", "double", "float32", "float64"), "float64"),
    **dict.fromkeys(("bool", "boolean"), "bool"),
    **dict.fromkeys(("string", "char"), "string"),
    "date": "date",
    **dict.fromkeys(("datetime", "localdatetime"), "datetime"),
    "duration": "duration",
    "any": "any",  # texts that `gdb.storage.columns.any_values` writes
}
_LABELLED = re.compile(r"[^\W\d]\w*\.id", re.IGNORECASE)
ROLES = ("ID", "LABEL", "START_ID", "END_ID", "TYPE")
STARTS = ("source", "src", "from", "start", "start_id", "source_id", "from_id")
ENDS = ("target", "dst", "to", "end", "dest", "destination", "end_id", "target_id", "to_id")


@dataclass(frozen=True, slots=True)
class Field:
    """A column: its property name ("" for none), role ("" for a property), id space and declared kind.

    known : its header says its role, or its name does; False where the role was given by its place.
    """

    name: str
    role: str = ""
    space: str | None = None
    kind: Kind | None = None
    known: bool = True


def parse_header(
    names: list[str], wrong: Callable[[str, str], ImportFailed]
) -> tuple[list[Field], list[str]]:
    """The fields of a header, and warnings about declared types that are stored as strings.

    wrong : makes the error of a reason and its cure, which is raised where a name occurs twice, or a zone is named.
    """
    fields: list[Field] = []
    warnings: list[str] = []
    for raw in names:
        found = _FIELD.match(raw.strip())
        if not found or not found["field"]:
            fields.append(Field(raw.strip()))
            continue
        field = found["field"]
        if field.upper() in ROLES:
            option = _ID_TYPE.search(found["options"] or "")
            kind = _KINDS.get(option[1].lower()) if option else None
            fields.append(Field(found["name"], field.upper(), found["space"], kind))
        elif field.upper() == "IGNORE":
            fields.append(Field(found["name"], "IGNORE"))
        else:
            kind = _kind(field.lower())
            if kind is None:
                warnings.append(as_text(found["name"], field))
            fields.append(Field(found["name"], "", None, kind or "string"))
    zone = _foreign_zone(names)
    ends = ends_by_label(fields) or ()
    double = repeated_name([field for i, field in enumerate(fields) if i not in ends])
    if zone is not None:
        raise wrong(
            f"names the time zone {zone!r}", "Write its times in UTC, or each with its offset."
        )
    if double:
        raise named_twice(double, wrong)
    return fields, warnings


def as_text(column: str, type: str) -> str:
    """The warning of a column whose values are stored as texts."""
    return f"column {column!r}: type {type} is stored as string"


def named_twice(name: str, wrong: Callable[[str, str], ImportFailed]) -> ImportFailed:
    """The error for a duplicate name."""
    return wrong(f"names the column {name!r} twice", "Give each column its own name.")


def ends_by_label(fields: list[Field]) -> tuple[int, int] | None:
    """The columns of both ends as LDBC's files name them, by the labels of the ends: `Person.id|Comment.id`. None
    where there are not two such columns."""
    found = [i for i, f in enumerate(fields) if not f.role and _LABELLED.fullmatch(f.name)]
    return (found[0], found[1]) if len(found) == 2 else None


def _kind(field: str) -> Kind | None:
    """The kind that a header names, also `int[]`."""
    item = _KINDS.get(field.removesuffix("[]"))
    return LIST_OF.get(item) if item and field.endswith("[]") else item


def assume_roles(fields: list[Field], *, edges: bool) -> list[Field]:
    """Give plain columns their roles by name, or by place: a node's id is its first column, an edge's ends
    are its first two."""
    roles = {f.role for f in fields}
    if edges:
        if roles & {"START_ID", "END_ID"}:
            return fields
        names = [f.name.lower() for f in fields]
        start = next((i for i, n in enumerate(names) if n in STARTS), None)
        end = next((i for i, n in enumerate(names) if n in ENDS), None)
        if start is None and end is None:
            start, end = ends_by_label(fields) or (None, None)
        known = start is not None and end is not None
        if start is None or end is None:
            start, end = 0, 1
        chosen = {start: "START_ID", end: "END_ID"}
    else:
        if "ID" in roles:
            return fields
        names = [f.name.lower() for f in fields]
        known = "id" in names
        chosen = {names.index("id") if known else 0: "ID"}
    # an id column keeps its name as a property only on nodes, where users query n.id
    return [
        replace(f, name="" if edges else f.name, role=chosen[i], known=known) if i in chosen else f
        for i, f in enumerate(fields)
    ]


def looks_like_header(cells: list[str]) -> bool:
    """Whether a first row names columns: every cell starts with a letter, `_` or `:`, or is empty (not all)."""
    return any(c.strip() for c in cells) and all(
        re.match(r"^$|^[^\W\d]|^_|^:", c.strip()) for c in cells
    )


def repeated_name(fields: list[Field]) -> str | None:
    """A property name or a role of one column (but IGNORE) that occurs twice."""
    kept = [f for f in fields if f.role != "IGNORE"]
    names = [f.name for f in kept if f.name]
    roles = [f":{f.role}" for f in kept if f.role]
    return next((x for x in [*names, *roles] if [*names, *roles].count(x) > 1), None)


def _foreign_zone(names: list[str]) -> str | None:
    """A time zone, other than UTC, that a header field names for texts without one: `at:datetime{timezone:+01:00}`."""
    for raw in names:
        found = _FIELD.match(raw.strip())
        option = _TIMEZONE.search(found["options"] or "") if found else None
        if option and option[1].strip() not in _UTC:
            return option[1].strip()
    return None


def names_of(label: str | None) -> tuple[str, ...]:
    """The labels that "A:B" names, sorted; none for None."""
    return tuple(sorted({x.strip() for x in (label or "").split(":") if x.strip()}))
