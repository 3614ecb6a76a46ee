"""What a head would change: wins and losses by class, and the pairs of classes that it untangles."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from aftermax.audited import Audit, ClassCounts, PairCounts, most_changed
from aftermax.plots.style import HOME, OTHER, RULE, bare, new_figure, shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

LETTER = 0.08  # how wide one is, in inches


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
            figure = new_figure(width, 1.9 + 0.27 * lines)
            ax = figure.subplots(1, 2)
            verdict = textwrap.fill(self.audit.verdict, int(width / LETTER))
            figure.suptitle(verdict, fontsize="medium", x=0.01, ha="left", linespacing=1.4)
        self.axes_ = np.array(ax, dtype=object).ravel()
        if len(self.axes_) != 2:
            raise ValueError(
                f"ax holds {len(self.axes_)} Axes, and there are two panels: pass two, as figure.subplots(1, 2) gives."
            )
        left, right = self.axes_
        self.figure_ = left.figure
        self._draw_classes(left)
        self._draw_pairs(right)
        return self

    def _draw_classes(self, axes: Axes) -> None:
        shown, rest = most_changed(self.audit.by_class)
        places = np.arange(len(shown))
        wins, losses = (np.array([getattr(one, kind) for one in shown]) for kind in ("wins", "losses"))
        axes.barh(places, wins, height=0.7, color=HOME, edgecolor=HOME, label="only the head is right")
        style: dict[str, Any] = {"color": "white", "edgecolor": OTHER, "hatch": "/////"}
        axes.barh(places, -losses, height=0.7, label="only softmax is right", **style)
        axes.axvline(0.0, color="black", linewidth=0.8)
        widest = max(wins.max(), losses.max(), 1)
        for place, one in enumerate(shown):
            for count, side in ((one.wins, 1), (one.losses, -1)):
                if count:
                    where = side * (count + 0.02 * widest)
                    align = "left" if side > 0 else "right"
                    axes.text(where, place, f"{count:,}", ha=align, va="center", fontsize="x-small")
        self._name_rows(axes, [_class_name(one) for one in shown])
        axes.set_xlim(-losses.max() - 0.12 * widest, wins.max() + 0.12 * widest)
        _whole_numbers(axes)
        axes.xaxis.set_major_formatter(lambda count, _: f"{abs(count):,.0f}")
        axes.set_xlabel("rows" + "".join(f"\n{one.name}: wins {one.wins:,}, losses {one.losses:,}" for one in rest))
        _title(axes, "Wins and losses, by true class")

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
        self._name_rows(axes, [_pair_name(one) for one in pairs])
        axes.set_xlim(-0.04 * before.max(), 1.06 * before.max())
        _whole_numbers(axes)
        others = self.audit.other_errors
        rise = sum(one.after - one.before for one in self.audit.tangled)
        axes.set_xlabel(
            f"rows\npairs confused more: {rise:+,}; other errors: {others[0]:,} before, {others[1]:,} after"
        )
        _title(axes, "Confused less: true class, and what it is taken for")

    def _name_rows(self, axes: Axes, names: list[str]) -> None:
        axes.set_yticks(range(len(names)), names)
        axes.set_ylim(len(names) - 0.4, -0.6)
        axes.tick_params(axis="y", length=0)
        bare(axes, "top", "right", "left")


def _class_name(one: ClassCounts) -> str:
    return shortened(one.name, 20)


def _pair_name(one: PairCounts) -> str:
    return f"{shortened(one.true, 18)} → {shortened(one.taken_for, 18)}"


def _whole_numbers(axes: Axes) -> None:
    from matplotlib.ticker import MaxNLocator

    axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))


def _title(axes: Axes, title: str) -> None:
    """A title with the legend beneath it, above the picture."""
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2, fontsize="small", frameon=False, borderaxespad=0.2)
    axes.set_title(title, fontsize="medium", loc="left", pad=24)
