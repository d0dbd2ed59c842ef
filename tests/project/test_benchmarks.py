"""The files of the results, what the benchmarks share, and what they claim about storage."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import pytest

from benchmarks.report import page, section
from benchmarks.report.section import FOLDER, Report
from benchmarks.report.table import Cell, Column, Over, Table, Wrong, figures
from benchmarks.storage import size_on_disk

FILES = sorted(FOLDER.glob("*.json"))


def programs(repository: Path) -> set[str]:
    """The files below benchmarks/ that save sections, as sections name them."""
    folder = repository / "benchmarks"
    return {
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*.py")
        if "page.save(__file__" in path.read_text(encoding="utf-8")
    }


def test_interval_pcsr_stays_near_csr(shared_data: Path, tmp_path: Path) -> None:
    """At most 1.1 of a plain CSR that knows no labels, with 12 of them; and the paper's saving against hash-PCSR."""
    tables = size_on_disk.email_enron(12)
    measured, packed = size_on_disk.measure(tables, tmp_path / "store")
    assert measured.over_csr <= size_on_disk.MOST_OVER_CSR
    assert packed < 0.4 * measured.csr
    assert measured.saved > 0.83
    assert all(part.after < part.before / 10 for part in measured.parts)


# ---- the files -----------------------------------------------------------------------------------


@pytest.mark.parametrize("path", FILES, ids=[path.stem for path in FILES])
def test_a_file_is_as_its_program_writes_it(path: Path, repository: Path) -> None:
    found = section.read(path)
    assert section.text_of(found) == path.read_text(encoding="utf-8")
    assert found.program in programs(repository)
    assert found.report.tables
    assert all(table.rows for table in found.report.tables)


def test_every_program_that_saves_is_documented(repository: Path) -> None:
    text = (repository / "docs" / "performance.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| `([\w/]+\.py)` \|", text, re.MULTILINE)
    assert len(listed) == len(set(listed))
    assert set(listed) == programs(repository)


@pytest.mark.parametrize("name", ["Makefile", "scripts", "docs", "benchmarks"])
def test_commands_that_are_named_exist(name: str, repository: Path) -> None:
    path = repository / name
    files = [path] if path.is_file() else [one for one in path.rglob("*") if one.suffix in TEXTS]
    texts = [one.read_text(encoding="utf-8") for one in files]
    modules = {
        one for text in texts for one in re.findall(r"-m (benchmarks\.[a-z_]+\.[a-z_]+)", text)
    }
    missing = [m for m in modules if not (repository / f"{m.replace('.', '/')}.py").exists()]
    assert not missing
    assert modules


TEXTS = {".md", ".py", ".sh"}


def test_a_section_is_replaced_alone(tmp_path: Path) -> None:
    folder, program = tmp_path / "benchmarks" / "results", str(FOLDER.parent / "gpu/row_listing.py")

    def save(title: str, cell: Cell) -> str:
        report = Report.of("What.", [Table.of(("n",), [(cell,)])], ["a note"])
        page.save(program, title, report, folder=folder)
        return (folder.parent / "RESULTS.md").read_text(encoding="utf-8")

    save("One", 111)
    save("Two", 222)
    text = save("One", 333)
    assert text.count("### One\n") == text.count("### Two\n") == text.count("## A GPU\n") == 1
    assert "111" not in text
    assert (
        "`python -m benchmarks.gpu.row_listing`.\n\nWhat.\n\n|   n |\n| --: |\n| 333 |\n\n- a note\n"
        in text
    )
    assert sorted(path.name for path in folder.iterdir()) == ["one.json", "two.json"]
    assert save("Two", 222) == text


def test_two_programs_do_not_share_a_title(tmp_path: Path) -> None:
    report = Report.of("", [Table.of(("n",), [(1,)])])
    page.save(str(FOLDER.parent / "gpu/row_listing.py"), "One", report, folder=tmp_path / "results")
    with pytest.raises(ValueError, match=r"one\.json is of gpu/row_listing\.py"):
        page.save(str(FOLDER.parent / "scale/x.py"), "One", report, folder=tmp_path / "results")


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"title": "Another"}, "belongs in another.json"),
        ({"notes": None}, "not a section"),
        ({"machine": {}}, "not a machine"),
        ({"tables": [{"caption": "", "columns": []}]}, "not a table"),
        ({"tables": [{"caption": "", "columns": [{"name": "a"}], "rows": [[[]]]}]}, "not a cell"),
        ({"tables": [{"caption": "", "columns": [{"unit": "s"}], "rows": []}]}, "not a column"),
    ],
)
def test_a_file_that_is_no_section_is_refused(
    change: dict[str, object], error: str, tmp_path: Path
) -> None:
    path = tmp_path / FILES[0].name
    whole = json.loads(FILES[0].read_text(encoding="utf-8"))
    path.write_text(json.dumps(whole | change), encoding="utf-8")
    with pytest.raises(ValueError, match=error):
        section.read(path)


# ---- tables --------------------------------------------------------------------------------------


def test_a_table_aligns_its_columns() -> None:
    header = ("name", "n", Column("time", "s"), Column("part", decimals=1), Column("best", "ms"))
    rows: list[tuple[Cell, ...]] = [
        ("a", 1000, 0.01234567, 12.345, Over(20.0)),
        ("bcdefg", 2, None, 3.0, Wrong(0.5)),
    ]
    table = Table.of(header, rows, "Above:")
    assert table.markdown().splitlines() == [
        "Above:",
        "",
        "| name   |     n | time (s) | part | best (ms)   |",
        "| ------ | ----: | -------: | ---: | ----------- |",
        "| a      | 1,000 |   0.0123 | 12.3 | > 20.0      |",
        "| bcdefg |     2 |          |  3.0 | 0.500 wrong |",
    ]
    assert table.line(-1).startswith("| bcdefg |     2 |")
    assert table.rows[0][2] == 0.0123457  # six digits


@pytest.mark.parametrize(
    ("rows", "error"),
    [
        ([(1,)], "1 cells for 2 columns"),
        ([(1, math.inf)], "holds inf"),
        ([(1, Over(math.nan))], "holds nan"),
        ([(1, True)], "truth value"),
    ],
)
def test_a_table_refuses_rows(rows: list[tuple[Cell, ...]], error: str) -> None:
    with pytest.raises(ValueError, match=error):
        Table.of(("a", "b"), rows)


def test_a_table_refuses_a_name_twice() -> None:
    with pytest.raises(ValueError, match="twice"):
        Table.of(("a", Column("a", "s")), [])


@pytest.mark.parametrize(
    ("number", "text"),
    [
        *((0, "0"), (0.000123456, "0.000123"), (0.0999, "0.0999"), (1, "1.00"), (12.34, "12.3")),
        *((123.4, "123"), (12345.6, "12,346"), (-0.5, "-0.500"), (-1234.0, "-1,234")),
    ],
)
def test_three_digits_without_powers_of_ten(number: float, text: str) -> None:
    assert figures(number) == text
