"""audit: what a head would change, counted out-of-fold."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from aftermax._audit.counts import count_by_class, largest_drops, largest_rises
from aftermax._audit.result import Audit
from aftermax._utils.chance import warn_if_by_chance
from aftermax._utils.folds import content_order, stratified_folds
from aftermax._utils.indexing import select_samples
from aftermax._utils.labels import encode_labels, label_codes, listed, warn_if_misaligned
from aftermax._utils.one_logit import is_one_logit, one_column
from aftermax._utils.paired_tests import exact_mcnemar, gain_interval, relative_gain, samples_to_prove, wins_and_losses
from aftermax._utils.random import generator
from aftermax._utils.unpredicted_classes import warn_if_unpredicted
from aftermax._utils.validation import as_features, as_logits, check_count, compute_ready
from aftermax.auto.head import AutoHead
from aftermax.sph.classifier_cv import SPHClassifierCV

MAX_DROPS, MAX_RISES = 10, 5  # pairs of classes in the result


def audit(
    logits: ArrayLike,
    labels: ArrayLike,
    head: Any = None,
    *,
    features: ArrayLike | None = None,
    classes: ArrayLike | None = None,
    cv: int = 5,
    random_state: int | np.random.RandomState | None = 0,
) -> Audit:
    """Is there accuracy left on the table? Count out-of-fold what a head would change.

    Parameters
    ----------
    logits : array-like of shape (n_samples, n_classes), (n_samples, 1) or (n_samples,)
        The model's outputs before softmax, on labelled samples that it was not trained on. Column j belongs to class j.
        One logit for each sample, of a binary model, is the log-odds of the second class.
    labels : array-like of shape (n_samples,)
        The true classes, integers or strings.
    head : classifier, default=None
        The head that would replace softmax: :class:`~aftermax.AutoHead` if None, or any scikit-learn classifier. It is
        not changed: a clone is fitted on these samples, even if the head is fitted already, because samples that it may
        have been fitted on prove nothing. A head with out-of-fold predictions in ``held_out_``, such as AutoHead and
        :class:`~aftermax.SPHClassifierCV`, is fitted once; any other head is cross-validated.
    features : array-like of shape (n_samples, n_features), default=None
        The model's last hidden layer, for heads whose ``fit`` takes it, as AutoHead's does.
    classes : array-like of shape (n_classes,), default=None
        The class of each column; see :class:`~aftermax.SPHClassifier`.
    cv : int, default=5
        Number of stratified folds for a head that is cross-validated here. If the samples outside of a fold are all of
        one class, softmax predicts that fold.
    random_state : int, RandomState instance or None, default=0
        Seed of the folds and of the interval; a head that you pass has its own. With None, each call draws new ones.

    Returns
    -------
    Audit
        Print it. ``verdict`` is the result in one sentence, ``to_dict()`` is for JSON, ``plot()`` draws it, and
        ``head`` is the head, fitted on all samples. Every sample counts the same, even if the head has class weights.
        Warnings are in ``warnings`` too, for readers who only see the result.

    Examples
    --------
    >>> from aftermax import audit
    >>> from aftermax.data import load_vmnist
    >>> scores = load_vmnist(trained_on=500)
    >>> result = audit(scores.val_logits[:1000], scores.val_labels[:1000])
    >>> result.verdict.split(":")[0], result.chosen, result.wins > 2 * result.losses
    ('Yes', 'combination', True)
    >>> max(result.by_class, key=lambda one: one.wins - one.losses).name  # the class that gains most
    2
    >>> predictions = result.head.predict(scores.test_logits)
    """
    with warnings.catch_warnings(record=True) as caught:
        result = _audit(logits, labels, head, features, classes, cv, random_state, caught)
    for warning in {str(one.message): one for one in caught}.values():  # each once, and at the user's own line
        warnings.warn(warning.message, warning.category, stacklevel=2)
    return result


def _audit(
    logits: ArrayLike,
    labels: ArrayLike,
    head: Any,
    features: ArrayLike | None,
    classes: ArrayLike | None,
    cv: int,
    random_state: int | np.random.RandomState | None,
    caught: list[warnings.WarningMessage],
) -> Audit:
    check_count("cv", cv, least=2)
    head = AutoHead(random_state=random_state) if head is None else _checked_head(head, features)
    rng = generator(random_state)
    with _never_ignored():
        checked = compute_ready(as_logits(logits))
        classes = _agreed_classes(classes, head)
        headings, one_logit = getattr(logits, "columns", None), is_one_logit(logits)
        names, codes = encode_labels(labels, checked.shape, classes, headings, one_logit=one_logit)
        misaligned = warn_if_misaligned(checked, codes, names)
        if not misaligned:
            warn_if_unpredicted(checked, codes, names)
    before_fit = len(caught)
    softmax = checked.argmax(axis=1)
    checked_features = None if features is None else as_features(features, len(codes))
    ours = isinstance(head, AutoHead | SPHClassifierCV)
    with _never_ignored() if ours else nullcontext():
        as_given = one_column(checked) if one_logit else checked
        table = logits if headings is not None else as_given  # heads may select columns by name
        fitted, predicted = _out_of_fold(head, table, checked, codes, names, checked_features, cv, rng)
    during_fit = slice(before_fit, len(caught))
    if not misaligned:
        with _never_ignored():
            warn_if_by_chance(softmax, predicted, codes, len(names))
    warned = caught.copy()
    if not ours:
        del warned[during_fit]  # the warnings of other heads may hold anything, such as paths
    return _result(fitted, softmax, predicted, codes, names, rng, _messages(warned))


@contextmanager
def _never_ignored() -> Iterator[None]:
    """Catch warnings even if the user's filters ignore them: those who read the result have set no filters."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        yield


