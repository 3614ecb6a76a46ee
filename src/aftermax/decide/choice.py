"""Which rule decides: candidates fitted without each fold, judged on it, and chosen so that noise does not choose."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from aftermax._utils.folds import Split
from aftermax._utils.softmax import MIN_PROBABILITY, softmax
from aftermax._wrapped.decision import lowest_expected_cost
from aftermax.decide.comparison import Judged, standard_error
from aftermax.decide.objectives import Objective
from aftermax.decide.rules import (
    MOST_PROBABILITIES,
    MOST_TUNED,
    Rule,
    class_biases,
    plug_in_rule,
    tuned_weights,
    weighted_rule,
)

PLAIN, PLUG_IN, RECALIBRATED, TUNED = "plain predictions", "lowest expected cost", "recalibrated", "tuned"
PARTS = {"half tuned": 0.5, TUNED: 1.0}
RULES = (PLAIN, PLUG_IN, RECALIBRATED, *PARTS)
# From the first to the last: a rule is passed over only if another one is better by so many standard errors.
ORDER_OF_COSTS, ERRORS_OF_COSTS = (PLUG_IN, RECALIBRATED, *PARTS, PLAIN), 0.5
ORDER_OF_METRICS, ERRORS_OF_METRICS = RULES, 1.0


@dataclass(frozen=True)
class Choice:
    """The rule that decides, and the out-of-fold decisions of all of the choice."""

    name: str
    rule: Rule
    decisions: NDArray[np.int64]  # each by a rule that was chosen and fitted without its fold
    values: dict[str, float]  # of each candidate, out-of-fold


def candidate_rules(objective: Objective, probabilities: NDArray[np.float64], judged: Judged) -> dict[str, Rule]:
    """Every candidate, fitted on these samples."""
    n_classes = judged.n_classes
    present = np.bincount(judged.codes, minlength=n_classes) > 0
    plug_in = plug_in_rule(objective, probabilities, present)
    biases = class_biases(probabilities, judged.codes, judged.weights)
    corrected = softmax(np.log(np.maximum(probabilities, MIN_PROBABILITY)) + biases)
    recalibrated = plug_in_rule(objective, corrected, present)
    rules: dict[str, Rule] = {
        PLAIN: None,
        PLUG_IN: plug_in,
        RECALIBRATED: weighted_rule(recalibrated, biases, 1.0),
    }
    if n_classes <= MOST_TUNED:
        some = slice(0, MOST_PROBABILITIES // n_classes)  # the first: their order is that of their keys
        logs = tuned_weights(objective, probabilities[some], judged.codes[some], judged.weights[some], plug_in)
        rules |= {name: weighted_rule(plug_in, logs, share) for name, share in PARTS.items()}
    return rules


def choose_rule(
    objective: Objective, probabilities: NDArray[np.float64], judged: Judged, splits: Sequence[Split]
) -> Choice:
    """Choose a rule for out-of-fold probabilities.

    The candidates are fitted without each fold, and decide on it. Which of them is chosen follows from these decisions;
    for the decisions that are reported, from those outside of each fold only, so that the choice is judged as well. If
    plain predictions are kept, they are what is reported.
    """
    decisions: dict[str, NDArray[np.int64]] = {}
    for train, test in splits:
        for name, rule in candidate_rules(objective, probabilities[train], judged.take(train)).items():
            known = decisions.setdefault(name, probabilities.argmax(axis=1))
            known[test] = lowest_expected_cost(probabilities[test], rule)
    chosen = simplest_of_the_best(objective, judged, decisions)
    out = decisions[PLAIN].copy()
    for train, test in splits if chosen != PLAIN else ():
        some = {name: one[train] for name, one in decisions.items()}
        out[test] = decisions[simplest_of_the_best(objective, judged.take(train), some)][test]
    return Choice(
        name=chosen,
        rule=candidate_rules(objective, probabilities, judged)[chosen],
        decisions=out,
        values={name: judged.value(objective, one) for name, one in decisions.items()},
    )


def simplest_of_the_best(objective: Objective, judged: Judged, decisions: dict[str, NDArray[np.int64]]) -> str:
    """The first rule that is not clearly worse than the best one.

    This is the one-standard-error rule (Breiman et al., 1984), with half an error for costs. To the error comes what
    one more sample of each class could cost: a rule that gives up a class with three samples may look good by luck.
    """
    metric = objective.costs is None
    order, errors = (ORDER_OF_METRICS, ERRORS_OF_METRICS) if metric else (ORDER_OF_COSTS, ERRORS_OF_COSTS)
    known = [name for name in order if name in decisions]
    best = max(known, key=lambda name: judged.value(objective, decisions[name]))
    unseen = judged.one_of_each(objective, decisions[best])
    for name in known:
        behind, error = standard_error(objective, judged, decisions[name], decisions[best])
        if behind <= errors * math.hypot(error, unseen):
            return name
    return best
