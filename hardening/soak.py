"""An hour at full load: eight threads predict with shared heads while another thread fits.

Every prediction, every probability and every fit must be the one that was there before, to the last bit; and the memory
of the process, once it is warm, must stay the same within 1 %.
"""

import hashlib
import resource
import statistics
import sys
import threading
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from aftermax import AutoHead, SPHClassifier
from hardening import report, seeds

THREADS = 8
WARM = 0.25  # of the time, before memory is compared
FLAT = 0.01
SIZES = (1, 40, 3_000, 30_000)  # samples of a call


@dataclass
class Load:
    """What happened: how many calls, what was wrong, and the memory in bytes, second by second."""

    predictions: int = 0
    fits: int = 0
    wrong: list[str] = field(default_factory=list)
    memory: list[int] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    @property
    def growth(self) -> float:
        """By how much the memory of the last quarter is larger than that of the one after it was warm."""
        warm = self.memory[int(WARM * len(self.memory)) :]
        quarter = max(1, len(warm) // 4)
        return statistics.median(warm[-quarter:]) / statistics.median(warm[:quarter]) - 1


def run(count: int | None = None, minutes: float | None = None) -> str:
    """Keep it up for so many ``minutes``, an hour by default; ``count`` is the number of threads."""
    time_wanted, threads = minutes or 60.0, count or THREADS
    load = loaded(60 * time_wanted, threads)
    row = {
        "minutes": float(time_wanted),
        "threads": threads,
        "predictions": load.predictions,
        "fits": load.fits,
        "other results": len(load.wrong),
        "memory, MB": round(load.memory[-1] / 2**20, 1),
        "growth, %": f"{100 * load.growth:.2f}",
        "flat": "yes" if abs(load.growth) <= FLAT else "no",
    }
    about = f"`python -m hardening soak --minutes {time_wanted:g}`. {' '.join((__doc__ or '').split())}"
    return f"{report.write('soak', [row], about)}\n" + "\n".join(load.wrong[:10])


def loaded(seconds: float, threads: int = THREADS) -> Load:
    """Predict in so many threads, and fit in one more, for so long."""
    samples = seeds.samples(400, 5)
    heads = [SPHClassifier(certainty=0.95).fit(*samples), AutoHead(cv=2).fit(*samples)]
    inputs = [seeds.samples(size, 5, seed=1)[0] for size in SIZES]
    expected = {(h, s): _results(head, some) for h, head in enumerate(heads) for s, some in enumerate(inputs)}
    fitted, load, end = _digest(heads[1], inputs[1]), Load(), time.monotonic() + seconds

    def predict(number: int) -> None:
        rng = np.random.default_rng(number)
        while time.monotonic() < end:
            h, s = int(rng.integers(len(heads))), int(rng.integers(len(inputs)))
            found = _results(heads[h], inputs[s])
            same = all(np.array_equal(one, other) for one, other in zip(found, expected[h, s], strict=True))
            with load.lock:
                load.predictions += 1
                if not same:
                    load.wrong.append(f"other predictions of head {h} for {SIZES[s]:,} samples in thread {number}")

    def fit() -> None:
        while time.monotonic() < end:
            again = _digest(AutoHead(cv=2).fit(*samples), inputs[1])
            with load.lock:
                load.fits += 1
                if again != fitted:
                    load.wrong.append("another fit")

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        _in_threads([*(lambda number=number: predict(number) for number in range(threads)), fit], load, end)
    return load


def _in_threads(works: list[Callable[[], None]], load: Load, end: float) -> None:
    def guarded(work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as error:  # would vanish with its thread
            load.wrong.append(repr(error))

    running = [threading.Thread(target=guarded, args=(work,)) for work in works]
    for thread in running:
        thread.start()
    while time.monotonic() < end:
        time.sleep(min(1.0, max(0.0, end - time.monotonic())))
        load.memory.append(_memory())
    for thread in running:
        thread.join()


def _results(head: Any, logits: Any) -> tuple[Any, Any]:
    return head.predict(logits), head.predict_proba(logits)


def _digest(head: Any, logits: Any) -> str:
    return hashlib.sha256(head.predict_proba(logits).tobytes()).hexdigest()


def _memory() -> int:
    """The bytes that the process has now; elsewhere than on Linux, the most that it had."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    except OSError:
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most if sys.platform == "darwin" else most * 1024
