"""Work spread over the cores, range by range.

The compiled kernels release the GIL, so threads are enough. Each range writes to its own part of the output and nothing
is summed across ranges, so the result is the same for any number of threads. Unlike numba's own parallel loops, this
works when called from several threads at once and after a fork, as in web servers and data loaders.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from threading import Lock
from typing import Any, TypeVar

VALUES_PER_RANGE = 2**18

Item = TypeVar("Item")
Result = TypeVar("Result")

_alone: ContextVar[bool] = ContextVar("alone", default=False)


@contextmanager
def one_thread() -> Iterator[None]:
    """Use one thread in this block, in this thread only: for work that is itself one of many parallel tasks."""
    token = _alone.set(True)
    try:
        yield
    finally:
        _alone.reset(token)


def thread_count() -> int:
    """Return how many threads to use: ``NUMBA_NUM_THREADS`` if it is set, else the cores this process may use.

    joblib sets that variable in its worker processes, so that a search over many heads does not start too many threads.
    """
    if _alone.get():
        return 1
    from numba import config

    return int(config.NUMBA_NUM_THREADS)  # type: ignore[attr-defined]  # numba sets it at run time


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Compute matrix products with one BLAS thread in this block, so that their rounding is reproducible.

    The limit holds for the whole process. Several threads may be in such a block at once: the last one out lifts it.
    """
    _limit.enter()
    try:
        yield
    finally:
        _limit.leave()


class _Limit:
    """A limit of one BLAS thread that holds as long as at least one user is inside."""

    def __init__(self) -> None:
        self.limiter: Any = None
        self.forget()

    def forget(self) -> None:
        """Nobody is inside: so it is in a process that was forked, whichever threads its parent has."""
        self.lock = Lock()
        self.users = 0
        if self.limiter is not None:
            self.limiter.restore_original_limits()

    def enter(self) -> None:
        with self.lock:
            if self.users == 0:
                self.limiter = _libraries().limit(limits=1, user_api="blas")
            self.users += 1

    def leave(self) -> None:
        with self.lock:
            self.users -= 1
            if self.users == 0:
                self.limiter.restore_original_limits()


_limit = _Limit()
if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_limit.forget)


@cache
def _libraries() -> Any:
    """The BLAS libraries that numpy and scipy have loaded; looked up once, because it takes a moment."""
    import scipy.linalg  # noqa: F401  # loads the BLAS library of scipy
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def over_ranges(work: Callable[[int, int], None], total: int, step: int) -> None:
    """Call ``work(first, last)`` for each range of at most ``step`` items in ``range(total)``.

    If ranges raise errors, the error of the earliest range is raised here.
    """
    starts = range(0, total, step)
    workers = thread_count() if total > step else 1
    for _ in in_threads(lambda first: work(first, min(first + step, total)), starts, workers):
        pass


def in_threads(work: Callable[[Item], Result], items: Sequence[Item], workers: int) -> Iterator[Result]:
    """The results of ``work`` for each item, in order, as they come; after an error nothing further is started."""
    if min(workers, len(items)) <= 1:
        yield from map(work, items)
        return
    with ThreadPoolExecutor(min(workers, len(items))) as pool:
        running = [pool.submit(work, item) for item in items]
        try:
            for future in running:
                yield future.result()
        finally:
            for future in running:
                future.cancel()


def samples_per_range(columns: int) -> int:
    """Samples for each range: about two megabytes of logits, so that a range stays in a core's cache."""
    return max(1, VALUES_PER_RANGE // max(1, columns))
