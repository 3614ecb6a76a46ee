"""All corrections for many classes fitted, and stacked on the logits by their out-of-fold scores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from aftermax._many.class_means import ClassMeans, fit_class_means
from aftermax._many.discriminant import Discriminant, OutOfFoldDiscriminants, Settings, out_of_fold, settings_for
from aftermax._many.head import ManyClassesHead
from aftermax._many.largest_scores import COUNTS
from aftermax._many.projections import Projected, project_many_features, project_many_logits
from aftermax._many.samples import ManySamples
from aftermax._many.stacking import Base, ManyStacking, StackingSamples, fit_many_stacking
from aftermax._residual.fitting import fit_softmax_temperature
from aftermax._residual.head import ResidualHead
from aftermax._residual.projection import Projection, scale_logits
from aftermax._residual.terms import InputTerms
from aftermax._residual.unlabelled import biases_that_keep_shares

BIASES, CLASS_MEANS, DISCRIMINANTS = "biases", "class means", "class means and discriminants"
DENSE_CLASSES = 2_000  # with more, there is no discriminant of the logits: each prediction would take too long
LOGITS_TO_STACK_ON, SAMPLES_TO_STACK_ON = 4_000_000, 1_500  # whichever are more samples
FURTHEST = 1e6  # below the largest logit of a sample, in the stacking: squares are in single precision
LOGITS_TO_CHOOSE_ON, FOLDS_TO_CHOOSE_ON = 2_000_000, 2  # the hyperparameters of a discriminant

Head = ResidualHead | ManyClassesHead


class _FittedDiscriminant(NamedTuple):
    projection: Projection
    discriminant: Discriminant


class FittedMany(NamedTuple):
    """The temperature of softmax, the head of each tier, the stacking weights of the richest, and what these are of."""

    temperature: float
    heads: dict[str, Head]
    stacking_weights: dict[str, float]
    compared: int  # of a sample's largest scores, with class means
    stackings: dict[str, ManyStacking]
    scale: float
    discriminants: Sequence[_FittedDiscriminant]
    kept_biases: dict[str, NDArray[np.float64]]

    def with_means_of(self, samples: ManySamples) -> dict[str, Head]:
        """The heads of all tiers with the class means and the numbers of labels of other samples."""
        largest = samples.largest.first(self.compared)
        means = fit_class_means(largest, samples.codes, samples.weights, samples.n_classes)
        return _heads(means, samples.label_counts(), *self[4:])


def fit_many(samples: ManySamples, *, dense: bool = True, keep_unlabelled: bool = False) -> FittedMany:
    """The heads of all tiers. Without ``dense``, there is no discriminant of the logits."""
    folds = _folds(samples)
    stacked_on, wanted = _stacking_samples(samples, folds)
    some = samples.take(wanted)
    scale, logits = scale_logits(some.in_memory().logits)
    logits -= logits.max(axis=1, keepdims=True)
    bases: list[Base] = [np.maximum(logits, -FURTHEST).astype(np.float32)]
    del logits
    temperature = fit_softmax_temperature(some.every(LOGITS_TO_CHOOSE_ON).in_memory())
    stackings = {BIASES: fit_many_stacking(bases, stacked_on, by_count=False)[0]}
    means, similarities = _fit_means(samples, folds, wanted, bases[0], stacked_on)
    bases.append(similarities)
    stackings[CLASS_MEANS] = fit_many_stacking(bases, stacked_on)[0]
    discriminants: list[_FittedDiscriminant] = []
    names = ["logits", CLASS_MEANS]
    for name, projected in _projections(samples, scale, dense):
        found = out_of_fold(
            projected.values, folds, samples.codes, samples.weights, _patterns(projected, samples), wanted,
            samples.n_classes,
        )  # fmt: skip
        settings = _choose(found, bases[0], stacked_on)
        bases.append(found.scores(settings))
        names.append(name)
        discriminants.append(_FittedDiscriminant(_cut(projected.projection, settings), found.fitted(settings)))
    if discriminants:
        stackings[DISCRIMINANTS] = fit_many_stacking(bases, stacked_on)[0]
    kept = _kept_biases(samples, bases, stackings, stacked_on) if keep_unlabelled else {}
    parts = stackings, scale, discriminants, kept
    heads = _heads(means, samples.label_counts(), *parts)
    weights = dict(zip(names, stackings[next(reversed(stackings))].weights.tolist(), strict=True))
    return FittedMany(temperature, heads, weights, means.count, *parts)


# ---- folds and samples -----------------------------------------------------------------------------------------------


def _folds(samples: ManySamples) -> NDArray[np.int64]:
    """The inner folds, numbered without gaps."""
    return np.asarray(np.unique(samples.inner_folds(), return_inverse=True)[1])


def _stacking_samples(samples: ManySamples, folds: NDArray[np.int64]) -> tuple[StackingSamples, NDArray[np.intp]]:
    """A fair part of the samples, in the order of their folds, and which these are."""
    most = max(SAMPLES_TO_STACK_ON, LOGITS_TO_STACK_ON // samples.n_classes)
    wanted = np.arange(0, len(folds), -(-len(folds) // most))
    wanted = wanted[np.argsort(folds[wanted], kind="stable")]
    whole = samples.label_counts()
    counts = [whole - np.bincount(samples.codes[folds == fold], minlength=len(whole)) for fold in np.unique(folds)]
    weights = samples.weights[wanted]
    return StackingSamples(samples.codes[wanted], weights, folds[wanted], np.array(counts)), wanted


# ---- corrections -----------------------------------------------------------------------------------------------------


def _fit_means(
    samples: ManySamples,
    folds: NDArray[np.int64],
    wanted: NDArray[np.intp],
    logits: Base,
    stacked_on: StackingSamples,
) -> tuple[ClassMeans, Base]:
    """Class means of all samples, and the out-of-fold similarities of the wanted ones.

    With few labels, the largest scores of a sample are all that class means can tell; with many, also smaller ones. How
    many are compared is chosen by the out-of-fold log loss.
    """
    counts = sorted({min(count, samples.largest.columns.shape[1]) for count in COUNTS})
    choosing = _first_folds(stacked_on, logits)
    part, base = stacked_on.take(choosing), logits[choosing]
    best, lowest = (counts[0], np.empty(0, np.float32)), np.inf
    for count in counts:
        similarities = _out_of_fold_similarities(samples, folds, wanted, count)
        loss = fit_many_stacking([base, similarities[choosing]], part, biases=False)[1]
        if loss < lowest:
            best, lowest = (count, similarities), loss
    largest = samples.largest.first(best[0])
    return fit_class_means(largest, samples.codes, samples.weights, samples.n_classes), best[1]


def _out_of_fold_similarities(
    samples: ManySamples, folds: NDArray[np.int64], wanted: NDArray[np.intp], count: int
) -> Base:
    largest = samples.largest.first(count)
    out = np.empty((len(wanted), samples.n_classes), np.float32)
    for fold in np.unique(folds):
        held_out = folds[wanted] == fold
        if held_out.any():
            which = folds != fold
            others = largest.take(which), samples.codes[which], samples.weights[which]
            means = fit_class_means(*others, samples.n_classes)
            out[held_out] = means.similarities(largest.take(wanted[held_out]))
    return out


def _projections(samples: ManySamples, scale: float, dense: bool) -> Iterator[tuple[str, Projected]]:
    """What discriminants are fitted on, by name: none of logits so large that sums of their squares overflow."""
    if dense and samples.n_classes <= DENSE_CLASSES and (logits := project_many_logits(samples, scale)) is not None:
        yield "discriminant", logits
    if samples.features is not None:
        yield "discriminant of features", project_many_features(samples.features)


def _patterns(projected: Projected, samples: ManySamples) -> NDArray[np.float32]:
    """The patterns; of features there are none."""
    shape = 0, samples.n_classes, projected.values.shape[1]
    return projected.patterns if len(projected.patterns) else np.zeros(shape, np.float32)


def _choose(found: OutOfFoldDiscriminants, logits: Base, samples: StackingSamples) -> Settings:
    """The hyperparameters of a discriminant with the lowest out-of-fold log loss, stacked on the logits."""
    some = _first_folds(samples, logits)
    part, base = samples.take(some), logits[some]

    def loss(settings: Settings) -> float:
        return fit_many_stacking([base, found.scores(settings, some)], part, biases=False)[1]

    return min(settings_for(found.projected.shape[1]), key=loss)


def _first_folds(samples: StackingSamples, logits: Base) -> NDArray[np.intp]:
    """The samples that hyperparameters are chosen on."""
    first = np.flatnonzero(samples.folds < FOLDS_TO_CHOOSE_ON)
    return first[:: -(-len(first) * logits.shape[1] // LOGITS_TO_CHOOSE_ON)]


def _cut(projection: Projection, settings: Settings) -> Projection:
    """The projection to the first components."""
    return projection._replace(components=np.ascontiguousarray(projection.components[:, : settings.components]))


# ---- heads -----------------------------------------------------------------------------------------------------------


def _kept_biases(
    samples: ManySamples, bases: Sequence[Base], stackings: dict[str, ManyStacking], stacked_on: StackingSamples
) -> dict[str, NDArray[np.float64]]:
    """For each tier, what keeps the mean probabilities of classes without labels as softmax has them."""
    counts = samples.label_counts()
    missing = np.flatnonzero(counts == 0)
    if not len(missing):
        return {}
    alone, _ = fit_many_stacking(bases[:1], stacked_on, by_count=False, biases=False)
    softmax_scores = bases[0].astype(np.float64) * alone.weights[0]
    out = {}
    for name, stacking in stackings.items():
        scores = sum(weight * base.astype(np.float64) for weight, base in zip(stacking.weights, bases, strict=False))
        scores = scores + stacking.class_biases(counts)
        added = biases_that_keep_shares(scores, softmax_scores, missing, stacked_on.weights, np.inf)
        out[name] = np.zeros(samples.n_classes)
        out[name][missing] = added
    return out


def _heads(
    means: ClassMeans,
    label_counts: NDArray[np.int64],
    stackings: dict[str, ManyStacking],
    scale: float,
    discriminants: Sequence[_FittedDiscriminant],
    kept_biases: dict[str, NDArray[np.float64]],
) -> dict[str, Head]:
    """The heads of all tiers, of classes with so many labels."""
    out = {}
    for name, stacking in stackings.items():
        biases = stacking.class_biases(label_counts)
        if name in kept_biases:
            biases = biases + np.where(label_counts == 0, kept_biases[name], 0.0)
        out[name] = _head(stacking, biases, scale, means, discriminants)
    return out


def _head(
    stacking: ManyStacking,
    biases: NDArray[np.float64],
    scale: float,
    means: ClassMeans,
    discriminants: Sequence[_FittedDiscriminant],
) -> Head:
    """The head of a tier: weights of corrections that it does not have are missing at the end."""
    terms = []
    for weight, (projection, discriminant) in zip(stacking.weights[2:], discriminants, strict=False):
        if weight:
            terms.append(_terms(projection, weight * discriminant.slopes.astype(np.float64)))
            biases = biases + weight * discriminant.intercepts
    residual = ResidualHead(float(stacking.weights[0] / scale), biases, tuple(terms))
    if len(stacking.weights) == 1:
        return residual
    return ManyClassesHead(residual, means, float(stacking.weights[1]))


def _terms(projection: Projection, linear: NDArray[np.float64]) -> InputTerms:
    """A linear term and no other."""
    dimensions, n_classes = linear.shape
    no_kernels = np.zeros((dimensions + 2, 0)), np.zeros((0, 0, n_classes)), np.zeros(0, dtype=bool)
    return InputTerms(projection, *no_kernels, linear, None, 0.0)
