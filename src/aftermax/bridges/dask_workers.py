"""Dask's workers, for the command: a cluster that exists or one on this machine, and functions that run there."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

Item = TypeVar("Item")
Shared = TypeVar("Shared")
Result = TypeVar("Result")

TIMEOUT = "20s"  # to find the scheduler


@contextmanager
def connect(address: str | None) -> Iterator[Any]:
    """A client of the scheduler at an address; without one, of a cluster on this machine that ends with the block.

    The local cluster has a process for each core, and restarts one that dies. What its workers log is for debugging:
    one that misses a heartbeat as the cluster ends is no error of the command.
    """
    try:
        from distributed import Client, LocalCluster
    except ImportError as error:
        raise ImportError("Predictions on Dask need dask: pip install 'aftermax[dask]'") from error
    if address is None:
        level = logging.ERROR if _is_debugged() else logging.CRITICAL
        with (
            LocalCluster(threads_per_worker=1, dashboard_address=":0", silence_logs=level) as cluster,
            Client(cluster) as client,
        ):
            yield client
        return
    try:
        client = Client(address, timeout=TIMEOUT)
    except (OSError, ValueError) as error:
        raise OSError(
            f"No Dask scheduler answers at {address} ({error}): start one, or leave the address out to use this "
            "machine alone."
        ) from error
    with client:
        yield client


def over_workers(
    client: Any, function: Callable[[Shared, Item], Result], shared: Shared, items: Sequence[Item]
) -> Generator[tuple[Item, Result | Exception], None, None]:
    """Run ``function(shared, item)`` for each item on the workers; items and their results or errors, as they come.

    Each worker gets ``shared`` once. An item whose worker dies runs again on another one; if several die of it, the
    result is an error. Where the caller stops early, items that have not begun are not run.
    """
    from distributed import KilledWorker, as_completed

    # A task, and not scattered: what is scattered to a worker is lost with it.
    once = client.submit(_itself, shared, pure=False)
    futures = {client.submit(_outcome, function, once, item, _is_debugged(), pure=False): item for item in items}
    try:
        for future in as_completed(futures):
            error = future.exception()
            if isinstance(error, KilledWorker):
                error = OSError("the workers that ran it died, one after another, as they do with too little memory")
            yield futures[future], future.result() if error is None else error
    finally:
        client.cancel([*futures, once])


def _outcome(
    function: Callable[[Shared, Item], Result], shared: Shared, item: Item, debug: bool
) -> Result | OSError | ValueError | MemoryError:
    """The result, or the error as a value: of one that is raised, the worker prints a page, as for debugging."""
    try:
        return function(shared, item)
    except (OSError, ValueError, MemoryError) as error:
        if debug:
            raise
        return error


def _is_debugged() -> bool:
    return bool(os.environ.get("AFTERMAX_DEBUG"))


def _itself(value: Shared) -> Shared:
    return value
