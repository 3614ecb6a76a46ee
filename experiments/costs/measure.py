"""Costs and metrics on test samples: ``python -m experiments costs``."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from aftermax import AutoHead, Decider, SoftmaxClassifier
from aftermax._utils.softmax import softmax
from aftermax._wrapped.decision import lowest_expected_cost
from aftermax.decide.comparison import Judged, better_p_value
from aftermax.decide.objectives import METRICS, cost_objective
from aftermax.decide.rules import tuned_weights, weighted_rule
from experiments.benchmark.measure import single_threaded
from experiments.costs.cases import MANY_CLASSES, SETS, Task, costs_of
from experiments.costs.score_sets import Scores
from experiments.runs.runner import Experiment

LABELLED, LABELLED_MANY = 1_000, 2_000
AUTO_DRAWS = 1  # in so many draws AutoHead is fitted, which takes most of the time
Decisions = NDArray[np.int64]


@dataclass(frozen=True)
class Outcome:
    """What the decisions of one method cost, or score, on the test samples of one score set."""

    scores: str
    draw: int
    asked: str  # a cost matrix in words, or the name of a metric
    method: str
    classes: int
    value: float  # the mean cost of a sample, or the metric
    rule: str  # that a Decider chose
    claimed: float  # the same out-of-fold, on the labelled samples, of a Decider; nan for other methods
    worse_p_value: float  # of a metric: one-sided, that it is worse than plain predictions of the same head; else nan

    @property
    def key(self) -> tuple[str, int]:
        return self.scores, self.draw

    @property
    def is_metric(self) -> bool:
        return self.asked in METRICS


@dataclass(frozen=True)
class CostsExperiment(Experiment[Task, Outcome]):
    """Every rule on the same labelled samples."""

    published: Path | None = None
    name = "costs"
    record = Outcome
    seeds = "the number of the draw"
    code = ("costs/measure.py", "costs/cases.py", "costs/score_sets.py")

    def settings(self) -> dict[str, Any]:
        return {"labelled": LABELLED, "labelled_many_classes": LABELLED_MANY, "auto_draws": AUTO_DRAWS}

    def measure(self, task: Task, methods: Sequence[str]) -> list[Outcome]:
        scores = SETS[task.scores](self.published)
        rng = np.random.default_rng(task.draw)
        labelled = LABELLED if scores.classes < MANY_CLASSES else LABELLED_MANY
        some = rng.permutation(len(scores.pool_labels))[:labelled]
        with single_threaded(), warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of rare classes, which some sets have
            return _outcomes(task, scores, scores.pool_logits[some], scores.pool_labels[some])

    def describe(self, records: Sequence[Outcome]) -> str:
        first = {one.method: one.value for one in records if one.asked == records[0].asked}
        told = ", ".join(f"{name} {value:.4g}" for name, value in first.items())
        return f"{records[0].scores}, draw {records[0].draw}, {records[0].asked}: {told}"


# ---- a head that is fitted once --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Held:
    """A fitted head, in a wrapper that scikit-learn copies as it is."""

    head: Any


class FittedOnce(ClassifierMixin, BaseEstimator):
    """A head that was fitted on the labelled samples already: several costs are decided on it."""

    def __init__(self, held: Held) -> None:
        self.held = held

    def fit(self, X: Any, y: Any) -> FittedOnce:
        self.classes_, self.held_out_proba_ = self.held.head.classes_, self.held.head.held_out_proba_
        return self

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        probabilities: NDArray[np.float64] = self.held.head.predict_proba(X)
        return probabilities


# ---- methods ---------------------------------------------------------------------------------------------------------


def _outcomes(task: Task, scores: Scores, logits: NDArray[np.float64], labels: NDArray[np.int64]) -> list[Outcome]:
    classes = np.arange(scores.classes)
    scaled = SoftmaxClassifier(classes=classes).fit(logits, labels)
    heads: dict[str, Any] = {"softmax": scaled}
    if task.draw < AUTO_DRAWS:
        auto = AutoHead(classes=classes, budget="fast", n_jobs=1, progress=False).fit(logits, labels)
        if auto.held_out_proba_ is not None:
            heads["AutoHead"] = auto
    found = []
    for asked, costs in costs_of(task.scores, scores.classes).items():
        rules = _plain_rules(scaled, costs, logits, labels, scores.test_logits)
        for method, decisions in rules.items():
            found.append(_record(task, scores, asked, method, _mean_cost(costs, scores, decisions)))
        for name, head in heads.items():
            decider = Decider(FittedOnce(Held(head)), costs=costs, classes=classes).fit(logits, labels)
            value = _mean_cost(costs, scores, decider.predict(scores.test_logits))
            found.append(_record(task, scores, asked, f"Decider on {name}", value, decider))
    for metric in METRICS:
        for name, head in heads.items():
            found += _of_metric(task, scores, metric, name, head, logits, labels)
    return found


def _mean_cost(costs: NDArray[np.float64], scores: Scores, decisions: Decisions) -> float:
    return float(costs[scores.test_labels, decisions].mean())


def _record(
    task: Task,
    scores: Scores,
    asked: str,
    method: str,
    value: float,
    decider: Decider | None = None,
    worse_p_value: float = np.nan,
) -> Outcome:
    outcome = None if decider is None else decider.outcome_
    rule, claimed = ("", np.nan) if outcome is None else (outcome.rule, outcome.decided)
    return Outcome(*task.key, asked, method, scores.classes, value, rule, claimed, worse_p_value)


def _plain_rules(
    scaled: SoftmaxClassifier,
    costs: NDArray[np.float64],
    logits: NDArray[np.float64],
    labels: NDArray[np.int64],
    test: NDArray[np.float64],
) -> dict[str, Decisions]:
    """Rules of the textbooks, on the probabilities of the model."""
    calibrated, held_out = scaled.predict_proba(test), scaled.held_out_proba_
    rules = {
        "argmax": test.argmax(axis=1),
        "plug-in, softmax": lowest_expected_cost(softmax(test), costs),
        "plug-in, temperature": lowest_expected_cost(calibrated, costs),
    }
    if len(costs) == 2:
        rules["tuned threshold"] = _tuned_threshold(costs, logits, labels, test)
    elif len(costs) < MANY_CLASSES and held_out is not None:
        objective = cost_objective(costs)
        logs = tuned_weights(objective, held_out, labels, np.ones(len(labels)), costs)
        rules["tuned class weights"] = lowest_expected_cost(calibrated, weighted_rule(costs, logs, 1.0))
    return rules


def _tuned_threshold(
    costs: NDArray[np.float64], logits: NDArray[np.float64], labels: NDArray[np.int64], test: NDArray[np.float64]
) -> Decisions:
    """scikit-learn's tuned threshold, on temperature-scaled probabilities."""
    from sklearn.metrics import make_scorer
    from sklearn.model_selection import TunedThresholdClassifierCV

    def gain(truth: NDArray[np.int64], decisions: Decisions) -> float:
        return -float(costs[truth, decisions].mean())

    tuned = TunedThresholdClassifierCV(SoftmaxClassifier(classes=[0, 1]), scoring=make_scorer(gain), cv=5)
    return np.asarray(tuned.fit(logits, labels).predict(test))


def _of_metric(
    task: Task,
    scores: Scores,
    metric: str,
    name: str,
    head: Any,
    logits: NDArray[np.float64],
    labels: NDArray[np.int64],
) -> list[Outcome]:
    """A metric of plain predictions and of a Decider, and whether the decisions are worse."""
    objective = METRICS[metric]
    decider = Decider(FittedOnce(Held(head)), metric=metric, classes=np.arange(scores.classes)).fit(logits, labels)
    judged = Judged(scores.test_labels, np.ones(len(scores.test_labels)), None, scores.classes)
    plain, decided = head.predict(scores.test_logits), decider.predict(scores.test_logits)
    worse = better_p_value(objective, judged, decided, plain)
    return [
        _record(task, scores, metric, f"plain, {name}", judged.value(objective, plain)),
        _record(task, scores, metric, f"Decider on {name}", judged.value(objective, decided), decider, worse),
    ]
