"""A fitted estimator as a formula for the bridges: see :mod:`aftermax._heads.formula`."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aftermax._heads.formula import ArrayOperations, Constants, Plan, largest_at
from aftermax._utils.warned import warn
from aftermax._wrapped.decision import THRESHOLD, DecisionHead
from aftermax.auto.kinds import FITTED_HEADS
from aftermax.bridges._fitted import check_fitted_head

NO_THRESHOLD = "This head decides every sample alone: fit it with a largest error, such as Decider(max_error=0.02)."
LARGE, BATCH = 100e6, 64  # bytes from which on an export is warned of, and the samples of a batch that it tells
HALVES = "halves"  # a constant of heads that take one logit: times this, it is two columns


def logits_width(constants: Collection[str], classes: Collection[Any]) -> int:
    """The number of columns of a head's logits, given the names of its constants."""
    return 1 if HALVES in constants else len(classes)


@dataclass(frozen=True)
class Formula:
    """A fitted head, ready to be evaluated by any array library."""

    plan: Plan
    constants: dict[str, NDArray[Any]]
    classes: NDArray[Any]  # of each column
    width: int | None  # of the features; None for a head that takes none

    @property
    def logits_width(self) -> int:
        """The number of columns of the logits: one for each class, or the log-odds of the second of two classes."""
        return logits_width(self.constants, self.classes)


def formula_of(head: Any) -> Formula:
    """The formula of a fitted head."""
    check_fitted_head(head, "cannot be exported", "its head_, and export the model by its own means")
    fitted = head.fitted_head_
    plan, constants = fitted.formula()
    columns = {"columns": np.arange(len(head.classes_))}
    if head.n_features_in_ == 1:
        columns[HALVES] = np.array([[-0.5, 0.5]])
    formula = Formula({"kind": fitted.kind, **plan}, columns | constants, head.classes_, head.features_width_)
    _warn_if_large(formula)
    return formula


def _warn_if_large(formula: Formula) -> None:
    """Warn of a head that takes much memory where it is deployed, as tables of classes by classes do."""
    item = np.dtype(np.float64).itemsize
    constants = sum(values.nbytes for values in formula.constants.values())
    batch = BATCH * item * int(formula.plan["values_per_sample"])
    if max(constants, batch) <= LARGE:
        return
    name, largest = max(formula.constants.items(), key=lambda one: one[1].nbytes)
    shape = " x ".join(f"{size:,}" for size in largest.shape)
    warn(
        f"The exported head takes {constants / 1e6:,.0f} MB in float64 (half of it in float32): with "
        f"{len(formula.classes):,} classes, {name!r} alone has {shape} values. Each intermediate array of a batch of "
        f"{BATCH} samples takes up to {batch / 1e6:,.0f} MB more. If that is too much, use the head in Python.",
        stacklevel=4,
    )


def evaluate(plan: Plan, ops: ArrayOperations, constants: Constants, inputs: Sequence[Any]) -> tuple[Any, Any]:
    """The predicted class of each sample, as a column number, and log-probabilities.

    These are largest at that class, unless it is a decision: see :class:`~aftermax.Decider`.
    ``inputs`` are the logits, of shape (n_samples, n_classes) or, if it was fitted on one logit, (n_samples, 1); and,
    for a head that was fitted with them, the features.
    """
    if HALVES in constants:
        inputs = [inputs[0] * constants[HALVES], *inputs[1:]]
    predictions, logs = FITTED_HEADS[plan["kind"]].evaluate(plan, ops, constants, inputs)
    # A decision need not be the most probable class.
    return predictions, logs if is_decision(plan) else largest_at(ops, constants, predictions, logs)


def certain(ops: ArrayOperations, constants: Constants, predictions: Any, logs: Any) -> Any:
    """Whether a head that leaves samples to a person decides each alone: booleans with one column."""
    decided = ops.where(constants["columns"] == predictions, ops.exp(logs), 0.0)
    return ops.row_sum(decided) >= constants[THRESHOLD]


def is_decision(plan: Plan) -> bool:
    """Whether what is predicted is a decision, which the probabilities alone do not tell."""
    return bool(plan["kind"] == DecisionHead.kind)
