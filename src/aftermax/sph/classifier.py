"""SPHClassifier, the Softmax-Pooling Hybrid: gate, veto, pool, trust. The paper's SPH."""

from __future__ import annotations

import warnings
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from aftermax._heads.estimator import HeadEstimator
from aftermax._heads.kept_samples import MOST_LOGITS, KeptSamples
from aftermax._heads.reference import Reference
from aftermax._utils.class_weight import total_weights
from aftermax._utils.labels import label_codes
from aftermax._utils.one_logit import one_column
from aftermax._utils.validation import compute_ready
from aftermax.sph._fit import fit_sph
from aftermax.sph._weights import positive_weights
from aftermax.sph.fitted import FittedSPH
from aftermax.sph.hyperparameters import HYPERPARAMETERS, check_hyperparameters
from aftermax.sph.response_array import ResponseArray


class SPHClassifier(HeadEstimator):
    """Softmax-Pooling Hybrid: softmax where it is certain, the whole response array where it is not.

    A drop-in last step for a trained, frozen classifier. Samples whose largest softmax score reaches ``certainty`` keep
    softmax's prediction. The others are compared with how every response unit responded to every class on a validation
    set (pooling), and the nearest class is predicted if pooling was better than softmax on that class.

    It can help weak models: little training data, or a distribution that has shifted. On a strong model in its own
    domain, with many classes, or with few validation samples for each class it can overfit and cost accuracy: compare
    with softmax (``certainty=0`` is exactly that) on held-out samples. The model must not have been trained on the
    validation samples. :class:`~aftermax.SPHClassifierCV` chooses the hyperparameters for you.

    Parameters
    ----------
    certainty : float, default=0.9
        Samples whose certainty (largest softmax score) is below this are pooled (c). In [0, 1]; 0 is plain softmax.
    window_low, window_high : float, default=0.0 and 1.0
        The response array is fitted on the validation samples with a certainty in this window (c_l, c_h). A class with
        fewer than two such samples uses all of its samples.
    center : {"mean", "median"}, default="mean"
        The center of each response distribution.
    min_separation : float, default=0.0
        Weights below this separation are cut to zero (w_1).
    weight_power : float, default=1.0
        Exponent of the weights; 0 makes the kept ones equal (w_2, alpha).
    veto_distance : float, default=inf
        A response this many spreads away, or more, raises a flag; inf switches the veto off (v_1).
    veto_count : int, default=1
        This many flags, or more, veto a class (v_2).
    min_gain : float, default=0.0
        Pooling must beat softmax on a class by more than this share of its samples to be trusted (a_1). In [-1, 1].
    distance_power : float, default=2.0
        Exponent of the weighted distances (m_2).
    class_weight : "balanced" or dict, default=None
        Weights of the classes, as in scikit-learn. The response array and the trusted classes look at one class at a
        time, so weights of classes change neither them nor any prediction: only the temperature of the probabilities.
        In :class:`~aftermax.SPHClassifierCV`, which chooses the hyperparameters, they change the choice.
    updatable : bool, default=False
        Whether the labelled samples are kept in the head, and in its file, for :meth:`update`: all of them or, of more
        than 2,000,000 logits (200,000 samples of ten classes, 19 MB), a random part.
    classes : array-like of shape (K,), default=None
        The class of each column of the logits, in order. Needed when the validation samples, or those of a fold in a
        cross-validation, lack a class, or when the columns are not in sorted order. If None: a data frame's column
        names, if the labels are among them; the sorted labels, if there are as many as columns; or, if labels are
        integers in 0 .. K - 1, column j is class j. For one logit: the negative and the positive class; if None, the
        sorted labels, unless the column of a data frame is named after one of them, the positive one. (scikit-learn's
        log loss and AUC expect probabilities in sorted order: sort the columns beforehand if you need these.)

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        The class of each column, and of each column of :meth:`predict_proba`.
    response_array_ : ResponseArray
        How each unit responds to each class (D).
    separation_ : ndarray of shape (K, K)
        How far unit j separates class i from the others (f); NaN for a class without samples.
    weights_ : ndarray of shape (K, K)
        The weight of unit j for class i (W).
    trusted_ : ndarray of shape (K,)
        Whether pooling's prediction of this class is kept (m).
    temperature_ : float
        From pooled scores to probabilities: it has the least log loss on the pooled validation samples, scored
        out-of-fold where there are fewer than 200 for each class.
    fitted_head_ : FittedSPH
        All of the above as one frozen value, which predicts.
    kept_samples_ : KeptSamples or None
        The labelled samples, if ``updatable``.
    reference_ : Reference or None
        Means and spreads of the logits and of softmax's certainty, by which :func:`~aftermax.check` notices drift;
        None in a head from an older file.
    n_features_in_ : int
        K; 1 if fitted on one logit for each sample, which has two classes.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, if fitted on a data frame with string names.

    Notes
    -----
    The paper describes the algorithm twice. Where it is silent or contradicts itself, this is how it was read:

    - Samples *at* or above ``certainty`` keep softmax's prediction; the overview's "max(S(s)) < cc ... accepted" is a
      slip.
    - A response exactly ``veto_distance`` spreads away raises a flag, and a separation of exactly ``min_separation`` is
      kept. Units with zero weight count for the veto as well.
    - "min (> 0)" leaves out vetoed classes and classes whose weights are all zero, not a true distance of zero. Ties go
      to the first column.
    - Where no class is left, pooling predicts as softmax does, also when the trusted classes are determined.
    - A side of a distribution without samples takes the other side's spread; no spread is below 1e-6 times the unit's
      standard deviation over all samples (1e-6 if that is zero).
    - A class without samples is never predicted by pooling, and no other class is compared with it.
    - Everything is computed in float64. Sums over samples are compensated, so their order has no effect. Sample
      weights, which the paper does not have, are rounded to a billionth of the largest for the same reason.

    References
    ----------
    C. B. Delahunt, C. Mehanian, J. N. Kutz, "Money on the Table: Statistical information ignored by softmax can
    improve classifier accuracy", 2019.

    Examples
    --------
    >>> import numpy as np
    >>> from aftermax import SPHClassifier
    >>> rng = np.random.default_rng(0)
    >>> labels = rng.integers(3, size=600)
    >>> logits = rng.normal(size=(600, 3)) + np.array([[2, 1, 0], [0, 1, 0], [0, 1, 2]])[labels]
    >>> head = SPHClassifier().fit(logits[:300], labels[:300])
    >>> bool(head.score(logits[300:], labels[300:]) > np.mean(logits[300:].argmax(axis=1) == labels[300:]))
    True
    >>> head.route(logits[303:306])
    array(['pooled', 'softmax', 'pooled'], dtype='<U8')
    """

    def __init__(
        self,
        *,
        certainty: float = 0.9,
        window_low: float = 0.0,
        window_high: float = 1.0,
        center: Literal["mean", "median"] = "mean",
        min_separation: float = 0.0,
        weight_power: float = 1.0,
        veto_distance: float = np.inf,
        veto_count: int = 1,
        min_gain: float = 0.0,
        distance_power: float = 2.0,
        class_weight: Literal["balanced"] | dict[Any, float] | None = None,
        updatable: bool = False,
        classes: ArrayLike | None = None,
    ) -> None:
        self.certainty = certainty
        self.window_low = window_low
        self.window_high = window_high
        self.center = center
        self.min_separation = min_separation
        self.weight_power = weight_power
        self.veto_distance = veto_distance
        self.veto_count = veto_count
        self.min_gain = min_gain
        self.distance_power = distance_power
        self.class_weight = class_weight
        self.updatable = updatable
        self.classes = classes

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> SPHClassifier:
        """Fit the response array, the weights, the trusted classes and the temperature on a validation set.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_classes), (n_samples, 1) or (n_samples,)
            Logits: the model's outputs before softmax, for labelled samples that it was not trained on. Column j
            belongs to class j. One logit for each sample, of a binary model, is the log-odds of the second class.
        y : array-like of shape (n_samples,)
            The true classes, integers or strings.
        sample_weight : array-like of shape (n_samples,), default=None
            The weight of each sample: centers, spreads, the shares that decide which classes are trusted, and the log
            loss of the temperature are weighted. A sample of weight 0 is left out. Only ratios matter.
        """
        self.__dict__.pop("fitted_head_", None)  # not fitted until fit has succeeded
        hyperparameters = {name: getattr(self, name) for name in HYPERPARAMETERS}
        check_hyperparameters(hyperparameters)
        logits, codes, classes = self._checked(X, y)
        some, weights = positive_weights(total_weights(sample_weight, self.class_weight, codes, classes))
        if self.updatable:
            if sample_weight is not None:
                raise ValueError("A head with updatable=True takes no sample_weight, which it would not keep.")
            self.kept_samples_ = KeptSamples.of(max(1, MOST_LOGITS // len(classes)), logits, codes)
        self.fitted_head_: FittedSPH = fit_sph(logits[some], codes[some], classes, hyperparameters, weights)
        return self

    def update(self, X: ArrayLike, y: ArrayLike) -> SPHClassifier:
        """Fit the head again, on the samples so far and these: for labels that come in later. Needs ``updatable``.

        As long as all samples are kept, the result is that of :meth:`fit` on all of them, bit for bit. When there are
        more, a random part of all of them is fitted on, with a warning; only ``reference_`` is of all then. (For more,
        see :func:`aftermax.bridges.dask.fit`, which fits on all samples wherever they are.)

        Samples must not be passed twice: they would count twice.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_classes), (n_samples, 1) or (n_samples,)
            Logits of new samples.
        y : array-like of shape (n_samples,)
            Their true classes; one is enough.
        """
        [given] = self._inputs(X)
        if self.kept_samples_ is None or self.reference_ is None:
            raise ValueError(
                "This head has kept no samples, so it cannot be updated: fit it again on all samples, with "
                "updatable=True if more will come."
            )
        logits, before = compute_ready(given), self.reference_
        codes = label_codes(y, len(logits), self.classes_)
        kept = self.kept_samples_ + KeptSamples.of(self.kept_samples_.most, logits, codes)
        self._fit_again(kept)
        if not kept.are_all:
            self.reference_ = before + Reference.of(logits)
            warnings.warn(
                f"The head is fitted on {len(kept.codes):,} of the {kept.n_samples:,} samples so far, drawn at random: "
                "more are not kept.",
                UserWarning,
                stacklevel=2,
            )
        return self

    def _fit_again(self, kept: KeptSamples) -> None:
        """Fit on kept samples, with the same columns; a class may have none."""
        again = clone(self).set_params(classes=self.classes_)
        again.fit(one_column(kept.logits) if self.n_features_in_ == 1 else kept.logits, self.classes_[kept.codes])
        self.fitted_head_, self.reference_, self.kept_samples_ = again.fitted_head_, again.reference_, kept
        self.adaptation_ = None

    def route(self, X: ArrayLike) -> NDArray[np.str_]:
        """Which way each sample takes.

        "softmax": it was certain. "pooled": it was not, and pooling's prediction was kept. "reverted": pooling was not
        trusted or left no class, so softmax's prediction stands.
        """
        [logits] = self._inputs(X)
        return self.fitted_head_.route(logits)

    @property
    def response_array_(self) -> ResponseArray:
        """How each unit responds to each class (D)."""
        return self.fitted_head_.response_array

    @property
    def separation_(self) -> NDArray[np.float64]:
        """How far unit j separates class i from the others (f)."""
        return self.fitted_head_.separation

    @property
    def weights_(self) -> NDArray[np.float64]:
        """The weight of unit j for class i (W)."""
        return self.fitted_head_.weights

    @property
    def trusted_(self) -> NDArray[np.bool_]:
        """The classes for which pooling's prediction is kept (m)."""
        return self.fitted_head_.trusted

    @property
    def temperature_(self) -> float:
        """From pooled scores to probabilities."""
        return self.fitted_head_.temperature
