"""The page of results, RESULTS.md, and the table of the README: made from the files of the sections.

    python -m benchmarks.report.page

`save` writes a section and makes both anew; the command makes them by itself. A test compares them with the files.
"""

from __future__ import annotations

import argparse
import datetime
import re
import sys
from collections.abc import Mapping
from pathlib import Path

from benchmarks.report import section as sections
from benchmarks.report import summary
from benchmarks.report.machine import this_machine, versions
from benchmarks.report.section import FOLDER, Report, Section, anchor
from benchmarks.report.table import Table

ROOMS = {
    "matching": "Patterns",
    "language": "Clauses and statements that write",
    "answers": "Rows of answers",
    "storage": "The store",
    "gpu": "A GPU",
    "scale": "Several processes, and graphs larger than memory",
    "process": "Installing and starting",
}
"""Headings of the page by the rooms of the programs, in the order of the page."""
_HEAD = """\
# Results

Made from the files in `benchmarks/results/`, which the programs write (`make bench`, then `make results`). Each section
says when, where and by which program it was measured.
"""
_SUMMARY = """\
## Summary

Ratio: how many times better than the best of the peers of that table (above 1: ours is quicker or smaller; `>`: no peer
ended within its limit; `-`: no peer has it). A mean is geometric, over the rows where both ended. Compare within a row
only: machines differ.
"""
_MARKED = re.compile(r"(<!-- measured -->\n).*?(<!-- end -->)", re.DOTALL)
# Rows of the README: subject -> in words that need no explanation.
SHOWN = {
    "enron: tri": "count triangles, email-Enron",
    "enron: c4": "count squares, email-Enron",
    "enron: k4": "count 4-cliques, email-Enron",
    "temporal: ring3": "rings of 3 payments in a time window",
    "LSQB, 25 million relationships: q3": "LSQB q3, 25 million relationships",
    "wiki-Vote on a GPU (mean of 26)": "26 patterns, wiki-Vote, on a GPU",
    "rmat10m_l16 on a GPU (mean of 24)": "24 labelled patterns, 10 million edges, on a GPU",
    "bulk import of 10,000,000 relationships": "import 10 million relationships",
    "look-up by key": "look up a node by its key",
    "commits of one relationship": "durable commits of one relationship",
}


def save(
    program: str, title: str, report: Report, *distributions: str, folder: Path = FOLDER
) -> None:
    """Write or replace a section, and make the page and the table of the README anew.

    Parameters
    ----------
    program : `__file__` of the program that measured.
    title : the section's heading, which also names its file.
    distributions : whose versions matter to these numbers, beside Python's and gdb's.
    folder : of the sections; the page lies beside it, the README beside the page's folder.
    """
    path = Path(program).resolve().relative_to(FOLDER.parent)
    today = datetime.datetime.now(tz=datetime.UTC).date().isoformat()
    took_part = versions("gdb-embedded", *distributions)
    section = Section(title, path.as_posix(), today, this_machine(), took_part, report)
    sections.write(section, folder)
    write(folder)


def write(folder: Path = FOLDER) -> None:
    """Write the page beside the folder of the sections, and the table of the README where there is one."""
    found = sections.read_all(folder)
    (folder.parent / "RESULTS.md").write_text(page(found), encoding="utf-8")
    readme = folder.parent.parent / "README.md"
    if readme.exists():
        text = with_measured(readme.read_text(encoding="utf-8"), found)
        readme.write_text(text, encoding="utf-8")


def page(found: Mapping[str, Section]) -> str:
    """RESULTS.md: the summary, then the sections by room and program.

    Raises
    ------
    ValueError : a section's program is in no room of `ROOMS`.
    """
    if strays := [one.title for one in found.values() if one.room not in ROOMS]:
        raise ValueError(f"no heading for the rooms of {', '.join(strays)}")
    parts = [_HEAD]
    if (lines := summary.table(found)).rows:
        parts.append(f"{_SUMMARY}\n{lines.markdown()}\n")
    for room, heading in ROOMS.items():
        mine = sorted(
            (one for one in found.values() if one.room == room), key=lambda s: (s.program, s.title)
        )
        if mine:
            parts += [f"## {heading}\n", *(one.markdown() for one in mine)]
    return "\n".join(parts)


def with_measured(readme: str, found: Mapping[str, Section]) -> str:
    """The README with its table.

    Raises
    ------
    ValueError : the summary has no row for one of `SHOWN`.
    """
    by_subject = {line.subject: line for line in summary.lines(found)}
    if missing := [subject for subject in SHOWN if subject not in by_subject]:
        raise ValueError(
            f"the summary has no row of {', '.join(missing)}: measure the whole section again, or take it out of SHOWN"
        )
    rows = [
        (
            f"[{words}](benchmarks/RESULTS.md#{anchor(by_subject[subject].section.title)})",
            *by_subject[subject].cells(),
        )
        for subject, words in SHOWN.items()
    ]
    table = Table.of(("measured", "gdb", "best peer", "times better"), rows).markdown()
    return _MARKED.sub(lambda marks: f"{marks[1]}\n{table}\n\n{marks[2]}", readme)


def main(line: list[str] | None = None) -> int:
    """Make both anew."""
    argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0]).parse_args(line)
    write()
    return 0


if __name__ == "__main__":
    sys.exit(main())
