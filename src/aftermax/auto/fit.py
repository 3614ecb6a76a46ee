"""fit: from logits and labels to a fitted AutoHead, in one call."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from aftermax.auto.head import AutoHead


def fit(
    logits: ArrayLike,
    labels: ArrayLike,
    *,
    features: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    classes: ArrayLike | None = None,
    class_weight: Literal["balanced"] | dict[Any, float] | None = None,
    class_prior: dict[Any, float] | ArrayLike | None = None,
    only_proven: bool = False,
    keep_unlabelled: bool = False,
    budget: Literal["fast", "standard", "thorough"] = "standard",
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
    features : array-like of shape (n_samples, n_features), or list of such arrays, default=None
        The model's last hidden layer, or several layers, if you have them. Then ``predict`` needs them too. See
        :meth:`AutoHead.fit <aftermax.AutoHead.fit>`.
    sample_weight : array-like of shape (n_samples,), default=None
        The weight of each sample.
    groups : array-like of shape (n_samples,), default=None
        What each sample is of, such as a patient, if samples of the same one are alike; see
        :meth:`AutoHead.fit <aftermax.AutoHead.fit>`.
    classes : array-like of shape (K,), default=None
        The class of each column; see :class:`~aftermax.SPHClassifier`.
    class_weight : "balanced" or dict, default=None
        Weights of the classes, as in scikit-learn; see :class:`~aftermax.AutoHead`.
    class_prior : dict or array-like of shape (K,), default=None
        The true share of each class where the head will be used, if the labelled samples have other ones.
    only_proven : bool, default=False
        Whether softmax is kept unless fewer errors are proven.
    keep_unlabelled : bool, default=False
        Whether classes without a labelled sample keep the chance that softmax gives them; see
        :class:`~aftermax.AutoHead`.
    budget : {"fast", "standard", "thorough"}, default="standard"
        How much time the kernels may take; see :class:`~aftermax.AutoHead`.
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
    head = AutoHead(
        classes=classes,
        class_weight=class_weight,
        class_prior=class_prior,
        only_proven=only_proven,
        keep_unlabelled=keep_unlabelled,
        budget=budget,
        random_state=random_state,
    )
    return head.fit(logits, labels, features=features, sample_weight=sample_weight, groups=groups)
