"""Tables in several files: patterns of names, and a file that holds the header for others that hold rows only.

As neo4j-admin takes them: `header.csv,part1.csv,part2.csv` is one table. In a list of files, those that follow one that
holds nothing but a header, and have none themselves, are its parts as well.
"""

from __future__ import annotations

import glob
import re
from collections.abc import Callable, Iterable
from os import PathLike, fspath
from pathlib import Path

from gdb.errors import ImportFailed
from gdb.records import dataclass, replace

from .csv_graph import Naming
from .detect import delimiter_of, head, is_parquet
from .header import ROLES, looks_like_header
from .layout import cells_of, layout_of

_MAGIC = re.compile(r"[*?\[]")


@dataclass(frozen=True, slots=True)
class PartedFile:
    """Files that are one table: the first of them begins with the header."""

    files: tuple[Path, ...]


def expand_patterns(things: Iterable[object], inside: Callable[[Path], Path]) -> list[object]:
    """What a caller names, with the files that each pattern matches in its place, and lists as a `PartedFile`.

    inside : gives the path of a file that may be read, or raises.

    Raises
    ------
    ImportFailed : nothing matches a pattern.
    """
    found: list[object] = []
    for each in things:
        text = fspath(each) if isinstance(each, (str, PathLike)) else None
        if not isinstance(text, str) or _is_there(Path(text)):
            found.append(each)
        elif "," in text:
            words = [word.strip() for word in text.split(",") if word.strip()]
            found.append(PartedFile(tuple(f for w in words for f in _matching(w, inside))))
        else:
            found += _matching(text, inside)
    return found


def group_parts(
    things: Iterable[object], naming: Naming, check: Callable[[Path], Path]
) -> list[object]:
    """Things that `expand_patterns` takes, with a header file and its parts as a `PartedFile`; looks only at paths."""
    found: list[object] = []
    open_header: tuple[str, Naming] | None = None
    for each in things:
        if not isinstance(each, (str, PathLike)) or _says_all(naming):
            open_header = None
            found.append(each)
            continue
        path, group = Path(each), found[-1] if found else None
        if open_header and isinstance(group, PartedFile) and _is_part(path, *open_header, check):
            found[-1] = PartedFile((*group.files, path))
            continue
        first = _only_header(path, naming, check)
        open_header = (first, naming) if first else None
        found.append(PartedFile((path,)) if first else each)
    return found


def parts_of(
    group: PartedFile, naming: Naming, check: Callable[[Path], Path]
) -> list[tuple[Path, Naming]]:
    """The files of a group that hold rows, and what is said of each.

    Raises
    ------
    ImportFailed : its header cannot be read.
    """
    first, *others = group.files
    if not others or _says_all(naming) or is_parquet(first := check(first)):
        return [(path, naming) for path in group.files]
    lines = head(first)
    layout = layout_of(first, lines, naming.delimiter, naming.header, None)
    header = next(line for line in lines if line.strip())
    found = [] if _is_alone(lines) else [(first, naming)]
    for path in others:
        path = check(path)
        again = next((k for k, line in enumerate(head(path), 1) if line.strip()), 0)
        skipped = again if again and head(path)[again - 1] == header else 0
        warnings = [] if found else layout.warnings
        how = replace(layout, skipped=skipped, warnings=warnings, guessed=False)
        found.append((path, replace(naming, layout=how)))
    return found


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # not a valid path: opening it raises the error
        return True


def _matching(word: str, inside: Callable[[Path], Path]) -> list[Path]:
    """The files of a pattern, 2 before 10; a plain name is itself."""
    if not _MAGIC.search(word) or _is_there(Path(word)):
        return [Path(word)]
    inside(Path(*_before_pattern(Path(word))))
    found = sorted(glob.glob(word), key=_natural)
    if not found:
        raise ImportFailed("matches no file", "Check the pattern.", file=word)
    return [Path(name) for name in found]


def _before_pattern(path: Path) -> list[str]:
    """The folders of a path up to the first pattern."""
    parts = list(path.parts)
    at = next(k for k, part in enumerate(parts) if _MAGIC.search(part))
    return parts[:at] or ["."]


def _natural(name: str) -> list[tuple[int, str]]:
    return [(int(w), "") if w.isdigit() else (-1, w) for w in re.split(r"([0-9]+)", name)]


def _says_all(naming: Naming) -> bool:
    """Whether no header is read."""
    return naming.columns is not None or naming.header is False or naming.layout is not None


def _is_alone(lines: list[str]) -> bool:
    return sum(bool(line.strip()) for line in lines) == 1


def _only_header(path: Path, naming: Naming, check: Callable[[Path], Path]) -> str:
    """The line of a file that holds a header and nothing else; "" for any other."""
    if not path.is_file() or is_parquet(path := check(path)):
        return ""
    lines = [line for line in head(path) if line.strip()]
    if len(lines) != 1:
        return ""
    cells = cells_of(lines[0], naming.delimiter or delimiter_of(lines[0]))
    return lines[0] if naming.header or looks_like_header(cells) else ""


def _is_part(path: Path, header: str, naming: Naming, check: Callable[[Path], Path]) -> bool:
    """Whether a file holds rows below a header of another one: as many cells, and no header of its own."""
    if not path.is_file() or is_parquet(path := check(path)):
        return False
    first = next((line for line in head(path) if line.strip()), "")
    delimiter = naming.delimiter or delimiter_of(header)
    cells, names = cells_of(first, delimiter), cells_of(header, delimiter)
    if first == header or len(cells) - len(names) not in (0, 1):
        return False
    return not looks_like_header(cells) or (_has_roles(names) and not _has_roles(cells))


def _has_roles(cells: list[str]) -> bool:
    return any(re.search(rf":({'|'.join(ROLES)})\b", cell.upper()) for cell in cells)
