"""A hook of MkDocs: adds the pages of the site that do not lie in docs/, and turns links within the repository into
links within the site."""

from __future__ import annotations

import json
import os
import posixpath
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[1]
if str(ROOT) not in sys.path:  # MkDocs loads this file by its path
    sys.path.insert(0, str(ROOT))

from scripts import api_reference  # noqa: E402

# page of the site -> file of the repository
ELSEWHERE = {
    "index.md": "README.md",
    "benchmarks/RESULTS.md": "benchmarks/RESULTS.md",
    "CHANGELOG.md": "CHANGELOG.md",
    "CONTRIBUTING.md": "CONTRIBUTING.md",
}
_LINK = re.compile(r"(!?)\[([^\]\[]*)\]\(([^)\s:#]+)(#[^)\s]*)?\)")
_FENCE = re.compile(r"(^ *```.*?^ *```$)", re.MULTILINE | re.DOTALL)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the pages that are made or lie elsewhere."""
    from mkdocs.structure.files import File

    made = {uri: (ROOT / name).read_text(encoding="utf-8") for uri, name in ELSEWHERE.items()}
    made |= {f"api/{name}.md": api_reference.page(name) for name in api_reference.PAGES}
    made["api/index.md"] = api_reference.index()
    made["notebook.md"] = notebook((ROOT / "docs" / "notebook.ipynb").read_text(encoding="utf-8"))
    for uri, text in made.items():
        files.append(File.generated(config, uri, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Links as the site has them. A file that is no page of the site is named without a link."""
    uri = page.file.src_uri
    parts = _FENCE.split(markdown)
    return "".join(
        part if k % 2 else _LINK.sub(lambda found: _link(found, uri), part)
        for k, part in enumerate(parts)
    )


def _link(found: re.Match[str], uri: str) -> str:
    mark, text, target, anchor = found.groups()
    here = posixpath.dirname(ELSEWHERE.get(uri) or f"docs/{uri}")
    path = posixpath.normpath(posixpath.join(here, target))
    if not (ROOT / path).exists():
        return found.group()  # also the pages that are made; MkDocs refuses what is not there
    pages = {name: page for page, name in ELSEWHERE.items()}
    inside = path.removeprefix("docs/") if path.startswith("docs/") else None
    page = pages.get(path) or (inside if (ROOT / path).is_file() else None)
    if page is None:
        return text
    relative = os.path.relpath(page, posixpath.dirname(uri) or ".").replace(os.sep, "/")
    return f"{mark}[{text}]({relative}{anchor or ''})"


def notebook(text: str) -> str:
    """The cells of a notebook as Markdown, without their output."""
    cells = json.loads(text)["cells"]
    return "\n\n".join(
        "".join(cell["source"])
        if cell["cell_type"] == "markdown"
        else f"```python\n{''.join(cell['source'])}\n```"
        for cell in cells
    )