def _messages(caught: Iterable[warnings.WarningMessage]) -> tuple[str, ...]:
    """The messages of aftermax's warnings, each once. Warnings of scikit-learn are of subclasses of UserWarning."""
    return tuple(dict.fromkeys(str(one.message) for one in caught if one.category is UserWarning))


def _checked_head(head: Any, features: ArrayLike | None) -> Any:
    if isinstance(head, type) or not all(hasattr(head, name) for name in ("fit", "predict", "get_params")):
        what = f"the class {head.__name__}" if isinstance(head, type) else f"of type {type(head).__name__}"
        raise TypeError(
            f"head is {what}: pass a classifier with fit, predict and get_params, like scikit-learn's, such as "
            "SPHClassifierCV(), or leave it out for AutoHead()."
        )
    if features is not None and "features" not in signature(head.fit).parameters:
        raise TypeError(f"{type(head).__name__}.fit takes no features: leave them out, or the head, for AutoHead().")
    return head


def _agreed_classes(classes: ArrayLike | None, head: Any) -> ArrayLike | None:
    """Return the classes that were passed, or else the head's own; refuse both if they contradict each other."""
    own: ArrayLike | None = getattr(head, "classes", None)
    if classes is None or own is None:
        return own if classes is None else classes
    if np.asarray(classes).tolist() != np.asarray(own).tolist():
        ours, theirs = (listed(np.asarray(some).ravel().tolist()) for some in (classes, own))
        raise ValueError(f"classes=({ours}) but the head has classes=({theirs}): drop one of the two.")
    return classes


# ---- out-of-fold predictions -----------------------------------------------------------------------------------------


def _out_of_fold(
    head: Any,
    table: Any,
    logits: NDArray[np.float64],
    codes: NDArray[np.int64],
    names: NDArray[Any],
    features: NDArray[np.float64] | None,
    cv: int,
    rng: np.random.Generator,
) -> tuple[Any, NDArray[np.int64]]:
    """Return the head fitted on all samples, and its out-of-fold predictions as column numbers."""
    unfitted = _with_classes(head, names)

    def metadata(samples: NDArray[np.intp]) -> dict[str, Any]:
        return {} if features is None else {"features": features[samples]}

    def fit(samples: NDArray[np.intp]) -> Any:
        return clone(unfitted).fit(select_samples(table, samples), names[codes[samples]], **metadata(samples))

    everything = np.arange(len(codes))
    fitted = fit(everything)
    if hasattr(fitted, "held_out_"):
        return fitted, _as_codes(fitted.held_out_, everything, names, head)
    folds = _folds(logits, codes, min(cv, len(codes)), rng)
    predicted = logits.argmax(axis=1)
    for fold in np.unique(folds):
        train, test = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        if np.ptp(codes[train]) > 0:
            by_head = fit(train).predict(select_samples(table, test), **metadata(test))
            predicted[test] = _as_codes(by_head, test, names, head)
    return fitted, predicted


def _with_classes(head: Any, names: NDArray[Any]) -> Any:
    """Clone the head, and set ``classes`` of it and its parts where they are not set: a fold may lack a class."""
    copy = clone(head)
    unset = [name for name, value in copy.get_params().items() if name.split("__")[-1] == "classes" and value is None]
    copy.set_params(**dict.fromkeys(unset, names))
    return copy


def _folds(
    logits: NDArray[np.float64], codes: NDArray[np.int64], cv: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Stratified folds that do not depend on the order of the samples."""
    order = content_order(logits, codes)
    folds = np.empty(len(codes), dtype=np.int64)
    folds[order] = stratified_folds(codes[order], cv, rng)
    return folds


def _as_codes(predicted: ArrayLike, samples: NDArray[np.intp], names: NDArray[Any], head: Any) -> NDArray[np.int64]:
    try:
        return label_codes(predicted, len(samples), names)
    except ValueError as error:
        raise ValueError(f"{type(head).__name__} does not predict classes of these labels: {error}") from error


# ---- the result ------------------------------------------------------------------------------------------------------


def _result(
    head: Any,
    softmax: NDArray[np.int64],
    predicted: NDArray[np.int64],
    codes: NDArray[np.int64],
    names: NDArray[Any],
    rng: np.random.Generator,
    messages: tuple[str, ...],
) -> Audit:
    before, after = softmax == codes, predicted == codes
    wins, losses, errors = wins_and_losses(before, after)
    n_samples = len(codes)
    own_p_value = getattr(head, "p_value_", None)
    gain = float(relative_gain(wins, losses, errors))
    own_interval = getattr(head, "gain_interval_", None) if getattr(head, "gain_", None) == gain else None
    return Audit(
        rows=n_samples,
        classes=tuple(names.tolist()),
        error_before=errors / n_samples,
        error_after=(errors - wins + losses) / n_samples,
        gain=gain,
        gain_interval=own_interval or gain_interval(wins, losses, errors, n_samples, rng),
        wins=wins,
        losses=losses,
        p_value=exact_mcnemar(wins, losses),
        head_p_value=None if own_p_value is None else float(own_p_value),
        chosen=_chosen(head),
        by_class=count_by_class(before, after, codes, names),
        pairs=largest_drops(softmax, predicted, codes, names, MAX_DROPS),
        tangled=largest_rises(softmax, predicted, codes, names, MAX_RISES),
        weighted=getattr(head, "class_weight", None) is not None,
        rows_needed=samples_to_prove(wins, losses, n_samples),
        warnings=messages,
        candidates=getattr(head, "candidates_", None),
        head=head,
    )


def _chosen(head: Any) -> str:
    """What a fitted head predicts with."""
    if hasattr(head, "fell_back_"):
        return "softmax" if head.fell_back_ else "sph"
    return str(getattr(head, "chosen_", type(head).__name__))
