"""Class shares of unlabelled samples, how sure they are, and whether a head that assumes them makes fewer errors."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from aftermax._priors.em import class_shares
from aftermax._priors.evidence import label_shift_p_value, moved_p_value
from aftermax._priors.labelled import CalibratedWorld, LabelledSummary

Numbers = NDArray[np.float64]

WORLDS = 200  # of the bootstrap
INTERVAL = (0.025, 0.975)
SURE = 0.95  # share of the bootstrap's worlds in which a gain must be at least as large as is told
PRIOR_SAMPLES = 1  # with the assumed shares, for each class: keeps every class possible


class Estimate(NamedTuple):
    """What unlabelled samples tell of their classes."""

    shares: Numbers  # (n_classes,)
    intervals: Numbers  # (n_classes, 2): 95 %
    assumed: Numbers  # (n_classes,): the shares that the head assumes
    slope: float  # of the head's log-probabilities, in those of the new world
    offsets: Numbers  # (n_classes,): what is added to these
    p_moved: float  # that the shares are those that the head assumes
    p_label_shift: float  # that nothing but the shares has changed; NaN if it cannot be told
    changed: float  # the share of samples whose predicted class changes
    gain: float  # the share of errors that will be gone, as far as probabilities can tell
    least_gain: float  # the share of errors that are gone in 95 % of the bootstrap's worlds


class _World(NamedTuple):
    """Resamples of the unlabelled samples, with one of the labelled ones."""

    likelihoods: Numbers  # (n_samples, n_classes): of the samples, given their class
    reference: Numbers  # (n_classes,): the shares that the head assumes
    counts: Numbers  # (n_samples, n_resamples): how often each sample counts
    shares: Numbers  # (n_classes, n_resamples): found in each resample

    @property
    def weights(self) -> Numbers:
        """How often each sample counts, as a share of all."""
        return np.asarray(self.counts / self.counts.sum(axis=0))

    @property
    def moves(self) -> Numbers:
        """How far the shares are from those that the head assumes."""
        return np.asarray(self.shares - self.reference[:, None])


def estimate(
    probabilities: Numbers,
    predicted: NDArray[np.int64],
    summary: LabelledSummary,
    groups: NDArray[np.int64] | None,
    rng: np.random.Generator,
) -> Estimate:
    """Estimate the class shares of unlabelled samples, and what is gained if a head assumes them.

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
    calibration, assumed = as_fitted = next(iter(summary.worlds()))
    calibrated = calibration(probabilities)
    every_sample = np.ones((len(predicted), 1))
    found = class_shares(_likelihoods(probabilities, as_fitted), assumed, every_sample, summary.movable)[:, 0]
    worlds = _bootstrap(probabilities, summary, groups, found, rng)
    trust = _trust(found - assumed, worlds, assumed)
    shares = _with_prior(assumed + trust * (found - assumed), assumed, len(predicted))
    offsets = calibration.biases + np.log(shares / assumed)
    adapted = (calibration.scores(probabilities) + np.log(shares / assumed)).argmax(axis=1)
    gains = np.concatenate([_gains(one, found - assumed, trust, adapted, predicted) for one in worlds])
    low, high = np.quantile(np.concatenate([one.shares for one in worlds], axis=1), INTERVAL, axis=1)
    certainty = calibrated.max(axis=1)
    surprises = [certainty @ one.weights - summary.certainty_means @ one.shares for one in worlds]
    return Estimate(
        shares=shares,
        intervals=np.column_stack([np.minimum(low, shares), np.maximum(high, shares)]),
        assumed=assumed,
        slope=calibration.slope,
        offsets=offsets,
        p_moved=moved_p_value(calibrated, assumed, summary.effective_samples, groups),
        p_label_shift=label_shift_p_value(float(certainty.mean()), found, np.concatenate(surprises), summary),
        changed=float((adapted != predicted).mean()),
        gain=float(gains.mean()),
        least_gain=float(np.quantile(gains, 1 - SURE)),
    )


def _likelihoods(probabilities: Numbers, world: CalibratedWorld) -> Numbers:
    """How likely a sample is given each class, up to a factor of its own."""
    scores = world.calibration.scores(probabilities) - np.log(world.reference)
    return np.asarray(np.exp(scores - scores.max(axis=1, keepdims=True)))


def _bootstrap(
    probabilities: Numbers,
    summary: LabelledSummary,
    groups: NDArray[np.int64] | None,
    found: Numbers,
    rng: np.random.Generator,
) -> list[_World]:
    """Each resample of the labelled samples, with several of the unlabelled ones or of groups of these."""
    together = np.arange(len(probabilities)) if groups is None else groups
    n_groups = int(together.max()) + 1
    equal = np.full(n_groups, 1 / n_groups)
    calibrated = list(summary.worlds())
    resampled = calibrated[1:] or calibrated
    worlds = []
    for one in resampled:
        counts = rng.multinomial(n_groups, equal, size=-(-WORLDS // len(resampled))).T[together].astype(np.float64)
        likelihoods = _likelihoods(probabilities, one)
        shares = class_shares(likelihoods, one.reference, counts, summary.movable, start=found)
        worlds.append(_World(likelihoods, one.reference, counts, shares))
    return worlds


def _trust(move: Numbers, worlds: list[_World], assumed: Numbers) -> float:
    """How much of a move to believe: the part of its square that chance does not explain.

    References
    ----------
    W. James, C. Stein, "Estimation with quadratic loss", Berkeley Symposium, 1961; the positive part.
    """
    noise = (np.concatenate([one.moves for one in worlds], axis=1).var(axis=1) / assumed).sum()
    distance = (np.square(move) / assumed).sum()
    return float(max(0.0, 1 - noise / distance)) if distance > 0 else 0.0


def _with_prior(shares: Numbers, assumed: Numbers, n_samples: int) -> Numbers:
    """The mean of these shares and of a few samples that have the assumed ones."""
    few = PRIOR_SAMPLES * len(assumed)
    return np.asarray((n_samples * shares + few * assumed) / (n_samples + few))


def _gains(
    world: _World, move: Numbers, trust: float, adapted: NDArray[np.int64], predicted: NDArray[np.int64]
) -> Numbers:
    """The share of the errors that new predictions avoid, by the probabilities of each world.

    The moves of the worlds are drawn together, as the move that was found is: as in a posterior distribution.
    """
    moves = trust * move[:, None] + np.sqrt(trust) * (world.moves - move[:, None])
    shares = np.maximum(world.reference[:, None] + moves, 0.0)
    weights = world.counts / (world.likelihoods @ shares)
    samples = np.arange(len(predicted))
    before = (weights * world.likelihoods[samples, predicted][:, None] * shares[predicted]).sum(axis=0)
    after = (weights * world.likelihoods[samples, adapted][:, None] * shares[adapted]).sum(axis=0)
    errors = world.counts.sum(axis=0) - before
    return np.asarray(np.minimum((after - before) / np.maximum(errors, 1e-9), 1.0))
