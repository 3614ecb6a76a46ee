"""AutoHead: time to fit, and memory where samples and classes are many.

The samples are those of networks that ship with the package: real ones, on which the head is a combination of all its
parts. "SVC's search" is ``GridSearchCV(SVC())`` over twelve candidates and three folds on the same samples.
"""

import warnings
from collections.abc import Iterator
from functools import partial

import numpy as np
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

from aftermax import AutoHead
from aftermax.data import SHIPPED, load_vmnist
from benchmarks.measure import Result, alternate, best_time, in_new_process

SVC_GRID = {"C": [1.0, 10.0, 100.0], "gamma": [0.001, 0.01, 0.1, "scale"]}

MEMORY = """
import numpy as np
from aftermax import AutoHead
def kilobytes(field):
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith(field))
rng = np.random.default_rng(0)
labels = rng.integers(100, size=50_000)
logits = rng.normal(size=(50_000, 100)) + 2 * np.eye(100)[labels]
logits += np.maximum(logits @ rng.normal(size=(100, 100)), 0) / 10
AutoHead().fit(logits[:300], labels[:300] % 2)
open("/proc/self/clear_refs", "w").write("5")  # forget the peak so far
before = kilobytes("VmRSS")
AutoHead().fit(logits, labels)
print((kilobytes("VmHWM") - before) / 1024)
"""

COLD_START = """
import os, tempfile, time
with tempfile.TemporaryDirectory() as folder:
    os.environ["NUMBA_CACHE_DIR"] = folder
    from aftermax.data import load_vmnist
    from aftermax.auto.head import AutoHead
    scores = load_vmnist(100)
    head = AutoHead()
    start = time.perf_counter()
    head.fit(scores.val_logits[:500], scores.val_labels[:500]).predict(scores.test_logits)
    first = time.perf_counter()
    head.fit(scores.val_logits[:500], scores.val_labels[:500]).predict(scores.test_logits)
    print((first - start) - (time.perf_counter() - first))
"""


def speed() -> Iterator[Result]:
    for trained_on in SHIPPED:
        scores = load_vmnist(trained_on)
        logits, labels = scores.val_logits.astype(np.float64), scores.val_labels
        head, search = AutoHead(progress=False), GridSearchCV(SVC(), SVC_GRID, cv=3)
        ratio = alternate(partial(head.fit, logits, labels), partial(search.fit, logits, labels), repeats=2)
        name = f"network trained on {trained_on:,}"
        yield Result(f"`AutoHead.fit`, 4,000 x 10, {name}", "SVC's search", ratio, "x")
        assert head.chosen_ == "combination"
        if trained_on == 500:
            yield from few_samples(logits[:400], labels[:400])
    yield from many_classes()


def few_samples(logits: np.ndarray, labels: np.ndarray) -> Iterator[Result]:
    fit = partial(AutoHead(n_jobs=1, progress=False).fit, logits, labels)
    search = partial(GridSearchCV(SVC(), SVC_GRID, cv=3).fit, logits, labels)
    yield Result("`AutoHead.fit`, 400 x 10, one core", "SVC's search", alternate(fit, search, repeats=5), "x")
    yield Result("`AutoHead.fit`, 400 x 10, one core", "by itself", best_time(fit, repeats=5), "s")


def many_classes() -> Iterator[Result]:
    for classes in (77, 214):
        rng = np.random.default_rng(0)
        labels = rng.integers(classes, size=2_000)
        logits = rng.normal(size=(2_000, classes)) + 3 * np.eye(classes)[labels]
        logits += np.maximum(logits @ rng.normal(size=(classes, classes)), 0) / np.sqrt(classes)
        head = AutoHead(classes=np.arange(classes), progress=False)
        with warnings.catch_warnings(action="ignore", category=UserWarning):  # of rare classes
            seconds = best_time(partial(head.fit, logits, labels), repeats=2)
        yield Result(f"`AutoHead.fit`, 2,000 x {classes}, all cores", "by itself", seconds, "s")


def processes() -> Iterator[Result]:
    yield Result("memory of `AutoHead.fit`, 50,000 x 100", "before it", *in_new_process(MEMORY), "MB")
    yield Result(
        "first `AutoHead.fit` on a machine, kernels compiled", "the second", *in_new_process(COLD_START), "s more"
    )
