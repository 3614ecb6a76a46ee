"""Many classes: time and memory against K, accuracy against a shrunken discriminant, predictions against argmax."""

from __future__ import annotations

import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from aftermax import AutoHead
from benchmarks.measure import Result, alternate, in_new_process, plain_ticks

SIZES = (10, 30, 100, 214, 300, 1_000, 3_000, 10_000)
SAMPLES = 2_000
PREDICTED = 20_000, 6_600  # samples and classes, after which predictions are timed
THOUSAND = 20_000, 1_000  # samples and classes
LARGEST = 100_000, 10_000
AT_ONCE = 2_000  # samples written
PROCESSORS = "(seconds of all processors)"
FIGURE = Path("results/bench/many.png")

# A fit of logits in float16 on disk: seconds, seconds of processors, and peak memory in GB, pages of the file included.
FIT_OF_FILES = """
import resource, sys, time, warnings
import numpy as np
from aftermax import AutoHead
warnings.simplefilter("ignore")
logits, labels = np.load(sys.argv[1], mmap_mode="r"), np.load(sys.argv[2])
begun = time.perf_counter(), time.process_time()
AutoHead(classes=np.arange(logits.shape[1])).fit(logits, labels)
print(time.perf_counter() - begun[0], time.process_time() - begun[1])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6)
"""


class Fitted(NamedTuple):
    """A fitted head, and how long it took: by the clock, and of all processors together."""

    head: AutoHead
    seconds: float
    processor_seconds: float


def patterns_of(n_classes: int, rng: np.random.Generator) -> np.ndarray:
    """For each class, the ten others that the model takes it for, and how strongly."""
    return np.stack([rng.choice(n_classes, min(10, n_classes - 1), replace=False) for _ in range(n_classes)])


def scores(n_classes: int, n_samples: int, rng: np.random.Generator, patterns: np.ndarray) -> tuple[np.ndarray, ...]:
    """Logits in float32 of a model that errs in patterns, and labels."""
    labels = rng.integers(n_classes, size=n_samples)
    logits = 1.2 * rng.standard_normal((n_samples, n_classes), dtype=np.float32)
    logits[np.arange(n_samples), labels] += 3.5
    for column in patterns[labels].T:
        logits[np.arange(n_samples), column] += 2.5
    return logits, labels


def timed_fit(logits: np.ndarray, labels: np.ndarray, **parameters: object) -> Fitted:
    """A fitted head, and how long it took."""
    head = AutoHead(classes=np.arange(logits.shape[1]), **parameters)
    begun = time.perf_counter(), time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        head.fit(logits, labels)
    return Fitted(head, time.perf_counter() - begun[0], time.process_time() - begun[1])


def speed() -> Iterator[Result]:
    """Fits against K, and predictions against argmax."""
    rng = np.random.default_rng(0)
    times = []
    for n_classes in SIZES:
        patterns = patterns_of(n_classes, rng)
        logits, labels = scores(n_classes, SAMPLES, rng, patterns)
        if n_classes in (SIZES[0], *[size for size in SIZES if size > 256][:1]):
            timed_fit(logits, labels)  # compiles
        fitted = timed_fit(logits, labels)
        times.append(fitted.processor_seconds)
        yield Result(f"fit, {SAMPLES:,} samples, K = {n_classes:,}", "(seconds)", fitted.seconds, "s")
        yield Result(f"fit, {SAMPLES:,} samples, K = {n_classes:,}", PROCESSORS, fitted.processor_seconds, "s")
    many = [(size, seconds) for size, seconds in zip(SIZES, times, strict=True) if size > 256]
    exponent = float(np.polyfit(*np.log(np.array(many).T), 1)[0])
    span = f"K = {many[0][0]:,} to {many[-1][0]:,}"
    yield Result(f"exponent of K in the processor time of a fit, {span}", "(no unit)", exponent, "")
    draw(times, exponent)
    yield from predictions(rng)


def predictions(rng: np.random.Generator) -> Iterator[Result]:
    """Against argmax of the same scores, and reading them from memory."""
    n_samples, n_classes = PREDICTED
    patterns = patterns_of(n_classes, rng)
    logits, labels = scores(n_classes, n_samples, rng, patterns)
    head = timed_fit(logits.astype(np.float16), labels, budget="fast").head
    new = scores(n_classes, 2_000, rng, patterns)[0]
    for dtype in (np.float16, np.float32):
        some = new.astype(dtype)
        ratio = alternate(lambda some=some: head.predict(some), lambda some=some: some.argmax(axis=1))
        what = f"predict, K = {n_classes:,}, {np.dtype(dtype).name}, {head.chosen_}"
        yield Result(what, "argmax of the same", ratio, "x")


