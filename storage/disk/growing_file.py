"""A file that is read again while another process writes behind what it holds, up to a bound."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import TypeAlias

from gdb.records import dataclass

_PIECE = 4096
_UNUSED = bytes(512)
HEAD_BYTES = 24  # of a file, by which its `Bound` goes

Bound: TypeAlias = "Callable[[bytes], int]"
"""The most bytes that a file may have, by its first `HEAD_BYTES`: no more are read of one from a stranger."""


@dataclass(slots=True, eq=False)
class Growing:
    """What `Files.read_again` has read of a file: one object for each file. turn : how often more was found in it.
    most : the most bytes that it may have."""

    content: bytearray
    turn: int = 0
    most: int = sys.maxsize

    def put(self, at: int, data: bytes) -> None:
        """Take in what was written."""
        self.content[at : at + len(data)] = data
        self.turn += 1


def read_on(fd: int, content: bytearray, at: int, length: int, most: int) -> bool:
    """Read what was written from a place on, in a file of a length, at most up to another place; whether there is
    anything new.

    It is read until there is nothing new: what is written meanwhile may lie behind what was read as zeros. What is the
    same twice was so at the moment between both, for a place is written once.
    """
    new = False
    while _read_once(fd, content, at, length, most):
        new = True
    return new


def nothing_new(fd: int, growing: Growing, at: int) -> bool:
    """Whether a read finds at a place, and behind it, the zeros that are known; nothing is changed."""
    piece = os.pread(fd, _PIECE, at)
    return piece.endswith(_UNUSED) and growing.content[at : at + len(piece)] == piece


def _read_once(fd: int, content: bytearray, at: int, length: int, most: int) -> bool:
    new = False
    while piece := os.pread(fd, min(_PIECE, most - at), at):
        if content[at : at + len(piece)] != piece:
            content[at : at + len(piece)] = piece
            new = True
        if piece.endswith(_UNUSED) and len(content) >= length:
            break  # what is written has no sector of zeros
        at += len(piece)
    return new
