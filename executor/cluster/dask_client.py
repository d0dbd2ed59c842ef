"""Clients of a Dask cluster, `dask.distributed.Client`, as executors of tasks, and what is wrong with one. Dask is not
imported: a client is what has its methods."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import CancelledError, Executor
from typing import Any, Protocol, TypeGuard

from gdb.errors import ClusterError

_CLOSED = ("closing", "closed")


class DaskClient(Protocol):
    """What is used here of `dask.distributed.Client`. Some also have `status` and `asynchronous`."""

    def run(
        self, function: Callable[[str, str], None], query: str, message: str, *, on_error: str
    ) -> object:
        """Run `function(query, message)` once on each worker; on_error="ignore" suppresses errors of dead ones."""
        ...

    def scheduler_info(self, n_workers: int) -> Mapping[str, Any]:
        """What the scheduler knows, under "workers" of so many of them at most, -1 for all."""
        ...

    def get_executor(self, *, pure: bool) -> Executor:
        """An executor that submits to it; pure=False: what is submitted twice runs twice."""
        ...


def is_client(value: object) -> TypeGuard[DaskClient]:
    """Whether an object is a client of Dask."""
    return hasattr(value, "get_executor") and hasattr(value, "scheduler_info")


def client_of(executor: object) -> DaskClient | None:
    """The client of Dask's executor; None for every other one."""
    client: DaskClient | None = getattr(executor, "_client", None)
    return client


def executor_of(client: DaskClient) -> Executor:
    """The executor of a client. Raises ClusterError where no query can run on it."""
    _check(client)
    return client.get_executor(pure=False)


def workers_of(client: DaskClient, most: int) -> Mapping[str, Any]:
    """What the scheduler knows of its workers, `most` at most, -1 for all.

    Raises
    ------
    ClusterError : no query can run on the client, or its scheduler is gone.
    """
    _check(client)
    try:
        workers: Mapping[str, Any] = client.scheduler_info(n_workers=most)["workers"]
    except Exception as error:  # whatever Dask raises
        raise ClusterError(
            f"The scheduler of the Dask client cannot be reached: {type(error).__name__}: {error}.",
            "Start the cluster, and open another client.",
        ) from error
    return workers


def _check(client: DaskClient) -> None:
    if _is_closed(client):
        raise ClusterError("The Dask client is closed.", "Open another one.")
    if getattr(client, "asynchronous", False):
        raise ClusterError(
            "The Dask client is asynchronous, but a query waits for its answer.",
            "Open one with asynchronous=False, and do not run queries in its event loop.",
        )


def _is_closed(client: DaskClient) -> bool:
    return getattr(client, "status", "") in _CLOSED


def why_ended(executor: Executor, error: Exception) -> ClusterError | None:
    """The error of tasks that ended since their executor, or its client, was closed; None where a task has failed.
    error : of the task, or of submitting it."""
    client = client_of(executor)
    if client is not None and _is_closed(client):
        return ClusterError(
            "The Dask client is closed.", "Keep it open until its queries have ended."
        )
    if not isinstance(error, CancelledError):
        return None
    what = "executor" if client is None else "Dask client"
    return ClusterError(
        f"The {what} has cancelled tasks of the query, as it does when it is shut down.",
        "Keep it open until its queries have ended.",
    )
