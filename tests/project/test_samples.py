"""Every program of recipes, guides and README runs, twice in the same folder, and prints what the page shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import samples
from tests.support.samples import REPOSITORY, Sample

DOCS = REPOSITORY / "docs"
RECIPES = list(samples.samples(sorted((DOCS / "recipes").glob("*.md")), by_section=True))
REFERENCES = [DOCS / f"{name}.md" for name in ("ANSWERS", "EXPORT", "TRANSACTIONS")]
GUIDES = sorted((DOCS / "guides").glob("*.md"))
PAGES = [REPOSITORY / "README.md", DOCS / "start.md", *GUIDES, *REFERENCES]
PROGRAMS = list(samples.samples(PAGES, by_section=False))


@pytest.mark.parametrize("sample", RECIPES + PROGRAMS, ids=str)
def test_a_program_runs_twice(
    sample: Sample, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GDB_CACHE", str(tmp_path / "cache"))  # of stores at URLs
    samples.run(sample, tmp_path)
    samples.run(sample, tmp_path)


def test_there_are_thirty_recipes_and_each_has_a_program() -> None:
    titles = [
        line
        for path in (DOCS / "recipes").glob("*.md")
        for line in path.read_text(encoding="utf-8").splitlines()
        if line.startswith("## ")
    ]
    assert len(RECIPES) == len(set(titles)) == len(titles) >= 30


def test_each_page_has_a_program() -> None:
    assert {sample.page for sample in PROGRAMS} == {
        str(page.relative_to(REPOSITORY)) for page in PAGES
    }


@pytest.mark.parametrize(
    "page", [*PAGES, *(DOCS / "recipes").glob("*.md")], ids=lambda page: page.stem
)
def test_what_is_hidden_stays_hidden(page: Path) -> None:
    """A comment ends at the first `-->`, which is also a relationship: write -[]-> in one."""
    text = page.read_text(encoding="utf-8")
    hidden = [part.partition("-->")[0] for part in text.split("<!-- python\n")[1:]]
    assert hidden == [found[4] for found in samples.BLOCK.finditer(text) if found[4]]


def test_another_output_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = "```python\nprint(1 + 1)\n```\n\n```text\n3\n```\n"
    with pytest.raises(AssertionError, match="printed:\n2"):
        samples.run(Sample("a page", "", samples.blocks(text)), tmp_path)
