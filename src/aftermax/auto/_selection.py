"""AutoHead's selection: the candidates compared out-of-fold with softmax and with each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aftermax._heads.protocol import FittedHead
from aftermax._heads.softmax import SoftmaxHead
from aftermax._many.samples import ManySamples
from aftermax._residual.capacity import BUDGETS
from aftermax._residual.samples import Samples
from aftermax._utils.folds import Split
from aftermax._utils.labelled_samples import LabelledSamples
from aftermax._utils.large import MANY_CLASSES
from aftermax._utils.random import generator
from aftermax.auto._cross_fitting import CrossFitted, cross_fit
from aftermax.auto._cross_fitting_many import cross_fit_many
from aftermax.auto.candidates import Candidate, Candidates, Evaluation, OutOfFold, candidate_name, judge
from aftermax.auto.guard import Decision, Judged, decide
from aftermax.sph.choice import Choice, choose_sph
from aftermax.sph.grid import blocks_with_softmax

# SPH's grid has 73 combinations. It is tried up to so many samples times the square of the classes, and only with at
# least as many samples as it estimates distributions, K x K: with fewer, heads of nearly the same samples differ much.
SPH_GRID = {
    "certainty": [0.5, 0.7, 0.9, 1.0],
    "min_separation": [0.0, 1.0],
    "veto_distance": [np.inf, 2.0, 3.0],
    "distance_power": [1.0, 2.0, 4.0],
}
SPH_FOLDS = 5
SPH_WORK = 50_000_000
FEW_SAMPLES = 1_000  # with fewer than this there are twice as many folds
MOST_TO_REPEAT = 2_000_000  # logits, for a second division into folds


@dataclass(frozen=True)
class Selection:
    """What predicts, what it gains, and the table of all candidates."""

    fitted: FittedHead
    tier: str  # "softmax" if softmax is kept
    trust: float
    decision: Decision
    out_of_fold: OutOfFold  # of what predicts; softmax's where a sample was never held out
    held_out: NDArray[np.bool_]
    candidates: Candidates
    stacking_weights: dict[str, float]


def default_folds(n_samples: int) -> int:
    """How many folds there are if ``cv`` is None."""
    return 10 if n_samples < FEW_SAMPLES else 5


def default_repeats(n_samples: int, n_classes: int) -> int:
    """How often the samples are divided into folds."""
    return 2 if n_samples * n_classes <= MOST_TO_REPEAT and n_classes <= MANY_CLASSES else 1


def select(
    samples: Samples | ManySamples,
    splits: Sequence[Split],
    groups: NDArray[np.int64] | None,
    classes: NDArray[Any],
    *,
    budget: str,
    alpha: float,
    only_proven: bool,
    keep_unlabelled: bool,
    random_splits: bool,
    rng: np.random.Generator,
    n_jobs: int,
    progress: bool | None,
) -> Selection:
    """Judge every candidate out-of-fold, and choose how much of which correction to trust."""
    crossed = _cross_fit(samples, splits, budget, rng, n_jobs, progress, keep_unlabelled, random_splits)
    evaluation = Evaluation(samples.codes, samples.weights, groups, crossed.held_out)
    found = dict(crossed.candidates)
    sph = None
    kept = keep_unlabelled and len(np.unique(samples.codes)) < len(
        classes
    )  # which SPH cannot: it pools labelled classes
    if isinstance(samples, Samples) and crossed.held_out.all() and not kept:
        sph = _try_sph(samples, groups, classes, rng, n_jobs)
    if sph is not None:
        found[("sph", 1.0)] = OutOfFold(sph.out_of_fold, np.full(len(samples.codes), np.nan))
    softmax = crossed.softmax
    judged = [
        Judged(
            key[0],
            key[1],
            evaluation.compare(softmax.predictions, one.predictions),
            evaluation.log_loss(one.losses),
            evaluation.loss_p_value(softmax.losses, one.losses) if key[0] != "sph" else np.nan,
        )
        for key, one in found.items()
    ]
    eligible = [one for one in judged if one.tier != "sph" or (sph is not None and not sph.fell_back)]
    decision = decide(eligible, alpha, only_proven=only_proven)
    tier, trust = ("softmax", 1.0) if decision.chosen is None else decision.chosen.key
    temperature = _proven_temperature(crossed, evaluation, alpha)
    table = [_softmax_candidate(softmax, evaluation)]
    table += [judge(*one.key, found[one.key], softmax, one.comparison, evaluation) for one in judged]
    return Selection(
        fitted=_fitted(tier, trust, crossed, temperature, sph),
        tier=tier,
        trust=0.0 if tier == "softmax" else trust,
        decision=decision,
        out_of_fold=_kept_softmax(softmax, samples, temperature) if tier == "softmax" else found[(tier, trust)],
        held_out=crossed.held_out,
        candidates=Candidates(table, candidate_name(tier, trust), weighted=bool(np.ptp(samples.weights) > 0)),
        stacking_weights=crossed.stacking_weights,
    )


def _cross_fit(
    samples: Samples | ManySamples,
    splits: Sequence[Split],
    budget: str,
    rng: np.random.Generator,
    n_jobs: int,
    progress: bool | None,
    keep_unlabelled: bool,
    random_splits: bool,
) -> CrossFitted:
    if isinstance(samples, ManySamples):
        return cross_fit_many(
            samples,
            splits,
            n_jobs,
            progress,
            dense=budget != "fast",
            keep_unlabelled=keep_unlabelled,
            random_splits=random_splits,
        )
    return cross_fit(samples, splits, BUDGETS[budget], rng, n_jobs, progress, keep_unlabelled=keep_unlabelled)


def _softmax_candidate(softmax: OutOfFold, evaluation: Evaluation) -> Candidate:
    same = evaluation.compare(softmax.predictions, softmax.predictions)
    return replace(judge("softmax", 1.0, softmax, softmax, same, evaluation), gain_interval=(0.0, 0.0))


def _proven_temperature(crossed: CrossFitted, evaluation: Evaluation, alpha: float) -> float:
    """The temperature, if it lowers the log loss significantly; else 1."""
    better = evaluation.loss_p_value(crossed.unscaled_losses, crossed.softmax.losses) < alpha
    return crossed.temperature if better else 1.0


def _kept_softmax(softmax: OutOfFold, samples: Samples | ManySamples, temperature: float) -> OutOfFold:
    """Softmax as it predicts: without a temperature, unless that is proven to be better."""
    if isinstance(samples, ManySamples) or temperature != 1.0:
        return softmax
    return softmax._replace(probabilities=SoftmaxHead().predict_proba([samples.logits]))


def _fitted(tier: str, trust: float, crossed: CrossFitted, temperature: float, sph: Choice | None) -> FittedHead:
    if tier == "softmax":
        return SoftmaxHead(temperature)
    if tier == "sph" and sph is not None:
        return replace(sph.head, softmax_temperature=temperature)
    return crossed.heads[tier].mixed_with_softmax(crossed.temperature, trust)


def _try_sph(
    samples: Samples, groups: NDArray[np.int64] | None, classes: NDArray[Any], rng: np.random.Generator, n_jobs: int
) -> Choice | None:
    """SPH with hyperparameters of its own; it has no sample weights here, and needs many samples for many classes."""
    n_samples, n_classes = samples.logits.shape
    if n_samples < n_classes**2 or n_samples * n_classes**2 > SPH_WORK or np.ptp(samples.weights) > 0:
        return None
    return choose_sph(
        LabelledSamples(samples.logits, samples.codes, classes),
        blocks_with_softmax(SPH_GRID),
        cv=SPH_FOLDS,
        n_repeats=1,
        alpha=1.0,  # it is judged here, with all other candidates
        rng=generator(int(rng.integers(2**31))),
        n_jobs=n_jobs,
        progress=False,
        groups=groups,
    )
