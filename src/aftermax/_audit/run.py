"""audit: is there money on the table? What a head would change, counted on rows that it has not seen."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils import _safe_indexing, check_random_state

from aftermax._audit.result import MOST_PAIRS, MOST_TANGLED, Audit, ClassCounts, PairCounts
from aftermax._utils.folds import content_order, stratified_folds
from aftermax._utils.labels import encode_labels, label_codes, listed, warn_if_by_chance, warn_if_misaligned
from aftermax._utils.paired_tests import exact_mcnemar, gain_interval, relative_gain, samples_to_prove, wins_and_losses
from aftermax._utils.validation import as_features, as_logits, check_count, compute_ready
from aftermax.auto.head import AutoHead
from aftermax.sph.classifier_cv import SPHClassifierCV

# Advice that is given in Python's words, as it is said to those who only read what was found.
IN_PLAIN_WORDS = {
    "pass numpy.log(numpy.clip(p, 1e-12, None))": "pass their logarithms",
    ", with classes=[...]": "",
}


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
    """Is there money on the table? What a head would change, counted on rows that it has not seen.

    Parameters
    ----------
    logits : array-like of shape (n_rows, K)
        What the model says before softmax, on labelled rows it was not trained on. Column j belongs to class j.
    labels : array-like of shape (n_rows,)
        The true classes, integers or strings.
    head : classifier, default=None
        What is to answer in place of softmax: :class:`~aftermax.AutoHead` if None, or any classifier in
        scikit-learn's manner. It is left as it is, and a copy is fitted anew on these rows, also if it is fitted
        already: an audit with rows that it may have seen would prove nothing. A head that answers each row without
        having seen it, as AutoHead and :class:`~aftermax.SPHClassifierCV` do in ``held_out_``, is fitted once; any
        other is cross-validated.
    features : array-like of shape (n_rows, d), default=None
        The model's last hidden layer, for heads whose ``fit`` takes it, as AutoHead's does.
    classes : array-like of shape (K,), default=None
        The class of each column; see :class:`~aftermax.SPHClassifier`.
    cv : int, default=5
        Number of folds for a head that is cross-validated here. Each class is spread over them as evenly as its rows
        allow. Where the rows outside of a fold are all of one class, softmax answers.
    random_state : int, RandomState instance or None, default=0
        Fixes the folds and the interval; a head that is passed has its own. None draws anew with each call.

    Returns
    -------
    Audit
        Print it; ``verdict`` is the answer in one sentence, ``to_dict()`` is for JSON, ``plot()`` draws it, and
        ``head`` is the head, fitted on all rows. Every row counts the same, also if the head weighs its classes.
        What it warns of is in ``warnings`` too, for those who only see what was found.

    Examples
    --------
    >>> from aftermax import audit
    >>> from aftermax.data import load_vmnist
    >>> scores = load_vmnist(trained_on=500)
    >>> found = audit(scores.val_logits[:1000], scores.val_labels[:1000])
    >>> found.verdict.split(":")[0], found.chosen, found.wins > 2 * found.losses
    ('Yes', 'combination', True)
    >>> max(found.by_class, key=lambda one: one.wins - one.losses).name  # the class that it helps most
    2
    >>> answers = found.head.predict(scores.test_logits)
    """
    with warnings.catch_warnings(record=True) as caught:
        found = _audit(logits, labels, head, features, classes, cv, random_state, caught)
    for warning in {str(one.message): one for one in caught}.values():  # each once, and at the user's own line
        warnings.warn(warning.message, warning.category, stacklevel=2)
    return found


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
    rng = np.random.default_rng(check_random_state(random_state).randint(2**31))
    with _in_any_case():
        checked = compute_ready(as_logits(logits))
        names, codes = encode_labels(labels, checked.shape, _agreed(classes, head), getattr(logits, "columns", None))
        misaligned = warn_if_misaligned(checked, codes, names)
    about_rows = len(caught)
    tops = checked.argmax(axis=1)
    seen = None if features is None else as_features(features, len(codes))
    ours = isinstance(head, AutoHead | SPHClassifierCV)
    with _in_any_case() if ours else nullcontext():
        fitted, answers = _kept_out(head, logits, checked, codes, names, seen, min(cv, len(codes)), rng)
    about_head = slice(about_rows, len(caught))
    if not misaligned:
        with _in_any_case():
            warn_if_by_chance(tops, answers, codes, len(names))
    told = caught.copy()
    if not ours:
        del told[about_head]  # what other heads warn of may hold anything, also paths
    return _counted(fitted, tops, answers, codes, names, rng, _in_plain_words(told))


@contextmanager
def _in_any_case() -> Iterator[None]:
    """Catch warnings also where Python was told to ignore them: whoever gets the audit was not asked."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        yield


