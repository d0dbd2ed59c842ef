"""CSV files through DuckDB's reader, which names line, column and reason of what it rejects."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Self, TypeVar

import numpy as np
import numpy.typing as npt

from gdb.base import waiting
from gdb.base.closing import Closing
from gdb.base.sql import (
    aliased,
    call,
    cast,
    column_of,
    counted,
    deleted,
    equal,
    exp,
    is_null,
    is_there,
    negated,
    parameter_of,
    select,
    unequal,
    value_of,
    way,
    written,
)
from gdb.records import dataclass, replace

from ..columns import temporal
from ..columns.model import (
    DTYPES,
    I64,
    ITEM_OF,
    TEXT_KINDS,
    Column,
    Kind,
    Values,
    offsets_of_lengths,
)
from ..disk import csv_values
from ..disk.duckdb_engine import Engine, run, tell_progress
from ..disk.import_root import open_bytes, reopened
from ..disk.sandbox import literal
from . import statements
from .compressed import MOST_UNPACKED, allowance, compression_of
from .layout import Layout
from .line_ends import has_endless_line, has_longer_line, unify_line_ends
from .meter import Share
from .open_quotes import UNCLOSED, OpenQuote, Quotes, look_through, open_quote, unclosed
from .places import Places
from .report import Fault, FileReport, Rejects
from .text_columns import texts_of
from .unreadable import no_room, unreadable

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from gdb.base.sql import Part, Rows

T = TypeVar("T")
Row = tuple[int | str, ...]
_READ = 0.5  # of the work on a file is DuckDB's reading it
_PART = 1 << 18  # rows that are taken out of DuckDB at a time, where all are not wanted at once
_PART_BYTES = 1 << 25  # of their texts, which may make them fewer
_FEWEST = 2048  # rows whose texts are measured together; DuckDB has as many in hand
_FEW = 10_000  # values that are looked at first to find a column's type
_CURES = {
    "MISSING COLUMNS": "Every line must have as many fields as the header.",
    "TOO MANY COLUMNS": "Every line must have as many fields as the header; quote a field that"
    " holds the delimiter.",
    "UNQUOTED VALUE": "Close the quote, or double a quote inside a quoted field.",
    "INVALID ENCODING": "Convert the file to UTF-8.",
}


_ANY = "Texts of the type any are those that an export of gdb writes: declare the type of these values, or none."
_WHOLE = ("MISSING COLUMNS", "TOO MANY COLUMNS", "LINE SIZE OVER MAXIMUM")  # not about one column


@dataclass(frozen=True, slots=True)
class TableInput:
    """What a table is read of, and where that is reported. tick : called with the part that is taken in, 0 to 1."""

    path: Path
    layout: Layout
    report: FileReport
    rejects: Rejects
    tick: Callable[[float], None]
    engine: Engine


class Table(Closing):
    """The rows of one CSV file as text columns c0, c1, ... inside a DuckDB connection of its own.

    `record` is a row's number in the file, see `Places.of_rows`; the numbers of rows that were
    rejected stay unused. Use it in a `with` block.
    """

    def __init__(self, given: TableInput) -> None:
        self.path, self.layout, self.report = given.path, given.layout, given.report
        self.rejects, self._engine = given.rejects, given.engine
        self.places = Places.of(self.path, self.layout)
        self.warnings: list[str] = []
        self._source: Rows = "t"  # of the rows in hand, in SQL
        self._measured: list[tuple[int, int]] | None = None
        self._share = Share(given.tick, len(self.layout.fields))
        self._made: DuckDBPyConnection | None = None
        self._open_quote: OpenQuote | None = None  # where one was looked for

    def __enter__(self) -> Self:
        try:
            self._read()
        except BaseException:
            self.close()
            raise
        return self

    def close(self) -> None:
        """Close the connection, if one was made; its table goes with it."""
        if self._made is not None:
            self._made.close()

    @property
    def connection(self) -> DuckDBPyConnection:
        """Its own, made when it is first needed."""
        if self._made is None:
            self._made = self._engine.cursor()
            tell_progress(self._made)
        return self._made

    def _run(self, work: Callable[[], T]) -> T:
        """Do what runs a statement: it can be cancelled, and reports its progress."""
        found = self._do(work, self._share.at)
        self._share.end()
        return found

    def _do(self, work: Callable[[], T], tick: Callable[[float], None]) -> T:
        import duckdb

        try:
            return run(self.connection, work, tick)
        except duckdb.OutOfMemoryException:
            raise no_room(self.path) from None

    def _rows(self, statement: exp.Expr, parameters: Sequence[object] = ()) -> list[Row]:
        """All rows of a statement; a result that is left open keeps the connection from other work."""
        sql = written(statement)
        return self._run(lambda: self.connection.execute(sql, list(parameters)).fetchall())

    def _arrays(self, statement: exp.Expr) -> dict[str, npt.NDArray[np.generic]]:
        sql = written(statement)
        return self._run(lambda: dict(self.connection.execute(sql).fetchnumpy()))

    def _fill(self, statement: exp.Expr, parameters: Sequence[object] = ()) -> None:
        """As `_rows`, for the statement that reads the file: half of the work."""
        sql = written(statement)
        self._do(
            lambda: self.connection.execute(sql, list(parameters)).fetchall(),
            lambda part: self._share.tick(_READ * part),
        )
        self._share.reach(_READ)

    def _number(self, *rows: Rows, where: Sequence[exp.Expr] = ()) -> int:
        """How many rows there are."""
        return int(str(self._rows(select([counted()], *rows, where=where))[0][0]))

    # ---- reading -----------------------------------------------------------------------------------

    def _read(self) -> None:
        """Fill the table and reject the rows that do not fit their declared types."""
        self._read_text()
        self._collect_rejects()
        if len(self.layout.fields) == 1:  # the reader skips blank lines only of wider files
            self._rows(deleted("t", is_null("c0")))
        for i, field in enumerate(self.layout.fields):
            if field.kind is not None and field.role != "IGNORE":
                what = f"{field.name or field.role!r} is declared {field.kind}, not"
                cure = temporal.CURES.get(field.kind, "")
                self.reject_misfits(i, field.kind, what, cure)
        self.reject_misread()

    def _read_text(self) -> None:
        import duckdb

        try:
            if self._read_file(self.path):
                return
        except duckdb.Error as error:
            if "invalid state" not in str(error) or self.layout.written is not None:
                raise unreadable(self.path, self.layout, error) from None
        # the reader wants one kind of line end in a file, and says nothing of a long last line without one
        assert self._engine.scratch is not None
        with unify_line_ends(self.path, self._engine.scratch.path) as copy:
            try:
                self._read_file(copy)
            except duckdb.Error as second:
                raise unreadable(self.path, self.layout, second) from None

    def _read_file(self, path: Path) -> bool:
        """Whether all lines were looked at."""
        with open_bytes(path) as stream:
            compression = compression_of(stream.read(4))
        # DuckDB makes room for what a line may have, so what is said of it cannot be more than there is
        most = allowance(path.stat().st_size, MOST_UNPACKED)
        longest = statements.buffer_bytes(self.layout, most)
        parallel = compression == "none" and not has_longer_line(path, longest)
        statement = statements.reading(self.layout, compression, most, parallel=parallel)
        if compression == "none" and has_endless_line(path, longest):
            return False
        if parallel:
            self._read_lines(path, statement)
            return True
        # of a quote that one thread finds open at the end, DuckDB says nothing
        quotes = Quotes(self.layout)
        # to unpack it a second time takes another thread no longer than this one reads it
        with self._beside(partial(look_through, path, longest, quotes)) as endless:
            self._read_lines(path, statement)
            found = endless()
            self._open_quote = quotes.first(path)
            return not found

    @contextmanager
    def _beside(self, work: Callable[[Callable[[], bool]], T]) -> Iterator[Callable[[], T]]:
        """Work in another thread; gives what waits for it. The work gets a function that says whether to stop."""
        stop = threading.Event()
        with waiting.Pool(1, thread_name_prefix="gdb-ends") as pool:
            later = pool.submit(work, stop.is_set)
            try:
                yield lambda: waiting.result(later, partial(self._share.tick, _READ))
            finally:
                stop.set()

    def _read_lines(self, path: Path, statement: exp.Expr) -> None:
        with reopened(path) as place:
            self._fill(statement, [literal(place), self.layout.delimiter])

    def _collect_rejects(self) -> None:
        found = self._rows(statements.select_rejects())
        if found and self._open_quote is None:
            with self._beside(partial(open_quote, self.path, self.layout)) as opened:
                self._open_quote = opened()
        if self._open_quote is not None and not self._open_quote.last:
            # what the reader gave of the lines behind it depends on its buffers
            raise unclosed(self.path, self._open_quote)
        self.places.refused = {int(line) for line, *_ in found}
        shown = found[: self.rejects.shown]
        places = self.places.of_numbers({int(line) for line, *_ in shown})
        for number, kind, message, column in shown:
            line, text = places.get(int(number), (int(number), ""))
            reason = str(message).split("\n")[0].strip().rstrip(".")
            at = None if kind in _WHOLE else int(column)
            fault = Fault(reason, _CURES.get(str(kind), ""), at)
            self.rejects.add(self.report, line, text, fault)
        lines = {place.line for place in places.values()}
        if self._open_quote is not None and self._open_quote.line not in lines:
            fault = Fault(UNCLOSED, _CURES["UNQUOTED VALUE"])
            self.rejects.add(self.report, self._open_quote.line, self._open_quote.text, fault)

    # ---- rejecting rows ----------------------------------------------------------------------------

    def reject(self, i: int, condition: exp.Expr, what: str, cure: str = "") -> None:
        """Reject the rows for which `condition` holds; the reason is `what` and the value of column i."""
        most = self.rejects.most + 1
        found = self._rows(select(["record", self.text(i)], "t", where=[condition], limit=most))
        if found:
            shown = [
                (int(r), f"{what} {v!r}" if v is not None else what.rstrip(":")) for r, v in found
            ]
            self._reject_records(shown, cure, i)
            self._rows(deleted("t", condition))

    def reject_rows(self, rows: I64, reasons: Sequence[str], cure: str, i: int) -> None:
        """Reject rows by their places in the columns (i64[k] ascending), for their values in column i."""
        if len(rows):
            records = self.records()[rows].tolist()
            self._reject_records(list(zip(records, reasons, strict=True)), cure, i)
            numbers = exp.Subquery(this=select([call("unnest", parameter_of())]))
            self._rows(deleted("t", exp.In(this=column_of("record"), query=numbers)), [records])

    def _reject_records(self, rejected: list[tuple[int, str]], cure: str, i: int) -> None:
        shown = rejected[: self.rejects.shown]
        places = self.places.of_rows({record for record, _ in shown})
        for record, reason in shown:
            line, text = places[record]
            self.rejects.add(self.report, line, text, Fault(reason, cure, i + 1))

    def reject_misfits(self, i: int, kind: Kind, what: str, cure: str = "") -> None:
        """Reject the rows whose text in column i is no value of a kind."""
        self.reject(i, csv_values.misfit(self.text(i), kind), what, cure)

    def reject_misread(self) -> None:
        """Reject the rows whose text in a column of the kind "any" is of no value."""
        from ..columns.any_values import misread  # only such columns need it

        for i, field in enumerate(self.layout.fields):
            if field.kind == "any" and not field.role:
                wrong = misread(self.column(i, "string").to_list())
                reasons = [f"{field.name!r} is declared any: {why}" for why in wrong.values()]
                self.reject_rows(np.array(list(wrong), np.int64), reasons, _ANY, i)

    def reject_missing(self, i: int, what: str) -> None:
        """Reject rows without a value in a column that needs one."""
        self.reject(i, self.missing(i), f"{what} is empty", "Every line needs one.")

    def missing(self, i: int) -> exp.Expr:
        """Whether a row has no value in a column, in SQL."""
        return equal(self._text_or_empty(i), value_of(""))

    # ---- columns -----------------------------------------------------------------------------------

    def text(self, i: int) -> exp.Expr:
        """A column as text, in SQL; lists as `a;b`."""
        brackets = self.layout.bracketed and self.layout.fields[i].kind in ITEM_OF
        return csv_values.unbracketed(column_of(f"c{i}")) if brackets else column_of(f"c{i}")

    def _text_or_empty(self, i: int) -> exp.Expr:
        """A column as text, "" where it is empty."""
        return call("coalesce", self.text(i), value_of(""))

    def length(self, i: int) -> exp.Expr | None:
        """Bytes of a value of a column, in SQL; None where they are few."""
        return call("strlen", f"c{i}")

    def value(self, i: int, kind: Kind) -> exp.Expr:
        """A column as values of a kind, NULL where one does not fit; in SQL."""
        made = csv_values.value(self.text(i), kind)
        return csv_values.unescaped(made) if kind == "string[]" and self.layout.escaped else made

    def count(self) -> int:
        """Number of rows that were not rejected."""
        return self._number("t")

    def parts(self) -> Iterator[None]:
        """Go through the rows, some at a time: meanwhile `column`, `groups` and `records` give those of the rows in
        hand."""
        ranges, begun = self._ranges(), self._share.done
        for begin, end in ranges:
            self._source = statements.between(begin, end)
            self._share.goal = begun + (1.0 - begun) * end / max(ranges[-1][1], 1)
            yield
            self._share.reach(self._share.goal)
        self._source = "t"

    def _ranges(self) -> list[tuple[int, int]]:
        """Records (behind the first number, up to the second) of `_PART` rows, or fewer where their texts are long; of
        rows that are rejected later there are less."""
        if self._measured is None:
            self._measured = self._measure()
        return self._measured

    def _measure(self) -> list[tuple[int, int]]:
        lengths = [self.length(i) for i in range(len(self.layout.fields))]
        found = self._arrays(
            statements.sizes(_FEWEST, [each for each in lengths if each is not None])
        )
        groups, rows, sizes = (np.asarray(found[k], np.int64) for k in ("g", "n", "size"))
        ranges, begin, count, size = list[tuple[int, int]](), -1, 0, 0
        for group, some, more in zip(groups.tolist(), rows.tolist(), sizes.tolist(), strict=True):
            if count and (count + some > _PART or size + more > _PART_BYTES):
                ranges.append((begin, group * _FEWEST - 1))
                begin, count, size = group * _FEWEST - 1, 0, 0
            count, size = count + some, size + more
        last = int(groups[-1]) + 1 if len(groups) else 1
        return [*ranges, (begin, last * _FEWEST - 1)]

    def is_empty(self, i: int) -> bool:
        """Whether no row has a value in a column."""
        tests = [unequal(self.text(i), value_of(""))]
        return not self._number(select([value_of(1)], "t", where=tests, limit=1))

    def all_fit(self, i: int, kind: Kind) -> bool:
        """Whether a column may be taken for a kind that was not declared."""
        odd = [csv_values.surprise(self.text(i), kind)]
        few = select([f"c{i}"], "t", limit=_FEW)
        return not self._number(few, where=odd) and not self._number("t", where=odd)

    def warns_of_digits(self, i: int, what: str) -> bool:
        """Whether all values of a column are digits, so that some are beyond 64 bits; `what` that leads to is
        said."""
        odd = [unequal(f"c{i}", value_of("")), negated(csv_values.is_digits(f"c{i}"))]
        if digits := not self.is_empty(i) and not self._number("t", where=odd):
            name = self.layout.fields[i].name or self.layout.fields[i].role
            self.warnings.append(f"{self.path}: {name!r} holds integers beyond 64 bits; {what}")
        return digits

    def kind(self, i: int) -> Kind:
        """The declared kind of a column, or the narrowest that holds all its values as they are. Of numbers that no
        kind holds together, the rows of those that would be rounded are rejected."""
        field = self.layout.fields[i]
        if field.kind is not None:
            return field.kind
        if self.is_empty(i):
            return "string"
        found: Kind = next(
            (kind for kind in csv_values.INFERRED if self.all_fit(i, kind)), "string"
        )
        if found != "float64":
            return found
        present = unequal(f"c{i}", value_of(""))
        if not self._number("t", where=[present, negated(csv_values.is_no_number(f"c{i}"))]):
            return "string"
        if self.warns_of_digits(
            i, f"it is stored as string (declare {field.name}:float to round them)"
        ):
            return "string"
        self.reject(
            i,
            csv_values.is_rounded(f"c{i}"),
            f"{field.name!r} holds decimals, and an integer beyond 2**53, where floats round:",
            f"Declare {field.name}:string to keep every digit, or {field.name}:double to round it.",
        )
        return found

    def column(self, i: int, kind: Kind) -> Column:
        """A column's values, in the order of the lines.

        That is the order of the table, and DuckDB keeps it where the query has only SELECT, FROM and WHERE
        (https://duckdb.org/docs/stable/sql/dialect/order_preservation): sorting would take memory for all of them.
        """
        if self._source == "t" and (kind in TEXT_KINDS or kind in ITEM_OF) and self.length(i):
            pieces = [self._values(i, kind, statements.between(*each)) for each in self._ranges()]
            return pieces[0] if len(pieces) == 1 else Column.concat(pieces)
        return self._values(i, kind, self._source)

    def _values(self, i: int, kind: Kind, source: Rows) -> Column:
        if kind not in ITEM_OF:
            return self._column(self.value(i, kind), kind, source)
        found = select(["record", aliased(self.value(i, kind), "v")], source)
        lengths = self._column(call("len", "v"), "int64", found, ["record"])
        place = call("generate_subscripts", "v", value_of(1))
        split: list[Part] = ["record", aliased(call("unnest", "v"), "v"), aliased(place, "place")]
        each = select(split, found)
        items = self._column(column_of("v"), ITEM_OF[kind], each, ["record", "place"])
        offsets = offsets_of_lengths(lengths.values.astype(np.int64, copy=False))
        return Column.of_lists(items, offsets, lengths.valid)

    def _column(
        self, value: exp.Expr, kind: Kind, source: Rows, order: Sequence[str] = ()
    ) -> Column:
        """The values of some SQL over a source, by the columns of `order`."""
        ways = [way(name) for name in order]
        if kind in TEXT_KINDS:
            return replace(self._strings(value, source, ways), kind=kind)
        number = csv_values.number(value, kind)
        zero = value_of(False) if kind == "bool" else value_of(0)
        columns = [aliased(call("coalesce", number, zero), "v"), aliased(is_there(number), "ok")]
        found = self._arrays(select(columns, source, order=ways))
        valid = np.asarray(found["ok"], np.bool_)
        numbers: Values = np.ascontiguousarray(found["v"]).astype(DTYPES[kind])
        return Column(kind, numbers, None, None if valid.all() else valid)

    def _strings(self, value: exp.Expr, source: Rows, order: Sequence[exp.Expr]) -> Column:
        """A text column through Arrow, so that no Python string is made."""
        text, there = call("coalesce", value, value_of("")), cast(is_there(value), "TINYINT")
        texts = select([aliased(text, "v"), aliased(there, "ok")], source, order=order)
        relation = self.connection.sql(written(texts))
        return self._run(lambda: texts_of(relation))

    def texts(self, i: int) -> list[str]:
        """A column as text, "" where it is empty."""
        return [str(text or "") for text in self.column(i, "string").to_list()]

    def groups(self, i: int) -> tuple[list[str], I64]:
        """The distinct texts of a column ("" where empty), and for each row the number of its text."""
        text, source = self._text_or_empty(i), self._source
        self._rows(statements.number_texts(text, source))
        names = [str(v) for (v,) in self._rows(select(["v"], "g", order=[way("code")]))]
        found = self._arrays(statements.numbers(text, source))
        return names, np.asarray(found["code"], np.int64)

    def records(self) -> I64:
        """The record number of every row, i64[count]."""
        found = self._arrays(select(["record"], self._source))
        return np.asarray(found["record"], np.int64)
