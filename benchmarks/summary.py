"""The summary at the top of RESULTS.md, and the table of the README: each subject, ours beside the best peer.

Made from the tables of the sections, so that it says nothing that they do not. `results.save` makes it anew with each
section; `python benchmarks/summary.py --save` does so by itself, and a test compares.
"""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import results

README = Path(__file__).resolve().parents[1] / "README.md"
TITLE = "Summary"
_HEAD = """\
## Summary

Made by `benchmarks/summary.py` from the tables below. Ratio: how many times better than the best of the peers of that
table (above 1: ours is quicker or smaller; `>`: no peer ended within the limit; `-`: no peer has it). A mean is
geometric, over the rows where both ended. Compare within a row only: machines differ.
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

Row = dict[str, str]


@dataclass(frozen=True)
class Line:
    """A row of the summary. ours, peer, ratio : as they are shown. name : of the best peer."""

    subject: str
    ours: str
    peer: str
    ratio: str
    section: str


@dataclass(frozen=True)
class Section:
    title: str
    text: str

    @property
    def where(self) -> str:
        """The line that says date and machine."""
        return next((line for line in self.text.splitlines()[1:] if line), "")

    @property
    def date(self) -> str:
        return self.where.partition(";")[0]

    @property
    def machine(self) -> str:
        parts = self.where.partition("; ")[2].partition("; ")[0].split(", ")
        gpu = [part for part in parts if "NVIDIA" in part]
        return ", ".join([*gpu, *(part for part in parts if part.endswith(" cores"))])

    def tables(self) -> list[list[Row]]:
        """Each table as dicts by its header; a first column without a name is called "name"."""
        found = []
        for block in re.findall(r"(?:^\|.*\n?)+", self.text, re.MULTILINE):
            lines = [
                [cell.strip() for cell in line.strip().strip("|").split("|")]
                for line in block.splitlines()
            ]
            header = [cell or "name" for cell in lines[0]]
            found.append([dict(zip(header, cells, strict=True)) for cells in lines[2:]])
        return found


def sections(text: str) -> dict[str, Section]:
    parts = re.split(r"^## (.*)\n", text, flags=re.MULTILINE)
    pairs = zip(parts[1::2], parts[2::2], strict=True)
    return {title: Section(title, body) for title, body in pairs}


def number(cell: str) -> float | None:
    """The number that a cell begins with; None where it has none, says that it is wrong, or was stopped."""
    found = re.match(r"[\d,]+(\.\d+)?", cell)
    return None if found is None or "wrong" in cell else float(found[0].replace(",", ""))


def limit(cell: str) -> float | None:
    """What a run was stopped at: ">20 s", "> 6,000"."""
    return number(cell.removeprefix(">").strip()) if cell.startswith(">") else None


def shown(value: float) -> str:
    """Three digits, and no exponent."""
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.{max(0, 2 - math.floor(math.log10(value)))}f}" if value > 0 else "0"


def compared(
    subject: str, ours: str, peers: dict[str, str], unit: str, section: str, more: bool = False
) -> Line | None:
    """A row of one measurement. more : more is better, as of rows per second."""
    mine = number(ours)
    if not mine:
        return None
    ended = {name: value for name, cell in peers.items() if (value := number(cell))}
    left = [value for cell in peers.values() if (value := limit(cell)) is not None]
    peer, ratio = "-", "-"
    if ended:
        best = (max if more else min)(ended, key=lambda name: ended[name])
        peer = f"{shown(ended[best])} {unit} ({best})"
        ratio = shown(mine / ended[best] if more else ended[best] / mine)
    elif left:
        peer, ratio = f"> {shown(min(left))} {unit}", f"> {shown(min(left) / mine)}"
    elif any("timeout" in cell for cell in peers.values()):
        peer = "none ended"
    return Line(subject, f"{shown(mine)} {unit}", peer, ratio, section)


def mean(subject: str, pairs: Sequence[tuple[float, float]], unit: str, section: str) -> Line:
    """A row of many measurements: geometric means of ours and of the best peer's."""
    ours = math.exp(sum(math.log(a) for a, _ in pairs) / len(pairs))
    peer = math.exp(sum(math.log(b) for _, b in pairs) / len(pairs))
    title = f"{subject} (mean of {len(pairs)})"
    return Line(
        title, f"{shown(ours)} {unit}", f"{shown(peer)} {unit}", shown(peer / ours), section
    )


