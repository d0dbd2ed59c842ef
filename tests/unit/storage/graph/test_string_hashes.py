"""The hash of one string, made in Python, is that of the same string among others, made by arrays (docs/FORMAT.md)."""

from __future__ import annotations

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from gdb.storage.columns.model import from_strings
from gdb.storage.graph.ids import hash_strings

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=300)


@given(text=TEXTS, other=TEXTS)
@example(text="", other="")
@example(text="a" * 255, other="b")
@example(text="a" * 256, other="b")
@example(text="\xff" * 128, other="")
def test_one_string_has_the_hash_that_it_has_among_others(text: str, other: str) -> None:
    alone, beside = from_strings([text]), from_strings([other, text])
    assert alone.offsets is not None
    assert beside.offsets is not None
    hashes = hash_strings(beside.values.view(np.uint8), beside.offsets)
    assert hash_strings(alone.values.view(np.uint8), alone.offsets).tolist() == [int(hashes[1])]
    assert alone.to_list() == [text]


@given(texts=st.lists(TEXTS, min_size=1, max_size=5))
def test_a_text_is_taken_as_it_is(texts: list[str]) -> None:
    column = from_strings(texts)
    for row, text in enumerate(texts):
        taken = column.take(np.array([row]))
        assert taken.to_list() == [text]
        assert len(taken) == 1
