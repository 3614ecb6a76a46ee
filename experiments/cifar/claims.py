"""What the paper found on CIFAR, and its guesses why, each with what we measured."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr

from experiments.cifar.certainty import Certainty
from experiments.cifar.measure import Outcome
from experiments.cifar.results import Results, accuracies, gains
from experiments.networks.cifar_recipes import DATA_SETS
from experiments.paper.claims import Claim, Measured
from experiments.paper.results import Results as VmnistResults

ACCURACIES = {"cifar10": (59, 89), "cifar20": (51, 71), "cifar100": (40, 60)}  # of the paper's networks, per cent
REDUCTIONS = {"cifar10": (1.0, 2.6), "cifar20": (0.0, 1.4), "cifar100": (0.0, 0.13)}
VMNIST_NAMES = {"sph_best_on_test": "sph_best_on_test", "sph_chosen": "sph_chosen", "auto": "auto_head"}
METHODS = ("sph_best_on_test", "sph_chosen", "auto")
NEAR = 5.0  # points of accuracy by which our networks may differ from the paper's
MARGIN = 1.0  # points by which a reduction may be outside of the paper's range
SAME = 1.0  # points of reduction that are no difference


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


def guesses(results: Results, shown: Sequence[Certainty], vmnist: Sequence[Certainty]) -> list[Claim]:
    """The paper's guesses why, one by one."""
    return [
        Claim("scores bunch near 1 even where they are wrong", "yes", _bunched(shown, vmnist), None),
        Claim("so certainty no longer orders the samples", "less precise", _ordered(shown, vmnist), None),
        _of_sph("without the bunching there is more to gain", "implied", lambda m: _unbunched(results, m)),
        _of_each("fewer classes, same network: more to gain", "implied", lambda m: _subsets(results, m)),
        _of_each(
            "depth: a dense network of the same accuracy has more to gain", "implied", lambda m: _dense(results, m)
        ),
        _of_each("longer training: less to gain", "implied", lambda m: _longer(results, m)),
        _of_each("the further D separates the classes, the less to gain", "implied", lambda m: _separated(results, m)),
        _of_each("fewer training samples: more to gain", "(on vMNIST only)", lambda m: _few(results, m)),
        _of_each("under shift the gain returns", "(not in the paper)", lambda m: _shifted(results, m)),
    ]


def _of_each(claim: str, paper: str, measured: Callable[[str], Measured]) -> Claim:
    return Claim(claim, paper, *(measured(method) for method in METHODS))


def _of_sph(claim: str, paper: str, measured: Callable[[str], Measured]) -> Claim:
    return Claim(claim, paper, *(measured(method) for method in METHODS[:2]))


# ---- findings --------------------------------------------------------------------------------------------------------


def _accuracies(results: Results, data: str) -> Measured:
    """Holds if the weakest and the strongest network are within five points of the paper's."""
    found = accuracies(results.of("softmax", data=data))
    if not len(found):
        return "no network", None
    wanted = ACCURACIES[data]
    return _range(found), bool(abs(found.min() - wanted[0]) <= NEAR and abs(found.max() - wanted[1]) <= NEAR)


def _reduction(results: Results, data: str, method: str) -> Measured:
    """Holds if every network is within a point of the paper's range."""
    found = gains(results.of(method, data=data))
    if not len(found):
        return "no network", None
    low, high = REDUCTIONS[data]
    return _range(found), bool(found.min() >= low - MARGIN and found.max() <= high + MARGIN)


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
    significant = sum(o.significantly_better for o in found)
    text = f"{better} of {len(found)} better ({significant} significantly), {worse} worse"
    return text, better > 0 and not any(o.significantly_worse for o in found)


# ---- guesses ---------------------------------------------------------------------------------------------------------


def _bunched(shown: Sequence[Certainty], vmnist: Sequence[Certainty]) -> Measured:
    """Holds if more wrong predictions are near 1 than on vMNIST, in the mean."""
    ours, others = (np.mean([100 * c.bunched_wrong for c in group]) for group in (shown, vmnist))
    return f"{ours:.0f} % of the wrong predictions are above 0.9; vMNIST: {others:.0f} %", bool(ours > others)


def _ordered(shown: Sequence[Certainty], vmnist: Sequence[Certainty]) -> Measured:
    """Holds if a right prediction has the higher certainty less often than on vMNIST, in the mean."""
    ours, others = (np.mean([c.order for c in group]) for group in (shown, vmnist))
    ordered = sum(c.is_ordered for c in shown)
    text = (
        f"AUROC of certainty {ours:.2f}, vMNIST {others:.2f}; the error rate falls with it in {ordered} of {len(shown)}"
    )
    return text, bool(ours < others)


