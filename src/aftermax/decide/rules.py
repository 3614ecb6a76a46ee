"""Rules that turn probabilities into decisions. Each is a cost matrix: the decision has the lowest expected cost.

Plain predictions are a rule without costs (None). A threshold of two classes, weights of the classes and biases of the
decisions are all cost matrices, too.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from aftermax._utils.softmax import MIN_PROBABILITY, log_losses, softmax
from aftermax._wrapped.decision import lowest_expected_cost
from aftermax.decide.objectives import Confusion, Objective, confusion_matrix

Rule = NDArray[np.float64] | None

MAX_STEPS = 30  # of the search for the costs of a metric
MOVES = np.linspace(-2.0, 2.0, 17)  # of a class weight, as logarithms
KERNEL = np.array([1.0, 2.0, 3.0, 2.0, 1.0]) / 9  # by which the objective is smoothed over neighbouring weights
MAX_SWEEPS = 6  # over all classes, with few of them; with more than FEW, half as many
FEW = 10
ROUNDING = 1e-12
MOST_TUNED = 50  # classes: weights of more of them follow noise, and take long
MOST_PROBABILITIES = 200_000  # that weights are tuned on: more samples gain little


# ---- plug-in rules ---------------------------------------------------------------------------------------------------


def plug_in_rule(objective: Objective, probabilities: NDArray[np.float64], present: NDArray[np.bool_]) -> Rule:
    """The costs themselves or, for a metric, the costs at which the expected metric is largest.

    A metric is linear near a confusion matrix, with its slope as gains: the decisions with the lowest costs move the
    expected confusion matrix, and that moves the slope (Narasimhan et al., 2015; for F1, Parambath et al., 2014). Of
    all costs on the way, those with the largest metric of the expected confusion matrix are taken.

    Parameters
    ----------
    objective : Objective
    probabilities : ndarray of shape (n_samples, n_classes)
    present : ndarray of shape (n_classes,)
        Which classes have labelled samples: a metric is about these.

    References
    ----------
    H. Narasimhan, H. Ramaswamy, A. Saha, S. Agarwal (2015). Consistent multiclass algorithms for complex performance
    measures. ICML.

    S. P. Parambath, N. Usunier, Y. Grandvalet (2014). Optimizing F-measures by cost-sensitive classification. NeurIPS.
    """
    if objective.costs is not None:
        return objective.costs
    expected = _expected_confusion(probabilities, probabilities.argmax(axis=1), present)
    if not expected.any():  # the probabilities rule out every class that is labelled
        return None
    mean, best, rule = expected, objective.value(expected), None
    for step in range(1, MAX_STEPS + 1):
        costs = standard_costs(-objective.slope(mean))
        found = _expected_confusion(probabilities, lowest_expected_cost(probabilities, costs), present)
        value = objective.value(found)
        if value > best + 1e-9:
            best, rule = value, costs
        if np.allclose(found, mean, atol=1e-9):
            break
        mean = mean + (found - mean) * (2 / (step + 2))
    return rule


def _expected_confusion(
    probabilities: NDArray[np.float64], decisions: NDArray[np.int64], present: NDArray[np.bool_]
) -> Confusion:
    """The confusion matrix that the probabilities themselves promise."""
    out = np.zeros((probabilities.shape[1],) * 2)
    np.add.at(out.T, decisions, np.where(present, probabilities, 0.0))
    return out


def standard_costs(costs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Costs that decide the same: the lowest of each true class is 0, and the largest of all is 1."""
    above = costs - costs.min(axis=1, keepdims=True)
    largest = float(above.max())
    return np.asarray(above / largest if largest > 0 else above)


# ---- recalibrated rules ----------------------------------------------------------------------------------------------


def class_biases(
    probabilities: NDArray[np.float64], codes: NDArray[np.int64], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Biases b of the classes that lower the log loss: probabilities are proportional to p exp(b).

    They are shrunk towards 0 by a normal prior with variance 1, so that a class without samples keeps about its chance.
    The log loss tells more of probabilities that are off than the few decisions that costs depend on.
    """
    from scipy.optimize import minimize

    logs, n_classes = np.log(np.maximum(probabilities, MIN_PROBABILITY)), probabilities.shape[1]
    counts = np.bincount(codes, weights, minlength=n_classes)

    def loss_and_slope(biases: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        scores = logs + biases
        loss = float(weights @ log_losses(scores, codes)) + float(biases @ biases) / 2
        return loss, np.asarray(weights @ softmax(scores) - counts + biases)

    return np.asarray(minimize(loss_and_slope, np.zeros(n_classes), jac=True, method="L-BFGS-B").x)


# ---- tuned rules -----------------------------------------------------------------------------------------------------


def tuned_weights(
    objective: Objective,
    probabilities: NDArray[np.float64],
    codes: NDArray[np.int64],
    weights: NDArray[np.float64],
    rule: Rule,
) -> NDArray[np.float64]:
    """Logarithms of class weights: with the costs of each true class times its weight, decisions are better.

    One class after the other, the weight is taken at which the objective of the labelled samples is largest, smoothed
    over neighbouring weights so that single samples decide less. With two classes this tunes a threshold.
    """
    n_classes = probabilities.shape[1]
    base = standard_costs(1.0 - np.eye(n_classes) if rule is None else rule)
    logs = np.zeros(n_classes)
    classes = np.flatnonzero(np.bincount(codes, minlength=n_classes))
    for _ in range(MAX_SWEEPS if n_classes <= FEW else MAX_SWEEPS // 2):
        before = logs.copy()
        for k in classes[1:] if n_classes == 2 else classes:
            costs = base * np.exp(logs)[:, None]
            scores, added = probabilities @ costs, probabilities[:, [k]] * costs[k]
            values = [
                objective.value(
                    confusion_matrix(codes, (scores + np.expm1(move) * added).argmin(axis=1), weights, n_classes)
                )
                for move in MOVES
            ]
            logs[k] += _best_move(np.array(values))
        logs -= logs[classes].mean()
        if np.allclose(logs, before):
            break
    return logs


def _best_move(values: NDArray[np.float64]) -> float:
    """The move with the largest smoothed value, the smallest of equals; none if that is no better than to stay."""
    smooth = np.convolve(np.pad(values, len(KERNEL) // 2, mode="edge"), KERNEL, mode="valid")
    best = MOVES[smooth >= smooth.max() - ROUNDING]
    stays = smooth.max() <= smooth[len(MOVES) // 2] + ROUNDING
    return 0.0 if stays else float(best[np.argmin(np.abs(best))])


def weighted_rule(rule: Rule, logs: NDArray[np.float64], share: float) -> NDArray[np.float64]:
    """The rule with the costs of each true class times its weight, or a part of that."""
    costs = 1.0 - np.eye(len(logs)) if rule is None else standard_costs(rule)
    return standard_costs(costs * np.exp(share * logs)[:, None])
