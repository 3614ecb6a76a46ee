"""SPHClassifier: predict, fit, memory, import and warm start.

"softmax" is ``scipy.special.softmax(L, axis=1).argmax(1)``. One sample in ten is pooled where time is measured, nearly
all where memory is.
"""

import pickle
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
from scipy.special import softmax
from sklearn.naive_bayes import GaussianNB

from aftermax import SPHClassifier
from benchmarks.measure import Result, alternate, in_new_process

SOFTMAX = "softmax"

MEMORY = """
import pickle, sys
import numpy as np
head = pickle.load(open(sys.argv[1], "rb"))
logits = np.random.default_rng(0).standard_normal((int(sys.argv[2]), head.n_features_in_), dtype=sys.argv[3])
def kilobytes(field):
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith(field))
head.predict(logits[:1000])
open("/proc/self/clear_refs", "w").write("5")  # forget the peak so far
before = kilobytes("VmRSS")
predictions = head.predict(logits)
print((kilobytes("VmHWM") - before) / 1024 - predictions.nbytes / 2**20)
"""

IMPORT = """
import sys, time
start = time.perf_counter()
__import__(sys.argv[1])
print(time.perf_counter() - start)
"""

WARM_START = """
import pickle, sys, time
import numpy as np
import aftermax.sph.classifier
logits = np.random.default_rng(0).normal(size=(1000, 10))
start = time.perf_counter()
head = pickle.load(open(sys.argv[1], "rb"))  # imports numba
head.predict(logits)
first = time.perf_counter()
head.predict(logits)
print((first - start) - (time.perf_counter() - first))
"""

COLD_START = """
import os, sys, tempfile, time
with tempfile.TemporaryDirectory() as folder:
    os.environ["NUMBA_CACHE_DIR"] = folder
    import numpy as np
    from aftermax.sph.classifier import SPHClassifier
    logits, labels = np.random.default_rng(0).normal(size=(1000, 10)), np.arange(1000) % 10
    start = time.perf_counter()
    SPHClassifier().fit(logits, labels).predict(logits)
    first = time.perf_counter()
    SPHClassifier().fit(logits, labels).predict(logits)
    print((first - start) - (time.perf_counter() - first))
"""


def network_like(samples: int, size: int, dtype: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Logits like a network's: each class with its own mean response in every unit, the home unit ahead."""
    centers = np.random.default_rng(size).normal(size=(size, size)) + (4.0 + np.log(size)) * np.eye(size)
    rng = np.random.default_rng(seed)
    labels = rng.integers(size, size=samples)
    logits = centers.astype(dtype)[labels]
    logits += 1.5 * rng.standard_normal(logits.shape, dtype=dtype)
    return logits, labels


def softmax_predictions(logits: np.ndarray) -> np.ndarray:
    return softmax(logits, axis=1).argmax(1)


def one_in_ten(logits: np.ndarray) -> float:
    """The certainty below which one sample in ten lies."""
    return float(np.quantile(softmax(logits, axis=1).max(axis=1), 0.1))


def speed() -> Iterator[Result]:
    for count, size in ((1_000_000, 10), (200_000, 100), (50_000, 1000)):
        for dtype in ("float64", "float32"):
            logits, _ = network_like(count, size, dtype, seed=1)
            validation = network_like(max(5000, 20 * size), size, dtype, seed=2)
            hyperparameters = {"certainty": one_in_ten(logits), "min_gain": -1.0}
            head = SPHClassifier(**hyperparameters).fit(*validation)
            ratio = alternate(partial(head.predict, logits), partial(softmax_predictions, logits))
            what = f"predict, {count:,} x {size}, {dtype}"
            yield Result(what, SOFTMAX, ratio, "x")
            if size == 100:
                head = SPHClassifier(veto_distance=4.0, veto_count=2, **hyperparameters).fit(*validation)
                ratio = alternate(partial(head.predict, logits), partial(softmax_predictions, logits))
                yield Result(f"{what}, veto on", SOFTMAX, ratio, "x")
    samples = network_like(50_000, 100, "float64", seed=1)
    for certainty, share in ((one_in_ten(samples[0]), "one sample in ten uncertain"), (0.9, "default hyperparameters")):
        head = SPHClassifier(certainty=certainty).fit(*samples)
        ratio = alternate(partial(head.fit, *samples), partial(GaussianNB().fit, *samples))
        yield Result(f"fit, 50,000 x 100, {share}", "`GaussianNB.fit`", ratio, "x")


def processes() -> Iterator[Result]:
    with tempfile.TemporaryDirectory() as folder:
        for count, size, dtype in (
            (1_000_000, 10, "float64"),
            (20_000_000, 10, "float32"),
            (200_000, 100, "float64"),
            (50_000, 1000, "float64"),
        ):
            path = Path(folder) / f"{size}.pickle"
            head = SPHClassifier(min_gain=-1.0).fit(*network_like(max(5000, 20 * size), size, dtype, seed=2))
            path.write_bytes(pickle.dumps(head))
            megabytes = max(in_new_process(MEMORY, str(path), str(count), dtype)[0], 0.0)
            what = f"memory of predict, {count:,} x {size}, {dtype}"
            yield Result(what, "input and output", megabytes, "MB")
        modules = ("aftermax", "aftermax.sph.classifier", "sklearn")
        package, head_module, theirs = np.min(
            [[in_new_process(IMPORT, m)[0] for m in modules] for _ in range(9)], axis=0
        )
        yield Result("`import aftermax`", "`import sklearn`", float(package / theirs), "x")
        yield Result(
            "`from aftermax import SPHClassifier`",
            "`import sklearn`, its larger part",
            float(head_module / theirs),
            "x",
        )
        path = Path(folder) / "10.pickle"
        seconds = np.median([in_new_process(WARM_START, str(path))[0] for _ in range(5)])
        what = "first predict of a new process, kernels on disk"
        yield Result(what, "its second predict", float(seconds), "s more")
        what = "first fit and predict on a machine, kernels compiled"
        yield Result(what, "the second", in_new_process(COLD_START)[0], "s more")