# ---- the subjects --------------------------------------------------------------------------------

Maker = Callable[[Section], Iterator[Line | None]]


def engines(name: str) -> Maker:
    """A table with a row for each engine and a column for each query; ours with two threads."""

    def lines(section: Section) -> Iterator[Line | None]:
        table = section.tables()[0]
        ours = next(row for row in table if row["engine"] == "ours, 2 threads")
        others = [row for row in table if not row["engine"].startswith(("ours", "floor"))]
        for query in list(ours)[1:]:
            unit = "ms" if query == "hop2" else "s"
            peers = {row["engine"]: row[query] for row in others}
            yield compared(f"{name}: {query}", ours[query], peers, unit, section.title)

    return lines


def rows(
    subject: str, key: str, ours: str, peers: dict[str, str], unit: str, table: int = 0
) -> Maker:
    """A table with a row for each subject. subject : a template with {}. peers : columns and their names."""

    def lines(section: Section) -> Iterator[Line | None]:
        for row in section.tables()[table]:
            others = {name: _cell(row, column) for column, name in peers.items()}
            if any(cell.strip("- ") for cell in others.values()):
                yield compared(subject.format(row[key]), row[ours], others, unit, section.title)

    return lines


def _cell(row: Row, column: str) -> str:
    """A cell; where nothing ran again, why not, from the column of the first time."""
    return row[column] if row[column] != "-" else row.get(column.replace("again", "first"), "-")


def systems(subject: str, column: str, unit: str, more: bool = False) -> Maker:
    """A table with a row for each system; the first is ours."""

    def lines(section: Section) -> Iterator[Line | None]:
        first, *table = section.tables()[0]
        peers = {row["system"]: row[column] for row in table if "gdb" not in row["system"]}
        yield compared(subject, first[column], peers, unit, section.title, more)

    return lines


def statements(section: Section) -> Iterator[Line | None]:
    """A row for each statement and system: the largest graph."""
    column = "1,000,000 nodes"
    table = section.tables()[0]
    for statement in dict.fromkeys(row["name"] for row in table):
        own = [row for row in table if row["name"] == statement]
        peers = {row["system"]: row[column] for row in own if not row["system"].startswith("gdb")}
        batch = statement.endswith("k")
        ours = next(row[column] for row in own if row["system"] == "gdb")
        unit = "rows/s" if batch else "ms"
        yield compared(statement, ours, peers, unit, section.title, more=batch)


def means(subject: str, ours: str, peers: Sequence[str], unit: str) -> Maker:
    """One row for a table whose columns are in one unit."""

    def lines(section: Section) -> Iterator[Line | None]:
        pairs = []
        for row in section.tables()[0]:
            mine = number(row[ours])
            others = [value for peer in peers if (value := number(row[peer]))]
            if mine and others:
                pairs.append((mine, min(others)))
        yield mean(subject, pairs, unit, section.title)

    return lines


