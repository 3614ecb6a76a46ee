"""AutoHead: time to predict many samples and one, and what the first call on a machine costs.

The heads are those of the networks that ship with the package, fitted on 4,000 samples: combinations of all their
parts. One core is what softmax uses, too.
"""

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from aftermax import AutoHead
from aftermax._utils.threads import one_thread
from aftermax.data import SHIPPED, load_vmnist
from benchmarks.measure import Result, alternate, best_time, in_new_process
from benchmarks.sph import SOFTMAX, softmax_predictions

PREDICTED = 200_000
CALLS = 200  # with one sample each

WARM = """
import os, sys, tempfile, time
with tempfile.TemporaryDirectory() as folder:
    os.environ["NUMBA_CACHE_DIR"] = folder
    from aftermax.auto.warm import compile_all
    start = time.perf_counter()
    compile_all(progress=False)
    first = time.perf_counter()
    compile_all(progress=False)
    print((first - start) - (time.perf_counter() - first))
"""


def speed() -> Iterator[Result]:
    for trained_on in SHIPPED:
        scores = load_vmnist(trained_on)
        head = AutoHead(progress=False).fit(scores.val_logits.astype(np.float64), scores.val_labels)
        assert head.chosen_ == "combination"
        samples = np.tile(scores.test_logits.astype(np.float64), (PREDICTED // len(scores.test_logits), 1))
        name = f"{PREDICTED:,} x 10, network trained on {trained_on:,}"
        yield many(f"`AutoHead.predict`, {name}, one core", on_one_core(head.predict), samples)
        yield many(f"`AutoHead.predict`, {name}, all cores", head.predict, samples)
        if trained_on == 500:
            yield many(
                f"`AutoHead.predict`, {name}, float32, one core", on_one_core(head.predict), samples.astype("f4")
            )
            yield many(f"`AutoHead.predict_proba`, {name}, one core", on_one_core(head.predict_proba), samples)
            yield from one_sample(head, samples[:1])


def on_one_core(predict: Callable[[np.ndarray], np.ndarray]) -> Callable[[np.ndarray], np.ndarray]:
    def alone(samples: np.ndarray) -> np.ndarray:
        with one_thread():
            return predict(samples)

    return alone


def many(what: str, predict: Callable[[np.ndarray], np.ndarray], samples: np.ndarray) -> Result:
    return Result(what, SOFTMAX, alternate(partial(predict, samples), partial(softmax_predictions, samples)), "x")


def one_sample(head: AutoHead, sample: np.ndarray) -> Iterator[Result]:
    def repeated(predict: Callable[[np.ndarray], np.ndarray]) -> None:
        for _ in range(CALLS):
            predict(sample)

    ours, theirs = partial(repeated, head.predict), partial(repeated, softmax_predictions)
    yield Result("`AutoHead.predict`, one sample", "softmax of one sample", alternate(ours, theirs), "x")
    yield Result("`AutoHead.predict`, one sample", "by itself", 1000 * best_time(ours) / CALLS, "ms")


def processes() -> Iterator[Result]:
    yield Result("`aftermax warm` on a new machine", "its second run", *in_new_process(WARM), "s more")
