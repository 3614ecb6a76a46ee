"""What the paper found on CIFAR, each with what we measured."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from experiments.cifar.measure import USE_TEST_LABELS
from experiments.cifar.results import Results, accuracies, gains
from experiments.networks.cifar_recipes import DATA_SETS
from experiments.paper.claims import Claim, Measured
from experiments.paper.results import Results as VmnistResults

ACCURACIES = {"cifar10": (59, 89), "cifar20": (51, 71), "cifar100": (40, 60)}  # of the paper's networks, per cent
REDUCTIONS = {"cifar10": (1.0, 2.6), "cifar20": (0.0, 1.4), "cifar100": (0.0, 0.13)}
VMNIST_NAMES = {"sph_best_on_test": "sph_best_on_test", "sph_chosen": "sph_chosen", "auto": "auto_head"}
METHODS = ("sph_best_on_test", "sph_chosen", "auto")
NEAR = 5.0  # points of accuracy by which our networks may differ from the paper's
MARGIN = 0.5  # points by which the mean reduction may be outside of the paper's range


def findings(results: Results, vmnist: VmnistResults) -> list[Claim]:
    """The paper's findings; on vMNIST, too, for comparison."""
    everything = []
    for data, title in DATA_SETS.items():
        paper = "{} to {} %".format(*ACCURACIES[data])
        everything.append(Claim(f"softmax's accuracy, {title}", paper, _accuracies(results, data), None))
    for data, title in DATA_SETS.items():
        paper = "{:g} to {:g} %".format(*REDUCTIONS[data])
        of_data = [_reduction(results, data, method) for method in METHODS]
        everything.append(Claim(f"reduction of the error, {title}", paper, *of_data))
    return [
        *everything,
        _of_each("deep networks against vMNIST's", "much less to gain", lambda m: _less(results, vmnist, m)),
        _of_each("more classes", "less to gain", lambda m: _by_classes(results, m)),
        _of_each("some benefit is left", "small", lambda m: _some(results, m)),
    ]


def _of_each(claim: str, paper: str, measured: Callable[[str], Measured]) -> Claim:
    return Claim(claim, paper, *(measured(method) for method in METHODS))


def _accuracies(results: Results, data: str) -> Measured:
    """Holds if the weakest and the strongest network are within five points of the paper's."""
    found = accuracies(results.of("softmax", data=data))
    if not len(found):
        return "no network", None
    wanted = ACCURACIES[data]
    return _range(found), bool(abs(found.min() - wanted[0]) <= NEAR and abs(found.max() - wanted[1]) <= NEAR)


def _reduction(results: Results, data: str, method: str) -> Measured:
    """Holds if the mean over networks is in the paper's range, give or take half a point, and above 0 if that is."""
    found = gains(results.of(method, data=data))
    if not len(found):
        return "no network", None
    low, high = REDUCTIONS[data]
    inside = low - MARGIN <= found.mean() <= high + MARGIN and (found.mean() > 0 or low == 0)
    return f"{_range(found)}, mean {found.mean():.1f} %", bool(inside)


def _less(results: Results, vmnist: VmnistResults, method: str) -> Measured:
    """Holds if the mean over our networks is less than half of the mean over vMNIST's sizes."""
    found, theirs = gains(results.of(method)), VMNIST_NAMES[method]
    if not len(found) or not vmnist.of(theirs):
        return "not measured", None
    other = vmnist.gains(theirs)
    return f"mean {found.mean():+.1f} %, vMNIST {other.mean():+.1f} %", bool(found.mean() < other.mean() / 2)


def _by_classes(results: Results, method: str) -> Measured:
    """Holds if the mean falls from 10 to 100 classes, and does not rise in between."""
    groups = [gains(results.of(method, data=data)) for data in DATA_SETS]
    if not all(map(len, groups)):
        return "not measured", None
    means = [group.mean() for group in groups]
    text = ", ".join(f"{mean:+.1f} %" for mean in means) + " with 10, 20, 100 classes"
    return text, bool(means[0] > means[-1] and np.all(np.diff(means) <= 0))


def _some(results: Results, method: str) -> Measured:
    """Holds if some network gains, and none is significantly worse."""
    found = results.of(method)
    better, worse = (sum(sign * (o.wins - o.losses) > 0 for o in found) for sign in (1, -1))
    text = f"{better} of {len(found)} better, {worse} worse"
    if method not in USE_TEST_LABELS:  # no test is valid on labels that the choice was made by
        text += f"; significantly: {sum(o.significantly_better for o in found)} better, "
        text += f"{sum(o.significantly_worse for o in found)} worse"
    return text, better > 0 and not any(o.significantly_worse for o in found)


def _range(values: NDArray[np.float64]) -> str:
    return f"{values.min():.1f} to {values.max():.1f} %"
