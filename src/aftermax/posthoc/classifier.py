"""PostHocClassifier: a classifier and a head that is fitted on its logits, as one scikit-learn classifier."""

from __future__ import annotations

from contextlib import suppress
from copy import copy
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone, is_regressor
from sklearn.frozen import FrozenEstimator
from sklearn.utils import Bunch, Tags, get_tags, indexable
from sklearn.utils.metadata_routing import UNUSED, MetadataRouter
from sklearn.utils.validation import check_is_fitted

from aftermax._utils.indexing import count_samples, select_metadata
from aftermax._utils.labels import checked_labels, label_codes
from aftermax._utils.one_logit import one_column
from aftermax._utils.text import listed
from aftermax.auto.head import AutoHead
from aftermax.posthoc._metadata import metadata_router, route, route_fit, routing_enabled
from aftermax.posthoc._model_response import RESPONSE_METHODS, classes_of, is_fitted, logits_of, response_method_of
from aftermax.posthoc._out_of_fold import folds_of, out_of_fold_logits


class PostHocClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """A classifier and a head after it: the head is fitted on the classifier's logits, and predicts in its place.

    A fitted model stays frozen: it is never refitted or changed, even where scikit-learn clones, as in
    ``GridSearchCV`` and ``cross_val_score``. Pass samples to :meth:`fit` that it was not trained on. An estimator that
    is not fitted is fitted here, with ``cv``.

    Parameters
    ----------
    estimator : classifier
        Any scikit-learn classifier, with ``classes_`` once it is fitted, and ``decision_function`` or
        ``predict_proba``. X is passed on to it unchanged, such as a data frame or a sparse matrix.
    head : classifier, default=None
        The head: :class:`~aftermax.AutoHead` if None, or any scikit-learn classifier, whose X will be logits. It is not
        changed; a clone is fitted. To search over its parameters (``head__alpha``), write it out: ``head=AutoHead()``.
    cv : int, splitter or iterable of splits, default=None
        The folds by which the estimator and the head are fitted on the same samples. The logits of each fold come from
        a clone of the estimator that was fitted on the other folds, and the head is fitted on these out-of-fold logits.
        The final model, ``estimator_``, is fitted on all samples. If None, a fitted estimator stays frozen, and one
        that is not fitted has 5 stratified folds. If given, clones of a fitted estimator are fitted again, unless it is
        a ``FrozenEstimator``.
    response_method : {"auto", "decision_function", "predict_proba"}, default="auto"
        The model's method that gives the logits. "auto": ``decision_function`` if it has one with a column for each
        class, else ``predict_proba``.
    n_jobs : int, default=None
        How many folds the estimator is fitted on in parallel, as in joblib. The head has its own.

    Attributes
    ----------
    estimator_ : classifier
        The model that gives the logits: ``estimator`` itself, or the clone that was fitted on all samples.
    refitted_ : bool
        Whether ``estimator_`` was fitted here, with ``cv``. False: it is the model that you passed.
    head_ : classifier
        The fitted head.
    response_method_ : {"decision_function", "predict_proba"}
        The model's method that gives the logits.
    classes_ : ndarray of shape (n_classes,)
        The classes of the model, in its order; the labelled samples may lack some.
    n_features_in_ : int
        The model's, if it has it.
    feature_names_in_ : ndarray
        The model's, if it has them.

    Notes
    -----
    The output of ``decision_function`` is used as logits; a single column z, of a binary model, becomes -z / 2 and
    z / 2. Probabilities p become log(max(p, 1e-12)).

    scikit-learn's ``clone`` would drop what a model has learnt. Here, a clone holds the fitted model in a
    ``FrozenEstimator``, unless ``cv`` is given. To search over parameters of the model itself (``estimator__C``), pass
    ``cv``, or an estimator that is not fitted.

    With metadata routing, metadata of :meth:`fit` goes where it is requested: to the head's ``fit``, to the splitter,
    and to the estimator's ``fit`` if it is fitted here. Metadata of :meth:`predict` and :meth:`predict_proba` goes to
    the head's. This is how a head gets the ``features`` that it requests.

    Examples
    --------
    >>> from aftermax import PostHocClassifier
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import train_test_split
    >>> X, y = load_digits(return_X_y=True)
    >>> train, rest, y_train, y_rest = train_test_split(X, y, train_size=40, stratify=y, random_state=0)
    >>> val, test, y_val, y_test = train_test_split(rest, y_rest, test_size=0.5, random_state=0)
    >>> model = LogisticRegression(max_iter=1000).fit(train, y_train)  # trained once, frozen from here on
    >>> better = PostHocClassifier(model).fit(val, y_val)
    >>> better.refitted_, better.response_method_, better.head_.chosen_
    (False, 'decision_function', 'combination')
    >>> round(model.score(test, y_test), 2), round(better.score(test, y_test), 2)
    (0.82, 0.96)
    """

    __metadata_request__fit = {"sample_weight": UNUSED, "groups": UNUSED}  # noqa: RUF012  the parts request them

    def __init__(
        self,
        estimator: Any,
        head: Any = None,
        *,
        cv: Any = None,
        response_method: Literal["auto", "decision_function", "predict_proba"] = "auto",
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.head = head
        self.cv = cv
        self.response_method = response_method
        self.n_jobs = n_jobs

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        **params: Any,
    ) -> PostHocClassifier:
        """Fit the head on the model's logits; with ``cv``, or if the estimator is not fitted, fit the model too.

        Parameters
        ----------
        X : array-like, or anything else that the estimator takes
            Samples that a fitted model was not trained on.
        y : array-like of shape (n_samples,)
            The true classes, as the model names them.
        sample_weight : array-like of shape (n_samples,), default=None
            Sample weights, for the head, and for the model if it is fitted here.
        groups : array-like of shape (n_samples,), default=None
            What each sample is of, such as a patient, a site or a video, for the head, and for the splitter if the
            model is fitted here. If ``cv`` is a number or None, the folds are stratified and keep groups whole.
        **params : dict
            Metadata for the parts, if scikit-learn's metadata routing is enabled.
        """
        for name in ("head_", "n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)  # if fit fails, nothing is fitted
        self._check_params()
        routed = route_fit(self, self._head(), self._estimator_to_fit(), sample_weight, groups, params)
        self.refitted_ = not self._keeps_model()
        if self.refitted_:
            logits, labels, indices = self._refit(X, y, groups, routed)
        else:
            self._set_model(self.estimator)
            logits = self._logits_of(self.estimator_, X)
            labels, indices = checked_labels(y, len(logits)), np.arange(len(logits))
        head = self._unfitted_head()
        metadata = select_metadata(routed.head.fit, indices, len(labels))
        head.fit(logits, self._as_classes_of_model(labels)[indices], **metadata)
        return self._set_head(head)

    @classmethod
    def from_fitted(
        cls,
        estimator: Any,
        head: Any,
        *,
        response_method: Literal["auto", "decision_function", "predict_proba"] = "auto",
    ) -> PostHocClassifier:
        """Combine a fitted model and a head that was fitted on its logits, such as one from a file.

        Examples
        --------
        >>> from aftermax import PostHocClassifier, load
        >>> better = PostHocClassifier.from_fitted(model, load("head.npz"))  # doctest: +SKIP
        """
        both = cls(estimator, head, response_method=response_method)
        both._check_params()
        check_is_fitted(head)
        both._set_model(estimator).refitted_ = False
        if np.asarray(head.classes_).tolist() != both.classes_.tolist():
            raise ValueError(
                f"The head's classes ({listed(np.asarray(head.classes_).tolist())}) are not the model's "
                f"({listed(both.classes_.tolist())}): pass the model that the head was fitted on."
            )
        return both._set_head(head)

    def _set_head(self, head: Any) -> PostHocClassifier:
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))
        self.head_ = head
        return self

    def predict(self, X: Any, **params: Any) -> NDArray[Any]:
        """Predict the class of each sample. ``params`` are metadata for the head, if metadata routing is enabled."""
        check_is_fitted(self)
        logits = self._as_fitted(self._logits_of(self.estimator_, X))
        return np.asarray(self.head_.predict(logits, **route(self, "predict", params).head.predict))

    def predict_proba(self, X: Any, **params: Any) -> NDArray[np.float64]:
        """Return the head's probabilities of the classes, in the order of ``classes_``."""
        check_is_fitted(self)
        logits = self._logits_of(self.estimator_, X)
        if not hasattr(self.head_, "predict_proba"):
            raise AttributeError(f"{type(self.head_).__name__} has no predict_proba: use a head that has, or predict.")
        metadata = route(self, "predict_proba", params).head.predict_proba
        probabilities = self.head_.predict_proba(self._as_fitted(logits), **metadata)
        columns = label_codes(self.head_.classes_, probabilities.shape[1], self.classes_)
        if np.array_equal(columns, np.arange(len(self.classes_))):
            return np.asarray(probabilities)
        out = np.zeros(logits.shape)  # the head may lack classes of the model
        out[:, columns] = probabilities
        return out

    def logits(self, X: Any) -> NDArray[Any]:
        """Return the model's logits, the input of the head: a column for each of ``classes_``, as for ``audit``.

        They are float64, or with more than 256 classes float32 if the model's output is. With a fitted model, this
        works before :meth:`fit`.
        """
        if not hasattr(self, "head_") and self._keeps_model():
            n_classes = len(classes_of(self.estimator))
            method = response_method_of(self.estimator, self.response_method, n_classes)
            return logits_of(self.estimator, method, X, n_classes)
        check_is_fitted(self)
        return self._logits_of(self.estimator_, X)

    # ---- the model ---------------------------------------------------------------------------------------------------

    def _check_params(self) -> None:
        for name in ("estimator", "head"):
            if isinstance(part := getattr(self, name), type):
                raise TypeError(f"{name} is the class {part.__name__}: pass an instance, {part.__name__}().")
        with suppress(AttributeError):  # a model that is not scikit-learn's has no tags
            if self.estimator is None or is_regressor(self.estimator):
                raise TypeError(f"estimator is of type {type(self.estimator).__name__}, not a classifier: pass one.")
        if self.head is not None and not all(hasattr(self.head, name) for name in ("fit", "predict", "get_params")):
            raise TypeError(
                f"head is of type {type(self.head).__name__}: pass a classifier with fit, predict and get_params, like "
                "scikit-learn's, or leave it out for AutoHead()."
            )
        if self.response_method not in ("auto", *RESPONSE_METHODS):
            raise ValueError(
                f'response_method={self.response_method!r} is not known: use "auto", "decision_function" or '
                '"predict_proba".'
            )
        if isinstance(self.cv, str):
            raise ValueError(
                f"cv={self.cv!r} is not possible: choose a number of folds or a splitter; for a fitted model, leave cv "
                "out."
            )

    def _keeps_model(self) -> bool:
        """Whether the estimator stays frozen."""
        if isinstance(self.estimator, FrozenEstimator) or not hasattr(self.estimator, "fit"):
            return True
        return self.cv is None and is_fitted(self.estimator)

    def _estimator_to_fit(self) -> Any:
        return None if self._keeps_model() else self.estimator

    def _set_model(self, model: Any) -> PostHocClassifier:
        """Store the model that gives the logits, by which method, and the classes of its columns."""
        self.estimator_, self.classes_ = model, classes_of(model)
        self.response_method_ = response_method_of(model, self.response_method, len(self.classes_))
        return self

    def _logits_of(self, model: Any, X: Any) -> NDArray[Any]:
        return logits_of(model, self.response_method_, X, len(self.classes_))

    def _refit(
        self, X: Any, y: ArrayLike, groups: ArrayLike | None, routed: Bunch
    ) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.intp]]:
        """Fit the model; return out-of-fold logits, all labels, and the indices of the samples with logits."""
        (indexed,) = indexable(X)
        labels = checked_labels(y, count_samples(indexed))
        self._set_model(clone(self.estimator).fit(indexed, labels, **routed.estimator.fit))
        splits = folds_of(self.cv, indexed, labels, groups, routed.splitter.split)
        params = routed.estimator.fit
        logits, indices = out_of_fold_logits(
            self.estimator, indexed, labels, splits, self._logits_of, self.classes_, params, self.n_jobs
        )
        return logits, labels, indices

    # ---- the head ----------------------------------------------------------------------------------------------------

    def _head(self) -> Any:
        if self.head is not None:
            return self.head
        return AutoHead().set_fit_request(sample_weight=True, groups=True) if routing_enabled() else AutoHead()

    def _unfitted_head(self) -> Any:
        """Clone the head, and set its ``classes`` to the model's if it has that parameter."""
        head = clone(self._head())
        params = head.get_params(deep=False)
        own = params.get("classes")
        if own is not None and np.asarray(own).tolist() != self.classes_.tolist():
            raise ValueError(
                f"The head's classes ({listed(np.asarray(own).ravel().tolist())}) contradict the model's "
                f"({listed(self.classes_.tolist())}): leave them out, the model knows the class of each column."
            )
        if "classes" in params:
            head.set_params(classes=self.classes_)
        return head

    def _as_fitted(self, logits: NDArray[Any]) -> NDArray[Any]:
        """The logits as the head takes them: those of two classes as one, for a head that was fitted on one."""
        one_logit = logits.shape[1] == 2 and getattr(self.head_, "n_features_in_", None) == 1
        return one_column(logits) if one_logit else logits

    def _as_classes_of_model(self, labels: NDArray[Any]) -> NDArray[Any]:
        names = self.classes_.tolist()
        known = set(names)
        unknown = [label for label in np.unique(labels).tolist() if label not in known]
        if unknown:
            raise ValueError(
                f"labels hold {listed(unknown)}, not among the classes of the model ({listed(names)}): drop these "
                "samples, or name the classes as the model does; if labels were encoded to train it, encode these too."
            )
        return np.asarray(self.classes_[label_codes(labels, len(labels), self.classes_)])

    def set_params(self, **params: Any) -> PostHocClassifier:
        """Set parameters, also those of the parts (``head__alpha``)."""
        if self.head is None and params.get("head") is None and any(name.startswith("head__") for name in params):
            raise ValueError(
                "There is no head with parameters: write it out, PostHocClassifier(model, head=AutoHead())."
            )
        of_model = [name for name in params if name.startswith("estimator__")]
        if of_model and "estimator" not in params and isinstance(self.estimator, FrozenEstimator):
            raise ValueError(
                f"{of_model[0]} is a parameter of the model, which is fitted and stays frozen. To search over it, have "
                "the model trained anew: PostHocClassifier(model, cv=5), without FrozenEstimator."
            )
        with_params: PostHocClassifier = super().set_params(**params)
        return with_params

    # ---- scikit-learn's protocols ------------------------------------------------------------------------------------

    def get_metadata_routing(self) -> MetadataRouter:
        """Return which part gets which metadata; see scikit-learn's guide to metadata routing."""
        return metadata_router(self, self._head(), self._estimator_to_fit(), self.cv)

    def __sklearn_clone__(self) -> PostHocClassifier:
        if not self._keeps_model() or isinstance(self.estimator, FrozenEstimator):
            unfitted: PostHocClassifier = super().__sklearn_clone__()
            return unfitted
        kept = copy(self)
        kept.estimator = FrozenEstimator(self.estimator)
        return kept.__sklearn_clone__()

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "head_")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        with suppress(AttributeError, TypeError):  # a model that is not scikit-learn's has no tags
            tags.input_tags = get_tags(self.estimator).input_tags
        return tags
