"""The check that what a bridge is given is a fitted head."""

from __future__ import annotations

import os
from typing import Any

from sklearn.utils.validation import check_is_fitted

from aftermax._heads.estimator import HeadEstimator


def check_fitted_head(head: Any) -> None:
    """Refuse anything but a fitted head of aftermax."""
    if isinstance(head, str | os.PathLike):
        raise TypeError(f"head is a path: load it first, aftermax.load({os.fspath(head)!r}).")
    if not isinstance(head, HeadEstimator):
        fitted = "a fitted AutoHead, SPHClassifier, SPHClassifierCV, SoftmaxClassifier or Decider"
        instead = "its head_, with the logits of its model" if hasattr(head, "head_") else fitted
        raise TypeError(f"{type(head).__name__} is not a head: pass {instead}.")
    check_is_fitted(head)
