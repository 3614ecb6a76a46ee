"""What a head would change: wins and losses by class, and the pairs of classes that it untangles."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from aftermax._audit.result import Audit, ClassCounts, PairCounts, most_changed
from aftermax.plots._style import (
    HOME,
    LETTER,
    OTHER,
    RULE,
    name_rows,
    new_figure,
    panels,
    shortened,
    title_and_legend,
    whole_numbers,
)
from aftermax.plots.gain_by_class import draw_wins_and_losses

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure


class AuditDisplay:
    """An audit as a picture.

    On the left, the rows of each class that only the head gets right (wins) and that only softmax gets right (losses);
    of many classes, those that change most, and the rest written below. On the right, the pairs of classes whose
    confusion drops most: how many rows of the one are taken for the other, before and after.

    Parameters
    ----------
    audit : Audit
        What :func:`~aftermax.audit` returned.

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
    >>> found = audit(scores.val_logits[:400], scores.val_labels[:400])
    >>> display = AuditDisplay.from_audit(found)
    >>> display.figure_.savefig("audit.png")  # doctest: +SKIP
    """

    axes_: NDArray[Any]
    figure_: Figure | SubFigure

    def __init__(self, audit: Audit) -> None:
        if not isinstance(audit, Audit):
            raise TypeError(
                f"AuditDisplay takes an Audit, not {type(audit).__name__}: pass what aftermax.audit(logits, labels) "
                "returns."
            )
        self.audit = audit

    @classmethod
    def from_audit(cls, audit: Audit, *, ax: Sequence[Axes] | NDArray[Any] | None = None) -> AuditDisplay:
        """Draw an audit."""
        return cls(audit).plot(ax=ax)

    def plot(self, *, ax: Sequence[Axes] | NDArray[Any] | None = None) -> AuditDisplay:
        """Draw it, in two Axes, ``ax``, or in a new figure with the verdict above."""
        if ax is None:
            shown, _ = most_changed(self.audit.by_class)
            lines = max(len(shown), len(self.audit.pairs), 4)
            names = [[_class_name(one) for one in shown], [_pair_name(one) for one in self.audit.pairs]]
            width = 8.4 + LETTER * sum(max(map(len, some), default=0) for some in names)
            figure = new_figure(width, 2.1 + 0.27 * lines)
            ax = figure.subplots(1, 2)
            verdict = textwrap.fill(self.audit.verdict, int(width / LETTER))
            figure.suptitle(verdict, fontsize="medium", x=0.01, ha="left", linespacing=1.4)
        left, right = self.axes_ = panels(ax, 2)
        self.figure_ = left.figure
        draw_wins_and_losses(left, *most_changed(self.audit.by_class))
        self._draw_pairs(right)
        return self

    def _draw_pairs(self, axes: Axes) -> None:
        pairs = self.audit.pairs
        if not pairs:
            axes.text(0.5, 0.5, "no pair of classes\nis confused less", transform=axes.transAxes, ha="center")
            axes.axis("off")
            return
        places = np.arange(len(pairs))
        before, after = (np.array([getattr(one, when) for one in pairs]) for when in ("before", "after"))
        axes.hlines(places, after, before, color=RULE, linewidth=2.5, zorder=1)
        style: dict[str, Any] = {"s": 36, "linewidths": 1.2, "zorder": 3}
        axes.scatter(before, places, marker="o", color="white", edgecolor=OTHER, label="by softmax", **style)
        axes.scatter(after, places, marker="D", color=HOME, edgecolor=HOME, label="by the head", **style)
        name_rows(axes, [_pair_name(one) for one in pairs])
        axes.set_xlim(-0.04 * before.max(), 1.06 * before.max())
        whole_numbers(axes.xaxis)
        others = self.audit.other_errors
        rise = sum(one.after - one.before for one in self.audit.tangled)
        axes.set_xlabel(
            f"rows\npairs confused more: {rise:+,}\nother errors: {others[0]:,} before, {others[1]:,} after"
        )
        title_and_legend(axes, "Confused less: true class, and what it is taken for")


def _class_name(one: ClassCounts) -> str:
    return shortened(one.name, 20)


def _pair_name(one: PairCounts) -> str:
    return f"{shortened(one.true, 18)} → {shortened(one.taken_for, 18)}"
