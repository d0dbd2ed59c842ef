"""Every error that gdb raises on purpose: what happened, where, and the cure.

`GdbError` is the base; each class carries a short `code` and, where a Python user would expect one,
also derives from the builtin exception. `InternalError` alone means that the fault is ours. This
module imports nothing of gdb, so every room may use it.
"""

from __future__ import annotations

from gdb.records import dataclass


class GdbError(Exception):
    """Base of all errors of gdb.

    Parameters
    ----------
    message : what happened and where, in one sentence.
    cure : what the user can do about it; appended to the message, and also called `hint`.

    Attributes
    ----------
    line, column : 1-based, of the query (of an import: `line` of the file) where the error has a place; else None.
    code : a short name of the class, for programs.
    """

    code = "GDB"
    line: int | None = None
    column: int | None = None

    def __init__(self, message: str, cure: str = "") -> None:
        self.message = message
        self.cure = cure
        super().__init__(f"{message} {cure}".strip())

    @property
    def hint(self) -> str:
        """The cure; "" where there is none."""
        return self.cure


class InternalError(GdbError):
    """A fault of gdb itself (a verifier failed, an invariant broke); the message holds what we need
    to mend it."""

    code = "INTERNAL"


# ---- the store ----------------------------------------------------------------------------------


class StoreError(GdbError):
    """A store cannot be used in the requested way."""

    code = "STORE"


class NotAStore(StoreError, FileNotFoundError):
    """The folder is missing, or holds no manifest of a gdb store."""

    code = "NOT_A_STORE"


class FolderTaken(StoreError, FileExistsError):
    """A backup or export would be written over something."""

    code = "TAKEN"


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with a store: the violated invariant ("" where only a whole check determines it), and the file
    that shows it. docs/FORMAT.md lists the invariants."""

    invariant: str
    file: str
    what: str


class CorruptStore(StoreError):
    """A file of the store is not the file that the manifest committed, or contradicts it; the message names the file.

    faults : all that were found: by `Database.check` in the whole store, by any other work the one that stopped it.
    """

    code = "CORRUPT"

    def __init__(self, message: str, cure: str = "", faults: tuple[Fault, ...] = ()) -> None:
        super().__init__(message, cure)
        self.faults = faults


class StoreVersionError(StoreError):
    """The store was written by a newer format than this gdb reads."""

    code = "STORE_VERSION"


class StorePermissionError(StoreError, PermissionError):
    """The operating system refuses to read or write a file of the store."""

    code = "PERMISSION"


class StoreLocked(StoreError):
    """Another process is writing to the store."""

    code = "LOCKED"


class ReadOnlyError(StoreError, PermissionError):
    """A write to a database opened read-only, or to a snapshot."""

    code = "READ_ONLY"


class ClosedError(StoreError):
    """The database was closed, or poisoned by a failed fsync."""

    code = "CLOSED"


# ---- import -------------------------------------------------------------------------------------


class ImportFailed(GdbError, ValueError):
    """An input file cannot be imported; carries file, line (1-based, None if unknown), text and
    reason.

    Nothing of the input has been stored.
    """

    code = "IMPORT"

    def __init__(
        self,
        reason: str,
        cure: str = "",
        *,
        file: str = "",
        line: int | None = None,
        text: str = "",
    ) -> None:
        self.reason, self.file, self.line, self.text = reason, file, line, text
        where = f"{file}:{line}: " if file and line is not None else f"{file}: " if file else ""
        shown = text if len(text) <= 120 else text[:117] + "..."
        super().__init__(f"{where}{reason}" + (f" in {shown!r}." if text else "."), cure)


class LinesSkipped(UserWarning):
    """More than 1 % of a file was skipped (`on_error="skip"`)."""


class QueryWarning(UserWarning):
    """Something in a query is probably a mistake, as a label that no node has; or it ran otherwise than was to be
    expected, as on the CPU after a GPU gave up. `Result.warnings` has the same texts."""


# ---- errors with a place -------------------------------------------------------------------------


class PlacedError(GdbError):
    """An error that a query's text may have caused; then it knows its place there, and shows it.

    `line` and `column` are 1-based, None where there is no text; `length` characters are underlined. `detail` is the
    standard's name of the error, where it has one ("UndefinedVariable" of the openCypher TCK), else empty.
    """

    def __init__(
        self,
        message: str,
        cure: str = "",
        *,
        text: str = "",
        line: int | None = None,
        column: int | None = None,
        length: int = 1,
        detail: str = "",
    ) -> None:
        self.line, self.column, self.length = line, column, length
        self.detail = detail
        if line is not None and column is not None:
            message = f"line {line}, column {column}: {message}"
        super().__init__(message, cure)
        self.picture = _underline(text, line, column, length)
        if self.picture:
            self.args = (f"{self.args[0]}\n{self.picture}",)


def _underline(text: str, line: int | None, column: int | None, length: int) -> str:
    """The query's line with the token underlined; long lines are cut around it."""
    lines = text.splitlines()
    if line is None or column is None or not 1 <= line <= len(lines):
        return ""
    source, start = lines[line - 1].replace("\t", " "), column - 1
    left = max(0, start - 60)
    shown = source[left : left + 120]
    marks = "^" * max(1, min(length, len(shown) - (start - left)))
    return f"  {shown}\n  {' ' * (start - left)}{marks}"


