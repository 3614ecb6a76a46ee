"""Odd logits and labels: extreme sizes, next to nothing, constant, repeated, many classes and few samples."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Rng = np.random.Generator
Logits = NDArray[np.float64]
MOST_VALUES = 5_000


def _plain(rng: Rng, n: int, k: int, labels: NDArray[np.int64]) -> Logits:
    return np.asarray(2 * np.eye(k)[labels] + rng.normal(size=(n, k)) + np.linspace(1, -1, k))


def _of_any_size(rng: Rng, n: int, k: int, labels: NDArray[np.int64]) -> Logits:
    return _plain(rng, n, k, labels) * 10.0 ** rng.integers(-300, 100)


def _of_all_sizes(rng: Rng, n: int, k: int, labels: NDArray[np.int64]) -> Logits:
    return np.asarray(_plain(rng, n, k, labels) * 10.0 ** rng.integers(-300, 99, size=(n, k)))


def _too_large(rng: Rng, n: int, k: int, labels: NDArray[np.int64]) -> Logits:
    logits = _plain(rng, n, k, labels)
    logits[rng.integers(n), rng.integers(k)] = rng.choice([1e101, 1e155, -1e300, 1.7e308, np.inf, -np.inf, np.nan])
    return logits


def _denormal(rng: Rng, n: int, k: int, labels: NDArray[np.int64]) -> Logits:
    return _plain(rng, n, k, labels) * 1e-310


def _constant(rng: Rng, n: int, k: int, labels: NDArray[np.int64]) -> Logits:
    return np.full((n, k), rng.choice([0.0, -0.0, 1.0, -7.5, 1e-300, 1e99]))


def _constant_columns(rng: Rng, n: int, k: int, labels: NDArray[np.int64]) -> Logits:
    logits = _plain(rng, n, k, labels)
    logits[:, rng.random(k) < 0.5] = rng.choice([0.0, 5.0, -1e4, 1e30])
    return logits


def _repeated(rng: Rng, n: int, k: int, labels: NDArray[np.int64]) -> Logits:
    logits = _plain(rng, n, k, labels)
    return logits[rng.integers(max(1, n // 10), size=n)]


def _equal_columns(rng: Rng, n: int, k: int, labels: NDArray[np.int64]) -> Logits:
    return np.repeat(_plain(rng, n, k, labels)[:, :1], k, axis=1)


def _masked_out(rng: Rng, n: int, k: int, labels: NDArray[np.int64]) -> Logits:
    logits = _plain(rng, n, k, labels)
    logits[rng.random((n, k)) < 0.3] = -1e4
    return logits


def _probabilities(rng: Rng, n: int, k: int, labels: NDArray[np.int64]) -> Logits:
    return np.asarray(rng.dirichlet(np.ones(k), size=n))


def _far_off(rng: Rng, n: int, k: int, labels: NDArray[np.int64]) -> Logits:
    return _plain(rng, n, k, labels) + 10.0 ** rng.integers(3, 17)


def _one_outlier(rng: Rng, n: int, k: int, labels: NDArray[np.int64]) -> Logits:
    logits = _plain(rng, n, k, labels)
    logits[rng.integers(n)] *= 10.0 ** rng.integers(3, 95)
    return logits


def _perfect(rng: Rng, n: int, k: int, labels: NDArray[np.int64]) -> Logits:
    return 1e3 * np.eye(k)[labels]


VALUES: dict[str, Callable[[Rng, int, int, NDArray[np.int64]], Logits]] = {
    "plain": _plain,
    "of any size": _of_any_size,
    "of all sizes": _of_all_sizes,
    "too large": _too_large,
    "denormal": _denormal,
    "constant": _constant,
    "constant columns": _constant_columns,
    "repeated": _repeated,
    "equal columns": _equal_columns,
    "masked out": _masked_out,
    "probabilities": _probabilities,
    "far off": _far_off,
    "one outlier": _one_outlier,
    "perfect": _perfect,
}
SHAPES = (
    (40, 3), (120, 4), (60, 2), (400, 5), (9, 3), (4, 2), (30, 100), (17, 290), (250, 20), (2, 2), (1, 3), (500, 10),
)  # fmt: skip


def made(rng: Rng) -> tuple[str, Logits, NDArray[np.int64]]:
    """The name of what they are, logits, and labels: of all classes, of few, or of one."""
    n, k = SHAPES[rng.integers(len(SHAPES))]
    assert n * k <= MOST_VALUES
    of = (k, k, k, k, max(1, k // 2), 1)[rng.integers(6)]
    labels = rng.integers(of, size=n)
    name = list(VALUES)[rng.integers(len(VALUES))]
    return name, VALUES[name](rng, n, k, labels), labels
