"""Checks of a head's inputs that the PyTorch module and the Keras layer share."""

from __future__ import annotations

import warnings
from typing import Any

from numpy.typing import NDArray

from aftermax._utils.one_logit import SIGMOID_OUTPUTS, look_like_sigmoid_outputs
from aftermax._utils.validation import PROBABILITIES_WARNING, look_like_probabilities


def wrong_number_of_inputs(n_features: int | None, call: str) -> ValueError:
    """Return the error for features that are missing, or passed to a head that was fitted without features.

    Parameters
    ----------
    n_features : int or None
        The number of features that the head was fitted with; None if it was fitted without features.
    call : str
        How to call the head correctly, for the message.
    """
    if n_features is None:
        return ValueError(f"This head was fitted without features: pass only logits, {call}.")
    return ValueError(f"This head was fitted with {n_features} features: pass logits and features, {call}.")


def warn_about_probabilities(stacklevel: int, *, one_logit: bool = False) -> None:
    """Warn that a head was given probabilities; ``stacklevel`` is as if the caller called ``warnings.warn`` itself."""
    message = SIGMOID_OUTPUTS if one_logit else PROBABILITIES_WARNING
    warnings.warn(message, UserWarning, stacklevel=stacklevel + 1)


class FirstBatchCheck:
    """Warns once if the first non-empty batch consists of probabilities, as from a model that ends in softmax.

    For one logit, as from a model that ends in a sigmoid: then a few samples prove nothing, and are not warned of.
    """

    def __init__(self) -> None:
        self.done = False

    def __call__(self, logits: NDArray[Any], stacklevel: int) -> None:
        """Check a batch, unless one has been checked; ``stacklevel`` is as in :func:`warn_about_probabilities`."""
        if self.done or logits.ndim != 2 or len(logits) == 0:
            return
        self.done = True
        one_logit = logits.shape[1] == 1
        if look_like_sigmoid_outputs(logits) if one_logit else look_like_probabilities(logits):
            warn_about_probabilities(stacklevel + 1, one_logit=one_logit)
