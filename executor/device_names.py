"""Names of devices: the one function that checks them, before anything runs."""

from __future__ import annotations

import re

from gdb.errors import DeviceError, TypeProblem

AUTO, CPU, GPUS = "auto", "cpu", ("gpu", "cuda")
NAMES = 'Use "auto", "cpu", "cuda" (the first GPU), "cuda:N" or "cuda:0,1,...".'

# patterns are compiled when first used: most processes name no GPU by its number
_CUDA = r"cuda:\d{1,4}(,\d{1,4})*"
_NUMBERED = r"(?:gpu|cuda|nvidia|device)?[\s:_#=\[(-]*(\d{1,4}(?:\s*,\s*\d{1,4})*)[\])]?"


def checked_device(name: object) -> str:
    """The device that `device=` names, in lower case. Whether the machine has it is found when it is used.

    Raises
    ------
    DeviceError : there is no such name; the error has the names, and the one that was probably meant.
    TypeProblem : it is no text.

    Examples
    --------
    >>> checked_device("CUDA:1")
    'cuda:1'
    """
    if name in (AUTO, CPU):
        return name
    if not isinstance(name, str):
        cure = f'Did you mean "cuda:{name}"? {NAMES}' if type(name) is int else NAMES
        raise TypeProblem(f"device= takes a text, not {type(name).__name__}.", cure)
    lower = name.lower()
    if lower in (AUTO, CPU, *GPUS):
        return lower
    if re.fullmatch(_CUDA, lower) is None:
        meant = _meant(lower.strip())
        cure = f'Did you mean "{meant}"? {NAMES}' if meant else NAMES
        raise DeviceError(f"There is no device {name!r}.", cure)
    if len(set(ordinals(lower))) <= lower.count(","):
        raise DeviceError(f"A GPU is named twice in {name!r}.", "Name each one once.")
    return lower


def ordinals(name: str) -> tuple[int, ...]:
    """The GPUs of a checked name, "cuda:0,2" say: (0, 2)."""
    return tuple(int(n) for n in (name.partition(":")[2] or "0").split(","))


def _meant(name: str) -> str | None:
    """The right name that is nearest to a wrong one."""
    found = re.fullmatch(_NUMBERED, name)
    if found is not None:  # gpu0, cuda1, gpu:1, 0
        return "cuda:" + "".join(found[1].split())
    import difflib  # of a wrong name alone

    close = difflib.get_close_matches(name, [AUTO, CPU, *GPUS, "cuda:0"], 1)
    return close[0] if close else None
