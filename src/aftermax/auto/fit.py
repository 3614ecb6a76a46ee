"""fit: from logits and labels to a fitted AutoHead, in one call."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from aftermax.auto.head import AutoHead


def fit(
    logits: ArrayLike,
    labels: ArrayLike,
    *,
    features: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    classes: ArrayLike | None = None,
    random_state: int | np.random.RandomState | None = 0,
) -> AutoHead:
    """Fit an :class:`~aftermax.AutoHead` in one call. Softmax is kept unless fewer errors are likely.

    Parameters
    ----------
    logits : array-like of shape (n_samples, n_classes), (n_samples, 1) or (n_samples,)
        The model's outputs before softmax, for labelled samples that it was not trained on. Column j belongs to class
        j. One logit for each sample, of a binary model, is the log-odds of the second class.
    labels : array-like of shape (n_samples,)
        The true classes, integers or strings.
    features : array-like of shape (n_samples, n_features), default=None
        The model's last hidden layer, if you have it. Then ``predict`` needs it too.
    sample_weight : array-like of shape (n_samples,), default=None
        The weight of each sample.
    classes : array-like of shape (K,), default=None
        The class of each column; see :class:`~aftermax.SPHClassifier`.
    random_state : int, RandomState instance or None, default=0
        Determines everything that is random. None gives other results with each call.

    Returns
    -------
    AutoHead
        Fitted: ``gain_`` is the gain to expect, and :func:`~aftermax.save` saves it.

    Examples
    --------
    >>> import aftermax
    >>> from aftermax.data import load_vmnist
    >>> scores = load_vmnist(trained_on=500)
    >>> head = aftermax.fit(scores.val_logits[:1000], scores.val_labels[:1000])
    >>> head.chosen_, round(head.gain_, 2)
    ('combination', 0.22)
    >>> predictions = head.predict(scores.test_logits)
    """
    head = AutoHead(classes=classes, random_state=random_state)
    return head.fit(logits, labels, features=features, sample_weight=sample_weight)
