"""Many classes: time and memory against K, accuracy against a shrunken discriminant, predictions against argmax."""

from __future__ import annotations

import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from aftermax import AutoHead
from benchmarks.measure import Result, alternate, best_time, in_new_process

SIZES = (10, 30, 100, 214, 300, 1_000, 3_000, 10_000)
SAMPLES = 2_000
FIGURE = Path("results/bench/many.png")

# 100,000 samples of 10,000 classes, in float16 on disk: the seconds of a fit, and the peak memory in GB.
LARGEST = """
import resource, sys, time, warnings
import numpy as np
from aftermax import AutoHead
warnings.simplefilter("ignore")
logits, labels = np.load(sys.argv[1], mmap_mode="r"), np.load(sys.argv[2])
begun = time.perf_counter()
AutoHead(classes=np.arange(logits.shape[1])).fit(logits, labels)
print(time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6)
"""


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


def seconds_of_fit(logits: np.ndarray, labels: np.ndarray, **parameters: object) -> tuple[AutoHead, float]:
    """A fitted head, and how long it took."""
    head = AutoHead(classes=np.arange(logits.shape[1]), **parameters)
    begun = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        head.fit(logits, labels)
    return head, time.perf_counter() - begun


def speed() -> Iterator[Result]:
    """Fits against K, and predictions against argmax."""
    rng = np.random.default_rng(0)
    times = []
    for n_classes in SIZES:
        patterns = patterns_of(n_classes, rng)
        logits, labels = scores(n_classes, SAMPLES, rng, patterns)
        if not times:
            seconds_of_fit(logits, labels)  # compiles
        _, seconds = seconds_of_fit(logits, labels)
        times.append(seconds)
        baseline = best_time(lambda values=logits: np.exp(values).sum(axis=1))
        yield Result(f"fit, {SAMPLES:,} samples, K = {n_classes:,}", "(seconds)", seconds, "s")
        yield Result(f"fit, K = {n_classes:,}", "exp and sum of the same logits", seconds / baseline, "x")
    many = [(size, seconds) for size, seconds in zip(SIZES, times, strict=True) if size > 256]
    exponent = float(np.polyfit(*np.log(np.array(many).T), 1)[0])
    yield Result("exponent of K in the time of a fit, K = 300 to 10,000", "(no unit)", exponent, "")
    draw(times, exponent)
    yield from predictions(rng)


def predictions(rng: np.random.Generator) -> Iterator[Result]:
    """Of 6,600 classes, on one core as long as argmax is."""
    patterns = patterns_of(6_600, rng)
    logits, labels = scores(6_600, 4_000, rng, patterns)
    head, _ = seconds_of_fit(logits, labels, budget="fast")
    new = scores(6_600, 2_000, rng, patterns)[0]
    for dtype in (np.float16, np.float32):
        some = new.astype(dtype)
        ratio = alternate(lambda some=some: head.predict(some), lambda some=some: some.argmax(axis=1))
        yield Result(f"predict, K = 6,600, {np.dtype(dtype).name}, {head.chosen_}", "argmax of the same", ratio, "x")


def processes() -> Iterator[Result]:
    """A thousand classes against a discriminant; ten thousand in a process of its own."""
    yield from thousand()
    rng = np.random.default_rng(2)
    with tempfile.TemporaryDirectory() as folder:
        paths = Path(folder) / "logits.npy", Path(folder) / "labels.npy"
        write_largest(*paths, rng)
        seconds, gigabytes = in_new_process(LARGEST, *map(str, paths))
    yield Result("fit, 100,000 samples, K = 10,000, float16 on disk", "(seconds)", seconds, "s")
    yield Result("the same", "(peak memory)", gigabytes, "GB")


def thousand() -> Iterator[Result]:
    """20,000 samples of 1,000 classes: AutoHead and a linear discriminant whose ridge is chosen on a fifth of them."""
    rng = np.random.default_rng(1)
    patterns = patterns_of(1_000, rng)
    logits, labels = scores(1_000, 20_000, rng, patterns)
    new, truth = scores(1_000, 10_000, rng, patterns)
    head, seconds = seconds_of_fit(logits, labels)
    begun = time.perf_counter()
    predicted = discriminant_predictions(logits, labels, new)
    peer_seconds = time.perf_counter() - begun
    yield Result("fit, 20,000 samples, K = 1,000", "(seconds)", seconds, "s")
    yield Result("error of softmax, K = 1,000", "(percent)", 100 * np.mean(new.argmax(axis=1) != truth), "%")
    yield Result("error of AutoHead, K = 1,000", "(percent)", 100 * np.mean(head.predict(new) != truth), "%")
    yield Result("error of a shrunken discriminant, K = 1,000", "(percent)", 100 * np.mean(predicted != truth), "%")
    yield Result("fit, 20,000 samples, K = 1,000", "a shrunken discriminant", seconds / peer_seconds, "x")


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
    """100,000 samples of 10,000 classes, some at a time."""
    patterns = patterns_of(10_000, rng)
    out = np.lib.format.open_memmap(logits, "w+", np.float16, (100_000, 10_000))
    codes = np.empty(100_000, dtype=np.int64)
    for first in range(0, 100_000, 2_000):
        some = slice(first, first + 2_000)
        out[some], codes[some] = scores(10_000, 2_000, rng, patterns)
    out.flush()
    np.save(labels, codes)


def draw(times: list[float], exponent: float) -> None:
    """Time against K, on logarithmic axes."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 3.6), layout="constrained")
    axes = figure.subplots()
    axes.loglog(SIZES, times, "o-")
    axes.axvline(256, color="0.6", linestyle="--", linewidth=1)
    axes.text(270, min(times), "other corrections\nfrom here on", fontsize=8, va="bottom")
    axes.set(
        xlabel="classes K", ylabel="seconds", title=f"AutoHead on {SAMPLES:,} samples; above 256: K^{exponent:.2f}"
    )
    FIGURE.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(FIGURE, dpi=150)
