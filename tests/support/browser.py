"""Pages in a browser without a window, where one is found (Chromium or Chrome; the variable GDB_BROWSER names another).

A page is opened with a script behind it; what that leaves in `found` comes back. No driver is needed: the browser
writes the document when its scripts have run.
"""

from __future__ import annotations

import html
import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
_BEFORE = """<script>
window.problems = [];
window.addEventListener("error", (event) => problems.push(String(event.message)));
console.error = console.warn = (...words) => problems.push(words.join(" "));
</script>"""
_AFTER = """<script>
window.found = {{}};
try {{ {script} }} catch (problem) {{ problems.push(String(problem.stack)); }}
const report = document.createElement("pre");
report.id = "report";
report.textContent = JSON.stringify({{ found, problems }});
document.body.append(report);
</script>"""


def browser() -> str:
    """The command of the browser; the test is skipped where there is none."""
    names = [os.environ["GDB_BROWSER"]] if "GDB_BROWSER" in os.environ else _NAMES
    command = next(filter(None, map(shutil.which, names)), None)
    if command is None:
        pytest.skip("no browser is installed (apt-get install chromium)")
    return command


def looked_at(page: str, script: str, folder: Path) -> dict[str, Any]:
    """What a script finds in a page, and the errors there. folder : for the page and the browser's files."""
    page = page.replace("<head>", f"<head>{_BEFORE}", 1)
    page = page.replace("</body>", f"{_AFTER.format(script=script)}</body>", 1)
    (folder / "page.html").write_text(page, encoding="utf-8")
    options = ("--headless", "--no-sandbox", "--disable-gpu", "--window-size=1000,700")
    own = f"--user-data-dir={folder / 'browser'}"
    shown = subprocess.run(
        [browser(), *options, own, "--dump-dom", (folder / "page.html").as_uri()],
        capture_output=True,
        timeout=120,
        check=True,
    ).stdout.decode()
    report = re.search('<pre id="report">(.*?)</pre>', shown, re.DOTALL)
    assert report is not None, shown[-1000:]
    read: dict[str, Any] = json.loads(html.unescape(report[1]))
    return read
