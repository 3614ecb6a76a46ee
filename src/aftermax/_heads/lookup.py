"""What plots and the report ask of any fitted classifier."""

from __future__ import annotations

from typing import Any

from aftermax._heads.protocol import FittedHead


def fitted_head_of(estimator: Any) -> FittedHead | None:
    """The fitted head of an estimator, or of the best estimator of a search; None for other classifiers."""
    best = getattr(estimator, "best_estimator_", None)
    head: FittedHead | None = getattr(estimator, "fitted_head_", getattr(best, "fitted_head_", None))
    return head


def gate_of(estimator: Any) -> float | None:
    """The certainty below which SPH pools, 0 where it keeps softmax; None for a head that is not SPH."""
    head: Any = fitted_head_of(estimator)
    return None if head is None or head.kind != "sph" else float(head.certainty)
