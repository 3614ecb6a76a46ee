"""Class shares of unlabelled samples, how sure they are, and whether a head that assumes them makes fewer errors."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from aftermax._priors.em import class_shares
from aftermax._priors.labelled import CalibratedWorld, LabelledSummary
from aftermax._priors.evidence import label_shift_p_value, moved_p_value

Numbers = NDArray[np.float64]

WORLDS = 200  # of the bootstrap
QUANTILES = (0.025, 0.975)
LEAST_SHARE = 1e-6  # that a class is taken to have among the labelled samples, so that ratios are finite


class Estimate(NamedTuple):
    """What unlabelled samples tell of their classes."""

    shares: Numbers  # (n_classes,)
    intervals: Numbers  # (n_classes, 2): 95 %
    assumed: Numbers  # (n_classes,): the shares that the head assumes
    slope: float  # of the head's log-probabilities, in those of the new world
    offsets: Numbers  # (n_classes,): what is added to these
    p_moved: float  # that the shares are not those that the head assumes
    p_label_shift: float  # that more than the shares has changed; NaN if it cannot be told
    changed: float  # the share of samples whose predicted class changes
    expected_gain: float  # the accuracy to be gained, by the probabilities of the new world
    sure: float  #  in which share of the bootstrap's worlds errors become fewer
    trust: float
    rel: object


def estimate(
    probabilities: Numbers,
    predicted: NDArray[np.int64],
    summary: LabelledSummary,
    groups: NDArray[np.int64] | None,
    rng: np.random.Generator,
) -> Estimate:
    """Estimate the class shares of unlabelled samples.

    Parameters
    ----------
    probabilities : ndarray of shape (n_samples, n_classes)
        The head's, for the unlabelled samples.
    predicted : ndarray of shape (n_samples,)
        Its predictions.
    summary : LabelledSummary
        Of the samples that the head was fitted on.
    groups : ndarray of shape (n_samples,), or None
        Group numbers, from 0 on without gaps: the bootstrap resamples groups.
    rng : Generator
        For the bootstrap.
    """
    movable = summary.labelled_counts > 0
    worlds = list(summary.worlds())
    calibration, assumed = worlds[0].calibration, np.maximum(worlds[0].reference, LEAST_SHARE)
    found = class_shares(_likelihoods(probabilities, worlds[0]), assumed, np.ones((len(predicted), 1)), movable)[:, 0]
    certainty = calibration(probabilities).max(axis=1)
    drawn = []
    for world, counts in _bootstrap(worlds, len(predicted), groups, rng):
        density = _likelihoods(probabilities, world)
        resampled = class_shares(density, np.maximum(world.reference, LEAST_SHARE), counts, movable, found)
        drawn.append((density, counts, resampled))
    everywhere = np.concatenate([resampled for _, _, resampled in drawn], axis=1)
    trust = _trust(found, everywhere, assumed)
    shares = (len(predicted) * (assumed + trust * (found - assumed)) + len(assumed) * assumed) / (
        len(predicted) + len(assumed)
    )
    adapted = (calibration.scores(probabilities) + np.log(shares / assumed)).argmax(axis=1)
    changes = np.flatnonzero(adapted != predicted)
    gains, errors, surprises = [], [], []
    for density, counts, resampled in drawn:
        here = np.maximum(assumed[:, None] + trust * (found - assumed)[:, None] + np.sqrt(trust) * (resampled - found[:, None]), 0)
        here /= here.sum(axis=0)
        posterior_plain = density[np.arange(len(predicted)), predicted][:, None] * here[predicted] / (density @ here)
        errors.append(1 - (counts * posterior_plain).sum(axis=0) / counts.sum(axis=0))
        gains.append(_expected_gain(density[changes], here, counts[changes], adapted[changes], predicted[changes]) / counts.sum(axis=0))
        surprises.append(certainty @ counts / counts.sum(axis=0) - summary.certainty_means @ resampled)
    gain, error = np.concatenate(gains), np.concatenate(errors)
    return Estimate(
        shares,
        np.quantile(everywhere, QUANTILES, axis=1).T,
        assumed / assumed.sum(),
        calibration.slope,
        calibration.biases + np.log(shares / assumed),
        moved_p_value(calibration(probabilities), assumed, summary.effective_samples, groups),
        label_shift_p_value(certainty.mean(), found, np.concatenate(surprises), summary),
        len(changes) / len(predicted),
        float(gain.mean()),
        float((gain > 0).mean()), trust, np.quantile(gain/error,[.01,.05,.5])
    )


def _trust(found, everywhere, assumed):
    noise = (everywhere.var(axis=1) / assumed).sum()
    distance = (np.square(found - assumed) / assumed).sum()
    return float(max(0.0, 1 - noise / distance)) if distance > 0 else 0.0


def _likelihoods(probabilities: Numbers, world: CalibratedWorld) -> Numbers:
    """How likely a sample is given each class, up to a factor of its own."""
    scores = world.calibration.scores(probabilities) - np.log(np.maximum(world.reference, LEAST_SHARE))
    return np.asarray(np.exp(scores - scores.max(axis=1, keepdims=True)))


def _bootstrap(
    worlds: list[CalibratedWorld], n_samples: int, groups: NDArray[np.int64] | None, rng: np.random.Generator
) -> list[tuple[CalibratedWorld, Numbers]]:
    """Each resample of the labelled samples with several of the unlabelled ones: how often each of these counts."""
    together = np.arange(n_samples) if groups is None else groups
    n_groups = int(together.max()) + 1
    calibrated = worlds[1:] or worlds
    each = -(-WORLDS // len(calibrated))
    equal = np.full(n_groups, 1 / n_groups)
    return [(one, rng.multinomial(n_groups, equal, size=each).T[together].astype(np.float64)) for one in calibrated]


def _expected_gain(
    likelihoods: Numbers, shares: Numbers, counts: Numbers, new: NDArray[np.int64], old: NDArray[np.int64]
) -> Numbers:
    """By how many samples new predictions are right more often than old ones, if the classes have these shares."""
    samples = np.arange(len(new))
    right = likelihoods[samples, new][:, None] * shares[new] - likelihoods[samples, old][:, None] * shares[old]
    return np.asarray((counts * right / (likelihoods @ shares)).sum(axis=0))
