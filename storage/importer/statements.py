"""Statements about the rows of a file: the table t, of columns c0, c1, ... and the number `record`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gdb.base.sql import (
    aliased,
    binary,
    call,
    cast,
    column_of,
    counted,
    created,
    equal,
    everything,
    exp,
    parameter_of,
    read_by,
    row_number,
    select,
    value_of,
    way,
)

if TYPE_CHECKING:
    from gdb.base.sql import Rows, Value

    from .compressed import Compression
    from .layout import Layout

_LINE = 2 << 20  # bytes of a line that DuckDB takes by default


def buffer_bytes(layout: Layout, most: int) -> int:
    """Bytes of a buffer of the reader, in which a line must have room. most : bytes that a line may have, whatever is
    said of it."""
    return 2 * _widest(layout, most)


def _widest(layout: Layout, most: int) -> int:
    return max(min(layout.written.widest, most), _LINE) if layout.written else _LINE


def reading(layout: Layout, compression: Compression, most: int, *, parallel: bool) -> exp.Expr:
    """What makes t of a CSV file. Parameters: the file, the delimiter.

    most : as for `buffer_bytes`. parallel : by several threads, where no line is longer than a buffer: of one that is
    longer than two they say nothing.
    """
    form, widest = layout.written, _widest(layout, most)
    options: dict[str, Value | exp.Expr] = {
        "columns": {f"c{i}": "VARCHAR" for i in range(len(layout.fields))},
        "delim": parameter_of(),
        "header": False,
        "skip": layout.skipped,
        "quote": layout.quote,
        "escape": layout.escape,
        "nullstr": "",
        "allow_quoted_nulls": False,
        "auto_detect": False,
        "hive_partitioning": False,
        "compression": compression,
        "store_rejects": True,
        "buffer_size": buffer_bytes(layout, most),
        "parallel": parallel,
    }
    if form:
        options |= {"new_line": "\\n", "max_line_size": widest}
    rows = read_by("read_csv", parameter_of(), **options)
    record = aliased(row_number(), "record")
    return created("t", select([record, exp.Star()], rows), replace=True)


def select_rejects() -> exp.Expr:
    """The lines that the reader refused last: number, kind, reason and column."""
    table = "reject_errors"
    last = exp.Subquery(this=select([call("max", "scan_id")], table))
    # of a line that is too long the reader has other errors as well: the first kind by name is this one
    kind = cast(column_of("error_type"), "VARCHAR")
    others = [call("arg_min", name, kind) for name in ("error_message", "column_idx")]
    return select(
        ["line", call("min", kind), *others],
        table,
        where=[equal("scan_id", last)],
        group=[column_of("line")],
        order=[way("line")],
    )


def between(begin: int, end: int) -> exp.Expr:
    """The rows behind a record, up to another."""
    after = binary(exp.GT, "record", value_of(begin))
    before = binary(exp.LTE, "record", value_of(end))
    return everything("t", where=[after, before])


def sizes(rows: int, lengths: Sequence[exp.Expr]) -> exp.Expr:
    """For so many records at a time their number g, how many rows n there are, and the sum of their lengths."""
    sums = [cast(call("sum", each), "BIGINT") for each in lengths]
    terms = [value_of(0), *(call("coalesce", one, value_of(0)) for one in sums)]
    columns = {
        "g": binary(exp.IntDiv, "record", value_of(rows)),
        "n": counted(),
        # of a thousand columns a chain of + is deeper than DuckDB takes
        "size": call("list_sum", exp.Array(expressions=terms)),
    }
    made = [aliased(each, name) for name, each in columns.items()]
    return select(made, "t", group=[column_of("g")], order=[way("g")])


def number_texts(text: exp.Expr, source: Rows) -> exp.Expr:
    """What makes the table g of the distinct texts v, numbered by `code` as they come first."""
    columns = [aliased(text, "v"), aliased(call("min", "record"), "first")]
    texts = select(columns, source, group=[column_of("v")])
    code = binary(exp.Sub, row_number([way("first")]), value_of(1))
    return created("g", select(["v", aliased(code, "code")], texts), replace=True)


def numbers(text: exp.Expr, source: Rows) -> exp.Expr:
    """The `code` of each row, by g."""
    same = [equal(column_of("v", "g"), text)]
    return select(["code"], source, "g", where=same, order=[way("record")])
