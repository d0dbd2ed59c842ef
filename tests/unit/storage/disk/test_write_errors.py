"""What DuckDB could not write is reported without DuckDB's own text."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from gdb.storage.disk.duckdb_engine import write_error


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            'IO Error: Async write failed for range [offset=41, size=2958636]: {"exception_type":"IO",'
            '"exception_message":"Could not write file \\"/full/e/n.csv\\": No space left on device","errno":"28"}',
            "The operating system failed on /full/e: No space left on device. Check the disk and its free space.",
        ),
        (
            'IO Error: Could not write file "/full/e/n.csv": Input/output error\nmore',
            "The operating system failed on /full/e: Input/output error. Check the disk and its free space.",
        ),
        (
            'IO Error: Async write failed: {"exception_type":"IO"}',
            "/full/e could not be written (IO Error: Async write failed). Check the disk and its free space.",
        ),
    ],
)
def test_it_has_the_reason_of_the_operating_system(text: str, said: str) -> None:
    assert str(write_error(Path("/full/e"), duckdb.IOException(text))) == said
