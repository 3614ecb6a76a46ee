"""The paper's Figure 5: which way the rows go through SPH, and how many."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from aftermax._utils.labels import listed
from aftermax.plots._inputs import Answers, answers_from, answers_of, sph_of
from aftermax.plots._style import BAND, HOME, RULE, new_figure
from aftermax.sph.classifier import ROUTES, SPHClassifier

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

# Where the middles of the boxes are, in a picture of 10 by 10: SPH's steps go down, softmax's answers are on the right.
START, GATE, VETO, POOL, TRUST, POOLED = ((2.4, height) for height in (9.5, 7.8, 6.0, 4.2, 2.4, 0.6))
SOFTMAX, REVERTED = (7.9, 7.8), (7.9, 2.4)
WIDTH, HEIGHT = 3.9, 1.0
THICKEST = 6.0  # the line that all rows would take, in points


class Way(NamedTuple):
    """Rows that go one way; how many of them softmax and SPH answer rightly, if the labels are known."""

    rows: int
    softmax_right: int | None = None
    right: int | None = None


class RoutesDisplay:
    """A flow chart of SPH with the number of rows on each arrow, thicker where more rows go.

    Parameters
    ----------
    certainty : float, default=None
        The gate's threshold, if it is known.
    min_gain : float, default=None
        What pooling had to gain on a class, on the labelled rows, to be trusted there, if it is known.
    softmax, pooled, untrusted, none_left : Way
        The rows that softmax is certain of; those that pooling answers; those that it would, were its answer trusted;
        and those that have every class vetoed. The last two revert to softmax's answer; if ``none_left`` is None, both
        are in ``untrusted``.

    Attributes
    ----------
    axes_ : matplotlib Axes
    figure_ : matplotlib Figure or SubFigure

    Examples
    --------
    >>> from aftermax import SPHClassifier
    >>> from aftermax.data import load_vmnist
    >>> from aftermax.plots import RoutesDisplay
    >>> scores = load_vmnist(trained_on=100)
    >>> head = SPHClassifier().fit(scores.val_logits, scores.val_labels)
    >>> display = RoutesDisplay.from_estimator(head, scores.test_logits, scores.test_labels)
    >>> display.figure_.savefig("routes.png")  # doctest: +SKIP
    """

    axes_: Axes
    figure_: Figure | SubFigure

    def __init__(
        self,
        certainty: float | None = None,
        min_gain: float | None = None,
        *,
        softmax: Way,
        pooled: Way,
        untrusted: Way,
        none_left: Way | None = None,
    ) -> None:
        self.certainty, self.min_gain = certainty, min_gain
        self.softmax, self.pooled, self.untrusted, self.none_left = softmax, pooled, untrusted, none_left

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: ArrayLike,
        y: ArrayLike | None = None,
        *,
        features: ArrayLike | None = None,
        ax: Axes | None = None,
    ) -> RoutesDisplay:
        """Draw which way the rows ``X`` go through a fitted head; with labels ``y``, also how many come out right.

        The head is an SPHClassifier, an SPHClassifierCV, or an AutoHead that chose SPH; ``features`` are for one that
        was fitted with them.
        """
        head = sph_of(estimator, "routes")
        routes = head.route(X)
        none_left = _trusting_all(head).route(X) == "reverted"
        ways = _by_route(routes) | {"none_left": none_left}
        ways["untrusted"] &= ~none_left
        answers = None if y is None else answers_of(estimator, X, y, features)
        return cls(head._gate, head.min_gain, **_counted(ways, answers)).plot(ax=ax)

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        before: ArrayLike,
        after: ArrayLike,
        routes: ArrayLike,
        *,
        certainty: float | None = None,
        min_gain: float | None = None,
        ax: Axes | None = None,
    ) -> RoutesDisplay:
        """Draw rows whose true classes, answers by softmax and by SPH, and ``routes`` are known.

        ``routes`` are as ``head.route(X)`` gives them; they do not tell whether a row reverted because its class was
        not trusted or because none was left, so these are drawn as one.
        """
        answers = answers_from(y_true, before, after, None)
        taken = np.asarray(routes)
        if taken.shape != answers.truth.shape:
            raise ValueError(
                f"y_true has {len(answers.truth)} rows and routes have shape {taken.shape}: pass one for each row."
            )
        unknown = sorted(set(taken.tolist()) - set(ROUTES.tolist()), key=str)
        if unknown:
            raise ValueError(
                f"routes hold {listed(unknown)}: pass what head.route(X) gives, {listed(ROUTES.tolist())}."
            )
        return cls(certainty, min_gain, **_counted(_by_route(taken), answers)).plot(ax=ax)

    def plot(self, *, ax: Axes | None = None) -> RoutesDisplay:
        """Draw it, in ``ax`` or in a new figure."""
        if ax is None:
            ax = new_figure(7.0, 5.4).subplots()
        self.axes_, self.figure_ = ax, ax.figure
        ax.set(xlim=(0.3, 10), ylim=(0, 10.1))
        ax.axis("off")
        self._box(START, f"{self._total:,} rows")
        reached = "at the gate or above" if self.certainty is None else f"at least {self.certainty:g}"
        gate = "always: softmax is kept" if self.certainty == 0 else f"largest score {reached}"
        self._box(GATE, f"Is softmax certain?\n{gate}")
        self._outcome(SOFTMAX, "softmax's answer", self.softmax)
        self._outcome(REVERTED, "back to softmax's answer", self._reverted)
        self._outcome(POOLED, "pooling's answer", self.pooled)
        self._arrow(START, GATE, self._total, "")
        self._arrow(GATE, SOFTMAX, self.softmax.rows, "yes")
        self._arrow(GATE, VETO, self.pooled.rows + self._reverted.rows, "no")
        self._draw_pooling()
        self._arrow(TRUST, REVERTED, self.untrusted.rows, "no")
        self._arrow(TRUST, POOLED, self.pooled.rows, "yes")
        return self

    def _draw_pooling(self) -> None:
        """The steps between the gate and pooling's answer."""
        to_trust = self.pooled.rows + self.untrusted.rows
        enough = "beyond a threshold" if self.min_gain is None else f"above {self.min_gain:g}"
        trust = f"gain on labelled rows {enough}"
        if self.none_left is None:
            self._box(VETO, "Veto and pool\nthe class with the nearest row of D")
            self._box(TRUST, f"Is a class left, and trusted?\n{trust}")
            self._arrow(VETO, TRUST, to_trust, "")
            return
        self._box(VETO, "Veto\nclasses that units find improbable go")
        self._box(POOL, "Pool\nthe class with the nearest row of D")
        self._box(TRUST, f"Is the class trusted?\n{trust}")
        self._arrow(VETO, REVERTED, self.none_left.rows, "no class left")
        self._arrow(VETO, POOL, to_trust, "")
        self._arrow(POOL, TRUST, to_trust, "")

    @property
    def _total(self) -> int:
        return self.softmax.rows + self.pooled.rows + self._reverted.rows

    @property
    def _reverted(self) -> Way:
        if self.none_left is None:
            return self.untrusted
        if self.untrusted.right is None or self.none_left.right is None:
            return Way(self.untrusted.rows + self.none_left.rows)
        right = self.untrusted.right + self.none_left.right
        return Way(self.untrusted.rows + self.none_left.rows, right, right)

    def _box(self, place: tuple[float, float], text: str, fill: str = "white") -> None:
        from matplotlib.patches import FancyBboxPatch

        corner = place[0] - WIDTH / 2, place[1] - HEIGHT / 2
        style = "round,pad=0,rounding_size=0.12"
        self.axes_.add_patch(FancyBboxPatch(corner, WIDTH, HEIGHT, style, facecolor=fill, edgecolor="black", zorder=2))
        self.axes_.text(*place, text, ha="center", va="center", fontsize="small", linespacing=1.4, zorder=3)

    def _outcome(self, place: tuple[float, float], title: str, way: Way) -> None:
        lines = [title, f"{way.rows:,} rows"]
        if way.right is not None:
            compared = f" (softmax: {way.softmax_right:,})" if way is self.pooled else ""
            lines[1] += f", {way.right:,} right{compared}"
        self._box(place, "\n".join(lines), fill=BAND)

    def _arrow(self, start: tuple[float, float], end: tuple[float, float], rows: int, answer: str) -> None:
        """An arrow down, to the right, or to the right and then down; with what it means and how many rows take it."""
        label = f"{answer}: {rows:,}" if answer else f"{rows:,}"
        under = start[0], start[1] - HEIGHT / 2
        beside = start[0] + WIDTH / 2, start[1]
        above_end = end[0], end[1] + HEIGHT / 2
        if start[0] == end[0]:
            first, last = under, above_end
            at, align = (start[0] + 0.2, (first[1] + last[1]) / 2), ("left", "center")
        else:
            first, last = beside, (end[0] - WIDTH / 2, end[1]) if start[1] == end[1] else above_end
            at, align = (beside[0] + 0.8, start[1] + 0.15), ("center", "bottom")
        bent = first[0] != last[0] and first[1] != last[1]
        style = {
            "arrowstyle": "-|>,head_width=0.35,head_length=0.6",
            "connectionstyle": "angle,angleA=0,angleB=90" if bent else "arc3",
            "linewidth": 0.8 + THICKEST * rows / max(self._total, 1),
            "color": HOME if rows else RULE,
            "shrinkA": 0,
            "shrinkB": 0,
        }
        self.axes_.annotate("", last, first, arrowprops=style, zorder=1)
        self.axes_.text(*at, label, ha=align[0], va=align[1], fontsize="small")


def _by_route(routes: NDArray[Any]) -> dict[str, NDArray[np.bool_]]:
    """Which rows went each way; all that reverted are taken to be untrusted."""
    softmax, pooled, reverted = (routes == route for route in ROUTES)
    return {"softmax": softmax, "pooled": pooled, "untrusted": reverted}


def _counted(ways: dict[str, NDArray[np.bool_]], answers: Answers | None) -> dict[str, Way]:
    if answers is None:
        return {name: Way(int(rows.sum())) for name, rows in ways.items()}
    before, after = answers.before == answers.truth, answers.after == answers.truth
    return {
        name: Way(int(rows.sum()), int((before & rows).sum()), int((after & rows).sum())) for name, rows in ways.items()
    }


def _trusting_all(head: SPHClassifier) -> SPHClassifier:
    """The same head, as if it trusted pooling on every class."""
    trusting = copy(head)
    trusting.trusted_ = np.ones_like(head.trusted_)
    return trusting