def _in_plain_words(caught: Iterable[warnings.WarningMessage]) -> tuple[str, ...]:
    """What aftermax warned of, each once."""
    told = dict.fromkeys(str(one.message) for one in caught if one.category is UserWarning)
    for in_python, plain in IN_PLAIN_WORDS.items():
        told = dict.fromkeys(words.replace(in_python, plain) for words in told)
    return tuple(told)


def _checked_head(head: Any, features: ArrayLike | None) -> Any:
    if isinstance(head, type) or not all(hasattr(head, name) for name in ("fit", "predict", "get_params")):
        what = f"the class {head.__name__}" if isinstance(head, type) else f"of type {type(head).__name__}"
        raise TypeError(
            f"head is {what}: pass a classifier with fit, predict and get_params, as scikit-learn's are, such as "
            "SPHClassifierCV(), or leave it out for AutoHead()."
        )
    if features is not None and "features" not in signature(head.fit).parameters:
        raise TypeError(f"{type(head).__name__}.fit takes no features: leave them out, or the head, for AutoHead().")
    return head


def _agreed(classes: ArrayLike | None, head: Any) -> ArrayLike | None:
    """The classes that are passed, or else those that the head is set to; both must not contradict each other."""
    own: ArrayLike | None = getattr(head, "classes", None)
    if classes is None or own is None:
        return own if classes is None else classes
    if np.asarray(classes).tolist() != np.asarray(own).tolist():
        ours, theirs = (listed(np.asarray(some).ravel().tolist()) for some in (classes, own))
        raise ValueError(f"classes=({ours}) but the head has classes=({theirs}): drop one of the two.")
    return classes


# ---- answers to rows kept out ----------------------------------------------------------------------------------------


def _kept_out(
    head: Any,
    logits: ArrayLike,
    checked: NDArray[np.float64],
    codes: NDArray[np.int64],
    names: NDArray[Any],
    features: NDArray[np.float64] | None,
    cv: int,
    rng: np.random.Generator,
) -> tuple[Any, NDArray[np.int64]]:
    """The head fitted on all rows, and the answers to each row by heads that have not seen it, as column numbers."""
    everything = np.arange(len(codes))
    table = logits if hasattr(logits, "columns") else checked  # heads may choose columns by their names
    copy = clone(head)
    # A fold may lack a class: heads that ask which column is which class are told.
    unset = [name for name, value in copy.get_params().items() if name.split("__")[-1] == "classes" and value is None]
    copy.set_params(**dict.fromkeys(unset, names))

    def given(rows: NDArray[np.intp]) -> dict[str, Any]:
        return {} if features is None else {"features": features[rows]}

    def fit(rows: NDArray[np.intp]) -> Any:
        return clone(copy).fit(_safe_indexing(table, rows), names[codes[rows]], **given(rows))

    def as_codes(answers: ArrayLike, rows: NDArray[np.intp]) -> NDArray[np.int64]:
        try:
            return label_codes(answers, len(rows), names)
        except ValueError as error:
            raise ValueError(f"What {type(head).__name__} answers are no classes of these labels: {error}") from error

    fitted = fit(everything)
    if hasattr(fitted, "held_out_"):
        return fitted, as_codes(fitted.held_out_, everything)
    order = content_order(checked, codes)  # so that the order of rows is no matter
    folds = np.empty(len(codes), dtype=np.int64)
    folds[order] = stratified_folds(codes[order], cv, rng)
    answers = checked.argmax(axis=1)
    for fold in range(cv):
        others, rows = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        if np.ptp(codes[others]) > 0:
            answers[rows] = as_codes(fit(others).predict(_safe_indexing(table, rows), **given(rows)), rows)
    return fitted, answers


