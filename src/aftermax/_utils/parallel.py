"""Work in threads or, where the user has chosen Dask as joblib's backend, on its workers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from joblib import Parallel, delayed
from joblib.parallel import get_active_backend

from aftermax._utils.threads import in_threads

DASK = "DaskDistributedBackend"  # joblib's own class, which cannot be imported without Dask

Item = TypeVar("Item")
Result = TypeVar("Result")


def in_threads_or_dask(work: Callable[[Item], Result], items: Sequence[Item], workers: int) -> Iterator[Result]:
    """The results of ``work`` for each item, in order: from threads or, inside ``parallel_config("dask")``, workers.

    joblib's other backends are not used: threads share the samples, and processes on one machine would gain nothing.
    """
    if type(get_active_backend()[0]).__name__ == DASK:
        yield from Parallel()(delayed(work)(item) for item in items)
    else:
        yield from in_threads(work, items, workers)
