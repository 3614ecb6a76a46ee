"""How SPH is fitted on checked samples: window, response array, weights, trusted classes and temperature."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from aftermax._utils.folds import content_order, ranked_folds
from aftermax._utils.softmax import softmax_certainty
from aftermax.sph._pooling import pooled_scores, pooling_weights
from aftermax.sph.fitted import POOLED, FittedSPH, decide, rule_of
from aftermax.sph.hyperparameters import plain_hyperparameters
from aftermax.sph.pooled_temperature import fit_temperature
from aftermax.sph.response_array import ResponseArray, fit_response_array

if TYPE_CHECKING:
    from aftermax.sph._kernels import PoolingRule

# The temperature: how many samples it is fitted on at most; how many each class needs for in-sample scores to stand for
# those of new samples; and the number of folds if there are fewer.
MAX_SAMPLES_FOR_TEMPERATURE = 4096
ENOUGH_SAMPLES_PER_CLASS = 200
FOLDS = 5


class _PooledScores(NamedTuple):
    """Scores, predictions, true classes and weights of samples that are pooled; classes are column numbers."""

    scores: NDArray[np.float64]
    predictions: NDArray[np.int64]
    codes: NDArray[np.int64]
    sample_weights: NDArray[np.float64]


def fit_sph(
    logits: NDArray[np.float64],
    codes: NDArray[np.int64],
    classes: NDArray[Any],
    hyperparameters: Mapping[str, Any],
    sample_weights: NDArray[np.float64] | None = None,
) -> FittedSPH:
    """Fit SPH on checked samples, with labels as column numbers and positive weights."""
    return _Fit(logits, codes, classes, hyperparameters, sample_weights).head()


class _Fit:
    """One fit, step by step as in the paper's appendix."""

    def __init__(
        self,
        logits: NDArray[np.float64],
        codes: NDArray[np.int64],
        classes: NDArray[Any],
        hyperparameters: Mapping[str, Any],
        sample_weights: NDArray[np.float64] | None,
    ) -> None:
        self.logits, self.codes, self.classes = logits, codes, classes
        self.hyperparameters = plain_hyperparameters(hyperparameters)
        self.sample_weights = np.ones(len(codes)) if sample_weights is None else sample_weights
        self.certainty = softmax_certainty(logits)
        self.gate = self.hyperparameters["certainty"]

    def head(self) -> FittedSPH:
        """All steps."""
        array = self._response_array(slice(None))
        separation = array.separation()
        weights = pooling_weights(
            separation,
            min_separation=self.hyperparameters["min_separation"],
            weight_power=self.hyperparameters["weight_power"],
        )
        rule = rule_of(array, weights, self.hyperparameters)
        uncertain = np.flatnonzero(self.certainty < self.gate)
        pooled, routes = pooled_and_routes(self.logits[uncertain], self.gate, rule)
        trusted = trusted_classes(
            self.logits[uncertain].argmax(axis=1),
            pooled,
            self.codes[uncertain],
            len(self.classes),
            self.hyperparameters["min_gain"],
            self.sample_weights[uncertain],
        )
        if len(self.codes) >= ENOUGH_SAMPLES_PER_CLASS * len(self.classes):
            parts = [self._to_calibrate(uncertain, rule, trusted, pooled, routes)]
        else:
            parts = list(self._out_of_fold_scores(weights, trusted))
        temperature = fit_temperature(*(np.concatenate(part) for part in zip(*parts, strict=True)))
        return FittedSPH(array, separation, weights, trusted, self.hyperparameters, temperature)

    def _response_array(self, samples: NDArray[np.intp] | slice) -> ResponseArray:
        names = ("center", "window_low", "window_high")
        center, low, high = (self.hyperparameters[name] for name in names)
        logits, codes, certainty = self.logits[samples], self.codes[samples], self.certainty[samples]
        weights = self.sample_weights[samples]
        return fit_response_array(logits, codes, self.classes, certainty, center, low, high, weights)

    def _out_of_fold_scores(self, weights: NDArray[np.float64], trusted: NDArray[np.bool_]) -> Iterator[_PooledScores]:
        """Each fifth of the samples, scored by a response array that was fitted on the others.

        With few samples for each class the array overfits the samples it was made of, and probabilities calibrated on
        them would be overconfident.
        """
        order = content_order(self.logits, self.codes)
        folds = ranked_folds(self.codes, order, FOLDS)[order]
        for fold in range(FOLDS):
            held_out, others = order[folds == fold], order[folds != fold]
            rule = rule_of(self._response_array(others), weights, self.hyperparameters)
            uncertain = held_out[self.certainty[held_out] < self.gate]
            both = pooled_and_routes(self.logits[uncertain], self.gate, rule)
            yield self._to_calibrate(uncertain, rule, trusted, *both)

    def _to_calibrate(
        self,
        samples: NDArray[np.intp],
        rule: PoolingRule,
        trusted: NDArray[np.bool_],
        pooled: NDArray[np.int64],
        routes: NDArray[np.int64],
    ) -> _PooledScores:
        """The samples whose pooled prediction is kept, or some of them if they are very many."""
        logits, codes, weights = self.logits[samples], self.codes[samples], self.sample_weights[samples]
        kept = np.flatnonzero((routes == POOLED) & trusted[pooled])
        every = max(1, -(-len(kept) // MAX_SAMPLES_FOR_TEMPERATURE))
        kept = kept[content_order(logits[kept], codes[kept])[::every]]  # in an order that rounds always the same
        return _PooledScores(pooled_scores(logits[kept], rule), pooled[kept], codes[kept], weights[kept])


def pooled_and_routes(
    logits: NDArray[np.float64], gate: float, rule: PoolingRule
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Predictions (column numbers) and routes (indices into ROUTES) if every class were trusted."""
    out = np.empty((len(logits), 2), dtype=np.int64)
    all_trusted = np.ones(logits.shape[1], dtype=bool)
    decide(logits, gate, rule, all_trusted, lambda _, *both: np.stack(both, axis=1), out)
    return out[:, 0], out[:, 1]


def trusted_classes(
    by_softmax: NDArray[np.int64],
    pooled: NDArray[np.int64],
    codes: NDArray[np.int64],
    n_classes: int,
    min_gain: float,
    sample_weights: NDArray[np.float64] | None = None,
) -> NDArray[np.bool_]:
    """The classes that pooling predicts better than softmax, by the uncertain validation samples (m)."""
    weights = np.ones(len(codes)) if sample_weights is None else sample_weights
    totals = np.bincount(codes, weights, minlength=n_classes)
    pooled_right, softmax_right = (
        np.bincount(codes, weights * (predictions == codes), minlength=n_classes)
        for predictions in (pooled, by_softmax)
    )
    return trusted_by_counts(totals, pooled_right, softmax_right, min_gain)


def trusted_by_counts(
    totals: NDArray[Any], pooled_right: NDArray[Any], softmax_right: NDArray[Any], min_gain: float
) -> NDArray[np.bool_]:
    """The same, given how many uncertain samples each class has, and how many are right by either; or their weights."""
    # The difference of the shares, rounded once: a gain of exactly ``min_gain`` is never enough.
    gains = (pooled_right - softmax_right) / np.where(totals > 0, totals, 1.0)
    return np.asarray((totals > 0) & (gains > min_gain))
