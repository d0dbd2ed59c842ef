"""Texts of DuckDB as a column, through Arrow, so that no string of Python is made."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ..columns.model import I64, Column, offsets_of_lengths
from ..disk.duckdb_engine import stream_errors

if TYPE_CHECKING:
    from duckdb import DuckDBPyRelation


def texts_of(relation: DuckDBPyRelation) -> Column:
    """The texts v of a relation, null where `ok` is 0."""
    import nanoarrow as na

    data: list[npt.NDArray[np.uint8]] = [np.zeros(0, np.uint8)]
    lengths: list[I64] = [np.zeros(0, np.int64)]
    valid = [np.zeros(0, np.bool_)]
    with stream_errors(), na.c_array_stream(relation) as stream:
        for chunk in stream:
            text, validity = chunk.child(0), chunk.child(1)
            ends = np.asarray(text.view().buffer(1)).astype(np.int64)
            ends = ends[text.offset : text.offset + text.length + 1]
            data.append(np.asarray(text.view().buffer(2)).view(np.uint8)[ends[0] : ends[-1]])
            lengths.append(np.diff(ends))
            flags = np.asarray(validity.view().buffer(1))
            valid.append(flags[validity.offset : validity.offset + validity.length] != 0)
    joined = np.concatenate(data)  # copies, so nothing of Arrow's memory is kept
    ok = np.concatenate(valid)
    offsets = offsets_of_lengths(np.concatenate(lengths))
    return Column("string", joined, offsets, None if ok.all() else ok)
