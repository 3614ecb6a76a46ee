"""The check that what a bridge is given is a fitted head."""

from __future__ import annotations

import os
from typing import Any

from sklearn.utils.validation import check_is_fitted

from aftermax._heads.estimator import HeadEstimator


def check_fitted_head(
    head: Any, refused: str = "is not a head", of_a_model: str = "its head_, with the logits of its model"
) -> None:
    """Refuse anything but a fitted head of aftermax; ``of_a_model`` is what to pass in place of a PostHocClassifier."""
    if isinstance(head, str | os.PathLike):
        raise TypeError(f"head is a path: load it first, aftermax.load({os.fspath(head)!r}).")
    if not isinstance(head, HeadEstimator):
        fitted = "a fitted AutoHead, SPHClassifier, SPHClassifierCV, SoftmaxClassifier or Decider"
        instead = of_a_model if hasattr(head, "head_") else fitted
        raise TypeError(f"{type(head).__name__} {refused}: pass {instead}.")
    check_is_fitted(head)