class ChangeRefused(PlacedError, ValueError):
    """A change that the graph does not allow; the transaction stays as it was before it."""

    code = "CHANGE"

    def __init__(
        self,
        reason: str,
        cure: str = "",
        *,
        text: str = "",
        line: int | None = None,
        column: int | None = None,
        length: int = 1,
    ) -> None:
        self.reason = reason
        shown = reason if text else f"{reason[:1].upper()}{reason[1:]}"
        super().__init__(f"{shown}.", cure, text=text, line=line, column=column, length=length)


# ---- queries ------------------------------------------------------------------------------------


class QueryError(PlacedError, ValueError):
    """A query cannot be understood, or a value that it meets cannot be used; knows its place."""

    code = "QUERY"


class SyntaxProblem(QueryError):
    """The text is not a query of the language."""

    code = "SYNTAX"


class NameProblem(QueryError):
    """A variable, parameter or function of the query does not exist."""

    code = "NAME"


class TypeProblem(QueryError, TypeError):
    """An operation of the query does not fit the types of its values."""

    code = "TYPE"


class ArgumentProblem(QueryError):
    """A function does not take this value."""

    code = "ARGUMENT"


class ArithmeticProblem(QueryError, ArithmeticError):
    """An integer is divided by zero, or does not fit into 64 bits."""

    code = "ARITHMETIC"


class DeletedProblem(QueryError):
    """The query reads what it has deleted itself."""

    code = "DELETED"


class NotSupported(QueryError, NotImplementedError):
    """The standard has it, this version of gdb does not; the message says what to write instead."""

    code = "NOT_SUPPORTED"


# ---- running ------------------------------------------------------------------------------------


class RunError(GdbError):
    """A query was understood but could not be finished."""

    code = "RUN"


class CountOverflow(RunError, OverflowError):
    """A count does not fit into 63 bits."""

    code = "OVERFLOW"


class Cancelled(RunError):
    """The query, import, compaction, backup or export was cancelled (Ctrl-C, `interrupt` or `close`).

    committed : False: the store is as it was, and nothing was kept. True: Ctrl-C came when the commit had begun, which
        has been made; run again, it would be made twice.
    """

    code = "CANCELLED"

    def __init__(self, message: str, cure: str = "", *, committed: bool = False) -> None:
        self.committed = committed
        super().__init__(message, cure)


class QueryTimeout(RunError, TimeoutError):
    """The query ran longer than `timeout` seconds; nothing of it was committed."""

    code = "TIMEOUT"


class OutOfBudget(RunError, MemoryError):
    """The query needs more memory than its budget, or than the machine has."""

    code = "MEMORY"


def no_more_memory() -> OutOfBudget:
    """The error where the operating system, not a budget, refused memory."""
    return OutOfBudget("the machine has no more memory for this.", "Process less at once.")


class DeviceError(RunError):
    """The requested device does not exist or failed."""

    code = "DEVICE"


class ClusterError(RunError):
    """A query that was given to other processes (`on=`) cannot be run by them; the message says which of them, and
    why."""

    code = "CLUSTER"


class LimitExceeded(RunError, ValueError):
    """A query is larger than `gdb.limits` allows."""

    code = "LIMIT"


class NotOneRow(RunError, ValueError):
    """The only row of an answer was requested, and it has none or several."""

    code = "ROWS"


class NoSuchColumn(RunError, KeyError):
    """A value of a row was read by a name that no column of the answer has."""

    code = "COLUMN"

    def __str__(self) -> str:  # of a KeyError it is the repr of the text
        return str(self.args[0])


class WrongType(RunError, TypeError):
    """A value of an answer is not of the type that `Result.scalar` was called with."""

    code = "WRONG_TYPE"
