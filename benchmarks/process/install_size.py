"""What an installation of gdb takes on disk: gdb itself and each package that it needs, with the largest file of each.

python -m benchmarks.process.install_size [--save]

Reads the installed packages of the Python that runs it, by their own records; nothing is downloaded or imported. MB are
10**6 bytes of files as installed, without bytecode, which pip writes anew.
"""

from __future__ import annotations

import argparse
import re
import tomllib
from collections.abc import Iterator
from importlib.metadata import Distribution, distribution
from pathlib import Path

from benchmarks.report import page
from benchmarks.report.section import Report
from benchmarks.report.table import Cell, Column, Table

REPOSITORY = Path(__file__).resolve().parents[2]
LARGE = 0.3  # MB: smaller packages are one row together
_REQUIREMENT = re.compile(r"\s*([\w.-]+)[^;]*(?:;(.*))?")


def needed(requirements: list[str]) -> Iterator[str]:
    """The packages that some requirements bring, each once; extras and other systems' aside."""
    waiting, seen = list(requirements), set[str]()
    while waiting:
        found = _REQUIREMENT.match(waiting.pop(0))
        if found is None or (found[2] and re.search(r"extra|win32|python_version\s*<", found[2])):
            continue
        name = re.sub(r"[-_.]+", "-", found[1]).lower()
        if name not in seen:
            seen.add(name)
            yield name
            waiting += distribution(name).requires or []


def files_of(package: Distribution) -> list[tuple[int, str]]:
    """Size in bytes and name of each file of a package."""
    found = []
    for file in package.files or []:
        path = Path(str(file.locate()))
        if path.suffix != ".pyc" and path.is_file():
            found.append((path.stat().st_size, path.name))
    return found


def own_files(project: dict[str, dict[str, dict[str, list[str]]]]) -> list[tuple[int, str]]:
    """Those of gdb, which may be installed from its sources."""
    folders = [
        REPOSITORY / name.replace(".", "/") for name in project["tool"]["setuptools"]["packages"]
    ]
    return [
        (path.stat().st_size, path.name)
        for folder in folders
        for path in folder.iterdir()
        if path.is_file()
    ] + [(p.stat().st_size, p.name) for p in (REPOSITORY / "executor/gpu/kernels").iterdir()]


def main() -> int:
    """Measure every package and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument(
        "--save", action="store_true", help="write the section to benchmarks/results/"
    )
    arguments = parser.parse_args()
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
    held = {"gdb-embedded": own_files(project)}
    for name in needed(project["project"]["dependencies"]):
        held[name] = files_of(distribution(name))
    sizes = {name: sum(size for size, _ in files) / 1e6 for name, files in held.items()}
    rows, rest = list[tuple[Cell, ...]](), []
    for name, size in sorted(sizes.items(), key=lambda one: -one[1]):
        if size < LARGE:
            rest.append(name)
            continue
        largest, file = max(held[name])
        shown = f"{file}, {largest / 1e6:.1f} MB" if largest >= 50_000 else None
        rows.append((name, size, len(held[name]), shown))
    if rest:
        files = sum(len(held[name]) for name in rest)
        rows.append((", ".join(sorted(rest)), sum(sizes[name] for name in rest), files, None))
    rows.append(("all", sum(sizes.values()), sum(map(len, held.values())), None))
    report = Report.of(
        "Files of gdb and of each package that it needs, as installed, without bytecode; MB are 10**6 bytes. "
        "`docs/decisions/0007-installed-size.md` says what each is for.",
        [Table.of(("package", Column("size", "MB", 1), "files", "the largest"), rows)],
    )
    print(report.markdown())
    if arguments.save:
        page.save(__file__, "Installed size", report, "numpy", "duckdb", "llvmlite")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
