"""Batch calibration: a bias for each class from unlabelled samples, under an assumption about their classes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from aftermax._utils.class_weight import checked_shares
from aftermax._utils.softmax import MIN_PROBABILITY, softmax
from aftermax._utils.validation import as_logits, compute_ready


def batch_calibration(
    logits: ArrayLike, class_prior: dict[Any, float] | ArrayLike | None = None
) -> NDArray[np.float64]:
    """A bias for each class from unlabelled samples, to be added to the logits (Zhou et al., 2024).

    A model that was never fitted to the classes, such as a language model or an embedder with class names, often
    favours some of them. Batch calibration divides the probability of each class by its mean over the samples.

    Without labels nothing can be proven. It rests on one assumption: among the samples the classes have the shares of
    ``class_prior``, by default equal ones. Where they have others, the biases do harm. With labels, even two for each
    class, use :func:`~aftermax.fit`.

    Parameters
    ----------
    logits : array-like of shape (n_samples, n_classes)
        The model's scores for unlabelled samples: logits or log-probabilities. With fewer than about ten for each class
        the biases are mostly noise.
    class_prior : dict or array-like of shape (n_classes,), default=None
        The share of each class among the samples, in the order of the columns or by name, if ``logits`` is a data frame
        with the names of the classes. If None, all are equal.

    Returns
    -------
    ndarray of shape (n_classes,)
        ``log(class_prior) - log(mean probability)``, with mean 0.

    Examples
    --------
    >>> import numpy as np
    >>> import aftermax
    >>> logits = np.array([[3.0, 0.0], [2.0, 1.0], [1.0, 0.5], [2.5, 1.5]])  # in favour of the first class
    >>> biases = aftermax.batch_calibration(logits)
    >>> (logits + biases).argmax(axis=1)
    array([0, 1, 1, 1])
    """
    checked = compute_ready(as_logits(logits))
    names = np.asarray(getattr(logits, "columns", np.arange(checked.shape[1])))
    classes = names if len(names) == checked.shape[1] else np.arange(checked.shape[1])
    shares = np.ones(len(classes)) if class_prior is None else checked_shares(class_prior, classes)
    means = softmax(checked).mean(axis=0)
    biases = np.log(np.maximum(shares, MIN_PROBABILITY)) - np.log(np.maximum(means, MIN_PROBABILITY))
    return np.asarray(biases - biases.mean())