def thousand() -> Iterator[Result]:
    """Against a linear discriminant whose ridge is chosen on a fifth of the samples."""
    rng = np.random.default_rng(1)
    n_samples, n_classes = THOUSAND
    patterns = patterns_of(n_classes, rng)
    logits, labels = scores(n_classes, n_samples, rng, patterns)
    new, truth = scores(n_classes, n_samples // 2, rng, patterns)
    fitted = timed_fit(logits, labels)
    begun = time.process_time()
    predicted = discriminant_predictions(logits, labels, new)
    peer_seconds = time.process_time() - begun
    size = f"{n_samples:,} samples, K = {n_classes:,}"
    yield Result(f"fit, {size}", "(seconds)", fitted.seconds, "s")
    yield Result(f"fit, {size}", PROCESSORS, fitted.processor_seconds, "s")
    yield Result(f"a shrunken discriminant, {size}", PROCESSORS, peer_seconds, "s")
    for name, found in (
        ("softmax", new.argmax(axis=1)),
        ("AutoHead", fitted.head.predict(new)),
        ("a shrunken discriminant", predicted),
    ):
        yield Result(f"error of {name}, {size}", "(percent)", 100 * float(np.mean(found != truth)), "%")


def largest() -> Iterator[Result]:
    """Logits on disk, in a process of its own."""
    n_samples, n_classes = LARGEST
    with tempfile.TemporaryDirectory() as folder:
        paths = Path(folder) / "logits.npy", Path(folder) / "labels.npy"
        write_largest(*paths, np.random.default_rng(2))
        seconds, processor_seconds, gigabytes = in_new_process(FIT_OF_FILES, *map(str, paths))
    what = f"fit, {n_samples:,} samples, K = {n_classes:,}, float16 on disk"
    yield Result(what, "(seconds)", seconds, "s")
    yield Result(what, PROCESSORS, processor_seconds, "s")
    yield Result(what, "(peak memory)", gigabytes, "GB")


def discriminant_predictions(logits: np.ndarray, labels: np.ndarray, new: np.ndarray) -> np.ndarray:
    """Ledoit and Wolf's kind of shrinkage, its ridge by the error on the last fifth."""
    held_out = len(labels) // 5
    ridges = (0.01, 0.03, 0.1, 0.3, 0.9)
    part = logits[:-held_out], labels[:-held_out]
    errors = [np.mean(_discriminant(*part, ridge, logits[-held_out:]) != labels[-held_out:]) for ridge in ridges]
    return _discriminant(logits, labels, ridges[int(np.argmin(errors))], new)


def _discriminant(logits: np.ndarray, labels: np.ndarray, ridge: float, new: np.ndarray) -> np.ndarray:
    counts = np.bincount(labels, minlength=logits.shape[1])
    sums = np.zeros_like(logits, shape=(logits.shape[1], logits.shape[1]))
    np.add.at(sums, labels, logits)
    means = sums / np.maximum(counts, 1)[:, None]
    centred = logits - means[labels]
    covariance = centred.T @ centred / len(labels)
    shrunk = (1 - ridge) * covariance + ridge * np.trace(covariance) / len(covariance) * np.eye(len(covariance))
    slopes = np.linalg.solve(shrunk, means.T)
    found = new @ slopes - (means.T * slopes).sum(axis=0) / 2
    found[:, counts == 0] = -np.inf
    return np.asarray(found.argmax(axis=1))


def write_largest(logits: Path, labels: Path, rng: np.random.Generator) -> None:
    """Samples and their labels, some at a time."""
    n_samples, n_classes = LARGEST
    patterns = patterns_of(n_classes, rng)
    out = np.lib.format.open_memmap(logits, "w+", np.float16, LARGEST)
    codes = np.empty(n_samples, dtype=np.int64)
    for first in range(0, n_samples, AT_ONCE):
        some = slice(first, min(first + AT_ONCE, n_samples))
        out[some], codes[some] = scores(n_classes, some.stop - some.start, rng, patterns)
    out.flush()
    np.save(labels, codes)


def draw(times: list[float], exponent: float) -> None:
    """Time against K, on logarithmic axes."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 3.6), layout="constrained")
    axes = figure.subplots()
    axes.loglog(SIZES, times, "o-")
    axes.axvline(256, color="0.6", linestyle="--", linewidth=1)
    axes.text(290, max(times), "other corrections\nfrom here on", fontsize=8, va="top")
    plain_ticks(axes.yaxis)
    axes.set(
        xlabel="classes K",
        ylabel="processor seconds",
        title=f"AutoHead on {SAMPLES:,} samples; above 256: K^{exponent:.2f}",
    )
    FIGURE.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(FIGURE, dpi=150)
