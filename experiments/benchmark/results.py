"""The outcomes of a benchmark by case and method: means over networks, the best peers, and times."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from experiments.benchmark.measure import Outcome
from experiments.benchmark.methods import METHODS
from experiments.benchmark.peers import PEERS
from experiments.benchmark.peers_features import PEERS_ON_BOTH, PEERS_ON_FEATURES

NAMES = {
    "softmax": "softmax",
    "sph": "SPH",
    "auto": "AutoHead",
    "auto_features": "AutoHead with features",
    "logistic": "logistic regression",
    "svc": "SVC",
    "knn": "kNN",
    "qda": "QDA mixed with softmax",
    "naive_bayes": "naive Bayes",
    "boosting": "gradient boosting",
    "sms": "probmetrics' sms",
    "probe": "linear probe",
    "svc_features": "SVC on features",
    "knn_features": "kNN on features",
    "gaussian_features": "Gaussians mixed with softmax",
    "l2sp": "L2-SP",
}

CaseKey = tuple[str, str, int]


class Results:
    """Outcomes by case and method. Cases and methods are in the order in which they come.

    ``peers`` see the logits only; ``feature_peers`` see features, and maybe the logits.
    """

    def __init__(self, outcomes: Sequence[Outcome]) -> None:
        self.outcomes = outcomes
        self.cases = list(dict.fromkeys(outcome.case for outcome in outcomes))
        self.methods = [name for name in NAMES if any(outcome.method == name for outcome in outcomes)]
        self.peers = [name for name in PEERS if name in self.methods]
        self.feature_peers = [name for name in (*PEERS_ON_FEATURES, *PEERS_ON_BOTH) if name in self.methods]
        self._gains: dict[str, dict[CaseKey, list[float]]] = {name: {} for name in self.methods}
        for outcome in outcomes:
            self._gains[outcome.method].setdefault(outcome.case, []).append(outcome.gain)

    def of(self, method: str) -> list[Outcome]:
        return [outcome for outcome in self.outcomes if outcome.method == method]

    def gains(self, method: str) -> dict[CaseKey, float]:
        """The mean gain over networks in each case that the method has."""
        return {case: float(np.mean(gains)) for case, gains in self._gains.get(method, {}).items()}

    def with_features(self) -> list[CaseKey]:
        """The cases in which any method saw features."""
        seeing = [self._gains[name] for name in self.methods if METHODS[name].with_features]
        return [case for case in self.cases if any(case in gains for gains in seeing)]

    def only(self, cases: Iterable[CaseKey]) -> Results:
        """The outcomes of these cases."""
        kept = {*cases}
        return Results([outcome for outcome in self.outcomes if outcome.case in kept])

    def best_peer(self, peers: Sequence[str] | None = None) -> str:
        """The peer with the best mean over all its cases; of those on logits if no others are given."""
        return max(self.peers if peers is None else peers, key=lambda peer: mean(self.gains(peer).values()))

    def best_in(self, case: CaseKey, peers: Sequence[str] | None = None) -> float:
        """The best gain of any peer in one case; of those on logits if no others are given. nan if it has none."""
        gains = [self.gains(peer) for peer in (self.peers if peers is None else peers)]
        return max((of_peer[case] for of_peer in gains if case in of_peer), default=float("nan"))

    def ratios(self, method: str, to: str, value: Callable[[Outcome], float]) -> list[float]:
        """A method's times relative to another's in the same trial."""
        base = {outcome.key: value(outcome) for outcome in self.of(to)}
        return [value(outcome) / base[outcome.key] for outcome in self.of(method) if base.get(outcome.key)]


def mean(values: Iterable[float]) -> float:
    return float(np.mean([*values]))
