"""What all tests share: the real graphs, if they lie beside the repository, and how hard hypothesis
searches."""

from __future__ import annotations

import gc
import signal
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from gdb.executor.relational import relational
from gdb.storage.disk import checksum
from tests.support.effort import PROFILE

REPOSITORY = Path(__file__).resolve().parent.parent
SHARED_DATA = REPOSITORY.parent / "shared" / "data"

# The kernel is compiled inside the first example, so a deadline would only measure the compiler.
settings.register_profile(
    # the same examples in every run: what is found by luck is looked for with `deep`
    "ci",
    deadline=None,
    max_examples=25,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "dev", deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile(
    "deep", deadline=None, max_examples=2000, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile(PROFILE)


# A test run in the background of a script inherits an ignored SIGINT; Ctrl-C must work all the same.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session", autouse=True)
def engine() -> None:
    """The relational engine is loaded: which way a query goes does not depend on the tests before it."""
    for module in ("duckdb", "sqlglot.expressions"):
        import_module(module)


@pytest.fixture(autouse=True)
def given_back() -> Iterator[None]:
    """A test gives back the connections to the DuckDB of the process: one in use keeps it open over a fork."""
    before = relational._shared._used
    yield
    if relational._shared._used > before:
        gc.collect()  # streams that were dropped in a cycle
    assert relational._shared._used <= before, "a connection to DuckDB was not given back"


@pytest.fixture(params=["BLAKE2b", "BLAKE3"])
def checksums(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The checksum that every new file has, as the large ones or as the others."""
    if request.param == "BLAKE3":
        monkeypatch.setattr(checksum, "LARGE", 0)
    return str(request.param)


@pytest.fixture(scope="session")
def repository() -> Path:
    """The folder of the repository."""
    return REPOSITORY


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real graphs; the test is skipped where it is absent."""
    if not SHARED_DATA.is_dir():
        pytest.skip("the real graphs (../shared/data) are not here")
    return SHARED_DATA


LONG = ("tck/", "crash/", "conformance/", "hostile/", "corrupt/", "emulated/", "unit/storage/")
"""Of the folder of tests: the rooms with the longest files. They begin first, so that no process is left with one while
the others have nothing to do (`make test` deals whole files)."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest files first; skip tests marked `gpu` where no CUDA device answers."""
    from gdb.executor.gpu import device

    tests = Path(__file__).parent
    items.sort(key=lambda item: not str(item.path.relative_to(tests)).startswith(LONG))
    marked = [item for item in items if item.get_closest_marker("gpu")]
    if marked and (reason := device.absence()):
        for item in marked:
            item.add_marker(pytest.mark.skip(reason=reason))


def pytest_collection_finish() -> None:
    """Keep what was collected out of the garbage collector: with so many tests, going through it takes a third of a
    second, each time."""
    gc.collect()
    gc.freeze()
