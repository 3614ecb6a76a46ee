"""What a head may decide alone: the error of the most certain samples against their share, before and after."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from aftermax._abstention.curve import RiskCoverage, error_by_share
from aftermax._audit.result import Audit
from aftermax._utils.labels import label_codes
from aftermax._utils.large import predicted_columns
from aftermax._utils.softmax import softmax_certainty
from aftermax._wrapped.decision import decided_probability
from aftermax.plots._display import Display
from aftermax.plots._inputs import call_head, check_same_length, checked_confidence, checked_logits, confidence_from
from aftermax.plots.style import ACCENT, GREY, RULE, bare, title_and_legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FEWEST = 0.01  # the smallest share that is drawn


class RiskCoverageDisplay(Display):
    """The risk-coverage curve of softmax and of a head: the error of the most certain samples against their share.

    From left to right more samples are decided without a person, and more of these are wrong. The lower curve is the
    better one. With a largest acceptable error, a line is at it; with the share that is decided alone, a marker.

    Parameters
    ----------
    certainty_before, certainty_after : array-like of shape (n_samples,)
        How certain each prediction is, from 0 to 1, by softmax and by the head.
    right_before, right_after : array-like of bool of shape (n_samples,)
        Whether the prediction is correct.
    max_error : float, default=None
        The largest error that is acceptable.
    share : float, default=None
        The share of the samples that the head decides alone.

    Attributes
    ----------
    curve : RiskCoverage
        ``shares``, and the errors ``before`` and ``after``.
    axes_ : matplotlib Axes
    figure_ : matplotlib Figure or SubFigure

    Examples
    --------
    >>> from aftermax import Decider, SoftmaxClassifier, audit
    >>> from aftermax.data import load_vmnist
    >>> from aftermax.plots import RiskCoverageDisplay
    >>> scores = load_vmnist(trained_on=500)
    >>> result = audit(scores.val_logits, scores.val_labels, Decider(SoftmaxClassifier(), max_error=0.05))
    >>> display = RiskCoverageDisplay.from_audit(result)
    >>> round(display.share, 2), display.max_error
    (0.72, 0.05)
    >>> display.figure_.savefig("risk-coverage.png")  # doctest: +SKIP
    """

    def __init__(
        self,
        certainty_before: ArrayLike,
        right_before: ArrayLike,
        certainty_after: ArrayLike,
        right_after: ArrayLike,
        *,
        max_error: float | None = None,
        share: float | None = None,
    ) -> None:
        before = checked_confidence(certainty_before, right_before, "certainty_before")
        after = checked_confidence(certainty_after, right_after, "certainty_after")
        check_same_length("certainty_before", len(before[0]), "certainty_after", len(after[0]))
        shares, errors = error_by_share(*before)
        self.curve = RiskCoverage(shares, errors, error_by_share(*after)[1])
        self.max_error, self.share = max_error, share

    @classmethod
    def from_audit(cls, audit: Audit, *, ax: Axes | None = None) -> Self:
        """Draw the out-of-fold curves of an audit; of a :class:`~aftermax.Decider` with what is promised."""
        if not isinstance(audit, Audit):
            raise TypeError(f"audit is a {type(audit).__name__}: pass the result of aftermax.audit.")
        if audit.risk_coverage is None:
            raise ValueError(
                "This audit has no out-of-fold probabilities of the head: audit a Decider, an AutoHead or a "
                "SoftmaxClassifier; or pass probabilities of other samples to from_predictions."
            )
        display = cls.__new__(cls)
        display.curve = audit.risk_coverage
        promised = audit.abstention
        display.max_error = None if promised is None else promised.max_error
        display.share = None if promised is None else promised.share
        return display.plot(ax=ax)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: ArrayLike,
        y: ArrayLike,
        *,
        features: ArrayLike | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the curves of softmax and of a fitted head on the logits ``X`` of samples with labels ``y``.

        Pass samples that the head was not fitted on; ``features`` are for a head that was fitted with them.
        """
        logits = checked_logits(estimator, X)
        truth = label_codes(y, len(logits), estimator.classes_)
        decisions = label_codes(call_head(estimator, "predict", X, features), len(logits), estimator.classes_)
        certainty = decided_probability(call_head(estimator, "predict_proba", X, features), decisions)
        promised = getattr(estimator, "abstention_", None)
        share = None if promised is None else float(np.mean(call_head(estimator, "is_certain", X, features)))
        return cls(
            np.minimum(softmax_certainty(logits), 1.0),
            predicted_columns(logits) == truth,
            np.minimum(certainty, 1.0),
            decisions == truth,
            max_error=None if promised is None else promised.max_error,
            share=share,
        ).plot(ax=ax)

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        before: ArrayLike,
        after: ArrayLike,
        *,
        classes: ArrayLike | None = None,
        max_error: float | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the curves of probabilities ``before`` and ``after``, of shape (n_samples, n_classes).

        ``y_true`` are the true classes and ``classes`` is the class of each column; if None, the sorted labels.
        """
        first = confidence_from(y_true, before, "before", classes)
        second = confidence_from(y_true, after, "after", classes)
        return cls(*first, *second, max_error=max_error).plot(ax=ax)

    def plot(self, *, ax: Axes | None = None) -> Self:
        """Draw in ``ax``, or in a new figure."""
        axes = self._use_axes(ax, 6.2, 4.0)
        shares = np.asarray(self.curve.shares)
        some = shares >= FEWEST
        for errors, name, color, line in (
            (self.curve.before, "softmax", GREY, "--"),
            (self.curve.after, "head", ACCENT, "-"),
        ):
            drawn = 100 * np.asarray(errors)[some]
            axes.plot(100 * shares[some], drawn, color=color, linestyle=line, linewidth=1.6, label=name)
        if self.max_error is not None:
            label = f"acceptable: {100 * self.max_error:g} %"
            axes.axhline(100 * self.max_error, color=RULE, linestyle=":", linewidth=1.6, label=label, zorder=1)
        if self.share:
            error = float(np.interp(self.share, shares, self.curve.after))
            label = f"decided alone: {100 * self.share:.1f} %"
            axes.plot([100 * self.share], [100 * error], "D", color=ACCENT, markersize=7, label=label)
            axes.axvline(100 * self.share, color=ACCENT, linewidth=0.8, alpha=0.5, zorder=1)
        axes.set(xlim=(0, 100), xlabel="share of the samples that is decided alone (%)", ylabel="error of these (%)")
        axes.set_ylim(bottom=0)
        bare(axes)
        title_and_legend(axes, "Error of the most certain samples")
        return self
