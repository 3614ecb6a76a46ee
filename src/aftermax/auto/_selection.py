"""AutoHead's selection: the candidates compared out-of-fold with softmax and with each other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aftermax._heads.protocol import FittedHead
from aftermax._heads.softmax import SoftmaxHead
from aftermax._residual.head import compact
from aftermax._residual.samples import Samples
from aftermax._utils.folds import stratified_folds
from aftermax._utils.labelled_samples import LabelledSamples
from aftermax._utils.random import generator
from aftermax.auto._cross_fitting import cross_fit
from aftermax.auto.candidates import Candidate, Candidates, OutOfFold, judge
from aftermax.sph.choice import Choice, choose_sph
from aftermax.sph.grid import blocks_with_softmax

# SPH's grid has 73 combinations; and it is tried up to so many samples times the square of the classes.
SPH_GRID = {
    "certainty": [0.5, 0.7, 0.9, 1.0],
    "min_separation": [0.0, 1.0],
    "veto_distance": [np.inf, 2.0, 3.0],
    "distance_power": [1.0, 2.0, 4.0],
}
SPH_FOLDS = 5
SPH_WORK = 50_000_000
FEW_SAMPLES = 1_000  # with fewer than this there are twice as many folds


@dataclass(frozen=True)
class Selection:
    """The best candidate, whether it was chosen, and the table of all."""

    fitted: FittedHead  # of the chosen candidate, fitted on all samples
    best: FittedHead  # of the best candidate, chosen or not
    best_name: str
    out_of_fold: NDArray[np.int64]  # predictions of the best candidate
    candidates: Candidates
    stacking_weights: dict[str, float]


def default_folds(n_samples: int) -> int:
    """How many folds there are if ``cv`` is None."""
    return 10 if n_samples < FEW_SAMPLES else 5


def select(
    samples: Samples,
    classes: NDArray[Any],
    *,
    cv: int | None,
    alpha: float,
    rng: np.random.Generator,
    n_jobs: int,
    progress: bool | None,
) -> Selection:
    """Judge every candidate out-of-fold, and choose the best if it is significantly better than softmax."""
    n_samples = len(samples.codes)
    folds = stratified_folds(samples.codes, min(cv or default_folds(n_samples), n_samples), rng)
    cross_fitted = cross_fit(samples, folds, rng, n_jobs, progress)
    out_of_fold, temperature = cross_fitted.out_of_fold, cross_fitted.temperature
    heads: dict[str, FittedHead] = {"combination": compact(cross_fitted.stacked["combination"])}
    eligible = ["combination"]
    sph = _try_sph(samples, classes, rng, n_jobs)
    if sph is not None:
        heads["sph"] = replace(sph.head, softmax_temperature=temperature)
        out_of_fold["sph"] = OutOfFold(sph.out_of_fold, np.full(n_samples, np.nan))
        eligible += [] if sph.fell_back else ["sph"]

    def judged(name: str, baseline: str = "softmax") -> Candidate:
        return judge(name, out_of_fold[name], out_of_fold[baseline], samples.codes, samples.weights, rng)

    chosen = _choose(list(heads), eligible, judged, alpha)
    best = "combination" if chosen == "softmax" else chosen
    weighted = bool(np.ptp(samples.weights) > 0)
    return Selection(
        fitted=SoftmaxHead(temperature) if chosen == "softmax" else heads[chosen],
        best=heads[best],
        best_name=best,
        out_of_fold=out_of_fold[best].predictions,
        candidates=Candidates([judged(name) for name in out_of_fold], chosen, weighted=weighted),
        stacking_weights=cross_fitted.stacked["combination"].weights_by_name(),
    )


def _choose(names: list[str], eligible: list[str], judged: Callable[[str, str], Candidate], alpha: float) -> str:
    """The candidate that is significantly better than softmax and than those chosen before it; softmax if none is."""
    chosen = "softmax"
    for name in names:
        against = (judged(name, baseline) for baseline in dict.fromkeys((chosen, "softmax")))
        significant = all(one.p_value < alpha and one.gain >= 0 for one in against)
        if significant and name in eligible:
            chosen = name
    return chosen


def _try_sph(samples: Samples, classes: NDArray[Any], rng: np.random.Generator, n_jobs: int) -> Choice | None:
    """SPH with hyperparameters of its own; it has no sample weights, and takes long with many classes."""
    n_samples, n_classes = samples.logits.shape
    if n_samples * n_classes**2 > SPH_WORK or np.ptp(samples.weights) > 0:
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
    )
