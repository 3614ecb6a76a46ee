"""What a head keeps of its labelled samples, so that class shares of unlabelled ones can be told later."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from aftermax._priors.calibration import Calibration, fit_calibration
from aftermax._utils.untrusted import Arrays, fields, number

Numbers = NDArray[np.float64]

RESAMPLES = 20  # of the labelled samples, for the uncertainty of the calibration
MOST_LOGITS = 200_000  # of more, a part is enough: calibration has few parameters
ARRAYS = ("calibrations", "references", "labelled_counts", "certainty_means", "certainty_variances")
PREFIX = "priors_"
LEAST_SHARE = 1e-6  # that a class is taken to have among the labelled samples, so that ratios are finite


class CalibratedWorld(NamedTuple):
    """A calibration, and the mean probability that it gives each class among the labelled samples."""

    calibration: Calibration
    reference: Numbers


@dataclass(frozen=True, eq=False)
class LabelledSummary:
    """Calibrations of the out-of-fold probabilities, and what these look like; no sample can be restored from it.

    The first calibration is of the labelled samples as they are, the others of their resamples (a Bayesian bootstrap,
    of groups where there are some).
    """

    calibrations: Numbers  # (1 + RESAMPLES, 1 + n_classes): slope and biases
    references: Numbers  # (1 + RESAMPLES, n_classes): mean calibrated probabilities
    labelled_counts: Numbers  # (n_classes,): how many independent samples of one weight would be as informative
    certainty_means: Numbers  # (n_classes,): of the largest calibrated probability, by true class
    certainty_variances: Numbers
    effective_samples: float

    @classmethod
    def of(
        cls,
        probabilities: Numbers,
        codes: NDArray[np.int64],
        weights: Numbers,
        groups: NDArray[np.int64] | None = None,
    ) -> Self:
        """Of out-of-fold probabilities, in an order that does not depend on the order that samples came in."""
        step = -(-probabilities.size // MOST_LOGITS)
        probabilities, codes, weights = probabilities[::step], codes[::step], weights[::step]
        weights = weights / weights.mean()
        together = np.arange(len(codes)) if groups is None else np.unique(groups[::step], return_inverse=True)[1]
        fitted = fit_calibration(probabilities, codes, weights)
        rng = np.random.default_rng(0)
        worlds = [(np.ones(len(codes)), fitted.calibration)]
        for _ in range(RESAMPLES):
            times = rng.exponential(size=int(together.max()) + 1)[together]
            worlds.append((times, fitted.reweighted(times, rng.normal(size=1 + probabilities.shape[1]))))
        references = [np.average(found(probabilities), axis=0, weights=weights * some) for some, found in worlds]
        calibrated = fitted.calibration(probabilities)
        deviations = weights[:, None] * (calibrated - references[0])
        means, variances = _by_class(calibrated.max(axis=1), codes, weights, probabilities.shape[1])
        n_effective = step * _effective_samples(deviations, weights, together)
        by_class = np.bincount(codes, weights, minlength=probabilities.shape[1])
        return cls(
            np.array([[found.slope, *found.biases] for _, found in worlds]),
            np.array(references),
            by_class * n_effective / len(codes),
            means,
            variances,
            n_effective,
        )

    @classmethod
    def unknown(cls, class_shares: Numbers, n_samples: int) -> Self:
        """Where there are no out-of-fold probabilities: the head's are taken as they are."""
        n_classes = len(class_shares)
        nothing = np.full(n_classes, np.nan)
        identity = np.array([[1.0] + [0.0] * n_classes])
        return cls(identity, class_shares[None], n_samples * class_shares, nothing, nothing, n_samples)

    @property
    def movable(self) -> NDArray[np.bool_]:
        """The classes whose shares can be told: those that some labelled sample has."""
        return np.asarray(self.labelled_counts > 0)

    def worlds(self) -> Iterator[CalibratedWorld]:
        """The calibrations, each with its reference."""
        for (slope, *biases), reference in zip(self.calibrations, self.references, strict=True):
            positive = np.maximum(reference, LEAST_SHARE)
            yield CalibratedWorld(Calibration(float(slope), np.array(biases)), positive / positive.sum())

    def to_state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Values, as for JSON, and arrays."""
        return {"effective_samples": self.effective_samples}, {PREFIX + name: getattr(self, name) for name in ARRAYS}

    @classmethod
    def from_state(cls, values: object, arrays: Arrays, n_classes: int) -> Self:
        """From a file that anyone may have written: a ValueError says what is wrong with it."""
        named = fields(values, {"effective_samples"}, "the summary of the labelled samples")
        calibrations = arrays.take(PREFIX + "calibrations", (None, 1 + n_classes))
        if not len(calibrations) or (calibrations[:, 0] <= 0).any():
            raise ValueError("the array priors_calibrations has no rows, or a slope that is not positive")
        references = arrays.take(PREFIX + "references", (len(calibrations), n_classes), positive=True)
        counts, means, variances = (arrays.take(PREFIX + name, (n_classes,), low=0.0) for name in ARRAYS[2:])
        effective_samples = number(named["effective_samples"], "effective_samples", positive=True)
        return cls(calibrations, references, counts, means, variances, effective_samples)


def _by_class(values: Numbers, codes: NDArray[np.int64], weights: Numbers, n_classes: int) -> tuple[Numbers, Numbers]:
    """Weighted means and variances of the values of each class, to which those of all samples add one sample."""
    overall = np.average(values, weights=weights)
    totals = 1 + np.bincount(codes, weights, minlength=n_classes)
    means = (overall + np.bincount(codes, weights * values, minlength=n_classes)) / totals
    variance = np.average(np.square(values - overall), weights=weights)
    squares = weights * np.square(values - means[codes])
    return means, (variance + np.bincount(codes, squares, minlength=n_classes)) / totals


def _effective_samples(deviations: Numbers, weights: Numbers, together: NDArray[np.int64]) -> float:
    """How many independent samples of one weight would have a mean as uncertain as that of these groups is."""
    sums = np.zeros((int(together.max()) + 1, deviations.shape[1]))
    np.add.at(sums, together, deviations)
    uncertainty = np.square(sums).sum() / weights.sum() ** 2
    spread = (np.square(deviations).sum(axis=1) / np.maximum(weights, 1e-300)).sum() / weights.sum()
    return float(np.clip(spread / uncertainty, 1.0, len(weights))) if uncertainty > 0 else float(len(weights))
