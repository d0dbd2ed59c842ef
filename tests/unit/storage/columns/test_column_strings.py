"""Strings of a column as Python objects: decoded all at once where they are many and short."""

from __future__ import annotations

import numpy as np
import pytest

from gdb.storage.columns.model import Column
from gdb.storage.columns.python_columns import column_of

MANY = 200
TEXTS = {
    "short": [str(number) for number in range(MANY)],
    "empty": [""] * MANY,
    "some empty": ["", "a"] * MANY,
    "beyond ASCII": [f"é{number}𝄞" for number in range(MANY)],
    "with zeros": [f"{number}\0x" for number in range(MANY)],
    "one zero": ["\0", *map(str, range(MANY))],
    "with line ends": [f"{number}\n\r\n" for number in range(MANY)],
    "long": ["x" * 500 + str(number) for number in range(MANY)],
    "few": ["a", "", "é"],
}


@pytest.mark.parametrize("name", TEXTS)
def test_strings_come_back_as_they_were(name: str) -> None:
    texts = TEXTS[name]
    column = column_of(texts, "string")
    assert column.to_list() == texts
    begin, end = len(texts) // 3, len(texts) - 1
    assert column.part(begin, end).to_list() == texts[begin:end]
    assert column.part(begin, begin).to_list() == []


def test_nulls_between_many_strings_are_none() -> None:
    texts = [None if number % 3 else str(number) for number in range(MANY)]
    assert column_of(texts, "string").to_list() == texts


def test_bytes_that_are_no_strings_are_an_error() -> None:
    """Two halves of a character beside each other are not one."""
    data = np.frombuffer("é".encode() * MANY, np.uint8)
    whole = Column("string", data, np.arange(0, 2 * MANY + 1, 2))
    assert whole.to_list() == ["é"] * MANY
    with pytest.raises(UnicodeDecodeError):
        Column("string", data, np.arange(2 * MANY + 1)).to_list()
