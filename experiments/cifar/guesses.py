"""The paper's guesses why deep networks resist, one by one, and what we found instead."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy.stats import spearmanr

from experiments.cifar.behaviour import WHOLE, Behaviour
from experiments.cifar.certainty import Certainty
from experiments.cifar.claims import METHODS
from experiments.cifar.measure import Outcome
from experiments.cifar.results import Results, gains
from experiments.networks.cifar_recipes import RUNS
from experiments.paper.claims import Claim, Measured

NEAR = 0.05  # of accuracy, within which two networks count as equally good
SAME = 1.0  # points of reduction that are no difference
SAME_ORDER = 0.02  # of AUROC that are no difference


def guesses(results: Results, records: Sequence[Behaviour], vmnist: Sequence[Certainty]) -> list[Claim]:
    """The paper's guesses; *implied* is what would have to be so if a guess were the reason."""
    finished = [record for record in records if record.part in WHOLE]

    def of_each(claim: str, paper: str, measured: Callable[[str], Measured]) -> Claim:
        return Claim(claim, paper, *(measured(method) for method in METHODS))

    def of_sph(claim: str, paper: str, measured: Callable[[str], Measured]) -> Claim:
        return Claim(claim, paper, *(measured(method) for method in METHODS[:2]))

    return [
        Claim("scores bunch near 1 even where they are wrong", "yes", _bunched(finished, vmnist), None),
        Claim("so certainty orders the samples less well", "yes", _ordered(finished, vmnist), None),
        of_each(
            "the more bunched a network, the less to gain", "implied", lambda m: _more_bunched(results, finished, m)
        ),
        of_sph("temperature, which unbunches, adds to the gain", "implied", lambda m: _unbunched(results, m)),
        of_each("more classes, same network: less to gain", "implied", lambda m: _classes(results, "classes", m)),
        of_each("the same, with 200 samples throughout", "implied", lambda m: _classes(results, "classes-200", m)),
        of_each("depth: finished dense networks have more to gain", "implied", lambda m: _dense(results, m)),
        of_each("longer training: less to gain", "implied", lambda m: _along_runs(results, m, _epochs)),
        of_each("the further D separates, the less to gain", "implied", lambda m: _along_runs(results, m, _separation)),
        of_each("fewer training samples: more to gain", "(on MNIST only)", lambda m: _few(results, m)),
        of_each("under shift the gain returns", "(not in the paper)", lambda m: _shifted(results, m)),
        of_each("unbalanced classes: more to gain", "(not in the paper)", lambda m: _unbalanced(results, records, m)),
    ]


# ---- (a) scores bunched near 1 ---------------------------------------------------------------------------------------


def _bunched(finished: Sequence[Behaviour], vmnist: Sequence[Certainty]) -> Measured:
    """Holds if some network is more bunched than all of vMNIST's."""
    shares = {part: [100 * r.bunched for r in finished if r.part == part] for part in WHOLE}
    shares = {"ours": shares["networks"], "published": shares["published"]}
    others = [100 * c.bunched_wrong for c in vmnist]
    text = ", ".join(f"{name} {min(values):.0f} to {max(values):.0f}" for name, values in shares.items() if values)
    text = f"{text}, vMNIST's {min(others):.0f} to {max(others):.0f} % of the errors above 0.9"
    return text, bool(max(r.bunched for r in finished) > max(others) / 100)


def _ordered(finished: Sequence[Behaviour], vmnist: Sequence[Certainty]) -> Measured:
    """Holds if the mean AUROC of certainty is lower than on vMNIST by more than 0.02."""
    ours, others = np.array([r.order for r in finished]), np.array([c.order for c in vmnist])
    text = f"AUROC {ours.min():.2f} to {ours.max():.2f}, mean {ours.mean():.2f}; vMNIST's "
    text += f"{others.min():.2f} to {others.max():.2f}, mean {others.mean():.2f}"
    return text, bool(ours.mean() < others.mean() - SAME_ORDER)


def _more_bunched(results: Results, finished: Sequence[Behaviour], method: str) -> Measured:
    found, values = _paired_with(results, finished, method, lambda r: r.bunched)
    return rank(found, values)


def _unbunched(results: Results, method: str) -> Measured:
    """Holds if the fitted temperature adds more than a point in the mean."""
    before = {(o.data, o.network): 100 * o.gain for part in WHOLE for o in results.of(method, part)}
    last = f"{RUNS['run-convolutional'].checkpoints[-1]:g}"
    before |= {(o.data, o.network): 100 * o.gain for o in results.of(method, "training", variant=last)}
    after = results.of(method, "temperature", variant="fitted")
    changes = [100 * o.gain - before[o.data, o.network] for o in after if (o.data, o.network) in before]
    if not changes:
        return "not measured", None
    return f"{np.mean(changes):+.1f} points in the mean of {len(changes)} networks", bool(np.mean(changes) > SAME)


