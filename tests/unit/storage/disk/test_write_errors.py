"""What DuckDB could not write is reported without DuckDB's own text; errors of ours stay what they are."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from gdb.errors import QueryTimeout, StoreError
from gdb.storage.disk.duckdb_engine import write_error
from gdb.storage.disk.os_errors import translated


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


def test_a_timeout_is_no_error_of_the_operating_system() -> None:
    """Though QueryTimeout is a TimeoutError, which is one."""
    with pytest.raises(QueryTimeout), translated("a.bin"):
        raise QueryTimeout("the query ran longer than its timeout.")
    with pytest.raises(StoreError), translated("a.bin"):
        raise TimeoutError
