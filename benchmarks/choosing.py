"""sweep and SPHClassifierCV: time for each set of hyperparameters, time and memory of the whole search."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np
from sklearn.model_selection import GridSearchCV

from aftermax import SPHClassifier, SPHClassifierCV, sweep
from aftermax.sph.hyperparameters import HYPERPARAMETERS
from benchmarks.measure import Result, alternate, in_new_process
from benchmarks.sph import network_like
from experiments.networks import models, training
from experiments.networks.recipes import RECIPES

SAMPLES, CLASSES = 4_000, 10
MANY_SAMPLES, MANY_CLASSES = 5_000, 100
FEW_SETS = 150  # that the grid search is measured on

MEMORY = """
from aftermax import SPHClassifierCV
from benchmarks.sph import network_like
def kilobytes(field):
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith(field))
samples = network_like(4000, 10, "float64", seed=1)
SPHClassifierCV({"certainty": [0.9]}).fit(*samples)
open("/proc/self/clear_refs", "w").write("5")  # forget the peak so far
before = kilobytes("VmRSS")
SPHClassifierCV().fit(*samples)
print((kilobytes("VmHWM") - before) / 1024)
"""


COLD_START = """
import os, tempfile, time
with tempfile.TemporaryDirectory() as folder:
    os.environ["NUMBA_CACHE_DIR"] = folder
    import numpy as np
    from aftermax.sph.classifier_cv import SPHClassifierCV
    logits, labels = np.random.default_rng(0).normal(size=(1000, 10)), np.arange(1000) % 10
    head = SPHClassifierCV({"certainty": [0.9]})
    start = time.perf_counter()
    head.fit(logits, labels)
    first = time.perf_counter()
    head.fit(logits, labels)
    print((first - start) - (time.perf_counter() - first))
"""


def speed() -> Iterator[Result]:
    yield time_for_each_set(*network_like(SAMPLES, CLASSES, "float64", seed=1), repeats=5)
    yield time_for_each_set(*network_like(MANY_SAMPLES, MANY_CLASSES, "float64", seed=1), repeats=2)
    logits, labels = network_like(SAMPLES, CLASSES, "float64", seed=1)
    chosen = partial(SPHClassifierCV().fit, logits, labels)
    ratio = alternate(chosen, one_epoch(), repeats=3)
    yield Result("`SPHClassifierCV.fit`, default grid, 4,000 x 10", "one epoch, 50,000 samples", ratio, "x")


def time_for_each_set(logits: np.ndarray, labels: np.ndarray, repeats: int) -> Result:
    """The sweep of the default grid, fitted on one half and evaluated on the other, against a grid search."""
    half = np.arange(len(labels) // 2)
    train, test = half, half + len(labels) // 2
    swept = partial(sweep, logits[train], labels[train], eval_logits=logits[test], eval_labels=labels[test])
    columns = swept()
    sets = len(columns["wins"])
    sample = np.random.default_rng(0).integers(sets, size=FEW_SETS)
    grid = [{name: [columns[name][place].item()] for name in HYPERPARAMETERS} for place in sample]
    search = GridSearchCV(SPHClassifier(), grid, cv=[(train, test)], refit=False)
    ratio = alternate(swept, partial(search.fit, logits, labels), repeats=repeats)
    np.testing.assert_array_equal(search.cv_results_["mean_test_score"], columns["accuracy"][sample])
    return Result(
        f"`sweep`, {sets:,} sets, {len(labels):,} x {logits.shape[1]}: time for each set",
        f"`GridSearchCV(SPHClassifier())`, {FEW_SETS} of them",
        sets / FEW_SETS / ratio,
        "x faster",
    )


def one_epoch(samples: int = 50_000) -> partial[None]:
    """An epoch of training the experiments' network on images of MNIST's size, with torch's own choice of threads."""
    rng = np.random.default_rng(0)
    images, labels = rng.random((samples, 784), dtype=np.float32), rng.integers(10, size=samples)
    recipe = replace(RECIPES["rmsprop"], epochs=1)
    return partial(training.train, models.dense_network(recipe, 784, 10), images, labels, recipe)


def processes() -> Iterator[Result]:
    beyond = in_new_process(MEMORY)[0]
    yield Result("memory of that fit", "before it", beyond, "MB")
    cold = in_new_process(COLD_START)[0]
    yield Result("first `SPHClassifierCV.fit` on a machine, kernels compiled", "the second", cold, "s more")
