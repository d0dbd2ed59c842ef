"""CSV files through DuckDB's reader, which names line, column and reason of what it rejects."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Self, TypeVar

import numpy as np
import numpy.typing as npt

from gdb.base.closing import Closing
from gdb.errors import ImportFailed
from gdb.records import dataclass, replace
from gdb.storage import temporal
from gdb.storage.engine import Engine, run, stream_errors, tell_progress
from gdb.storage.importer import values
from gdb.storage.importer.compressed import (
    MOST_UNPACKED,
    allowance,
    compression_of,
    damaged,
)
from gdb.storage.importer.layout import Layout
from gdb.storage.importer.line_ends import unified
from gdb.storage.importer.places import Places
from gdb.storage.importer.report import Fault, FileReport, Rejects
from gdb.storage.model import (
    DTYPES,
    I64,
    ITEM_OF,
    TEXT_KINDS,
    Column,
    Kind,
    Values,
    offsets_of_lengths,
)
from gdb.storage.rooted import open_bytes, reopened
from gdb.storage.sandbox import literal

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection, DuckDBPyRelation

T = TypeVar("T")
Row = tuple[int | str, ...]
_LINE = 2 << 20  # bytes of a line that DuckDB takes unless it is told otherwise
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


_ANY = "Texts of the type any are those that an export of gdb writes."
_WHOLE = ("MISSING COLUMNS", "TOO MANY COLUMNS", "LINE SIZE OVER MAXIMUM")  # not about one column


@dataclass(slots=True)
class Share:
    """How much of a file is taken in, 0 to 1, as statements on its rows are done: each does its part of what is left up
    to `goal`; how many there will be, nobody knows.

    tick : told how much. columns : of the file, for each of which there are some statements.
    """

    tick: Callable[[float], None]
    columns: int
    done: float = 0.0
    goal: float = 1.0

    def at(self, part: float) -> None:
        """A part of the statement is done."""
        self.tick(self._after(part))

    def end(self) -> None:
        """The statement is done."""
        self.done = self._after(1.0)

    def reach(self, goal: float) -> None:
        """All statements up to there are done."""
        self.done = goal
        self.tick(goal)

    def _after(self, part: float) -> float:
        return self.done + (self.goal - self.done) * part / (4 * (self.columns + 1))


class Table(Closing):
    """The rows of one CSV file as text columns c0, c1, ... inside a DuckDB connection of its own.

    `record` is a row's number in the file, see `Places.of_rows`; the numbers of rows that were
    rejected stay unused. Use it in a `with` block.
    """

    def __init__(
        self,
        path: Path,
        layout: Layout,
        report: FileReport,
        rejects: Rejects,
        tick: Callable[[float], None],
        engine: Engine,
    ) -> None:
        self.path, self.layout, self.report, self.rejects = path, layout, report, rejects
        width = len(layout.fields)
        self.places = Places(path, layout.delimiter, layout.skipped, blanks=width == 1)
        self.warnings: list[str] = []
        self._source = "t"  # of the rows in hand, in SQL
        self._engine = engine
        self._share = Share(tick, width)
        self._made: DuckDBPyConnection | None = None

    def __enter__(self) -> Self:
        try:
            self._read()
        except BaseException:
            self.close()
            raise
        return self

    def close(self) -> None:
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
        """Do what runs a statement: it can be cancelled, and tells how far it is."""
        found = self._do(work, self._share.at)
        self._share.end()
        return found

    def _do(self, work: Callable[[], T], tick: Callable[[float], None]) -> T:
        import duckdb

        try:
            return run(self.connection, work, tick)
        except duckdb.OutOfMemoryException:
            raise no_room(self.path) from None

    def _rows(self, sql: str, parameters: Sequence[object] = ()) -> list[Row]:
        """All rows of a statement; a result that is left open keeps the connection from other work."""
        return self._run(lambda: self.connection.execute(sql, list(parameters)).fetchall())

    def _arrays(self, sql: str) -> dict[str, npt.NDArray[np.generic]]:
        return self._run(lambda: dict(self.connection.execute(sql).fetchnumpy()))

    def _fill(self, sql: str, parameters: Sequence[object] = ()) -> None:
        """As `_rows`, for the statement that reads the file: half of the work."""
        self._do(
            lambda: self.connection.execute(sql, list(parameters)).fetchall(),
            lambda part: self._share.tick(_READ * part),
        )
        self._share.reach(_READ)

    def _scalar(self, sql: str) -> int:
        return int(str(self._rows(sql)[0][0]))

    # ---- reading -----------------------------------------------------------------------------------

    def _read(self) -> None:
        """Fill the table and reject the rows that do not fit their declared types."""
        self._read_text()
        self._collect_rejects()
        if len(self.layout.fields) == 1:  # the reader skips blank lines only of wider files
            self._rows("DELETE FROM t WHERE c0 IS NULL")
        for i, field in enumerate(self.layout.fields):
            if field.kind is not None and field.role != "IGNORE":
                what = f"{field.name or field.role!r} is declared {field.kind}, not"
                cure = temporal.CURES.get(field.kind, "")
                self.reject_misfits(i, field.kind, what, cure)
        self.reject_misread()

    def _read_text(self) -> None:
        import duckdb

        try:
            self._read_file(self.path)
        except duckdb.Error as error:
            if "invalid state" not in str(error) or self.layout.written is not None:
                raise _readable(self.path, error) from None
            # the reader wants one kind of line end in a file
            assert self._engine.scratch is not None
            with unified(self.path, self._engine.scratch.path) as copy:
                try:
                    self._read_file(copy)
                except duckdb.Error as second:
                    raise _readable(self.path, second) from None

    def _read_file(self, path: Path) -> None:
        columns = ", ".join(f"'c{i}': 'VARCHAR'" for i in range(len(self.layout.fields)))
        with open_bytes(path) as stream:
            compression = compression_of(stream.read(4))
        written = self.layout.written
        # DuckDB makes room for what a line may have, so what is said of it cannot be more than there is
        most = allowance(path.stat().st_size, MOST_UNPACKED)
        widest = max(min(written.widest, most), _LINE) if written else _LINE
        exactly = f", new_line='\\n', max_line_size={widest}" if written else ""
        statement = (
            "CREATE OR REPLACE TEMP TABLE t AS SELECT row_number() OVER () AS record, * FROM "
            f"read_csv(?, columns={{{columns}}}, delim=?, header=false, "
            f"skip={self.layout.skipped}, quote='\"', escape='\"', nullstr='', "
            f"allow_quoted_nulls=false, auto_detect=false, hive_partitioning=false, compression='{compression}', "
            f"store_rejects=true, buffer_size={2 * widest}{exactly})"
        )
        with reopened(path) as place:
            self._fill(statement, [literal(place), self.layout.delimiter])

    def _collect_rejects(self) -> None:
        found = self._rows(
            "SELECT line, first(error_type), first(error_message), first(column_idx) FROM reject_errors "
            "WHERE scan_id = (SELECT max(scan_id) FROM reject_errors) "
            "GROUP BY line ORDER BY line"
        )
        self.places.refused = {int(line) for line, *_ in found}
        shown = found[: self.rejects.shown]
        places = self.places.of_numbers({int(line) for line, *_ in shown})
        for number, kind, message, column in shown:
            line, text = places.get(int(number), (int(number), ""))
            reason = str(message).split("\n")[0].strip().rstrip(".")
            at = None if kind in _WHOLE else int(column)
            fault = Fault(reason, _CURES.get(str(kind), ""), at)
            self.rejects.add(self.report, line, text, fault)

    # ---- rejecting rows ----------------------------------------------------------------------------

    def reject(self, i: int, condition: str, what: str, cure: str = "") -> None:
        """Reject the rows for which `condition` holds; the reason is `what` and the value of column i."""
        found = self._rows(
            f"SELECT record, {self.text(i)} FROM t WHERE {condition} LIMIT {self.rejects.most + 1}"
        )
        if found:
            shown = [(int(r), f"{what} {v!r}" if v is not None else what) for r, v in found]
            self._reject_records(shown, cure, i)
            self._rows(f"DELETE FROM t WHERE {condition}")

    def reject_rows(self, rows: I64, reasons: Sequence[str], cure: str, i: int) -> None:
        """Reject rows by their places in the columns (i64[k] ascending), for their values in column i."""
        if len(rows):
            records = self.records()[rows].tolist()
            self._reject_records(list(zip(records, reasons, strict=True)), cure, i)
            self._rows("DELETE FROM t WHERE record IN (SELECT unnest(?))", [records])

    def _reject_records(self, found: list[tuple[int, str]], cure: str, i: int) -> None:
        shown = found[: self.rejects.shown]
        places = self.places.of_rows({record for record, _ in shown})
        for record, reason in shown:
            line, text = places[record]
            self.rejects.add(self.report, line, text, Fault(reason, cure, i + 1))

    def reject_misfits(self, i: int, kind: Kind, what: str, cure: str = "") -> None:
        """Reject the rows whose text in column i is no value of a kind."""
        self.reject(i, values.misfit(self.text(i), kind), what, cure)

    def reject_misread(self) -> None:
        """Reject the rows whose text in a column of the kind "any" is of no value."""
        from gdb.storage.coded import misread  # only such columns need it

        for i, field in enumerate(self.layout.fields):
            if field.kind == "any" and not field.role:
                wrong = misread(self.column(i, "string").to_list())
                reasons = [f"{field.name!r} is declared any: {why}" for why in wrong.values()]
                self.reject_rows(np.array(list(wrong), np.int64), reasons, _ANY, i)

    def reject_missing(self, i: int, what: str) -> None:
        """Reject rows without a value in a column that needs one."""
        self.reject(
            i, f"coalesce({self.text(i)}, '') = ''", f"{what} is empty", "Every line needs one."
        )

    # ---- columns -----------------------------------------------------------------------------------

    def text(self, i: int) -> str:
        """A column as text, in SQL."""
        return f"c{i}"

    def length(self, i: int) -> str:
        """Bytes of a value of a column, in SQL; "" where they are few."""
        return f"strlen(c{i})"

    def value(self, i: int, kind: Kind) -> str:
        """A column as values of a kind, NULL where one does not fit; in SQL."""
        made = values.value(self.text(i), kind)
        escaped = kind == "string[]" and self.layout.written is not None
        return values.unescaped(made) if escaped else made

    def count(self) -> int:
        return self._scalar("SELECT count(*) FROM t")

    def parts(self) -> Iterator[None]:
        """Go through the rows, some at a time: meanwhile `column`, `groups` and `records` give those of the rows in
        hand."""
        ranges, begun = self._ranges(), self._share.done
        for begin, end in ranges:
            self._source = _between(begin, end)
            self._share.goal = begun + (1.0 - begun) * end / max(ranges[-1][1], 1)
            yield
            self._share.reach(self._share.goal)
        self._source = "t"

    def _ranges(self) -> list[tuple[int, int]]:
        """Records (behind the first number, up to the second) of `_PART` rows, or fewer where their texts are long."""
        lengths = [self.length(i) for i in range(len(self.layout.fields))]
        total = " + ".join(f"coalesce(sum({each})::BIGINT, 0)" for each in lengths if each) or "0"
        found = self._arrays(
            f"SELECT record // {_FEWEST} AS g, count(*) AS n, {total} AS size FROM t GROUP BY g ORDER BY g"
        )
        groups, rows, sizes = (np.asarray(found[k], np.int64) for k in ("g", "n", "size"))
        made, begin, count, size = list[tuple[int, int]](), -1, 0, 0
        for group, some, more in zip(groups.tolist(), rows.tolist(), sizes.tolist(), strict=True):
            if count and (count + some > _PART or size + more > _PART_BYTES):
                made.append((begin, group * _FEWEST - 1))
                begin, count, size = group * _FEWEST - 1, 0, 0
            count, size = count + some, size + more
        last = int(groups[-1]) + 1 if len(groups) else 1
        return [*made, (begin, last * _FEWEST - 1)]

    def is_empty(self, i: int) -> bool:
        """Whether no row has a value in a column."""
        given = f"SELECT 1 FROM t WHERE {self.text(i)} <> '' LIMIT 1"
        return not self._scalar(f"SELECT count(*) FROM ({given})")

    def all_fit(self, i: int, kind: Kind) -> bool:
        """Whether a column may be taken for a kind that nobody declared."""
        odd = values.surprise(self.text(i), kind)
        few = f"SELECT count(*) FROM (SELECT c{i} FROM t LIMIT {_FEW}) WHERE {odd}"
        return not self._scalar(few) and not self._scalar(f"SELECT count(*) FROM t WHERE {odd}")

    def kind(self, i: int) -> Kind:
        """The declared kind of a column, or the narrowest that holds all its values as they are. Of numbers that no
        kind holds together, the rows of those that would be rounded are rejected."""
        field = self.layout.fields[i]
        if field.kind is not None:
            return field.kind
        if self.is_empty(i):
            return "string"
        found: Kind = next((kind for kind in values.INFERRED if self.all_fit(i, kind)), "string")
        if found != "float64":
            return found
        given = f"FROM t WHERE c{i} <> '' AND NOT"
        if not self._scalar(f"SELECT count(*) {given} {values.is_no_number(f'c{i}')}"):
            return "string"
        if not self._scalar(f"SELECT count(*) {given} {values.is_digits(f'c{i}')}"):
            self.warnings.append(
                f"{self.path}: {field.name!r} holds integers beyond 64 bits; it is stored as string "
                f"(declare {field.name}:float to round them)"
            )
            return "string"
        self.reject(
            i,
            values.is_rounded(f"c{i}"),
            f"{field.name!r} holds decimals, and an integer beyond 2**53, where floats round:",
            f"Declare {field.name}:string to keep every digit, or {field.name}:double to round it.",
        )
        return found

    def column(self, i: int, kind: Kind) -> Column:
        """A column's values, in the order of the lines.

        That is the order of the table, and DuckDB keeps it where nothing but SELECT, FROM and WHERE is asked for
        (https://duckdb.org/docs/stable/sql/dialect/order_preservation): sorting would take memory for all of them.
        """
        if self._source == "t" and (kind in TEXT_KINDS or kind in ITEM_OF) and self.length(i):
            pieces = [self._values(i, kind, _between(*each)) for each in self._ranges()]
            return pieces[0] if len(pieces) == 1 else Column.concat(pieces)
        return self._values(i, kind, self._source)

    def _values(self, i: int, kind: Kind, source: str) -> Column:
        if kind not in ITEM_OF:
            return self._column(self.value(i, kind), kind, source)
        found = f"(SELECT record, {self.value(i, kind)} AS v FROM {source})"
        lengths = self._column("len(v)", "int64", f"{found} ORDER BY record")
        each = f"(SELECT record, unnest(v) AS v, generate_subscripts(v, 1) AS place FROM {found})"
        items = self._column("v", ITEM_OF[kind], f"{each} ORDER BY record, place")
        offsets = offsets_of_lengths(lengths.values.astype(np.int64, copy=False))
        return Column.of_lists(items, offsets, lengths.valid)

    def _column(self, value: str, kind: Kind, source: str) -> Column:
        """The values of some SQL over a source, which says their order too."""
        if kind in TEXT_KINDS:
            return replace(self._strings(value, source), kind=kind)
        cast = values.number(value, kind)
        zero = "false" if kind == "bool" else "0"
        found = self._arrays(
            f"SELECT coalesce({cast}, {zero}) AS v, {cast} IS NOT NULL AS ok FROM {source}"
        )
        valid = np.asarray(found["ok"], np.bool_)
        numbers: Values = np.ascontiguousarray(found["v"]).astype(DTYPES[kind])
        return Column(kind, numbers, None, None if valid.all() else valid)

    def _strings(self, value: str, source: str) -> Column:
        """A text column through Arrow, so that no Python string is made."""
        relation = self.connection.sql(
            f"SELECT coalesce({value}, '') AS v, CAST({value} IS NOT NULL AS TINYINT) AS ok FROM {source}"
        )
        return self._run(lambda: _texts(relation))

    def texts(self, i: int) -> list[str]:
        """A column as text, "" where it is empty."""
        return [str(text or "") for text in self.column(i, "string").to_list()]

    def groups(self, i: int) -> tuple[list[str], I64]:
        """The distinct texts of a column ("" where empty), and for each row the number of its text."""
        self._rows(
            "CREATE OR REPLACE TEMP TABLE g AS SELECT v, row_number() OVER (ORDER BY first) - 1 AS code "
            f"FROM (SELECT coalesce({self.text(i)}, '') AS v, min(record) AS first FROM {self._source} GROUP BY v)"
        )
        names = [str(v) for (v,) in self._rows("SELECT v FROM g ORDER BY code")]
        found = self._arrays(
            f"SELECT code FROM {self._source} AS r JOIN g ON g.v = coalesce({self.text(i)}, '') ORDER BY record"
        )
        return names, np.asarray(found["code"], np.int64)

    def records(self) -> I64:
        """The record number of every row, i64[count]."""
        found = self._arrays(f"SELECT record FROM {self._source}")
        return np.asarray(found["record"], np.int64)


def _between(begin: int, end: int) -> str:
    """Some records, as a source."""
    return f"(SELECT * FROM t WHERE record > {begin} AND record <= {end})"


def no_room(path: Path) -> ImportFailed:
    """The error for a file that DuckDB cannot read within its memory."""
    return ImportFailed(
        "its rows have no room in the part of the memory that is DuckDB's",
        "Raise memory=; a quarter of it is for that.",
        file=str(path),
    )


def _texts(relation: DuckDBPyRelation) -> Column:
    """The texts v of a relation, null where `ok` is 0."""
    import nanoarrow as na

    data: list[npt.NDArray[np.uint8]] = [np.zeros(0, np.uint8)]
    lengths: list[I64] = [np.zeros(0, np.int64)]
    valid = [np.zeros(0, np.bool_)]
    with stream_errors(), na.c_array_stream(relation) as stream:
        for chunk in stream:
            text, given = chunk.child(0), chunk.child(1)
            ends = np.asarray(text.view().buffer(1)).astype(np.int64)
            ends = ends[text.offset : text.offset + text.length + 1]
            data.append(np.asarray(text.view().buffer(2)).view(np.uint8)[ends[0] : ends[-1]])
            lengths.append(np.diff(ends))
            flags = np.asarray(given.view().buffer(1))
            valid.append(flags[given.offset : given.offset + given.length] != 0)
    joined = np.concatenate(data)  # copies, so nothing of Arrow's memory is kept
    ok = np.concatenate(valid)
    offsets = offsets_of_lengths(np.concatenate(lengths))
    return Column("string", joined, offsets, None if ok.all() else ok)


def _readable(path: Path, error: Exception) -> ImportFailed:
    """A DuckDB message without its advice about its own options."""
    import duckdb

    message = str(error)
    if isinstance(error, duckdb.IOException):
        return damaged(path, "it ends early, or is damaged")
    short = re.split(r"\n|Possible (fixes|solutions)", message)[0].strip().rstrip(".")
    line = re.search(r"[Ll]ine:? (\d+)", message)
    return ImportFailed(
        f"cannot be read as CSV ({short})",
        "Check delimiter=, header= and the file's encoding (UTF-8).",
        file=str(path),
        line=int(line[1]) if line else None,
    )
