"""docs/notebook.ipynb is run, cell by cell, in a kernel of its own, and becomes a page.

nbconvert and ipykernel do it; without them the test that runs it is skipped (`pip install '.[notebook]'`).
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

NAME = "docs/notebook.ipynb"


@pytest.fixture(scope="module")
def executed(repository: Path) -> Any:
    pytest.importorskip("ipykernel")
    preprocessors = pytest.importorskip("nbconvert.preprocessors")
    nbformat = pytest.importorskip("nbformat")
    notebook = nbformat.read(repository / NAME, as_version=4)
    os.environ.setdefault("PYDEVD_DISABLE_FILE_VALIDATION", "1")
    held = os.environ.get("PYTHONPATH", "")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(repository), held]))
    try:
        runner = preprocessors.ExecutePreprocessor(timeout=120, kernel_name="python3")
        runner.preprocess(notebook, {"metadata": {"path": str(repository)}})
    finally:
        os.environ["PYTHONPATH"] = held
    return notebook


def outputs(notebook: Any, cell: str) -> list[Any]:
    found: list[Any] = next(one.outputs for one in notebook.cells if one.id == cell)
    return found


def html(notebook: Any, cell: str) -> str:
    (shown,) = outputs(notebook, cell)
    text: str = shown.data["text/html"]
    return text


def test_it_is_kept_without_outputs(repository: Path) -> None:
    cells = json.loads((repository / NAME).read_text(encoding="utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert len(code) > 5
    assert all(not cell["outputs"] and cell["execution_count"] is None for cell in code)


def test_its_cells_show_tables_and_drawings(executed: Any) -> None:
    assert "Charles" in html(executed, "query")
    assert "<svg" not in html(executed, "query")
    assert html(executed, "shown").index("</table>") < html(executed, "shown").index("<svg ")
    assert html(executed, "draw").startswith("<svg ")
    assert not outputs(executed, "graph")  # it went into a variable
    assert outputs(executed, "plain")[0].data["text/plain"] == "1"


def test_its_mistake_is_told_in_a_few_lines(executed: Any) -> None:
    (error,) = outputs(executed, "mistake")
    assert error.output_type == "error"
    assert error.ename == "SyntaxProblem"
    assert len("\n".join(error.traceback).splitlines()) <= 5
    others = [
        cell.id
        for cell in executed.cells
        for one in cell.get("outputs", ())
        if one.output_type in ("error", "stream")
    ]
    assert others == ["mistake"]


def test_it_becomes_a_page(executed: Any) -> None:
    exporters = pytest.importorskip("nbconvert.exporters")
    page, _ = exporters.HTMLExporter().from_notebook_node(executed)
    assert page.count('<g class="nodes"') == 2
