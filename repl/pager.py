"""An answer in the reader's own pager: $PAGER, or `less`."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Iterable
from contextlib import suppress

from gdb.base import waiting
from gdb.errors import ArgumentProblem

_DEFAULT = "less -FRSX"  # leaves at once where all fits, and does not fold lines


def page_lines(shown: Iterable[str]) -> None:
    """Write lines to the pager as it reads them, until the user quits it; the remaining lines are not computed.

    Raises
    ------
    ArgumentProblem : there is no such program.
    """
    words = shlex.split(os.environ.get("PAGER") or _DEFAULT)
    try:
        pager = subprocess.Popen(words, stdin=subprocess.PIPE, text=True, encoding="utf-8")
    except OSError as error:
        cure = "Set $PAGER to a program, or write `.pager off`."
        raise ArgumentProblem(
            f"the pager {words[0]} cannot be run: {error.strerror}.", cure
        ) from None
    assert pager.stdin is not None
    try:
        with suppress(BrokenPipeError):  # its reader has enough
            for line in shown:
                pager.stdin.write(line + "\n")
    finally:
        _close(pager)


def _close(pager: subprocess.Popen[str]) -> None:
    """Wait until the pager is left."""
    assert pager.stdin is not None
    with suppress(BrokenPipeError):
        pager.stdin.close()
    waiting.wait_for_program(pager)
