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

    def __init_subclass__(cls, code: str = "") -> None:
        """code : of the class; without one it has that of its base."""
        cls.code = code or cls.code

    def __init__(self, message: str, cure: str = "") -> None:
        self.message = message
        self.cure = cure
        super().__init__(f"{message} {cure}".strip())

    @property
    def hint(self) -> str:
        """The cure; "" where there is none."""
        return self.cure


class InternalError(GdbError, code="INTERNAL"):
    """A fault of gdb itself (a verifier failed, an invariant broke); the message holds what we need
    to mend it."""


# ---- the store ----------------------------------------------------------------------------------


class StoreError(GdbError, code="STORE"):
    """A store cannot be used in the requested way."""


class NotAStore(StoreError, FileNotFoundError, code="NOT_A_STORE"):
    """The folder is missing, or holds no manifest of a gdb store."""


class FolderTaken(StoreError, FileExistsError, code="TAKEN"):
    """A backup or export would be written over something."""


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with a store: the violated invariant ("" where only a whole check determines it), and the file
    that shows it. docs/FORMAT.md lists the invariants."""

    invariant: str
    file: str
    what: str


class CorruptStore(StoreError, code="CORRUPT"):
    """A file of the store is not the file that the manifest committed, or contradicts it; the message names the file.

    faults : all that were found: by `Database.check` in the whole store, by any other work the one that stopped it.
    """

    def __init__(self, message: str, cure: str = "", faults: tuple[Fault, ...] = ()) -> None:
        super().__init__(message, cure)
        self.faults = faults


class StoreVersionError(StoreError, code="STORE_VERSION"):
    """The store was written by a newer format than this gdb reads."""


class StorePermissionError(StoreError, PermissionError, code="PERMISSION"):
    """The operating system refuses to read or write a file of the store."""


class StoreLocked(StoreError, code="LOCKED"):
    """Another process is writing to the store."""


class ReadOnlyError(StoreError, PermissionError, code="READ_ONLY"):
    """A write to a database opened read-only, or to a snapshot."""


class ClosedError(StoreError, code="CLOSED"):
    """The database was closed, or poisoned by a failed fsync."""


# ---- import -------------------------------------------------------------------------------------


class ImportFailed(GdbError, ValueError, code="IMPORT"):
    """An input file cannot be imported; carries file, line (1-based, None if unknown), text and
    reason.

    Nothing of the input has been stored.
    """

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


class ChangeRefused(PlacedError, ValueError, code="CHANGE"):
    """A change that the graph does not allow; the transaction stays as it was before it."""

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


class QueryError(PlacedError, ValueError, code="QUERY"):
    """A query cannot be understood, or a value that it meets cannot be used; knows its place."""


class SyntaxProblem(QueryError, code="SYNTAX"):
    """The text is not a query of the language."""


class NameProblem(QueryError, code="NAME"):
    """A variable, parameter or function of the query does not exist."""


class TypeProblem(QueryError, TypeError, code="TYPE"):
    """An operation of the query does not fit the types of its values."""


class ArgumentProblem(QueryError, code="ARGUMENT"):
    """A function does not take this value."""


class ArithmeticProblem(QueryError, ArithmeticError, code="ARITHMETIC"):
    """An integer is divided by zero, or does not fit into 64 bits."""


class DeletedProblem(QueryError, code="DELETED"):
    """The query reads what it has deleted itself."""


class NotSupported(QueryError, NotImplementedError, code="NOT_SUPPORTED"):
    """The standard has it, this version of gdb does not; the message says what to write instead."""


# ---- running ------------------------------------------------------------------------------------


class RunError(GdbError, code="RUN"):
    """A query was understood but could not be finished."""


class CountOverflow(RunError, OverflowError, code="OVERFLOW"):
    """A count does not fit into 63 bits."""


class Cancelled(RunError, code="CANCELLED"):
    """The query, import, compaction, backup or export was cancelled (Ctrl-C, `interrupt` or `close`).

    committed : False: the store is as it was, and nothing was kept. True: Ctrl-C came when the commit had begun, which
        has been made; run again, it would be made twice.
    """

    def __init__(self, message: str, cure: str = "", *, committed: bool = False) -> None:
        self.committed = committed
        super().__init__(message, cure)


class QueryTimeout(RunError, TimeoutError, code="TIMEOUT"):
    """The query ran longer than `timeout` seconds; nothing of it was committed."""


class OutOfBudget(RunError, MemoryError, code="MEMORY"):
    """The query needs more memory than its budget, or than the machine has."""


def no_more_memory() -> OutOfBudget:
    """The error where the operating system, not a budget, refused memory."""
    return OutOfBudget("the machine has no more memory for this.", "Process less at once.")


class DeviceError(RunError, code="DEVICE"):
    """The requested device does not exist or failed."""


class ClusterError(RunError, code="CLUSTER"):
    """A query that was given to other processes (`on=`) cannot be run by them; the message says which of them, and
    why."""


class LimitExceeded(RunError, ValueError, code="LIMIT"):
    """A query is larger than `gdb.limits` allows."""


class NotOneRow(RunError, ValueError, code="ROWS"):
    """The only row of an answer was requested, and it has none or several."""


class NoSuchColumn(RunError, KeyError, code="COLUMN"):
    """A value of a row was read by a name that no column of the answer has."""

    def __str__(self) -> str:  # of a KeyError it is the repr of the text
        return str(self.args[0])


class WrongType(RunError, TypeError, code="WRONG_TYPE"):
    """A value of an answer is not of the type that `Result.scalar` was called with."""
