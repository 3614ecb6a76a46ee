"""Work spread over the cores, range by range.

The compiled kernels release the GIL, so plain threads are enough. Each range writes to its own part of the output and
nothing is summed across ranges: the answer is the same for any number of threads. Unlike numba's own parallel loops
this may be called from several threads at once and after a fork, as web servers and data loaders do.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from threading import Lock
from typing import Any

VALUES_PER_RANGE = 2**18

_alone: ContextVar[bool] = ContextVar("alone", default=False)


@contextmanager
def one_thread() -> Iterator[None]:
    """Within this, in this thread, work is not spread: for work that is one of many tasks side by side already."""
    token = _alone.set(True)
    try:
        yield
    finally:
        _alone.reset(token)


def thread_count() -> int:
    """How many threads to use: the cores this process may use, or ``NUMBA_NUM_THREADS`` where that is set.

    joblib's worker processes set that variable, so a search over many heads does not start too many threads.
    """
    if _alone.get():
        return 1
    from numba import config

    return int(config.NUMBA_NUM_THREADS)  # type: ignore[attr-defined]  # numba sets it at run time


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Within this, products of matrices are computed by one thread each, so that their rounding is always the same.

    The limit is the whole process's. Several threads may be within at once: the last one out lifts it.
    """
    _limit.enter()
    try:
        yield
    finally:
        _limit.leave()


class _Limit:
    """One thread for matrix products, as long as anybody wants it."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.wanted = 0
        self.limiter: Any = None

    def enter(self) -> None:
        with self.lock:
            if self.wanted == 0:
                self.limiter = _libraries().limit(limits=1, user_api="blas")
            self.wanted += 1

    def leave(self) -> None:
        with self.lock:
            self.wanted -= 1
            if self.wanted == 0:
                self.limiter.restore_original_limits()


_limit = _Limit()


@cache
def _libraries() -> Any:
    """What is known of the libraries that numpy and scipy compute with; asked once, for it takes a moment."""
    import scipy.linalg  # noqa: F401  # so that its library is there to be found
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def over_ranges(work: Callable[[int, int], None], total: int, step: int) -> None:
    """Call ``work(first, last)`` for each range of at most ``step`` items in ``range(total)``.

    An error in a range is raised here; of several, the one of the earliest range.
    """
    starts = range(0, total, step)
    workers = min(thread_count(), len(starts))
    if workers <= 1:
        for first in starts:
            work(first, min(first + step, total))
        return
    with ThreadPoolExecutor(workers) as pool:
        running = [pool.submit(work, first, min(first + step, total)) for first in starts]
        try:
            for future in running:
                future.result()
        finally:
            for future in running:
                future.cancel()


def rows_per_range(columns: int) -> int:
    """Rows to work at a time: about two megabytes of logits, so that a range stays in a core's cache."""
    return max(1, VALUES_PER_RANGE // max(1, columns))
