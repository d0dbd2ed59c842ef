"""Names that no user writes: of elements that have no name, and of what a query is taken apart into."""

from __future__ import annotations

HIDDEN = " "
"""What such a name begins with."""

LONG_CONSTANT = f"{HIDDEN}long constant "
"""What the name of a parameter begins with that holds a long list of constants (`long_constants`)."""

COMPUTED = f"{HIDDEN}computed "
"""What the name of a parameter begins with that is a part of the text, computed once (`computed_constants`)."""


def is_hidden(name: str) -> bool:
    """Whether a name was made by gdb."""
    return name.startswith(HIDDEN)


def parameter_shown(name: str) -> str:
    """A parameter as messages and plans show it: one that gdb made of a part of the text is that part."""
    return name.removeprefix(COMPUTED) if name.startswith(COMPUTED) else f"${name}"
