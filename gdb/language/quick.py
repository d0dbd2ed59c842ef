"""Dataclasses of which a query has very many: made in a third of the time."""

from __future__ import annotations

from dataclasses import MISSING, fields
from typing import TypeVar

Class = TypeVar("Class", bound=type)


def quick(cls: Class) -> Class:
    """A frozen dataclass with slots that only the type checker keeps frozen.

    The `__init__` of a frozen dataclass sets each field by a call of `object.__setattr__`, which is most of the time
    that it takes to read a long query. Fields have no default but a plain value.
    """
    given, body, defaults = [], [], {}
    for one in fields(cls):
        default = ""
        if one.default is not MISSING:
            defaults[one.name] = one.default
            default = f"=defaults[{one.name!r}]"
        given.append(f"{one.name}{default}")
        body.append(f"    self.{one.name} = {one.name}")
    made: dict[str, object] = {"defaults": defaults}
    exec("\n".join([f"def __init__(self, {', '.join(given)}):", *body]), made)
    for name in ("__setattr__", "__delattr__"):
        delattr(cls, name)
    setattr(cls, "__init__", made["__init__"])  # noqa: B010
    return cls
