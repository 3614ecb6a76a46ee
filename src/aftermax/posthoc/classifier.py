"""PostHocClassifier: a scikit-learn style classifier with a head after it, as one classifier."""

from __future__ import annotations

import warnings
from contextlib import suppress
from copy import copy
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone, is_regressor
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import check_cv
from sklearn.utils import Bunch, Tags, get_tags, indexable
from sklearn.utils.metadata_routing import UNUSED, MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from aftermax._utils.labels import checked_labels, label_codes, listed
from aftermax.auto.head import AutoHead
from aftermax.posthoc._model_response import RESPONSE_METHODS, classes_of, is_fitted, logits_of, response_method_of
from aftermax.posthoc._out_of_fold import length, out_of_fold, taken


class PostHocClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """A classifier with a head after it: the head is fitted on what the classifier says, and answers in its place.

    A fitted model is left as it is: never refitted, never changed, also where scikit-learn clones, as
    ``GridSearchCV`` and ``cross_val_score`` do. Pass rows that it was not trained on to :meth:`fit`. An estimator that
    is not fitted is fitted here, with ``cv``.

    Parameters
    ----------
    estimator : classifier
        Any classifier in scikit-learn's manner, with ``classes_`` once it is fitted, and ``decision_function`` or
        ``predict_proba``. Data frames, sparse matrices and whatever else it takes are passed on to it untouched.
    head : classifier, default=None
        What is to answer: :class:`~aftermax.AutoHead` if None, or any classifier in scikit-learn's manner, whose X will
        be logits. It is left as it is, and a copy is fitted. To search over its settings (``head__alpha``), write it
        out: ``head=AutoHead()``.
    cv : int, splitter or iterable of splits, default=None
        How the estimator and the head are fitted on the same rows. The rows of each fold are scored by a copy of the
        estimator that was fitted on the others, and the head is fitted on these out-of-fold scores: on what sister
        models say. The model that it then listens to, ``estimator_``, is fitted on all rows. If None, a fitted
        estimator is taken as it is, and one that is not fitted has 5 stratified folds. If given, a fitted estimator is
        fitted anew (in copies), unless it is a ``FrozenEstimator``.
    response_method : {"auto", "decision_function", "predict_proba"}, default="auto"
        What the model is asked for. "auto": ``decision_function`` if it has one with a column for each class, else
        ``predict_proba``.
    n_jobs : int, default=None
        How many folds to fit the estimator on side by side, as in joblib. The head has its own.

    Attributes
    ----------
    estimator_ : classifier
        The model that is listened to: ``estimator`` itself, or the copy that was fitted on all rows.
    refitted_ : bool
        Whether ``estimator_`` was fitted here, with ``cv``. False: it is the model that you passed.
    head_ : classifier
        The fitted head.
    response_method_ : {"decision_function", "predict_proba"}
        What the model is asked for.
    classes_ : ndarray of shape (K,)
        The classes that the model knows, in its order; the labelled rows may lack some.
    n_features_in_ : int
        As the model has it, if it does.
    feature_names_in_ : ndarray
        As the model has them, if it does.

    Notes
    -----
    Logits are what ``decision_function`` says; a single column z, of a binary model, becomes -z / 2 and z / 2.
    Probabilities p become log(max(p, 1e-12)).

    scikit-learn's ``clone`` would forget what a model was fitted to. Here, a clone holds the fitted model in a
    ``FrozenEstimator``, unless ``cv`` is given. To search over settings of the model itself (``estimator__C``), pass
    ``cv``, or an estimator that is not fitted.

    With metadata routing, whatever is passed to :meth:`fit` goes where it is requested: to the head's ``fit``, to the
    splitter, and to the estimator's ``fit`` if it is fitted here; and what is passed to :meth:`predict` and
    :meth:`predict_proba` goes to the head's. So a head can have the ``features`` that it asks for.

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

    __metadata_request__fit = {"sample_weight": UNUSED}  # noqa: RUF012  the parts request it, not this class

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

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, **params: Any) -> PostHocClassifier:
        """Fit the head on what the model says; with ``cv``, or if the estimator is not fitted, fit the model too.

        Parameters
        ----------
        X : whatever the estimator takes
            Rows that a fitted model was not trained on.
        y : array-like of shape (n_rows,)
            Labels: the true classes, as the model names them.
        sample_weight : array-like of shape (n_rows,), default=None
            How much each row counts, for the head, and for the model if it is fitted here.
        **params : dict
            Metadata for the parts, if scikit-learn's metadata routing is enabled.
        """
        for name in ("head_", "n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)  # not fitted until all is well
        self._check_settings()
        routed = self._route_to_fit(sample_weight, params)
        self.refitted_ = not self._keeps_model()
        if self.refitted_:
            logits, labels, rows = self._refit(X, y, routed)
        else:
            self._listen_to(self.estimator)
            logits = self._logits_of(self.estimator_, X)
            labels, rows = checked_labels(y, len(logits)), np.arange(len(logits))
        head = self._fresh_head()
        head.fit(logits, self._as_the_model_names(labels)[rows], **taken(routed.head.fit, rows, len(labels)))
        return self._answering_by(head)

    @classmethod
    def from_fitted(
        cls,
        estimator: Any,
        head: Any,
        *,
        response_method: Literal["auto", "decision_function", "predict_proba"] = "auto",
    ) -> PostHocClassifier:
        """A fitted model and a head that was fitted on what it says, such as one from a file, as one classifier.

        Examples
        --------
        >>> from aftermax import PostHocClassifier, load
        >>> better = PostHocClassifier.from_fitted(model, load("head.npz"))  # doctest: +SKIP
        """
        both = cls(estimator, head, response_method=response_method)
        both._check_settings()
        check_is_fitted(head)
        both._listen_to(estimator).refitted_ = False
        if np.asarray(head.classes_).tolist() != both.classes_.tolist():
            raise ValueError(
                f"The head's classes ({listed(np.asarray(head.classes_).tolist())}) are not the model's "
                f"({listed(both.classes_.tolist())}): pass the model that the head was fitted on."
            )
        return both._answering_by(head)

    def _answering_by(self, head: Any) -> PostHocClassifier:
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))
        self.head_ = head
        return self

    def predict(self, X: Any, **params: Any) -> NDArray[Any]:
        """The class of each row, by the head. ``params`` are metadata for it, if metadata routing is enabled."""
        check_is_fitted(self)
        logits = self._logits_of(self.estimator_, X)
        return np.asarray(self.head_.predict(logits, **self._route("predict", params).head.predict))

    def predict_proba(self, X: Any, **params: Any) -> NDArray[np.float64]:
        """Probabilities of the classes, by the head, in the order of ``classes_``."""
        check_is_fitted(self)
        logits = self._logits_of(self.estimator_, X)
        if not hasattr(self.head_, "predict_proba"):
            raise AttributeError(f"{type(self.head_).__name__} has no predict_proba: use a head that has, or predict.")
        answered = self.head_.predict_proba(logits, **self._route("predict_proba", params).head.predict_proba)
        out = np.zeros(logits.shape)
        out[:, label_codes(self.head_.classes_, answered.shape[1], self.classes_)] = answered
        return out

    def logits(self, X: Any) -> NDArray[np.float64]:
        """What the model says, as the head sees it: a column for each of ``classes_``. For ``audit``, say.

        A model that is fitted can be asked before a head is.
        """
        if not hasattr(self, "head_") and self._keeps_model():
            return copy(self)._listen_to(self.estimator)._logits_of(self.estimator, X)
        check_is_fitted(self)
        return self._logits_of(self.estimator_, X)

    # ---- the model ---------------------------------------------------------------------------------------------------

    def _check_settings(self) -> None:
        for name in ("estimator", "head"):
            if isinstance(part := getattr(self, name), type):
                raise TypeError(f"{name} is the class {part.__name__}: pass an instance, {part.__name__}().")
        with suppress(AttributeError):  # a model of somebody's own has no tags
            if self.estimator is None or is_regressor(self.estimator):
                raise TypeError(f"estimator is of type {type(self.estimator).__name__}, no classifier: pass one.")
        if self.head is not None and not all(hasattr(self.head, name) for name in ("fit", "predict", "get_params")):
            raise TypeError(
                f"head is of type {type(self.head).__name__}: pass a classifier with fit, predict and get_params, as "
                "scikit-learn's are, or leave it out for AutoHead()."
            )
        if self.response_method not in ("auto", *RESPONSE_METHODS):
            raise ValueError(
                f'response_method={self.response_method!r} is not known: use "auto", "decision_function" or '
                '"predict_proba".'
            )
        if isinstance(self.cv, str):
            raise ValueError(
                f"cv={self.cv!r} is not possible: choose a number of folds or a splitter; for a model that is fitted "
                "already, leave cv out."
            )

    def _keeps_model(self) -> bool:
        """Whether the estimator is taken as it is."""
        if isinstance(self.estimator, FrozenEstimator) or not hasattr(self.estimator, "fit"):
            return True
        return self.cv is None and is_fitted(self.estimator)

    def _listen_to(self, model: Any) -> PostHocClassifier:
        """Settle which model is asked, for what, and which classes its columns are."""
        self.estimator_, self.classes_ = model, classes_of(model)
        self.response_method_ = response_method_of(model, self.response_method, len(self.classes_))
        return self

    def _logits_of(self, model: Any, X: Any) -> NDArray[np.float64]:
        return logits_of(model, self.response_method_, X, len(self.classes_))

    def _refit(self, X: Any, y: ArrayLike, routed: Bunch) -> tuple[NDArray[np.float64], NDArray[Any], NDArray[np.intp]]:
        """Fit the model; and what sister models say of rows that they have not seen, all labels, and which rows."""
        (indexed,) = indexable(X)
        labels = checked_labels(y, length(indexed))
        self._listen_to(clone(self.estimator).fit(indexed, labels, **routed.estimator.fit))
        cv = check_cv(5 if self.cv is None else self.cv, labels, classifier=True)
        splits = list(cv.split(indexed, labels, **routed.splitter.split))
        logits, rows = out_of_fold(
            self.estimator,
            indexed,
            labels,
            splits,
            self._logits_of,
            self.classes_,
            routed.estimator.fit,
            self.n_jobs,
        )
        return logits, labels, rows

    # ---- the head ----------------------------------------------------------------------------------------------------

    def _head(self) -> Any:
        if self.head is not None:
            return self.head
        return AutoHead().set_fit_request(sample_weight=True) if _routing() else AutoHead()

    def _fresh_head(self) -> Any:
        """A copy of the head to be fitted, which knows the class of each column if it can be told."""
        head = clone(self._head())
        settings = head.get_params(deep=False)
        own = settings.get("classes")
        if own is not None and np.asarray(own).tolist() != self.classes_.tolist():
            raise ValueError(
                f"The head's classes ({listed(np.asarray(own).ravel().tolist())}) contradict the model's "
                f"({listed(self.classes_.tolist())}): leave them out, the model knows the class of each column."
            )
        if "classes" in settings:
            head.set_params(classes=self.classes_)
        return head

    def _as_the_model_names(self, labels: NDArray[Any]) -> NDArray[Any]:
        names = self.classes_.tolist()
        unknown = [label for label in np.unique(labels).tolist() if label not in names]
        if unknown:
            raise ValueError(
                f"labels hold {listed(unknown)}, not among the classes of the model ({listed(names)}): drop these "
                "rows, or name the classes as the model does; where labels were encoded to train it, encode these too."
            )
        return np.asarray(self.classes_[label_codes(labels, len(labels), self.classes_)])

    def set_params(self, **params: Any) -> PostHocClassifier:
        """Set settings, also those of the parts (``head__alpha``)."""
        if self.head is None and params.get("head") is None and any(name.startswith("head__") for name in params):
            raise ValueError("There is no head to set up: write it out, PostHocClassifier(model, head=AutoHead()).")
        with_params: PostHocClassifier = super().set_params(**params)
        return with_params

    # ---- what scikit-learn asks for ----------------------------------------------------------------------------------

    def _route_to_fit(self, sample_weight: ArrayLike | None, params: dict[str, Any]) -> Bunch:
        """What goes to which part's ``fit``."""
        if _routing():
            return self._route("fit", params | {"sample_weight": sample_weight})
        routed = self._route("fit", params)
        if sample_weight is None:
            return routed
        weights = {"sample_weight": np.asarray(sample_weight)}
        if not has_fit_parameter(self._head(), "sample_weight"):
            raise TypeError(
                f"{type(self.head).__name__}.fit takes no sample_weight: leave it out, or the head, for AutoHead()."
            )
        routed.head.fit = weights
        if has_fit_parameter(self.estimator, "sample_weight"):
            routed.estimator.fit = weights
        elif not self._keeps_model():
            warnings.warn(
                f"{type(self.estimator).__name__}.fit takes no sample_weight: the head weighs the rows, the model does "
                "not. Metadata routing can take weights to a step of a pipeline.",
                UserWarning,
                stacklevel=3,
            )
        return routed

    def _route(self, caller: str, params: dict[str, Any]) -> Bunch:
        if _routing():
            return process_routing(self, caller, **params)
        if params:
            raise TypeError(
                f"{caller} got {listed(list(params))}, which is passed on to the parts with metadata routing only: "
                "sklearn.set_config(enable_metadata_routing=True)."
            )
        return Bunch(
            estimator=Bunch(fit={}), splitter=Bunch(split={}), head=Bunch(fit={}, predict={}, predict_proba={})
        )

    def get_metadata_routing(self) -> MetadataRouter:
        """Which part gets which metadata; see scikit-learn's guide to metadata routing."""
        to_fit = MethodMapping().add(caller="fit", callee="fit")
        to_split = MethodMapping().add(caller="fit", callee="split")
        to_head = MethodMapping()
        for name in ("fit", "predict", "predict_proba"):
            to_head.add(caller=name, callee=name)
        router = MetadataRouter(owner=self).add(head=self._head(), method_mapping=to_head)
        if not self._keeps_model():
            router.add(estimator=self.estimator, method_mapping=to_fit)
            router.add(splitter=self.cv, method_mapping=to_split)
        return router

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
        with suppress(AttributeError, TypeError):  # a model of somebody's own has no tags
            tags.input_tags = get_tags(self.estimator).input_tags
        return tags


def _routing() -> bool:
    return bool(get_config()["enable_metadata_routing"])
