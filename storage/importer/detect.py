"""Opening an input file and detecting its format from its content."""

from __future__ import annotations

import codecs
import re
from pathlib import Path
from typing import BinaryIO, Literal

from gdb.errors import ImportFailed

from ..disk.import_root import open_bytes
from .compressed import unpack

Format = Literal["snap", "csv", "graph", "mtx"]
PARQUET = b"PAR1"
MATRIX_MARKET = "%%matrixmarket"
DELIMITERS = (",", "|", "\t", ";")
HEAD = 1 << 16
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")  # https://..., as a path
_CLAUSES = "create|merge|(optional )?match|unwind|call|load csv|copy|return|with"
CYPHER = "statements of Cypher"
_OTHERS = (
    (
        r"<[?!a-z]",
        "XML",
        'Of XML, GraphML and GEXF are read: if it is one of them, pass format="graphml" or format="gexf".',
    ),
    (
        r"[{\[]",
        "JSON",
        'Of JSON, one object on each line is read, or one array of objects: if it is that, pass format="json".',
    ),
    (
        rf"//|/\*|({_CLAUSES}) +[^,|\t;]*[(\[{{$]",
        CYPHER,
        "Run them: `gdbsh load STORE FILE`, `gdbsh STORE -f FILE`, or Database.execute.",
    ),
)
# atomic: a file of many comments shall not be matched in all ways that there are
_ROOT = re.compile(
    r"(?:\s|(?><\?.*?\?>)|(?><!--.*?-->)|(?><!DOCTYPE[^\[>]*(?:\[.*?\]\s*)?>))*+<(?:[\w.-]+:)?([\w.-]+)",
    re.DOTALL,
)
_JSON = re.compile(r'\{\s*["}]|\[\s*[{\]]')
_GML = re.compile(
    r'(?:\s|#[^\n]*\n|(?>[A-Za-z]\w*\s+(?:"[^"]*"|[0-9.]+)\s))*+graph\s*\[', re.IGNORECASE
)
_LOOKED_AT = 20  # lines from which the format is detected


def open_input(path: Path, most: int | None = None) -> BinaryIO:
    """The bytes of a file, decompressed if it is gzip or Zstandard, to `most` bytes as in `compressed.unpack`.

    Raises
    ------
    ImportFailed : missing, a directory, not readable, or empty.
    """
    try:
        if path.is_dir():
            raise ImportFailed("is a directory", "Name the files in it.", file=str(path))
        if path.exists() and not path.is_file():  # a pipe would hang, and is read twice
            raise ImportFailed("is no plain file", "Write its content to a file.", file=str(path))
        raw = open_bytes(path)
    except ImportFailed:
        raise
    except FileNotFoundError:
        if _ADDRESS.match(str(path)):
            cure = "Fetch it first, and name the file."
            raise ImportFailed("is an address, no file", cure, file=str(path)) from None
        raise ImportFailed("does not exist", "Check the path.", file=str(path)) from None
    except PermissionError:
        raise ImportFailed("may not be read", "Check its permissions.", file=str(path)) from None
    except (OSError, ValueError) as error:  # a name too long, a NUL in it, a loop of links
        raise ImportFailed(
            f"cannot be opened ({error})", "Check the path.", file=str(path)
        ) from None
    if not raw.read(1):
        raw.close()
        raise ImportFailed("is empty", "Remove it from the import.", file=str(path))
    raw.seek(0)
    return unpack(raw, path, most)


def is_parquet(path: Path) -> bool:
    """Whether a file is Parquet, by its first bytes.

    Raises
    ------
    ImportFailed : it cannot be opened, or is empty.
    """
    open_input(path).close()
    with open_bytes(path) as stream:
        return stream.read(len(PARQUET)) == PARQUET


def head(path: Path) -> list[str]:
    """The first lines of a file, as text: all that are whole, or the begin of one that is longer.

    Raises
    ------
    ImportFailed : the file is no text.
    """
    text, cut = _begin(path)
    end = text.rfind("\n") if cut else -1
    return [x.removesuffix("\r") for x in (text if end < 0 else text[:end]).split("\n")]


def begin(path: Path) -> str:
    """The first `HEAD` bytes of a file, as text; the last line may be cut. Raises as `head`."""
    return _begin(path)[0]


def _begin(path: Path) -> tuple[str, bool]:
    """The same, and whether the file is longer."""
    with open_input(path) as stream:
        data = stream.read(HEAD)
    if b"\0" in data:
        raise ImportFailed(
            "is binary, not text",
            "Give an edge list, CSV, Matrix Market or .graph file.",
            file=str(path),
        )
    if data.startswith((b"PK\3\4", PARQUET)):
        raise ImportFailed("is no text file", "Unpack or convert it first.", file=str(path))
    cut = len(data) == HEAD
    try:  # a character that the limit cut in two is no fault
        text = codecs.getincrementaldecoder("utf-8-sig")().decode(data, final=not cut)
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise ImportFailed(
            "is not UTF-8",
            "Convert it to UTF-8.",
            file=str(path),
            line=line,
            text=data.split(b"\n")[line - 1][:200].decode("utf-8", "replace").strip(),
        ) from None
    return text, cut


def detect(path: Path, lines: list[str]) -> Format:
    """Matrix Market by banner or name, `.graph` by its `t` line, SNAP by comments or bare integers, all else CSV."""
    content = [x for x in lines if x.strip()]
    if not content:
        raise ImportFailed("holds no data", "Remove it from the import.", file=str(path))
    first = content[0].split()
    if first[0].lower() == MATRIX_MARKET or ".mtx" in path.suffixes[-2:]:
        return "mtx"
    if first[0] == "t" and len(first) >= 3 and all(map(_is_int, first[1:])):
        return "graph"
    data = [x for x in content if not x.lstrip().startswith("#")][:_LOOKED_AT]
    bare = [len(x.split()) == 2 and all(map(_is_int, x.split())) for x in data]
    commented = content[0].startswith("#") and not (data and any(d in data[0] for d in ",|;"))
    # most, not all: a file with a bad line is to raise an error that says so; the first line breaks a tie
    return "snap" if commented or 2 * sum(bare) + (bare[:1] == [True]) > len(data) else "csv"


def document_of(text: str) -> str | None:
    """The format of a document that holds a whole graph, or records of JSON, by its begin; None for all else."""
    text = text.lstrip()
    if text.startswith("<"):
        root = _ROOT.match(text)
        return root[1].lower() if root and root[1].lower() in ("graphml", "gexf") else None
    if _JSON.match(text):
        return "json"
    return "gml" if _GML.match(text) else None


def other_kind(first: str) -> tuple[str, str] | None:
    """What text is that is no graph file, by its first line, and how it is read; None where it may be a table."""
    text = first.strip()
    found = ((kind, cure) for sign, kind, cure in _OTHERS if re.match(sign, text, re.IGNORECASE))
    return next(found, None)


def _is_int(word: str) -> bool:
    return word.isascii() and word.removeprefix("-").isdigit()


def delimiter_of(line: str) -> str:
    """The delimiter that a header or first row most likely uses."""
    return max(DELIMITERS, key=line.count)
