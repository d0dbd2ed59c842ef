"""The version of gdb."""

from __future__ import annotations

from functools import cache


@cache
def installed() -> str:
    """The version that is installed; "0+unknown" of a source tree that is not."""
    from importlib import metadata

    try:
        return metadata.version("gdb-embedded")
    except metadata.PackageNotFoundError:
        return "0+unknown"
