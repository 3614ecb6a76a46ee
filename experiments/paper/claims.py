"""The paper's claims about vMNIST, each with our result under its protocol and our results without test labels."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.stats import spearmanr

from experiments.networks.mnist_networks import SIZES
from experiments.paper.results import Results
from experiments.paper.wasted_samples import Waste, wasted_samples

PROTOCOLS = ("sph_best_on_test", "sph_chosen")  # of SPH: the paper's, and the honest one
AUTO = "auto_head"  # chosen honestly, too
COMPARED = (*PROTOCOLS, AUTO)
STRONG = 0.93  # softmax's accuracy: the networks in the inset of the paper's Figure 3A

# What was measured, as text, and whether the claim holds there; None where it cannot be judged.
Measured = tuple[str, bool | None]


class Claim(NamedTuple):
    """One claim of the paper. Where there are no hyperparameters to choose, there is one result only.

    The verdict is on SPH, which the claim is about. AutoHead's result stands beside it.
    """

    claim: str
    paper: str
    theirs: Measured
    honest: Measured | None
    auto: Measured | None = None

    @property
    def verdict(self) -> str:
        """Whether the claim holds."""
        theirs, honest = self.theirs[1], self.honest[1] if self.honest else self.theirs[1]
        if theirs is None or honest is None:
            return "not tested"
        if theirs == honest:
            return "yes" if honest else "no"
        return "only under its protocol" if theirs else "only honestly"


def wastes_of(results: Results) -> dict[str, Waste]:
    """The training samples that softmax wastes, compared with each of these methods."""
    softmax = results.errors("softmax")
    return {method: wasted_samples(softmax, results.errors(method)) for method in COMPARED}


def claims(results: Results, wastes: dict[str, Waste]) -> list[Claim]:
    """All of the paper's claims about vMNIST."""

    def of_sph(claim: str, paper: str, measured: Callable[[str], Measured]) -> Claim:
        return Claim(claim, paper, *(measured(method) for method in COMPARED))

    everything = [
        Claim("softmax's mean accuracy", "71 % (100 samples) to 98 % (50,000)", _accuracies(results), None),
        of_sph("mean reduction of the error", "6 to 20 % (23 % in the abstract)", lambda m: _reduction(results, m)),
        of_sph("models that benefit", "all", lambda m: _models(results, m)),
        of_sph("trend of the reduction", "higher with fewer samples", lambda m: _fewer_samples(results, m)),
        of_sph("reduction where softmax is above 93 %", "stable, 6 % or more", lambda m: _strong(results, m)),
        Claim("inserted layer (linear)", "no gain", _no_gain(results, "inserted_linear"), None),
        Claim("inserted layer (after a ReLU)", "no gain", _no_gain(results, "inserted_relu"), None),
        Claim("naive Bayes (on training samples)", "consistently worse", _worse(results, "bayes_on_training"), None),
        Claim(
            "naive Bayes (on validation samples)", "consistently worse", _worse(results, "bayes_on_validation"), None
        ),
        of_sph("virtual training samples, and waste", "1.2 to 1.6 times: 15 to 40 %", lambda m: _waste(wastes[m], m)),
    ]
    return everything if len(results.sizes) > 2 else [_unjudged(claim) for claim in everything]


def _unjudged(claim: Claim) -> Claim:
    """The claim as it was measured, without a verdict: two sizes are too few for one."""
    honest, auto = ((measured[0], None) if measured else None for measured in (claim.honest, claim.auto))
    return claim._replace(theirs=(claim.theirs[0], None), honest=honest, auto=auto)


def _accuracies(results: Results) -> Measured:
    first, last = 100 * results.accuracies()[[0, -1]]
    text = f"{first:.1f} % ({results.sizes[0]:,} samples) to {last:.1f} % ({results.sizes[-1]:,})"
    whole = (results.sizes[0], results.sizes[-1]) == (SIZES[0], SIZES[-1])
    return text, bool(abs(first - 71) < 3 and abs(last - 98) < 1) if whole else None


def _reduction(results: Results, method: str) -> Measured:
    """Holds if the mean at every size is within the paper's range; AutoHead's may be above it."""
    low, high = (round(float(gain), 1) for gain in (results.gains(method).min(), results.gains(method).max()))
    return f"{low:.1f} to {high:.1f} %", low >= 6 and (high <= 23 or method == AUTO)


def _models(results: Results, method: str) -> Measured:
    gains = np.array([o.gain for o in results.of(method)])
    better, worse = np.count_nonzero(gains > 0), np.count_nonzero(gains < 0)
    text = f"{better} of {len(gains)} better, {worse} worse, {len(gains) - better - worse} the same"
    return text, bool(better == len(gains))


def _fewer_samples(results: Results, method: str) -> Measured:
    """Holds if size and gain are negatively correlated over networks, beyond chance."""
    outcomes, means = results.of(method), results.gains(method)
    text = f"{means[0]:.1f} % ({results.sizes[0]:,}) to {means[-1]:.1f} % ({results.sizes[-1]:,})"
    gains = [o.gain for o in outcomes]
    if np.ptp(gains) == 0:
        return text, False
    rank = spearmanr([o.trained_on for o in outcomes], gains)
    text += f", rank correlation {rank.statistic:+.2f} (p = {rank.pvalue:.1g})"
    return text, bool(rank.statistic < 0 and rank.pvalue < 0.05)


def _strong(results: Results, method: str) -> Measured:
    gains = results.gains(method)[results.accuracies() > STRONG]
    if not len(gains):
        return "no such network", None
    return f"{gains.min():.1f} to {gains.max():.1f} %, mean {gains.mean():.1f} %", bool(gains.min() >= 6)


def _no_gain(results: Results, method: str) -> Measured:
    """Holds if at no size the mean gain is more than two standard errors above zero."""
    gains, networks = results.gains(method), len(results.of(method, results.sizes[0]))
    errors = results.gains(method, np.std) / np.sqrt(max(networks - 1, 1))
    return _by_size(results, method), not np.any(gains > 2 * errors)


def _worse(results: Results, method: str) -> Measured:
    """Holds if the mean is below softmax's at every size."""
    return _by_size(results, method), bool(results.gains(method).max() < 0)


def _by_size(results: Results, method: str) -> str:
    gains = results.gains(method)
    return f"{gains.min():+.1f} to {gains.max():+.1f} %, better at {np.count_nonzero(gains > 0)} of {len(gains)} sizes"


def _waste(waste: Waste, method: str) -> Measured:
    """Holds if the 95 % band at every size meets the paper's range; AutoHead's may be above it."""
    text = f"{waste.factor.min():.2f} to {waste.factor.max():.2f} times: "
    text += f"{100 * waste.wasted.min():.0f} to {100 * waste.wasted.max():.0f} %"
    return text, bool(np.all((waste.high >= 0.15) & ((waste.low <= 0.40) | (method == AUTO))))