_PATHS = {"kuzu ms": "kuzu", "ladybug ms": "ladybug", "DuckDB ms": "DuckDB"}
_LSQB = {"DuckDB, again ms": "DuckDB", "ladybug, again ms": "ladybug"}
SUBJECTS: tuple[tuple[str, Maker], ...] = (
    ("Peers on the CPU: enron", engines("enron")),
    ("Peers on the CPU: hprd", engines("hprd")),
    ("Peers on the CPU: rmat10m", engines("rmat10m")),
    (
        "Decomposition: wiki-vote on cpu",
        means("wiki-vote on 2 CPU cores, peers on a GPU", "seconds", ["gmatch", "tdfs"], "s"),
    ),
    *(
        (f"GPU: {graph}", means(f"{graph} on a GPU", "kernel", ["best peer"], "ms"))
        for graph in ("email-Enron_l16", "wiki-Vote", "rmat10m", "rmat10m_l16")
    ),
    ("Temporal patterns", rows("temporal: {}", "pattern", "cpu", {"DuckDB": "DuckDB"}, "s")),
    (
        "Temporal patterns on a GPU",
        rows("temporal, on a GPU: {}", "pattern", "cuda", {"DuckDB": "DuckDB"}, "s"),
    ),
    (
        "Counts of each vertex",
        rows("{} of each vertex", "pattern", "counted s", {"networkx s": "networkx"}, "s"),
    ),
    ("LSQB: lsqb-sf0.003", rows("LSQB, small: {}", "query", "gdb, again ms", _LSQB, "ms")),
    (
        "LSQB: a generated graph",
        rows("LSQB, 25 million relationships: {}", "query", "gdb, again ms", _LSQB, "ms"),
    ),
    ("Paths of variable length", rows("{}, random graph", "query", "gdb ms", _PATHS, "ms")),
    ("Paths of variable length", rows("{}, R-MAT", "query", "gdb ms", _PATHS, "ms", table=1)),
    ("Several clauses", rows("{}", "query", "columns", {"DuckDB": "DuckDB"}, "ms")),
    ("Transactions", systems("commits of one relationship", "commits/s", "/s", more=True)),
    (
        "Bulk import, 10,000,000 relationships",
        systems("bulk import of 10,000,000 relationships", "import s", "s"),
    ),
    ("Statements", statements),
)


def lines(text: str) -> list[Line]:
    """All rows of the summary of a RESULTS.md; sections that are absent have none."""
    found = sections(text)
    return [
        line
        for title, maker in SUBJECTS
        if title in found
        for line in maker(found[title])
        if line is not None
    ]


def anchor(title: str) -> str:
    """Of a heading, as GitHub and the site make it."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def summary(text: str) -> str:
    """The section; empty where there is nothing to sum up."""
    found = sections(text)
    made = [
        (
            f"[{line.subject}](#{anchor(line.section)})",
            line.ours,
            line.peer,
            line.ratio,
            found[line.section].date,
            found[line.section].machine,
        )
        for line in lines(text)
    ]
    header = ("subject", "ours", "best peer", "ratio", "date", "machine")
    return f"{_HEAD}\n{results.table(header, made)}\n" if made else ""


def with_summary(text: str) -> str:
    """RESULTS.md with the summary as its first section."""
    parts = re.split(r"^(?=## )", text, flags=re.MULTILINE)
    rest = [part for part in parts[1:] if not part.startswith(f"## {TITLE}\n")]
    made = summary(text)
    return "".join([parts[0], f"{made}\n" if made else "", *rest])


def with_measured(readme: str, text: str) -> str:
    """The README with its table."""
    by_subject = {line.subject: line for line in lines(text)}
    missing = [subject for subject in SHOWN if subject not in by_subject]
    if missing:
        raise ValueError(f"the summary has no row of {', '.join(missing)}")
    made = [
        (
            f"[{words}](benchmarks/RESULTS.md#{anchor(one.section)})",
            one.ours,
            one.peer,
            one.ratio,
        )
        for words, one in ((words, by_subject[subject]) for subject, words in SHOWN.items())
    ]
    table = results.table(("measured", "gdb", "best peer", "times better"), made)
    return _MARKED.sub(lambda found: f"{found[1]}\n{table}\n\n{found[2]}", readme)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--save", action="store_true", help="write it into RESULTS.md and README.md"
    )
    options = parser.parse_args(arguments)
    text = results.RESULTS.read_text(encoding="utf-8")
    if options.save:
        results.RESULTS.write_text(with_summary(text), encoding="utf-8")
        readme = README.read_text(encoding="utf-8")
        README.write_text(with_measured(readme, text), encoding="utf-8")
    else:
        print(summary(text))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