def _unbunched(results: Results, method: str) -> Measured:
    """Holds if the fitted temperature adds more than a point in the mean."""
    before = {o.network: 100 * o.gain for o in results.of(method, data="cifar10")}
    after = results.of(method, "temperature", variant="fitted")
    if not after:
        return "not measured", None
    change = np.mean([100 * o.gain - before[o.network] for o in after])
    return f"{change:+.1f} points with the fitted temperature, in the mean of {len(after)}", bool(change > SAME)


def _subsets(results: Results, method: str) -> Measured:
    """Holds if the mean gain falls with the number of classes (rank correlation below 0 over draws, p < 0.05)."""
    found = [*results.of(method, "classes"), *results.of(method, network="cifar100-48")]
    return _rank(found, [o.classes for o in found], "classes")


def _dense(results: Results, method: str) -> Measured:
    """Holds if the dense run's gain is more than a point above the convolutional one's at the same accuracy."""
    dense = results.of(method, "training", network="run-dense")
    other = results.of(method, "training", network="run-convolutional")
    if not dense or not other:
        return "not measured", None
    pairs = [(one, _nearest(one, other)) for one in dense]
    pairs = [pair for pair in pairs if abs(pair[0].softmax_accuracy - pair[1].softmax_accuracy) < NEAR / 100]
    if not pairs:
        return "no two checkpoints of the same accuracy", None
    means = [100 * np.mean([pair[side].gain for pair in pairs]) for side in (0, 1)]
    text = f"{means[0]:+.1f} % dense, {means[1]:+.1f} % convolutional, over {len(pairs)} pairs of the same accuracy"
    return text, bool(means[0] > means[1] + SAME)


def _nearest(one: Outcome, others: Sequence[Outcome]) -> Outcome:
    """The outcome whose softmax accuracy is nearest."""
    return min(others, key=lambda other: abs(other.softmax_accuracy - one.softmax_accuracy))


def _longer(results: Results, method: str) -> Measured:
    found = results.of(method, "training", network="run-convolutional")
    return _rank(found, [float(o.variant) for o in found], "epochs")


def _separated(results: Results, method: str) -> Measured:
    found = results.of(method, "training")
    return _rank(found, [o.separation for o in found], "separation of D")


def _few(results: Results, method: str) -> Measured:
    """Holds if both kinds of networks gain over a point more with the fewest training samples than with the most."""
    texts, holds = [], []
    for kind in ("convolutional", "dense"):
        found = [o for o in results.of(method, "samples") if o.network.startswith(kind)]
        if len(found) < 2:
            return "not measured", None
        fewest, most = (ends(found, key=lambda o: int(o.variant)) for ends in (min, max))
        texts.append(f"{kind} {100 * fewest.gain:+.1f} % ({int(fewest.variant):,}) to {100 * most.gain:+.1f} %")
        holds.append(100 * fewest.gain > 100 * most.gain + SAME)
    return "; ".join(texts), all(holds)


def _shifted(results: Results, method: str) -> Measured:
    """Holds if the mean gain under shift is more than a point above that of the same networks without it."""
    shifted = results.of(method, "shift")
    names = {(o.data, o.network) for o in shifted}
    clean = [o for part in ("networks", "published") for o in results.of(method, part) if (o.data, o.network) in names]
    if not shifted or not clean:
        return "not measured", None
    means = gains(shifted).mean(), gains(clean).mean()
    return f"{means[0]:+.1f} % under shift, {means[1]:+.1f} % without", bool(means[0] > means[1] + SAME)


def _rank(found: Sequence[Outcome], values: Sequence[float], what: str) -> Measured:
    """The rank correlation with the gain; holds if it is below 0 and significant."""
    if len(found) < 4:
        return "not measured", None
    if np.ptp(gains(found)) == 0:
        return (
            f"{gains(found)[0]:+.1f} % at every number of {what}" if what != "separation of D" else "no gain at all",
            False,
        )
    rank = spearmanr(values, gains(found))
    text = f"rank correlation of gain and {what} {rank.statistic:+.2f} (p = {rank.pvalue:.1g}, {len(found)} points)"
    return text, bool(rank.statistic < 0 and rank.pvalue < 0.05)


def _range(values: NDArray[np.float64]) -> str:
    return f"{values.min():.1f} to {values.max():.1f} %"