# ---- counts ----------------------------------------------------------------------------------------------------------


def _counted(
    head: Any,
    tops: NDArray[np.int64],
    answers: NDArray[np.int64],
    codes: NDArray[np.int64],
    names: NDArray[Any],
    rng: np.random.Generator,
    told: tuple[str, ...],
) -> Audit:
    before, after = tops == codes, answers == codes
    wins, losses, errors = wins_and_losses(before, after)
    rows = len(codes)
    own_p_value = getattr(head, "p_value_", None)
    gain = float(relative_gain(wins, losses, errors))
    own_interval = getattr(head, "gain_interval_", None) if getattr(head, "gain_", None) == gain else None
    return Audit(
        rows=rows,
        classes=tuple(names.tolist()),
        error_before=errors / rows,
        error_after=(errors - wins + losses) / rows,
        gain=gain,
        gain_interval=own_interval or gain_interval(wins, losses, errors, rows, rng),
        wins=wins,
        losses=losses,
        p_value=exact_mcnemar(wins, losses),
        head_p_value=None if own_p_value is None else float(own_p_value),
        chosen=_chosen(head),
        by_class=_by_class(before, after, codes, names),
        pairs=_pairs(tops, answers, codes, names, MOST_PAIRS),
        tangled=tuple(
            PairCounts(true, taken_for, before, after)
            for true, taken_for, after, before in _pairs(answers, tops, codes, names, MOST_TANGLED)
        ),
        weighted=getattr(head, "class_weight", None) is not None,
        rows_needed=samples_to_prove(wins, losses, rows),
        warnings=told,
        candidates=getattr(head, "candidates_", None),
        head=head,
    )


def _chosen(head: Any) -> str:
    """What a fitted head answers with."""
    if hasattr(head, "fell_back_"):
        return "softmax" if head.fell_back_ else "sph"
    return str(getattr(head, "chosen_", type(head).__name__))


def _by_class(
    before: NDArray[np.bool_], after: NDArray[np.bool_], codes: NDArray[np.int64], names: NDArray[Any]
) -> tuple[ClassCounts, ...]:
    kinds = (np.ones_like(before), ~before, after & ~before, before & ~after)
    counts = [np.bincount(codes[rows], minlength=len(names)).tolist() for rows in kinds]
    return tuple(ClassCounts(*one) for one in zip(names.tolist(), *counts, strict=True))


def _pairs(
    tops: NDArray[np.int64], answers: NDArray[np.int64], codes: NDArray[np.int64], names: NDArray[Any], most: int
) -> tuple[PairCounts, ...]:
    """The pairs with the largest drop; of equal drops, the pair with more errors before, and then the first."""
    size = len(names)
    cells, places = np.unique(np.concatenate([codes * size + tops, codes * size + answers]), return_inverse=True)
    before, after = (np.bincount(part, minlength=len(cells)) for part in np.split(places, 2))
    true, taken_for = np.divmod(cells, size)
    order = np.lexsort((-before, after - before))
    order = order[(true != taken_for)[order] & (before > after)[order]][:most]
    columns = (names[true[order]], names[taken_for[order]], before[order], after[order])
    return tuple(PairCounts(*one) for one in zip(*(column.tolist() for column in columns), strict=True))
