"""fit: from logits and labels to a good head, in one call."""

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
    """A good head in one call: an :class:`~aftermax.AutoHead`, fitted. Softmax stays where no gain can be proven.

    Parameters
    ----------
    logits : array-like of shape (n_rows, K)
        What the model says before softmax, on labelled rows it was not trained on. Column j belongs to class j.
    labels : array-like of shape (n_rows,)
        The true classes, integers or strings.
    features : array-like of shape (n_rows, d), default=None
        The model's last hidden layer, if you have it. Then ``predict`` needs it too.
    sample_weight : array-like of shape (n_rows,), default=None
        How much each row counts.
    classes : array-like of shape (K,), default=None
        The class of each column; see :class:`~aftermax.SPHClassifier`.
    random_state : int, RandomState instance or None, default=0
        Fixes everything that is drawn. None draws anew with each call.

    Returns
    -------
    AutoHead
        ``predict`` and ``predict_proba`` answer, ``gain_`` is what to expect, :func:`~aftermax.save` keeps it.

    Examples
    --------
    >>> import aftermax
    >>> from aftermax.data import load_vmnist
    >>> scores = load_vmnist(trained_on=500)
    >>> head = aftermax.fit(scores.val_logits[:1000], scores.val_labels[:1000])
    >>> head.chosen_, round(head.gain_, 2)
    ('combination', 0.22)
    >>> answers = head.predict(scores.test_logits)
    """
    head = AutoHead(classes=classes, random_state=random_state)
    return head.fit(logits, labels, features=features, sample_weight=sample_weight)
