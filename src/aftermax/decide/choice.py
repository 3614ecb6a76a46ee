"""Which rule decides: candidates fitted without each fold, judged on it, and chosen so that noise does not choose."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from aftermax._utils.folds import Split
from aftermax._wrapped.decision import lowest_expected_cost
from aftermax.decide.comparison import Judged, standard_error
from aftermax.decide.objectives import Objective
from aftermax.decide.rules import MOST_PROBABILITIES, MOST_TUNED, Rule, plug_in_rule, tuned_weights, weighted_rule

PLAIN, PLUG_IN, TUNED = "plain predictions", "lowest expected cost", "tuned"
PARTS = {"half tuned": 0.5, TUNED: 1.0}
RULES = (PLAIN, PLUG_IN, *PARTS)
# From the first to the last: a rule is passed over only if a later one is better by more than its standard error.
ORDER_OF_COSTS = (PLUG_IN, *PARTS, PLAIN)
ORDER_OF_METRICS = (PLAIN, PLUG_IN, *PARTS)


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
    rules: dict[str, Rule] = {PLAIN: None, PLUG_IN: plug_in}
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
    for the decisions that are reported, from those outside of each fold only, so that the choice is judged as well.
    """
    decisions: dict[str, NDArray[np.int64]] = {}
    for train, test in splits:
        for name, rule in candidate_rules(objective, probabilities[train], judged.take(train)).items():
            known = decisions.setdefault(name, probabilities.argmax(axis=1))
            known[test] = lowest_expected_cost(probabilities[test], rule)
    chosen = simplest_of_the_best(objective, judged, decisions)
    out = decisions[PLAIN].copy()
    for train, test in splits:
        some = {name: one[train] for name, one in decisions.items()}
        out[test] = decisions[simplest_of_the_best(objective, judged.take(train), some)][test]
    return Choice(
        name=chosen,
        rule=candidate_rules(objective, probabilities, judged)[chosen],
        decisions=out,
        values={name: judged.value(objective, one) for name, one in decisions.items()},
    )


def simplest_of_the_best(objective: Objective, judged: Judged, decisions: dict[str, NDArray[np.int64]]) -> str:
    """The first rule that is not worse than the best one by more than a standard error (Breiman et al., 1984)."""
    order = [name for name in (ORDER_OF_METRICS if objective.costs is None else ORDER_OF_COSTS) if name in decisions]
    best = max(order, key=lambda name: judged.value(objective, decisions[name]))
    for name in order:
        behind, error = standard_error(objective, judged, decisions[name], decisions[best])
        if behind <= error:
            return name
    return best