# ---- (b) many classes ------------------------------------------------------------------------------------------------


def _classes(results: Results, part: str, method: str) -> Measured:
    """The rank correlation of gain and number of classes over draws."""
    found = results.of(method, part)
    if part == "classes":
        found = [*found, *results.of(method, network="cifar100-48")]
    return rank(found, [o.classes for o in found])


# ---- (c) depth and training ------------------------------------------------------------------------------------------


def _dense(results: Results, method: str) -> Measured:
    """Holds if finished dense networks gain over a point more than convolutional ones of the same accuracy.

    No network is in two pairs.
    """
    trained = [*results.of(method, "samples"), *results.of(method, data="cifar10")]
    trained += [o for o in results.of(method, "training") if o.variant == f"{RUNS[o.network].checkpoints[-1]:g}"]
    dense, others = [o for o in trained if "dense" in o.network], [o for o in trained if "dense" not in o.network]
    pairs = []
    for one in sorted(dense, key=lambda o: o.softmax_accuracy):
        near = [o for o in others if abs(o.softmax_accuracy - one.softmax_accuracy) < NEAR]
        if near:
            pairs.append((one, min(near, key=lambda o: abs(o.softmax_accuracy - one.softmax_accuracy))))
            others.remove(pairs[-1][1])
    if not pairs:
        return "no two networks of the same accuracy", None
    means = [100 * float(np.mean([pair[side].gain for pair in pairs])) for side in (0, 1)]
    text = f"{means[0]:+.1f} % dense, {means[1]:+.1f} % convolutional, in {len(pairs)} pairs of the same accuracy"
    return text, means[0] > means[1] + SAME


def _along_runs(results: Results, method: str, value: Callable[[Outcome], float]) -> Measured:
    """Holds if the rank correlation is below 0 and significant in both runs."""
    judged = {}
    for name in RUNS:
        found = results.of(method, "training", network=name)
        judged[name.removeprefix("run-")] = rank(found, [value(o) for o in found])
    verdicts = [holds for _, holds in judged.values()]
    text = "; ".join(f"{name}: {measured}" for name, (measured, _) in judged.items())
    return text, None if None in verdicts else all(verdicts)


def _epochs(outcome: Outcome) -> float:
    return float(outcome.variant)


def _separation(outcome: Outcome) -> float:
    return outcome.separation


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


# ---- the way out -----------------------------------------------------------------------------------------------------


def _shifted(results: Results, method: str) -> Measured:
    """Holds if the gain under shift is more than a point above that of the same networks without it, in the mean."""
    clean = {(o.data, o.network): 100 * o.gain for part in WHOLE for o in results.of(method, part)}
    pairs = [
        (100 * o.gain, clean[o.data, o.network]) for o in results.of(method, "shift") if (o.data, o.network) in clean
    ]
    if not pairs:
        return "not measured", None
    under, without = np.mean(pairs, axis=0)
    return f"{under:+.1f} % under shift, {without:+.1f} % without, {len(pairs)} pairs", bool(under > without + SAME)


def _unbalanced(results: Results, records: Sequence[Behaviour], method: str) -> Measured:
    """Holds if the rank correlation is above 0 and significant."""
    found, values = _paired_with(results, records, method, lambda r: r.imbalance)
    return rank(found, values, sign=1)


def _paired_with(
    results: Results, records: Sequence[Behaviour], method: str, value: Callable[[Behaviour], float]
) -> tuple[list[Outcome], list[float]]:
    """The outcomes of a method on these networks, and a value of each."""
    values = {record.key: value(record) for record in records}
    found = [o for o in results.outcomes if o.method == method and o.key in values]
    return found, [values[o.key] for o in found]


def rank(found: Sequence[Outcome], values: Sequence[float], sign: int = -1) -> Measured:
    """The rank correlation of a value and the gain; holds if it has that sign and is significant."""
    if len(found) < 4:
        return "not measured", None
    if np.ptp(gains(found)) == 0:
        return f"{gains(found)[0]:+.1f} % in all {len(found)}", False
    correlation = spearmanr(values, gains(found))
    text = f"rank correlation {correlation.statistic:+.2f} (p = {correlation.pvalue:.1g}, {len(found)} cases)"
    return text, bool(sign * correlation.statistic > 0 and correlation.pvalue < 0.05)
