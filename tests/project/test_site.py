"""The documentation as a site: every page is in its navigation, the API reference has every public name, and, where
MkDocs is installed (`pip install '.[docs]'`), it is built strictly and fetches nothing from elsewhere."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import gdb
from scripts import api_reference, site_pages

ROOT_PAGES = sorted(site_pages.ELSEWHERE.values())
_PAGE = re.compile(r"([\w/.-]+\.md)\s*$", re.MULTILINE)
_FILE = re.compile(r"`((?:gdb|storage|executor|repl|tests|benchmarks|docs|scripts)/[\w/.]+)`")


def navigation(repository: Path) -> list[str]:
    text = (repository / "mkdocs.yml").read_text(encoding="utf-8")
    return _PAGE.findall(text.partition("\nnav:\n")[2])


def test_every_page_is_in_the_navigation_once(repository: Path) -> None:
    docs = repository / "docs"
    present = {str(path.relative_to(docs)) for path in docs.rglob("*.md")}
    made = {f"api/{name}.md" for name in api_reference.PAGES} | {"api/index.md", "notebook.md"}
    pages = navigation(repository)
    assert len(pages) == len(set(pages))
    assert set(pages) == present | made | set(site_pages.ELSEWHERE)


def headings(text: str) -> set[str]:
    """The anchors of a page, as GitHub and the site make them."""
    bare = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    return {
        re.sub(r"[^\w\- ]", "", title.lower().replace("`", "")).strip().replace(" ", "-")
        for title in re.findall(r"^#+ (.*)$", bare, re.MULTILINE)
    }


def test_no_link_is_broken(repository: Path) -> None:
    """Also without MkDocs: between the pages, and to files of the repository."""
    made = {f"docs/api/{name}.md" for name in api_reference.PAGES} | {"docs/notebook.md"}
    pages = [*(repository / "docs").rglob("*.md"), *(repository / one for one in ROOT_PAGES)]
    broken, links = [], 0
    for page in pages:
        text = re.sub(
            r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL
        )
        for target, anchor in re.findall(r"\]\(([^)\s:#]*)(?:#([^)\s]*))?\)", text):
            links += 1
            to = (page.parent / target).resolve() if target else page
            if str(to.relative_to(repository)) in made:
                continue
            if not to.exists() or (
                anchor and anchor not in headings(to.read_text(encoding="utf-8"))
            ):
                broken.append(f"{page.relative_to(repository)}: {target}#{anchor}")
    assert links > 200
    assert not broken


def test_decisions_are_listed(repository: Path) -> None:
    folder = repository / "docs" / "decisions"
    listed = re.findall(r"\]\((0.*?\.md)\)", (folder / "index.md").read_text(encoding="utf-8"))
    assert listed == sorted(path.name for path in folder.glob("0*.md"))


@pytest.mark.parametrize("name", ["CONTRIBUTING.md", "docs/decisions"])
def test_files_that_are_named_exist(name: str, repository: Path) -> None:
    path = repository / name
    texts = [path] if path.is_file() else sorted(path.glob("*.md"))
    named = [one for text in texts for one in _FILE.findall(text.read_text(encoding="utf-8"))]
    assert len(named) > 10
    assert not [one for one in named if not (repository / one).exists()]


def test_the_reference_has_every_public_name() -> None:
    text = "".join(api_reference.page(name) for name in api_reference.PAGES)
    missing = [
        name
        for name in gdb.__all__
        if f"## `gdb.{name}`" not in text
        and name not in ("__version__", "dbapi", "errors", "limits")
    ]
    assert not missing


def test_the_reference_has_methods_with_their_arguments() -> None:
    text = api_reference.page("database")
    assert "### `execute`" in text  # of a base class
    assert "    parameters: Mapping[str, object] | None = None,\n" in text
    assert "- `timeout`: seconds" in text
    assert ">>> db = gdb.connect()" in text


@pytest.mark.parametrize(
    ("doc", "shown"),
    [
        (
            "One.\n\nParameters\n----------\na, b : x\n    y.\n",
            "One.\n\n**Parameters**\n\n- `a, b`: x y.",
        ),
        (
            "One.\n\nRaises\n------\nA : x. B, C : y\n",
            "One.\n\n**Raises**\n\n- `A`: x.\n- `B, C`: y",
        ),
        ("One * _two_ `a_b*`.", r"One \* \_two\_ `a_b*`."),
        (
            "One.\n\nExamples\n--------\n>>> 1\n1\n",
            "One.\n\n**Examples**\n\n```pycon\n>>> 1\n1\n```",
        ),
    ],
)
def test_a_docstring_becomes_markdown(doc: str, shown: str) -> None:
    assert api_reference.markdown(doc) == shown


def test_it_is_built(repository: Path, tmp_path: Path) -> None:
    pytest.importorskip("mkdocs")
    pytest.importorskip("material")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-d", str(tmp_path / "site")]
    done = subprocess.run(command, cwd=repository, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    pages = list((tmp_path / "site").rglob("*.html"))
    assert len(pages) > 40
    loaded = re.compile(
        r"<(?:script|img|iframe)[^>]*src=\"(https?:[^\"]+)|<link[^>]*href=\"(https?:[^\"]+)"
    )
    found = {one for page in pages for one in loaded.findall(page.read_text(encoding="utf-8"))}
    assert not found
