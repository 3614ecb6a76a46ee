"""What a head would change: wins and losses by class, and the pairs of classes that are confused less."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from aftermax._audit.counts import MAX_CLASSES, ClassCounts, PairCounts, most_changed
from aftermax._audit.result import Audit
from aftermax._utils.text import width
from aftermax.plots._display import Display
from aftermax.plots._many_classes import check_max_classes
from aftermax.plots.gain_by_class import draw_wins_and_losses
from aftermax.plots.style import (
    ACCENT,
    GREY,
    LETTER_WIDTH,
    RULE,
    integer_ticks,
    name_lines,
    new_figure,
    shortened,
    title_and_legend,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from aftermax.plots._display import AxesList


class AuditDisplay(Display):
    """An audit as a plot.

    On the left, the samples of each class that only the head predicts correctly (wins) and that only softmax predicts
    correctly (losses); of many classes, those that change most, with the others summed up below. On the right, the
    pairs of classes whose confusion drops most: how many samples of one are predicted as the other, before and after.

    Parameters
    ----------
    audit : Audit
        The result of :func:`~aftermax.audit`.

    Attributes
    ----------
    axes_ : ndarray of two matplotlib Axes
    figure_ : matplotlib Figure or SubFigure

    Examples
    --------
    >>> from aftermax import audit
    >>> from aftermax.data import load_vmnist
    >>> from aftermax.plots import AuditDisplay
    >>> scores = load_vmnist(trained_on=500)
    >>> result = audit(scores.val_logits[:400], scores.val_labels[:400])
    >>> AuditDisplay.from_audit(result).figure_.savefig("audit.png")  # doctest: +SKIP
    """

    def __init__(self, audit: Audit) -> None:
        if not isinstance(audit, Audit):
            raise TypeError(
                f"AuditDisplay takes an Audit, not {type(audit).__name__}: pass the result of "
                "aftermax.audit(logits, labels)."
            )
        self.audit = audit

    @classmethod
    def from_audit(cls, audit: Audit, *, max_classes: int = MAX_CLASSES, ax: AxesList | None = None) -> Self:
        """Draw an audit; ``max_classes`` is as for :meth:`plot`."""
        return cls(audit).plot(max_classes=max_classes, ax=ax)

    def plot(self, *, max_classes: int = MAX_CLASSES, ax: AxesList | None = None) -> Self:
        """Draw in two Axes, ``ax``, or in a new figure with the verdict above.

        Of more than ``max_classes``, those that change most are drawn.
        """
        check_max_classes(max_classes)
        shown, rest = most_changed(self.audit.by_class, max_classes)
        left, right = self._use_panels(self._new_axes(shown) if ax is None else ax, 2)
        draw_wins_and_losses(left, shown, rest)
        self._draw_pairs(right)
        return self

    def _new_axes(self, shown: list[ClassCounts]) -> AxesList:
        lines = max(len(shown), len(self.audit.pairs), 4)
        names = [[_class_name(counts) for counts in shown], [_pair_name(counts) for counts in self.audit.pairs]]
        inches = 8.4 + LETTER_WIDTH * sum(max(map(width, column), default=0) for column in names)
        figure = new_figure(inches, 2.1 + 0.27 * lines)
        verdict = textwrap.fill(self.audit.verdict, int(inches / LETTER_WIDTH))
        figure.suptitle(verdict, fontsize="medium", x=0.01, ha="left", linespacing=1.4)
        axes: AxesList = figure.subplots(1, 2)
        return axes

    def _draw_pairs(self, axes: Axes) -> None:
        pairs = self.audit.pairs
        if not pairs:
            axes.text(0.5, 0.5, "no pair of classes\nis confused less", transform=axes.transAxes, ha="center")
            axes.axis("off")
            return
        lines = np.arange(len(pairs))
        before, after = (np.array([getattr(pair, when) for pair in pairs]) for when in ("before", "after"))
        axes.hlines(lines, after, before, color=RULE, linewidth=2.5, zorder=1)
        style: dict[str, Any] = {"s": 36, "linewidths": 1.2, "zorder": 3}
        axes.scatter(before, lines, marker="o", color="white", edgecolor=GREY, label="by softmax", **style)
        axes.scatter(after, lines, marker="D", color=ACCENT, edgecolor=ACCENT, label="by the head", **style)
        name_lines(axes, [_pair_name(pair) for pair in pairs])
        axes.set_xlim(-0.04 * before.max(), 1.06 * before.max())
        integer_ticks(axes.xaxis)
        others = self.audit.other_errors
        rise = sum(pair.after - pair.before for pair in self.audit.tangled)
        axes.set_xlabel(
            f"samples\npairs confused more: {rise:+,}\nother errors: {others[0]:,} before, {others[1]:,} after"
        )
        title_and_legend(axes, "Confused less: true class → predicted class")


def _class_name(counts: ClassCounts) -> str:
    return shortened(counts.name, 20)


def _pair_name(counts: PairCounts) -> str:
    return f"{shortened(counts.true, 18)} → {shortened(counts.taken_for, 18)}"
