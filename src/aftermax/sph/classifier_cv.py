"""SPHClassifierCV: the settings chosen honestly, and the proof that the choice is worth making."""

from __future__ import annotations

import warnings
from functools import reduce
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted

from aftermax._utils.folds import content_order, stratified_folds
from aftermax._utils.labels import encode_labels, listed, warn_if_misaligned
from aftermax._utils.paired_tests import exact_mcnemar, gain_interval, relative_gain, wins_and_losses
from aftermax._utils.validation import as_logits, check_count, check_number, compute_ready
from aftermax.sph._sweep_counts import Rows
from aftermax.sph.classifier import HYPERPARAMETERS, SPHClassifier
from aftermax.sph.grid import DEFAULTS, Block, Grid, default_grid, departures, grid_blocks, grid_columns
from aftermax.sph.sweep import sweep_splits

# With fewer labelled rows than this, a class has no say in the gain.
FEW_ROWS = 10

Columns = dict[str, NDArray[Any]]


class SPHClassifierCV(ClassifierMixin, BaseEstimator):
    """SPH with settings chosen by cross-validation on the labelled rows, or softmax if the choice proves nothing.

    Every set of the grid is fitted on some folds and evaluated on the others, several times over. Of the sets whose
    gain is within one standard error of the best, the plainest is chosen: the one with the fewest settings away from
    their defaults (a window counts once, and so does a veto; the certainty does not count), and of equally plain ones
    the best. Softmax itself is in the grid and plainer than all. Then the whole procedure is repeated with each fold in
    turn kept out of the choice. What is gained on the folds kept out is the gain to expect, and unless it is beyond
    chance, softmax stays.

    Parameters
    ----------
    grid : dict or list of dicts, default=None
        Values to try for each setting of :class:`~aftermax.SPHClassifier`, as for :func:`~aftermax.sweep`. If None,
        :func:`~aftermax.default_grid`.
    cv : int, default=5
        Number of folds. Each class is spread over the folds as evenly as its rows allow; one with fewer rows than
        folds is missing from some. The time taken grows with the square of this.
    n_repeats : int, default=2
        How often the choice divides the rows into folds anew.
    alpha : float, default=0.05
        Softmax stays unless the gain has a p-value below this.
    classes : array-like of shape (K,), default=None
        The class of each column; see :class:`~aftermax.SPHClassifier`.
    random_state : int, RandomState instance or None, default=0
        Fixes the folds and the bootstrap, and so everything. None draws anew with each call.
    n_jobs : int, default=-1
        How many tasks to work on side by side, as in joblib; see :func:`~aftermax.sweep`.
    progress : bool, default=None
        Whether to show a progress bar. If None, on a terminal, after two seconds.

    Attributes
    ----------
    best_params_ : dict
        The settings chosen; ``certainty`` is 0 if softmax stays.
    best_estimator_ : SPHClassifier
        The head with these settings, fitted on all rows.
    fell_back_ : bool
        Whether softmax stays.
    gain_ : float
        Relative reduction of the error on rows that took no part in the choice, each row held out once: 0.1 is one
        error in ten. It is what the choice is worth, also where it was not enough: if ``fell_back_``, the head itself
        is softmax and gains nothing. Where it was only just enough, it is likely to be a little too good.
    gain_interval_ : tuple of float
        Where the gain on as many new rows will lie (95 %), by a paired bootstrap: it allows both for what the labelled
        rows leave unknown and for the luck of the new ones.
    p_value_ : float
        Of ``gain_``, by McNemar's exact test (two-sided).
    held_out_ : ndarray of shape (n_rows,)
        The answer to each row by settings chosen without it; ``gain_`` is counted from these.
    cv_results_ : dict of ndarrays
        What the choice was made from: a column for each setting, and ``gain`` with its ``standard_error``, ``wins`` and
        ``losses`` (a pass over all rows, in the mean over the repeats) and ``departures``, the number of settings away
        from their defaults. Row ``best_index_`` was chosen; the last row is softmax, with departures -1. The gains here
        are what was chosen by, so the best of them is too good: ``gain_`` is the one to report.
    best_index_ : int
        Place in ``cv_results_`` of the settings chosen before softmax was kept or not.
    classes_ : ndarray of shape (K,)
        The class of each column.
    n_features_in_ : int
        K.
    feature_names_in_ : ndarray of shape (K,)
        Names of the columns, if fitted on a data frame with string names.

    Notes
    -----
    The grid is swept ``(cv + 1) * n_repeats * cv`` times, 60 with the defaults, in a time that grows with the rows, the
    number of sets and the square of the number of classes: with hundreds of classes, pass a smaller grid.

    Examples
    --------
    >>> import numpy as np
    >>> from aftermax import SPHClassifierCV
    >>> rng = np.random.default_rng(0)
    >>> labels = rng.integers(3, size=600)
    >>> logits = rng.normal(size=(600, 3)) + np.array([[2, 1, 0], [0, 1, 0], [0, 1, 2]])[labels]
    >>> head = SPHClassifierCV({"certainty": [0.6, 0.9], "distance_power": [1, 2]}).fit(logits[:300], labels[:300])
    >>> head.fell_back_, round(head.gain_, 2), [round(end, 2) for end in head.gain_interval_]
    (False, 0.22, [0.01, 0.4])
    >>> head.best_params_["certainty"]
    0.9
    >>> softmax_error = np.mean(logits[300:].argmax(axis=1) != labels[300:])
    >>> error = 1 - head.score(logits[300:], labels[300:])
    >>> float(round(1 - error / softmax_error, 2))  # one error in five is gone, on new rows too
    0.21
    """

    best_estimator_: SPHClassifier

    def __init__(
        self,
        grid: Grid | None = None,
        *,
        cv: int = 5,
        n_repeats: int = 2,
        alpha: float = 0.05,
        classes: ArrayLike | None = None,
        random_state: int | np.random.RandomState | None = 0,
        n_jobs: int | None = -1,
        progress: bool | None = None,
    ) -> None:
        self.grid = grid
        self.cv = cv
        self.n_repeats = n_repeats
        self.alpha = alpha
        self.classes = classes
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.progress = progress

    def fit(self, X: ArrayLike, y: ArrayLike) -> SPHClassifierCV:
        """Choose the settings, measure what the choice is worth, and fit the head on all rows.

        Parameters
        ----------
        X : array-like of shape (n_rows, K)
            Logits: what the model says before softmax, on labelled rows it was not trained on. Column j belongs to
            class j.
        y : array-like of shape (n_rows,)
            Labels: the true classes, integers or strings.
        """
        self.__dict__.pop("best_estimator_", None)  # not fitted until all is well
        blocks = self._checked_blocks()
        checked = compute_ready(as_logits(X, self))
        self.classes_, codes = encode_labels(y, checked.shape, self.classes, getattr(X, "columns", None))
        warn_if_misaligned(checked, codes, self.classes_)
        self._learn(checked, codes, blocks)
        rare = self.classes_[np.bincount(codes, minlength=len(self.classes_)) < FEW_ROWS]
        if len(rare) and not self.fell_back_:
            warnings.warn(rare_classes_in_words(rare), UserWarning, stacklevel=2)
        return self

    def _learn(self, checked: NDArray[np.float64], codes: NDArray[np.int64], blocks: list[Block]) -> SPHClassifierCV:
        """Fit on input that is checked already; ``classes_`` and what is known of the columns are set."""
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
        order = content_order(checked, codes)  # so that the order of rows is no matter
        rows = Rows.of(checked[order], codes[order])

        columns = grid_columns(blocks)
        columns["departures"] = departures(columns)
        outer = stratified_folds(rows.codes, self.cv, rng)
        *for_folds, for_all = self._count(rows, outer, blocks, rng)
        answers = np.empty(len(codes), dtype=np.int64)
        answers[order] = self._report_gain(rows, outer, [columns | counts for counts in for_folds], rng)
        self.held_out_: NDArray[Any] = self.classes_[answers]
        self._report_choice(rows, columns | for_all)
        self.best_estimator_ = self._head(checked, codes)
        return self

    def _count(
        self, rows: Rows, outer: NDArray[np.int64], blocks: list[Block], rng: np.random.Generator
    ) -> list[Columns]:
        """Wins and losses of every set by cross-validation: without each of the outer folds, and on all rows."""
        kept = [np.flatnonzero(outer != fold) for fold in np.unique(outer)] + [np.arange(len(outer))]
        inner = [[stratified_folds(rows.codes[part], self.cv, rng) for _ in range(self.n_repeats)] for part in kept]
        numbers = [sum(len(np.unique(folds)) for folds in repeats) for repeats in inner]
        splits = (
            (rows.take(part[folds != fold]), rows.take(part[folds == fold]))
            for part, repeats in zip(kept, inner, strict=True)
            for folds in repeats
            for fold in np.unique(folds)
        )
        size = len(self.classes_)
        counts = sweep_splits(splits, sum(numbers), size, blocks, self.n_jobs, self.progress, "choosing settings")
        totals = [reduce(np.add, islice(counts, number)) / self.n_repeats for number in numbers]
        return [{"wins": wins, "losses": losses} for wins, losses, *_ in totals]

    def _report_gain(
        self, rows: Rows, outer: NDArray[np.int64], tables: list[Columns], rng: np.random.Generator
    ) -> NDArray[np.int64]:
        """What is gained on the folds that took no part in the choice."""
        answers = np.empty(len(outer), dtype=np.int64)
        for fold, table in zip(np.unique(outer), tables, strict=True):
            chosen = choose(table, int(np.count_nonzero(outer != fold)))
            others, held_out = rows.take(outer != fold), outer == fold
            head = SPHClassifier(**{name: table[name][chosen].item() for name in HYPERPARAMETERS})
            head.classes_ = self.classes_
            answers[held_out] = head._learn(others.logits, others.codes)._answers(rows.logits[held_out])
        wins, losses, _ = wins_and_losses(rows.tops == rows.codes, answers == rows.codes)
        self.gain_: float = relative_gain(wins, losses, rows.errors)
        self.gain_interval_ = gain_interval(wins, losses, rows.errors, len(rows.codes), rng)
        self.p_value_ = exact_mcnemar(wins, losses)
        return answers

    def _report_choice(self, rows: Rows, table: Columns) -> None:
        _, error = net_wins(table, len(rows.codes))
        self.cv_results_ = table | {
            "gain": relative_gain(table["wins"], table["losses"], rows.errors),
            "standard_error": error / max(rows.errors, 1),
        }
        self.best_index_ = choose(table, len(rows.codes))
        chosen = {name: table[name][self.best_index_].item() for name in HYPERPARAMETERS}
        proven = self.gain_ > 0 and self.p_value_ < self.alpha
        self.fell_back_ = not proven or chosen["certainty"] == 0
        self.best_params_ = DEFAULTS | {"certainty": 0.0} if self.fell_back_ else chosen

    def _head(self, checked: NDArray[np.float64], codes: NDArray[np.int64]) -> SPHClassifier:
        head = SPHClassifier(**self.best_params_, classes=self.classes)
        for known in ("classes_", "n_features_in_", "feature_names_in_"):
            if hasattr(self, known):
                setattr(head, known, getattr(self, known))
        return head._learn(checked, codes)

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The class of each row: softmax's answer or pooling's."""
        check_is_fitted(self)
        return self.best_estimator_.predict(X)

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Probabilities of the classes; see :meth:`aftermax.SPHClassifier.predict_proba`."""
        check_is_fitted(self)
        return self.best_estimator_.predict_proba(X)

    def route(self, X: ArrayLike) -> NDArray[np.str_]:
        """Which way each row went; see :meth:`aftermax.SPHClassifier.route`."""
        check_is_fitted(self)
        return self.best_estimator_.route(X)

    def _checked_blocks(self) -> list[Block]:
        """The grid with softmax at its end, if everything else is in order too."""
        check_count("cv", self.cv, least=2)
        check_count("n_repeats", self.n_repeats)
        check_number("alpha", self.alpha, 0.0, 1.0)
        return [*grid_blocks(default_grid() if self.grid is None else self.grid), *grid_blocks({"certainty": [0.0]})]

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "best_estimator_")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # as SPHClassifier
        return tags


def rare_classes_in_words(rare: NDArray[Any]) -> str:
    """A warning about classes that have few labelled rows."""
    return (
        f"Fewer than {FEW_ROWS} labelled rows: {listed(rare.tolist())}. Rows of such a class may be lost to the "
        "others, and the gain cannot see it. Label more of them, or look at the recall of each class."
    )


def net_wins(table: Columns, rows: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Wins less losses of each set on that many rows, and their standard error."""
    net, changed = table["wins"] - table["losses"], table["wins"] + table["losses"]
    return net, np.sqrt(changed - net**2 / rows)


def choose(table: Columns, rows: int) -> int:
    """The plainest set within one standard error of the best; of equally plain ones the best, then the first."""
    net, error = net_wins(table, rows)
    best = np.argmax(net)
    near = np.flatnonzero(net >= net[best] - error[best])
    order = np.lexsort((-net[near], table["departures"][near]))
    return int(near[order[0]])
