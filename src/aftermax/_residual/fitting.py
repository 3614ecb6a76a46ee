"""All corrections fitted, and stacked on the logits by their out-of-fold scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from aftermax._residual.capacity import FIRST_CENTERS, STANDARD, Capacity
from aftermax._residual.discriminant import out_of_fold_discriminant
from aftermax._residual.gaussian import GaussianCorrection, out_of_fold_gaussian
from aftermax._residual.kernel_ridge import KernelCorrection, choose_centers, fit_kernels
from aftermax._residual.linear import LinearCorrection, out_of_fold_linear
from aftermax._residual.projection import CLIP_DEPTH, Projection, project_features, project_logits, scale_logits
from aftermax._residual.samples import TINY, Samples
from aftermax._residual.stacking import Stacking, fit_stacking
from aftermax._residual.unlabelled import biases_that_keep_shares, missing_share, unlabelled_classes
from aftermax._utils.multinomial import Scores

LOGITS_TO_STACK_ON, SAMPLES_TO_STACK_ON = 1_000_000, 5_000  # whichever are more samples
WITHOUT_FEATURES = "combination without features"  # one more tier, where there are features

Correction = LinearCorrection | KernelCorrection | GaussianCorrection


class NamedCorrection(NamedTuple):
    """A fitted correction, the candidate it belongs to, and the input it is a function of (0 logits, 1 features)."""

    name: str
    source: int
    correction: Correction


@dataclass(frozen=True)
class StackedCorrections:
    """Logits and corrections, stacked; :func:`~aftermax._residual.head.compact` makes the head that predicts."""

    scale: float  # the logits are divided by it
    projections: list[Projection]  # of each input
    centers: list[NDArray[np.float64]]  # Nystroem centers, projected, for each input
    corrections: list[NamedCorrection]
    stacking: Stacking

    def weights_by_name(self) -> dict[str, float]:
        """The stacking weights of the corrections of each name, summed up."""
        names = ["logits", *(one.name for one in self.corrections)]
        return {name: float(self.stacking.weights[[one == name for one in names]].sum()) for name in names}


def fit_corrections(
    samples: Samples, salt: int, capacity: Capacity = STANDARD, *, keep_unlabelled: bool = False
) -> dict[str, StackedCorrections]:
    """A stacking without corrections ("biases"), with linear maps only, and with all of them ("combination"), by name.

    With features there is also a combination without them. The corrections are the same in all stackings; one that
    leaves some out gives them no weight. ``salt`` determines the centers of the kernels. Classes without samples
    have a bias only; see :mod:`aftermax._residual.unlabelled`.
    """
    scale, logits = scale_logits(samples.logits)
    most = max(SAMPLES_TO_STACK_ON, LOGITS_TO_STACK_ON // logits.shape[1])
    stacked_on = slice(None, None, -(-len(logits) // most))
    projections, centers = [], []
    corrections: list[NamedCorrection] = []
    base_scores = [logits[stacked_on]]
    for source, values in enumerate(samples.inputs):
        projection = project_features(values) if source else project_logits(CLIP_DEPTH * scale, logits * scale)
        projected = projection(samples.inputs)
        chosen = choose_centers(logits, samples.keys, salt, capacity.centers(source, *logits.shape))
        projections.append(projection)
        centers.append(projected[chosen])
        for name, correction, scores in _fit_each(source, projected, centers[-1], samples, logits, stacked_on):
            corrections.append(NamedCorrection(name, source, correction))
            base_scores.append(scores)
    most_missing = np.inf if keep_unlabelled else missing_share(samples)
    return {
        name: StackedCorrections(
            scale, projections, centers, corrections, _stack(base_scores, used, samples, stacked_on, most_missing)
        )
        for name, used in _used_by_tier(corrections).items()
    }


def _used_by_tier(corrections: list[NamedCorrection]) -> dict[str, list[bool]]:
    """Which corrections each tier stacks on the logits."""
    used = {
        "biases": [False] * len(corrections),
        "linear": [isinstance(one.correction, LinearCorrection) for one in corrections],
        "combination": [True] * len(corrections),
    }
    if any(one.source for one in corrections):
        used[WITHOUT_FEATURES] = [one.source == 0 for one in corrections]
    return used


def _fit_each(
    source: int,
    projected: NDArray[np.float64],
    centers: NDArray[np.float64],
    samples: Samples,
    logits: Scores,
    stacked_on: slice,
) -> list[tuple[str, Correction, Scores]]:
    """The corrections that are functions of one input, with their names and out-of-fold scores."""
    suffix = " of features" if source else ""
    found: list[tuple[str, Correction, Scores]] = []
    gaussian, scores = (
        out_of_fold_discriminant(projected, samples, logits) if source else out_of_fold_gaussian(projected, samples)
    )
    found.append(("gaussian" + suffix, gaussian, scores[stacked_on]))
    linear, scores = out_of_fold_linear(projected, samples, logits)
    missing = unlabelled_classes(samples)
    linear.coefficients[:, missing] = scores[:, missing] = 0.0
    found.append(("linear" + suffix, linear, scores[stacked_on]))
    kernels = fit_kernels(projected, centers, FIRST_CENTERS[source], samples, logits, stacked_on)
    return found + [("kernel" + suffix, kernel, scores) for kernel, scores in kernels]


def _stack(
    base_scores: list[Scores], used: list[bool], samples: Samples, stacked_on: slice, most_missing: float
) -> Stacking:
    """The stacking of the logits and the corrections that are ``used``; the others get weight 0."""
    codes, sample_weight = samples.codes[stacked_on], samples.weights[stacked_on]
    kept = np.flatnonzero([True, *used])
    found, _ = fit_stacking([base_scores[index] for index in kept], codes, sample_weight)
    weights = np.zeros(len(base_scores))
    weights[kept] = found.weights
    stacking = Stacking(weights, found.biases)
    missing = unlabelled_classes(samples)
    if len(missing):
        alone, _ = fit_stacking(base_scores[:1], codes, sample_weight, biases=False)
        scores = stacking.scores(base_scores), alone.scores(base_scores[:1])
        stacking.biases[missing] += biases_that_keep_shares(*scores, missing, sample_weight, most_missing)
    return stacking


def fit_softmax_temperature(samples: Samples) -> float:
    """Temperature scaling: a stacking of the logits alone, clipped so that masked classes have no influence."""
    scale, logits = scale_logits(samples.logits)
    found, _ = fit_stacking([logits], samples.codes, samples.weights, biases=False)
    return scale / max(float(found.weights[0]), TINY)
