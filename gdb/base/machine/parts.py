"""The functions that are compiled, and their types: all that a process needs of one whose machine code is kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import get_type_hints

Function = Callable[..., object]

PARTS: set[Function] = set()
INLINED: set[Function] = set()  # those of them that LLVM must write out where they are called


_PLAIN: dict[object, object] = {"int": int, "bool": bool, "float": float, "None": None}


def signature(function: Function) -> tuple[list[object], object]:
    """Types of the arguments, and of the result: a type, None, or a tuple type."""
    annotations = function.__annotations__
    if all(one in _PLAIN for one in annotations.values()):  # most: and to evaluate them takes long
        *arguments, returned = (_PLAIN[one] for one in annotations.values())
        return arguments, returned
    hints = get_type_hints(function)
    result = hints.pop("return")
    return list(hints.values()), None if result is type(None) else result
