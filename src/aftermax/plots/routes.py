"""The paper's Figure 5: which way the samples go through SPH, and how many."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from aftermax._utils.text import listed
from aftermax.plots._display import Display
from aftermax.plots._inputs import Predictions, predictions_from, predictions_of, routes_of
from aftermax.plots.style import ACCENT, BAND, RULE
from aftermax.sph.fitted import ROUTES

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# The centers of the boxes, in a plot of 10 by 10: SPH's steps go down, softmax's predictions are on the right.
START, GATE, VETO, POOL, TRUST, POOLED = ((2.4, height) for height in (9.5, 7.8, 6.0, 4.2, 2.4, 0.6))
SOFTMAX, REVERTED = (7.9, 7.8), (7.9, 2.4)
WIDTH, HEIGHT = 3.9, 1.0
THICKEST = 6.0  # the line that all samples would take, in points


class Way(NamedTuple):
    """Samples that go one way; how many of them softmax and SPH predict correctly, if the labels are known."""

    rows: int
    softmax_right: int | None = None
    right: int | None = None


class RoutesDisplay(Display):
    """A flow chart of SPH with the number of samples on each arrow, thicker where more samples go.

    Parameters
    ----------
    certainty : float, default=None
        The threshold of the gate, if it is known.
    min_gain : float, default=None
        The gain that pooling had to exceed on a class, on the validation samples, to be trusted, if it is known.
    softmax, pooled, untrusted, none_left : Way
        The samples that softmax is certain of; those that pooling predicts; those whose pooled class is not trusted;
        and those with every class vetoed. The last two revert to softmax's prediction; if ``none_left`` is None, both
        are in ``untrusted``.

    Attributes
    ----------
    axes_ : matplotlib Axes
    figure_ : matplotlib Figure or SubFigure

    Examples
    --------
    >>> from aftermax.plots import RoutesDisplay
    >>> routes = ["softmax", "pooled", "reverted", "pooled"]
    >>> display = RoutesDisplay.from_predictions([0, 1, 1, 0], [0, 0, 1, 0], [0, 1, 1, 0], routes, certainty=0.9)
    >>> display.pooled  # samples, and how many of them softmax and SPH predict correctly
    Way(rows=2, softmax_right=1, right=2)
    >>> display.figure_.savefig("routes.png")  # doctest: +SKIP
    """

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
    ) -> Self:
        """Draw which way samples with logits ``X`` go through a fitted head; with labels ``y``, how many are correct.

        The head is an SPHClassifier, an SPHClassifierCV, or an AutoHead that chose SPH; pass ``features`` for one that
        was fitted with them.
        """
        routes, none_left, certainty, min_gain = routes_of(estimator, X)
        ways = _by_route(routes) | {"none_left": none_left}
        ways["untrusted"] &= ~none_left
        predictions = None if y is None else predictions_of(estimator, X, y, features)
        return cls(certainty, min_gain, **_counted(ways, predictions)).plot(ax=ax)

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
    ) -> Self:
        """Draw samples whose true classes, predicted classes by softmax and by SPH, and ``routes`` are known.

        ``routes`` are as ``head.route(X)`` gives them. They do not say whether a sample reverted because its class was
        not trusted or because none was left, so these are drawn as one.
        """
        predictions = predictions_from(y_true, before, after, None)
        checked = np.asarray(routes)
        if checked.shape != predictions.truth.shape:
            raise ValueError(
                f"y_true has {len(predictions.truth)} samples and routes have shape {checked.shape}: pass one route "
                "for each sample."
            )
        unknown = sorted(set(checked.tolist()) - set(ROUTES.tolist()), key=str)
        if unknown:
            raise ValueError(
                f"routes hold {listed(unknown)}: pass what head.route(X) gives, {listed(ROUTES.tolist())}."
            )
        return cls(certainty, min_gain, **_counted(_by_route(checked), predictions)).plot(ax=ax)

    def plot(self, *, ax: Axes | None = None) -> Self:
        """Draw in ``ax`` or in a new figure."""
        axes = self._use_axes(ax, 7.0, 5.4)
        axes.set(xlim=(0.3, 10), ylim=(0, 10.1))
        axes.axis("off")
        self._box(START, f"{self._total:,} samples")
        threshold = "at the gate or above" if self.certainty is None else f"at least {self.certainty:g}"
        gate = "always: softmax is kept" if self.certainty == 0 else f"largest probability {threshold}"
        self._box(GATE, f"Is softmax certain?\n{gate}")
        self._outcome(SOFTMAX, "softmax's prediction", self.softmax)
        self._outcome(REVERTED, "back to softmax's prediction", self._reverted)
        self._outcome(POOLED, "pooling's prediction", self.pooled)
        self._arrow(START, GATE, self._total, "")
        self._arrow(GATE, SOFTMAX, self.softmax.rows, "yes")
        self._arrow(GATE, VETO, self.pooled.rows + self._reverted.rows, "no")
        self._draw_pooling()
        self._arrow(TRUST, REVERTED, self.untrusted.rows, "no")
        self._arrow(TRUST, POOLED, self.pooled.rows, "yes")
        return self

    def _draw_pooling(self) -> None:
        """The steps between the gate and pooling's prediction."""
        to_trust = self.pooled.rows + self.untrusted.rows
        trust = "enough gain on validation samples"
        if self.min_gain is not None:
            trust = f"gain on validation samples above {self.min_gain:g}"
        if self.none_left is None:
            self._box(VETO, "Veto and pool\nthe class with the nearest row of D")
            self._box(TRUST, f"Is a class left, and trusted?\n{trust}")
            self._arrow(VETO, TRUST, to_trust, "")
            return
        self._box(VETO, "Veto\nrule out classes that units find improbable")
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

    def _box(self, middle: tuple[float, float], text: str, fill: str = "white") -> None:
        from matplotlib.patches import FancyBboxPatch

        corner = middle[0] - WIDTH / 2, middle[1] - HEIGHT / 2
        style = "round,pad=0,rounding_size=0.12"
        self.axes_.add_patch(FancyBboxPatch(corner, WIDTH, HEIGHT, style, facecolor=fill, edgecolor="black", zorder=2))
        self.axes_.text(*middle, text, ha="center", va="center", fontsize="small", linespacing=1.4, zorder=3)

    def _outcome(self, middle: tuple[float, float], title: str, way: Way) -> None:
        counts = f"{way.rows:,} samples" if way.right is None else f"{way.right:,} of {way.rows:,} correct"
        if way is self.pooled and way.softmax_right is not None:
            counts += f" (softmax: {way.softmax_right:,})"
        self._box(middle, f"{title}\n{counts}", fill=BAND)

    def _arrow(self, start: tuple[float, float], end: tuple[float, float], samples: int, decision: str) -> None:
        """An arrow down, to the right, or to the right and then down; with the decision and the number of samples."""
        below = start[0], start[1] - HEIGHT / 2
        beside = start[0] + WIDTH / 2, start[1]
        above_end = end[0], end[1] + HEIGHT / 2
        if start[0] == end[0]:
            first, last = below, above_end
            at, align = (start[0] + 0.2, (first[1] + last[1]) / 2), ("left", "center")
        else:
            first, last = beside, (end[0] - WIDTH / 2, end[1]) if start[1] == end[1] else above_end
            at, align = (beside[0] + 0.8, start[1] + 0.15), ("center", "bottom")
        bent = first[0] != last[0] and first[1] != last[1]
        style = {
            "arrowstyle": "-|>,head_width=0.35,head_length=0.6",
            "connectionstyle": "angle,angleA=0,angleB=90" if bent else "arc3",
            "linewidth": 0.8 + THICKEST * samples / max(self._total, 1),
            "color": ACCENT if samples else RULE,
            "shrinkA": 0,
            "shrinkB": 0,
        }
        self.axes_.annotate("", last, first, arrowprops=style, zorder=1)
        label = f"{decision}: {samples:,}" if decision else f"{samples:,}"
        self.axes_.text(*at, label, ha=align[0], va=align[1], fontsize="small")


def _by_route(routes: NDArray[Any]) -> dict[str, NDArray[np.bool_]]:
    """Which samples went each way; all that reverted are taken to be untrusted."""
    softmax, pooled, reverted = (routes == route for route in ROUTES)
    return {"softmax": softmax, "pooled": pooled, "untrusted": reverted}


def _counted(ways: dict[str, NDArray[np.bool_]], predictions: Predictions | None) -> dict[str, Way]:
    if predictions is None:
        return {name: Way(int(samples.sum())) for name, samples in ways.items()}
    before, after = predictions.correct
    return {
        name: Way(int(samples.sum()), int((before & samples).sum()), int((after & samples).sum()))
        for name, samples in ways.items()
    }
